//! Class shares drawn from a Dirichlet distribution.

/// Proportions from the symmetric Dirichlet distribution.
///
/// They are gamma variables divided by their sum. The computation uses logarithms, because for a small alpha
/// the variables themselves would all round to zero.
pub(super) fn draw_dirichlet(
    alpha: f64,
    count: usize,
    source: &mut impl FnMut() -> u64,
) -> Vec<f64> {
    let logarithms: Vec<f64> = (0..count).map(|_| ln_gamma_variable(alpha, source)).collect();
    let largest = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logarithms.iter().map(|value| (value - largest).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

/// The logarithm of a gamma variable of the given shape and scale 1.
///
/// # Source
/// Marsaglia and Tsang, A Simple Method for Generating Gamma Variables, 2000; below shape 1 a
/// variable of shape + 1 is multiplied by U^(1/shape).
fn ln_gamma_variable(shape: f64, source: &mut impl FnMut() -> u64) -> f64 {
    if shape < 1.0 {
        let boost = uniform(source).ln() / shape;
        // Below shape 1e-300 the boost is minus infinity; a large finite number keeps differences defined.
        return ln_gamma_variable(shape + 1.0, source) + boost.max(-1e300);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    // A draw is accepted with probability above 0.95: only a broken source reaches the end.
    for _ in 0..1000 {
        let x = normal(source);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && uniform(source).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d.ln() + v.ln();
        }
    }
    d.ln()
}

/// A standard normal variable (Box and Muller).
fn normal(source: &mut impl FnMut() -> u64) -> f64 {
    let radius = (-2.0 * uniform(source).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(source)).cos()
}

/// A uniform number above 0 and below 1.
fn uniform(source: &mut impl FnMut() -> u64) -> f64 {
    ((source() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
}
