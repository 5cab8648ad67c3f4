//! Symmetric matrices as packed lower triangles: half the memory, one pass for a product.

use crate::row::Row;
use crate::vector::{
    LANES, add_scaled, add_scaled_rows, dot, dot_rows, four_in_chunks, four_rows, plus_parts,
    plus_products, sum_lanes,
};
use undertone_core::persist::{Fields, Persist};
use undertone_simd::{F64Vector, Kernel, Simd, prefetch_ahead, run};

/// A symmetric n×n matrix: a sum of outer products `weight`·aaᵀ.
///
/// Dense rows are buffered and flushed eight at a time; products include the buffer. A flush depends only on the number of
/// rows added, so the same rows give the same bits, whatever was computed or saved in between.
#[derive(Clone)]
pub(crate) struct PackedSymmetric {
    dimension: usize,
    /// The n(n+1)/2 entries on and below the diagonal, row by row.
    entries: Box<[f64]>,
    /// The buffered rows, one after the other.
    rows: Vec<f64>,
    /// One weight for each buffered row.
    weights: Vec<f64>,
}

/// Buffered rows at which a flush happens: two groups of four.
const BUFFERED_MAX: usize = 8;

impl PackedSymmetric {
    /// The zero matrix.
    pub(crate) fn zero(dimension: usize) -> PackedSymmetric {
        let entries = vec![0.0; dimension * (dimension + 1) / 2].into_boxed_slice();
        PackedSymmetric { dimension, entries, rows: Vec::new(), weights: Vec::new() }
    }

    /// Sets every entry to zero.
    pub(crate) fn clear(&mut self) {
        self.entries.fill(0.0);
        self.rows.clear();
        self.weights.clear();
    }

    /// Adds `weight`·aaᵀ for a row a. A sparse row is added at once, and only to the entries it has.
    #[inline]
    pub(crate) fn add_outer(&mut self, weight: f64, row: Row<'_>) {
        match row {
            Row::Dense(values) => {
                self.rows.extend_from_slice(values);
                self.buffer_row(weight);
            }
            Row::Compact(values) => {
                self.rows.extend(values.iter().map(|value| value.to_f64()));
                self.buffer_row(weight);
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

    /// Notes the weight of a row that was buffered.
    fn buffer_row(&mut self, weight: f64) {
        self.weights.push(weight);
        if self.weights.len() >= BUFFERED_MAX {
            self.flush();
        }
    }

    /// Writes the product with `x` into `out`.
    ///
    /// Reads each packed row once, for both of its triangles, four rows at a time in lanes of
    /// fixed order. A term of an entry of the product is rounded at most min(n, n/4 + 6) + 2 times, and once more for each
    /// buffered row.
    pub(crate) fn multiply_into(&self, x: &[f64], out: &mut [f64]) {
        assert!(
            x.len() == self.dimension && out.len() == self.dimension,
            "the vectors have the dimension of the matrix"
        );
        let PackedSymmetric { entries, rows, weights, .. } = self;
        run(Multiply { entries, rows, weights, x, out });
    }

    /// Adds the buffered rows to the matrix.
    fn flush(&mut self) {
        let PackedSymmetric { dimension, entries, rows, weights } = self;
        run(AddOuters { dimension: *dimension, rows, weights, entries });
        rows.clear();
        weights.clear();
    }
}

/// Adds Σ weight·aaᵀ over [`BUFFERED_MAX`] rows to a packed matrix.
struct AddOuters<'a> {
    dimension: usize,
    rows: &'a [f64],
    weights: &'a [f64],
    entries: &'a mut [f64],
}

impl Kernel for AddOuters<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let AddOuters { dimension, rows, weights, entries: mut rest } = self;
        let (first, second) =
            (four_rows(rows, dimension, 0), four_rows(rows, dimension, BUFFERED_MAX / 2));
        for i in 0..dimension {
            let (slots, after) = rest.split_at_mut(i + 1);
            rest = after;
            let mut factors = [0.0; BUFFERED_MAX];
            for (k, (factor, weight)) in factors.iter_mut().zip(weights).enumerate() {
                *factor = weight * rows[k * dimension + i];
            }
            add_scaled_eight::<S::F64x8>(factors, first, second, slots);
        }
    }
}

/// Adds eight rows times their factors to `out`, one after the other, in one pass.
#[inline(always)]
fn add_scaled_eight<V: F64Vector<LANES>>(
    factors: [f64; BUFFERED_MAX],
    first: [&[f64]; 4],
    second: [&[f64]; 4],
    out: &mut [f64],
) {
    let [(a, a_rest), (b, b_rest), (c, c_rest), (d, d_rest)] = four_in_chunks(first, out.len());
    let [(e, e_rest), (f, f_rest), (g, g_rest), (h, h_rest)] = four_in_chunks(second, out.len());
    let (out_blocks, out_rest) = out.as_chunks_mut();
    let [p, q, r, s, t, u, v, w] = factors;
    let left = [V::splat(p), V::splat(q), V::splat(r), V::splat(s)];
    let right = [V::splat(t), V::splat(u), V::splat(v), V::splat(w)];
    let blocks = a.iter().zip(b).zip(c).zip(d).zip(e).zip(f).zip(g).zip(h);
    for ((((((((a, b), c), d), e), f), g), h), slots) in blocks.zip(out_blocks) {
        let sum = plus_products(V::load(slots), left, [a, b, c, d]);
        plus_products(sum, right, [e, f, g, h]).store(slots);
    }
    if !out_rest.is_empty() {
        let sum = plus_parts(V::load_part(out_rest), left, [a_rest, b_rest, c_rest, d_rest]);
        plus_parts(sum, right, [e_rest, f_rest, g_rest, h_rest]).store_part(out_rest);
    }
}

/// Writes the product of a packed matrix, buffered rows included, with `x` into `out`.
struct Multiply<'a> {
    entries: &'a [f64],
    rows: &'a [f64],
    weights: &'a [f64],
    x: &'a [f64],
    out: &'a mut [f64],
}

impl Kernel for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let Multiply { entries: mut rest, rows, weights, x, out } = self;
        let n = x.len();
        let mut i = 0;
        while i + 4 <= n {
            let (four, after) = rest.split_at(4 * i + 10);
            rest = after;
            multiply_four_rows::<S::F64x8>(i, four, x, out);
            i += 4;
        }
        while i < n {
            let (row, after) = rest.split_at(i + 1);
            rest = after;
            out[i] = dot::<S::F64x8, f64>(&row[..i], &x[..i]) + row[i] * x[i];
            add_scaled::<S::F64x8, f64>(x[i], &row[..i], &mut out[..i]);
            i += 1;
        }
        let mut products = [0.0; BUFFERED_MAX];
        let products = &mut products[..weights.len()];
        dot_rows::<S::F64x8, f64>(rows, x, products);
        for (product, weight) in products.iter_mut().zip(weights) {
            *product *= weight;
        }
        add_scaled_rows::<S::F64x8, f64>(products, rows, n, out);
    }
}

/// Adds what rows i to i + 3, stored in `four` one after the other, contribute to a product.
#[inline(always)]
fn multiply_four_rows<V: F64Vector<LANES>>(i: usize, four: &[f64], x: &[f64], out: &mut [f64]) {
    let (first, rest) = four.split_at(i + 1);
    let (second, rest) = rest.split_at(i + 2);
    let (third, fourth) = rest.split_at(i + 3);
    let (above, below) = out.split_at_mut(i);
    let own = [x[i], x[i + 1], x[i + 2], x[i + 3]];
    let dots = dots_and_add::<V>([first, second, third, fourth], &x[..i], own, above);
    // The 4×4 block on the diagonal, of which the lower triangle is stored.
    let (a, b, c, d) = (&first[i..], &second[i..], &third[i..], &fourth[i..]);
    let [w, x, y, z] = own;
    below[0] = dots[0] + ((a[0] * w + b[0] * x) + (c[0] * y + d[0] * z));
    below[1] = dots[1] + ((b[0] * w + b[1] * x) + (c[1] * y + d[1] * z));
    below[2] = dots[2] + ((c[0] * w + c[1] * x) + (c[2] * y + d[2] * z));
    below[3] = dots[3] + ((d[0] * w + d[1] * x) + (d[2] * y + d[3] * z));
}

/// Prefetch distance in bytes: about a hundred nanoseconds of reading.
const PREFETCH_BYTES: usize = 4096;

/// Adds four rows times their factors to `out` and returns their products with `x`, in one pass.
#[inline(always)]
fn dots_and_add<V: F64Vector<LANES>>(
    rows: [&[f64]; 4],
    x: &[f64],
    factors: [f64; 4],
    out: &mut [f64],
) -> [f64; 4] {
    let [(a, a_rest), (b, b_rest), (c, c_rest), (d, d_rest)] = four_in_chunks(rows, x.len());
    let (x_blocks, x_rest) = x.as_chunks();
    let (out_blocks, out_rest) = out[..x.len()].as_chunks_mut();
    let factors =
        [V::splat(factors[0]), V::splat(factors[1]), V::splat(factors[2]), V::splat(factors[3])];
    let mut sums = [V::splat(0.0); 4];
    let blocks = a.iter().zip(b).zip(c).zip(d);
    for (((((a, b), c), d), x), slots) in blocks.zip(x_blocks).zip(out_blocks) {
        // Four streams at once are too many for the hardware prefetcher of some processors.
        prefetch_ahead(a, PREFETCH_BYTES);
        prefetch_ahead(b, PREFETCH_BYTES);
        prefetch_ahead(c, PREFETCH_BYTES);
        prefetch_ahead(d, PREFETCH_BYTES);
        let rows = [V::load(a), V::load(b), V::load(c), V::load(d)];
        add_products(&mut sums, rows, V::load(x));
        V::load(slots).plus(sum_of_products(factors, rows)).store(slots);
    }
    if !x_rest.is_empty() {
        let (a, b) = (V::load_part(a_rest), V::load_part(b_rest));
        let (c, d) = (V::load_part(c_rest), V::load_part(d_rest));
        add_products(&mut sums, [a, b, c, d], V::load_part(x_rest));
        let sum = sum_of_products(factors, [a, b, c, d]);
        V::load_part(out_rest).plus(sum).store_part(out_rest);
    }
    [
        sum_lanes(sums[0].array()),
        sum_lanes(sums[1].array()),
        sum_lanes(sums[2].array()),
        sum_lanes(sums[3].array()),
    ]
}

/// Adds the product of each row with `x` to its sum.
#[inline(always)]
fn add_products<V: F64Vector<LANES>>(sums: &mut [V; 4], [a, b, c, d]: [V; 4], x: V) {
    sums[0] = sums[0].plus_product(a, x);
    sums[1] = sums[1].plus_product(b, x);
    sums[2] = sums[2].plus_product(c, x);
    sums[3] = sums[3].plus_product(d, x);
}

/// Σ factor · value, in pairs.
#[inline(always)]
fn sum_of_products<V: F64Vector<LANES>>(factors: [V; 4], [a, b, c, d]: [V; 4]) -> V {
    let left = factors[0].times(a).plus_product(factors[1], b);
    let right = factors[2].times(c).plus_product(factors[3], d);
    left.plus(right)
}

impl Persist for PackedSymmetric {
    fn visit(&mut self, fields: &mut dyn Fields) {
        fields.numbers(&mut self.entries);
        fields.list(&mut self.weights);
        self.weights.truncate(BUFFERED_MAX - 1);
        self.rows.resize(self.weights.len() * self.dimension, 0.0);
        fields.numbers(&mut self.rows);
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
                (0..11).map(|r| (0..n).map(|i| value(i + 5 * r)).collect()).collect();
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
            for i in 0..n {
                let expected = crate::vector::wide_dot(&dense[i * n..(i + 1) * n], &x);
                assert!((out[i] - expected).abs() < 1e-9);
            }
        }
    }

    /// Flushes early, with rows of zeros for those that are missing.
    fn flush_early(matrix: &mut PackedSymmetric) {
        matrix.weights.resize(BUFFERED_MAX, 0.0);
        matrix.rows.resize(BUFFERED_MAX * matrix.dimension, 0.0);
        matrix.flush();
    }

    fn bits(values: &[f64]) -> Vec<u64> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    #[test]
    fn products_and_saves_in_between_change_no_bit() {
        for n in [1_usize, 2, 7, 30, 113] {
            let values = |seed: f64| -> Vec<f64> {
                (0..n).map(|k| (k as f64 * 0.37 + seed).cos()).collect()
            };
            let mut quiet = PackedSymmetric::zero(n);
            let mut watched = PackedSymmetric::zero(n);
            let mut flushed = PackedSymmetric::zero(n);
            let (mut left, mut right) = (vec![0.0; n], vec![0.0; n]);
            let mut flush_is_detected = false;
            for round in 0..2 * BUFFERED_MAX + 3 {
                let (row, x) = (values(round as f64), values(0.5 * round as f64));
                let sparse = Row::Sparse { indices: &[0], values: &x[..1] };
                for matrix in [&mut quiet, &mut watched, &mut flushed] {
                    matrix.add_outer(0.7, Row::Dense(&row));
                    matrix.add_outer(0.3, sparse);
                }
                let saved = undertone_core::persist::save(&mut watched);
                watched = PackedSymmetric::zero(n);
                undertone_core::persist::load(&mut watched, &saved).unwrap();
                flush_early(&mut flushed);
                watched.multiply_into(&x, &mut left);
                quiet.multiply_into(&x, &mut right);
                assert_eq!(bits(&left), bits(&right), "n = {n}, round {round}");
                flushed.multiply_into(&x, &mut right);
                flush_is_detected |= bits(&left) != bits(&right);
            }
            assert!(
                flush_is_detected || n < 3,
                "the control: rows flushed at other times give other bits"
            );
        }
    }

    #[test]
    fn more_rows_than_a_buffer_holds_are_refused() {
        let mut matrix = PackedSymmetric::zero(2);
        matrix.weights = vec![1.0; BUFFERED_MAX];
        matrix.rows = vec![0.5; 2 * BUFFERED_MAX];
        let mut fields = undertone_core::persist::save(&mut Unlimited(&mut matrix));
        assert!(undertone_core::persist::load(&mut PackedSymmetric::zero(2), &fields).is_err());
        fields.clear();
        assert!(undertone_core::persist::load(&mut PackedSymmetric::zero(2), &fields).is_err());
    }

    /// Saves a matrix without limiting its buffer, as damaged or forged state would be.
    struct Unlimited<'a>(&'a mut PackedSymmetric);

    impl Persist for Unlimited<'_> {
        fn visit(&mut self, fields: &mut dyn Fields) {
            fields.numbers(&mut self.0.entries);
            fields.list(&mut self.0.weights);
            fields.numbers(&mut self.0.rows);
        }
    }

    #[test]
    fn sparse_and_dense_rows_add_the_same_matrix() {
        let (mut left, mut right) = (PackedSymmetric::zero(4), PackedSymmetric::zero(4));
        left.add_outer(1.5, Row::Sparse { indices: &[1, 3], values: &[2.0, -1.0] });
        right.add_outer(1.5, Row::Dense(&[0.0, 2.0, 0.0, -1.0]));
        flush_early(&mut right);
        assert!(left.entries.iter().zip(&right.entries).all(|(a, b)| (a - b).abs() < 1e-15));
    }
}
