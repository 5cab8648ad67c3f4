//! Losses of one prediction z = a·θ: value and first two derivatives in z.

/// The third derivative of ln(1 + eᶻ) is at most 1/(6√3) in absolute value, where σ = ½ ± 1/(2√3).
pub(crate) const LOGISTIC_THIRD_DERIVATIVE_MAX: f64 = 0.096_225_044_864_937_63;

/// A loss that depends on the features only through z = a·θ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ScalarLoss {
    /// ½(z − b)².
    Squared,
    /// (z − b)^q / q, q even.
    Power {
        /// The even degree q, within i32.
        degree: i32,
    },
    /// Quadratic up to the threshold, linear beyond.
    Huber {
        /// The residual at which the loss turns linear.
        threshold: f64,
    },
    /// ln(1 + exp(−yz)) with y = 2b − 1 for a class b of 0 or 1.
    Logistic,
}

impl ScalarLoss {
    /// The loss at z.
    #[inline]
    pub(crate) fn value(self, z: f64, label: f64) -> f64 {
        match self {
            ScalarLoss::Squared => 0.5 * (z - label) * (z - label),
            ScalarLoss::Power { degree } => (z - label).powi(degree) / f64::from(degree),
            ScalarLoss::Huber { threshold } => {
                let residual = (z - label).abs();
                if residual <= threshold {
                    0.5 * residual * residual
                } else {
                    threshold * (residual - 0.5 * threshold)
                }
            }
            ScalarLoss::Logistic => {
                // ln(1 + e^m) for m = −yz, without overflow for large m.
                let m = if label > 0.5 { -z } else { z };
                m.max(0.0) + (-m.abs()).exp().ln_1p()
            }
        }
    }

    /// The first derivative in z.
    #[inline]
    pub(crate) fn first(self, z: f64, label: f64) -> f64 {
        match self {
            ScalarLoss::Squared => z - label,
            ScalarLoss::Power { degree } => (z - label).powi(degree - 1),
            ScalarLoss::Huber { threshold } => (z - label).clamp(-threshold, threshold),
            ScalarLoss::Logistic => {
                if label > 0.5 {
                    -sigmoid(-z)
                } else {
                    sigmoid(z)
                }
            }
        }
    }

    /// The second derivative in z; for Huber's loss the generalised one, 1 at the threshold.
    #[inline]
    pub(crate) fn second(self, z: f64, label: f64) -> f64 {
        match self {
            ScalarLoss::Squared => 1.0,
            ScalarLoss::Power { degree } => f64::from(degree - 1) * (z - label).powi(degree - 2),
            ScalarLoss::Huber { threshold } => f64::from((z - label).abs() <= threshold),
            ScalarLoss::Logistic => {
                let tail = (-z.abs()).exp();
                tail / ((1.0 + tail) * (1.0 + tail))
            }
        }
    }

    /// A bound on the third derivative while |z − b| ≤ `residual`; `None` where there is none.
    pub(crate) fn third_derivative_max(self, residual: f64) -> Option<f64> {
        match self {
            ScalarLoss::Squared | ScalarLoss::Power { degree: 2 } => Some(0.0),
            ScalarLoss::Power { degree } => {
                Some(f64::from(degree - 1) * f64::from(degree - 2) * residual.powi(degree - 3))
            }
            ScalarLoss::Huber { .. } => None,
            ScalarLoss::Logistic => Some(LOGISTIC_THIRD_DERIVATIVE_MAX),
        }
    }
}

/// 1/(1 + e^−z), accurate to a few roundings in both tails.
#[inline]
pub(crate) fn sigmoid(z: f64) -> f64 {
    let tail = (-z.abs()).exp();
    if z >= 0.0 { 1.0 / (1.0 + tail) } else { tail / (1.0 + tail) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logistic_loss_is_finite_and_exact_in_both_tails() {
        let loss = ScalarLoss::Logistic;
        assert!((loss.value(800.0, 0.0) - 800.0).abs() < 1e-9);
        assert!(loss.value(800.0, 1.0).abs() < 1e-300);
        assert!((loss.first(-40.0, 0.0) / (-40.0_f64).exp() - 1.0).abs() < 1e-14);
        assert!((loss.first(800.0, 0.0) - 1.0).abs() < 1e-15);
        assert!((loss.value(0.0, 1.0) - 2.0_f64.ln()).abs() < 1e-15);
    }

    #[test]
    fn third_derivatives_stay_below_their_bound_and_reach_it() {
        for loss in [ScalarLoss::Logistic, ScalarLoss::Power { degree: 6 }, ScalarLoss::Squared] {
            let bound = loss.third_derivative_max(3.0).unwrap();
            let mut largest = 0.0_f64;
            for k in -3000..=3000 {
                let z = f64::from(k) * 1e-3;
                let step = 1e-4;
                let slope = (loss.second((z + step).min(3.0), 0.0)
                    - loss.second((z - step).max(-3.0), 0.0))
                    / ((z + step).min(3.0) - (z - step).max(-3.0));
                largest = largest.max(slope.abs());
            }
            assert!(largest <= bound * (1.0 + 1e-6) + 1e-9);
            assert!(largest >= bound * 0.99, "half the bound would be violated");
        }
    }
}
