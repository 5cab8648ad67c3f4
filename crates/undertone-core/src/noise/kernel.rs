//! The fast path: blocks of lanes without branches, with the same bits on every instruction set.
//!
//! A lane turns two random words and one value θ into the grid point nearest to θ + ρ·X. It uses only
//! sums, differences, products, quotients and square roots, all of which IEEE 754 rounds the same way
//! everywhere, and no fused multiply-add. It also reports whether rounding error could have changed the
//! result; such lanes are redone by [`exact`](super::exact).

use super::Perturbation;
use super::grid::{Grid, power_of_two};
use super::keystream::Word;
use std::marker::PhantomData;
use undertone_simd::{Kernel, Simd};

/// Lanes in a block. Two keystream words and two f64 each: the block stays in the first-level cache.
pub(super) const BLOCK: usize = 256;

/// Lanes are processed in groups of this size, so that the compiler sees a fixed count and no
/// remainder loop: a group is two AVX-512 registers.
pub(super) const GROUP: usize = 16;

/// Adding and subtracting 1.5·2⁵² rounds to the nearest integer when |x| ≤ 2⁵¹.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// Values below 2^FLUSH_EXPONENT grid steps count as zero.
const FLUSH_EXPONENT: i32 = -600;

/// A lane is doubtful within R times this of a rounding boundary.
///
/// The magnitudes of [`laplace`](super::laplace) and [`gaussian`](super::gaussian) are within 2⁻⁴⁵ of
/// the truth. Scaling by R and adding the rest of θ round once each, by at most 2⁻⁵³·(36.1·R + ½), so
/// the sum that is rounded to the grid is within R·2⁻⁴⁴·⁵ of the truth (R·2⁻⁴⁵·⁶ for Laplace, whose
/// magnitude is better). The margin is more than five times that, and costs three slow lanes in 10⁹.
const MARGIN: f64 = 1.0 / ((1_u64 << 42) as f64);

/// A distribution's fast path: computes |X| of a standard variable from a uniform variable.
pub(super) trait Magnitude {
    /// Uniforms below this go to the slow path. A power of two.
    const TAIL: f64;

    /// The x with P(|X| > x) = `uniform`, within 2⁻⁴⁵ for uniforms from `TAIL` to 1.
    fn of(uniform: f64) -> f64;
}

/// The constants of a release that every lane shares.
#[derive(Clone, Copy)]
pub(super) struct LaneConstants {
    step: f64,
    inverse_step: f64,
    ratio: f64,
    bound: f64,
    flush_below: u64,
    certain_up_to: f64,
}

impl LaneConstants {
    /// The constants for a grid that admits the bound.
    pub(super) fn new(grid: &Grid, perturbation: &Perturbation) -> LaneConstants {
        LaneConstants {
            step: grid.step(),
            inverse_step: grid.inverse_step(),
            ratio: grid.ratio(),
            bound: perturbation.bound,
            flush_below: power_of_two(grid.exponent() + FLUSH_EXPONENT).to_bits(),
            certain_up_to: 0.5 - grid.ratio() * MARGIN,
        }
    }

    /// Makes lanes up to `margin` steps from a rounding boundary doubtful, and all lanes if it is ½
    /// or more. Tests use it to send more lanes down the slow path.
    #[cfg(test)]
    pub(super) fn set_margin(&mut self, margin: f64) {
        self.certain_up_to = if margin < 0.5 { 0.5 - margin } else { -1.0 };
    }

    pub(super) fn ratio(&self) -> f64 {
        self.ratio
    }

    /// The multiple of the step with this index, exactly: |index| < 2⁵³.
    #[inline(always)]
    pub(super) fn point(&self, index: f64) -> f64 {
        index * self.step
    }

    /// Splits a finite value into its nearest grid index and the rest, |rest| ≤ ½, in steps.
    ///
    /// Tiny values are flushed first, in integer arithmetic, because a product with a subnormal
    /// operand or result takes a different time on many processors. What is flushed is below
    /// 2⁻⁶⁰⁰ steps, hence below 2⁻⁶¹² of the scale. All other steps are exact: scaling changes only
    /// the exponent (by less than 2⁴¹³ upwards or 2³⁹⁶ downwards, and the value is now zero or in
    /// range for that), and the rest is a multiple of the value's last place and not above the value.
    #[inline(always)]
    pub(super) fn split(&self, value: f64) -> (f64, f64) {
        let bits = value.to_bits();
        let size = bits & (u64::MAX >> 1);
        // All ones when size ≥ flush_below: both are below 2⁶³, so the top bit is the borrow.
        let keep = (size.wrapping_sub(self.flush_below) >> 63).wrapping_sub(1);
        let value = f64::from_bits(bits & keep);
        let value = if value > self.bound { self.bound } else { value };
        let value = if value < -self.bound { -self.bound } else { value };
        let scaled = value * self.inverse_step;
        let index = (scaled + ROUNDER) - ROUNDER;
        (index, scaled - index)
    }

    /// One lane: the released value, and whether the slow path must redo it.
    #[inline(always)]
    pub(super) fn lane<M: Magnitude>(&self, high: u64, low: u64, value: f64) -> (f64, bool) {
        let uniform = uniform(high, low);
        let size = self.ratio * M::of(uniform);
        let noise = f64::from_bits(size.to_bits() ^ (high << 63));
        let (index, rest) = self.split(value);
        let sum = rest + noise;
        let nearest = (sum + ROUNDER) - ROUNDER;
        let certain = (sum - nearest).abs() <= self.certain_up_to;
        (self.point(index + nearest), !certain | (uniform < M::TAIL))
    }
}

/// One block of lanes: four slices of the same number of groups. The kernel returns whether any lane must be redone by
/// the slow path.
pub(super) struct Block<'a, M> {
    pub(super) constants: &'a LaneConstants,
    /// First word of each lane: 52 bits of the uniform on top, the sign at the bottom.
    pub(super) high: &'a [[Word; GROUP]],
    /// Second word of each lane: the next 52 bits of the uniform on top.
    pub(super) low: &'a [[Word; GROUP]],
    pub(super) values: &'a [[f64; GROUP]],
    pub(super) out: &'a mut [[f64; GROUP]],
    pub(super) magnitude: PhantomData<M>,
}

impl<M: Magnitude> Kernel for Block<'_, M> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self) -> bool {
        let mut doubtful = false;
        let words = self.high.iter().zip(self.low);
        for ((high, low), (values, out)) in words.zip(self.values.iter().zip(self.out)) {
            let mut doubts = 0;
            // A local result cannot overlap the inputs, so the compiler needs no scalar fallback.
            let mut points = [0.0; GROUP];
            for lane in 0..GROUP {
                let high = u64::from_le_bytes(high[lane]);
                let low = u64::from_le_bytes(low[lane]);
                let (point, doubt) = self.constants.lane::<M>(high, low, values[lane]);
                points[lane] = point;
                doubts |= u64::from(doubt);
            }
            *out = points;
            doubtful |= doubts != 0;
        }
        doubtful
    }
}

/// The f64 nearest to the 104-bit uniform in two words, within a factor 1 ± 2⁻⁵³.
///
/// Zero when all 104 bits are zero; never above 1.
#[inline(always)]
pub(super) fn uniform(high: u64, low: u64) -> f64 {
    const ONE: u64 = 1023 << 52;
    let top = f64::from_bits((high >> 12) | ONE) - 1.0;
    let bottom = f64::from_bits((low >> 12) | ONE) - 1.0;
    top + bottom * (1.0 / ((1_u64 << 52) as f64))
}
