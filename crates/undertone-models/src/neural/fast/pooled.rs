//! Fused convolution, relu and 2×2 max-pooling.
//!
//! A tile is two rows of pixels, that is a row of whole windows, for one block of channels. A line of the input is used
//! for both rows, each with its own row of the kernel: a value is read once for two products. The weights of one block
//! and the input fit into the first-level cache together; those of two blocks do not.

use super::BLOCK;
use super::convolve::{BlockWeights, copy_block};
use super::packed::PackedStep;
use super::steps::Convolution;
use undertone_simd::{F32Vector, Simd, Vector};

/// A distance that is not a compile-time constant.
const ANY: usize = 0;

/// The start of a tile: the index of its first value in the input, and its first pooled pixel.
#[derive(Clone, Copy)]
struct TileStart {
    base: usize,
    pixel: usize,
}

/// The data that one block of channels reads and writes.
struct BlockData<'a> {
    weights: BlockWeights<'a>,
    input: &'a [f32],
    /// Its first channel and its number of channels.
    channels: (usize, usize),
    output: &'a mut [f32],
    argmax: &'a mut [i32],
}

impl Convolution {
    /// Writes the maxima to `output`, and to `argmax` the input index of each maximum, negative where relu gives zero.
    #[inline(always)]
    pub(super) fn forward_pooled<S: Simd>(
        &self,
        packed: &PackedStep,
        input: &[f32],
        (output, argmax): (&mut [f32], &mut [i32]),
    ) {
        for block in 0..self.blocks() {
            let (weights, channels) =
                (self.block_weights(packed, block), self.block_channels(block));
            let mut data = BlockData { weights, input, channels, output, argmax };
            // Common distances between pixels are constants, which leaves more registers for the sums.
            match self.padded.channels {
                1 => self.pooled_rows::<S, 1>(&mut data),
                3 => self.pooled_rows::<S, 3>(&mut data),
                16 => self.pooled_rows::<S, 16>(&mut data),
                32 => self.pooled_rows::<S, 32>(&mut data),
                _ => self.pooled_rows::<S, ANY>(&mut data),
            }
        }
    }

    /// All rows of windows, for pixels STEP values apart.
    #[inline(always)]
    fn pooled_rows<S: Simd, const STEP: usize>(&self, data: &mut BlockData<'_>) {
        let Some((rows, columns)) = self.pooled else { return };
        for row in 0..rows {
            let corner = TileStart { base: 2 * row * self.row_stride, pixel: row * columns };
            // As many pixels as registers allow: each needs a running sum besides the weights.
            let mut done = 0;
            if S::MANY_REGISTERS {
                done = self.window_tiles::<S, STEP, 12>(data, corner, done, columns);
                done = self.window_tiles::<S, STEP, 8>(data, corner, done, columns);
                done = self.window_tiles::<S, STEP, 4>(data, corner, done, columns);
            }
            self.window_tiles::<S, STEP, 2>(data, corner, done, columns);
        }
    }

    /// Computes whole tiles of T pixels of a row, starting after `done` windows; returns the windows done then.
    #[inline(always)]
    fn window_tiles<S: Simd, const STEP: usize, const T: usize>(
        &self,
        data: &mut BlockData<'_>,
        row: TileStart,
        mut done: usize,
        columns: usize,
    ) -> usize {
        while done + T / 2 <= columns {
            let base = row.base + 2 * done * self.padded.channels;
            let corner = TileStart { base, pixel: row.pixel + done };
            let sums = self.sums::<S, STEP, T>(data, base);
            self.pool_tile::<S, T>(data, corner, &sums);
            done += T / 2;
        }
        done
    }

    /// The sums of two rows of T pixels.
    #[inline(always)]
    fn sums<S: Simd, const STEP: usize, const T: usize>(
        &self,
        data: &BlockData<'_>,
        base: usize,
    ) -> [[S::F32x16; T]; 2] {
        let step = if STEP == ANY { self.padded.channels } else { STEP };
        // The values of T pixels at one index of the kernel row, for each index.
        let reach = (T - 1) * step + 1;
        let places = |line: usize| {
            data.input[base + line * self.row_stride..][..reach - 1 + self.row].windows(reach)
        };
        let weights =
            |kernel_row: usize| &data.weights.weights[kernel_row * self.row..][..self.row];
        let [mut upper, mut lower] = [[S::F32x16::load(data.weights.biases); T]; 2];
        if !S::MANY_REGISTERS {
            // With so few sums, the first and last line, used by one row only, would have too few independent sums.
            for line in 0..self.kernel {
                let both = places(line).zip(places(line + 1));
                for ((above, below), weights) in both.zip(weights(line)) {
                    let weights = S::F32x16::load(weights);
                    for t in 0..T {
                        let values = [above, below].map(|row| S::F32x16::splat(row[t * step]));
                        upper[t] = values[0].multiply_add(weights, upper[t]);
                        lower[t] = values[1].multiply_add(weights, lower[t]);
                    }
                }
            }
            return [upper, lower];
        }
        for (values, weights) in places(0).zip(weights(0)) {
            let weights = S::F32x16::load(weights);
            for t in 0..T {
                upper[t] = S::F32x16::splat(values[t * step]).multiply_add(weights, upper[t]);
            }
        }
        for line in 1..self.kernel {
            let both = weights(line).iter().zip(weights(line - 1));
            for (values, (above, below)) in places(line).zip(both) {
                let (above, below) = (S::F32x16::load(above), S::F32x16::load(below));
                for t in 0..T {
                    let value = S::F32x16::splat(values[t * step]);
                    upper[t] = value.multiply_add(above, upper[t]);
                    lower[t] = value.multiply_add(below, lower[t]);
                }
            }
        }
        for (values, weights) in places(self.kernel).zip(weights(self.kernel - 1)) {
            let weights = S::F32x16::load(weights);
            for t in 0..T {
                lower[t] = S::F32x16::splat(values[t * step]).multiply_add(weights, lower[t]);
            }
        }
        [upper, lower]
    }

    /// Pools a tile and writes it.
    #[inline(always)]
    fn pool_tile<S: Simd, const T: usize>(
        &self,
        data: &mut BlockData<'_>,
        corner: TileStart,
        sums: &[[S::F32x16; T]; 2],
    ) {
        let (first, count) = data.channels;
        let right = self.padded.channels;
        for window in 0..T / 2 {
            let base = corner.base + 2 * window * right;
            let below = base + self.row_stride;
            let [upper, lower] = sums;
            let four = [
                (upper[2 * window], base),
                (upper[2 * window + 1], base + right),
                (lower[2 * window], below),
                (lower[2 * window + 1], below + right),
            ];
            let (maxima, places) = pool(four);
            let start = (corner.pixel + window) * self.channels + first;
            copy_block(&maxima, &mut data.output[start..start + count]);
            copy_block(&places, &mut data.argmax[start..start + count]);
        }
    }
}

/// For each channel the maximum of four pixels and 0, and the input index of the first pixel that has it, or a negative
/// number.
#[inline(always)]
fn pool<V: F32Vector<BLOCK>>(four: [(V, usize); 4]) -> ([f32; BLOCK], [i32; BLOCK]) {
    // Indices are stored as the bits of f32, which are only moved.
    #[expect(clippy::cast_possible_truncation, reason = "a padded input has at most 2²⁸ values")]
    let [first, others @ ..] =
        four.map(|(values, base)| (values, V::splat(f32::from_bits(base as u32))));
    let (mut maxima, mut places) = first;
    for (values, tag) in others {
        places = values.select_greater(maxima, tag, places);
        maxima = values.select_greater(maxima, values, maxima);
    }
    // The bits of −0 are those of i32::MIN.
    let zero = V::splat(0.0);
    places = maxima.select_greater(zero, places, V::splat(-0.0));
    maxima = maxima.select_greater(zero, maxima, zero);
    let (mut values, mut bits) = ([0.0; BLOCK], [0.0; BLOCK]);
    maxima.store(&mut values);
    places.store(&mut bits);
    (values, bits.map(|bits| bits.to_bits().cast_signed()))
}
