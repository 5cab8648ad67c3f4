//! The layer `replay`: twins with neighbouring histories hear the same messages, and are compared
//! with the claims.
//!
//! The twins of Algorithm 1 are compared by θ. Those of a shielded learner take no steps of their
//! own, so that they stay at the same public point, which the messages move through Θ; their
//! gradients are compared. Nothing else needs to be compared: given the earlier releases, the point
//! is the same. There is no cap: a replay that is refused tests nothing. (`account` tests the cap.)

use super::audited_learner::{Facts, driven};
use super::report::{Check, Layer, Verdict};
use super::scenario::Scenario;
use super::search::Found;
use super::subject::{Subject, Trial};
use std::fmt;
use undertone::method::{Algorithm1, Bound, Method};
use undertone::noise::NoiseKind;
use undertone::privacy::{Accountant, Cost, RoundTerms};
use undertone::{PowerLaw, Release, ReleaseError, Round};
use undertone_models::{BoundedRecord, Record};

/// Room for the rounding of the auditor's own sums: 2⁻³⁰.
pub(super) const ROUNDING: f64 = 1.0 + 1.0 / (1u64 << 30) as f64;
/// A search must reach this share of the best known bound; otherwise it could not have found a
/// claim that is half too small. Sound configs reached 0.45 to 1.
const POWER: f64 = 0.25;

/// Builds subjects.
pub(super) type Make<'a, S> = &'a (dyn Fn(&Trial) -> S + Sync);

/// Two neighbouring histories, which have different records at one place.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) index: usize,
    pub(super) records: [BoundedRecord; 2],
}

impl Pair {
    /// Two records at one place; none, where a subject refuses one of them.
    pub(super) fn new(index: usize, records: [Record; 2], subject: &impl Subject) -> Option<Pair> {
        let [first, second] = records.map(|record| subject.check(record).ok());
        Some(Pair { index, records: [first?, second?] })
    }
}

/// A measured number and its claim.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    pub(super) claimed: f64,
    pub(super) found: f64,
    pub(super) round: u64,
}

impl Measured {
    pub(super) fn ratio(&self) -> f64 {
        if self.found <= 0.0 { 0.0 } else { self.found / self.claimed }
    }

    /// Keeps the number with the larger ratio to its claim. A NaN must fail, so it is kept once it
    /// occurs.
    pub(super) fn keep_worse(&mut self, other: Measured) {
        if !self.ratio().is_nan() && !(other.ratio() <= self.ratio()) {
            *self = other;
        }
    }

    fn check(&self, name: &'static str, unit: &str, found_at: &str) -> Check {
        let holds = self.ratio() <= ROUNDING;
        Check {
            layer: Layer::Replay,
            name,
            claimed: self.claimed,
            measured: self.found,
            verdict: Verdict::of(holds),
            note: format!(
                "{unit}: at worst {:.4} of the claim, round {}; {found_at}",
                self.ratio(),
                self.round
            ),
        }
    }
}

/// How far apart the twins of a pair of histories were.
#[derive(Clone, Default)]
pub(super) struct Outcome {
    /// The round in which ‖secret − secret'‖₂ came closest to the claimed Φ.
    pub(super) distance: Measured,
    /// The round in which Σ‖·‖₁/ρ so far came closest to the account.
    pub(super) pure: Measured,
    /// The round in which Σ‖·‖₂²/(2ρ²) so far came closest to the account.
    pub(super) zcdp: Measured,
    /// The largest secret, against the bound it is clamped to.
    pub(super) radius: Measured,
    /// The round in which ‖secret − secret'‖₂ came closest to the best known bound.
    pub(super) power: Measured,
    /// Both sums over all rounds.
    pub(super) lost: Cost,
    /// The account after all rounds.
    pub(super) spent: Cost,
    /// Rounds that were released.
    pub(super) rounds: u64,
    /// How many of them cost anything.
    pub(super) paid: u64,
    /// The first twin's θ, or public point, at the end. It follows from records: private.
    pub(super) point: Vec<f64>,
}

/// Prints no parameters.
impl fmt::Debug for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Outcome(rounds={}, paid={}, <redacted>)", self.rounds, self.paid)
    }
}

/// How far apart two secrets are, in both norms, and the larger of their lengths.
#[derive(Clone, Copy, Default)]
struct Distance {
    absolute: f64,
    square: f64,
    norm: f64,
}

impl Distance {
    fn of<S: Subject>(twins: &[S; 2]) -> Distance {
        let [left, right] = twins.each_ref().map(|twin| twin.secret());
        let (left, right) = match (left, right) {
            (Some(left), Some(right)) => (left.for_owner(), right.for_owner()),
            (None, None) => return Distance::default(),
            // One twin has a secret and the other has none: no bound holds then.
            _ => return Distance { absolute: f64::NAN, square: f64::NAN, norm: f64::NAN },
        };
        let mut apart = Distance::default();
        let mut norms = [0.0, 0.0];
        for (a, b) in left.iter().zip(right) {
            apart.absolute += (a - b).abs();
            apart.square += (a - b) * (a - b);
            norms[0] += a * a;
            norms[1] += b * b;
        }
        apart.norm = norms[0].max(norms[1]).sqrt();
        apart
    }
}

impl Outcome {
    /// What the search maximises.
    pub(super) fn score(&self) -> f64 {
        self.distance.ratio().max(self.pure.ratio()).max(self.zcdp.ratio())
    }

    fn measure<S: Subject>(&mut self, twins: &[S; 2], apart: Distance, bound: f64, best: f64) {
        let claims = twins[0].claims();
        let round = claims.round.0;
        let found = apart.square.sqrt();
        self.distance.keep_worse(Measured { claimed: claims.sensitivity, found, round });
        self.power.keep_worse(Measured { claimed: best, found, round });
        self.radius.keep_worse(Measured { claimed: bound, found: apart.norm, round });
        self.lost.pure += apart.absolute / claims.scale;
        self.lost.zcdp += apart.square / (2.0 * claims.scale * claims.scale);
        let before = std::mem::replace(&mut self.spent, claims.spent);
        self.paid += u64::from(claims.spent.zcdp > before.zcdp);
        let Cost { pure, zcdp } = claims.spent;
        self.pure.keep_worse(Measured { claimed: pure, found: self.lost.pure, round });
        self.zcdp.keep_worse(Measured { claimed: zcdp, found: self.lost.zcdp, round });
        self.rounds = round + 1;
    }

    /// The points of the twins differ although no perturbed value explains it.
    fn points_differ(&mut self, round: u64) {
        self.distance = Measured { claimed: 0.0, found: f64::INFINITY, round };
    }
}

/// An account by the tightest known recursion, for exact gradients. The power of the search is
/// measured against it.
fn best_account(facts: &Facts) -> Accountant {
    let mut mechanism = driven(facts.mechanism);
    mechanism.memory_error = PowerLaw::ZERO;
    if !facts.is_shielded() {
        mechanism.method = Method::Algorithm1(Algorithm1 { bound: Bound::Tight });
    }
    Accountant::new(mechanism, None)
}

/// Runs both twins.
///
/// # Errors
/// When a release fails.
pub(super) fn replay<S: Subject>(
    facts: &Facts,
    make: Make<'_, S>,
    scenario: &Scenario,
    pair: &Pair,
    rounds: u64,
) -> Result<Outcome, ReleaseError> {
    let trial = Trial { start: scenario.start(facts), still: true, ..Trial::default() };
    let mut twins = [make(&trial), make(&Trial { number: 1, ..trial })];
    let mut neighbours_heard = scenario.neighbours_heard(facts);
    let mut outcome = Outcome::default();
    let mut best = best_account(facts);
    for round in 0..rounds {
        observe(&mut twins, scenario, pair, round);
        let apart = Distance::of(&twins);
        if let Some(theta) = twins[0].secret().filter(|_| !facts.is_shielded()) {
            outcome.point.clear();
            outcome.point.extend_from_slice(theta.for_owner());
        }
        for twin in &mut twins {
            twin.release()?;
        }
        let bound = facts.mechanism.perturbation(Round(round)).bound;
        outcome.measure(&twins, apart, bound, best.sensitivity());
        if facts.is_shielded() {
            let [left, right] = twins.each_ref().map(Subject::sent);
            if !left.iter().map(|x| x.to_bits()).eq(right.iter().map(|x| x.to_bits())) {
                outcome.points_differ(round);
            }
            outcome.point = left.to_vec();
        }
        let heard = neighbours_heard.next_releases()?;
        let heard: Vec<&Release> = heard.iter().collect();
        for twin in &mut twins {
            twin.absorb(&heard);
        }
        let records = scenario.range(round).end as u64;
        let weight_heard = scenario.weight_heard(facts);
        let terms = RoundTerms { round: Round(round), weight_heard, records };
        best.advance(&terms);
    }
    Ok(outcome)
}

/// Gives the twins the records of a round, each with its own record of the pair.
fn observe<S: Subject>(twins: &mut [S; 2], scenario: &Scenario, pair: &Pair, round: u64) {
    let range = scenario.range(round);
    let batch = &scenario.records[range.clone()];
    for (twin, own) in twins.iter_mut().zip(&pair.records) {
        if !range.contains(&pair.index) {
            twin.observe(batch);
            continue;
        }
        let mut batch = batch.to_vec();
        batch[pair.index - range.start] = own.clone();
        twin.observe(&batch);
    }
}

/// The rows of the table for the search's result.
pub(super) fn checks(facts: &Facts, found: &Found) -> Vec<Check> {
    let secret = if facts.is_shielded() { "gradient" } else { "theta" };
    let unit = format!("2-norm of {secret} - {secret}'");
    let mut checks = Vec::new();
    if found.pairs > 0 {
        let covered = format!("{}; {} pairs tried, {}", found.distance.1, found.pairs, found.cuts);
        checks.extend([
            found.distance.0.check("distance", &unit, &covered),
            found.zcdp.0.check("zcdp", "zCDP of the pair", &found.zcdp.1),
        ]);
        if facts.mechanism.noise.kind == NoiseKind::Laplace {
            checks.push(found.pure.0.check("pure", "pure epsilon of the pair", &found.pure.1));
        }
        let unit = format!("2-norm of {secret}");
        checks.push(found.radius.0.check("set", &unit, &found.radius.1));
    }
    checks.push(power(found));
    checks
}

/// Whether the search could have found a broken claim.
fn power(found: &Found) -> Check {
    let measured = found.power.0.ratio();
    let note = if found.pairs == 0 {
        "every pair of records was refused: nothing was tested".into()
    } else if found.paid == 0 {
        "no replay came to a round that costs anything: nothing was tested".into()
    } else {
        format!(
            "share of the best bound known that the search reached; {} rounds replayed, {} of them paid for",
            found.rounds, found.paid
        )
    };
    let live = found.pairs > 0 && found.paid > 0 && !(measured < POWER);
    let verdict = if live { Verdict::Holds } else { Verdict::Dead };
    Check { layer: Layer::Replay, name: "power", claimed: POWER, measured, verdict, note }
}
