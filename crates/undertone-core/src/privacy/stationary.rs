//! The lifetime certificate where records are forgotten: a record costs a finite amount even with
//! constant steps, and from some arrival on all cost the same.
//!
//! It needs steps and coupling that do not change and noise that does not shrink, and assumes, as every
//! certificate does, that all neighbours are heard and records arrive as planned. Proof: ADR 0011.

use super::exposures::{FOLDING_ROOM, drive};
use super::lifetime::{Lifetime, NoCertificate};
use super::mechanism::{Cost, MESSAGES_CHARGED, Mechanism, ROUNDING, Rule};
use crate::noise::NoiseKind;
use crate::{Forgetting, Round};

/// Records are looked at one by one up to this arrival, later ones in ranges.
const ONE_BY_ONE: u64 = 128;
/// A range is this part of the arrivals before it.
const RANGE_PART: u64 = 8;
/// The longest window, and the last arrival that is not yet taken as one with all later ones.
const ROUNDS_MAX: u64 = 1 << 20;
/// A record is followed until what is left is at most this share of what it has paid.
const TAIL_SHARE: f64 = 1.0 / (1u64 << 40) as f64;
/// Covers the rounding of sums of weights.
const WEIGHT_ROUNDING: f64 = 1.0 - 1e-9;

/// Bounds what any record will ever pay.
///
/// # Guarantee
/// As [`lifetime`](super::lifetime()).
pub(super) fn lifetime(mechanism: &Mechanism) -> Result<Lifetime, NoCertificate> {
    // A gradient in every round costs no less than one in every so many.
    let rule = match mechanism.rule {
        Rule::Shielded { .. } => Rule::Shielded { interval: 1 },
        rule => rule,
    };
    let mechanism = &Mechanism { rule, ..*mechanism };
    let contraction = check_applicable(mechanism)?;
    let mut worst: Option<Lifetime> = None;
    for range in arrivals(mechanism.forgetting) {
        let bound = Follower::new(mechanism, contraction, range).bound();
        if worst.is_none_or(|worst| bound.total.zcdp > worst.total.zcdp) {
            // Both currencies are bounds, so the larger pure ε stays.
            let pure = worst.map_or(0.0, |worst| worst.total.pure).max(bound.total.pure);
            let total = Cost { pure, ..bound.total };
            worst = Some(Lifetime { total, ..bound });
        } else if let Some(worst) = &mut worst {
            worst.total.pure = worst.total.pure.max(bound.total.pure);
        }
    }
    worst.ok_or(NoCertificate::NoContraction)
}

/// The contraction, the same in every round, if there is one.
fn check_applicable(mechanism: &Mechanism) -> Result<f64, NoCertificate> {
    if mechanism.rule == Rule::Theorem5i {
        return Err(NoCertificate::FiniteHorizonRule);
    }
    let whole = mechanism.forgetting.factor() >= 1.0;
    if whole && mechanism.forgetting.limit().is_none_or(|limit| limit > ROUNDS_MAX) {
        return Err(NoCertificate::Forgetting { needs: "a window of at most 2^20 rounds" });
    }
    let constant = |exponent: f64| exponent.abs() <= 0.0;
    let schedule = &mechanism.schedule;
    let shielded = matches!(mechanism.rule, Rule::Shielded { .. });
    if !(shielded || constant(schedule.step.exponent) && constant(schedule.coupling.exponent)) {
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
    if !(shielded || mechanism.constants.smoothness.is_finite()) {
        return Err(NoCertificate::NotConvexAndSmooth);
    }
    let contraction = mechanism.step_effect(&mechanism.planned_terms(Round::ZERO)).contraction;
    if contraction < 1.0 { Ok(contraction) } else { Err(NoCertificate::NoContraction) }
}

/// Arrivals `first` to `last`, without end where that is `None`.
#[derive(Clone, Copy, Debug)]
struct Arrivals {
    first: u64,
    last: Option<u64>,
}

/// All arrivals, in ranges: one by one at first, and all from the stationary one on as one.
fn arrivals(forgetting: Forgetting) -> Vec<Arrivals> {
    let stationary = match forgetting.limit() {
        Some(limit) => limit,
        // From here on the warm-up, and that early rounds are few, weighs less than 2⁻⁴⁰.
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
    let stationary = stationary.min(ROUNDS_MAX);
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

/// What all raw weights of a round add up to, when records arrive as planned.
#[derive(Clone, Copy, Debug)]
struct PlannedTotal {
    factor: f64,
    limit: u64,
    batch: f64,
    /// What it is from the stationary round on, or tends to.
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

/// Follows any record of a range of arrivals: its weight is at most, and the noise at least, that of
/// every one of them.
struct Follower<'a> {
    mechanism: &'a Mechanism,
    contraction: f64,
    reach: f64,
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
        let reach = mechanism.step_effect(&mechanism.planned_terms(Round::ZERO)).reach;
        Follower {
            mechanism,
            contraction,
            reach,
            first: range.first,
            at_first: PlannedTotal::new(mechanism, range.first),
            at_last: range.last.map(|last| PlannedTotal::new(mechanism, last)),
            age: 0,
            raw: 1.0,
            sensitivity: 0.0,
        }
    }

    /// The most a record of this age can weigh.
    fn weight(&self) -> f64 {
        if self.age >= self.at_first.limit {
            return 0.0;
        }
        // Totals rise or fall towards the settled one, with at most one jump down to it: the least over
        // a range of rounds is at one of its ends.
        let last = self.at_last.map_or(self.at_first.settled, |end| end.total);
        self.raw / (self.at_first.total.min(last) * WEIGHT_ROUNDING)
    }

    /// One step further: the ratio of sensitivity and noise at the release after it.
    fn step(&mut self) -> f64 {
        let drive = drive(self.mechanism.rule, self.reach, self.weight());
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
        let drive = drive(self.mechanism.rule, self.reach, weight);
        let drives = if drive > 0.0 { drive / (1.0 - self.at_first.factor) } else { 0.0 };
        let scale = self.mechanism.noise.scale.at(Round(self.first + self.age));
        let sum = (self.contraction * self.sensitivity + drives) / (1.0 - self.contraction) / scale;
        (sum, 0.5 * sum * (self.sensitivity + drives) / scale)
    }

    fn bound(mut self) -> Lifetime {
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
        let machine = machine_ratio(self.mechanism, self.contraction);
        let last = rounds_ever();
        // (x + m)²/2 summed, m the machine's ratio: Σx²/2 + mΣx + m²/2 for every round there may be.
        let zcdp = |squares: f64, ratios: f64| squares + machine * ratios;
        let total = self.cost(
            ratios + tail + last * machine,
            zcdp(squares + tail_squares, ratios + tail) + 0.5 * last * machine * machine,
        );
        let tail = self.cost(tail, zcdp(tail_squares, tail));
        Lifetime { total, summed_to: Round(self.first + self.age), tail, worst: Round(self.first) }
    }

    fn cost(&self, ratios: f64, zcdp: f64) -> Cost {
        #[expect(clippy::cast_precision_loss, reason = "dimensions stay far below 2^53")]
        let root = (self.mechanism.dimension as f64).sqrt();
        let pure = match self.mechanism.noise.kind {
            NoiseKind::Laplace => root * ratios,
            NoiseKind::Gaussian => f64::INFINITY,
        };
        let room = ROUNDING * ROUNDING * FOLDING_ROOM;
        Cost { pure: pure * room, zcdp: zcdp * room }
    }
}

#[expect(clippy::cast_precision_loss, reason = "2^32 is exact")]
fn rounds_ever() -> f64 {
    Round::LIMIT.0 as f64
}

/// A bound, over all rounds, on what machine arithmetic adds to the ratio of sensitivity and noise:
/// the charge at the release, and what the memory's rounding adds up to, 2λe/(1 − c).
fn machine_ratio(mechanism: &Mechanism, contraction: f64) -> f64 {
    let scale = mechanism.noise.scale;
    // Both parts are monotone in t, so that the first and the last round bound them.
    let ends = [Round(1), Round::LIMIT];
    let messages = ends
        .map(|round| mechanism.noise_max.at(round) / scale.at(round))
        .into_iter()
        .fold(0.0, f64::max);
    let messages =
        messages * MESSAGES_CHARGED * mechanism.weight * mechanism.schedule.coupling.initial;
    if let Rule::Shielded { .. } = mechanism.rule {
        let error = 2.0 * mechanism.memory_error.initial;
        return (mechanism.gradient_rounding() + error) / scale.at(Round(1));
    }
    let state = mechanism.radius / scale.at(Round(1));
    let approximation = mechanism.step_effect(&mechanism.planned_terms(Round::ZERO)).approximation;
    let memory = approximation / (1.0 - contraction) / scale.at(Round(1));
    mechanism.machine_unit() * (state + messages) + memory
}
