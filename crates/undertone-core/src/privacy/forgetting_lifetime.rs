//! The lifetime certificate for memories that forget: a record costs a finite amount even with
//! constant steps, and from some arrival round on all records cost the same.
//!
//! It requires constant steps and coupling, and noise that does not shrink. Like every certificate,
//! it assumes that all neighbours are heard and that records arrive as planned. Proof: ADR 0011.

use super::cost::{Cost, ROUNDING};
use super::lifetime::{Lifetime, NoCertificate};
use super::mechanism::Mechanism;
use super::record_accounts::FOLDING_ROOM;
use super::step_effect::StepEffect;
use crate::noise::NoiseKind;
use crate::{Forgetting, Round};

/// Arrival rounds up to this one are examined one by one, later ones in ranges.
const ONE_BY_ONE: u64 = 128;
/// The length of a range is the number of arrival rounds before it, divided by this.
const RANGE_PART: u64 = 8;
/// The longest window. All arrival rounds from this one on are examined as one range.
const ROUNDS_MAX: u64 = 1 << 20;
/// A record is followed until its remaining cost is at most this share of what it has paid.
const TAIL_SHARE: f64 = 1.0 / (1u64 << 40) as f64;
/// Covers the rounding of sums of weights.
const WEIGHT_ROUNDING: f64 = 1.0 - 1e-9;

/// Bounds what any record will ever pay, given the contraction of every round and what machine arithmetic
/// adds to the ratio of sensitivity and noise in any round.
///
/// # Guarantee
/// As [`lifetime`](super::lifetime()).
pub(crate) fn lifetime(
    mechanism: &Mechanism,
    contraction: f64,
    machine: f64,
) -> Result<Lifetime, NoCertificate> {
    let mut worst: Option<Lifetime> = None;
    for range in arrivals(mechanism.forgetting) {
        let bound = Follower::new(mechanism, contraction, range).bound(machine);
        if worst.is_none_or(|worst| bound.total.zcdp > worst.total.zcdp) {
            // Both currencies are bounds, so the largest pure ε is kept.
            let pure = worst.map_or(0.0, |worst| worst.total.pure).max(bound.total.pure);
            let total = Cost { pure, ..bound.total };
            worst = Some(Lifetime { total, ..bound });
        } else if let Some(worst) = &mut worst {
            worst.total.pure = worst.total.pure.max(bound.total.pure);
        }
    }
    worst.ok_or(NoCertificate::NoContraction)
}

/// The contraction, which is the same in every round, if the certificate applies.
///
/// `carries_over` says whether θ depends on records through earlier rounds: then steps and coupling must
/// not change, and the loss must be smooth.
pub(crate) fn contraction(mechanism: &Mechanism, carries_over: bool) -> Result<f64, NoCertificate> {
    let whole = mechanism.forgetting.factor() >= 1.0;
    if whole && mechanism.forgetting.limit().is_none_or(|limit| limit > ROUNDS_MAX) {
        return Err(NoCertificate::Forgetting { needs: "a window of at most 2^20 rounds" });
    }
    let constant = |exponent: f64| exponent.abs() <= 0.0;
    let schedule = &mechanism.schedule;
    let steady = constant(schedule.step.exponent) && constant(schedule.coupling.exponent);
    if carries_over && !steady {
        return Err(NoCertificate::Forgetting {
            needs: "a constant step and coupling (step_exponent = coupling_exponent = 0)",
        });
    }
    if !(mechanism.noise.scale.exponent >= 0.0) {
        return Err(NoCertificate::Forgetting { needs: "noise that does not shrink" });
    }
    let spread = mechanism.constants.gradient_spread;
    let error = mechanism.memory_error;
    if !(error.initial <= spread * (-40f64).exp2() && error.exponent <= 0.0) {
        return Err(NoCertificate::Forgetting { needs: "a memory that errs by rounding only" });
    }
    if mechanism.batch == 0 {
        return Err(NoCertificate::NoNewRecords);
    }
    if carries_over && !mechanism.constants.smoothness.is_finite() {
        return Err(NoCertificate::NotConvexAndSmooth);
    }
    let contraction = mechanism.step_effect(&mechanism.planned_terms(Round::ZERO)).contraction;
    if contraction < 1.0 { Ok(contraction) } else { Err(NoCertificate::NoContraction) }
}

/// Arrival rounds `first` to `last`; `None` means no end.
#[derive(Clone, Copy, Debug)]
struct Arrivals {
    first: u64,
    last: Option<u64>,
}

/// The number of rounds after which a record weighs nothing or, if it is never dropped, less than 2⁻⁴⁰ of a new one.
pub(super) fn settling_rounds(forgetting: Forgetting) -> u64 {
    let rounds = match forgetting.limit() {
        Some(limit) => limit,
        // From here on, the weight of the warm-up, and of the rounds missing before round 0, is
        // below 2⁻⁴⁰.
        None => {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a positive number, cut at a limit"
            )]
            let rounds = ((-40f64).exp2().ln() / forgetting.factor().ln()).ceil() as u64;
            rounds
        }
    };
    rounds.min(ROUNDS_MAX)
}

/// All arrivals, in ranges: one by one at first, and all from the stationary one on as one.
fn arrivals(forgetting: Forgetting) -> Vec<Arrivals> {
    let stationary = settling_rounds(forgetting);
    let mut ranges = Vec::new();
    let mut first = 0;
    while first < stationary {
        let length = if first < ONE_BY_ONE { 1 } else { first / RANGE_PART };
        let last = (first + length).min(stationary) - 1;
        ranges.push(Arrivals { first, last: Some(last) });
        first = last + 1;
    }
    ranges.push(Arrivals { first: stationary, last: None });
    ranges
}

/// The sum of all raw weights in a round, if records arrive as planned.
#[derive(Clone, Copy, Debug)]
struct PlannedTotal {
    factor: f64,
    limit: u64,
    batch: f64,
    /// The sum from the stationary round on, or its limit.
    settled: f64,
    round: u64,
    total: f64,
}

impl PlannedTotal {
    #[expect(clippy::cast_precision_loss, reason = "record counts stay far below 2^53")]
    fn new(mechanism: &Mechanism, round: u64) -> PlannedTotal {
        let factor = mechanism.forgetting.factor();
        let limit = mechanism.forgetting.limit().unwrap_or(u64::MAX);
        let (batch, warmup) = (mechanism.batch as f64, mechanism.warmup as f64);
        // 1 + f + … + f^(rounds − 1)
        let series = |rounds: u64| match factor < 1.0 {
            true => -(rounds as f64 * factor.ln()).exp_m1() / (1.0 - factor),
            false => rounds as f64,
        };
        let settled = batch * series(limit);
        let total = match round < limit {
            true => batch * series(round + 1) + warmup * factor.powf(round as f64),
            false => settled,
        };
        PlannedTotal { factor, limit, batch, settled, round, total }
    }

    fn advance(&mut self) {
        self.round += 1;
        self.total = match self.round < self.limit {
            true => self.total * self.factor + self.batch,
            false => self.settled,
        };
    }
}

/// Follows a stand-in for all records of a range: its weight is at least theirs, and the noise at
/// most theirs.
struct Follower<'a> {
    mechanism: &'a Mechanism,
    contraction: f64,
    step: StepEffect,
    first: u64,
    at_first: PlannedTotal,
    at_last: Option<PlannedTotal>,
    age: u64,
    /// f^age.
    raw: f64,
    sensitivity: f64,
}

impl<'a> Follower<'a> {
    fn new(mechanism: &'a Mechanism, contraction: f64, range: Arrivals) -> Follower<'a> {
        let step = mechanism.step_effect(&mechanism.planned_terms(Round::ZERO));
        Follower {
            mechanism,
            contraction,
            step,
            first: range.first,
            at_first: PlannedTotal::new(mechanism, range.first),
            at_last: range.last.map(|last| PlannedTotal::new(mechanism, last)),
            age: 0,
            raw: 1.0,
            sensitivity: 0.0,
        }
    }

    /// The largest weight of a record of this age.
    fn weight(&self) -> f64 {
        if self.age >= self.at_first.limit {
            return 0.0;
        }
        // Totals rise or fall towards the settled total, with at most one jump down to it, so the
        // smallest in a range of rounds is at one of its ends.
        let last = self.at_last.map_or(self.at_first.settled, |end| end.total);
        self.raw / (self.at_first.total.min(last) * WEIGHT_ROUNDING)
    }

    /// Moves one step further. Returns the ratio of sensitivity and noise at the release after it.
    fn step(&mut self) -> f64 {
        let drive = self.step.drive(self.weight());
        self.sensitivity = (self.contraction * self.sensitivity + drive).next_up();
        self.age += 1;
        self.raw *= self.at_first.factor;
        self.at_first.advance();
        if let Some(end) = &mut self.at_last {
            end.advance();
        }
        self.sensitivity / self.mechanism.noise.scale.at(Round(self.first + self.age))
    }

    /// Bounds on Σ x and Σ x²/2 over all later releases, x the ratio of sensitivity and noise.
    ///
    /// With d the next drive, later ones fall at least like d·f^i, so that Σ Φ ≤ (cΦ + d/(1 − f))/(1 − c)
    /// and no later Φ is above Φ + d/(1 − f).
    fn tail(&self) -> (f64, f64) {
        let settled = self.at_first.settled.min(self.at_first.total) * WEIGHT_ROUNDING;
        let weight = if self.age >= self.at_first.limit { 0.0 } else { self.raw / settled };
        let drive = self.step.drive(weight);
        let drives = if drive > 0.0 { drive / (1.0 - self.at_first.factor) } else { 0.0 };
        let scale = self.mechanism.noise.scale.at(Round(self.first + self.age));
        let sum = (self.contraction * self.sensitivity + drives) / (1.0 - self.contraction) / scale;
        (sum, 0.5 * sum * (self.sensitivity + drives) / scale)
    }

    fn bound(mut self, machine: f64) -> Lifetime {
        let (mut ratios, mut squares) = (0.0, 0.0);
        let (mut tail, mut tail_squares) = self.tail();
        while self.age < 2 * ROUNDS_MAX
            && !(tail <= TAIL_SHARE * ratios && tail_squares <= TAIL_SHARE * squares)
        {
            let ratio = self.step();
            ratios += ratio;
            squares += 0.5 * ratio * ratio;
            (tail, tail_squares) = self.tail();
        }
        let total =
            machine_and_ratios(self.mechanism, machine, ratios + tail, squares + tail_squares);
        let tail = cost(self.mechanism, tail, tail_squares + machine * tail);
        Lifetime { total, summed_to: Round(self.first + self.age), tail, worst: Round(self.first) }
    }
}

/// What releases cost whose ratios x of sensitivity and noise add up to `ratios`, and x²/2 to `squares`, with the
/// machine's ratio m in every round there may be: (x + m)²/2 summed is Σx²/2 + mΣx + m²/2 for each.
pub(super) fn machine_and_ratios(
    mechanism: &Mechanism,
    machine: f64,
    ratios: f64,
    squares: f64,
) -> Cost {
    let last = rounds_ever();
    let zcdp = squares + machine * ratios + 0.5 * last * machine * machine;
    cost(mechanism, ratios + last * machine, zcdp)
}

fn cost(mechanism: &Mechanism, ratios: f64, zcdp: f64) -> Cost {
    let pure = match mechanism.noise.kind {
        NoiseKind::Laplace => mechanism.dimension_root() * ratios,
        NoiseKind::Gaussian => f64::INFINITY,
    };
    let room = ROUNDING * ROUNDING * FOLDING_ROOM;
    Cost { pure: pure * room, zcdp: zcdp * room }
}

#[expect(clippy::cast_precision_loss, reason = "2^32 is exact")]
fn rounds_ever() -> f64 {
    Round::LIMIT.0 as f64
}
