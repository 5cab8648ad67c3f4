//! From zero-concentrated differential privacy to (ε, δ) and back.

/// ε as text: four digits after the point, rounded up.
#[must_use]
pub fn rounded_up(epsilon: f64) -> f64 {
    (epsilon * 1e4).ceil() / 1e4
}

/// The smallest ε such that ρ-zCDP implies (ε, δ)-differential privacy by the optimal conversion.
///
/// # Guarantee
/// For every order α > 1, ρ-zCDP bounds the Rényi divergence of order α by ρα, which implies (ε,
/// δ)-DP with ε = ρα + ln(1 − 1/α) − ln(δα)/(α − 1). Every α gives a valid ε, so an imperfect
/// search is still safe. The result is never above ρ + 2√(ρ ln(1/δ)).
///
/// # Source
/// Canonne, Kamath & Steinke (2020), Proposition 12. Paper map, row 15.
///
/// # Panics
/// When ρ is negative or NaN, or δ is not inside (0, 1): configs are checked before.
#[must_use]
pub fn epsilon_from_zcdp(zcdp: f64, delta: f64) -> f64 {
    assert!(zcdp >= 0.0, "zCDP is a sum of squares");
    assert!(delta > 0.0 && delta < 1.0, "delta lies in (0, 1)");
    if zcdp <= 0.0 {
        return 0.0;
    }
    if !zcdp.is_finite() {
        return f64::INFINITY;
    }
    let log_inverse_delta = -delta.ln();
    // `excess` is α − 1. Everything is computed from it, because α itself rounds to 1 for large ρ.
    let at = |log_excess: f64| {
        let excess = log_excess.exp();
        let shrink = -(1.0 / excess).ln_1p();
        zcdp + zcdp * excess + shrink + (log_inverse_delta - excess.ln_1p()) / excess
    };
    // The classical conversion uses α − 1 = √(ln(1/δ)/ρ); the optimum lies below it, and the
    // function of ln(α − 1) has a single minimum there.
    let centre = 0.5 * (log_inverse_delta / zcdp).ln();
    let best = golden_section_minimum(at, centre - 6.0, centre + 2.0);
    let classical = zcdp + 2.0 * (zcdp * log_inverse_delta).sqrt();
    let epsilon = if best.is_finite() { best.min(classical).max(0.0) } else { classical };
    // 1e-13 is far more than the rounding of these logarithms and sums.
    epsilon * (1.0 + 1e-13) + 1e-15
}

/// The largest ρ whose optimal conversion stays at or below ε.
///
/// # Guarantee
/// `epsilon_from_zcdp(zcdp_from_epsilon(ε, δ), δ) ≤ ε`.
#[must_use]
pub fn zcdp_from_epsilon(epsilon: f64, delta: f64) -> f64 {
    let (mut low, mut high) = (0.0, epsilon);
    while epsilon_from_zcdp(high, delta) <= epsilon {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if epsilon_from_zcdp(middle, delta) <= epsilon {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

fn golden_section_minimum(function: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let mut left = high - GOLDEN * (high - low);
    let mut right = low + GOLDEN * (high - low);
    let (mut at_left, mut at_right) = (function(left), function(right));
    for _ in 0..80 {
        if at_left < at_right {
            high = right;
            (right, at_right) = (left, at_left);
            left = high - GOLDEN * (high - low);
            at_left = function(left);
        } else {
            low = left;
            (left, at_left) = (right, at_right);
            right = low + GOLDEN * (high - low);
            at_right = function(right);
        }
    }
    at_left.min(at_right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_value_of_method_md_holds() {
        assert!((epsilon_from_zcdp(7.1535, 1e-6) - 25.86).abs() < 5e-3);
    }

    #[test]
    fn a_fine_scan_over_orders_finds_nothing_smaller() {
        for (zcdp, delta) in
            [(1e-6, 1e-5), (0.01, 1e-6), (0.5, 1e-9), (7.1535, 1e-6), (400.0, 1e-3)]
        {
            let found = epsilon_from_zcdp(zcdp, delta);
            let mut scanned = f64::INFINITY;
            for step in 0..400_000 {
                let order = 1.0 + (f64::from(step) * 1e-4 - 20.0).exp();
                let epsilon =
                    zcdp * order + (1.0 - 1.0 / order).ln() - (delta * order).ln() / (order - 1.0);
                scanned = scanned.min(epsilon);
            }
            assert!(
                found <= scanned.max(0.0) * (1.0 + 1e-7) + 1e-12,
                "{zcdp} {delta} {found} {scanned}"
            );
        }
    }

    #[test]
    fn epsilon_grows_with_zcdp_and_never_falls_below_it_when_it_is_large() {
        let mut before = 0.0;
        for step in -120..3000 {
            let zcdp = 10f64.powf(f64::from(step) / 10.0);
            let epsilon = epsilon_from_zcdp(zcdp, 1e-6);
            assert!(epsilon >= before, "{zcdp}: {epsilon} after {before}");
            assert!(zcdp < 1.0 || epsilon >= zcdp, "{zcdp}: {epsilon}");
            before = epsilon;
        }
    }

    proptest! {
        #[test]
        fn inverting_never_passes_the_target(epsilon in 1e-3f64..100.0, log_delta in -30.0f64..-0.3) {
            let delta = log_delta.exp();
            let zcdp = zcdp_from_epsilon(epsilon, delta);
            let back = epsilon_from_zcdp(zcdp, delta);
            prop_assert!(back <= epsilon);
            prop_assert!(back >= epsilon * (1.0 - 1e-9) - 1e-14);
        }
    }
}
