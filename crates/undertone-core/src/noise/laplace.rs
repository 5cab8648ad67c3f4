//! The standard Laplace variable: |X| = −ln U.

use std::f64::consts::LN_2;

use super::kernel::Magnitude;

/// Fast path of the Laplace distribution of scale 1.
///
/// # Guarantee
/// For uniforms from 2⁻⁵² to 1 the result is within 2⁻⁴⁶·⁶ of −ln U, whatever the bits of U beyond
/// the 104 drawn. A test checks it against bounds from 320-bit integers.
pub(super) struct Laplace;

impl Magnitude for Laplace {
    // Below 2⁻⁵² the 104 bits leave −ln U uncertain by more than 2⁻⁵².
    const TAIL: f64 = 1.0 / ((1_u64 << 52) as f64);

    #[inline(always)]
    fn of(uniform: f64) -> f64 {
        negative_ln(uniform)
    }
}

/// −ln x for a normal x from 2⁻⁵² to 1, within 2⁻⁴⁶·⁶; finite but meaningless for other x.
///
/// x = 2^e·m with m in [√½, √2); ln m = 2·artanh(s) with s = (m−1)/(m+1), |s| < 0.1716, by the odd
/// Taylor series up to s¹⁷.
///
/// The error is the sum of at most:
/// - 2⁻⁴⁸ each for rounding e·ln 2 and the last subtraction, both below 64;
/// - 52·2⁻⁵⁵·² for the rounded constant ln 2;
/// - 2⁻⁵¹·⁵ for the terms left out, 2·s¹⁹/19 and smaller;
/// - 2⁻⁵¹·⁹ for six roundings on the way of the series, whose value is below 0.35;
/// - 2⁻⁵³ for the rounding of U to x and 2⁻⁵² for the bits of U after the 104th.
#[inline(always)]
pub(super) fn negative_ln(x: f64) -> f64 {
    const ONE: u64 = 1023 << 52;
    /// The bits of √½, where the split into exponent and mantissa changes.
    const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    let bits = x.to_bits();
    let biased = bits.wrapping_add(ONE - ROOT_HALF) >> 52;
    let fraction = f64::from_bits(bits.wrapping_sub(biased << 52).wrapping_add(ONE));
    // 2⁵² + biased as an f64, which turns an integer below 2⁵² into a float without a conversion.
    let two_52 = (1_u64 << 52) as f64;
    let exponent = f64::from_bits(biased | two_52.to_bits()) - (two_52 + 1023.0);

    let s = (fraction - 1.0) / (fraction + 1.0);
    let z = s * s;
    let z2 = z * z;
    let z4 = z2 * z2;
    // 1 + z/3 + … + z⁸/17, paired to shorten the chain of dependent operations.
    let first = 1.0 + z * (1.0 / 3.0);
    let second = 1.0 / 5.0 + z * (1.0 / 7.0);
    let third = 1.0 / 9.0 + z * (1.0 / 11.0);
    let fourth = 1.0 / 13.0 + z * (1.0 / 15.0);
    let series = (first + z2 * second) + z4 * ((third + z2 * fourth) + z4 * (1.0 / 17.0));
    -(exponent * LN_2) - (2.0 * s) * series
}
