//! Convolutions backward, from lists of the slopes that are not zero.
//!
//! Behind max-pool and relu most slopes are zero; only the others are visited. For one output channel after
//! another a list says where in the input its slopes act. The same code serves convolutions with all slopes alive.

use super::lanes::{BLOCK, LANES, Lanes, Vector};
use super::packed::PackedStep;
use super::steps::Convolution;

/// Where a convolution's slopes come from.
#[derive(Clone, Copy)]
pub(super) struct Slopes<'a> {
    /// By position and channel, with room for a block of channels at the end.
    pub(super) slopes: &'a [f32],
    /// The same for the outputs whose slopes these are.
    pub(super) outputs: &'a [f32],
    /// The same for where they act, when pooled.
    pub(super) winners: &'a [i32],
}

/// Where in the input a slope acts, above the bits of the slope: moved as one.
pub(super) type Entry = u64;

#[inline(always)]
fn entry(place: u32, slope: f32) -> Entry {
    u64::from(place) << 32 | u64::from(slope.to_bits())
}

/// Where it acts, and the slope.
#[inline(always)]
fn parts(entry: Entry) -> (usize, f32) {
    #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
    let slope = f32::from_bits(entry as u32);
    ((entry >> 32) as usize, slope)
}

impl Convolution {
    /// Writes the gradient of the weights and biases, and adds the slopes in the input to `back` if given.
    #[inline(always)]
    pub(super) fn backward<L: Lanes>(
        &self,
        packed: &PackedStep,
        (input, from): (&[f32], Slopes<'_>),
        entries: &mut [Entry],
        gradient: &mut [f32],
        mut back: Option<&mut [f32]>,
    ) {
        let (weights, biases) = gradient.split_at_mut(self.weights().len());
        self.bias_gradient::<L>(from, biases);
        if back.is_none() && self.few_taps::<L>(input, from, weights) {
            return;
        }
        let weights = weights.chunks_exact_mut(self.channel_len());
        let packed = packed.backward.chunks_exact(self.channel_len());
        for (channel, (weights, packed)) in weights.zip(packed).enumerate() {
            let list = self.collect(channel, from, entries);
            self.weight_gradient::<L>(input, list, weights);
            if let Some(back) = back.as_deref_mut() {
                self.input_slopes::<L>(packed, list, back);
            }
        }
    }

    /// Lists the slopes of a channel that act somewhere.
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
        // Entries are always written and kept if alive: a branch would be foretold badly.
        if self.pooled.is_some() {
            let winners = from.winners[..len].chunks_exact(self.channels);
            for (slopes, winners) in slopes.zip(winners) {
                let winner = winners[channel];
                entries[count] = entry(winner.cast_unsigned(), slopes[channel]);
                count += usize::from(winner >= 0);
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

    /// The sums of each channel's slopes, a vector of channels at a time.
    ///
    /// Beyond the last channel the values of the next pixel are taken for channels; their sums are dropped.
    #[inline(always)]
    fn bias_gradient<L: Lanes>(&self, from: Slopes<'_>, biases: &mut [f32]) {
        let (zero, one) = (L::splat(0.0), L::splat(1.0));
        for (vector, biases) in biases.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let mut sums = zero;
            for position in 0..self.positions() {
                let at = position * self.channels + vector * LANES;
                let mut slopes = lanes_at::<L>(from.slopes, at);
                if self.pooled.is_some() {
                    // What relu has cut off is zero and has no slope.
                    slopes = zero.larger(lanes_at::<L>(from.outputs, at), (zero, slopes)).1;
                }
                sums = slopes.multiply_add(one, sums);
            }
            sums.store(biases);
        }
        biases[self.channels..].fill(0.0);
    }

    /// The gradient of one channel's weights: Σ slope · (input under the kernel).
    #[inline(always)]
    fn weight_gradient<L: Lanes>(&self, input: &[f32], list: &[Entry], weights: &mut [f32]) {
        let padded = self.padded_row();
        // Rows are taken several at a time, so that enough sums are under way at once.
        let rows_at_once = match (padded / LANES, self.kernel) {
            (1 | 2, 5) => 5,
            (10, 5) if L::MANY_REGISTERS => 5,
            (1 | 2, 3) => 3,
            _ => 1,
        };
        let (stride, kept) = (self.row_stride, &self.kept[..]);
        for (group, weights) in weights.chunks_exact_mut(rows_at_once * padded).enumerate() {
            let input = &input[group * rows_at_once * stride..];
            match (rows_at_once, padded / LANES) {
                (5, 1) => gather::<L, LANES, 5, 1>((input, stride), list, kept, weights),
                (5, 2) => gather::<L::Block, BLOCK, 5, 1>((input, stride), list, kept, weights),
                (5, 10) => gather::<L::Block, BLOCK, 5, 5>((input, stride), list, kept, weights),
                (3, 1) => gather::<L, LANES, 3, 1>((input, stride), list, kept, weights),
                (3, 2) => gather::<L::Block, BLOCK, 3, 1>((input, stride), list, kept, weights),
                _ => gather_row::<L>(input, list, kept, weights),
            }
        }
    }

    /// Adds slope · weights to the slopes of the input under the kernel.
    #[inline(always)]
    fn input_slopes<L: Lanes>(&self, packed: &[f32], list: &[Entry], back: &mut [f32]) {
        let (padded, stride) = (self.padded_row(), self.row_stride);
        // Entries that follow each other touch the same slopes. All rows of one before the next: then it need
        // not wait for what was just written.
        match (self.kernel, padded / LANES) {
            (5, 10) => return scatter::<L::Block, BLOCK, 5, 5>(packed, list, stride, back),
            (3, 6) => return scatter::<L::Block, BLOCK, 3, 3>(packed, list, stride, back),
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
                    10 => scatter::<L::Block, BLOCK, 1, 5>(now, list, 0, back),
                    6 => scatter::<L::Block, BLOCK, 1, 3>(now, list, 0, back),
                    4 => scatter::<L::Block, BLOCK, 1, 2>(now, list, 0, back),
                    2 => scatter::<L::Block, BLOCK, 1, 1>(now, list, 0, back),
                    _ => scatter::<L, LANES, 1, 1>(now, list, 0, back),
                }
                back = &mut back[now.len()..];
                weights = later;
            }
        }
    }
}

/// The vector that begins at a place.
#[inline(always)]
fn lanes_at<L: Lanes>(values: &[f32], at: usize) -> L {
    L::load(&values[at..at + LANES].as_chunks().0[0])
}

/// Σ slope · input for R rows of V vectors of N values, where `kept` is above 0.
#[inline(always)]
fn gather<L: Vector<N>, const N: usize, const R: usize, const V: usize>(
    (input, stride): (&[f32], usize),
    list: &[Entry],
    kept: &[f32],
    out: &mut [f32],
) {
    // Rows of equal length: one check of a place holds for all of them.
    let len = input.len() - (R - 1) * stride;
    let mut rows = [input; R];
    for r in 0..R {
        rows[r] = &input[r * stride..][..len];
    }
    let mut sums = [[L::splat(0.0); V]; R];
    for &entry in list {
        let (place, slope) = parts(entry);
        let slope = L::splat(slope);
        for r in 0..R {
            let values = &rows[r][place..place + V * N].as_chunks::<N>().0[..V];
            for v in 0..V {
                sums[r][v] = slope.multiply_add(L::load(&values[v]), sums[r][v]);
            }
        }
    }
    let (zero, kept) = (L::splat(0.0), L::load(&kept.as_chunks::<N>().0[V - 1]));
    for (out, sums) in out.as_chunks_mut::<N>().0.chunks_exact_mut(V).zip(&mut sums) {
        // Beyond the kernel row, in its last vector, lies input that belongs to no weight.
        sums[V - 1] = zero.larger(kept, (zero, sums[V - 1])).1;
        for v in 0..V {
            sums[v].store(&mut out[v]);
        }
    }
}

/// Σ slope · input for one row of any length.
#[inline(always)]
fn gather_row<L: Lanes>(mut input: &[f32], list: &[Entry], mut kept: &[f32], mut out: &mut [f32]) {
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
            10 => gather::<L::Block, BLOCK, 1, 5>((input, 0), list, kept, now),
            6 => gather::<L::Block, BLOCK, 1, 3>((input, 0), list, kept, now),
            4 => gather::<L::Block, BLOCK, 1, 2>((input, 0), list, kept, now),
            2 => gather::<L::Block, BLOCK, 1, 1>((input, 0), list, kept, now),
            _ => gather::<L, LANES, 1, 1>((input, 0), list, kept, now),
        }
        input = &input[vectors * LANES..];
        kept = &kept[vectors * LANES..];
        out = later;
    }
}

/// Adds slope · weights at each place, for R rows of V vectors of N values.
#[inline(always)]
fn scatter<L: Vector<N>, const N: usize, const R: usize, const V: usize>(
    weights: &[f32],
    list: &[Entry],
    stride: usize,
    back: &mut [f32],
) {
    let weights = &weights.as_chunks::<N>().0[..R * V];
    let mut held = [[L::splat(0.0); V]; R];
    for r in 0..R {
        for v in 0..V {
            held[r][v] = L::load(&weights[r * V + v]);
        }
    }
    for &entry in list {
        let (place, slope) = parts(entry);
        let (back, slope) = (&mut back[place..], L::splat(slope));
        for r in 0..R {
            let values = &mut back[r * stride..][..V * N].as_chunks_mut::<N>().0[..V];
            for v in 0..V {
                slope.multiply_add(held[r][v], L::load(&values[v])).store(&mut values[v]);
            }
        }
    }
}
