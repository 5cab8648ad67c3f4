//! The numbers that the assumptions and theorems compare, all public.

use super::Agreement;
use serde::Serialize;

/// Every number of an agreement that a condition of the theorems uses.
///
/// The paper's letters: δ₂, δ_m of W; γ0, u of the coupling; λ0, v of the step; ς_i of the noise;
/// L, μ, C of the loss; D and κ of its expected gradient.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Numbers {
    /// δ₂; `None` where the network is too large to solve for it.
    pub delta_2: Option<f64>,
    /// δ_m; `None` where the network is too large to solve for it.
    pub delta_m: Option<f64>,
    /// γ0.
    pub coupling: f64,
    /// u.
    pub coupling_exponent: f64,
    /// λ0.
    pub step: f64,
    /// v.
    pub step_exponent: f64,
    /// min ς_i.
    pub noise_exponent_min: f64,
    /// max ς_i.
    pub noise_exponent_max: f64,
    /// L.
    pub smoothness: f64,
    /// μ.
    pub strong_convexity: f64,
    /// C.
    pub gradient_spread: f64,
    /// D ≤ G + rB: a record's gradient, plus the ridge r at the boundary of Θ, whose radius is B.
    pub gradient_norm: f64,
    /// κ ≤ G. The ridge term is the same for every record, and the mean square distance to the mean
    /// is at most that to any other point, so κ² ≤ E‖∇l − rθ‖² ≤ G². (G = C/2.)
    pub gradient_deviation: f64,
}

/// The promised rate of an error: β of O(t^−β). At 0 or below nothing is promised.
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

impl Numbers {
    /// Collects them from an agreement.
    #[must_use]
    pub fn of(agreement: &Agreement) -> Numbers {
        let constants = agreement.model.constants(&agreement.bounds);
        let exponents = agreement.noise_exponents.iter().copied();
        Numbers {
            delta_2: agreement.spectrum.map(|spectrum| spectrum.delta_2),
            delta_m: agreement.spectrum.map(|spectrum| spectrum.delta_m),
            coupling: agreement.schedule.coupling.initial,
            coupling_exponent: -agreement.schedule.coupling.exponent,
            step: agreement.schedule.step.initial,
            step_exponent: -agreement.schedule.step.exponent,
            noise_exponent_min: exponents.clone().fold(f64::INFINITY, f64::min),
            noise_exponent_max: exponents.fold(f64::NEG_INFINITY, f64::max),
            smoothness: constants.smoothness,
            strong_convexity: constants.strong_convexity,
            gradient_spread: constants.gradient_spread,
            gradient_norm: constants.gradient_norm
                + agreement.model.ridge * agreement.bounds.radius,
            gradient_deviation: constants.gradient_norm,
        }
    }

    /// max ς + 1/2: u must be above this.
    #[must_use]
    pub fn coupling_exponent_floor(&self) -> f64 {
        self.noise_exponent_max + 0.5
    }

    /// (1 + 2u)/3: v must be above this without strong convexity.
    #[must_use]
    pub fn step_exponent_floor(&self) -> f64 {
        (1.0 + 2.0 * self.coupling_exponent) / 3.0
    }

    /// 1/(−3δ_m), the largest γ0 of Theorems 1 and 2 (paper map, row 45).
    #[must_use]
    pub fn coupling_max(&self) -> Option<f64> {
        Some(1.0 / (-3.0 * self.delta_m?))
    }

    /// −γ0 δ₂ μ/(μ² + 8L²), the largest λ0 of Theorem 1 (paper map, row 46), where μ > 0.
    #[must_use]
    pub fn step_max_strongly_convex(&self) -> Option<f64> {
        Some(self.coupling / self.ratio_strongly_convex()?)
    }

    /// −γ0 δ₂/(2(L² + κ² + D²)), the largest λ0 of Theorem 2 (paper map, row 47).
    #[must_use]
    pub fn step_max_convex(&self) -> Option<f64> {
        Some(self.coupling / self.ratio_convex()?)
    }

    /// t0 of Theorem 3 (paper map, row 48): the round from which it applies. Infinite if it
    /// overflows, `None` if the formula is undefined.
    #[must_use]
    pub fn start_strongly_convex(&self) -> Option<f64> {
        let ratio = self.ratio_strongly_convex()? * self.step / self.coupling;
        self.start(ratio, self.step_exponent - self.coupling_exponent)
    }

    /// t0' of Theorem 4 (paper map, row 49).
    #[must_use]
    pub fn start_convex(&self) -> Option<f64> {
        let ratio = self.ratio_convex()? * self.step / self.coupling;
        self.start(ratio, (3.0 * self.step_exponent - 2.0 * self.coupling_exponent - 1.0) / 2.0)
    }

    /// β of Theorems 1 and 3, as printed and as corrected (paper map, row 50).
    #[must_use]
    pub fn rate_strongly_convex(&self) -> Rate {
        let (u, v) = (self.coupling_exponent, self.step_exponent);
        let (least, most) = (self.noise_exponent_min, self.noise_exponent_max);
        let with = |noise: f64| (1.0 - v).min(2.0 * u - 2.0 * noise - 1.0);
        let corrected = (2.0 * (v - u)).min(2.0 * u - 2.0 * most - v).min(2.0 * (1.0 - v));
        Rate { printed: with(least), largest_noise: Some(with(most)), corrected: Some(corrected) }
    }

    /// β of Theorems 2 and 4.
    #[must_use]
    pub fn rate_convex(&self) -> Rate {
        Rate { printed: (1.0 - self.step_exponent) / 2.0, largest_noise: None, corrected: None }
    }

    /// γ0/λ0 must be at least this in Theorem 1: (μ² + 8L²)/(−δ₂ μ).
    fn ratio_strongly_convex(&self) -> Option<f64> {
        let (mu, smooth) = (self.strong_convexity, self.smoothness);
        let ratio = (mu * mu + 8.0 * smooth * smooth) / (-self.delta_2? * mu);
        (mu > 0.0).then_some(ratio)
    }

    /// γ0/λ0 must be at least this in Theorem 2: 2(L² + κ² + D²)/(−δ₂).
    fn ratio_convex(&self) -> Option<f64> {
        let squares = [self.smoothness, self.gradient_deviation, self.gradient_norm]
            .map(|value| value * value)
            .iter()
            .sum::<f64>();
        Some(2.0 * squares / -self.delta_2?)
    }

    /// ⌈max{(−3δ_m γ0)^(1/u), ratio^(1/gap)} − 1⌉, not below 0.
    fn start(&self, ratio: f64, gap: f64) -> Option<f64> {
        if !(gap > 1e-12 && self.coupling_exponent > 0.0) {
            return None;
        }
        let coupled = (-3.0 * self.delta_m? * self.coupling).powf(1.0 / self.coupling_exponent);
        Some((coupled.max(ratio.powf(1.0 / gap)) - 1.0).ceil().max(0.0))
    }
}
