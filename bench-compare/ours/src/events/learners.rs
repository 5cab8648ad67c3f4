//! Learners of one network: their setup, their settings and their records.

use super::Scenario;
use crate::configs;
use std::sync::Arc;
use std::time::Duration;
use undertone::{LearnerId, Round};
use undertone_models::{BoundedRecord, Features, Record, RecordChecker, Setup};
use undertone_node::protocol::{FOLLOW_RATE, Settings};
use undertone_simulation::Dice;

/// The network of a scenario: shielded ridge regression from widely spread starting points, with
/// coupling 1.
///
/// Weights are half of one over the degree: no eigenvalue of W is then below −1, and a graph that is not bipartite has
/// none at −1, as Assumption 2 asks.
pub(super) fn setup(scenario: &Scenario) -> Arc<Setup> {
    let Scenario { learners, degree, dimension, step, noise, .. } = scenario;
    let (shape, degree) = match scenario.topology.as_str() {
        "ring" => ("topology = \"ring\"".to_string(), 2),
        "torus" => {
            let columns = (*learners as f64).sqrt().round();
            (format!("topology = \"torus\"\ncolumns = {columns}"), 4)
        }
        _ => {
            let seed = scenario.seed;
            (format!("topology = \"random-regular\"\ndegree = {degree}\nseed = {seed}"), *degree)
        }
    };
    let weight = 0.5 / degree as f64;
    configs::spread_out(*learners, &shape, weight, *dimension, [*step, *noise])
}

pub(super) fn settings(scenario: &Scenario) -> Settings {
    let deadline = Duration::from_secs_f64(scenario.deadline_seconds);
    Settings {
        deadline,
        request_after: Duration::from_secs_f64(scenario.request_after_seconds),
        records_wait: deadline / 2,
        heard_min: scenario.heard_min,
        follow_rate: FOLLOW_RATE,
        end: Round(scenario.rounds),
        inbox_max: 16,
    }
}

/// A learner's record with a number; always the same for the same number.
pub(super) fn record(
    scenario: &Scenario,
    checker: &RecordChecker,
    learner: LearnerId,
    number: u64,
) -> BoundedRecord {
    let mut dice = Dice::new(scenario.seed ^ u64::from(learner.0) << 32 ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let scale = 1.7 / (scenario.dimension as f64).sqrt();
    let values: Vec<f64> = (0..scenario.dimension).map(|_| (dice.positive_unit() - 0.5) * scale).collect();
    let score: f64 = values.iter().sum();
    let record = Record { features: Features::Dense(values.into()), label: score.clamp(-1.0, 1.0) };
    checker.check(record).expect("a record within the bounds")
}
