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
    #[inline(always)]
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
                m.max(0.0) + ln_one_plus(exp_of_negative(m.abs()))
            }
        }
    }

    /// Replaces scores by losses.
    #[inline(always)]
    pub(crate) fn replace_scores(self, scores: &mut [f64], labels: &[f64]) {
        if self == ScalarLoss::Logistic {
            // A separate loop, so that the compiler vectorises it.
            for (score, &label) in scores.iter_mut().zip(labels) {
                *score = ScalarLoss::Logistic.value(*score, label);
            }
            return;
        }
        for (score, &label) in scores.iter_mut().zip(labels) {
            *score = self.value(*score, label);
        }
    }

    /// The first derivative in z.
    #[inline(always)]
    pub(crate) fn first_derivative(self, z: f64, label: f64) -> f64 {
        match self {
            ScalarLoss::Squared => z - label,
            ScalarLoss::Power { degree } => (z - label).powi(degree - 1),
            ScalarLoss::Huber { threshold } => (z - label).clamp(-threshold, threshold),
            ScalarLoss::Logistic => {
                let sign = if label > 0.5 { -1.0 } else { 1.0 };
                sign * sigmoid(sign * z)
            }
        }
    }

    /// The second derivative in z; for Huber's loss the generalised one, 1 at the threshold.
    #[inline]
    pub(crate) fn second_derivative(self, z: f64, label: f64) -> f64 {
        match self {
            ScalarLoss::Squared => 1.0,
            ScalarLoss::Power { degree } => f64::from(degree - 1) * (z - label).powi(degree - 2),
            ScalarLoss::Huber { threshold } => f64::from((z - label).abs() <= threshold),
            ScalarLoss::Logistic => {
                let tail = exp_of_negative(z.abs());
                tail / ((1.0 + tail) * (1.0 + tail))
            }
        }
    }

    /// A bound on the third derivative while |z − b| ≤ `residual`; `None` if there is none.
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

    /// A bound κ with |l'(z + s) − l'(z) − l''(z)·s| ≤ κ·l''(z)·s² for |s| ≤ `reach`, wherever l''(z) ≥ `curvature_least`
    /// and |l'''| ≤ `third_max`; infinite if there is none.
    ///
    /// The remainder is at most sup|l'''|·s²/2. The logistic loss has |l'''| ≤ l'', hence l''(z + u) ≤ l''(z)·e^|u|, and
    /// integrating that twice gives l''(z)·(e^|s| − 1 − |s|), where (e^x − 1 − x)/x² grows with x.
    pub(crate) fn remainder_factor(self, third_max: f64, curvature_least: f64, reach: f64) -> f64 {
        let by_third = 0.5 * third_max / curvature_least;
        if self != ScalarLoss::Logistic || !(reach <= 1.0) {
            return by_third;
        }
        // Σ x^k/(k + 2)!, whose terms from the third on shrink by x/5 at least.
        let series = 0.5 + reach / 6.0 + reach * reach / (24.0 * (1.0 - reach / 5.0));
        by_third.min(series)
    }
}

/// Computes the factor of a record in the gradient from its score: weight times the first derivative, clipped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slope {
    pub(crate) loss: ScalarLoss,
    pub(crate) clip: f64,
    pub(crate) weight: f64,
}

impl Slope {
    /// The slope of one score.
    #[inline(always)]
    pub(crate) fn at(&self, score: f64, label: f64) -> f64 {
        self.weight * self.loss.first_derivative(score, label).clamp(-self.clip, self.clip)
    }

    /// Replaces scores by slopes.
    #[inline(always)]
    pub(crate) fn replace_scores(&self, scores: &mut [f64], labels: &[f64]) {
        if self.loss == ScalarLoss::Logistic {
            // A separate loop, so that the compiler vectorises it.
            let logistic = Slope { loss: ScalarLoss::Logistic, ..*self };
            for (score, &label) in scores.iter_mut().zip(labels) {
                *score = logistic.at(*score, label);
            }
            return;
        }
        for (score, &label) in scores.iter_mut().zip(labels) {
            *score = self.at(*score, label);
        }
    }
}

/// 1/(1 + e^−z), within a few roundings in both tails.
#[inline(always)]
pub(crate) fn sigmoid(z: f64) -> f64 {
    let tail = exp_of_negative(z.abs());
    let above = if z >= 0.0 { 1.0 } else { tail };
    above / (1.0 + tail)
}

/// Beyond this e^−x is not a normal number.
const EXPONENT_MAX: f64 = 708.0;
/// ln 2 in two parts: the product of the first with an integer below 2²⁰ is exact.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Adding it to a number of absolute value below 2⁵¹ puts the nearest integer into the last bits.
const ROUNDER: f64 = 1.5 * (1_u64 << 52) as f64;
/// 1/k! for k from 0 to 13: for |r| ≤ ½ ln 2 the remainder of the series is below 2⁻⁵⁷.
const FACTORIALS: [f64; 14] = [
    1.0,
    1.0,
    0.5,
    1.0 / 6.0,
    1.0 / 24.0,
    1.0 / 120.0,
    1.0 / 720.0,
    1.0 / 5_040.0,
    1.0 / 40_320.0,
    1.0 / 362_880.0,
    1.0 / 3_628_800.0,
    1.0 / 39_916_800.0,
    1.0 / 479_001_600.0,
    1.0 / 6_227_020_800.0,
];

/// e^−x for x ≥ 0, within four roundings, and never below e⁻⁷⁰⁸. NaN stays NaN.
///
/// Has no branch and no call, so that loops over it are vectorised, and gives the same bits on every machine.
#[inline(always)]
fn exp_of_negative(x: f64) -> f64 {
    // Not `f64::min`, which would lose a NaN.
    let x = if x > EXPONENT_MAX { -EXPONENT_MAX } else { -x };
    let shifted = x * std::f64::consts::LOG2_E + ROUNDER;
    let whole = shifted - ROUNDER;
    let rest = (x - whole * LN_2_HIGH) - whole * LN_2_LOW;
    // Paired, to shorten the chain of dependent operations.
    let square = rest * rest;
    let fourth = square * square;
    let pair = |k: usize| FACTORIALS[k] + FACTORIALS[k + 1] * rest;
    let four = |k: usize| pair(k) + pair(k + 2) * square;
    let series = (four(0) + four(4) * fourth) + (four(8) + pair(12) * fourth) * (fourth * fourth);
    // 2^whole: the integer, moved to the exponent field.
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    series * power
}

/// 1/(2k + 1) for k from 1 to 16: for s² ≤ 1/9 the remainder of the series is below 2⁻⁵⁸.
const ODD_INVERSES: [f64; 16] = [
    1.0 / 3.0,
    1.0 / 5.0,
    1.0 / 7.0,
    1.0 / 9.0,
    1.0 / 11.0,
    1.0 / 13.0,
    1.0 / 15.0,
    1.0 / 17.0,
    1.0 / 19.0,
    1.0 / 21.0,
    1.0 / 23.0,
    1.0 / 25.0,
    1.0 / 27.0,
    1.0 / 29.0,
    1.0 / 31.0,
    1.0 / 33.0,
];

/// ln(1 + t) for t from 0 to 1, within four roundings. NaN stays NaN.
///
/// Computed as 2 artanh(t/(2 + t)); like [`exp_of_negative`] it has no branch and no call.
#[inline(always)]
fn ln_one_plus(t: f64) -> f64 {
    let s = t / (2.0 + t);
    let square = s * s;
    let fourth = square * square;
    let eighth = fourth * fourth;
    let pair = |k: usize| ODD_INVERSES[k] + ODD_INVERSES[k + 1] * square;
    let four = |k: usize| pair(k) + pair(k + 2) * fourth;
    let eight = |k: usize| four(k) + four(k + 4) * eighth;
    let series = eight(0) + eight(8) * (eighth * eighth);
    2.0 * s + 2.0 * s * (square * series)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logistic_loss_is_finite_and_exact_in_both_tails() {
        let loss = ScalarLoss::Logistic;
        assert!((loss.value(800.0, 0.0) - 800.0).abs() < 1e-9);
        assert!(loss.value(800.0, 1.0).abs() < 1e-300);
        assert!((loss.first_derivative(-40.0, 0.0) / (-40.0_f64).exp() - 1.0).abs() < 1e-14);
        assert!((loss.first_derivative(800.0, 0.0) - 1.0).abs() < 1e-15);
        assert!((loss.value(0.0, 1.0) - 2.0_f64.ln()).abs() < 1e-15);
    }

    #[test]
    fn the_exponential_is_right_to_four_roundings() {
        let mut worst = 0.0_f64;
        for k in 0..200_000 {
            let x = f64::from(k) * 0.003_54;
            worst = worst.max((exp_of_negative(x) / (-x).exp() - 1.0).abs());
        }
        assert!(worst <= 2.0 * f64::EPSILON, "{worst:e}");
        assert!((exp_of_negative(0.0) - 1.0).abs() <= 0.0 && exp_of_negative(1e300) < 1e-300);
        assert!(exp_of_negative(f64::NAN).is_nan(), "NaN stays NaN");
    }

    #[test]
    fn the_logarithm_is_right_to_four_roundings() {
        let mut worst = 0.0_f64;
        for k in 0..=100_000 {
            for t in [f64::from(k) * 1e-5, (-0.005 * f64::from(k)).exp()] {
                let expected = t.ln_1p();
                if expected > 0.0 {
                    worst = worst.max((ln_one_plus(t) / expected - 1.0).abs());
                }
            }
        }
        assert!(worst <= 2.0 * f64::EPSILON, "{worst:e}");
        assert!(ln_one_plus(0.0) <= 0.0 && ln_one_plus(f64::NAN).is_nan());
    }

    #[test]
    fn remainders_stay_below_their_bound_and_come_near_it() {
        let power = ScalarLoss::Power { degree: 6 };
        for (loss, residual_max) in [(ScalarLoss::Logistic, 7.5), (power, 3.0)] {
            let third_max = loss.third_derivative_max(residual_max).unwrap();
            let mut nearest = 0.0_f64;
            for (at, step) in (-60..=60).flat_map(|at| (1..=60).map(move |step| (at, step))) {
                let reach = 1.5 * f64::from(step) / 60.0;
                let z = (residual_max - reach) * f64::from(at) / 60.0;
                let curvature = loss.second_derivative(z, 0.0);
                let bound = loss.remainder_factor(third_max, curvature, reach);
                for s in [reach, -reach] {
                    let remainder = loss.first_derivative(z + s, 0.0)
                        - loss.first_derivative(z, 0.0)
                        - curvature * s;
                    let share = remainder.abs() / (bound * curvature * s * s);
                    assert!(!(share > 1.0 + 1e-6), "{loss:?} at {z} and {s}: {share}");
                    nearest = nearest.max(if share.is_finite() { share } else { 0.0 });
                }
            }
            assert!(nearest > 0.9, "a bound a tenth smaller would be violated: {nearest}");
        }
    }

    #[test]
    fn third_derivatives_stay_below_their_bound_and_reach_it() {
        for loss in [ScalarLoss::Logistic, ScalarLoss::Power { degree: 6 }, ScalarLoss::Squared] {
            let bound = loss.third_derivative_max(3.0).unwrap();
            let mut largest = 0.0_f64;
            for k in -3000..=3000 {
                let z = f64::from(k) * 1e-3;
                let step = 1e-4;
                let slope = (loss.second_derivative((z + step).min(3.0), 0.0)
                    - loss.second_derivative((z - step).max(-3.0), 0.0))
                    / ((z + step).min(3.0) - (z - step).max(-3.0));
                largest = largest.max(slope.abs());
            }
            assert!(largest <= bound * (1.0 + 1e-6) + 1e-9);
            assert!(largest >= bound * 0.99, "half the bound would be violated");
        }
    }
}
