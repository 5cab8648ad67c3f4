//! Convolutions forward, and with relu and 2×2 max-pooling in one go.

use super::arithmetic::Arithmetic;
use super::packed::PackedStep;
use super::plan::{BLOCK, Convolution};

/// Pixels computed together: with two vectors of channels each, twelve running sums fit into sixteen
/// registers, beside the weights and one value of the input.
const TILE: usize = 6;

/// One block's weights, by kernel row and place in the row, and biases.
#[derive(Clone, Copy)]
struct BlockOf<'a> {
    weights: &'a [[f32; BLOCK]],
    biases: &'a [f32; BLOCK],
}

impl Convolution {
    /// The convolution without anything after it.
    #[inline(always)]
    pub(super) fn forward<A: Arithmetic>(
        &self,
        packed: &PackedStep,
        input: &[f32],
        output: &mut [f32],
    ) {
        for block in 0..self.blocks() {
            let of = self.block_of(packed, block);
            let (first, count) = self.channels_of(block);
            let mut pixel = 0;
            self.pixels::<A>(of, input, &self.bases, |sums| {
                let start = pixel * self.channels + first;
                output[start..start + count].copy_from_slice(&sums[..count]);
                pixel += 1;
            });
        }
    }

    /// The convolution, relu and 2×2 max-pool; `winners` gets where in the input each maximum began, or −1
    /// where relu cut it off.
    #[inline(always)]
    pub(super) fn forward_pooled<A: Arithmetic>(
        &self,
        packed: &PackedStep,
        input: &[f32],
        band: &mut [[f32; BLOCK]],
        (output, winners): (&mut [f32], &mut [i32]),
    ) {
        let Some((_, columns)) = self.pooled else { return };
        let band = &mut band[..4 * columns];
        for block in 0..self.blocks() {
            let of = self.block_of(packed, block);
            let (first, count) = self.channels_of(block);
            for (row, bases) in self.bases.chunks_exact(4 * columns).enumerate() {
                let mut slots = band.iter_mut();
                self.pixels::<A>(of, input, bases, |sums| {
                    if let Some(slot) = slots.next() {
                        *slot = *sums;
                    }
                });
                let (upper, lower) = band.split_at(2 * columns);
                let (upper_bases, lower_bases) = bases.split_at(2 * columns);
                let pairs = upper.as_chunks().0.iter().zip(lower.as_chunks().0);
                let bases = upper_bases.as_chunks().0.iter().zip(lower_bases.as_chunks().0);
                for (column, (values, bases)) in pairs.zip(bases).enumerate() {
                    let (maxima, places) = pool(values, bases);
                    let start = (row * columns + column) * self.channels + first;
                    output[start..start + count].copy_from_slice(&maxima[..count]);
                    winners[start..start + count].copy_from_slice(&places[..count]);
                }
            }
        }
    }

    #[inline(always)]
    fn block_of<'a>(&self, packed: &'a PackedStep, block: usize) -> BlockOf<'a> {
        let rows = self.kernel * self.row;
        let weights = &packed.forward.as_chunks::<BLOCK>().0[block * rows..(block + 1) * rows];
        BlockOf { weights, biases: &packed.biases.as_chunks::<BLOCK>().0[block] }
    }

    /// The first channel of a block and how many it has.
    #[inline(always)]
    fn channels_of(&self, block: usize) -> (usize, usize) {
        let first = block * BLOCK;
        (first, (self.channels - first).min(BLOCK))
    }

    /// Calls `emit` with the sums of each pixel, in order.
    #[inline(always)]
    fn pixels<A: Arithmetic>(
        &self,
        of: BlockOf<'_>,
        input: &[f32],
        bases: &[usize],
        mut emit: impl FnMut(&[f32; BLOCK]),
    ) {
        let (tiles, rest) = bases.as_chunks::<TILE>();
        for tile in tiles {
            self.tile::<A, TILE>(of, input, tile).iter().for_each(&mut emit);
        }
        let (fours, rest) = rest.as_chunks::<4>();
        for tile in fours {
            self.tile::<A, 4>(of, input, tile).iter().for_each(&mut emit);
        }
        for tile in rest.as_chunks::<1>().0 {
            self.tile::<A, 1>(of, input, tile).iter().for_each(&mut emit);
        }
    }

    /// The sums of T pixels.
    #[inline(always)]
    fn tile<A: Arithmetic, const T: usize>(
        &self,
        of: BlockOf<'_>,
        input: &[f32],
        bases: &[usize; T],
    ) -> [[f32; BLOCK]; T] {
        let mut sums = [*of.biases; T];
        for (kernel_row, weights) in of.weights.chunks_exact(self.row).enumerate() {
            let start = kernel_row * self.row_stride;
            let rows: [&[f32]; T] =
                std::array::from_fn(|t| &input[bases[t] + start..][..weights.len()]);
            for (place, weights) in weights.iter().enumerate() {
                for t in 0..T {
                    let value = rows[t][place];
                    for lane in 0..BLOCK {
                        sums[t][lane] = A::multiply_add(value, weights[lane], sums[t][lane]);
                    }
                }
            }
        }
        sums
    }
}

/// The largest of four pixels and above 0, by channel, and where it began.
#[inline(always)]
fn pool(
    (upper, lower): (&[[f32; BLOCK]; 2], &[[f32; BLOCK]; 2]),
    (upper_bases, lower_bases): (&[usize; 2], &[usize; 2]),
) -> ([f32; BLOCK], [i32; BLOCK]) {
    let place = |base: usize| i32::try_from(base).unwrap_or(-1);
    let others = [(&upper[1], place(upper_bases[1])), (&lower[0], place(lower_bases[0]))];
    let last = (&lower[1], place(lower_bases[1]));
    let (mut maxima, mut places) = (upper[0], [place(upper_bases[0]); BLOCK]);
    for (values, base) in others.into_iter().chain([last]) {
        for lane in 0..BLOCK {
            let larger = values[lane] > maxima[lane];
            maxima[lane] = if larger { values[lane] } else { maxima[lane] };
            places[lane] = if larger { base } else { places[lane] };
        }
    }
    for lane in 0..BLOCK {
        let alive = maxima[lane] > 0.0;
        maxima[lane] = if alive { maxima[lane] } else { 0.0 };
        places[lane] = if alive { places[lane] } else { -1 };
    }
    (maxima, places)
}
