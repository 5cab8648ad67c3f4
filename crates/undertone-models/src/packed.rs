//! Symmetric matrices as packed lower triangles: half the memory, one pass for a product.

use crate::row::{Row, dot};
use undertone::persist::{Fields, Persist};

/// A symmetric n×n matrix, stored as its n(n+1)/2 entries on and below the diagonal, row by row.
#[derive(Clone)]
pub(crate) struct PackedSymmetric {
    dimension: usize,
    entries: Box<[f64]>,
}

impl PackedSymmetric {
    /// The zero matrix.
    pub(crate) fn zero(dimension: usize) -> PackedSymmetric {
        let entries = vec![0.0; dimension * (dimension + 1) / 2].into_boxed_slice();
        PackedSymmetric { dimension, entries }
    }

    /// Sets every entry to zero.
    pub(crate) fn clear(&mut self) {
        self.entries.fill(0.0);
    }

    /// Adds `weight`·aaᵀ for a row a. A sparse row touches only its own pairs.
    #[inline]
    pub(crate) fn add_outer(&mut self, weight: f64, row: Row<'_>) {
        match row {
            Row::Dense(values) => {
                let mut start = 0;
                for (i, &value) in values.iter().enumerate() {
                    let factor = weight * value;
                    let slots = &mut self.entries[start..=start + i];
                    for (slot, &other) in slots.iter_mut().zip(values) {
                        *slot += factor * other;
                    }
                    start += i + 1;
                }
            }
            Row::Sparse { indices, values } => {
                for (position, (&index, &value)) in indices.iter().zip(values).enumerate() {
                    let (i, factor) = (index as usize, weight * value);
                    let start = i * (i + 1) / 2;
                    let slots = &mut self.entries[start..=start + i];
                    for (&j, &other) in indices[..=position].iter().zip(values) {
                        slots[j as usize] += factor * other;
                    }
                }
            }
        }
    }

    /// Writes the product with `x` into `out`.
    ///
    /// Reads each packed row once, for both of its triangles, two rows at a time in four lanes of
    /// fixed order. An entry of the product is rounded at most n/2 + 6 times.
    pub(crate) fn multiply_into(&self, x: &[f64], out: &mut [f64]) {
        assert!(x.len() == self.dimension && out.len() == self.dimension, "dimension");
        let mut rest = &self.entries[..];
        let mut i = 0;
        while i + 1 < self.dimension {
            let (first, after) = rest.split_at(i + 1);
            let (second, after) = after.split_at(i + 2);
            rest = after;
            let (above, below) = out.split_at_mut(i);
            let rows = (&first[..i], &second[..i]);
            let (left, right) = dots_and_add(rows, &x[..i], (x[i], x[i + 1]), above);
            below[0] = left + (first[i] * x[i] + second[i] * x[i + 1]);
            below[1] = right + (second[i] * x[i] + second[i + 1] * x[i + 1]);
            i += 2;
        }
        if i < self.dimension {
            let (row, diagonal) = (&rest[..i], rest[i]);
            out[i] = dot(row, &x[..i]) + diagonal * x[i];
            for (slot, &value) in out[..i].iter_mut().zip(row) {
                *slot += value * x[i];
            }
        }
    }

    /// xᵀAx.
    pub(crate) fn quadratic_form(&self, x: &[f64]) -> f64 {
        assert_eq!(x.len(), self.dimension, "dimension");
        let mut rest = &self.entries[..];
        let mut sum = 0.0;
        for i in 0..self.dimension {
            let (row, after) = rest.split_at(i + 1);
            rest = after;
            sum += x[i] * (2.0 * dot(&row[..i], &x[..i]) + row[i] * x[i]);
        }
        sum
    }
}

/// Adds both rows times their factors to `out` and returns their products with `x`, in one pass.
#[inline]
fn dots_and_add(
    (first, second): (&[f64], &[f64]),
    x: &[f64],
    (left, right): (f64, f64),
    out: &mut [f64],
) -> (f64, f64) {
    let (mut left_sums, mut right_sums) = ([0.0; 4], [0.0; 4]);
    let blocks = x.len() / 4 * 4;
    let lanes = first[..blocks].chunks_exact(4).zip(second[..blocks].chunks_exact(4));
    let (out_head, out_tail) = out.split_at_mut(blocks);
    for (((a, b), x), o) in lanes.zip(x.chunks_exact(4)).zip(out_head.chunks_exact_mut(4)) {
        for lane in 0..4 {
            left_sums[lane] += a[lane] * x[lane];
            right_sums[lane] += b[lane] * x[lane];
            o[lane] += a[lane] * left + b[lane] * right;
        }
    }
    let (mut left_tail, mut right_tail) = (0.0, 0.0);
    let tails = first[blocks..].iter().zip(&second[blocks..]);
    for (((&a, &b), &x), o) in tails.zip(&x[blocks..]).zip(out_tail) {
        left_tail += a * x;
        right_tail += b * x;
        *o += a * left + b * right;
    }
    let sum = |sums: [f64; 4], tail: f64| (sums[0] + sums[1]) + (sums[2] + sums[3]) + tail;
    (sum(left_sums, left_tail), sum(right_sums, right_tail))
}

impl Persist for PackedSymmetric {
    fn visit(&mut self, fields: &mut dyn Fields) {
        fields.numbers(&mut self.entries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_match_the_dense_matrix_for_every_small_dimension() {
        for n in 1..12_usize {
            #[expect(clippy::cast_precision_loss, reason = "small integers")]
            let value = |k: usize| ((k * 7 + 3) % 11) as f64 - 5.0;
            let rows: Vec<Vec<f64>> =
                (0..3).map(|r| (0..n).map(|i| value(i + 5 * r)).collect()).collect();
            let (mut packed, mut dense) = (PackedSymmetric::zero(n), vec![0.0; n * n]);
            for row in &rows {
                packed.add_outer(0.5, Row::Dense(row));
                for i in 0..n {
                    for j in 0..n {
                        dense[i * n + j] += 0.5 * row[i] * row[j];
                    }
                }
            }
            let x: Vec<f64> = (0..n).map(|i| value(i + 1)).collect();
            let mut out = vec![f64::NAN; n];
            packed.multiply_into(&x, &mut out);
            let mut form = 0.0;
            for i in 0..n {
                let expected = dot(&dense[i * n..(i + 1) * n], &x);
                assert!((out[i] - expected).abs() < 1e-9);
                form += x[i] * expected;
            }
            assert!((packed.quadratic_form(&x) - form).abs() < 1e-8);
        }
    }

    #[test]
    fn sparse_and_dense_rows_add_the_same_matrix() {
        let (mut left, mut right) = (PackedSymmetric::zero(4), PackedSymmetric::zero(4));
        left.add_outer(1.5, Row::Sparse { indices: &[1, 3], values: &[2.0, -1.0] });
        right.add_outer(1.5, Row::Dense(&[0.0, 2.0, 0.0, -1.0]));
        assert!(left.entries.iter().zip(&right.entries).all(|(a, b)| (a - b).abs() < 1e-15));
    }
}
