//! The lifetime certificate: a bound on everything a learner will ever spend.
//!
//! It assumes that every neighbour is heard and every planned record arrives. The running account
//! follows what really happened and is the one that a cap is enforced on.

use super::mechanism::{Cost, MESSAGES_CHARGED, Mechanism, ROUNDING, Rule, Total};
use super::{fresh, stationary};
use crate::noise::NoiseKind;
use crate::{Forgetting, Round};
use thiserror::Error;

/// Why no finite lifetime bound can be given.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum NoCertificate {
    /// The recursion has no 1/h_t, so its sum diverges.
    #[error("Theorem 5(i) bounds finite horizons only: its sum diverges")]
    FiniteHorizonRule,
    /// The loss is not known to be convex and smooth.
    #[error("the loss is not known to be convex and smooth")]
    NotConvexAndSmooth,
    /// Records are drawn again and again, so each pays without end.
    #[error("records are drawn again when they run out, so each pays again without end")]
    RecordsRepeat,
    /// No records arrive after round 0, so a record never loses weight.
    #[error(
        "no records arrive after the warm-up, so a record's weight in the history never shrinks"
    )]
    NoNewRecords,
    /// A record is not forgotten fast enough: no neighbours, or too weak a coupling for the step.
    #[error(
        "no contraction sets in within {SEARCH_LIMIT} rounds: needs neighbours, a coupling exponent below 1, and a coupling that outweighs the step"
    )]
    NoContraction,
    /// Records are forgotten, and something else changes with time.
    #[error("where records are forgotten, a certificate needs {needs}")]
    Forgetting {
        /// What is missing.
        needs: &'static str,
    },
    /// The bound decays too slowly for the sum over all rounds to be finite.
    #[error(
        "the sum over all rounds does not converge: the cost of round t shrinks like (t+1)^-{rate:.3}, and a rate above 1 is needed"
    )]
    Diverges {
        /// The decay exponent of the cost.
        rate: f64,
    },
}

/// A proven bound on the total cost over all rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lifetime {
    /// Pure ε and zCDP over the whole life. Pure ε may be infinite while zCDP is finite.
    pub total: Cost,
    /// The round T₁ up to which costs were summed one by one; the rest is the tail bound.
    pub summed_to: Round,
    /// The part of `total` that is the tail bound.
    pub tail: Cost,
    /// The round in which the record arrives that pays most; 0 stands for the warm-up too.
    pub worst: Round,
}

/// The last round at which the tail bound may take over.
const SEARCH_LIMIT: u64 = 1 << 20;
/// Up to here the sum is always exact, which keeps the tail small.
const SUM_AT_LEAST: u64 = 1 << 16;

/// One term of the tail bound on sensitivity: `constant · (t+1)^−decay`.
#[derive(Clone, Copy)]
struct Term {
    constant: f64,
    decay: f64,
    /// The machine's charge does not decay; it is summed up to [`Round::LIMIT`] only.
    machine: bool,
}

/// Bounds everything a learner will ever spend, to T = ∞.
///
/// # Guarantee
/// With full attendance and the planned records, the account's total after any number of rounds
/// (up to [`Round::LIMIT`]) is at most `total`.
///
/// Proof sketch (whole in ADR 0004). From T₁ on the contraction is at most 1 − α(t+1)^−u. If the
/// drive is at most D(t+1)^−(s+u) and α > s(T₁+1)^(u−1), then Φ_t ≤ K(t+1)^−s is inherited from t to
/// t+1 for K = max{Φ_T₁(T₁+1)^s, D/(α − s(T₁+1)^(u−1))}, because (t+2)^−s ≥ (t+1)^−s(1 − s/(t+1)).
/// The recursion is linear, so records and memory error are bounded apart and added. Where records are
/// forgotten the proof is another one (ADR 0011).
///
/// # Errors
/// [`NoCertificate`] with the reason when no finite bound is known.
pub fn lifetime(mechanism: &Mechanism) -> Result<Lifetime, NoCertificate> {
    if mechanism.rule == Rule::Local {
        let (total, tail) = (Cost::default(), Cost::default());
        return Ok(Lifetime { total, summed_to: Round::ZERO, tail, worst: Round::ZERO });
    }
    if mechanism.rule.is_baseline() {
        return fresh::lifetime(mechanism);
    }
    match mechanism.forgetting {
        Forgetting::Never => lifetime_of_the_first_record(mechanism),
        Forgetting::Window { .. } | Forgetting::Decaying { .. } => stationary::lifetime(mechanism),
    }
}

fn lifetime_of_the_first_record(mechanism: &Mechanism) -> Result<Lifetime, NoCertificate> {
    check_applicable(mechanism)?;
    // The tail bound forgets the warm-up, so it should not start while that still matters.
    let sum_at_least = SUM_AT_LEAST.max(mechanism.warmup.saturating_mul(4) / mechanism.batch);
    let mut sensitivity = 0.0;
    let mut spent = Total::default();
    let mut best: Option<Lifetime> = None;
    let mut failure = NoCertificate::NoContraction;
    for t in 0..=SEARCH_LIMIT {
        let round = Round(t);
        // A checkpoint before round t is paid: everything below t is in `spent`.
        if t.is_power_of_two() {
            match tail_from(mechanism, round, sensitivity) {
                Ok(tail) => {
                    let total = spent.cost().plus(tail);
                    if best.is_none_or(|best| total.zcdp < best.total.zcdp) {
                        best = Some(Lifetime { total, summed_to: round, tail, worst: Round::ZERO });
                    }
                }
                Err(reason) => failure = reason,
            }
            if best.is_some() && t >= sum_at_least {
                break;
            }
        }
        spent.add(mechanism.cost(round, sensitivity));
        sensitivity = mechanism.next_sensitivity(sensitivity, &mechanism.planned_terms(round));
    }
    best.ok_or(failure)
}

/// [`lifetime`] of each mechanism, worked out once for each kind: most networks have few.
pub fn lifetimes(mechanisms: &[Mechanism]) -> Vec<Result<Lifetime, NoCertificate>> {
    let mut known: Vec<(&Mechanism, Result<Lifetime, NoCertificate>)> = Vec::new();
    let mut found = Vec::with_capacity(mechanisms.len());
    for mechanism in mechanisms {
        let bound = match known.iter().find(|(other, _)| *other == mechanism) {
            Some(&(_, bound)) => bound,
            None => {
                let bound = lifetime(mechanism);
                known.push((mechanism, bound));
                bound
            }
        };
        found.push(bound);
    }
    found
}

fn check_applicable(mechanism: &Mechanism) -> Result<(), NoCertificate> {
    let constants = &mechanism.constants;
    if mechanism.rule == Rule::Theorem5i {
        return Err(NoCertificate::FiniteHorizonRule);
    }
    if mechanism.batch == 0 {
        return Err(NoCertificate::NoNewRecords);
    }
    if let Rule::Shielded { .. } = mechanism.rule {
        return Ok(());
    }
    if !(constants.strong_convexity >= 0.0 && constants.smoothness.is_finite()) {
        return Err(NoCertificate::NotConvexAndSmooth);
    }
    let weight = contraction_weight(mechanism);
    if !(weight * mechanism.schedule.coupling.initial > 0.0
        && -mechanism.schedule.coupling.exponent < 1.0)
    {
        return Err(NoCertificate::NoContraction);
    }
    Ok(())
}

fn contraction_weight(mechanism: &Mechanism) -> f64 {
    match mechanism.rule {
        Rule::Theorem5i | Rule::Theorem5ii => mechanism.weight_min.min(mechanism.weight),
        _ => mechanism.weight,
    }
}

/// α with contraction at most 1 − α(t+1)^−u for every t ≥ T₁, if there is one.
fn contraction_rate(mechanism: &Mechanism, from: Round) -> Option<f64> {
    let coupling = mechanism.schedule.coupling;
    let alpha = contraction_weight(mechanism) * coupling.initial;
    let heard = alpha / coupling.initial * coupling.at(from);
    let bend = mechanism.schedule.step.at(from) * mechanism.constants.smoothness;
    // Both must not grow later: coupling and step are non-increasing.
    if coupling.exponent > 0.0 || mechanism.schedule.step.exponent > 0.0 || !(heard <= 1.0) {
        return None;
    }
    match mechanism.rule {
        // λ_t L / (w̄γ_t) does not grow when steps decay at least as fast as the coupling, and
        // |1 − a_t| ≤ 1 − w̄γ_t for a learner that hears more than w̄ once (|w_ii| + w̄)γ_t ≤ 2.
        Rule::Theorem5i | Rule::Theorem5ii => {
            let share = bend / heard;
            let own = mechanism.weight * coupling.at(from);
            (mechanism.schedule.step.exponent <= coupling.exponent
                && share < 1.0
                && own + heard <= 2.0)
                .then_some(alpha * (1.0 - share))
        }
        // Tight: |1 − a − λL| ≤ 1 − a whenever λL ≤ 2(1 − a), and 1 − a − λμ ≤ 1 − a.
        _ => (bend <= 2.0 * (1.0 - heard)).then_some(alpha),
    }
}

/// The cost of all rounds from T₁ on, given Φ_T₁.
fn tail_from(mechanism: &Mechanism, from: Round, sensitivity: f64) -> Result<Cost, NoCertificate> {
    if let Rule::Shielded { interval } = mechanism.rule {
        return shielded_tail(mechanism, interval, from);
    }
    let alpha = contraction_rate(mechanism, from).ok_or(NoCertificate::NoContraction)?;
    #[expect(clippy::cast_precision_loss, reason = "rounds stay below 2^32")]
    let first = (from.0 + 1) as f64;
    let u = -mechanism.schedule.coupling.exponent;
    let v = -mechanism.schedule.step.exponent;
    let step = mechanism.schedule.step.initial;
    let inherit = |drive: f64, decay: f64, start: f64| {
        let room = alpha - decay * first.powf(u - 1.0);
        let constant = (start * first.powf(decay)).max(drive / room) * ROUNDING;
        if room > 0.0 { Ok(constant) } else { Err(NoCertificate::NoContraction) }
    };
    #[expect(clippy::cast_precision_loss, reason = "batches stay far below 2^53")]
    let batch = mechanism.batch as f64;
    // h_t ≥ N(t+1) turns λ_t C / h_t into (λ0 C / N)(t+1)^−(1+v).
    let decay = 1.0 + v - u;
    let spread = mechanism.constants.gradient_spread;
    let constant = inherit(step * spread / batch, decay, sensitivity)?;
    let mut terms = vec![Term { constant, decay, machine: false }];
    let error = mechanism.memory_error;
    if error.initial > 0.0 {
        let decay = v - u - error.exponent;
        if !(decay > 0.0) {
            let rate = 2.0 * (decay + mechanism.noise.scale.exponent);
            return Err(NoCertificate::Diverges { rate });
        }
        let constant = inherit(2.0 * step * error.initial, decay, 0.0)?;
        // An error of a few roundings is machine arithmetic by another name.
        let machine = error.initial <= spread * (-40f64).exp2();
        terms.push(Term { constant, decay, machine });
    }
    let unit = mechanism.machine_unit();
    terms.push(Term { constant: unit * mechanism.radius, decay: 0.0, machine: true });
    let messages = MESSAGES_CHARGED
        * mechanism.weight
        * mechanism.schedule.coupling.initial
        * mechanism.noise_max.initial;
    terms.push(Term {
        constant: unit * messages,
        decay: u - mechanism.noise_max.exponent,
        machine: true,
    });
    sum_costs(mechanism, first, &terms)
}

/// The same for gradients perturbed at public points, where Φ_t = C / (w + N t) carries nothing over.
///
/// (t+1)/(w + N t) falls with t towards 1/N or rises to it, so it is at most the larger end. One round in
/// `interval` costs, no more than the average of the rounds since the last that did, where noise does
/// not shrink; up to the last round there is room for one such round more than their share.
fn shielded_tail(mechanism: &Mechanism, interval: u64, from: Round) -> Result<Cost, NoCertificate> {
    let averaged = mechanism.noise.scale.exponent >= 0.0 && interval <= from.0;
    let (from, interval) =
        if averaged { (Round(from.0 + 1 - interval), interval) } else { (from, 1) };
    #[expect(clippy::cast_precision_loss, reason = "rounds and record counts stay below 2^53")]
    let (first, batch, warmup, interval, limit) = (
        (from.0 + 1) as f64,
        mechanism.batch as f64,
        mechanism.warmup as f64,
        interval as f64,
        Round::LIMIT.0 as f64,
    );
    let share = (1.0 / batch).max(first / (warmup + batch * (first - 1.0)));
    if !share.is_finite() {
        return Err(NoCertificate::NoContraction);
    }
    let constant = mechanism.constants.gradient_spread * share * ROUNDING;
    let mut terms = vec![
        Term { constant, decay: 1.0, machine: false },
        Term { constant: mechanism.gradient_rounding(), decay: 0.0, machine: true },
    ];
    let error = mechanism.memory_error;
    if error.initial > 0.0 {
        let machine = error.initial <= mechanism.constants.gradient_spread * (-40f64).exp2();
        // The gradient is of the round before: t^e = (t+1)^e (1 + 1/t)^−e, and round 0 is free.
        let before = (1.0 + 1.0 / (first - 1.0).max(1.0)).powf((-error.exponent).max(0.0));
        let constant = 2.0 * error.initial * before * ROUNDING;
        terms.push(Term { constant, decay: -error.exponent, machine });
    }
    let Cost { pure, zcdp } = sum_costs(mechanism, first, &terms)?;
    let share = (1.0 + interval / limit) / interval * ROUNDING;
    Ok(Cost { pure: pure * share, zcdp: zcdp * share })
}

fn sum_costs(mechanism: &Mechanism, first: f64, terms: &[Term]) -> Result<Cost, NoCertificate> {
    #[expect(clippy::cast_precision_loss, reason = "dimensions stay far below 2^53")]
    let root = (mechanism.dimension as f64).sqrt();
    let scale = mechanism.noise.scale;
    let (mut pure, mut zcdp) = (0.0, 0.0);
    for (place, left) in terms.iter().enumerate() {
        pure += root * left.constant / scale.initial
            * power_sum(first, left.decay + scale.exponent, left.machine);
        for (other, right) in terms.iter().enumerate() {
            let rate = left.decay + right.decay + 2.0 * scale.exponent;
            let machine = left.machine || right.machine;
            let sum = power_sum(first, rate, machine);
            if !sum.is_finite() && other >= place {
                return Err(NoCertificate::Diverges { rate });
            }
            zcdp += 0.5 * left.constant * right.constant / (scale.initial * scale.initial) * sum;
        }
    }
    // Gaussian noise has no pure cost.
    let pure = if mechanism.noise.kind == NoiseKind::Laplace { pure } else { f64::INFINITY };
    Ok(Cost { pure: pure * ROUNDING, zcdp: zcdp * ROUNDING })
}

/// A bound on Σ x^−p over the integers x ≥ `first`, up to the last round only for machine terms.
///
/// x^−p is convex for p > 0, so each term is at most the integral over the unit interval around it.
fn power_sum(first: f64, p: f64, machine: bool) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "2^32 is exact")]
    let last = Round::LIMIT.0 as f64 + 1.0;
    let low = first - 0.5;
    if !machine {
        return if p > 1.0 { low.powf(1.0 - p) / (p - 1.0) } else { f64::INFINITY };
    }
    // Near p = 1 the closed form cancels, so a slightly smaller p stands in for it: x^−p only grows.
    let p = if (p - 1.0).abs() < 1e-6 { 1.0 - 2e-6 } else { p };
    if p <= 0.0 {
        // Non-decreasing terms: at most the largest one times their number.
        last * last.powf(-p)
    } else {
        (last.powf(1.0 - p) - low.powf(1.0 - p)) / (1.0 - p) * (1.0 + 1e-9)
    }
}
