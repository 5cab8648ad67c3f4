//! The slow path: integer arithmetic that draws more random bits until the rounding is decided.
//!
//! The uniform U is a real number of which only the first bits are known; it lies in an interval of
//! width 2^−bits. So does −ln U, or Φ⁻¹(U/2), and the released index is decided once that whole
//! interval rounds to one grid point. Until then another 64 bits are drawn and the precision of the
//! arithmetic grows with them, so the probability of being undecided falls by 2⁻⁶⁴ per step and the
//! loop ends with probability 1. Both paths compute the same function of U, the fast one in f64 and this one exactly;
//! together they release exactly round(θ + ρ·X).

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
    /// The 104 bits that the fast path used.
    pub(super) fn new(high: u64, low: u64) -> Uniform {
        Uniform { value: (UBig::from(high >> 12) << 52) + UBig::from(low >> 12), bits: 104 }
    }

    /// Appends 64 bits.
    pub(super) fn extend(&mut self, word: u64) {
        self.value <<= 64;
        self.value += UBig::from(word);
        self.bits += 64;
    }

    /// −ln U. `None` while all known bits are zero, because then it has no upper bound.
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

    /// An estimate of −ln U, for the start of a search.
    fn negative_ln_estimate(&self) -> f64 {
        let places = self.value.bit_len().saturating_sub(53);
        let top = u64::try_from(&self.value >> places).expect("53 bits are left") as f64;
        (self.bits - places) as f64 * LN_2 - top.max(0.5).ln()
    }

    /// Whether U is above a number; `None` if the known bits do not decide it.
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

/// Where θ lies on the grid: R = `ratio` steps per noise scale, and θ is `rest` steps from its nearest index.
#[derive(Clone, Copy)]
pub(super) struct GridPosition {
    pub(super) ratio: f64,
    pub(super) rest: f64,
}

/// A distribution's slow path.
pub(super) trait SlowPath {
    /// The integer nearest to rest + R·|X|, or `None` if more bits of U are needed.
    fn add_positive(uniform: &Uniform, position: GridPosition) -> Option<i64>;

    /// The integer nearest to rest ± R·|X|, drawing words until it is decided.
    ///
    /// # Guarantee
    /// The result is that integer for the real number U whose first bits are `uniform` and whose
    /// further bits are the drawn words. The sign is handled by symmetry: rest − R·|X| is the
    /// negative of −rest + R·|X|. (A tie has probability zero.)
    fn round(
        mut uniform: Uniform,
        is_negative: bool,
        position: GridPosition,
        mut next_word: impl FnMut() -> u64,
    ) -> i64 {
        let mirrored =
            if is_negative { GridPosition { rest: -position.rest, ..position } } else { position };
        loop {
            if let Some(index) = Self::add_positive(&uniform, mirrored) {
                return if is_negative { -index } else { index };
            }
            uniform.extend(next_word());
        }
    }
}

impl SlowPath for super::laplace::Laplace {
    fn add_positive(uniform: &Uniform, position: GridPosition) -> Option<i64> {
        let size = uniform.negative_ln()?;
        let bits = uniform.bits + GUARD_BITS;
        // R has 53 bits and at most 48 of them are fraction, so that it is exact in these bits. The
        // lower bound of −ln U may be slightly below zero; |X| is not.
        let size = Bounds { low: size.low.max(IBig::ZERO), ..size };
        let noise = size.times(&Bounds::float(position.ratio, bits));
        Bounds::float(position.rest, bits).plus(&noise).nearest_integer()
    }
}

impl SlowPath for super::gaussian::Gaussian {
    /// Finds the index i with (i − ½ − rest)/R < |X| < (i + ½ − rest)/R by comparing U with the
    /// probability that |X| is beyond each end. The search starts at the fast path's estimate and moves only on
    /// comparisons that are certain, so it ends at the correct index from any start.
    fn add_positive(uniform: &Uniform, position: GridPosition) -> Option<i64> {
        let start = gaussian::estimate(uniform.negative_ln_estimate());
        let mut index = (position.rest + position.ratio * start).max(0.0).round() as i64;
        loop {
            if is_beyond(uniform, index, position)? {
                index += 1;
            } else if index == 0 || is_beyond(uniform, index - 1, position)? {
                // No index is below 0, because rest + R·|X| ≥ −½.
                return Some(index);
            } else {
                index -= 1;
            }
        }
    }
}

/// Whether |X| is beyond the upper end of the cell of `index`, (index + ½ − rest)/R.
fn is_beyond(uniform: &Uniform, index: i64, position: GridPosition) -> Option<bool> {
    let estimate = (index as f64 + 1.0) / position.ratio;
    let bits = uniform.bits + GUARD_BITS + (1.5 * estimate * estimate) as usize;
    let end = Bounds::integer(index, bits)
        .plus(&Bounds::float(0.5, bits))
        .minus(&Bounds::float(position.rest, bits));
    if end.high <= IBig::ZERO {
        return Some(true);
    }
    let end = Bounds { low: end.low.max(IBig::ZERO), ..end }.over_float(position.ratio);
    // |X| is beyond the end when U is below the probability of that.
    uniform.is_above(&gaussian_tail(&end)).map(|is_above| !is_above)
}
