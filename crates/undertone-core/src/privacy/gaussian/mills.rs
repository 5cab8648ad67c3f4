//! The Mills ratio of the normal distribution, m(z) = (1 − Φ(z)) / φ(z), and its moments, bracketed.
//!
//! With I_k(z) = ∫₀^∞ tᵏ exp(−t²/2 − zt) dt, m = I₀ and (−1)ᵏ I_k is the k-th derivative of m. Integration by parts
//! gives I_{k+1} = k·I_{k−1} − z·I_k, and so the ratios r_k = I_k / I_{k−1} are a continued fraction of positive numbers,
//! r_k = k / (z + r_{k+1}), with m = 1 / (z + r₁).
//!
//! # Source
//! Laplace's continued fraction; the bounds it starts from follow from r_k ≤ r_{k+1} (Cauchy and Schwarz:
//! I_k² ≤ I_{k−1} I_{k+1}): r_k ≤ k/(z + r_k), so r_k ≤ (√(z² + 4k) − z)/2.

use super::bracket::Bracket;

/// From here on the continued fraction is used: it takes some (18/z)² steps.
pub(super) const FRACTION_FROM: f64 = 0.5;

/// e to the minus this is far below the last place of an f64.
const DIGITS: f64 = 36.0;

/// r₁ to r_count at z ≥ [`FRACTION_FROM`].
///
/// A step of the fraction shrinks an error by r_k²/k, about exp(−z/√k), so that what is not known of r_N enters r₁
/// times exp(−2z√N).
pub(super) fn ratios<const COUNT: usize>(z: f64) -> [Bracket; COUNT] {
    let root = DIGITS / (2.0 * z);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 1300")]
    let depth = COUNT + 8 + (root * root) as usize;
    let z = Bracket::exactly(z);
    let mut next = starting_ratio(z, depth);
    let mut found = [next; COUNT];
    for k in (1..depth).rev() {
        #[expect(clippy::cast_precision_loss, reason = "k stays far below 2^53")]
        let k_exact = Bracket::exactly(k as f64);
        next = k_exact.over(z.plus(next));
        if let Some(slot) = found.get_mut(k - 1) {
            *slot = next;
        }
    }
    found
}

/// Bounds on r_k: from above by (√(z² + 4k) − z)/2 = 2k/(√(z² + 4k) + z), from below by k/(z + r_{k+1}).
fn starting_ratio(z: Bracket, k: usize) -> Bracket {
    let most = |k: f64| {
        let square = z.square().plus(Bracket::exactly(4.0 * k));
        let root =
            Bracket { low: square.low.sqrt().next_down(), high: square.high.sqrt().next_up() };
        Bracket::exactly(2.0 * k).over(root.plus(z))
    };
    #[expect(clippy::cast_precision_loss, reason = "k stays far below 2^53")]
    let k = k as f64;
    let least = Bracket::exactly(k).over(z.plus(most(k + 1.0)));
    Bracket { low: least.low, high: most(k).high }
}

/// m(z) for z ≥ [`FRACTION_FROM`].
pub(super) fn mills(z: f64) -> Bracket {
    let [first] = ratios::<1>(z);
    Bracket::exactly(1.0).over(Bracket::exactly(z).plus(first))
}

/// (Φ(z) − ½) / φ(z) = z + z³/3 + z⁵/(3·5) + z⁷/(3·5·7) + … for 0 ≤ z ≤ 9.
pub(super) fn central(z: f64) -> Bracket {
    let square = Bracket::exactly(z).square();
    let mut term = Bracket::exactly(z);
    let mut sum = term;
    let mut odd = 3.0;
    // Beyond odd = 2z² every term is at most half of the one before: what is left out is at most the last term.
    while odd <= 2.0 * square.high || term.high > 1e-17 * sum.low {
        term = term.times(square).over(Bracket::exactly(odd));
        sum = sum.plus(term);
        odd += 2.0;
        if term.high <= f64::MIN_POSITIVE {
            break;
        }
    }
    Bracket { low: sum.low, high: (sum.high + term.high).next_up() }
}
