//! What is measured in a round of a simulation.

use crate::neural_metrics::NeuralEvaluator;
use crate::optimum::Optimum;
use rayon::prelude::*;
use serde::Serialize;
use std::sync::Arc;
use undertone::{Domain, Memory};
use undertone_models::memory::Exact;
use undertone_models::{BoundedRecord, Model};

/// The measurements of one round.
///
/// Errors and regrets are NaN for neural networks and for a user's function, whose optimum is unknown, and for linear models
/// that are too large to compute it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Metrics {
    /// Mean over learners of ‖θ_i − θ*‖².
    pub tracking_error: f64,
    /// ‖θ̄ − θ*‖, θ̄ the average over learners.
    pub tracking_distance_of_mean: f64,
    /// Mean over learners of F_t(θ_i) − F_t(θ*).
    pub instantaneous_regret: f64,
    /// The sum of the instantaneous regrets so far.
    pub dynamic_regret: f64,
    /// Mean over learners of ‖θ_i − θ̄‖².
    pub consensus_error: f64,
    /// F_t at θ*: the best possible loss.
    pub optimal_loss: f64,
    /// Mean test accuracy of the learners' own θ_i. Absent for regression or without test data.
    pub test_accuracy_private: Option<f64>,
    /// Test accuracy of the public model.
    pub test_accuracy_public: Option<f64>,
    /// Test accuracy of θ*, which no private method reaches.
    pub test_accuracy_optimum: Option<f64>,
    /// Mean accuracy of the learners' own θ_i on a sample of the records seen so far, for neural networks.
    pub training_accuracy: Option<f64>,
    /// Mean loss of the public model on the test records, penalties included.
    pub test_loss_public: Option<f64>,
}

/// Measures a simulation of any model.
pub(crate) enum Evaluator {
    /// By comparison with the optimum.
    Linear(LinearEvaluator),
    /// By accuracy only.
    Neural(NeuralEvaluator),
    /// By the test records only.
    HeldOut(HeldOutEvaluator),
}

impl Evaluator {
    /// Adds what a learner observed.
    pub(crate) fn remember(&mut self, learner: usize, theta: &[f64], batch: &[BoundedRecord]) {
        match self {
            Evaluator::Linear(evaluator) => evaluator.remember(learner, batch),
            Evaluator::Neural(evaluator) => evaluator.remember(learner, theta, batch),
            Evaluator::HeldOut(_) => {}
        }
    }

    /// Measures the learners' parameters and the public model.
    ///
    /// `rounds` is how many rounds this measurement stands for in the dynamic regret.
    pub(crate) fn measure(&mut self, thetas: &[&[f64]], public: &[f64], rounds: u64) -> Metrics {
        match self {
            Evaluator::Linear(evaluator) => evaluator.measure(thetas, public, rounds),
            Evaluator::Neural(evaluator) => evaluator.measure(thetas, public),
            Evaluator::HeldOut(evaluator) => evaluator.measure(thetas, public),
        }
    }
}

/// Measures linear models. It holds copies of all histories, which only a simulation can.
pub(crate) struct LinearEvaluator {
    histories: Vec<Exact>,
    test: Option<Exact>,
    optimum: Optimum,
    regression: bool,
    dynamic_regret: f64,
}

impl LinearEvaluator {
    /// An evaluator with empty histories: one for each learner, or one for all records, which is equivalent
    /// while all learners hold equally many.
    pub(crate) fn new(
        model: &Arc<Model>,
        domain: Domain,
        histories: usize,
        test: &[BoundedRecord],
        regression: bool,
    ) -> LinearEvaluator {
        let histories = (0..histories).map(|_| Exact::new(Arc::clone(model))).collect();
        let test = held_out(model, test);
        let optimum = Optimum::new(Arc::clone(model), domain);
        LinearEvaluator { histories, test, optimum, regression, dynamic_regret: 0.0 }
    }

    /// Adds what a learner observed.
    fn remember(&mut self, learner: usize, batch: &[BoundedRecord]) {
        let index = learner % self.histories.len();
        self.histories[index].remember(batch);
    }

    /// Measures the learners' parameters and the public model.
    ///
    /// `rounds` is how many rounds this measurement stands for in the dynamic regret.
    fn measure(&mut self, thetas: &[&[f64]], public: &[f64], rounds: u64) -> Metrics {
        self.optimum.update(&mut self.histories);
        let best = self.optimum.theta();
        let histories = &self.histories;
        let objective = |theta: &[f64]| -> f64 {
            #[expect(clippy::cast_precision_loss, reason = "learner counts are small")]
            let share = 1.0 / histories.len() as f64;
            histories.iter().map(|history| share * history.average_loss(theta)).sum()
        };
        let optimal_loss = objective(best);
        let losses: Vec<f64> = thetas.par_iter().map(|theta| objective(theta)).collect();
        let mean = mean_vector(thetas);
        let average = |values: &dyn Fn(&[f64]) -> f64| {
            #[expect(clippy::cast_precision_loss, reason = "learner counts are small")]
            let count = thetas.len() as f64;
            thetas.iter().map(|theta| values(theta)).sum::<f64>() / count
        };
        #[expect(clippy::cast_precision_loss, reason = "learner counts are small")]
        let regret = losses.iter().sum::<f64>() / losses.len() as f64 - optimal_loss;
        #[expect(clippy::cast_precision_loss, reason = "rounds stay below 2^32")]
        let weight = rounds as f64;
        self.dynamic_regret += regret * weight;
        let classify = self.test.as_ref().filter(|_| !self.regression);
        Metrics {
            tracking_error: average(&|theta| squared_distance(theta, best)),
            tracking_distance_of_mean: squared_distance(&mean, best).sqrt(),
            instantaneous_regret: regret,
            dynamic_regret: self.dynamic_regret,
            consensus_error: average(&|theta| squared_distance(theta, &mean)),
            optimal_loss,
            test_accuracy_private: classify.map(|test| average(&|theta| test.accuracy(theta))),
            test_accuracy_public: classify.map(|test| test.accuracy(public)),
            test_accuracy_optimum: classify.map(|test| test.accuracy(best)),
            training_accuracy: None,
            test_loss_public: self.test.as_ref().map(|test| test.average_loss(public)),
        }
    }
}

/// Measures what has no known optimum: a user's function, or a model for which it would take too long.
pub(crate) struct HeldOutEvaluator {
    test: Option<Exact>,
    regression: bool,
}

impl HeldOutEvaluator {
    /// An evaluator on test records.
    pub(crate) fn new(
        model: &Arc<Model>,
        test: &[BoundedRecord],
        regression: bool,
    ) -> HeldOutEvaluator {
        HeldOutEvaluator { test: held_out(model, test), regression }
    }

    fn measure(&self, thetas: &[&[f64]], public: &[f64]) -> Metrics {
        let mean = mean_vector(thetas);
        let spread: f64 = thetas.iter().map(|theta| squared_distance(theta, &mean)).sum();
        #[expect(clippy::cast_precision_loss, reason = "learner counts are small")]
        let learners = thetas.len() as f64;
        let classify = self.test.as_ref().filter(|_| !self.regression);
        let own = |test: &Exact| {
            thetas.par_iter().map(|theta| test.accuracy(theta)).collect::<Vec<f64>>()
        };
        Metrics {
            tracking_error: f64::NAN,
            tracking_distance_of_mean: f64::NAN,
            instantaneous_regret: f64::NAN,
            dynamic_regret: f64::NAN,
            consensus_error: spread / learners,
            optimal_loss: f64::NAN,
            test_accuracy_private: classify.map(|test| own(test).iter().sum::<f64>() / learners),
            test_accuracy_public: classify.map(|test| test.accuracy(public)),
            test_loss_public: self.test.as_ref().map(|test| test.average_loss(public)),
            ..Metrics::default()
        }
    }
}

/// Test records as a history, if there are any.
fn held_out(model: &Arc<Model>, test: &[BoundedRecord]) -> Option<Exact> {
    if test.is_empty() {
        return None;
    }
    let mut held_out = Exact::new(Arc::clone(model));
    held_out.observe(&vec![0.0; model.parameters()], test);
    Some(held_out)
}

pub(crate) fn mean_vector(thetas: &[&[f64]]) -> Vec<f64> {
    #[expect(clippy::cast_precision_loss, reason = "learner counts are small")]
    let share = 1.0 / thetas.len() as f64;
    let mut mean = vec![0.0; thetas[0].len()];
    for theta in thetas {
        for (slot, value) in mean.iter_mut().zip(*theta) {
            *slot += share * value;
        }
    }
    mean
}

pub(crate) fn squared_distance(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(a, b)| (a - b) * (a - b)).sum()
}
