//! Convolutions backward, from lists of the slopes that are not zero.
//!
//! After max-pool and relu most slopes are zero; only the others are visited. For each output channel a list contains the
//! non-zero slopes and their input positions. Convolutions without pooling use the same code.

use super::packed::PackedStep;
use super::steps::Convolution;
use super::{BLOCK, LANES};
use undertone_simd::{F32Vector, Simd, Vector};

/// The slopes in the output of a convolution.
#[derive(Clone, Copy)]
pub(super) struct Slopes<'a> {
    /// By position and channel, with a block of channels of padding at the end.
    pub(super) slopes: &'a [f32],
    /// The outputs, in the same layout.
    pub(super) outputs: &'a [f32],
    /// The input index of each maximum, in the same layout, if pooled.
    pub(super) argmax: &'a [i32],
}

/// An input position in the upper 32 bits and the bits of a slope in the lower ones, so that both are copied at once.
pub(super) type Entry = u64;

#[inline(always)]
fn entry(place: u32, slope: f32) -> Entry {
    u64::from(place) << 32 | u64::from(slope.to_bits())
}

/// The input position and the slope.
#[inline(always)]
fn parts(entry: Entry) -> (usize, f32) {
    #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
    let slope = f32::from_bits(entry as u32);
    ((entry >> 32) as usize, slope)
}

impl Convolution {
    /// Writes the gradient of the weights and biases, and adds the slopes in the input to `back` if given.
    #[inline(always)]
    pub(super) fn backward<S: Simd>(
        &self,
        packed: &PackedStep,
        (input, from): (&[f32], Slopes<'_>),
        entries: &mut [Entry],
        gradient: &mut [f32],
        mut back: Option<&mut [f32]>,
    ) {
        let (weights, biases) = gradient.split_at_mut(self.weights().len());
        self.bias_gradient::<S>(from, biases);
        if back.is_none() && self.try_few_taps_gradient::<S>(input, from, weights) {
            return;
        }
        let weights = weights.chunks_exact_mut(self.channel_len());
        let packed = packed.backward.chunks_exact(self.channel_len());
        for (channel, (weights, packed)) in weights.zip(packed).enumerate() {
            let list = self.collect(channel, from, entries);
            self.weight_gradient::<S>(input, list, weights);
            if let Some(back) = back.as_deref_mut() {
                self.input_slopes::<S>(packed, list, back);
            }
        }
    }

    /// Lists the non-zero slopes of a channel.
    #[inline(always)]
    fn collect<'a>(
        &self,
        channel: usize,
        from: Slopes<'_>,
        entries: &'a mut [Entry],
    ) -> &'a [Entry] {
        let entries = &mut entries[..self.positions()];
        let len = self.positions() * self.channels;
        let slopes = from.slopes[..len].chunks_exact(self.channels);
        let mut count = 0;
        // Every entry is written, and the count advances only if it is to stay: a branch would be mispredicted.
        if self.pooled.is_some() {
            let argmax = from.argmax[..len].chunks_exact(self.channels);
            for (slopes, argmax) in slopes.zip(argmax) {
                let max_input = argmax[channel];
                entries[count] = entry(max_input.cast_unsigned(), slopes[channel]);
                count += usize::from(max_input >= 0);
            }
        } else {
            for (slopes, &base) in slopes.zip(&self.bases) {
                let slope = slopes[channel];
                entries[count] = entry(base, slope);
                count += usize::from(slope.to_bits() << 1 != 0);
            }
        }
        &entries[..count]
    }

    /// The sum of each channel's slopes, a vector of channels at a time.
    ///
    /// The last vector may include values of the next pixel; their sums are discarded.
    #[inline(always)]
    fn bias_gradient<S: Simd>(&self, from: Slopes<'_>, biases: &mut [f32]) {
        let (zero, one) = (S::F32x8::splat(0.0), S::F32x8::splat(1.0));
        for (vector, biases) in biases.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let mut sums = zero;
            for position in 0..self.positions() {
                let at = position * self.channels + vector * LANES;
                let mut slopes = lanes_at::<S>(from.slopes, at);
                if self.pooled.is_some() {
                    // Where relu gave zero there is no slope.
                    slopes = lanes_at::<S>(from.outputs, at).select_greater(zero, slopes, zero);
                }
                sums = slopes.multiply_add(one, sums);
            }
            sums.store(biases);
        }
        biases[self.channels..].fill(0.0);
    }

    /// The gradient of one channel's weights: Σ slope · (input under the kernel).
    #[inline(always)]
    fn weight_gradient<S: Simd>(&self, input: &[f32], list: &[Entry], weights: &mut [f32]) {
        let padded = self.padded_row();
        // Several rows at a time, so that enough independent sums are in flight.
        let rows_at_once = match (padded / LANES, self.kernel) {
            (1 | 2, 5) => 5,
            (10, 5) if S::MANY_REGISTERS => 5,
            (1 | 2, 3) => 3,
            _ => 1,
        };
        let (stride, row_mask) = (self.row_stride, &self.row_mask[..]);
        for (group, weights) in weights.chunks_exact_mut(rows_at_once * padded).enumerate() {
            let input = &input[group * rows_at_once * stride..];
            match (rows_at_once, padded / LANES) {
                (5, 1) => gather::<S::F32x8, LANES, 5, 1>((input, stride), list, row_mask, weights),
                (5, 2) => {
                    gather::<S::F32x16, BLOCK, 5, 1>((input, stride), list, row_mask, weights)
                }
                (5, 10) => {
                    gather::<S::F32x16, BLOCK, 5, 5>((input, stride), list, row_mask, weights)
                }
                (3, 1) => gather::<S::F32x8, LANES, 3, 1>((input, stride), list, row_mask, weights),
                (3, 2) => {
                    gather::<S::F32x16, BLOCK, 3, 1>((input, stride), list, row_mask, weights)
                }
                _ => gather_row::<S>(input, list, row_mask, weights),
            }
        }
    }

    /// Adds slope · weights to the slopes of the input under the kernel.
    #[inline(always)]
    fn input_slopes<S: Simd>(&self, packed: &[f32], list: &[Entry], back: &mut [f32]) {
        let (padded, stride) = (self.padded_row(), self.row_stride);
        // Consecutive entries add to the same slopes. All rows of one entry before the next, so that it need not wait
        // for a value just stored.
        match (self.kernel, padded / LANES) {
            (5, 10) => return scatter::<S::F32x16, BLOCK, 5, 5>(packed, list, stride, back),
            (3, 6) => return scatter::<S::F32x16, BLOCK, 3, 3>(packed, list, stride, back),
            _ => {}
        }
        for (kernel_row, mut weights) in packed.chunks_exact(padded).enumerate() {
            let mut back = &mut back[kernel_row * stride..];
            while !weights.is_empty() {
                let vectors = match weights.len() / LANES {
                    10.. => 10,
                    6.. => 6,
                    4.. => 4,
                    2.. => 2,
                    _ => 1,
                };
                let (now, later) = weights.split_at(vectors * LANES);
                match vectors {
                    10 => scatter::<S::F32x16, BLOCK, 1, 5>(now, list, 0, back),
                    6 => scatter::<S::F32x16, BLOCK, 1, 3>(now, list, 0, back),
                    4 => scatter::<S::F32x16, BLOCK, 1, 2>(now, list, 0, back),
                    2 => scatter::<S::F32x16, BLOCK, 1, 1>(now, list, 0, back),
                    _ => scatter::<S::F32x8, LANES, 1, 1>(now, list, 0, back),
                }
                back = &mut back[now.len()..];
                weights = later;
            }
        }
    }
}

/// The vector that starts at an index.
#[inline(always)]
fn lanes_at<S: Simd>(values: &[f32], at: usize) -> S::F32x8 {
    S::F32x8::load(&values[at..at + LANES].as_chunks().0[0])
}

/// Σ slope · input for ROWS rows of VECTORS vectors of N values, where `row_mask` is 1.
#[inline(always)]
fn gather<V: F32Vector<N>, const N: usize, const ROWS: usize, const VECTORS: usize>(
    (input, stride): (&[f32], usize),
    list: &[Entry],
    row_mask: &[f32],
    out: &mut [f32],
) {
    // Rows of equal length, so that one bounds check covers all of them.
    let len = input.len() - (ROWS - 1) * stride;
    let mut rows = [input; ROWS];
    for r in 0..ROWS {
        rows[r] = &input[r * stride..][..len];
    }
    let mut sums = [[V::splat(0.0); VECTORS]; ROWS];
    for &entry in list {
        let (place, slope) = parts(entry);
        let slope = V::splat(slope);
        for r in 0..ROWS {
            let values = &rows[r][place..place + VECTORS * N].as_chunks::<N>().0[..VECTORS];
            for v in 0..VECTORS {
                sums[r][v] = slope.multiply_add(V::load(&values[v]), sums[r][v]);
            }
        }
    }
    let (zero, row_mask) = (V::splat(0.0), V::load(&row_mask.as_chunks::<N>().0[VECTORS - 1]));
    for (out, sums) in out.as_chunks_mut::<N>().0.chunks_exact_mut(VECTORS).zip(&mut sums) {
        // The end of the last vector is input beyond the kernel row, which belongs to no weight.
        sums[VECTORS - 1] = row_mask.select_greater(zero, sums[VECTORS - 1], zero);
        for v in 0..VECTORS {
            sums[v].store(&mut out[v]);
        }
    }
}

/// Σ slope · input for one row of any length.
#[inline(always)]
fn gather_row<S: Simd>(
    mut input: &[f32],
    list: &[Entry],
    mut row_mask: &[f32],
    mut out: &mut [f32],
) {
    while !out.is_empty() {
        let vectors = match out.len() / LANES {
            10.. => 10,
            6.. => 6,
            4.. => 4,
            2.. => 2,
            _ => 1,
        };
        let (now, later) = out.split_at_mut(vectors * LANES);
        match vectors {
            10 => gather::<S::F32x16, BLOCK, 1, 5>((input, 0), list, row_mask, now),
            6 => gather::<S::F32x16, BLOCK, 1, 3>((input, 0), list, row_mask, now),
            4 => gather::<S::F32x16, BLOCK, 1, 2>((input, 0), list, row_mask, now),
            2 => gather::<S::F32x16, BLOCK, 1, 1>((input, 0), list, row_mask, now),
            _ => gather::<S::F32x8, LANES, 1, 1>((input, 0), list, row_mask, now),
        }
        input = &input[vectors * LANES..];
        row_mask = &row_mask[vectors * LANES..];
        out = later;
    }
}

/// Adds slope · weights at each input position, for ROWS rows of VECTORS vectors of N values.
#[inline(always)]
fn scatter<V: F32Vector<N>, const N: usize, const ROWS: usize, const VECTORS: usize>(
    weights: &[f32],
    list: &[Entry],
    stride: usize,
    back: &mut [f32],
) {
    let weights = &weights.as_chunks::<N>().0[..ROWS * VECTORS];
    let mut held = [[V::splat(0.0); VECTORS]; ROWS];
    for r in 0..ROWS {
        for v in 0..VECTORS {
            held[r][v] = V::load(&weights[r * VECTORS + v]);
        }
    }
    for &entry in list {
        let (place, slope) = parts(entry);
        let (back, slope) = (&mut back[place..], V::splat(slope));
        for r in 0..ROWS {
            let values = &mut back[r * stride..][..VECTORS * N].as_chunks_mut::<N>().0[..VECTORS];
            for v in 0..VECTORS {
                slope.multiply_add(held[r][v], V::load(&values[v])).store(&mut values[v]);
            }
        }
    }
}
