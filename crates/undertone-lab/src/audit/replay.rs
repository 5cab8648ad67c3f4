//! Layer 1: twins on neighbouring histories, with the same messages heard, against the claims.

use super::report::{Check, Layer, Verdict};
use super::subject::{Facts, Subject, Trial};
use super::world::{Background, Message, World, record};
use undertone::noise::NoiseKind;
use undertone::{Release, ReleaseError};
use undertone_models::{Features, Record};

/// Room for the rounding of the auditor's own sums: 2⁻³⁰.
const ROUNDING: f64 = 1.0 + 1.0 / (1u64 << 30) as f64;

/// Builds subjects.
pub(super) type Make<'a, S> = &'a (dyn Fn(&Trial) -> S + Sync);

/// Two neighbouring histories: the record at one place is the first or the second of two.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) place: usize,
    pub(super) records: [Record; 2],
}

/// A number found and the claim it is held against.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    pub(super) claimed: f64,
    pub(super) found: f64,
    pub(super) round: u64,
}

impl Mark {
    pub(super) fn ratio(&self) -> f64 {
        if self.found <= 0.0 { 0.0 } else { self.found / self.claimed }
    }

    /// Keeps the mark with the larger ratio; NaN, which must not pass, stays once it is there.
    pub(super) fn keep_worse(&mut self, other: Mark) {
        if !self.ratio().is_nan() && !(other.ratio() <= self.ratio()) {
            *self = other;
        }
    }

    fn check(&self, name: &'static str, unit: &str, place: &str) -> Check {
        let holds = self.ratio() <= ROUNDING;
        Check {
            layer: Layer::Replay,
            name,
            claimed: self.claimed,
            measured: self.found,
            verdict: Verdict::of(holds),
            note: format!(
                "{unit}: at worst {:.4} of the claim, round {}; {place}",
                self.ratio(),
                self.round
            ),
        }
    }
}

/// How far a pair of histories drove the twins apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// The round in which ‖θ − θ'‖₂ came closest to the claimed Φ.
    pub(super) distance: Mark,
    /// Σ‖θ − θ'‖₁/ρ over the rounds, against the account.
    pub(super) pure: Mark,
    /// Σ‖θ − θ'‖₂²/(2ρ²) over the rounds, against the account.
    pub(super) zcdp: Mark,
    /// The largest ‖θ‖₂, against the radius of Θ.
    pub(super) radius: Mark,
    /// Rounds that were released.
    pub(super) rounds: u64,
    /// θ of the first twin at the end.
    pub(super) theta: Vec<f64>,
}

impl Outcome {
    /// What the search wants to raise.
    pub(super) fn score(&self) -> f64 {
        self.distance.ratio().max(self.pure.ratio()).max(self.zcdp.ratio())
    }

    fn measure<S: Subject>(&mut self, twins: &[S; 2], radius: f64) {
        let [left, right] = twins;
        let claims = left.claims();
        let (mut absolute, mut square) = (0.0, 0.0);
        for (a, b) in left.parameters().iter().zip(right.parameters()) {
            absolute += (a - b).abs();
            square += (a - b) * (a - b);
        }
        let round = claims.round.0;
        self.distance.keep_worse(Mark { claimed: claims.sensitivity, found: square.sqrt(), round });
        self.pure = Mark {
            claimed: claims.spent.pure,
            found: self.pure.found + absolute / claims.scale,
            round,
        };
        self.zcdp = Mark {
            claimed: claims.spent.zcdp,
            found: self.zcdp.found + square / (2.0 * claims.scale * claims.scale),
            round,
        };
        for twin in twins {
            let norm = twin.parameters().iter().map(|x| x * x).sum::<f64>().sqrt();
            self.radius.keep_worse(Mark { claimed: radius, found: norm, round });
        }
        self.rounds = round + 1;
    }
}

/// Runs both twins. `None` when a record was refused.
///
/// # Errors
/// When a release fails for another reason than the budget, which only ends the replay.
pub(super) fn replay<S: Subject>(
    facts: &Facts,
    make: Make<'_, S>,
    world: &World,
    pair: &Pair,
    rounds: u64,
) -> Result<Option<Outcome>, ReleaseError> {
    let mut twins = [make(&Trial::capped(0)), make(&Trial::capped(1))];
    let mut speakers = world.speakers(facts);
    let mut outcome = Outcome::default();
    'rounds: for round in 0..rounds {
        let range = world.range(round);
        for (twin, own) in twins.iter_mut().zip(&pair.records) {
            let batch = &world.records[range.clone()];
            let observed = if range.contains(&pair.place) {
                let mut batch = batch.to_vec();
                batch[pair.place - range.start] = own.clone();
                twin.observe(&batch)
            } else {
                twin.observe(batch)
            };
            if observed.is_err() {
                return Ok(None);
            }
        }
        for twin in &mut twins {
            match twin.release() {
                Ok(_) => {}
                Err(ReleaseError::Refused(_)) => break 'rounds,
                Err(error) => return Err(error),
            }
        }
        outcome.measure(&twins, facts.mechanism.radius);
        let heard = speakers.say()?;
        let heard: Vec<&Release> = heard.iter().collect();
        for twin in &mut twins {
            twin.absorb(&heard);
        }
    }
    outcome.theta = twins[0].parameters().to_vec();
    Ok(Some(outcome))
}

/// The rows of the table for what the search found.
pub(super) fn checks(facts: &Facts, found: &super::search::Found) -> Vec<Check> {
    if found.pairs == 0 {
        return vec![Check {
            layer: Layer::Replay,
            name: "distance",
            claimed: f64::NAN,
            measured: f64::NAN,
            verdict: Verdict::Dead,
            note: "every pair of records was refused: nothing was tested".into(),
        }];
    }
    let tried = format!("{}; {} pairs tried", found.distance.1, found.pairs);
    let mut checks = vec![
        found.distance.0.check("distance", "2-norm of theta - theta'", &tried),
        found.zcdp.0.check("zcdp", "zCDP of the pair", &found.zcdp.1),
    ];
    if facts.mechanism.noise.kind == NoiseKind::Laplace {
        checks.push(found.pure.0.check("pure", "pure epsilon of the pair", &found.pure.1));
    }
    checks.push(found.radius.0.check("set", "2-norm of theta", &found.radius.1));
    checks
}

/// Offers records outside the bounds: each must be refused, or move θ no further than claimed.
///
/// # Errors
/// As [`replay`].
pub(super) fn bounds<S: Subject>(facts: &Facts, make: Make<'_, S>) -> Result<Check, ReleaseError> {
    let rounds = facts.rounds.min(8);
    let world = World::new(facts, Background::Empty, Message::Still, rounds);
    let norm = facts.model.bounds().feature_norm;
    let [low, high] = facts.labels();
    let long = |factor: f64, label| record(facts, &[(0, 1.0)], factor * norm, label);
    let mut short = record(facts, &[(0, 1.0)], norm, high);
    short.features = Features::Dense(vec![f64::NAN; facts.model.spec().features].into());
    let offered = [
        ("features 1.5 times the bound", long(1.5, low)),
        ("features 1000 times the bound", long(1000.0, low)),
        ("features 1000 times the bound, other way", {
            let mut record = long(1000.0, high);
            record.features.scale(-1.0);
            record
        }),
        ("label beyond the bound", long(1.0, 100.0 * (1.0 + high.abs()))),
        ("label that is not a number", long(1.0, f64::NAN)),
        ("features that are not numbers", short),
    ];
    let (mut worst, mut refused, mut accepted) = (0.0_f64, 0, Vec::new());
    for (name, bad) in &offered {
        if make(&Trial::new(0)).observe(std::slice::from_ref(bad)).is_err() {
            refused += 1;
            continue;
        }
        accepted.push(*name);
        if !(bad.features.is_finite() && bad.label.is_finite()) {
            worst = f64::INFINITY;
            continue;
        }
        let pair = Pair { place: 0, records: [long(1.0, high), bad.clone()] };
        if let Some(outcome) = replay(facts, make, &world, &pair, rounds)? {
            worst = worst.max(outcome.score());
        }
    }
    let mut note = format!("{refused} of {} records outside the bounds refused", offered.len());
    if !accepted.is_empty() {
        note.push_str(&format!("; accepted: {}", accepted.join(", ")));
    }
    Ok(Check {
        layer: Layer::Replay,
        name: "bounds",
        claimed: 1.0,
        measured: worst,
        verdict: Verdict::of(worst <= ROUNDING),
        note,
    })
}
