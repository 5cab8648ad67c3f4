//! Convolutions backward, from lists of the slopes that are not zero.
//!
//! Behind max-pool and relu most slopes are zero; only the others are visited. One list for each output
//! channel says where in the input a slope acts. The same code serves convolutions with all slopes alive.

use super::lanes::{BLOCK, LANES, Lanes, Vector};
use super::packed::PackedStep;
use super::plan::Convolution;

/// Where a convolution's slopes come from.
#[derive(Clone, Copy)]
pub(super) struct Slopes<'a> {
    /// By position and channel, with room for a group of channels at the end.
    pub(super) slopes: &'a [f32],
    /// The same for where they act, when pooled.
    pub(super) winners: &'a [i32],
}

/// Output channels whose slopes are listed together: their lists stay in the first-level cache.
pub(super) const GROUP: usize = 8;

/// Where in the input a slope acts, and the slope.
pub(super) type Entry = (u32, f32);

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
        let weights = weights.chunks_mut(GROUP * self.channel_len());
        let packed = packed.backward.chunks(GROUP * self.channel_len());
        let groups = weights.zip(biases.chunks_mut(GROUP)).zip(packed);
        for (group, ((weights, biases), packed)) in groups.enumerate() {
            let counts = self.collect(group * GROUP, from, entries);
            let channels = weights.chunks_exact_mut(self.channel_len()).zip(biases);
            let packed = packed.chunks_exact(self.channel_len());
            let lists = entries.chunks_exact(self.positions()).zip(counts);
            for (((weights, bias), packed), (list, count)) in channels.zip(packed).zip(lists) {
                let list = &list[..count];
                *bias = sum_of_slopes(list);
                self.weight_gradient::<L>(input, list, weights);
                if let Some(back) = back.as_deref_mut() {
                    self.input_slopes::<L>(packed, list, back);
                }
            }
        }
    }

    /// Lists the slopes that act somewhere, for a group of channels; says how many each has.
    ///
    /// Beyond the last channel the values of the next pixel are taken for channels; nobody reads those lists.
    #[inline(always)]
    fn collect(&self, first: usize, from: Slopes<'_>, entries: &mut [Entry]) -> [usize; GROUP] {
        let (mut counts, room) = ([0; GROUP], self.positions());
        let entries = &mut entries[..GROUP * room];
        // Entries are always written and kept if alive: a branch would be foretold badly.
        for position in 0..room {
            let at = position * self.channels + first;
            let slopes = &from.slopes[at..at + GROUP];
            if self.pooled.is_some() {
                let winners = &from.winners[at..at + GROUP];
                for lane in 0..GROUP {
                    entries[lane * room + counts[lane]] =
                        (winners[lane].cast_unsigned(), slopes[lane]);
                    counts[lane] += usize::from(winners[lane] >= 0);
                }
            } else {
                let base = self.bases[position];
                for lane in 0..GROUP {
                    entries[lane * room + counts[lane]] = (base, slopes[lane]);
                    counts[lane] += usize::from(slopes[lane].to_bits() << 1 != 0);
                }
            }
        }
        counts
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
        for (group, weights) in weights.chunks_exact_mut(rows_at_once * padded).enumerate() {
            let input = &input[group * rows_at_once * self.row_stride..];
            let stride = self.row_stride;
            match (rows_at_once, padded / LANES) {
                (5, 1) => gather::<L, LANES, 5, 1>(input, list, stride, weights),
                (5, 2) => gather::<L::Block, BLOCK, 5, 1>(input, list, stride, weights),
                (5, 10) => gather::<L::Block, BLOCK, 5, 5>(input, list, stride, weights),
                (3, 1) => gather::<L, LANES, 3, 1>(input, list, stride, weights),
                (3, 2) => gather::<L::Block, BLOCK, 3, 1>(input, list, stride, weights),
                _ => gather_row::<L>(input, list, weights),
            }
            for row in weights.chunks_exact_mut(padded) {
                // Beyond the kernel row lies input that belongs to no weight.
                row[self.row..].fill(0.0);
            }
        }
    }

    /// Adds slope · weights to the slopes of the input under the kernel.
    #[inline(always)]
    fn input_slopes<L: Lanes>(&self, packed: &[f32], list: &[Entry], back: &mut [f32]) {
        for (kernel_row, weights) in packed.chunks_exact(self.padded_row()).enumerate() {
            let mut back = &mut back[kernel_row * self.row_stride..];
            let mut rest = weights;
            while !rest.is_empty() {
                let width = match rest.len() / LANES {
                    10.. => scatter_some::<L::Block, BLOCK, 5>(&mut rest, list, back),
                    6.. => scatter_some::<L::Block, BLOCK, 3>(&mut rest, list, back),
                    4.. => scatter_some::<L::Block, BLOCK, 2>(&mut rest, list, back),
                    2.. => scatter_some::<L::Block, BLOCK, 1>(&mut rest, list, back),
                    _ => scatter_some::<L, LANES, 1>(&mut rest, list, back),
                };
                back = &mut back[width..];
            }
        }
    }
}

/// The sum of a list's slopes, in four parts so that additions need not wait for each other.
#[inline(always)]
fn sum_of_slopes(list: &[Entry]) -> f32 {
    let (fours, rest) = list.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for four in fours {
        for part in 0..4 {
            sums[part] += four[part].1;
        }
    }
    let rest: f32 = rest.iter().map(|&(_, slope)| slope).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// Σ slope · input for R rows of V vectors of N values.
#[inline(always)]
fn gather<L: Vector<N>, const N: usize, const R: usize, const V: usize>(
    input: &[f32],
    list: &[Entry],
    stride: usize,
    out: &mut [f32],
) {
    // Rows of equal length: one check of a place holds for all of them.
    let len = input.len() - (R - 1) * stride;
    let mut rows = [input; R];
    for r in 0..R {
        rows[r] = &input[r * stride..][..len];
    }
    let mut sums = [[L::splat(0.0); V]; R];
    for &(place, slope) in list {
        let (place, slope) = (place as usize, L::splat(slope));
        for r in 0..R {
            let values = &rows[r][place..place + V * N].as_chunks::<N>().0[..V];
            for v in 0..V {
                sums[r][v] = slope.multiply_add(L::load(&values[v]), sums[r][v]);
            }
        }
    }
    for (out, sums) in out.as_chunks_mut::<N>().0.iter_mut().zip(sums.as_flattened()) {
        sums.store(out);
    }
}

/// Σ slope · input for one row of any length.
#[inline(always)]
fn gather_row<L: Lanes>(mut input: &[f32], list: &[Entry], mut out: &mut [f32]) {
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
            10 => gather::<L::Block, BLOCK, 1, 5>(input, list, 0, now),
            6 => gather::<L::Block, BLOCK, 1, 3>(input, list, 0, now),
            4 => gather::<L::Block, BLOCK, 1, 2>(input, list, 0, now),
            2 => gather::<L::Block, BLOCK, 1, 1>(input, list, 0, now),
            _ => gather::<L, LANES, 1, 1>(input, list, 0, now),
        }
        input = &input[vectors * LANES..];
        out = later;
    }
}

/// Adds slope · weights at each place, for V vectors; takes them off `weights` and says how many values.
#[inline(always)]
fn scatter_some<L: Vector<N>, const N: usize, const V: usize>(
    weights: &mut &[f32],
    list: &[Entry],
    back: &mut [f32],
) -> usize {
    let (now, later) = weights.split_at(V * N);
    scatter::<L, N, V>(now, list, back);
    *weights = later;
    V * N
}

/// Adds slope · weights at each place, for V vectors of N values.
#[inline(always)]
fn scatter<L: Vector<N>, const N: usize, const V: usize>(
    weights: &[f32],
    list: &[Entry],
    back: &mut [f32],
) {
    let weights = &weights.as_chunks::<N>().0[..V];
    let mut held = [L::splat(0.0); V];
    for v in 0..V {
        held[v] = L::load(&weights[v]);
    }
    for &(place, slope) in list {
        let values = &mut back[place as usize..][..V * N].as_chunks_mut::<N>().0[..V];
        let slope = L::splat(slope);
        for v in 0..V {
            slope.multiply_add(held[v], L::load(&values[v])).store(&mut values[v]);
        }
    }
}
