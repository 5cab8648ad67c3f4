//! The softmax loss: one row of parameters for each class, stored class after class.

use crate::row::Row;

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
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut total = 0.0;
        for score in &mut scores {
            *score = (*score - largest).exp();
            total += *score;
        }
        for score in &mut scores {
            *score /= total;
        }
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
        let mut slopes = self.probabilities(theta, row);
        if let Some(slope) = slopes.get_mut(class_of(label)) {
            *slope -= 1.0;
        }
        let norm = slopes.iter().map(|slope| slope * slope).sum::<f64>().sqrt();
        let weight = if norm > clip { weight * (clip / norm) } else { weight };
        for (part, slope) in out.chunks_exact_mut(features).zip(slopes) {
            row.add_scaled_to(weight * slope, part);
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

/// The class of a checked label.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "labels are checked")]
fn class_of(label: f64) -> usize {
    label as usize
}
