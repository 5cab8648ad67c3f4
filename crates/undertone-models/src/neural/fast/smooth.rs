//! tanh and sigmoid without branches or calls, so that loops over them are vectorised.
//!
//! The standard library's functions compute one value at a time, and took most of the time of a neural network with
//! tanh. Both are computed from e^−|x|, which never overflows.

/// 1/ln 2.
const LOG2_E: f32 = std::f32::consts::LOG2_E;
/// ln 2 in two parts: small multiples of the first are exact.
const LN2_HIGH: f32 = 0.693_359_4;
const LN2_LOW: f32 = -2.121_944_4e-4;
/// Adding it to a small number puts the nearest integer into the lowest bits.
const ROUNDER: f32 = 12_582_912.0;
/// Arguments are clamped from below to this, where e^x is about 10⁻³⁵, so that 2^n is always a normal number.
const ARGUMENT_MIN: f32 = -80.0;

/// (2^n, e^r − 1) with x = n ln 2 + r and |r| ≤ ln 2 / 2, for x ≤ 0.
#[inline(always)]
fn exponential(x: f32) -> (f32, f32) {
    let x = if x > ARGUMENT_MIN { x } else { ARGUMENT_MIN };
    let shifted = x * LOG2_E + ROUNDER;
    let n = shifted - ROUNDER;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    // The series of (e^r − 1)/r: the first omitted term is below 2^−25 of it.
    let series = 1.0 / 5040.0;
    let series = series * r + 1.0 / 720.0;
    let series = series * r + 1.0 / 120.0;
    let series = series * r + 1.0 / 24.0;
    let series = series * r + 1.0 / 6.0;
    let series = series * r + 0.5;
    let series = series * r + 1.0;
    let power = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    (power, r * series)
}

/// tanh x = −m / (2 + m) with m = e^(−2|x|) − 1, and the sign of x; exact to a few units in the last place.
#[inline(always)]
pub(super) fn tanh(x: f32) -> f32 {
    let (power, rest) = exponential(-2.0 * x.abs());
    // Near zero 2^n is 1, so there is no cancellation.
    let m = power * rest + (power - 1.0);
    let found = (-m / (2.0 + m)).copysign(x);
    if x.is_nan() { x } else { found }
}

/// 1/(1 + e⁻ˣ).
#[inline(always)]
pub(super) fn sigmoid(x: f32) -> f32 {
    let (power, rest) = exponential(-x.abs());
    let e = power * rest + power;
    let above = if x < 0.0 { e } else { 1.0 };
    if x.is_nan() { x } else { above / (1.0 + e) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest relative error over numbers of all sizes and both signs.
    fn worst(ours: fn(f32) -> f32, exact: fn(f64) -> f64, most: f32) -> f64 {
        let mut worst = 0.0_f64;
        let mut x = 1e-30_f32;
        while x < most {
            for x in [x, -x] {
                let exact = exact(f64::from(x));
                worst = worst.max((f64::from(ours(x)) - exact).abs() / exact.abs());
            }
            x *= 1.0003;
        }
        worst
    }

    #[test]
    fn both_are_right_to_a_few_last_places() {
        let sigmoid_exact = |x: f64| 1.0 / (1.0 + (-x).exp());
        assert!(worst(tanh, f64::tanh, 100.0) < 4e-7);
        assert!(worst(sigmoid, sigmoid_exact, 79.0) < 4e-7);
        // The control: a truncated polynomial exceeds the limit.
        let short = |x: f32| x - x * x * x / 3.0;
        assert!(worst(short, f64::tanh, 0.5) > 1e-3);
    }

    #[test]
    fn the_ends_are_the_limits_and_nothing_hides_a_nan() {
        for x in [40.0, 1e30, f32::INFINITY] {
            assert!(tanh(x) >= 1.0 && tanh(-x) <= -1.0 && sigmoid(x) >= 1.0);
            assert!(sigmoid(-x) < 1e-17);
        }
        assert!(tanh(0.0).abs() <= 0.0 && (sigmoid(0.0) - 0.5).abs() <= 0.0);
        assert!(tanh(f32::NAN).is_nan() && sigmoid(f32::NAN).is_nan());
    }
}
