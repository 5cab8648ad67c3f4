//! The lifetime certificate: a bound on everything a learner will ever spend.
//!
//! It assumes that every neighbour is heard and every planned record arrives. The running account
//! follows what really happened, and caps are enforced on it.

use super::cost::{Cost, ROUNDING};
use super::lifetime_from_present::Standing;
use super::mechanism::Mechanism;
use crate::Round;
use crate::noise::NoiseKind;
use thiserror::Error;

/// Why no finite lifetime bound can be given.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum NoCertificate {
    /// The recursion has no 1/h_t, so its sum diverges.
    #[error("Theorem 5(i) bounds finite horizons only: its sum diverges")]
    FiniteHorizonBound,
    /// The loss is not known to be convex and smooth.
    #[error("the loss is not known to be convex and smooth")]
    NotConvexAndSmooth,
    /// Records are drawn repeatedly, so the cost of each has no bound.
    #[error("records are drawn again when they run out, so each pays again without end")]
    RecordsRepeat,
    /// No records arrive after round 0, so the weight of a record never falls.
    #[error(
        "no records arrive after the warm-up, so a record's weight in the history never shrinks"
    )]
    NoNewRecords,
    /// The effect of a record does not fade fast enough: there are no neighbours, or the coupling
    /// is too weak for the step.
    #[error(
        "no contraction sets in within {SEARCH_LIMIT} rounds: needs neighbours, a coupling exponent below 1, and a coupling that outweighs the step"
    )]
    NoContraction,
    /// Records are forgotten, and a condition for the certificate of such a memory is missing.
    #[error("where records are forgotten, a certificate needs {needs}")]
    Forgetting {
        /// What is missing.
        needs: &'static str,
    },
    /// The plan was departed from, and from there on nothing is proved.
    #[error(
        "neighbours or records were missing, and for this method no bound from there on is proved"
    )]
    DepartedFromPlan,
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
/// Costs up to this round are always added up exactly, which keeps the tail small.
const SUM_AT_LEAST: u64 = 1 << 16;

/// Bounds everything a learner will ever spend, to T = ∞.
///
/// # Guarantee
/// With full attendance and the planned records, the account's total after any number of rounds
/// (up to [`Round::LIMIT`]) is at most `total`.
///
/// Proof sketch (in full in ADR 0004). From T₁ on the contraction is at most 1 − α(t+1)^−u. If the
/// drive is at most D(t+1)^−(s+u) and α > s(T₁+1)^(u−1), then Φ_t ≤ K(t+1)^−s for one t implies the
/// same for t+1, with K = max{Φ_T₁(T₁+1)^s, D/(α − s(T₁+1)^(u−1))}, because (t+2)^−s ≥ (t+1)^−s(1 −
/// s/(t+1)). The recursion is linear, so the effects of records and of the memory's error are
/// bounded separately and added. If records are forgotten, the proof is a different one (ADR 0011).
///
/// # Errors
/// [`NoCertificate`] with the reason when no finite bound is known.
pub fn lifetime(mechanism: &Mechanism) -> Result<Lifetime, NoCertificate> {
    mechanism.method.account().lifetime(mechanism)
}

/// The certificate for a memory that never forgets: costs are added up round by round up to a round
/// T₁, and the method bounds the rest from Φ_T₁. Record 0 pays most.
pub(crate) fn sum_then_tail(
    mechanism: &Mechanism,
    start: &Standing<'_>,
    tail_from: impl Fn(Round, f64) -> Result<Cost, NoCertificate>,
) -> Result<Lifetime, NoCertificate> {
    // The tail bound forgets the warm-up, so it should not start while that still matters.
    let unsettled = mechanism.warmup.max(start.missing);
    let sum_at_least = SUM_AT_LEAST.max(unsettled.saturating_mul(4) / mechanism.batch);
    let (first, mut sensitivity, mut spent) = (start.round.0, start.sensitivity, start.spent);
    let mut best: Option<Lifetime> = None;
    let mut failure = NoCertificate::NoContraction;
    for ahead in 0..=SEARCH_LIMIT {
        let (t, round) = (first + ahead, Round(first + ahead));
        // A checkpoint before round t is paid: everything below t is in `spent`.
        let is_paid = ahead == 0 && start.paid;
        let begins_with_tail = ahead == 0 && !is_paid && first > 0 && !(start.carried > 0.0);
        if ahead.is_power_of_two() || begins_with_tail {
            match tail_from(round, sensitivity) {
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
        let carried = if ahead == 0 { start.carried } else { 0.0 };
        if !is_paid {
            spent.add(mechanism.price(round).with_machine_least(carried).cost(sensitivity));
        }
        sensitivity = mechanism.next_sensitivity(sensitivity, &start.terms(mechanism, round));
    }
    best.ok_or(failure)
}

/// [`lifetime`] of each mechanism. Equal mechanisms are computed once: most networks have few
/// different ones.
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

/// One term of the tail bound on sensitivity: `constant · (t+1)^−decay`.
#[derive(Clone, Copy)]
pub(crate) struct TailTerm {
    pub(crate) constant: f64,
    pub(crate) decay: f64,
    /// The machine's charge does not decay; it is summed up to [`Round::LIMIT`] only.
    pub(crate) machine: bool,
}

/// A bound on Φ_t for all rounds from the first on, as a sum of power laws.
pub(crate) struct Tail<'a> {
    mechanism: &'a Mechanism,
    /// t + 1 for the first round.
    first: f64,
    terms: Vec<TailTerm>,
}

impl<'a> Tail<'a> {
    pub(crate) fn new(mechanism: &'a Mechanism, first: f64) -> Tail<'a> {
        Tail { mechanism, first, terms: Vec::new() }
    }

    pub(crate) fn push(&mut self, term: TailTerm) {
        self.terms.push(term);
    }

    /// What all releases from the first round on cost.
    pub(crate) fn cost(&self) -> Result<Cost, NoCertificate> {
        let Tail { mechanism, first, .. } = *self;
        let root = mechanism.dimension_root();
        let scale = mechanism.noise.scale;
        let (mut pure, mut zcdp) = (0.0, 0.0);
        for (place, left) in self.terms.iter().enumerate() {
            pure += root * left.constant / scale.initial
                * power_sum(first, left.decay + scale.exponent, left.machine);
            for (other, right) in self.terms.iter().enumerate() {
                let rate = left.decay + right.decay + 2.0 * scale.exponent;
                let machine = left.machine || right.machine;
                let sum = power_sum(first, rate, machine);
                if !sum.is_finite() && other >= place {
                    return Err(NoCertificate::Diverges { rate });
                }
                zcdp +=
                    0.5 * left.constant * right.constant / (scale.initial * scale.initial) * sum;
            }
        }
        // Gaussian noise has no pure cost.
        let pure = if mechanism.noise.kind == NoiseKind::Laplace { pure } else { f64::INFINITY };
        Ok(Cost { pure: pure * ROUNDING, zcdp: zcdp * ROUNDING })
    }
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
    // Near p = 1 the closed form loses digits, so a slightly smaller p is used, which only makes
    // x^−p larger.
    let p = if (p - 1.0).abs() < 1e-6 { 1.0 - 2e-6 } else { p };
    if p <= 0.0 {
        // The terms do not decrease: their sum is at most the largest times their number.
        last * last.powf(-p)
    } else {
        (last.powf(1.0 - p) - low.powf(1.0 - p)) / (1.0 - p) * (1.0 + 1e-9)
    }
}
