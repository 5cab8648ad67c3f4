//! Convolutions forward, with nothing after them; [`super::pooled`] has those with relu and max-pooling.

use super::BLOCK;
use super::packed::PackedStep;
use super::steps::Convolution;
use undertone_simd::{F32Vector, Simd, Vector};

/// A row whose length is not known in advance.
const ANY: usize = 0;

/// The values of a block of channels.
pub(super) type Channels = [f32; BLOCK];

/// One block's weights, by kernel row and place in the row, and biases.
#[derive(Clone, Copy)]
pub(super) struct BlockOf<'a> {
    pub(super) weights: &'a [Channels],
    pub(super) biases: &'a Channels,
}

impl Convolution {
    /// The convolution without anything after it.
    #[inline(always)]
    pub(super) fn forward<S: Simd>(&self, packed: &PackedStep, input: &[f32], output: &mut [f32]) {
        for block in 0..self.blocks() {
            let of = self.block_of(packed, block);
            let (first, count) = self.channels_of(block);
            let mut pixel = 0;
            self.pixels::<S>(of, input, &self.bases, |sums| {
                let start = pixel * self.channels + first;
                put(sums, &mut output[start..start + count]);
                pixel += 1;
            });
        }
    }

    #[inline(always)]
    pub(super) fn block_of<'a>(&self, packed: &'a PackedStep, block: usize) -> BlockOf<'a> {
        let rows = self.kernel * self.row;
        let weights = &packed.forward.as_chunks().0[block * rows..(block + 1) * rows];
        BlockOf { weights, biases: &packed.biases.as_chunks().0[block] }
    }

    /// The first channel of a block and how many it has.
    #[inline(always)]
    pub(super) fn channels_of(&self, block: usize) -> (usize, usize) {
        let first = block * BLOCK;
        (first, (self.channels - first).min(BLOCK))
    }

    /// Calls `emit` with the sums of each pixel, in order.
    #[inline(always)]
    fn pixels<S: Simd>(
        &self,
        of: BlockOf<'_>,
        input: &[f32],
        bases: &[u32],
        mut emit: impl FnMut(&Channels),
    ) {
        // Short rows of a usual size are unrolled: their loop would cost as much as what it does.
        match self.row {
            5 => self.tiles::<S, 5>(of, input, bases, &mut emit),
            9 => self.tiles::<S, 9>(of, input, bases, &mut emit),
            15 => self.tiles::<S, 15>(of, input, bases, &mut emit),
            _ => self.tiles::<S, ANY>(of, input, bases, &mut emit),
        }
    }

    /// The same for rows of a length that is known in advance, or [`ANY`].
    #[inline(always)]
    fn tiles<S: Simd, const ROW: usize>(
        &self,
        of: BlockOf<'_>,
        input: &[f32],
        bases: &[u32],
        emit: &mut impl FnMut(&Channels),
    ) {
        // As many pixels as registers allow: each needs a running sum, beside the weights.
        let mut rest = bases;
        if S::MANY_REGISTERS {
            rest = self.tiles_of::<S, ROW, 16>(of, input, rest, emit);
            rest = self.tiles_of::<S, ROW, 8>(of, input, rest, emit);
        } else {
            rest = self.tiles_of::<S, ROW, 6>(of, input, rest, emit);
        }
        rest = self.tiles_of::<S, ROW, 4>(of, input, rest, emit);
        self.tiles_of::<S, ROW, 1>(of, input, rest, emit);
    }

    /// As many tiles of T pixels as there are; gives back the pixels left over.
    #[inline(always)]
    fn tiles_of<'a, S: Simd, const ROW: usize, const T: usize>(
        &self,
        of: BlockOf<'_>,
        input: &[f32],
        bases: &'a [u32],
        emit: &mut impl FnMut(&Channels),
    ) -> &'a [u32] {
        let (tiles, rest) = bases.as_chunks::<T>();
        for tile in tiles {
            self.tile::<S, ROW, T>(of, input, tile, emit);
        }
        rest
    }

    /// The sums of T pixels, handed to `emit`.
    #[inline(always)]
    fn tile<S: Simd, const ROW: usize, const T: usize>(
        &self,
        of: BlockOf<'_>,
        input: &[f32],
        bases: &[u32; T],
        emit: &mut impl FnMut(&Channels),
    ) {
        let mut sums = [S::F32x16::load(of.biases); T];
        let row = if ROW == ANY { self.row } else { ROW };
        for (kernel_row, weights) in of.weights.chunks_exact(row).enumerate() {
            let start = kernel_row * self.row_stride;
            let weights = &weights[..row];
            let mut rows = [&input[..0]; T];
            for t in 0..T {
                rows[t] = &input[bases[t] as usize + start..][..row];
            }
            for (place, weights) in weights.iter().enumerate() {
                let weights = S::F32x16::load(weights);
                for t in 0..T {
                    sums[t] = S::F32x16::splat(rows[t][place]).multiply_add(weights, sums[t]);
                }
            }
        }
        for sum in sums {
            let mut values = [0.0; BLOCK];
            sum.store(&mut values);
            emit(&values);
        }
    }
}

/// Copies as much of a block as there is room for; a whole block without a call.
#[inline(always)]
pub(super) fn put<T: Copy>(from: &[T], to: &mut [T]) {
    match (from.first_chunk::<BLOCK>(), to.first_chunk_mut::<BLOCK>()) {
        (Some(from), Some(to)) => *to = *from,
        _ => to.copy_from_slice(&from[..to.len()]),
    }
}
