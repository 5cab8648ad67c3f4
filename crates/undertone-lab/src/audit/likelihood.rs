//! The layer `likelihood`: the optimal distinguisher, over several rounds of the real learner.
//!
//! The learner runs many times on each of two neighbouring histories. The log-likelihood ratio of
//! everything it sent, added up over the rounds, is compared with a threshold. The threshold is
//! chosen on one half of the runs and tested on the other, so that the choice costs no confidence.
//!
//! | test | n | alpha | what it sees |
//! |---|---|---|---|
//! | Clopper-Pearson on both sides of a threshold | 2·10⁴ held-out runs a side | 10⁻⁶ | gross faults only |
//!
//! A black-box test loses power over many rounds. This layer shows that the values the other layers
//! inspect are the ones that are sent, and leaves small errors to those layers.

use super::Effort;
use super::audited_learner::Facts;
use super::intervals::{ALPHA, lower, separation, upper};
use super::limits::{self, Extent, in_parallel, rounds_in_all};
use super::replay::{Make, Outcome, Pair, replay};
use super::report::{Check, Layer, Verdict};
use super::scenario::{Background, Message, Scenario, record};
use super::subject::{Subject, Trial};
use rayon::prelude::*;
use undertone::noise::NoiseKind;
use undertone::{Release, ReleaseError};

/// The most rounds of a run.
const ROUNDS_MAX: u64 = 16;
/// The privacy loss that a distinguisher detects best.
const LOSS_WANTED: f64 = 3.0;
/// The most records in round 0: more would only cost time.
const FIRST_MAX: f64 = 4096.0;
/// The most records in each later round.
const BATCH_MAX: u64 = 64;
/// How many different numbers of records are tried.
const STAGES: u32 = 12;
/// The first trial number of this layer.
const FIRST_TRIAL: u64 = 4 << 40;

/// The fewest runs a side that can show anything.
const RUNS_MIN: u64 = 80;

/// What the distinguisher knows: the secrets of both sides and the scale, for rounds that have any.
struct Paths {
    rounds: Vec<([Vec<f64>; 2], f64)>,
}

/// Runs the distinguisher.
///
/// # Errors
/// When a release fails for another reason than the budget.
pub(super) fn audit<S: Subject>(
    facts: &Facts,
    make: Make<'_, S>,
    effort: &Effort,
) -> Result<Vec<Check>, ReleaseError> {
    let kind = facts.mechanism.noise.kind;
    let Some((scenario, pair, outcome)) = staged(facts, make)? else {
        return Ok(vec![skipped("no pair of records was accepted")]);
    };
    let rounds = outcome.rounds;
    let one = scenario.extent.cost(facts, 4.0, rounds);
    let runs = effort.runs.min(rounds_in_all(2.0 * one, effort));
    if runs < RUNS_MIN {
        return Ok(vec![skipped("the model is too large for enough runs")]);
    }
    let heard = scenario.heard(facts, rounds)?;
    let stage = Stage { make, scenario: &scenario, pair: &pair, heard: &heard };
    let paths = stage.paths()?;
    let ratios = |side: usize| -> Result<Vec<f64>, ReleaseError> {
        let one = |run| stage.ratio(kind, side, FIRST_TRIAL + 2 * run + side as u64, &paths);
        if in_parallel(facts) {
            (0..runs).into_par_iter().map(one).collect()
        } else {
            (0..runs).map(one).collect()
        }
    };
    let (ours, theirs) = (ratios(0)?, ratios(1)?);
    let half = ours.len() / 2;
    let threshold = best_threshold(kind, &ours[..half], &theirs[..half]);
    let proven = proven(kind, &ours[half..], &theirs[half..], threshold);
    let loss = loss(kind, &outcome);
    let claimed = match kind {
        NoiseKind::Laplace => loss.min(outcome.spent.pure),
        NoiseKind::Gaussian => loss.min((2.0 * outcome.spent.zcdp).sqrt()),
    };
    let note = format!(
        "{rounds} rounds, {} runs a side, threshold {threshold:.3} from the other {half}, alpha {ALPHA:e}",
        ours.len() - half
    );
    let mut checks = vec![Check {
        layer: Layer::Likelihood,
        name: "bound",
        claimed,
        measured: proven,
        verdict: Verdict::of(proven <= claimed),
        note,
    }];
    checks.push(if is_visible(&outcome, ours.len() - half) {
        let verdict = if proven > 0.0 { Verdict::Holds } else { Verdict::Dead };
        let note = "a live test tells the two histories apart".into();
        Check {
            layer: Layer::Likelihood,
            name: "power",
            claimed: 0.0,
            measured: proven,
            verdict,
            note,
        }
    } else {
        skipped("the histories are too alike for this number of runs")
    });
    Ok(checks)
}

fn skipped(note: &str) -> Check {
    Check {
        layer: Layer::Likelihood,
        name: "power",
        claimed: f64::NAN,
        measured: f64::NAN,
        verdict: Verdict::Skipped,
        note: note.into(),
    }
}

/// The privacy loss of the pair under the claimed noise: pure ε, or the root of Σ‖·‖²/s² for
/// Gaussian noise.
fn loss(kind: NoiseKind, outcome: &Outcome) -> f64 {
    match kind {
        NoiseKind::Laplace => outcome.lost.pure,
        NoiseKind::Gaussian => (2.0 * outcome.lost.zcdp).sqrt(),
    }
}

/// Whether the test misses the difference with a probability of at most 10⁻⁶.
///
/// The ratio is nearly normal, its two means d deviations apart, d² = Σ‖θ − θ'‖₂²/ρ² (less for
/// large steps, hence 0.35 for 0.4). While d ≤ 2, the shares of runs above a threshold between them
/// differ by at least 0.35·d. The two confidence bounds take 5/√n of that, and chance 3.5/√n.
fn is_visible(outcome: &Outcome, runs: usize) -> bool {
    let apart = (2.0 * outcome.lost.zcdp).sqrt().min(2.0);
    0.35 * apart * (runs as f64).sqrt() >= 8.5
}

/// A scenario with enough records in round 0 that the pair's loss is near the one that is detected
/// best.
fn staged<S: Subject>(
    facts: &Facts,
    make: Make<'_, S>,
) -> Result<Option<(Scenario, Pair, Outcome)>, ReleaseError> {
    let kind = facts.mechanism.noise.kind;
    // The messages and secrets of all rounds are kept in memory.
    let fit = limits::vectors(facts, 8) / (limits::neighbours_heard(facts) + 2);
    let least = 2 * facts.interval() + 1;
    let rounds = facts.rounds.min(ROUNDS_MAX).min(fit as u64).max(least);
    let norm = facts.model.bounds().feature_norm * (1.0 - 1e-12);
    let last = facts.model.spec().features - 1;
    let [low, high] = facts.labels();
    let subject = make(&Trial::default());
    let records = [low, high].map(|label| record(facts, &[(last, 1.0)], norm, label));
    let Some(pair) = Pair::new(0, records, &subject) else { return Ok(None) };
    // Large models take more time for each record.
    let first_max = (4e8 / facts.dimension() as f64).clamp(64.0, FIRST_MAX);
    let mut first = (facts.mechanism.warmup + facts.mechanism.batch) as f64;
    let mut staged: Option<(Scenario, Pair, Outcome)> = None;
    let mut nearest = f64::INFINITY;
    for _ in 0..STAGES {
        first = first.clamp(1.0, first_max).round();
        let batch = facts.mechanism.batch.min(BATCH_MAX);
        let extent = Extent { rounds, first: first as u64, batch };
        let scenario = Scenario::new(facts, &subject, Background::Empty, Message::Still, extent);
        if scenario.records.is_empty() {
            return Ok(None);
        }
        let outcome = replay(facts, make, &scenario, &pair, rounds)?;
        let off = loss(kind, &outcome) / LOSS_WANTED;
        let distance = off.ln().abs();
        if staged.is_none() || distance < nearest {
            (staged, nearest) = (Some((scenario, pair.clone(), outcome)), distance);
        }
        if !(off > 0.0) || distance < 0.3 {
            break;
        }
        first *= off.clamp(0.4, 3.0);
    }
    Ok(staged)
}

struct Stage<'a, S> {
    make: Make<'a, S>,
    scenario: &'a Scenario,
    pair: &'a Pair,
    heard: &'a [Vec<Release>],
}

impl<S: Subject> Stage<'_, S> {
    /// Runs one side and passes on the secret of each round that has one, perturbed or not.
    fn run(
        &self,
        side: usize,
        number: u64,
        mut each: impl FnMut(&mut S) -> Result<(), ReleaseError>,
    ) -> Result<(), ReleaseError> {
        let mut subject = (self.make)(&Trial { still: true, ..Trial::new(number) });
        let mut first = self.scenario.records[self.scenario.range(0)].to_vec();
        first[self.pair.index] = self.pair.records[side].clone();
        for (round, heard) in self.heard.iter().enumerate() {
            let batch = if round == 0 {
                &first
            } else {
                &self.scenario.records[self.scenario.range(round as u64)]
            };
            subject.observe(batch);
            each(&mut subject)?;
            subject.absorb(&heard.iter().collect::<Vec<_>>());
        }
        Ok(())
    }

    fn paths(&self) -> Result<Paths, ReleaseError> {
        let mut sides = [Vec::new(), Vec::new()];
        let mut scales = Vec::new();
        for (side, path) in sides.iter_mut().enumerate() {
            self.run(side, FIRST_TRIAL - 1, |subject| {
                if let Some(secret) = subject.secret() {
                    path.push(secret.for_owner().to_vec());
                    if side == 0 {
                        scales.push(subject.claims().scale);
                    }
                }
                subject.release().map(|_| ())
            })?;
        }
        let [left, right] = sides;
        let rounds = left.into_iter().zip(right).zip(scales);
        Ok(Paths { rounds: rounds.map(|((left, right), scale)| ([left, right], scale)).collect() })
    }

    /// ln of the likelihood ratio of what was sent, side 0 over side 1.
    fn ratio(
        &self,
        kind: NoiseKind,
        side: usize,
        number: u64,
        paths: &Paths,
    ) -> Result<f64, ReleaseError> {
        let mut total = 0.0;
        let mut known = paths.rounds.iter();
        self.run(side, number, |subject| {
            let perturbed = subject.release()?;
            if perturbed.is_empty() {
                return Ok(());
            }
            let Some(([left, right], scale)) = known.next() else { return Ok(()) };
            for ((y, a), b) in perturbed.iter().zip(left).zip(right) {
                total += match kind {
                    NoiseKind::Laplace => ((y - b).abs() - (y - a).abs()) / scale,
                    NoiseKind::Gaussian => (a - b) * (2.0 * y - a - b) / (2.0 * scale * scale),
                };
            }
            Ok(())
        })?;
        Ok(total)
    }
}

/// The lower bound that one threshold proves.
fn proven(kind: NoiseKind, ours: &[f64], theirs: &[f64], threshold: f64) -> f64 {
    let hits = |side: &[f64]| side.iter().filter(|&&ratio| ratio >= threshold).count() as u64;
    let at_least = lower(hits(ours), ours.len() as u64, 0.5 * ALPHA);
    let at_most = upper(hits(theirs), theirs.len() as u64, 0.5 * ALPHA);
    separation(kind, at_least, at_most)
}

/// Of about forty thresholds, the one that proves the largest bound.
fn best_threshold(kind: NoiseKind, ours: &[f64], theirs: &[f64]) -> f64 {
    let mut sorted = ours.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut best = (f64::NEG_INFINITY, 0.0);
    for step in 1..40 {
        let threshold = sorted[sorted.len() * step / 40];
        let value = proven(kind, ours, theirs, threshold);
        if value > best.0 {
            best = (value, threshold);
        }
    }
    best.1
}
