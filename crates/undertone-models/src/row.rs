//! A borrowed feature vector, dense or sparse, on which losses and memories compute.

use crate::vector::{wide_add_scaled, wide_dot};
use std::fmt;
use undertone_simd::Half;

/// A feature vector after expansion, borrowed from a record or from a history.
#[derive(Clone, Copy)]
pub(crate) enum Row<'a> {
    /// Every coordinate.
    Dense(&'a [f64]),
    /// Every coordinate, of 16 bits.
    Compact(&'a [Half]),
    /// The non-zero coordinates, by increasing index.
    Sparse {
        /// Increasing indices.
        indices: &'a [u32],
        /// One value for each index.
        values: &'a [f64],
    },
}

impl<'a> Row<'a> {
    /// The inner product with a dense vector.
    #[inline]
    pub(crate) fn dot(self, theta: &[f64]) -> f64 {
        match self {
            Row::Dense(values) => wide_dot(values, theta),
            Row::Compact(values) => wide_dot(values, theta),
            Row::Sparse { indices, values } => {
                // Four lanes, for a quarter of the roundings and of the latency.
                let mut sums = [0.0; 4];
                let (index_blocks, value_blocks) =
                    (indices.chunks_exact(4), values.chunks_exact(4));
                let tails = index_blocks.remainder().iter().zip(value_blocks.remainder());
                let tail: f64 = tails.map(|(&i, &value)| value * theta[i as usize]).sum();
                for (index, value) in index_blocks.zip(value_blocks) {
                    for lane in 0..4 {
                        sums[lane] += value[lane] * theta[index[lane] as usize];
                    }
                }
                (sums[0] + sums[1]) + (sums[2] + sums[3]) + tail
            }
        }
    }

    /// Adds `factor` times this vector to `out`.
    #[inline]
    pub(crate) fn add_scaled_to(self, factor: f64, out: &mut [f64]) {
        match self {
            Row::Dense(values) => wide_add_scaled(factor, values, out),
            Row::Compact(values) => wide_add_scaled(factor, values, out),
            Row::Sparse { indices, values } => {
                for (&index, &value) in indices.iter().zip(values) {
                    out[index as usize] += factor * value;
                }
            }
        }
    }

    /// The stored entries, by increasing index.
    pub(crate) fn entries(self) -> impl Iterator<Item = (usize, f64)> + 'a {
        let (indices, values, halves): (Option<&[u32]>, &[f64], &[Half]) = match self {
            Row::Dense(values) => (None, values, &[]),
            Row::Compact(halves) => (None, &[], halves),
            Row::Sparse { indices, values } => (Some(indices), values, &[]),
        };
        let values = values.iter().copied().chain(halves.iter().map(|half| half.to_f64()));
        values.enumerate().map(move |(position, value)| {
            (indices.map_or(position, |indices| indices[position] as usize), value)
        })
    }

    /// The entries that are not zero, by increasing index.
    pub(crate) fn nonzeros(self) -> impl Iterator<Item = (usize, f64)> + 'a {
        self.entries().filter(|&(_, value)| value != 0.0)
    }
}

/// Prints the shape only: features are private.
impl fmt::Debug for Row<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stored = match self {
            Row::Dense(values) | Row::Sparse { values, .. } => values.len(),
            Row::Compact(values) => values.len(),
        };
        write!(formatter, "Row(stored={stored}, <redacted>)")
    }
}
