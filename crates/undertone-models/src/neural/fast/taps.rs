//! Gradients of a pooled convolution of one input channel, without lists.
//!
//! So few taps have all their running sums in registers at once, a vector of output channels for each tap.
//! Then every window is visited once, and each channel picks the pixels that its maximum came from.

use super::backward::Slopes;
use super::steps::Convolution;
use super::{BLOCK, LANES};
use undertone_simd::{F32Vector, Simd, Vector};

impl Convolution {
    /// Writes the gradient of the weights if this is such a convolution; says whether it is.
    ///
    /// The same sums in the same order as from lists, bit for bit: what lists leave out has slope zero here.
    #[inline(always)]
    pub(super) fn few_taps<S: Simd>(
        &self,
        input: &[f32],
        from: Slopes<'_>,
        weights: &mut [f32],
    ) -> bool {
        if !S::MANY_REGISTERS || self.padded.channels != 1 || self.pooled.is_none() {
            return false;
        }
        match self.kernel {
            5 => self.taps::<S, 5, 6>(input, from, weights),
            3 => self.taps::<S, 3, 4>(input, from, weights),
            _ => return false,
        }
        true
    }

    /// For kernels of K by K; windows reach over one line more.
    #[inline(always)]
    fn taps<S: Simd, const K: usize, const LINES: usize>(
        &self,
        input: &[f32],
        from: Slopes<'_>,
        weights: &mut [f32],
    ) {
        let Some((rows, columns)) = self.pooled else { return };
        for (block, weights) in weights.chunks_mut(BLOCK * self.channel_len()).enumerate() {
            let mut sums = [[S::F32x16::splat(0.0); K]; K];
            for row in 0..rows {
                let base = 2 * row * self.row_stride;
                // Lines of equal length: one check of a place holds for all of them.
                let mut lines = [&input[..0]; LINES];
                for y in 0..LINES {
                    lines[y] = &input[base + y * self.row_stride..][..2 * columns + K - 1];
                }
                for column in 0..columns {
                    let at = (row * columns + column) * self.channels + block * BLOCK;
                    let slopes = self.split::<S>(from, at, base + 2 * column);
                    let mut pixels = lines;
                    for y in 0..LINES {
                        pixels[y] = &lines[y][2 * column..2 * column + K + 1];
                    }
                    add_window::<S, K, LINES>(pixels, slopes, &mut sums);
                }
            }
            let mut values = [[[0.0; BLOCK]; K]; K];
            for y in 0..K {
                for x in 0..K {
                    sums[y][x].store(&mut values[y][x]);
                }
            }
            let channels = weights.as_chunks_mut::<LANES>().0.chunks_exact_mut(K);
            for (rows, lane) in channels.zip(0..BLOCK) {
                for y in 0..K {
                    for x in 0..K {
                        rows[y][x] = values[y][x][lane];
                    }
                }
            }
        }
    }

    /// The slopes of a window whose input begins at `base`.
    #[inline(always)]
    fn split<S: Simd>(&self, from: Slopes<'_>, at: usize, base: usize) -> Split<S::F32x16> {
        let (zero, one) = (S::F32x16::splat(0.0), S::F32x16::splat(1.0));
        let slopes = S::F32x16::load(block_at(from.slopes, at));
        let slopes = choose(S::F32x16::load(block_at(from.outputs, at)), zero, slopes);
        // Places are compared as the numbers that have their bits, which are in the same order.
        let winners = block_at(from.winners, at).map(|place| f32::from_bits(place.cast_unsigned()));
        let winners = S::F32x16::load(&winners);
        let is_above = |least: S::F32x16| winners.select_greater(least, one, zero);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a padded input has at most 2²⁸ values"
        )]
        let place = |place: usize| S::F32x16::splat(f32::from_bits(place as u32));
        let below = is_above(place(base + 1));
        let right = is_above(choose(below, place(base), place(base + self.row_stride)));
        Split { below, left: choose(right, slopes, zero), right: choose(right, zero, slopes) }
    }
}

/// A window's slopes by channel.
struct Split<V> {
    /// Above 0 where the maximum came from the window's lower half.
    below: V,
    /// Slopes where it came from the left half, and 0 elsewhere.
    left: V,
    right: V,
}

/// `yes` where the flag is above 0, `no` elsewhere.
#[inline(always)]
fn choose<V: F32Vector<BLOCK>>(flag: V, no: V, yes: V) -> V {
    flag.select_greater(V::splat(0.0), yes, no)
}

/// Adds the pixels of one window times its slopes.
#[inline(always)]
fn add_window<S: Simd, const K: usize, const LINES: usize>(
    pixels: [&[f32]; LINES],
    slopes: Split<S::F32x16>,
    sums: &mut [[S::F32x16; K]; K],
) {
    for x in 0..=K {
        let mut upper = S::F32x16::splat(pixels[0][x]);
        for y in 0..K {
            let lower = S::F32x16::splat(pixels[y + 1][x]);
            let values = choose(slopes.below, upper, lower);
            if x < K {
                sums[y][x] = slopes.left.multiply_add(values, sums[y][x]);
            }
            if x > 0 {
                sums[y][x - 1] = slopes.right.multiply_add(values, sums[y][x - 1]);
            }
            upper = lower;
        }
    }
}

/// The block that begins at a place.
#[inline(always)]
fn block_at<T>(values: &[T], at: usize) -> &[T; BLOCK] {
    &values[at..at + BLOCK].as_chunks().0[0]
}
