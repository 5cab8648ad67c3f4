//! The spread of losses of one score a·θ: 2R times the height of a curve.
//!
//! In the plane of θ and a, a gradient of the longest a is a point at the angle of a and the distance
//! Rφ(κ cos α) from the origin, φ the largest slope at a score. Its farthest two points lie across from each other,
//! at equal angles on both sides of θ (ADR 0024, Theorem H), so C is twice the largest Rφ(κ cos α) sin α.

use super::exponential::exp_negative;

/// The largest sin α (b + κ cos α), rounded to nearest, for κ = `reach` and b = `label`.
///
/// # Guarantee
/// Within a relative 10⁻¹⁴ of the truth for κ, b ≥ 0; NaN if one of them is NaN or infinite.
pub(super) fn squared_height(reach: f64, label: f64) -> f64 {
    let scale = if reach > label { reach } else { label };
    if scale <= 0.0 {
        // Both are 0, or κ is NaN.
        return reach;
    }
    // So that no square overflows, and what underflows does not matter.
    let (k, b) = (reach / scale, label / scale);
    // At cos α = 2κ/(b + w) with w = √(b² + 8κ²) the height is (λ/2)(1 + 2b/(b + w)) with λ = √(κ² + b(b + w)/2).
    // Nothing is subtracted, so nothing cancels.
    let sum = b + (b * b + 8.0 * k * k).sqrt();
    let lambda = (k * k + 0.5 * b * sum).sqrt();
    scale * (0.5 * lambda * (1.0 + 2.0 * b / sum))
}

/// The largest sin α · min(τ, b + κ cos α), rounded to nearest, for κ = `reach`, b = `label` and τ = `threshold`.
///
/// # Guarantee
/// Within a relative 10⁻¹⁴ of the truth for κ, b, τ ≥ 0; NaN if κ or b is NaN or infinite.
pub(super) fn huber_height(reach: f64, label: f64, threshold: f64) -> f64 {
    let free = squared_height(reach, label);
    // cos α where the slope reaches τ.
    let turn = (threshold - label) / reach;
    if turn.is_nan() || turn <= 0.0 {
        // At a right angle it has reached τ, or there is no score.
        return if free > threshold { threshold } else { free };
    }
    // At the best angle of the squared loss, cos α = 2κ²/(κb + √(κ²b² + 8κ⁴)), the slope is below τ; or else the height
    // falls on both sides of the turn.
    let best = 2.0 / (label / reach + ((label / reach).powi(2) + 8.0).sqrt());
    if turn >= best { free } else { threshold * ((1.0 - turn) * (1.0 + turn)).sqrt() }
}

/// A bound on sin α · σ(κ cos α) for κ = `reach`, as near as rounding allows.
///
/// # Guarantee
/// Up to a relative 10⁻¹⁴ above the largest value, for κ ≥ 0, and NaN if κ is NaN.
pub(super) fn logistic_height(reach: f64) -> f64 {
    if reach.is_nan() {
        return reach;
    }
    // Above this the height is within 10⁻⁹ of 1.
    if !(reach < 1e6) {
        return 1.0;
    }
    // With c = cos α: (ln √(1 − c²) σ(κc))' = κσ(−κc) − c/(1 − c²), which falls as c grows.
    let wrong = |c: f64| {
        let tail = exp_negative(reach * c);
        tail / (1.0 + tail)
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let c = 0.5 * (low + high);
        if reach * wrong(c) * (1.0 - c * c) > c {
            low = c;
        } else {
            high = c;
        }
    }
    let height = (1.0 - low * low).sqrt() * (1.0 - wrong(low));
    // A concave function lies below each of its tangents: ln of the height is at most its value here plus the slope,
    // wherever in [0, 1] the maximum is. And e^t ≤ 1/(1 − t).
    let slope = (reach * wrong(low) - low / (1.0 - low * low)).abs();
    if slope < 0.5 { height / (1.0 - slope) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sigmoid(z: f64) -> f64 {
        1.0 / (1.0 + (-z).exp())
    }

    /// The largest height of a curve, by scanning.
    fn scan(slope: impl Fn(f64) -> f64) -> f64 {
        let heights = (0..=200_000).map(|k| f64::from(k) * std::f64::consts::PI / 200_000.0);
        heights.map(|angle| angle.sin() * slope(angle.cos())).fold(0.0, f64::max)
    }

    #[test]
    fn heights_are_just_above_those_found_by_scanning() {
        for reach in [0.0, 1e-9, 0.3, 1.0, 3.0, 10.0, 20.0, 300.0, 2e4, 1e5, 9e5, 2e6, 1e300] {
            let scanned = scan(|c| sigmoid(reach * c));
            let found = logistic_height(reach);
            assert!(found >= scanned * (1.0 - 1e-15) && found <= 1.0 + 1e-15, "{reach}");
            assert!(found <= scanned * (1.0 + 1e-8), "{reach}: {found} {scanned}");
            for label in [0.0, 1e-9, 0.1, 1.0, 50.0] {
                let scanned = scan(|c| label + reach * c);
                let found = squared_height(reach, label);
                assert!(found >= scanned * (1.0 - 1e-14), "{reach} {label}");
                assert!(found <= scanned * (1.0 + 1e-8), "{reach} {label}: {found} {scanned}");
            }
        }
    }

    /// The distance of two points of the curve, on either side of the axis.
    fn distance(slope: &dyn Fn(f64) -> f64, left: f64, right: f64) -> f64 {
        let (long, other) = (slope(left.cos()), slope(right.cos()));
        (long * long + other * other - 2.0 * long * other * (left + right).cos()).max(0.0).sqrt()
    }

    proptest! {
        /// Theorem H, by trial: no two points of the curve are farther apart than twice its height.
        #[test]
        fn no_two_points_of_the_curve_are_farther_apart(
            reach in prop_oneof![0.0..3.0, 0.0..40.0, 0.0..3000.0],
            label in prop_oneof![Just(0.0), 0.0..1.0, 0.0..50.0],
            left in 0.0..std::f64::consts::PI,
            right in 0.0..std::f64::consts::PI,
        ) {
            let logistic = distance(&|c| sigmoid(reach * c), left, right);
            prop_assert!(logistic <= 2.0 * logistic_height(reach) * (1.0 + 1e-13));
            let squared = distance(&|c| (label + reach * c).max(0.0), left, right);
            prop_assert!(squared <= 2.0 * squared_height(reach, label) * (1.0 + 1e-13));
        }
    }

    #[test]
    fn other_curves_have_points_farther_apart() {
        // Control: Theorem H needs its conditions. Here the slope leaps where features point along θ.
        let leap = |c: f64| {
            if c.abs() > 0.9 { 1.0 + 0.99 * c.signum() } else { 1.0 }
        };
        let mut widest = 0.0_f64;
        for left in 0..400 {
            for right in 0..400 {
                let angle = |k: i32| f64::from(k) * std::f64::consts::PI / 400.0;
                widest = widest.max(distance(&leap, angle(left), angle(right)));
            }
        }
        assert!(widest > 1.2 * 2.0 * scan(leap), "{widest}");
    }
}
