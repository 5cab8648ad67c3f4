//! Budgets to three digits in a millisecond, for comparing schedules. Never reported.

use crate::Round;
use crate::privacy::{Cost, Horizon, Mechanism, lifetime};

/// How finely time is divided: a block has one round for every this many rounds before it.
const BLOCKS: u64 = 64;

/// Cuts rounds `0 … last` into blocks in which power laws hardly change.
pub(super) fn blocks(last: u64, fineness: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut first = 0;
    std::iter::from_fn(move || {
        if first > last {
            return None;
        }
        let length = (first / fineness).clamp(1, last - first + 1);
        let block = (first, length);
        first += length;
        Some(block)
    })
}

/// An estimate of a mechanism's cost over a horizon; infinite if it does not converge.
pub(super) fn estimated_cost(mechanism: &Mechanism, horizon: Horizon) -> Cost {
    let last = match horizon {
        Horizon::Lifetime => Round::LIMIT.0,
        Horizon::Rounds(rounds) => rounds,
    };
    mechanism.method.account().estimated_cost(mechanism, last)
}

/// The certificate's bound, for methods in which a record pays only in a few rounds.
pub(crate) fn estimate_by_lifetime(mechanism: &Mechanism) -> Cost {
    let none = Cost { pure: f64::INFINITY, zcdp: f64::INFINITY };
    lifetime(mechanism).map_or(none, |bound| bound.total)
}

/// Uses the recursion of sensitivity, with constant c and d within a block: Φ⁺ = cΦ + d is then
/// solved in closed form.
pub(crate) fn estimate_by_recursion(mechanism: &Mechanism, last: u64) -> Cost {
    let mut sensitivity = 0.0;
    let mut total = Cost::default();
    for (first, length) in blocks(last, BLOCKS) {
        let round = Round(first + length / 2);
        let terms = mechanism.planned_terms(round);
        let drive = mechanism.next_sensitivity(0.0, &terms);
        let contraction = mechanism.next_sensitivity(1.0, &terms) - drive;
        #[expect(clippy::cast_precision_loss, reason = "an estimate, not an account")]
        let rounds = length as f64;
        let next = advance(sensitivity, contraction, drive, rounds);
        // The first release of a block has the Φ of its start, the last almost the Φ of its end.
        let middle = if length == 1 { sensitivity } else { 0.5 * (sensitivity + next) };
        let cost = mechanism.cost(round, middle);
        total.pure += rounds * cost.pure;
        total.zcdp += rounds * cost.zcdp;
        sensitivity = next;
    }
    total
}

/// For gradients perturbed at public points, whose effect does not carry over: one round in
/// `interval` costs what a round of this mechanism costs.
pub(crate) fn estimate_without_carrying(mechanism: &Mechanism, interval: u64, last: u64) -> Cost {
    let mut total = Cost::default();
    for (first, length) in blocks(last, BLOCKS) {
        let round = Round(first + length / 2);
        let sensitivity = mechanism.next_sensitivity(0.0, &mechanism.planned_terms(round));
        let cost = mechanism.cost(round.next(), sensitivity);
        #[expect(clippy::cast_precision_loss, reason = "an estimate, not an account")]
        let gradients = length as f64 / interval as f64;
        total.pure += gradients * cost.pure;
        total.zcdp += gradients * cost.zcdp;
    }
    total
}

/// The value of x⁺ = cx + d after some rounds.
pub(super) fn advance(value: f64, contraction: f64, drive: f64, rounds: f64) -> f64 {
    if rounds <= 1.0 {
        return contraction * value + drive;
    }
    let power = contraction.powf(rounds);
    let gap = 1.0 - contraction;
    let sum = if gap.abs() * rounds < 1e-9 { rounds } else { (1.0 - power) / gap };
    power * value + drive * sum
}
