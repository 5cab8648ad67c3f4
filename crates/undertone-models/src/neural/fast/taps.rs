//! Weight gradients of a pooled convolution with one input channel, without lists.
//!
//! With so few taps the running sums of all of them fit in registers, a vector of output channels for each tap. Every
//! window is visited once, and each channel selects the pixels of its maximum.

use super::backward::Slopes;
use super::steps::Convolution;
use super::{BLOCK, LANES};
use undertone_simd::{F32Vector, Simd, Vector};

impl Convolution {
    /// Writes the gradient of the weights and returns true, if this is such a convolution; else returns false.
    ///
    /// Bit-identical to the sums from lists: the same order, and entries that lists omit have slope zero.
    #[inline(always)]
    pub(super) fn try_few_taps_gradient<S: Simd>(
        &self,
        input: &[f32],
        from: Slopes<'_>,
        weights: &mut [f32],
    ) -> bool {
        if !S::MANY_REGISTERS || self.padded.channels != 1 || self.pooled.is_none() {
            return false;
        }
        match self.kernel {
            5 => self.few_taps_gradient::<S, 5, 6>(input, from, weights),
            3 => self.few_taps_gradient::<S, 3, 4>(input, from, weights),
            _ => return false,
        }
        true
    }

    /// The gradient for K×K kernels; a 2×2 window covers LINES = K + 1 input lines.
    #[inline(always)]
    fn few_taps_gradient<S: Simd, const K: usize, const LINES: usize>(
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
                // Lines of equal length, so that one bounds check covers all of them.
                let mut lines = [&input[..0]; LINES];
                for y in 0..LINES {
                    lines[y] = &input[base + y * self.row_stride..][..2 * columns + K - 1];
                }
                for column in 0..columns {
                    let at = (row * columns + column) * self.channels + block * BLOCK;
                    let slopes = self.window_slopes::<S>(from, at, base + 2 * column);
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

    /// The slopes of a window whose input starts at `base`.
    #[inline(always)]
    fn window_slopes<S: Simd>(
        &self,
        from: Slopes<'_>,
        at: usize,
        base: usize,
    ) -> WindowSlopes<S::F32x16> {
        let (zero, one) = (S::F32x16::splat(0.0), S::F32x16::splat(1.0));
        let slopes = S::F32x16::load(block_at(from.slopes, at));
        let slopes = choose(S::F32x16::load(block_at(from.outputs, at)), zero, slopes);
        // Positions are compared as f32 with the same bits, which have the same order.
        let argmax = block_at(from.argmax, at).map(|place| f32::from_bits(place.cast_unsigned()));
        let argmax = S::F32x16::load(&argmax);
        let is_above = |least: S::F32x16| argmax.select_greater(least, one, zero);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a padded input has at most 2²⁸ values"
        )]
        let place = |place: usize| S::F32x16::splat(f32::from_bits(place as u32));
        let below = is_above(place(base + 1));
        let right = is_above(choose(below, place(base), place(base + self.row_stride)));
        WindowSlopes {
            below,
            left: choose(right, slopes, zero),
            right: choose(right, zero, slopes),
        }
    }
}

/// A window's slopes by channel.
struct WindowSlopes<V> {
    /// Above 0 where the maximum is in the window's lower half.
    below: V,
    /// Slopes where the maximum is in the left half, and 0 elsewhere.
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
    slopes: WindowSlopes<S::F32x16>,
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

/// The block that starts at an index.
#[inline(always)]
fn block_at<T>(values: &[T], at: usize) -> &[T; BLOCK] {
    &values[at..at + BLOCK].as_chunks().0[0]
}
