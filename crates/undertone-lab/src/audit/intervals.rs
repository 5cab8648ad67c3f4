//! Exact confidence bounds for a share, and what a share says about privacy.

use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::beta::beta_reg;
use undertone::noise::NoiseKind;

/// The chance of a false alarm in each test of the audit.
pub(super) const ALPHA: f64 = 1e-6;

/// A lower bound on a probability after `hits` of `count`, wrong with chance `alpha` at most.
///
/// # Source
/// Clopper and Pearson (1934): the p at which `hits` or more have chance `alpha`.
pub(super) fn lower(hits: u64, count: u64, alpha: f64) -> f64 {
    if hits == 0 {
        return 0.0;
    }
    // P(at least `hits` of `count`) at p is the incomplete beta function, which rises with p.
    let tail = |p: f64| beta_reg(hits as f64, (count - hits + 1) as f64, p);
    let (mut low, mut high) = (0.0, hits as f64 / count as f64);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if tail(middle) <= alpha { low = middle } else { high = middle }
    }
    low
}

/// An upper bound on a probability, in the same way.
pub(super) fn upper(hits: u64, count: u64, alpha: f64) -> f64 {
    1.0 - lower(count - hits, count, alpha)
}

/// z with chance `alpha` outside ±z, for a standard normal.
pub(super) fn critical(alpha: f64) -> f64 {
    -Normal::standard().inverse_cdf(0.5 * alpha)
}

/// The smallest privacy parameter that allows a guess to be right with this probability.
///
/// Laplace: ε, since P(right) ≤ e^ε/(1 + e^ε). Gaussian: Δ/s, since P(right) ≤ Φ(Δ/2s).
pub(super) fn strength(kind: NoiseKind, right: f64) -> f64 {
    match kind {
        NoiseKind::Laplace => (right / (1.0 - right)).ln(),
        NoiseKind::Gaussian => 2.0 * Normal::standard().inverse_cdf(right),
    }
}

/// The privacy parameter that two shares of one event under two inputs prove.
///
/// Laplace: ε ≥ ln(P/Q). Gaussian: Δ/s ≥ Φ⁻¹(P) − Φ⁻¹(Q).
pub(super) fn separation(kind: NoiseKind, at_least: f64, at_most: f64) -> f64 {
    if !(at_least > 0.0 && at_most < 1.0) {
        return f64::NEG_INFINITY;
    }
    match kind {
        NoiseKind::Laplace => (at_least / at_most).ln(),
        NoiseKind::Gaussian => {
            let normal = Normal::standard();
            normal.inverse_cdf(at_least) - normal.inverse_cdf(at_most)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::function::gamma::ln_gamma;

    /// P(at least `hits` of `count`), term by term.
    fn tail(hits: u64, count: u64, p: f64) -> f64 {
        let (n, log) = (count as f64, |x: u64| ln_gamma(x as f64 + 1.0));
        (hits..=count)
            .map(|k| {
                let choose = ln_gamma(n + 1.0) - log(k) - log(count - k);
                (choose + k as f64 * p.ln() + (count - k) as f64 * (-p).ln_1p()).exp()
            })
            .sum()
    }

    #[test]
    fn clopper_pearson_bounds_have_the_tail_they_promise_up_to_a_million() {
        for (hits, count) in
            [(1, 10), (10, 10), (731, 1000), (500_123, 684_000), (731_058, 1_000_000), (40, 20_000)]
        {
            let bound = lower(hits, count, ALPHA);
            let chance = tail(hits, count, bound);
            assert!((chance / ALPHA - 1.0).abs() < 1e-3, "{hits} of {count}: {chance:e}");
            assert!(upper(hits, count, ALPHA) > hits as f64 / count as f64 || hits == count);
        }
        assert!(lower(0, 10, ALPHA) <= 0.0 && upper(10, 10, ALPHA) >= 1.0);
    }

    #[test]
    fn strengths_are_those_of_the_textbook() {
        let e = std::f64::consts::E;
        assert!((strength(NoiseKind::Laplace, e / (1.0 + e)) - 1.0).abs() < 1e-12);
        assert!((strength(NoiseKind::Gaussian, Normal::standard().cdf(0.5)) - 1.0).abs() < 1e-9);
        assert!((critical(1e-6) - 4.8916).abs() < 1e-3);
    }
}
