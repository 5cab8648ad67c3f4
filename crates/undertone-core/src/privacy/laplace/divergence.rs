//! The Rényi divergence of one coordinate with Laplace noise.

/// (α − 1) times the Rényi divergence of order α of Laplace noise that is shifted by a of its scales, given α − 1 > 0.
///
/// f(a) = ln(p e^((α−1)a) + q e^(−αa)). As p(α − 1) = qα, what is added to 1 in the logarithm is p g((α−1)a) + q g(−αa) with
/// g(x) = e^x − 1 − x ≥ 0: both terms are positive, so nothing cancels.
///
/// # Guarantee
/// Within a relative 10⁻¹³ of the truth.
///
/// # Source
/// Mironov (2017), Proposition 6. Paper map, row 73.
pub(super) fn cumulant(shift: f64, excess: f64) -> f64 {
    let (order, both) = (1.0 + excess, 1.0 + 2.0 * excess);
    let (likely, other) = (order / both, excess / both);
    let up = excess * shift;
    if up > FAR {
        // ln p + (α − 1)a + ln(1 + (q/p) e^(−(2α−1)a)), the last of which is below 10⁻²⁰⁰.
        return up - (excess / order).ln_1p();
    }
    (likely * beyond_tangent(up) + other * beyond_tangent(-order * shift)).ln_1p()
}

/// From here on e^x leaves the range of an f64 soon, and e^−x does not count.
const FAR: f64 = 500.0;

/// e^x − 1 − x.
fn beyond_tangent(x: f64) -> f64 {
    if x.abs() > 0.5 {
        return x.exp_m1() - x;
    }
    // x²/2 · (1 + x/3 · (1 + x/4 · (…))); the next term is below 10⁻¹⁷ of the sum.
    let mut sum = 1.0;
    for k in (3..15_u32).rev() {
        sum = 1.0 + x / f64::from(k) * sum;
    }
    0.5 * x * x * sum
}
