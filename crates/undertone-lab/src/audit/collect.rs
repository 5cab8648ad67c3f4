//! The residuals of many runs: noise over its claimed scale; and the exact properties of releases.

use super::Effort;
use super::audited_learner::Facts;
use super::limits::{self, Extent, round_cost, rounds_in_all};
use super::release_reconstruction::PublicPoint;
use super::replay::Make;
use super::scenario::{Background, Message, Scenario};
use super::subject::{Subject, Trial};
use undertone::noise::Grid;
use undertone::{Release, ReleaseError};

/// Rounds of one run.
const ROUNDS_MAX: u64 = 1024;
/// The fewest samples of a coordinate that say enough about it.
const SAMPLES_PER_COORDINATE: u64 = 16;
/// Noise does not depend on records, so a few are enough.
const RECORDS: u64 = 64;
/// One value in this many is compared with the neighbour's.
const NEIGHBOUR_SHARE: u64 = 4;
/// The first trial number of this layer.
const FIRST_TRIAL: u64 = 2 << 40;

/// All residuals, run after run, round after round.
#[derive(Default)]
pub(super) struct Collection {
    pub(super) values: Vec<f64>,
    /// How many rounds with a secret each run had.
    pub(super) runs: Vec<usize>,
    /// The neighbour's residuals in the first of these runs.
    pub(super) neighbour: Vec<f64>,
    /// Σ of 1/R over rounds, where R is the scale in grid steps. A cell is half a step on either
    /// side of zero.
    pub(super) cells: f64,
    /// Residuals inside that cell, by coordinate.
    pub(super) tiny: Vec<u64>,
    pub(super) off_grid: u64,
    pub(super) answered_twice: u64,
    /// For a shielded learner, how far the release is from the computed point, and how far it may
    /// be.
    pub(super) sent_off: Option<(f64, f64)>,
}

/// How many runs, and how many rounds each has.
struct Schedule {
    runs: u64,
    rounds: u64,
}

impl Schedule {
    /// At least two runs, so that runs can be compared, with at least two secrets each.
    fn new(facts: &Facts, effort: &Effort) -> Schedule {
        let dimension = facts.dimension() as u64;
        let interval = facts.interval();
        let fit = limits::vectors(facts, 4) as u64;
        let one = round_cost(facts, 4.0, RECORDS as f64) * interval as f64;
        // As many secrets as are wanted, fit into memory and fit the time limit.
        let secrets = effort.samples.div_ceil(dimension).max(SAMPLES_PER_COORDINATE);
        let secrets = secrets.min(fit).min(rounds_in_all(one, effort)).max(4);
        // Round 0 of a shielded learner has no secret.
        let each = facts.rounds.div_ceil(interval).clamp(2, ROUNDS_MAX).min(secrets / 2);
        let rounds = each * interval + u64::from(facts.is_shielded());
        Schedule { runs: secrets.div_ceil(each), rounds }
    }
}

/// Runs the learner and keeps its noise.
///
/// # Errors
/// When a release fails.
pub(super) fn collect<S: Subject>(
    facts: &Facts,
    make: Make<'_, S>,
    effort: &Effort,
) -> Result<Collection, ReleaseError> {
    let plan = Schedule::new(facts, effort);
    let planned = facts.mechanism.warmup + facts.mechanism.batch;
    let extent = Extent { rounds: plan.rounds, first: planned.min(RECORDS), batch: 0 };
    let subject = make(&Trial::new(FIRST_TRIAL));
    let scenario = Scenario::new(facts, &subject, Background::Alternating, Message::Push, extent);
    let mut found = Collection { tiny: vec![0; facts.dimension()], ..Collection::default() };
    for number in 0..plan.runs {
        let trial = Trial::new(FIRST_TRIAL + number);
        let before = found.values.len();
        one_run(facts, &mut make(&trial), &scenario, &mut found)?;
        found.runs.push((found.values.len() - before) / facts.dimension());
        let has_neighbour = facts.mechanism.weight > 0.0;
        if has_neighbour && number < plan.runs.div_ceil(NEIGHBOUR_SHARE) {
            let mut neighbour = make(&Trial { neighbour: true, ..trial });
            found.neighbour.extend(neighbour_run(&mut neighbour, plan.rounds)?);
        }
    }
    Ok(found)
}

fn one_run<S: Subject>(
    facts: &Facts,
    subject: &mut S,
    scenario: &Scenario,
    found: &mut Collection,
) -> Result<(), ReleaseError> {
    let mut neighbours_heard = scenario.neighbours_heard(facts);
    let mut follower = PublicPoint::new(facts);
    for round in 0..scenario.extent.rounds {
        // A refused record does not matter here: the noise is the same without records.
        subject.observe(&scenario.records[scenario.range(round)]);
        let secret = subject.secret().map(|secret| secret.for_owner().to_vec());
        let perturbed = subject.release()?;
        let claims = subject.claims();
        if let Some(secret) = secret {
            found.include(claims.scale, &secret, &perturbed);
        }
        let again = subject.release()?;
        let same = perturbed.iter().zip(&again).all(|(a, b)| a.to_bits() == b.to_bits());
        found.answered_twice += u64::from(!(same && perturbed.len() == again.len()));
        let heard = neighbours_heard.next_releases()?;
        if facts.is_shielded() {
            follower.follow(claims.round, &perturbed, subject.sent());
            follower.mix(claims.round, &heard);
        }
        subject.absorb(&heard.iter().collect::<Vec<&Release>>());
    }
    if facts.is_shielded() {
        let worst = found.sent_off.map_or(0.0, |(worst, _)| worst).max(follower.worst);
        found.sent_off = Some((worst, follower.tolerance()));
    }
    Ok(())
}

/// The residuals of the neighbour. It hears no one, which does not change its noise.
fn neighbour_run<S: Subject>(subject: &mut S, rounds: u64) -> Result<Vec<f64>, ReleaseError> {
    let mut values = Vec::new();
    for _ in 0..rounds {
        let secret = subject.secret().map(|secret| secret.for_owner().to_vec());
        let perturbed = subject.release()?;
        let scale = subject.claims().scale;
        if let Some(secret) = secret {
            values.extend(perturbed.iter().zip(secret).map(|(y, x)| (y - x) / scale));
        }
        subject.absorb(&[]);
    }
    Ok(values)
}

impl Collection {
    fn include(&mut self, scale: f64, secret: &[f64], perturbed: &[f64]) {
        let missing = secret.len().abs_diff(perturbed.len());
        self.off_grid += missing as u64;
        // A scale without a grid cannot have been used, so every value counts as off the grid.
        let step = Grid::new(scale).map_or(f64::INFINITY, |grid| grid.step());
        self.cells += step / scale;
        for ((&y, &x), tiny) in perturbed.iter().zip(secret).zip(&mut self.tiny) {
            self.values.push((y - x) / scale);
            *tiny += u64::from((y - x).abs() <= 0.5 * step);
            self.off_grid += u64::from(!((y / step).fract().abs() <= 0.0));
        }
    }
}
