//! ε at δ by the definitions: a root of δ(ε) for Gaussian noise, the least over Rényi orders for Laplace noise.

fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// (1 − Φ(x))/φ(x) for x ≥ 3, by Laplace's continued fraction.
fn mills(x: f64) -> f64 {
    1.0 / (1..400).rev().fold(x, |below, k| x + f64::from(k) / below)
}

/// 1 − Φ(x), by the power series of Φ up to 3.
fn tail(x: f64) -> f64 {
    if x < 0.0 {
        return 1.0 - tail(-x);
    }
    if x >= 3.0 {
        return density(x) * mills(x);
    }
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term > 1e-18 * sum {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    0.5 - density(x) * sum
}

/// The root of δ = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2), by halving.
pub(super) fn gaussian_epsilon(mu: f64, delta: f64) -> f64 {
    let delta_of = |epsilon: f64| {
        let (x, y) = (epsilon / mu - 0.5 * mu, epsilon / mu + 0.5 * mu);
        // e^ε φ(y) = φ(x), which stays finite.
        tail(x) - if y < 3.0 { epsilon.exp() * tail(y) } else { density(x) * mills(y) }
    };
    if delta_of(0.0) <= delta {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 0.5 * mu * mu + mu * (2.0 * (1.0 / delta).ln()).sqrt());
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        *(if delta_of(middle) > delta { &mut low } else { &mut high }) = middle;
    }
    high
}

/// The least over orders of D(α) + ln(1 − 1/α) − ln(δα)/(α − 1), by thirds of ln(α − 1). D is given α − 1.
fn least_over_orders(delta: f64, divergence: impl Fn(f64) -> f64) -> f64 {
    let at = |log: f64| {
        let excess = log.exp();
        divergence(excess) + (excess / (1.0 + excess)).ln() - (delta.ln() + excess.ln_1p()) / excess
    };
    let (mut low, mut high) = (-16.0, 16.0);
    for _ in 0..150 {
        let third = (high - low) / 3.0;
        if at(low + third) < at(high - third) {
            high -= third;
        } else {
            low += third;
        }
    }
    at(0.5 * (low + high)).max(0.0)
}

/// Of releases with this zCDP.
pub(super) fn laplace_epsilon(zcdp: f64, delta: f64) -> f64 {
    least_over_orders(delta, |excess| zcdp + zcdp * excess)
}

/// Of releases with Laplace noise whose ratios of sensitivity and noise are these, each split evenly over coordinates.
pub(super) fn laplace_plan_epsilon(ratios: &[f64], dimension: f64, delta: f64) -> f64 {
    least_over_orders(delta, |excess| {
        let both = 1.0 + 2.0 * excess;
        let of_release = |ratio: &f64| {
            let a = ratio / dimension.sqrt();
            let (up, down) = (excess * a, -(1.0 + excess) * a);
            // What is added to 1, so that small shifts keep their digits.
            let beyond = (1.0 + excess) / both * up.exp_m1() + excess / both * down.exp_m1();
            let log = if up > 600.0 { up + ((1.0 + excess) / both).ln() } else { beyond.ln_1p() };
            dimension * log / excess
        };
        ratios.iter().map(of_release).sum()
    })
}

/// Numbers that were computed with 80 digits (`scripts/gaussian_tails.py`): the reference itself is checked.
#[test]
fn the_reference_converts_as_eighty_digits_do() {
    for (mu, delta, epsilon) in [
        (0.05, 1e-6, 0.189_213_172_726_449_6),
        (1.0, 1e-12, 7.238_494_420_178_858),
        (7.0, 1e-5, 53.575_166_769_156_88),
    ] {
        let found = gaussian_epsilon(mu, delta);
        assert!((found / epsilon - 1.0).abs() < 1e-11, "{mu} {delta}: {found}");
    }
}
