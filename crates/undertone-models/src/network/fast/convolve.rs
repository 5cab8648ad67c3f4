//! Convolutions forward, and with relu and 2×2 max-pooling in one go.

use super::lanes::{LANES, Lanes};
use super::packed::PackedStep;
use super::plan::{BLOCK, Convolution};

/// Pixels computed together: with two vectors of channels each, twelve running sums fit into sixteen
/// registers, beside the weights and one value of the input.
const TILE: usize = 6;

/// A row whose length is not known in advance.
const ANY: usize = 0;

/// The values of a block of channels.
type Pair = [[f32; LANES]; 2];

/// One block's weights, by kernel row and place in the row, and biases.
#[derive(Clone, Copy)]
struct BlockOf<'a> {
    weights: &'a [Pair],
    biases: &'a Pair,
}

impl Convolution {
    /// The convolution without anything after it.
    #[inline(always)]
    pub(super) fn forward<L: Lanes>(&self, packed: &PackedStep, input: &[f32], output: &mut [f32]) {
        for block in 0..self.blocks() {
            let of = self.block_of(packed, block);
            let (first, count) = self.channels_of(block);
            let mut pixel = 0;
            self.pixels::<L>(of, input, &self.bases, |sums| {
                let start = pixel * self.channels + first;
                put(sums.as_flattened(), &mut output[start..start + count]);
                pixel += 1;
            });
        }
    }

    /// The convolution, relu and 2×2 max-pool; `winners` gets where in the input each maximum began, or −1
    /// where relu cut it off.
    #[inline(always)]
    pub(super) fn forward_pooled<L: Lanes>(
        &self,
        packed: &PackedStep,
        input: &[f32],
        band: &mut [Pair],
        (output, winners): (&mut [f32], &mut [i32]),
    ) {
        let Some((_, columns)) = self.pooled else { return };
        let band = &mut band[..4 * columns];
        for block in 0..self.blocks() {
            let of = self.block_of(packed, block);
            let (first, count) = self.channels_of(block);
            for (row, bases) in self.bases.chunks_exact(4 * columns).enumerate() {
                let mut slots = band.iter_mut();
                self.pixels::<L>(of, input, bases, |sums| {
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
                    put(&maxima, &mut output[start..start + count]);
                    put(&places, &mut winners[start..start + count]);
                }
            }
        }
    }

    #[inline(always)]
    fn block_of<'a>(&self, packed: &'a PackedStep, block: usize) -> BlockOf<'a> {
        let rows = self.kernel * self.row;
        let weights = &pairs(&packed.forward)[block * rows..(block + 1) * rows];
        BlockOf { weights, biases: &pairs(&packed.biases)[block] }
    }

    /// The first channel of a block and how many it has.
    #[inline(always)]
    fn channels_of(&self, block: usize) -> (usize, usize) {
        let first = block * BLOCK;
        (first, (self.channels - first).min(BLOCK))
    }

    /// Calls `emit` with the sums of each pixel, in order.
    #[inline(always)]
    fn pixels<L: Lanes>(
        &self,
        of: BlockOf<'_>,
        input: &[f32],
        bases: &[u32],
        mut emit: impl FnMut(&Pair),
    ) {
        // Short rows of a usual size are unrolled: their loop would cost as much as what it does.
        match self.row {
            5 => self.tiles::<L, 5>(of, input, bases, &mut emit),
            9 => self.tiles::<L, 9>(of, input, bases, &mut emit),
            15 => self.tiles::<L, 15>(of, input, bases, &mut emit),
            _ => self.tiles::<L, ANY>(of, input, bases, &mut emit),
        }
    }

    /// The same for rows of a length that is known in advance, or [`ANY`].
    #[inline(always)]
    fn tiles<L: Lanes, const ROW: usize>(
        &self,
        of: BlockOf<'_>,
        input: &[f32],
        bases: &[u32],
        emit: &mut impl FnMut(&Pair),
    ) {
        let (tiles, rest) = bases.as_chunks::<TILE>();
        for tile in tiles {
            self.tile::<L, ROW, TILE>(of, input, tile, emit);
        }
        let (fours, rest) = rest.as_chunks::<4>();
        for tile in fours {
            self.tile::<L, ROW, 4>(of, input, tile, emit);
        }
        for tile in rest.as_chunks::<1>().0 {
            self.tile::<L, ROW, 1>(of, input, tile, emit);
        }
    }

    /// The sums of T pixels, handed to `emit`.
    #[inline(always)]
    fn tile<L: Lanes, const ROW: usize, const T: usize>(
        &self,
        of: BlockOf<'_>,
        input: &[f32],
        bases: &[u32; T],
        emit: &mut impl FnMut(&Pair),
    ) {
        let mut sums = [[L::load(&of.biases[0]), L::load(&of.biases[1])]; T];
        let row = if ROW == ANY { self.row } else { ROW };
        for (kernel_row, weights) in of.weights.chunks_exact(row).enumerate() {
            let start = kernel_row * self.row_stride;
            let weights = &weights[..row];
            let mut rows = [&input[..0]; T];
            for t in 0..T {
                rows[t] = &input[bases[t] as usize + start..][..row];
            }
            for (place, weights) in weights.iter().enumerate() {
                let (first, second) = (L::load(&weights[0]), L::load(&weights[1]));
                for t in 0..T {
                    let value = L::splat(rows[t][place]);
                    sums[t][0] = value.multiply_add(first, sums[t][0]);
                    sums[t][1] = value.multiply_add(second, sums[t][1]);
                }
            }
        }
        for [first, second] in sums {
            let mut values = [[0.0; LANES]; 2];
            first.store(&mut values[0]);
            second.store(&mut values[1]);
            emit(&values);
        }
    }
}

/// Copies as much of a block as there is room for; a whole block without a call.
#[inline(always)]
fn put<T: Copy>(from: &[T], to: &mut [T]) {
    match (from.first_chunk::<BLOCK>(), to.first_chunk_mut::<BLOCK>()) {
        (Some(from), Some(to)) => *to = *from,
        _ => to.copy_from_slice(&from[..to.len()]),
    }
}

#[inline(always)]
fn pairs(values: &[f32]) -> &[Pair] {
    values.as_chunks::<LANES>().0.as_chunks::<2>().0
}

/// The largest of four pixels and above 0, by channel, and where it began.
#[inline(always)]
fn pool(
    (upper, lower): (&[Pair; 2], &[Pair; 2]),
    (upper_bases, lower_bases): (&[u32; 2], &[u32; 2]),
) -> ([f32; BLOCK], [i32; BLOCK]) {
    let others =
        [(&upper[1], upper_bases[1]), (&lower[0], lower_bases[0]), (&lower[1], lower_bases[1])];
    let (mut maxima, mut places) = ([0.0; BLOCK], [upper_bases[0].cast_signed(); BLOCK]);
    maxima.copy_from_slice(upper[0].as_flattened());
    for (values, base) in others {
        let (values, base) = (values.as_flattened(), base.cast_signed());
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
