//! From the account's currencies to (ε, δ) and back.

use super::cost::Cost;
use super::gaussian::epsilon_from_gdp;
use crate::noise::NoiseKind;

impl Cost {
    /// ε at δ of releases that all had noise of one kind: the smallest that is proved.
    ///
    /// # Guarantee
    /// Gaussian noise: the zCDP ρ of such releases is μ²/2 of Gaussian differential privacy, whose ε is exact
    /// (`epsilon_from_gdp`). Laplace noise: the smaller of pure ε, which holds at every δ, and the conversion of
    /// zCDP ([`epsilon_from_zcdp`]). Where noise of both kinds is in the releases, take `Laplace`.
    ///
    /// # Panics
    /// When δ is not inside (0, 1) or the cost is NaN: configs are checked before.
    #[must_use]
    pub fn epsilon(self, noise: NoiseKind, delta: f64) -> f64 {
        match noise {
            NoiseKind::Gaussian => {
                assert!(self.zcdp >= 0.0, "zCDP is a sum of squares");
                // Zero needs no rounding up.
                let mu = if self.zcdp > 0.0 { (2.0 * self.zcdp).sqrt().next_up() } else { 0.0 };
                epsilon_from_gdp(mu, delta)
            }
            NoiseKind::Laplace => epsilon_from_zcdp(self.zcdp, delta).min(self.pure),
        }
    }
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
    // The classical conversion uses α − 1 = √(ln(1/δ)/ρ); the optimum lies below it.
    let centre = 0.5 * (log_inverse_delta / zcdp).ln();
    let best = least_epsilon(delta, (centre - 6.0, centre + 2.0), |excess| zcdp + zcdp * excess);
    best.min(raised(zcdp + 2.0 * (zcdp * log_inverse_delta).sqrt()))
}

/// The least over orders α of D_α + ln(1 − 1/α) − ln(δα)/(α − 1), where α − 1 is e to the power of a number in the given
/// range.
///
/// # Guarantee
/// If `divergence`, given α − 1, bounds the Rényi divergence of order α for every α, what has it is (ε, δ)-differentially
/// private.
pub(super) fn least_epsilon(
    delta: f64,
    (low, high): (f64, f64),
    divergence: impl Fn(f64) -> f64,
) -> f64 {
    let log_inverse_delta = -delta.ln();
    // `excess` is α − 1. Everything is computed from it, because α itself rounds to 1 for large costs.
    let at = |log_excess: f64| {
        let excess = log_excess.exp();
        let shrink = -(1.0 / excess).ln_1p();
        divergence(excess) + shrink + (log_inverse_delta - excess.ln_1p()) / excess
    };
    // (α − 1) times all of it is convex in α, as (α − 1)D_α is: so its quotient by α − 1 has a single minimum.
    let found = golden_section_minimum(at, low, high);
    if found.is_finite() { raised(found.max(0.0)) } else { f64::INFINITY }
}

/// 1e-13 is far more than the rounding of these logarithms and sums.
fn raised(epsilon: f64) -> f64 {
    epsilon * (1.0 + 1e-13) + 1e-15
}

/// The largest zCDP of releases with noise of one kind whose ε stays at or below the given one: what a cap allows.
///
/// # Guarantee
/// A cost of at most this zCDP has an [`epsilon`](Cost::epsilon) of at most ε.
#[must_use]
pub fn zcdp_from_epsilon(noise: NoiseKind, epsilon: f64, delta: f64) -> f64 {
    // ε is found to 10⁻¹⁴ of itself, so a cost below the limit may be given an ε that is above the limit's by that.
    let target = epsilon * (1.0 - 1e-13);
    let is_within = |zcdp| Cost { pure: f64::INFINITY, zcdp }.epsilon(noise, delta) <= target;
    let (mut low, mut high) = (0.0, epsilon);
    while is_within(high) && high < f64::MAX {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        *(if is_within(middle) { &mut low } else { &mut high }) = middle;
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
            for noise in [NoiseKind::Laplace, NoiseKind::Gaussian] {
                let zcdp = zcdp_from_epsilon(noise, epsilon, delta);
                let back = Cost { pure: f64::INFINITY, zcdp }.epsilon(noise, delta);
                prop_assert!(back <= epsilon);
                prop_assert!(back >= epsilon * (1.0 - 1e-9) - 1e-14);
            }
        }

        #[test]
        fn gaussian_noise_never_costs_more_than_its_zcdp_says(log_zcdp in -20.0f64..8.0, log_delta in -30.0f64..-0.3) {
            let cost = Cost { pure: f64::INFINITY, zcdp: log_zcdp.exp() };
            let [exact, bound] =
                [NoiseKind::Gaussian, NoiseKind::Laplace].map(|noise| cost.epsilon(noise, log_delta.exp()));
            prop_assert!(exact <= bound, "{exact} {bound}");
        }
    }
}
