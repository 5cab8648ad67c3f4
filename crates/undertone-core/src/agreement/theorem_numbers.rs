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
    /// is at most that to any other point, so κ² ≤ E‖∇l − rθ‖² ≤ G².
    pub gradient_deviation: f64,
}

/// What the theorems allow these numbers to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// max ς + 1/2, which u must be above.
    pub coupling_exponent_floor: f64,
    /// (1 + 2u)/3, which v must be above without strong convexity.
    pub step_exponent_floor: f64,
    /// 1/(−3δ_m), the largest γ0 of Theorems 1 and 2 (paper map, row 45).
    pub coupling_max: Option<f64>,
    /// (μ² + 8L²)/(−δ₂ μ), the least γ0/λ0 of Theorem 1 (paper map, row 46), where μ > 0.
    pub ratio_min_strongly_convex: Option<f64>,
    /// 2(L² + κ² + D²)/(−δ₂), the least γ0/λ0 of Theorem 2 (paper map, row 47).
    pub ratio_min_convex: Option<f64>,
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

    /// What the theorems allow them to be.
    #[must_use]
    pub fn limits(&self) -> Limits {
        let (mu, smooth) = (self.strong_convexity, self.smoothness);
        let squares = [self.smoothness, self.gradient_deviation, self.gradient_norm]
            .map(|value| value * value)
            .iter()
            .sum::<f64>();
        let strongly_convex = |delta_2: f64| {
            let ratio = (mu * mu + 8.0 * smooth * smooth) / (-delta_2 * mu);
            (mu > 0.0).then_some(ratio)
        };
        Limits {
            coupling_exponent_floor: self.noise_exponent_max + 0.5,
            step_exponent_floor: (1.0 + 2.0 * self.coupling_exponent) / 3.0,
            coupling_max: self.delta_m.map(|delta_m| 1.0 / (-3.0 * delta_m)),
            ratio_min_strongly_convex: self.delta_2.and_then(strongly_convex),
            ratio_min_convex: self.delta_2.map(|delta_2| 2.0 * squares / -delta_2),
        }
    }
}
