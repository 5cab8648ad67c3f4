//! Convolution, relu and 2×2 max-pooling in one go.
//!
//! A tile is two rows of pixels, so that whole windows come out of it, for one block of channels. A line of
//! the input serves both rows, each with its own row of the kernel: a value is read once for two products.
//! One block's weights and the input fit into the first-level cache together; two blocks' would not.

use super::BLOCK;
use super::convolve::{BlockOf, put};
use super::packed::PackedStep;
use super::steps::Convolution;
use undertone_simd::{F32Vector, Simd, Vector};

/// A distance that is not known in advance.
const ANY: usize = 0;

/// Where a tile begins: the place of its first value in the input, and its first pooled pixel.
#[derive(Clone, Copy)]
struct Corner {
    base: usize,
    pixel: usize,
}

/// What one block of channels reads and writes.
struct Pass<'a> {
    of: BlockOf<'a>,
    input: &'a [f32],
    /// Its first channel and how many it has.
    channels: (usize, usize),
    output: &'a mut [f32],
    winners: &'a mut [i32],
}

impl Convolution {
    /// Writes the maxima; `winners` gets where in the input each maximum began, or −1 where relu cut it off.
    #[inline(always)]
    pub(super) fn forward_pooled<S: Simd>(
        &self,
        packed: &PackedStep,
        input: &[f32],
        (output, winners): (&mut [f32], &mut [i32]),
    ) {
        for block in 0..self.blocks() {
            let (of, channels) = (self.block_of(packed, block), self.channels_of(block));
            let mut pass = Pass { of, input, channels, output, winners };
            // Usual distances between pixels are constants, which leaves registers to the sums.
            match self.padded.channels {
                1 => self.bands::<S, 1>(&mut pass),
                3 => self.bands::<S, 3>(&mut pass),
                16 => self.bands::<S, 16>(&mut pass),
                32 => self.bands::<S, 32>(&mut pass),
                _ => self.bands::<S, ANY>(&mut pass),
            }
        }
    }

    /// All rows of windows, for pixels STEP values apart.
    #[inline(always)]
    fn bands<S: Simd, const STEP: usize>(&self, pass: &mut Pass<'_>) {
        let Some((rows, columns)) = self.pooled else { return };
        for row in 0..rows {
            let corner = Corner { base: 2 * row * self.row_stride, pixel: row * columns };
            // As many pixels as registers allow: each needs a running sum, beside the weights.
            let mut done = 0;
            if S::MANY_REGISTERS {
                done = self.window_tiles::<S, STEP, 12>(pass, corner, done, columns);
                done = self.window_tiles::<S, STEP, 8>(pass, corner, done, columns);
                done = self.window_tiles::<S, STEP, 4>(pass, corner, done, columns);
            }
            self.window_tiles::<S, STEP, 2>(pass, corner, done, columns);
        }
    }

    /// As many tiles of T pixels in a row as there is room for after `done` windows; how many are done then.
    #[inline(always)]
    fn window_tiles<S: Simd, const STEP: usize, const T: usize>(
        &self,
        pass: &mut Pass<'_>,
        row: Corner,
        mut done: usize,
        columns: usize,
    ) -> usize {
        while done + T / 2 <= columns {
            let base = row.base + 2 * done * self.padded.channels;
            let corner = Corner { base, pixel: row.pixel + done };
            let sums = self.sums::<S, STEP, T>(pass, base);
            self.pool_tile::<S, T>(pass, corner, &sums);
            done += T / 2;
        }
        done
    }

    /// The sums of two rows of T pixels.
    #[inline(always)]
    fn sums<S: Simd, const STEP: usize, const T: usize>(
        &self,
        pass: &Pass<'_>,
        base: usize,
    ) -> [[S::F32x16; T]; 2] {
        let step = if STEP == ANY { self.padded.channels } else { STEP };
        // The values of T pixels at one place of the kernel row, place after place.
        let reach = (T - 1) * step + 1;
        let places = |line: usize| {
            pass.input[base + line * self.row_stride..][..reach - 1 + self.row].windows(reach)
        };
        let weights = |kernel_row: usize| &pass.of.weights[kernel_row * self.row..][..self.row];
        let [mut upper, mut lower] = [[S::F32x16::load(pass.of.biases); T]; 2];
        if !S::MANY_REGISTERS {
            // So few sums would wait for each other in the first and last line, which serve one row only.
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
        pass: &mut Pass<'_>,
        corner: Corner,
        sums: &[[S::F32x16; T]; 2],
    ) {
        let (first, count) = pass.channels;
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
            put(&maxima, &mut pass.output[start..start + count]);
            put(&places, &mut pass.winners[start..start + count]);
        }
    }
}

/// The largest of four pixels and above 0, by channel, and where it began, or less than 0; the first of
/// equal ones.
#[inline(always)]
fn pool<V: F32Vector<BLOCK>>(four: [(V, usize); 4]) -> ([f32; BLOCK], [i32; BLOCK]) {
    // Places travel as the bits of numbers that nobody computes with.
    #[expect(clippy::cast_possible_truncation, reason = "a padded input has at most 2²⁸ values")]
    let [first, others @ ..] =
        four.map(|(values, base)| (values, V::splat(f32::from_bits(base as u32))));
    let (mut maxima, mut places) = first;
    for (values, tag) in others {
        places = values.select_greater(maxima, tag, places);
        maxima = values.select_greater(maxima, values, maxima);
    }
    // The bits of −0 are those of the least of all integers.
    let zero = V::splat(0.0);
    places = maxima.select_greater(zero, places, V::splat(-0.0));
    maxima = maxima.select_greater(zero, maxima, zero);
    let (mut values, mut bits) = ([0.0; BLOCK], [0.0; BLOCK]);
    maxima.store(&mut values);
    places.store(&mut bits);
    (values, bits.map(|bits| bits.to_bits().cast_signed()))
}
