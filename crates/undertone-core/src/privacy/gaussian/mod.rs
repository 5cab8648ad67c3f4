//! The exact price of Gaussian noise: μ of Gaussian differential privacy to (ε, δ).
//!
//! Releases with Gaussian noise whose shifts are at most μ₁, μ₂, … standard deviations tell two histories apart exactly
//! as well as one draw of N(0, 1) or N(μ, 1) with μ² = Σμ_t², at most, also when each shift depends on what was released
//! before, as long as the sum stays below a cap fixed in advance (ADR 0025). zCDP of the same releases is ρ = μ²/2.

mod bracket;
mod mills;
#[cfg(test)]
mod tests;

use bracket::Bracket;
use mills::{FRACTION_FROM, central, mills, ratios};

/// 1/√(2π).
const DENSITY_AT_ZERO: Bracket =
    Bracket { low: 0.398_942_280_401_432_6, high: 0.398_942_280_401_432_75 };

/// The smallest ε such that μ-Gaussian differential privacy implies (ε, δ)-differential privacy.
///
/// # Guarantee
/// Never below the true value, and above it by at most 10⁻¹² of it, for δ ≥ 10⁻³⁰⁰: δ(ε) = Φ(−ε/μ + μ/2) −
/// e^ε Φ(−ε/μ − μ/2) is bounded from above in arithmetic that rounds outwards.
///
/// # Source
/// Dong, Roth & Su (2022), Corollary 1 of Section 2.4; Balle & Wang (2018), Theorem 8. Paper map, row 15.
///
/// # Panics
/// When μ is negative or NaN, or δ is not inside (0, 1): configs are checked before.
#[must_use]
pub(crate) fn epsilon_from_gdp(mu: f64, delta: f64) -> f64 {
    assert!(mu >= 0.0, "mu is the root of a sum of squares");
    assert!(delta > 0.0 && delta < 1.0, "delta lies in (0, 1)");
    if !(mu * mu).is_finite() {
        return f64::INFINITY;
    }
    let is_enough = |epsilon: f64| delta_bound(epsilon, mu) <= delta;
    if mu <= 0.0 || is_enough(0.0) {
        return 0.0;
    }
    // δ ≤ 1 − Φ(x) ≤ exp(−x²/2)/2 where x = ε/μ − μ/2 ≥ 0.
    let mut high = (0.5 * mu * mu + mu * (-2.0 * delta.ln()).sqrt()) * (1.0 + 1e-12);
    let mut low = 0.0;
    if !is_enough(high) {
        return f64::INFINITY;
    }
    let excess = |epsilon: f64| (delta_bound(epsilon, mu) / delta).ln();
    let (mut at_low, mut at_high) = (excess(low), excess(high));
    // Regula falsi on ln δ, and a plain halving wherever it does not halve the interval.
    for _ in 0..EVALUATIONS_MAX {
        let width = high - low;
        if !(width > WIDTH * high) {
            break;
        }
        let secant = low + width * (at_low / (at_low - at_high));
        let nudge = 0.25 * WIDTH * high;
        for guess in [secant + nudge, secant - nudge, low + 0.5 * (high - low)] {
            if guess > low && guess < high && high - low > 0.5 * width {
                let at = excess(guess);
                if at <= 0.0 {
                    (high, at_high) = (guess, at);
                } else {
                    (low, at_low) = (guess, at);
                }
            }
        }
    }
    high
}

/// ε is found to this share of itself.
const WIDTH: f64 = 1e-14;
const EVALUATIONS_MAX: usize = 200;

/// An upper bound on δ(ε) of one Gaussian release whose shift is μ standard deviations, μ > 0 and ε ≥ 0.
///
/// With x = ε/μ − μ/2, y = ε/μ + μ/2 and the Mills ratio m, e^ε φ(y) = φ(x), so that δ = φ(x)(m(x) − m(y)).
pub(super) fn delta_bound(epsilon: f64, mu: f64) -> f64 {
    let half = Bracket::exactly(0.5 * mu);
    let centre = Bracket::exactly(epsilon).over(Bracket::exactly(mu));
    if !centre.high.is_finite() {
        return f64::MIN_POSITIVE;
    }
    let (x, y) = (centre.minus(half), centre.plus(half));
    let density = DENSITY_AT_ZERO.times(x.square().times(Bracket::exactly(0.5)).exp_of_minus());
    let bound = if mu <= 1.0 {
        density.times(difference_series(centre, half))
    } else if x.low >= FRACTION_FROM {
        let difference = mills_of(x).minus(mills_of(y)).not_negative();
        density.times(difference)
    } else {
        upper_tail(x, density).minus(density.times(mills_of(y)))
    };
    bound.high.min(1.0)
}

/// m over a bracket, for z ≥ [`FRACTION_FROM`]: it falls.
fn mills_of(z: Bracket) -> Bracket {
    Bracket { low: mills(z.high).low, high: mills(z.low).high }
}

/// 1 − Φ(x) for x below [`FRACTION_FROM`] or little above it, given φ(x).
fn upper_tail(x: Bracket, density: Bracket) -> Bracket {
    // 1 − Φ(9) < 2⁻⁶².
    if x.low < -8.5 {
        return Bracket { low: 1.0 - 1e-16, high: 1.0 };
    }
    let half = Bracket::exactly(0.5);
    if x.low >= 0.0 {
        let series = Bracket { low: central(x.low).low, high: central(x.high).high };
        half.minus(density.times(series)).not_negative()
    } else if x.high <= 0.0 {
        let series = Bracket { low: central(-x.high).low, high: central(-x.low).high };
        half.plus(density.times(series))
    } else {
        let series = Bracket { low: 0.0, high: central(x.high.max(-x.low)).high };
        let reach = density.times(series);
        Bracket { low: half.minus(reach).low, high: half.plus(reach).high }
    }
}

/// m(c − h) − m(c + h) = 2·(I₁h + I₃h³/3! + I₅h⁵/5! + …) at c, for 0 < h ≤ ½: terms are positive, so nothing cancels.
fn difference_series(centre: Bracket, half: Bracket) -> Bracket {
    let moments = odd_moments(centre);
    let square = half.square();
    let mut power = half;
    let mut sum = Bracket::exactly(0.0);
    let mut last = 0.0;
    for (j, moment) in (0u32..).zip(moments) {
        let term = moment.times(power);
        sum = sum.plus(term);
        last = term.high;
        let next = f64::from((2 * j + 2) * (2 * j + 3));
        power = power.times(square).over(Bracket::exactly(next));
    }
    // A term is at most h²/(k + 1) ≤ 1/8 of the one before, as r_k ≤ √k.
    let sum = Bracket { low: sum.low, high: (sum.high + 0.5 * last).next_up() };
    sum.times(Bracket::exactly(2.0))
}

/// How many moments the series takes: the last term is below 10⁻¹⁹ of the first.
const MOMENTS: usize = 10;

/// I₁, I₃, I₅, … at c.
fn odd_moments(centre: Bracket) -> [Bracket; MOMENTS] {
    if centre.low >= 1.0 {
        // They fall with c.
        let (most, least) = (moments_by_ratios(centre.low), moments_by_ratios(centre.high));
        return std::array::from_fn(|j| Bracket { low: least[j].low, high: most[j].high });
    }
    moments_by_recursion(centre)
}

fn moments_by_ratios(c: f64) -> [Bracket; MOMENTS] {
    let ratios = ratios::<{ 2 * MOMENTS }>(c);
    let mut moment = Bracket::exactly(1.0).over(Bracket::exactly(c).plus(ratios[0]));
    let mut found = [moment; MOMENTS];
    for (index, &ratio) in ratios.iter().enumerate() {
        moment = moment.times(ratio);
        // `moment` is I_{index + 1}.
        if index % 2 == 0 {
            found[index / 2] = moment;
        }
    }
    found
}

/// I_{k+1} = k·I_{k−1} − c·I_k from I₀ = m(c) and I₁ = 1 − c·m(c), for c < 1.
///
/// What the differences lose is little there, and later moments count little.
fn moments_by_recursion(centre: Bracket) -> [Bracket; MOMENTS] {
    let density =
        DENSITY_AT_ZERO.times(centre.square().times(Bracket::exactly(0.5)).exp_of_minus());
    let mills = upper_tail(centre, density).over(density);
    let mut before = mills;
    let mut moment = Bracket::exactly(1.0).minus(centre.times(mills)).not_negative();
    let mut found = [moment; MOMENTS];
    for k in 1..2 * MOMENTS - 1 {
        #[expect(clippy::cast_precision_loss, reason = "k is small")]
        let factor = Bracket::exactly(k as f64);
        let next = factor.times(before).minus(centre.times(moment)).not_negative();
        (before, moment) = (moment, next);
        if k % 2 == 0 {
            found[k / 2] = moment;
        }
    }
    found
}
