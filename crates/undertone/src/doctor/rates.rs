//! What the convergence theorems promise: how fast an error shrinks, and from which round on.

use serde::Serialize;
use undertone_core::agreement::Numbers;

/// How fast an error is said to shrink: β of O(t^−β). At 0 or below nothing is promised.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// As the theorem prints it; Theorems 1 and 3 print min ς.
    pub printed: f64,
    /// The same with max ς, which the proofs of Theorems 1 and 3 need.
    pub largest_noise: Option<f64>,
    /// Theorems 1 and 3 for learners with different losses f_i:
    /// min{2(v − u), 2u − 2 max ς − v, 2(1 − v)}.
    pub corrected: Option<f64>,
}

/// β of Theorems 1 and 3, as printed and as corrected (paper map, row 50).
pub(super) fn rate_strongly_convex(numbers: &Numbers) -> Rate {
    let (u, v) = (numbers.coupling_exponent, numbers.step_exponent);
    let (least, most) = (numbers.noise_exponent_min, numbers.noise_exponent_max);
    let with = |noise: f64| (1.0 - v).min(2.0 * u - 2.0 * noise - 1.0);
    let corrected = (2.0 * (v - u)).min(2.0 * u - 2.0 * most - v).min(2.0 * (1.0 - v));
    Rate { printed: with(least), largest_noise: Some(with(most)), corrected: Some(corrected) }
}

/// β of Theorems 2 and 4.
pub(super) fn rate_convex(numbers: &Numbers) -> Rate {
    Rate { printed: (1.0 - numbers.step_exponent) / 2.0, largest_noise: None, corrected: None }
}

/// t0 of Theorem 3 (paper map, row 48): the round after which its bound holds. Infinite when too large
/// to write down, `None` where the formula has no meaning.
pub(super) fn start_strongly_convex(numbers: &Numbers) -> Option<f64> {
    let ratio = numbers.limits().ratio_min_strongly_convex? * numbers.step / numbers.coupling;
    start(numbers, ratio, numbers.step_exponent - numbers.coupling_exponent)
}

/// t0' of Theorem 4 (paper map, row 49).
pub(super) fn start_convex(numbers: &Numbers) -> Option<f64> {
    let ratio = numbers.limits().ratio_min_convex? * numbers.step / numbers.coupling;
    let gap = (3.0 * numbers.step_exponent - 2.0 * numbers.coupling_exponent - 1.0) / 2.0;
    start(numbers, ratio, gap)
}

/// ⌈max{(−3δ_m γ0)^(1/u), ratio^(1/gap)} − 1⌉, not below 0.
fn start(numbers: &Numbers, ratio: f64, gap: f64) -> Option<f64> {
    if !(gap > 1e-12 && numbers.coupling_exponent > 0.0) {
        return None;
    }
    let coupled =
        (-3.0 * numbers.delta_m? * numbers.coupling).powf(1.0 / numbers.coupling_exponent);
    Some((coupled.max(ratio.powf(1.0 / gap)) - 1.0).ceil().max(0.0))
}
