//! Numbers of 16 bits (binary16 of IEEE 754), to store vectors in a quarter of the memory.

/// A number of 16 bits: eleven significant ones, and absolute values from 2⁻²⁴ to 65504.
///
/// Equal bits compare as equal, so that -0 differs from 0.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Half(u16);

/// Below this, numbers lie 2⁻²⁴ apart.
const LEAST_NORMAL: f32 = 1.0 / 16_384.0;

impl Half {
    /// Zero.
    pub const ZERO: Half = Half(0);

    /// The number that is next to `value` on the side of zero, or `value` itself.
    ///
    /// # Guarantee
    /// Its absolute value is at most that of `value`, so that the norm of a vector does not grow. It is finite, whatever
    /// `value` is: at most 65504, and zero for NaN.
    #[must_use]
    pub fn towards_zero(value: f32) -> Half {
        let (bits, size) = (value.to_bits(), value.abs());
        #[expect(clippy::cast_possible_truncation, reason = "the sign is the highest bit")]
        let sign = (bits >> 16) as u16 & 0x8000;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the parts below are within their ranges"
        )]
        let magnitude = if value.is_nan() {
            0
        } else if size >= 65_504.0 {
            0x7bff
        } else if size < LEAST_NORMAL {
            // Scaling by a power of two is exact, and the conversion drops the rest.
            (size * 16_777_216.0) as u16
        } else {
            // The exponent's bias is 112 less, and the fraction loses its lowest 13 bits.
            (((bits & 0x7fff_ffff) >> 13) - (112 << 10)) as u16
        };
        Half(sign | magnitude)
    }

    /// The number with these bits, if it is finite.
    #[must_use]
    pub fn from_bits(bits: u16) -> Option<Half> {
        (bits & 0x7c00 != 0x7c00).then_some(Half(bits))
    }

    /// The bits.
    #[must_use]
    pub fn to_bits(self) -> u16 {
        self.0
    }

    /// The same number.
    #[inline(always)]
    #[must_use]
    pub fn to_f64(self) -> f64 {
        f64::from(self.to_f32())
    }

    /// The same number.
    #[inline(always)]
    pub(crate) fn to_f32(self) -> f32 {
        /// What the missing bias of the exponent multiplies a number by. The product is exact, for numbers below the least
        /// normal one too.
        const BIAS: f32 = f32::from_bits((127 + 112) << 23);
        let magnitude = f32::from_bits(u32::from(self.0 & 0x7fff) << 13) * BIAS;
        f32::from_bits(magnitude.to_bits() | u32::from(self.0 & 0x8000) << 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = Half> {
        (0..=u16::MAX).filter_map(Half::from_bits)
    }

    /// By the definition of the format.
    fn defined(bits: u16) -> f64 {
        let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
        let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023) / 1024.0);
        sign * match exponent {
            0 => fraction * 2_f64.powi(-14),
            normal => (1.0 + fraction) * 2_f64.powi(normal - 15),
        }
    }

    #[test]
    fn every_number_is_what_the_format_says() {
        assert_eq!(all().count(), 2 * 31 * 1024);
        for half in all() {
            let expected = defined(half.to_bits());
            assert_eq!(half.to_f64().to_bits(), expected.to_bits(), "{:#x}", half.to_bits());
        }
        assert!(Half::from_bits(0x7c00).is_none() && Half::from_bits(0xfe00).is_none());
    }

    #[test]
    fn conversion_never_goes_away_from_zero_and_keeps_what_fits() {
        for half in all() {
            #[expect(clippy::cast_possible_truncation, reason = "a number of 16 bits fits")]
            let value = half.to_f64() as f32;
            assert_eq!(Half::towards_zero(value).to_bits(), half.to_bits());
            // Up to the next number of 16 bits, all others become this one.
            if half.to_bits() & 0x7fff < 0x7bff {
                let above = Half(half.to_bits() + 1).to_f32();
                for between in [value + (above - value) / 3.0, f32::from_bits(above.to_bits() - 1)]
                {
                    assert_eq!(Half::towards_zero(between).to_bits(), half.to_bits());
                }
            }
        }
    }

    #[test]
    fn numbers_without_a_place_become_finite_ones() {
        for (value, expected) in [
            (f32::INFINITY, 65_504.0),
            (f32::NEG_INFINITY, -65_504.0),
            (1e6, 65_504.0),
            (f32::NAN, 0.0),
            (1e-30, 0.0),
        ] {
            assert!((Half::towards_zero(value).to_f64() - expected).abs() <= 0.0, "{value}");
        }
    }
}
