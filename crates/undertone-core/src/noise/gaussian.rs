//! The standard Gaussian variable: |X| = −Φ⁻¹(U/2).
//!
//! # Source
//! M. J. Wichura, Algorithm AS 241: The percentage points of the normal distribution, Applied
//! Statistics 37(3), 1988, pages 477 to 484: the rational functions of PPND16. Only the fast path
//! uses them. The guarantee needs only their error bound, which the tests check against integer
//! arithmetic.

use std::f64::consts::LN_2;

use super::kernel::Magnitude;
use super::laplace::negative_ln;

/// Fast path of the Gaussian distribution of mean 0 and standard deviation 1.
///
/// # Guarantee
/// For uniforms from 2⁻³⁵ to 1 the result is within 2⁻⁴⁵ of the x with 2·Φ(−x) = U, whatever the
/// bits of U beyond the 104 drawn. The tests find 2⁻⁴⁷·⁴ against integer arithmetic. At most:
/// - all coefficients and arguments are positive, so Horner's rule and the quotient are right to
///   33·2⁻⁵³ of the result, which is 2⁻⁴⁵·³ at its greatest, 6.65;
/// - in the centre U is off by 2⁻⁵³, and |X| by 3.6 times that;
/// - outside it −ln U is off by 2⁻⁴⁶·⁶ and its root, at 5, by a tenth of that plus a rounding of 2⁻⁵¹;
///   |X| grows 1.5 times as fast as the root;
/// - the published functions are right to 10⁻¹⁶ of the result.
pub(super) struct Gaussian;

impl Magnitude for Gaussian {
    // Here U/2 is e⁻²⁴·⁹⁵, just before the end of the second rational function at e⁻²⁵; |X| is 6.65.
    const TAIL: f64 = 1.0 / ((1_u64 << 35) as f64);

    #[inline(always)]
    fn of(uniform: f64) -> f64 {
        let centre = 0.5 - 0.5 * uniform;
        let near = CENTRE_LIMIT - centre * centre;
        let root = (negative_ln(uniform) + LN_2).sqrt();
        let far = root - MIDDLE_SHIFT;
        let central = centre <= 0.425;
        let (numerator, denominator) = if central {
            (centre * horner(&CENTRE.0, near), horner(&CENTRE.1, near))
        } else {
            (horner(&MIDDLE.0, far), horner(&MIDDLE.1, far))
        };
        numerator / denominator
    }
}

/// An estimate of −Φ⁻¹(U/2) for any U, from −ln U. The slow path starts its search there; a poor estimate costs time,
/// not correctness.
pub(super) fn estimate(negative_ln_uniform: f64) -> f64 {
    let uniform = (-negative_ln_uniform).exp();
    if uniform > Gaussian::TAIL {
        return Gaussian::of(uniform);
    }
    let far = (negative_ln_uniform + LN_2).sqrt() - TAIL_SHIFT;
    horner(&TAIL.0, far) / horner(&TAIL.1, far)
}

#[inline(always)]
fn horner(coefficients: &[f64; 8], x: f64) -> f64 {
    let mut sum = coefficients[7];
    for power in (0..7).rev() {
        sum = sum * x + coefficients[power];
    }
    sum
}

/// 0.425², the square of the central region's half width.
const CENTRE_LIMIT: f64 = 0.180_625;
const MIDDLE_SHIFT: f64 = 1.6;
const TAIL_SHIFT: f64 = 5.0;

/// Numerator and denominator, lowest power first.
type Rational = ([f64; 8], [f64; 8]);

/// |½ − U/2| ≤ 0.425.
#[expect(clippy::excessive_precision, reason = "as published")]
const CENTRE: Rational = (
    [
        3.387_132_872_796_366_608_0e0,
        1.331_416_678_917_843_774_5e2,
        1.971_590_950_306_551_442_7e3,
        1.373_169_376_550_946_112_5e4,
        4.592_195_393_154_987_145_7e4,
        6.726_577_092_700_870_085_3e4,
        3.343_057_558_358_812_810_5e4,
        2.509_080_928_730_122_672_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091_125_2e1,
        6.871_870_074_920_579_083_0e2,
        5.394_196_021_424_751_107_7e3,
        2.121_379_430_158_659_586_7e4,
        3.930_789_580_009_271_061_0e4,
        2.872_908_573_572_194_267_4e4,
        5.226_495_278_852_854_561_0e3,
    ],
);

/// Outside the centre, √(−ln(U/2)) ≤ 5.
#[expect(clippy::excessive_precision, reason = "as published")]
const MIDDLE: Rational = (
    [
        1.423_437_110_749_683_577_34e0,
        4.630_337_846_156_545_295_90e0,
        5.769_497_221_460_691_405_50e0,
        3.647_848_324_763_204_605_04e0,
        1.270_458_252_452_368_382_58e0,
        2.417_807_251_774_506_117_70e-1,
        2.272_384_498_926_918_458_33e-2,
        7.745_450_142_783_414_076_40e-4,
    ],
    [
        1.0,
        2.053_191_626_637_758_821_87e0,
        1.676_384_830_183_803_849_40e0,
        6.897_673_349_851_000_045_50e-1,
        1.481_039_764_274_800_745_90e-1,
        1.519_866_656_361_645_719_66e-2,
        5.475_938_084_995_344_946_00e-4,
        1.050_750_071_644_416_843_24e-9,
    ],
);

/// √(−ln(U/2)) > 5; for the slow path's estimate only.
#[expect(clippy::excessive_precision, reason = "as published")]
const TAIL: Rational = (
    [
        6.657_904_643_501_103_777_20e0,
        5.463_784_911_164_114_369_90e0,
        1.784_826_539_917_291_335_80e0,
        2.965_605_718_285_048_912_30e-1,
        2.653_218_952_657_612_309_30e-2,
        1.242_660_947_388_078_438_60e-3,
        2.711_555_568_743_487_578_15e-5,
        2.010_334_399_292_288_132_65e-7,
    ],
    [
        1.0,
        5.998_322_065_558_879_376_90e-1,
        1.369_298_809_227_358_053_10e-1,
        1.487_536_129_085_061_485_25e-2,
        7.868_691_311_456_132_591_00e-4,
        1.846_318_317_510_054_681_80e-5,
        1.421_511_758_316_445_888_70e-7,
        2.044_263_103_389_939_785_64e-15,
    ],
);
