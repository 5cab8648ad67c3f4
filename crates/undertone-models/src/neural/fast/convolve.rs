//! Convolutions forward without pooling; [`super::pooled`] fuses relu and max-pooling.

use super::BLOCK;
use super::packed::PackedStep;
use super::steps::Convolution;
use undertone_simd::{F32Vector, Simd, Vector};

/// A kernel row whose length is not a compile-time constant.
const ANY: usize = 0;

/// The values of a block of channels.
pub(super) type Channels = [f32; BLOCK];

/// The weights of one block of channels, by kernel row and index in the row, and its biases.
#[derive(Clone, Copy)]
pub(super) struct BlockWeights<'a> {
    pub(super) weights: &'a [Channels],
    pub(super) biases: &'a Channels,
}

impl Convolution {
    /// Writes the output of the convolution.
    #[inline(always)]
    pub(super) fn forward<S: Simd>(&self, packed: &PackedStep, input: &[f32], output: &mut [f32]) {
        for block in 0..self.blocks() {
            let weights = self.block_weights(packed, block);
            let (first, count) = self.block_channels(block);
            let mut pixel = 0;
            self.pixels::<S>(weights, input, &self.bases, |sums| {
                let start = pixel * self.channels + first;
                copy_block(sums, &mut output[start..start + count]);
                pixel += 1;
            });
        }
    }

    #[inline(always)]
    pub(super) fn block_weights<'a>(
        &self,
        packed: &'a PackedStep,
        block: usize,
    ) -> BlockWeights<'a> {
        let rows = self.kernel * self.row;
        let weights = &packed.forward.as_chunks().0[block * rows..(block + 1) * rows];
        BlockWeights { weights, biases: &packed.biases.as_chunks().0[block] }
    }

    /// The first channel of a block and its number of channels.
    #[inline(always)]
    pub(super) fn block_channels(&self, block: usize) -> (usize, usize) {
        let first = block * BLOCK;
        (first, (self.channels - first).min(BLOCK))
    }

    /// Calls `emit` with the sums of each pixel, in order.
    #[inline(always)]
    fn pixels<S: Simd>(
        &self,
        block: BlockWeights<'_>,
        input: &[f32],
        bases: &[u32],
        mut emit: impl FnMut(&Channels),
    ) {
        // Common short rows are unrolled, because loop overhead would equal the work.
        match self.row {
            5 => self.tiles::<S, 5>(block, input, bases, &mut emit),
            9 => self.tiles::<S, 9>(block, input, bases, &mut emit),
            15 => self.tiles::<S, 15>(block, input, bases, &mut emit),
            _ => self.tiles::<S, ANY>(block, input, bases, &mut emit),
        }
    }

    /// The same for rows of the constant length ROW, or [`ANY`].
    #[inline(always)]
    fn tiles<S: Simd, const ROW: usize>(
        &self,
        block: BlockWeights<'_>,
        input: &[f32],
        bases: &[u32],
        emit: &mut impl FnMut(&Channels),
    ) {
        // As many pixels as registers allow: each needs a running sum besides the weights.
        let mut rest = bases;
        if S::MANY_REGISTERS {
            rest = self.tiles_of::<S, ROW, 16>(block, input, rest, emit);
            rest = self.tiles_of::<S, ROW, 8>(block, input, rest, emit);
        } else {
            rest = self.tiles_of::<S, ROW, 6>(block, input, rest, emit);
        }
        rest = self.tiles_of::<S, ROW, 4>(block, input, rest, emit);
        self.tiles_of::<S, ROW, 1>(block, input, rest, emit);
    }

    /// Computes all whole tiles of T pixels; returns the remaining pixels.
    #[inline(always)]
    fn tiles_of<'a, S: Simd, const ROW: usize, const T: usize>(
        &self,
        block: BlockWeights<'_>,
        input: &[f32],
        bases: &'a [u32],
        emit: &mut impl FnMut(&Channels),
    ) -> &'a [u32] {
        let (tiles, rest) = bases.as_chunks::<T>();
        for tile in tiles {
            self.tile::<S, ROW, T>(block, input, tile, emit);
        }
        rest
    }

    /// Calls `emit` with the sums of T pixels.
    #[inline(always)]
    fn tile<S: Simd, const ROW: usize, const T: usize>(
        &self,
        block: BlockWeights<'_>,
        input: &[f32],
        bases: &[u32; T],
        emit: &mut impl FnMut(&Channels),
    ) {
        let mut sums = [S::F32x16::load(block.biases); T];
        let row = if ROW == ANY { self.row } else { ROW };
        for (kernel_row, weights) in block.weights.chunks_exact(row).enumerate() {
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

/// Copies the first `to.len()` values of a block; a whole block without a call to memcpy.
#[inline(always)]
pub(super) fn copy_block<T: Copy>(from: &[T], to: &mut [T]) {
    match (from.first_chunk::<BLOCK>(), to.first_chunk_mut::<BLOCK>()) {
        (Some(from), Some(to)) => *to = *from,
        _ => to.copy_from_slice(&from[..to.len()]),
    }
}
