//! e^−x from sums and products alone, so that it has the same bits on every machine.
//!
//! C is part of a ledger's first hash, and the exponential functions of two systems may differ in the last digit.

/// ln 2 in two parts; the first has so many zeros at its end that small multiples of it are exact.
const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// e^−x for x ≥ 0, within a relative 2⁻⁵⁰ · (1 + x); 0 beyond 708, where it is below 10⁻³⁰⁷.
///
/// NaN for NaN.
pub(super) fn exp_negative(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if !(x < 708.0) {
        return 0.0;
    }
    // e^−x = 2^−n e^−r with |r| ≤ ln 2 / 2.
    let halvings = (x / std::f64::consts::LN_2).round();
    let rest = (x - halvings * LN_2_HIGH) - halvings * LN_2_LOW;
    // Fourteen terms of the series: the next is below 5 · 10⁻¹⁸.
    let mut sum = 1.0;
    for k in (1..14_u32).rev() {
        sum = 1.0 - rest / f64::from(k) * sum;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 1022")]
    let exponent = 1023 - halvings as u64;
    sum * f64::from_bits(exponent << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_near_those_of_the_library() {
        for step in 0..7_080_u32 {
            let x = f64::from(step) * 0.1 - 0.000_37 * f64::from(step % 7);
            let x = x.max(0.0);
            let (found, expected) = (exp_negative(x), (-x).exp());
            assert!((found - expected).abs() <= expected * (1.0 + x) * 1e-15, "{x}");
        }
        assert!(exp_negative(1e9) < 1e-300 && exp_negative(f64::INFINITY) < 1e-300);
        assert!(exp_negative(f64::NAN).is_nan());
    }

    #[test]
    fn exponentials_have_the_same_bits_everywhere() {
        let golden = [
            (0.1, 0x3fec_f46d_99d5_2b3a),
            (1.0, 0x3fd7_8b56_362c_ef38),
            (37.25, 0x3c93_278b_cd70_e981),
        ];
        for (x, bits) in golden {
            assert_eq!(exp_negative(x).to_bits(), bits, "{x}: {:#x}", exp_negative(x).to_bits());
        }
    }
}
