//! The slow path: integer arithmetic that draws more random bits until the rounding is decided.
//!
//! The uniform U is a real number of which only the first bits are known; it lies in an interval of
//! width 2^−bits. So does −ln U, or Φ⁻¹(U/2), and the released index is decided once that whole
//! interval rounds to one grid point. Until then another 64 bits are drawn and the precision of the
//! arithmetic grows with them, so the chance of being undecided falls by 2⁻⁶⁴ a step and the loop
//! ends with certainty. The fast path and this one are the same function of U, the one rounded and
//! the other not; together they release exactly round(θ + ρ·X).

use std::f64::consts::LN_2;

use dashu_int::ops::BitTest;
use dashu_int::{IBig, UBig};
use zeroize::Zeroize;

use super::bounds::{Bounds, gaussian_tail, negative_ln};
use super::gaussian;

/// Fraction bits beyond the known bits of U; 320 in all for the first 104.
const GUARD_BITS: usize = 216;

/// The leading bits of a uniform number: U lies between value/2^bits and (value + 1)/2^bits.
pub(super) struct Uniform {
    pub(super) value: UBig,
    pub(super) bits: usize,
}

impl Uniform {
    /// The 104 bits that the fast path saw.
    pub(super) fn new(high: u64, low: u64) -> Uniform {
        Uniform { value: (UBig::from(high >> 12) << 52) + UBig::from(low >> 12), bits: 104 }
    }

    /// Appends 64 bits.
    pub(super) fn extend(&mut self, word: u64) {
        self.value <<= 64;
        self.value += UBig::from(word);
        self.bits += 64;
    }

    /// −ln U. None when no bit is set yet, so that it has no upper bound.
    pub(super) fn negative_ln(&self) -> Option<Bounds> {
        if self.value.is_zero() {
            return None;
        }
        let bits = self.bits + GUARD_BITS;
        let mut bounds = negative_ln(&self.value, self.bits, bits);
        // U = (value + u)/2^bits with 0 < u < 1, and ln(1 + u/value) ≤ 1/value.
        bounds.low -= IBig::from((UBig::ONE << bits) / &self.value) + IBig::ONE;
        Some(bounds)
    }

    /// A rough −ln U, for guesses.
    fn negative_ln_estimate(&self) -> f64 {
        let places = self.value.bit_len().saturating_sub(53);
        let top = u64::try_from(&self.value >> places).expect("53 bits are left") as f64;
        (self.bits - places) as f64 * LN_2 - top.max(0.5).ln()
    }

    /// Whether U is above a number; None when the known bits do not tell.
    fn is_above(&self, number: &Bounds) -> Option<bool> {
        let value = IBig::from(self.value.clone());
        let places = number.bits - self.bits;
        let low = &value << places;
        let high = (&value + IBig::ONE) << places;
        if low >= number.high {
            Some(true)
        } else if high <= number.low {
            Some(false)
        } else {
            None
        }
    }
}

impl Drop for Uniform {
    fn drop(&mut self) {
        self.value.zeroize();
    }
}

/// The grid that noise is rounded on, seen from θ: R steps per scale, θ `rest` steps off its index.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) ratio: f64,
    pub(super) rest: f64,
}

/// A distribution's slow path.
pub(super) trait Decide {
    /// The integer nearest to rest + R·|X|, or None when more bits of U are needed.
    fn positive(uniform: &Uniform, place: Place) -> Option<i64>;

    /// The integer nearest to rest ± R·|X|, drawing words until it is decided.
    ///
    /// # Guarantee
    /// The result is that integer for the real number U whose first bits are `uniform` and whose
    /// further bits are the drawn words. The sign is handled by symmetry: rest − R·|X| is the
    /// negative of −rest + R·|X|. (A tie has probability zero.)
    fn round(
        mut uniform: Uniform,
        is_negative: bool,
        place: Place,
        mut next_word: impl FnMut() -> u64,
    ) -> i64 {
        let mirrored = if is_negative { Place { rest: -place.rest, ..place } } else { place };
        loop {
            if let Some(index) = Self::positive(&uniform, mirrored) {
                return if is_negative { -index } else { index };
            }
            uniform.extend(next_word());
        }
    }
}

impl Decide for super::laplace::Laplace {
    fn positive(uniform: &Uniform, place: Place) -> Option<i64> {
        let size = uniform.negative_ln()?;
        let bits = uniform.bits + GUARD_BITS;
        // R has 53 bits and at most 48 of them are fraction, so that it is exact in these bits.
        // The lower bound of −ln U may be a little below zero; |X| is not.
        let size = Bounds { low: size.low.max(IBig::ZERO), ..size };
        let noise = size.times(&Bounds::float(place.ratio, bits));
        Bounds::float(place.rest, bits).plus(&noise).nearest_integer()
    }
}

impl Decide for super::gaussian::Gaussian {
    /// Finds the index i with (i − ½ − rest)/R < |X| < (i + ½ − rest)/R by comparing U with the
    /// chance of |X| beyond each of the two ends. The search starts at the fast path's guess and
    /// moves by certain comparisons only, so it ends at the right index from any start.
    fn positive(uniform: &Uniform, place: Place) -> Option<i64> {
        let guess = gaussian::guess(uniform.negative_ln_estimate());
        let mut index = (place.rest + place.ratio * guess).max(0.0).round() as i64;
        loop {
            if is_beyond(uniform, index, place)? {
                index += 1;
            } else if index == 0 || is_beyond(uniform, index - 1, place)? {
                // Below 0 there is nothing: rest + R·|X| ≥ −½.
                return Some(index);
            } else {
                index -= 1;
            }
        }
    }
}

/// Whether |X| is beyond the upper end of the cell of `index`, (index + ½ − rest)/R.
fn is_beyond(uniform: &Uniform, index: i64, place: Place) -> Option<bool> {
    let estimate = (index as f64 + 1.0) / place.ratio;
    let bits = uniform.bits + GUARD_BITS + (1.5 * estimate * estimate) as usize;
    let end = Bounds::integer(index, bits)
        .plus(&Bounds::float(0.5, bits))
        .minus(&Bounds::float(place.rest, bits));
    if end.high <= IBig::ZERO {
        return Some(true);
    }
    let end = Bounds { low: end.low.max(IBig::ZERO), ..end }.over_float(place.ratio);
    // |X| is beyond the end when U is below the chance of that.
    uniform.is_above(&gaussian_tail(&end)).map(|is_above| !is_above)
}
