//! C, the gradient spread: how far apart the gradients of two records can be at one θ.
//!
//! Twice the largest gradient norm is always a bound, but two records cannot both have such a gradient and in
//! opposite directions: a gradient is long where the features point along θ, and then both point the same way.
//! The proofs are in ADR 0024; `one_score` has the losses of a·θ, `softmax` that of several scores.

mod exponential;
mod one_score;
mod pairs;
mod softmax;

use crate::{DataBounds, Loss};
use one_score::{huber_height, logistic_height, squared_height};
use pairs::power_spread;
use std::f64::consts::SQRT_2;

/// What rounding may take off a spread, as a share of it, and more.
const ROUNDING: f64 = 1.0 + 1e-12;

/// A bound on C for a loss whose features, expanded if need be, have at most this norm. Infinite where none is proved.
///
/// # Guarantee
/// For all θ with ‖θ‖₂ ≤ `radius` and all records within the bounds, the gradients of two records at θ, each
/// cut to any length whatever along its own direction, differ by at most the result. It has the same bits
/// on every machine.
///
/// # Source
/// ADR 0024, Theorems H, P and J. Paper map, rows 67 to 69.
pub(crate) fn gradient_spread(loss: Loss, feature_norm: f64, bounds: &DataBounds) -> f64 {
    // κ = RB: the largest score, in absolute value.
    let reach = feature_norm * bounds.radius;
    let spread = match loss {
        Loss::Squared | Loss::Power { degree: 2 } => {
            2.0 * feature_norm * squared_height(reach, bounds.label)
        }
        Loss::Huber { threshold } => {
            2.0 * feature_norm * huber_height(reach, bounds.label, threshold)
        }
        Loss::Power { degree } => {
            let largest = reach + bounds.label;
            let steepest = (1..degree).fold(1.0, |product, _| product * largest);
            feature_norm * steepest * power_spread(reach, bounds.label, degree)
        }
        Loss::Logistic => 2.0 * feature_norm * logistic_height(reach),
        // The difference of two scores is a·(θ₁ − θ₀), where ‖θ₁ − θ₀‖ ≤ √2 B; the slopes are (−1, 1) times that of
        // the logistic loss.
        Loss::Softmax { classes: 2 } => {
            2.0 * SQRT_2 * feature_norm * logistic_height(SQRT_2 * reach)
        }
        Loss::Softmax { classes } => {
            feature_norm * softmax::spread_of_unit_features(reach, classes)
        }
        Loss::Neural { .. } | Loss::Declared { .. } => f64::INFINITY,
    };
    if spread.is_nan() { f64::INFINITY } else { spread * ROUNDING }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(loss: Loss, feature_norm: f64, label: f64, radius: f64) -> f64 {
        gradient_spread(loss, feature_norm, &DataBounds { feature_norm, label, radius })
    }

    #[test]
    fn logistic_spreads_are_those_of_the_adr() {
        for (radius, expected) in [(0.0, 1.0), (1.0, 1.0991), (10.0, 1.8208), (30.0, 1.9590)] {
            let found = spread(Loss::Logistic, 1.0, 0.0, radius);
            assert!((found - expected).abs() < 1e-4, "{radius}: {found}");
            // In the same proportion for other features.
            let scaled = spread(Loss::Logistic, 0.5, 0.0, 2.0 * radius);
            assert!((scaled - 0.5 * found).abs() < 1e-12);
        }
    }

    #[test]
    fn squared_spreads_are_those_of_the_formula() {
        for (norm, label, radius) in [(1.0_f64, 1.0_f64, 1.0), (2.0, 0.3, 5.0), (0.5, 4.0, 0.1)] {
            let reach = norm * radius;
            let c = (-label + (label * label + 8.0 * reach * reach).sqrt()) / (4.0 * reach);
            let formula = 2.0 * norm * (1.0 - c * c).sqrt() * (label + reach * c);
            let found = spread(Loss::Squared, norm, label, radius);
            assert!((found / formula - 1.0).abs() < 1e-11, "{found} {formula}");
        }
        // Without labels C is R²B, not 2R²B; without parameters it is 2Rb.
        assert!((spread(Loss::Squared, 3.0, 0.0, 2.0) - 18.0).abs() < 1e-10);
        assert!((spread(Loss::Squared, 3.0, 2.0, 0.0) - 12.0).abs() < 1e-10);
    }

    #[test]
    fn hubers_spread_is_that_of_a_slope_that_is_cut() {
        for (norm, label, radius) in [(1.5, 0.7, 2.0), (0.5, 0.1, 8.0), (2.0, 3.0, 0.1)] {
            let largest: f64 = norm * radius + label;
            for share in [0.05, 0.3, 0.5, 0.6, 0.7, 0.9, 1.0, 2.0] {
                let threshold = share * largest;
                let height = |k: i32| {
                    let c = f64::from(k) / 200_000.0;
                    (1.0 - c * c).sqrt() * (label + norm * radius * c).min(threshold)
                };
                let scanned = 2.0 * norm * (0..=200_000).map(height).fold(0.0, f64::max);
                let found = spread(Loss::Huber { threshold }, norm, label, radius);
                assert!(found >= scanned, "{label} {threshold}: {found} {scanned}");
                assert!(found <= scanned * (1.0 + 1e-5), "{label} {threshold}: {found} {scanned}");
            }
        }
        // Where it is never cut, it is the squared loss.
        let squared = spread(Loss::Squared, 1.5, 0.7, 2.0);
        let free = spread(Loss::Huber { threshold: 100.0 }, 1.5, 0.7, 2.0);
        assert!((free / squared - 1.0).abs() < 1e-12);
    }

    #[test]
    fn powers_are_steeper_than_squares() {
        let squared = spread(Loss::Squared, 1.5, 0.7, 2.0);
        let second = spread(Loss::Power { degree: 2 }, 1.5, 0.7, 2.0);
        assert!((second / squared - 1.0).abs() < 1e-12);
        // At most (κ + b)^(q−2) times the spread of the squared loss, and half of that at least.
        let fourth = spread(Loss::Power { degree: 4 }, 1.5, 0.7, 2.0);
        let limit = squared * 3.7 * 3.7;
        assert!(fourth <= limit && fourth > 0.5 * limit, "{fourth} {limit}");
    }

    #[test]
    fn bounds_that_are_no_numbers_give_no_spread_that_is_too_small() {
        let losses = [
            Loss::Squared,
            Loss::Power { degree: 4 },
            Loss::Huber { threshold: 1.0 },
            Loss::Logistic,
            Loss::Softmax { classes: 2 },
            Loss::Softmax { classes: 10 },
        ];
        for loss in losses {
            for (norm, label, radius) in [
                (f64::NAN, 1.0, 1.0),
                (1.0, 1.0, f64::NAN),
                (0.0, 1.0, f64::INFINITY),
                (f64::INFINITY, 1.0, 1.0),
            ] {
                assert!(spread(loss, norm, label, radius).is_infinite(), "{loss:?}");
            }
            let unbounded = spread(loss, 1.0, 1.0, f64::INFINITY);
            let limit = match loss {
                Loss::Logistic => 2.0,
                Loss::Softmax { .. } => 2.0 * SQRT_2,
                Loss::Squared
                | Loss::Power { .. }
                | Loss::Huber { .. }
                | Loss::Neural { .. }
                | Loss::Declared { .. } => f64::INFINITY,
            };
            assert!(unbounded >= limit && !(unbounded > limit * (1.0 + 2e-12)), "{loss:?}");
            assert!(spread(loss, 0.0, 1.0, 1.0).abs() < 1e-300);
        }
        assert!(spread(Loss::Squared, 1.0, f64::NAN, 1.0).is_infinite());
        // Squares of such numbers are zero or infinite.
        let tiny = spread(Loss::Squared, 1.0, 1e-200, 1e-200);
        let large = spread(Loss::Squared, 1.0, 1e200, 1e200);
        assert!((tiny * 1e200 / spread(Loss::Squared, 1.0, 1.0, 1.0) - 1.0).abs() < 1e-9);
        assert!((large * 1e-200 / spread(Loss::Squared, 1.0, 1.0, 1.0) - 1.0).abs() < 1e-9);
    }
}
