//! Convolutions backward, from lists of the slopes that are not zero.
//!
//! Behind max-pool and relu most slopes are zero; only the others are visited. One list for each output
//! channel says where in the input a slope acts. The same code serves convolutions with all slopes alive.

use super::arithmetic::{Arithmetic, LANES};
use super::packed::PackedStep;
use super::plan::Convolution;

/// Where a convolution's slopes come from.
#[derive(Clone, Copy)]
pub(super) struct Slopes<'a> {
    /// By position and channel.
    pub(super) slopes: &'a [f32],
    /// The same for where they act, when pooled.
    pub(super) winners: &'a [i32],
}

impl Convolution {
    /// Writes the gradient of the weights and biases, and adds the slopes in the input to `back` if given.
    #[inline(always)]
    pub(super) fn backward<A: Arithmetic>(
        &self,
        packed: &PackedStep,
        (input, from): (&[f32], Slopes<'_>),
        list: &mut [(u32, f32)],
        gradient: &mut [f32],
        mut back: Option<&mut [f32]>,
    ) {
        let (weights, biases) = gradient.split_at_mut(self.weights().len());
        let channels = weights.chunks_exact_mut(self.channel_len()).zip(biases);
        let packed = packed.backward.chunks_exact(self.channel_len());
        for (channel, ((weights, bias), packed)) in channels.zip(packed).enumerate() {
            let count = self.collect(channel, from, list);
            let list = &list[..count];
            *bias = list.iter().map(|&(_, slope)| slope).sum();
            self.weight_gradient::<A>(input, list, weights);
            if let Some(back) = back.as_deref_mut() {
                self.input_slopes::<A>(packed, list, back);
            }
        }
    }

    /// Lists a channel's slopes that act somewhere; says how many.
    #[inline(always)]
    fn collect(&self, channel: usize, from: Slopes<'_>, list: &mut [(u32, f32)]) -> usize {
        let mut count = 0;
        let slopes = from.slopes.iter().skip(channel).step_by(self.channels);
        let mut put = |place: u32, slope: f32, alive: bool| {
            // Written always and kept if alive: a branch would be foretold badly.
            if let Some(entry) = list.get_mut(count) {
                *entry = (place, slope);
                count += usize::from(alive);
            }
        };
        if self.pooled.is_some() {
            let winners = from.winners.iter().skip(channel).step_by(self.channels);
            for (&winner, &slope) in winners.zip(slopes) {
                put(winner.cast_unsigned(), slope, winner >= 0);
            }
        } else {
            for (&base, &slope) in self.bases.iter().zip(slopes) {
                put(u32::try_from(base).unwrap_or(u32::MAX), slope, slope != 0.0);
            }
        }
        count
    }

    /// The gradient of one channel's weights: Σ slope · (input under the kernel).
    #[inline(always)]
    fn weight_gradient<A: Arithmetic>(
        &self,
        input: &[f32],
        list: &[(u32, f32)],
        weights: &mut [f32],
    ) {
        let padded = self.padded_row();
        // Short rows are taken several at a time, so that enough sums are under way at once.
        let rows_at_once = match (padded / LANES, self.kernel) {
            (1 | 2, 5) => 5,
            (1 | 2, 3) => 3,
            _ => 1,
        };
        for (group, weights) in weights.chunks_exact_mut(rows_at_once * padded).enumerate() {
            let input = &input[group * rows_at_once * self.row_stride..];
            let stride = self.row_stride;
            match (rows_at_once, padded / LANES) {
                (5, 1) => gather::<A, 5, 1>(input, list, stride, weights),
                (5, 2) => gather::<A, 5, 2>(input, list, stride, weights),
                (3, 1) => gather::<A, 3, 1>(input, list, stride, weights),
                (3, 2) => gather::<A, 3, 2>(input, list, stride, weights),
                _ => gather_row::<A>(input, list, weights),
            }
            for row in weights.chunks_exact_mut(padded) {
                // Beyond the kernel row lies input that belongs to no weight.
                row[self.row..].fill(0.0);
            }
        }
    }

    /// Adds slope · weights to the slopes of the input under the kernel.
    #[inline(always)]
    fn input_slopes<A: Arithmetic>(&self, packed: &[f32], list: &[(u32, f32)], back: &mut [f32]) {
        for (kernel_row, weights) in packed.chunks_exact(self.padded_row()).enumerate() {
            let mut back = &mut back[kernel_row * self.row_stride..];
            let (tens, mut rest) = weights.as_chunks::<{ 10 * LANES }>();
            for weights in tens {
                scatter::<A, 10>(weights, list, back);
                back = &mut back[10 * LANES..];
            }
            while !rest.is_empty() {
                let width = match rest.len() / LANES {
                    6.. => scatter_some::<A, 6>(&mut rest, list, back),
                    4.. => scatter_some::<A, 4>(&mut rest, list, back),
                    2.. => scatter_some::<A, 2>(&mut rest, list, back),
                    _ => scatter_some::<A, 1>(&mut rest, list, back),
                };
                back = &mut back[width..];
            }
        }
    }
}

/// Σ slope · input for R rows of V vectors.
#[inline(always)]
fn gather<A: Arithmetic, const R: usize, const V: usize>(
    input: &[f32],
    list: &[(u32, f32)],
    stride: usize,
    out: &mut [f32],
) {
    let mut sums = [[[0.0_f32; LANES]; V]; R];
    for &(place, slope) in list {
        let window = &input[place as usize..];
        for r in 0..R {
            let values = &window[r * stride..][..V * LANES].as_chunks::<LANES>().0[..V];
            for v in 0..V {
                for lane in 0..LANES {
                    sums[r][v][lane] = A::multiply_add(slope, values[v][lane], sums[r][v][lane]);
                }
            }
        }
    }
    for (out, sums) in out.as_chunks_mut::<LANES>().0.iter_mut().zip(sums.as_flattened()) {
        *out = *sums;
    }
}

/// Σ slope · input for one row of any length.
#[inline(always)]
fn gather_row<A: Arithmetic>(mut input: &[f32], list: &[(u32, f32)], mut out: &mut [f32]) {
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
            10 => gather::<A, 1, 10>(input, list, 0, now),
            6 => gather::<A, 1, 6>(input, list, 0, now),
            4 => gather::<A, 1, 4>(input, list, 0, now),
            2 => gather::<A, 1, 2>(input, list, 0, now),
            _ => gather::<A, 1, 1>(input, list, 0, now),
        }
        input = &input[vectors * LANES..];
        out = later;
    }
}

/// Adds slope · weights at each place, for V vectors; takes them off `weights` and says how many values.
#[inline(always)]
fn scatter_some<A: Arithmetic, const V: usize>(
    weights: &mut &[f32],
    list: &[(u32, f32)],
    back: &mut [f32],
) -> usize {
    let (now, later) = weights.split_at(V * LANES);
    scatter::<A, V>(now, list, back);
    *weights = later;
    V * LANES
}

/// Adds slope · weights at each place, for V vectors.
#[inline(always)]
fn scatter<A: Arithmetic, const V: usize>(weights: &[f32], list: &[(u32, f32)], back: &mut [f32]) {
    let mut held = [[0.0_f32; LANES]; V];
    held.copy_from_slice(weights.as_chunks::<LANES>().0);
    for &(place, slope) in list {
        let values = &mut back[place as usize..][..V * LANES].as_chunks_mut::<LANES>().0[..V];
        for v in 0..V {
            for lane in 0..LANES {
                values[v][lane] = A::multiply_add(slope, held[v][lane], values[v][lane]);
            }
        }
    }
}
