//! Rank correlations of noise that should be independent.
//!
//! Ranks, because the heavy tails of the noise would dominate; products of ranks, because they need
//! little code.

use super::intervals::{ALPHA, critical};
use super::report::{Check, Layer, Verdict};

/// Σ of products of ranks.
#[derive(Default)]
pub(super) struct Sum {
    total: f64,
    pub(super) count: u64,
}

impl Sum {
    pub(super) fn add(&mut self, left: &[f64], right: &[f64]) {
        self.total += left.iter().zip(right).map(|(a, b)| a * b).sum::<f64>();
        self.count += left.len() as u64;
    }
}

/// The largest of several correlations.
#[derive(Default)]
pub(super) struct Family {
    tests: u64,
    score: f64,
    correlation: f64,
    lag: usize,
}

impl Family {
    pub(super) fn include(&mut self, sum: &Sum, lag: usize) {
        self.tests += 1;
        // Ranks are uniform on ±½: their product has mean 0 and deviation 1/12.
        let count = sum.count as f64;
        let score = 12.0 * sum.total / count.sqrt();
        if !(score.abs() <= self.score.abs()) {
            *self = Family { score, correlation: 12.0 * sum.total / count, lag, ..*self };
        }
    }

    pub(super) fn check(&self, name: &'static str, unit: &str) -> Check {
        let row = |measured, verdict, note| Check {
            layer: Layer::Residuals,
            name,
            claimed: 0.0,
            measured,
            verdict,
            note,
        };
        if self.tests == 0 {
            return row(f64::NAN, Verdict::Skipped, "nothing to compare".into());
        }
        let limit = critical(ALPHA / self.tests as f64);
        let note = format!(
            "largest rank correlation of {}, {} {unit}; z = {:.2}, limit {limit:.2}",
            self.tests, self.lag, self.score
        );
        row(self.correlation, Verdict::of(self.score.abs() <= limit), note)
    }
}
