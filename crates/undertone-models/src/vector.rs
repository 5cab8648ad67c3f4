//! Sums and products of long vectors, compiled for each instruction set, with the same bits on all of them.
//!
//! Every sum runs in eight lanes of fixed order, and products are never fused with additions, so wider vectors do the
//! same additions.

use crate::history::BLOCK;
use crate::row::Row;
use crate::scalar_loss::{ScalarLoss, Slope};
use undertone_core::Score;
use undertone_simd::{F64Vector, Half, Kernel, Simd, run};

/// Number of interleaved sums of an inner product.
pub(crate) const LANES: usize = 8;

/// Adds up eight lanes, always in the same order.
#[inline(always)]
pub(crate) fn sum_lanes(sums: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// What the numbers of a row may be stored as. All arithmetic is in f64.
pub(crate) trait Stored: Copy {
    /// Numbers as a row.
    fn row(numbers: &[Self]) -> Row<'_>;

    /// Eight numbers.
    fn load<V: F64Vector<LANES>>(from: &[Self; LANES]) -> V;

    /// Up to eight numbers, and zeros for the rest.
    fn load_part<V: F64Vector<LANES>>(from: &[Self]) -> V;
}

impl Stored for f64 {
    fn row(numbers: &[f64]) -> Row<'_> {
        Row::Dense(numbers)
    }

    #[inline(always)]
    fn load<V: F64Vector<LANES>>(from: &[f64; LANES]) -> V {
        V::load(from)
    }

    #[inline(always)]
    fn load_part<V: F64Vector<LANES>>(from: &[f64]) -> V {
        V::load_part(from)
    }
}

impl Stored for Half {
    fn row(numbers: &[Half]) -> Row<'_> {
        Row::Compact(numbers)
    }

    #[inline(always)]
    fn load<V: F64Vector<LANES>>(from: &[Half; LANES]) -> V {
        V::load_halves(from)
    }

    #[inline(always)]
    fn load_part<V: F64Vector<LANES>>(from: &[Half]) -> V {
        V::load_part_of_halves(from)
    }
}

/// The inner product of two vectors.
///
/// Entry i is added to lane i mod 8, so each term is rounded at most n/8 + 4 times.
#[must_use]
#[inline(always)]
pub(crate) fn dot<V: F64Vector<LANES>, T: Stored>(left: &[T], right: &[f64]) -> f64 {
    let length = left.len().min(right.len());
    let (left_blocks, left_rest) = left[..length].as_chunks();
    let (right_blocks, right_rest) = right[..length].as_chunks();
    let mut sums = V::splat(0.0);
    for (a, b) in left_blocks.iter().zip(right_blocks) {
        sums = sums.plus_product(T::load(a), V::load(b));
    }
    if !left_rest.is_empty() {
        sums = sums.plus_product(T::load_part(left_rest), V::load_part(right_rest));
    }
    sum_lanes(sums.array())
}

/// The whole blocks of a row, and the remainder.
type Chunks<'a, T> = (&'a [[T; LANES]], &'a [T]);

/// Four rows in blocks. Written out, because a closure passed to `map` is compiled for portable vectors and not inlined.
#[inline(always)]
pub(crate) fn four_in_chunks<T>(rows: [&[T]; 4], length: usize) -> [Chunks<'_, T>; 4] {
    [
        rows[0][..length].as_chunks(),
        rows[1][..length].as_chunks(),
        rows[2][..length].as_chunks(),
        rows[3][..length].as_chunks(),
    ]
}

/// The inner products of four rows with one vector, each with the bits of [`dot`].
#[inline(always)]
fn dot_four<V: F64Vector<LANES>, T: Stored>(rows: [&[T]; 4], right: &[f64]) -> [f64; 4] {
    let [(a, a_rest), (b, b_rest), (c, c_rest), (d, d_rest)] = four_in_chunks(rows, right.len());
    let (blocks, rest) = right.as_chunks();
    let mut sums = [V::splat(0.0); 4];
    for ((((block, a), b), c), d) in blocks.iter().zip(a).zip(b).zip(c).zip(d) {
        let block = V::load(block);
        sums[0] = sums[0].plus_product(T::load(a), block);
        sums[1] = sums[1].plus_product(T::load(b), block);
        sums[2] = sums[2].plus_product(T::load(c), block);
        sums[3] = sums[3].plus_product(T::load(d), block);
    }
    if !rest.is_empty() {
        let rest = V::load_part(rest);
        sums[0] = sums[0].plus_product(T::load_part(a_rest), rest);
        sums[1] = sums[1].plus_product(T::load_part(b_rest), rest);
        sums[2] = sums[2].plus_product(T::load_part(c_rest), rest);
        sums[3] = sums[3].plus_product(T::load_part(d_rest), rest);
    }
    [
        sum_lanes(sums[0].array()),
        sum_lanes(sums[1].array()),
        sum_lanes(sums[2].array()),
        sum_lanes(sums[3].array()),
    ]
}

/// Adds factor · row to `out`.
#[inline(always)]
pub(crate) fn add_scaled<V: F64Vector<LANES>, T: Stored>(factor: f64, row: &[T], out: &mut [f64]) {
    let length = row.len().min(out.len());
    let (blocks, rest) = row[..length].as_chunks();
    let (out_blocks, out_rest) = out[..length].as_chunks_mut();
    let factor = V::splat(factor);
    for (slots, values) in out_blocks.iter_mut().zip(blocks) {
        V::load(slots).plus_product(factor, T::load(values)).store(slots);
    }
    if !rest.is_empty() {
        V::load_part(out_rest).plus_product(factor, T::load_part(rest)).store_part(out_rest);
    }
}

/// Adds four rows times their factors to `out`, with the bits of four calls of [`add_scaled`].
#[inline(always)]
fn add_scaled_four<V: F64Vector<LANES>, T: Stored>(
    factors: [f64; 4],
    rows: [&[T]; 4],
    out: &mut [f64],
) {
    let [(a, a_rest), (b, b_rest), (c, c_rest), (d, d_rest)] = four_in_chunks(rows, out.len());
    let (out_blocks, out_rest) = out.as_chunks_mut();
    let factors =
        [V::splat(factors[0]), V::splat(factors[1]), V::splat(factors[2]), V::splat(factors[3])];
    for ((((slots, a), b), c), d) in out_blocks.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        plus_products(V::load(slots), factors, [a, b, c, d]).store(slots);
    }
    if !out_rest.is_empty() {
        let rests = [a_rest, b_rest, c_rest, d_rest];
        plus_parts(V::load_part(out_rest), factors, rests).store_part(out_rest);
    }
}

/// sum + Σ factor · value, one after the other.
#[inline(always)]
pub(crate) fn plus_products<V: F64Vector<LANES>, T: Stored>(
    sum: V,
    factors: [V; 4],
    [a, b, c, d]: [&[T; LANES]; 4],
) -> V {
    let sum = sum.plus_product(factors[0], T::load(a));
    let sum = sum.plus_product(factors[1], T::load(b));
    let sum = sum.plus_product(factors[2], T::load(c));
    sum.plus_product(factors[3], T::load(d))
}

/// The same for the remainders of rows.
#[inline(always)]
pub(crate) fn plus_parts<V: F64Vector<LANES>, T: Stored>(
    sum: V,
    factors: [V; 4],
    [a, b, c, d]: [&[T]; 4],
) -> V {
    let sum = sum.plus_product(factors[0], T::load_part(a));
    let sum = sum.plus_product(factors[1], T::load_part(b));
    let sum = sum.plus_product(factors[2], T::load_part(c));
    sum.plus_product(factors[3], T::load_part(d))
}

/// The inner products of rows, stored one after the other, with one vector of the length of a row.
#[inline(always)]
pub(crate) fn dot_rows<V: F64Vector<LANES>, T: Stored>(
    rows: &[T],
    right: &[f64],
    products: &mut [f64],
) {
    let n = right.len();
    let (fours, rest) = products.as_chunks_mut::<4>();
    let whole = 4 * fours.len();
    for (place, products) in fours.iter_mut().enumerate() {
        *products = dot_four::<V, T>(four_rows(rows, n, 4 * place), right);
    }
    for (place, product) in (whole..).zip(rest) {
        *product = dot::<V, T>(&rows[place * n..(place + 1) * n], right);
    }
}

/// Adds rows of length n, stored one after the other, times their factors to `out`: the first `out.len()` values of each.
#[inline(always)]
pub(crate) fn add_scaled_rows<V: F64Vector<LANES>, T: Stored>(
    factors: &[f64],
    rows: &[T],
    n: usize,
    out: &mut [f64],
) {
    let (fours, rest) = factors.as_chunks::<4>();
    for (place, &factors) in fours.iter().enumerate() {
        add_scaled_four::<V, T>(factors, four_rows(rows, n, 4 * place), out);
    }
    for (place, &factor) in (4 * fours.len()..).zip(rest) {
        add_scaled::<V, T>(factor, &rows[place * n..(place + 1) * n], out);
    }
}

/// The kernel of [`dot`].
struct Dot<'a, T>(&'a [T], &'a [f64]);

impl<T: Stored> Kernel for Dot<'_, T> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self) -> f64 {
        dot::<S::F64x8, T>(self.0, self.1)
    }
}

/// The kernel of [`add_scaled`].
struct AddScaled<'a, T>(f64, &'a [T], &'a mut [f64]);

impl<T: Stored> Kernel for AddScaled<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        add_scaled::<S::F64x8, T>(self.0, self.1, self.2);
    }
}

/// [`dot`] on the best instruction set.
#[must_use]
#[inline]
pub(crate) fn wide_dot<T: Stored>(left: &[T], right: &[f64]) -> f64 {
    run(Dot(left, right))
}

/// [`add_scaled`] on the best instruction set.
#[inline]
pub(crate) fn wide_add_scaled<T: Stored>(factor: f64, row: &[T], out: &mut [f64]) {
    run(AddScaled(factor, row, out));
}

/// Adds the gradients of a block of dense records at θ, slope(row · θ, label) · row, to `out`.
pub(crate) struct BlockGradient<'a, T> {
    /// The rows, one after the other.
    pub(crate) rows: &'a [T],
    /// A label for each row, at most [`BLOCK`] of them.
    pub(crate) labels: &'a [f64],
    /// As long as a row.
    pub(crate) theta: &'a [f64],
    /// Computes slopes from scores, weight included.
    pub(crate) slope: Slope,
    /// The sum of gradients.
    pub(crate) out: &'a mut [f64],
}

impl<T: Stored> Kernel for BlockGradient<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let BlockGradient { rows, labels, theta, slope, out } = self;
        let n = theta.len();
        let mut slopes = [0.0; BLOCK];
        let slopes = &mut slopes[..labels.len()];
        dot_rows::<S::F64x8, T>(rows, theta, slopes);
        slope.replace_scores(slopes, labels);
        add_scaled_rows::<S::F64x8, T>(slopes, rows, n, out);
    }
}

/// Replaces the scores of a block by slopes.
pub(crate) struct BlockSlopes<'a> {
    /// Computes slopes from scores.
    pub(crate) slope: Slope,
    /// Scores on entry, slopes on return.
    pub(crate) scores: &'a mut [f64],
    /// One label for each score.
    pub(crate) labels: &'a [f64],
}

impl Kernel for BlockSlopes<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        self.slope.replace_scores(self.scores, self.labels);
    }
}

/// Replaces the scores of a block by losses.
struct BlockLosses<'a> {
    loss: ScalarLoss,
    scores: &'a mut [f64],
    labels: &'a [f64],
}

impl Kernel for BlockLosses<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        self.loss.replace_scores(self.scores, self.labels);
    }
}

/// Adds records, given by their products with θ, to a score: their losses and the number of correct predictions.
/// Overwrites the products.
pub(crate) fn add_to_score(
    loss: ScalarLoss,
    products: &mut [f64],
    labels: &[f64],
    score: &mut Score,
) {
    score.records += labels.len() as u64;
    if loss == ScalarLoss::Logistic {
        let pairs = products.iter().zip(labels);
        score.correct +=
            pairs.map(|(&z, &label)| u64::from((z > 0.0) == (label > 0.5))).sum::<u64>();
    }
    run(BlockLosses { loss, scores: products, labels });
    products.iter().for_each(|value| score.loss_sum += value);
}

/// Four consecutive rows of length n, starting with row `first`.
#[inline(always)]
pub(crate) fn four_rows<T>(rows: &[T], n: usize, first: usize) -> [&[T]; 4] {
    let rows = &rows[first * n..(first + 4) * n];
    [&rows[..n], &rows[n..2 * n], &rows[2 * n..3 * n], &rows[3 * n..]]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(count: usize, seed: f64) -> Vec<f64> {
        (0..count).map(|k| (k as f64 * 0.731 + seed).sin()).collect()
    }

    #[test]
    fn wide_vectors_and_blocks_of_rows_have_the_bits_of_one_row_at_a_time() {
        for n in [1, 3, 7, 8, 9, 31, 33, 112, 200] {
            for count in [1, 3, 4, 5, 8, 31] {
                let (rows, theta) = (values(n * count, 0.3), values(n, 0.9));
                let labels: Vec<f64> = (0..count).map(|k| (k % 2) as f64).collect();
                let slope = Slope { loss: ScalarLoss::Logistic, clip: 0.6, weight: 0.7 };
                let mut out = values(n, 0.1);
                let mut expected = out.clone();
                let (rows, labels, theta) = (&rows[..], &labels[..], &theta[..]);
                run(BlockGradient { rows, labels, theta, slope, out: &mut out });
                for (row, &label) in rows.chunks(n).zip(labels) {
                    let product = dot::<[f64; LANES], f64>(row, theta);
                    assert_eq!(product.to_bits(), wide_dot(row, theta).to_bits());
                    add_scaled::<[f64; LANES], f64>(slope.at(product, label), row, &mut expected);
                }
                for (a, b) in out.iter().zip(&expected) {
                    assert_eq!(a.to_bits(), b.to_bits(), "n = {n}, {count} rows");
                }
            }
        }
    }

    #[test]
    fn the_product_is_right_for_every_length() {
        for n in 0..70 {
            let (a, b) = (values(n, 0.2), values(n, 0.7));
            let expected: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            assert!((wide_dot(&a, &b) - expected).abs() < 1e-13);
        }
    }
}
