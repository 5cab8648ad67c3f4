//! Metrics of neural networks: accuracy, and the distance between learners.

use crate::metrics::{Metrics, mean_vector, squared_distance};
use rayon::prelude::*;
use std::sync::Arc;
use undertone::{Memory, Round, Score};
use undertone_models::memory::NeuralHistory;
use undertone_models::{BoundedRecord, NeuralModel};

/// Training accuracy is measured on about this many records.
const SAMPLE: u64 = 2000;

/// Measures neural networks, for which no optimum is known.
pub(crate) struct NeuralEvaluator {
    /// Every `stride`-th record of each learner.
    seen: NeuralHistory,
    stride: u64,
    /// How many records each learner has seen.
    counts: Vec<u64>,
    test: Option<NeuralHistory>,
}

impl NeuralEvaluator {
    /// An evaluator for a run in which each learner will see `records`.
    pub(crate) fn new(
        model: &Arc<NeuralModel>,
        learners: usize,
        records: u64,
        test: &[BoundedRecord],
    ) -> NeuralEvaluator {
        let empty = || NeuralHistory::new(Arc::clone(model), None);
        let test = (!test.is_empty()).then(|| filled(empty(), model, test));
        let stride = records.saturating_mul(learners as u64).div_ceil(SAMPLE).max(1);
        NeuralEvaluator { seen: empty(), stride, counts: vec![0; learners], test }
    }

    /// Remembers some of what a learner observed.
    pub(super) fn remember(&mut self, learner: usize, theta: &[f64], batch: &[BoundedRecord]) {
        for record in batch {
            if self.counts[learner].is_multiple_of(self.stride) {
                self.seen.observe(theta, std::slice::from_ref(record));
            }
            self.counts[learner] += 1;
        }
    }

    /// Measures the learners' parameters and the public model.
    pub(super) fn measure(&mut self, thetas: &[&[f64]], public: &[f64]) -> Metrics {
        self.seen.end_round(Round::ZERO);
        let mean = mean_vector(thetas);
        let spread: Vec<f64> = thetas.iter().map(|theta| squared_distance(theta, &mean)).collect();
        let seen: Vec<f64> =
            thetas.par_iter().map(|theta| accuracy(self.seen.score(theta))).collect();
        let own: Option<Vec<f64>> = self
            .test
            .as_ref()
            .map(|test| thetas.par_iter().map(|theta| accuracy(test.score(theta))).collect());
        let public = self.test.as_ref().map(|test| test.score(public));
        Metrics {
            tracking_error: f64::NAN,
            tracking_distance_of_mean: f64::NAN,
            instantaneous_regret: f64::NAN,
            dynamic_regret: f64::NAN,
            consensus_error: average(&spread),
            optimal_loss: f64::NAN,
            test_accuracy_private: own.as_deref().map(average),
            test_accuracy_public: public.map(accuracy),
            test_accuracy_optimum: None,
            training_accuracy: Some(average(&seen)),
            test_loss_public: public.map(|score| score.loss_sum / score.records as f64),
        }
    }
}

fn filled(
    mut history: NeuralHistory,
    model: &NeuralModel,
    records: &[BoundedRecord],
) -> NeuralHistory {
    // `observe` also scores the records, here at zero parameters; the score is not used.
    history.observe(&vec![0.0; model.neural().parameters()], records);
    history.end_round(Round::ZERO);
    history
}

fn accuracy(score: Score) -> f64 {
    score.correct as f64 / score.records as f64
}

fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
