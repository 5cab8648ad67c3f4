//! Symmetric matrices as packed lower triangles: half the memory, one pass for a product.

use crate::row::Row;
use crate::vector::{self, Kernel, Lanes, add_scaled, dot};
use undertone::persist::{Fields, Persist};

/// A symmetric n×n matrix, stored as its n(n+1)/2 entries on and below the diagonal, row by row.
#[derive(Clone)]
pub(crate) struct PackedSymmetric {
    dimension: usize,
    entries: Box<[f64]>,
    /// The last dense row and its weight, not added yet: the next product adds it on its way through the entries, which is
    /// one way through memory less.
    waiting: Outer,
}

/// `weight`·aaᵀ; nothing where the row is empty.
#[derive(Clone, Default)]
struct Outer {
    weight: f64,
    row: Vec<f64>,
}

impl PackedSymmetric {
    /// The zero matrix.
    pub(crate) fn zero(dimension: usize) -> PackedSymmetric {
        let entries = vec![0.0; dimension * (dimension + 1) / 2].into_boxed_slice();
        PackedSymmetric { dimension, entries, waiting: Outer::default() }
    }

    /// Sets every entry to zero.
    pub(crate) fn clear(&mut self) {
        self.entries.fill(0.0);
        self.waiting.row.clear();
    }

    /// Adds `weight`·aaᵀ for a row a. A sparse row touches only its own pairs.
    #[inline]
    pub(crate) fn add_outer(&mut self, weight: f64, row: Row<'_>) {
        // Rows are added in the order in which they came, whatever their form and whenever a copy is saved.
        self.settle();
        match row {
            Row::Dense(values) => {
                self.waiting.weight = weight;
                self.waiting.row.extend_from_slice(values);
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
    /// Reads each packed row once, for both of its triangles, two rows at a time in lanes of
    /// fixed order. An entry of the product is rounded at most n/2 + 6 times.
    pub(crate) fn multiply_into(&mut self, x: &[f64], out: &mut [f64]) {
        assert!(x.len() == self.dimension && out.len() == self.dimension, "dimension");
        let PackedSymmetric { entries, waiting: Outer { weight, row }, .. } = self;
        if row.is_empty() {
            return vector::run(Multiply { entries, x, out });
        }
        vector::run(AddOuterAndMultiply { weight: *weight, row, entries, x, out });
        row.clear();
    }

    /// Adds the row that waits.
    fn settle(&mut self) {
        let PackedSymmetric { entries, waiting: Outer { weight, row }, .. } = self;
        vector::run(AddOuter { weight: *weight, values: row, entries });
        row.clear();
    }

    /// xᵀAx.
    pub(crate) fn quadratic_form(&mut self, x: &[f64]) -> f64 {
        assert_eq!(x.len(), self.dimension, "dimension");
        self.settle();
        vector::run(QuadraticForm { entries: &self.entries, x })
    }
}

/// Adds `weight`·aaᵀ to a packed matrix.
struct AddOuter<'a> {
    weight: f64,
    values: &'a [f64],
    entries: &'a mut [f64],
}

impl Kernel for AddOuter<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        let mut rest = self.entries;
        for (i, &value) in self.values.iter().enumerate() {
            let (slots, after) = rest.split_at_mut(i + 1);
            rest = after;
            add_scaled::<V>(self.weight * value, &self.values[..=i], slots);
        }
    }
}

/// Both at once: adds `weight`·aaᵀ, and writes the product of the sum with `x` into `out`. With the bits of one after the
/// other.
struct AddOuterAndMultiply<'a> {
    weight: f64,
    row: &'a [f64],
    entries: &'a mut [f64],
    x: &'a [f64],
    out: &'a mut [f64],
}

impl Kernel for AddOuterAndMultiply<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        let AddOuterAndMultiply { weight, row, entries: mut rest, x, out } = self;
        let mut i = 0;
        while i + 1 < x.len() {
            let (first, after) = rest.split_at_mut(i + 1);
            let (second, after) = after.split_at_mut(i + 2);
            rest = after;
            let factors = (weight * row[i], weight * row[i + 1]);
            first[i] += factors.0 * row[i];
            second[i] += factors.1 * row[i];
            second[i + 1] += factors.1 * row[i + 1];
            let (above, below) = out.split_at_mut(i);
            let rows = (&mut first[..i], &mut second[..i]);
            let (left, right) =
                add_dots_and_add::<V>(rows, (factors, &row[..i]), &x[..i], (x[i], x[i + 1]), above);
            below[0] = left + (first[i] * x[i] + second[i] * x[i + 1]);
            below[1] = right + (second[i] * x[i] + second[i + 1] * x[i + 1]);
            i += 2;
        }
        if i < x.len() {
            add_scaled::<V>(weight * row[i], &row[..=i], rest);
            multiply_last_row::<V>(i, rest, x, out);
        }
    }
}

/// Writes the product of a packed matrix with `x` into `out`.
struct Multiply<'a> {
    entries: &'a [f64],
    x: &'a [f64],
    out: &'a mut [f64],
}

impl Kernel for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Multiply { entries: mut rest, x, out } = self;
        let mut i = 0;
        while i + 1 < x.len() {
            let (first, after) = rest.split_at(i + 1);
            let (second, after) = after.split_at(i + 2);
            rest = after;
            multiply_two_rows::<V>(i, first, second, x, out);
            i += 2;
        }
        if i < x.len() {
            multiply_last_row::<V>(i, rest, x, out);
        }
    }
}

/// What rows i and i + 1 add to a product.
#[inline(always)]
fn multiply_two_rows<V: Lanes>(
    i: usize,
    first: &[f64],
    second: &[f64],
    x: &[f64],
    out: &mut [f64],
) {
    let (above, below) = out.split_at_mut(i);
    let rows = (&first[..i], &second[..i]);
    let (left, right) = dots_and_add::<V>(rows, &x[..i], (x[i], x[i + 1]), above);
    below[0] = left + (first[i] * x[i] + second[i] * x[i + 1]);
    below[1] = right + (second[i] * x[i] + second[i + 1] * x[i + 1]);
}

/// What the last row adds to a product, where there is an odd number of them.
#[inline(always)]
fn multiply_last_row<V: Lanes>(i: usize, row: &[f64], x: &[f64], out: &mut [f64]) {
    let (row, diagonal) = (&row[..i], row[i]);
    out[i] = dot::<V>(row, &x[..i]) + diagonal * x[i];
    add_scaled::<V>(x[i], row, &mut out[..i]);
}

/// xᵀAx for a packed matrix A.
struct QuadraticForm<'a> {
    entries: &'a [f64],
    x: &'a [f64],
}

impl Kernel for QuadraticForm<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<V: Lanes>(self) -> f64 {
        let QuadraticForm { entries: mut rest, x } = self;
        let mut sum = 0.0;
        for i in 0..x.len() {
            let (row, after) = rest.split_at(i + 1);
            rest = after;
            sum += x[i] * (2.0 * dot::<V>(&row[..i], &x[..i]) + row[i] * x[i]);
        }
        sum
    }
}

/// Adds both rows times their factors to `out` and returns their products with `x`, in one pass.
#[inline(always)]
fn dots_and_add<V: Lanes>(
    (first, second): (&[f64], &[f64]),
    x: &[f64],
    (left, right): (f64, f64),
    out: &mut [f64],
) -> (f64, f64) {
    let length = x.len();
    let (first_blocks, first_rest) = first[..length].as_chunks();
    let (second_blocks, second_rest) = second[..length].as_chunks();
    let (x_blocks, x_rest) = x.as_chunks();
    let (out_blocks, out_rest) = out[..length].as_chunks_mut();
    let (left, right) = (V::splat(left), V::splat(right));
    let zero = V::splat(0.0);
    let (mut left_sums, mut right_sums) = (zero, zero);
    let rows = first_blocks.iter().zip(second_blocks);
    for (((a, b), x), slots) in rows.zip(x_blocks).zip(out_blocks) {
        let (a, b, x) = (V::load(a), V::load(b), V::load(x));
        left_sums = left_sums.plus_product(a, x);
        right_sums = right_sums.plus_product(b, x);
        let pull = zero.plus_product(a, left).plus_product(b, right);
        V::load(slots).plus(pull).store(slots);
    }
    if !x_rest.is_empty() {
        let (a, b) = (V::load_part(first_rest), V::load_part(second_rest));
        let x = V::load_part(x_rest);
        left_sums = left_sums.plus_product(a, x);
        right_sums = right_sums.plus_product(b, x);
        let pull = zero.plus_product(a, left).plus_product(b, right);
        V::load_part(out_rest).plus(pull).store_part(out_rest);
    }
    (left_sums.sum(), right_sums.sum())
}

/// Adds the factors times a row to both rows, and goes on with them as `dots_and_add` does, in one pass.
#[inline(always)]
fn add_dots_and_add<V: Lanes>(
    (first, second): (&mut [f64], &mut [f64]),
    (factors, added): ((f64, f64), &[f64]),
    x: &[f64],
    (left, right): (f64, f64),
    out: &mut [f64],
) -> (f64, f64) {
    let length = x.len();
    let (first_blocks, first_rest) = first[..length].as_chunks_mut();
    let (second_blocks, second_rest) = second[..length].as_chunks_mut();
    let (added_blocks, added_rest) = added[..length].as_chunks();
    let (x_blocks, x_rest) = x.as_chunks();
    let (out_blocks, out_rest) = out[..length].as_chunks_mut();
    let (left, right) = (V::splat(left), V::splat(right));
    let (first_factor, second_factor) = (V::splat(factors.0), V::splat(factors.1));
    let zero = V::splat(0.0);
    let (mut left_sums, mut right_sums) = (zero, zero);
    let rows = first_blocks.iter_mut().zip(second_blocks).zip(added_blocks);
    for ((((first, second), added), x), slots) in rows.zip(x_blocks).zip(out_blocks) {
        let (added, x) = (V::load(added), V::load(x));
        let a = V::load(first).plus_product(first_factor, added);
        let b = V::load(second).plus_product(second_factor, added);
        a.store(first);
        b.store(second);
        left_sums = left_sums.plus_product(a, x);
        right_sums = right_sums.plus_product(b, x);
        let pull = zero.plus_product(a, left).plus_product(b, right);
        V::load(slots).plus(pull).store(slots);
    }
    if !x_rest.is_empty() {
        let (added, x) = (V::load_part(added_rest), V::load_part(x_rest));
        let a = V::load_part(first_rest).plus_product(first_factor, added);
        let b = V::load_part(second_rest).plus_product(second_factor, added);
        a.store_part(first_rest);
        b.store_part(second_rest);
        left_sums = left_sums.plus_product(a, x);
        right_sums = right_sums.plus_product(b, x);
        let pull = zero.plus_product(a, left).plus_product(b, right);
        V::load_part(out_rest).plus(pull).store_part(out_rest);
    }
    (left_sums.sum(), right_sums.sum())
}

impl Persist for PackedSymmetric {
    fn visit(&mut self, fields: &mut dyn Fields) {
        self.settle();
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
                let expected = vector::wide_dot(&dense[i * n..(i + 1) * n], &x);
                assert!((out[i] - expected).abs() < 1e-9);
                form += x[i] * expected;
            }
            assert!((packed.quadratic_form(&x) - form).abs() < 1e-8);
        }
    }

    #[test]
    fn a_row_that_waits_gives_the_bits_of_one_added_at_once() {
        for n in [1_usize, 2, 7, 30, 113] {
            let values = |seed: f64| -> Vec<f64> {
                (0..n).map(|k| (k as f64 * 0.37 + seed).cos()).collect()
            };
            let (mut waiting, mut settled) = (PackedSymmetric::zero(n), PackedSymmetric::zero(n));
            let (mut left, mut right) = (vec![0.0; n], vec![0.0; n]);
            for round in 0..5 {
                let (row, x) = (values(f64::from(round)), values(0.5 * f64::from(round)));
                waiting.add_outer(0.7, Row::Dense(&row));
                settled.add_outer(0.7, Row::Dense(&row));
                settled.settle();
                waiting.multiply_into(&x, &mut left);
                settled.multiply_into(&x, &mut right);
                let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
                assert!(left.iter().zip(&right).all(same), "n = {n}, round {round}");
            }
        }
    }

    #[test]
    fn rows_of_both_forms_are_added_in_the_order_in_which_they_came() {
        let dense = [0.1, 0.7, 0.3];
        let sparse = [[0.3], [0.2]];
        let [second, third] = [0, 1].map(|k| Row::Sparse { indices: &[1], values: &sparse[k] });
        let (mut waiting, mut settled) = (PackedSymmetric::zero(3), PackedSymmetric::zero(3));
        for row in [Row::Dense(&dense), second, third] {
            waiting.add_outer(1.0, row);
            settled.add_outer(1.0, row);
            settled.settle();
        }
        waiting.settle();
        let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
        assert!(waiting.entries.iter().zip(&settled.entries).all(same));
    }

    #[test]
    fn sparse_and_dense_rows_add_the_same_matrix() {
        let (mut left, mut right) = (PackedSymmetric::zero(4), PackedSymmetric::zero(4));
        left.add_outer(1.5, Row::Sparse { indices: &[1, 3], values: &[2.0, -1.0] });
        right.add_outer(1.5, Row::Dense(&[0.0, 2.0, 0.0, -1.0]));
        right.settle();
        assert!(left.entries.iter().zip(&right.entries).all(|(a, b)| (a - b).abs() < 1e-15));
    }
}
