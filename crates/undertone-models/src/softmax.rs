//! The softmax loss: one row of parameters for each class, stored class after class.

use crate::row::Row;
use crate::vector::{Stored, add_scaled_rows, dot_rows};
use undertone_simd::{Kernel, Simd};

/// −ln softmax(Θa)_b for a number of classes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Softmax {
    /// The number of classes, at least two.
    pub(crate) classes: usize,
}

impl Softmax {
    /// The score of each class.
    pub(crate) fn scores(self, theta: &[f64], row: Row<'_>) -> Vec<f64> {
        theta.chunks_exact(theta.len() / self.classes).map(|part| row.dot(part)).collect()
    }

    /// The probability of each class.
    pub(crate) fn probabilities(self, theta: &[f64], row: Row<'_>) -> Vec<f64> {
        let mut scores = self.scores(theta, row);
        replace_by_probabilities(&mut scores);
        scores
    }

    /// The loss of one record. Infinite for a label that is not a class.
    pub(crate) fn value(self, theta: &[f64], row: Row<'_>, label: f64) -> f64 {
        let scores = self.scores(theta, row);
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = scores.iter().map(|score| (score - largest).exp()).sum();
        scores.get(class_of(label)).map_or(f64::INFINITY, |score| largest - score + total.ln())
    }

    /// Adds `weight` times the gradient (p − e_b)aᵀ of one record, p − e_b clipped to norm `clip`.
    pub(crate) fn add_gradient(
        self,
        theta: &[f64],
        row: Row<'_>,
        label: f64,
        weight: f64,
        clip: f64,
        out: &mut [f64],
    ) {
        let features = out.len() / self.classes;
        let mut slopes = self.scores(theta, row);
        replace_by_slopes(&mut slopes, label, weight, clip);
        for (part, slope) in out.chunks_exact_mut(features).zip(slopes) {
            row.add_scaled_to(slope, part);
        }
    }

    /// Adds `weight` times the Hessian (diag(p) − ppᵀ) ⊗ aaᵀ to a dense row-major matrix.
    pub(crate) fn add_hessian(self, theta: &[f64], row: Row<'_>, weight: f64, out: &mut [f64]) {
        let n = theta.len();
        let features = n / self.classes;
        let p = self.probabilities(theta, row);
        for c in 0..self.classes {
            for (i, value) in row.nonzeros() {
                let line = &mut out[(c * features + i) * n..(c * features + i + 1) * n];
                for (k, part) in line.chunks_exact_mut(features).enumerate() {
                    let curvature = p[c] * (f64::from(c == k) - p[k]);
                    row.add_scaled_to(weight * value * curvature, part);
                }
            }
        }
    }
}

/// Replaces the score of each class by its probability.
fn replace_by_probabilities(scores: &mut [f64]) {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut total = 0.0;
    for score in scores.iter_mut() {
        *score = (*score - largest).exp();
        total += *score;
    }
    for score in scores {
        *score /= total;
    }
}

/// Replaces the score of each class by `weight` times the slope of the loss in it, the slopes clipped to norm `clip`.
fn replace_by_slopes(scores: &mut [f64], label: f64, weight: f64, clip: f64) {
    replace_by_probabilities(scores);
    if let Some(slope) = scores.get_mut(class_of(label)) {
        *slope -= 1.0;
    }
    let norm = scores.iter().map(|slope| slope * slope).sum::<f64>().sqrt();
    let weight = if norm > clip { weight * (clip / norm) } else { weight };
    for slope in scores {
        *slope *= weight;
    }
}

/// Adds the gradients of a block of records at θ to `out`, with the bits of [`Softmax::add_gradient`] for one after the other.
pub(crate) struct BlockSoftmax<'a, T> {
    pub(crate) softmax: Softmax,
    /// The rows, one after the other.
    pub(crate) rows: &'a [T],
    /// A label for each row.
    pub(crate) labels: &'a [f64],
    pub(crate) theta: &'a [f64],
    pub(crate) weight: f64,
    pub(crate) clip: f64,
    /// The sum of gradients.
    pub(crate) out: &'a mut [f64],
}

impl<T: Stored> Kernel for BlockSoftmax<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let BlockSoftmax { softmax, rows, labels, theta, weight, clip, out } = self;
        let (classes, records) = (softmax.classes, labels.len());
        let features = theta.len() / classes;
        // Scores of all records for one class after the other, then slopes.
        let mut scores = vec![0.0; classes * records];
        let mut own = vec![0.0; classes];
        for (scores, theta) in scores.chunks_exact_mut(records).zip(theta.chunks_exact(features)) {
            dot_rows::<S::F64x8, T>(rows, theta, scores);
        }
        for (record, &label) in labels.iter().enumerate() {
            for (own, score) in own.iter_mut().zip(scores[record..].iter().step_by(records)) {
                *own = *score;
            }
            replace_by_slopes(&mut own, label, weight, clip);
            for (own, slope) in own.iter().zip(scores[record..].iter_mut().step_by(records)) {
                *slope = *own;
            }
        }
        for (slopes, out) in scores.chunks_exact(records).zip(out.chunks_exact_mut(features)) {
            add_scaled_rows::<S::F64x8, T>(slopes, rows, features, out);
        }
    }
}

/// The class of a checked label.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "labels are checked")]
fn class_of(label: f64) -> usize {
    label as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use undertone_simd::{Half, run};

    fn values(count: usize, seed: f64) -> Vec<f64> {
        (0..count).map(|k| (k as f64 * 0.731 + seed).sin()).collect()
    }

    fn assert_block_is_sum<T: Stored>(rows: &[T], classes: usize, records: usize, clip: f64) {
        let (softmax, features) = (Softmax { classes }, rows.len() / records);
        let theta = values(classes * features, 0.2);
        let labels: Vec<f64> = (0..records).map(|k| (k % classes) as f64).collect();
        let mut expected = values(classes * features, 0.7);
        let mut out = expected.clone();
        for (row, &label) in rows.chunks_exact(features).zip(&labels) {
            softmax.add_gradient(&theta, T::row(row), label, 0.3, clip, &mut expected);
        }
        let (labels, theta, out) = (&labels[..], &theta[..], &mut out[..]);
        run(BlockSoftmax { softmax, rows, labels, theta, weight: 0.3, clip, out });
        let equal = out.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits());
        assert!(equal, "{classes} classes, {records} records of {features} features");
    }

    #[test]
    fn a_block_of_records_has_the_bits_of_one_record_after_the_other() {
        for (classes, records, features, clip) in
            [(2, 1, 1, 9.0), (3, 5, 7, 0.5), (10, 32, 33, 0.9), (4, 31, 8, f64::INFINITY)]
        {
            let rows = values(records * features, 0.4);
            assert_block_is_sum(&rows, classes, records, clip);
            let halves: Vec<Half> =
                rows.iter().map(|&value| Half::towards_zero(value as f32)).collect();
            assert_block_is_sum(&halves, classes, records, clip);
        }
    }
}
