//! Methods side by side: the same data, the same graph, the same certified budget.
//!
//! [`settings`] makes the config of one method at one budget, [`run`] measures it with one seed, [`store`]
//! keeps what was measured so that an interrupted comparison goes on where it stopped, [`statistics`]
//! condenses it and [`page`] draws it.

mod fingerprint;
pub mod page;
pub mod settings;
pub mod statistics;
pub mod store;

use crate::error::ExperimentError;
use crate::seeded_run::{prepare, seeded_run};
use crate::simulate::Measuring;
use serde::{Deserialize, Serialize};
use settings::{Method, Settings};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

/// What one run of one method at one budget measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The settings' digest: other settings are not the same experiment.
    pub digest: String,
    /// Which method.
    pub method: Method,
    /// The ε that was asked for; `None` is a run without privacy.
    pub epsilon: Option<f64>,
    /// The seed of data order, test split and noise.
    pub seed: u64,
    /// Test accuracy of the public model; absent where nothing is published, and for regression.
    pub accuracy_public: Option<f64>,
    /// Mean test accuracy of the learners' own parameters.
    pub accuracy_own: Option<f64>,
    /// Test accuracy of the optimum over all records: centralised, not private.
    pub accuracy_central: Option<f64>,
    /// F(θ_i) − F(θ*) in the last round, mean over learners.
    pub regret: f64,
    /// The same, averaged over all rounds.
    pub regret_mean: f64,
    /// ε certified for ever at the config's δ, the largest of all learners; `None` without privacy, or
    /// where a stream ran dry.
    pub certified_epsilon: Option<f64>,
    /// Wall time of a round, measuring included, all learners together.
    pub seconds_per_round: f64,
    /// Bytes a learner sends in a round, at eight a value and to each of its neighbours; the mean.
    pub bytes_per_round: f64,
}

/// So many rounds of a run are measured.
const ROWS: Measuring = Measuring::Evenly(40);

/// Runs one method at one budget with one seed.
///
/// # Errors
/// When data or config cannot be used.
pub fn run(settings: &Settings, folder: &Path, seed: u64) -> Result<Measurement, ExperimentError> {
    let (setup, streams) = prepare(&settings.experiment, folder, seed)?;
    let started = Instant::now();
    let go = |_: Option<&_>| ControlFlow::Continue(());
    let planned = settings.experiment.rounds;
    let outcome = seeded_run(&setup, planned, streams, seed, ROWS, go)?;
    let seconds = started.elapsed().as_secs_f64();
    if outcome.rounds_run < planned {
        let rounds = outcome.rounds_run;
        return Err(ExperimentError::Exhausted { method: settings.method, rounds });
    }
    let last = outcome.rows.last().map(|row| row.metrics).unwrap_or_default();
    let rounds = planned as f64;
    let graph = &setup.agreement.graph;
    let messages = 2.0 * graph.edges() as f64 / graph.learners() as f64;
    let sends = settings.method.publishes();
    // A certificate counts on the planned records: without them each of the others weighs more.
    let certified = setup.lifetime_epsilon_max().filter(|_| !outcome.ran_dry());
    Ok(Measurement {
        digest: settings.digest()?,
        method: settings.method,
        epsilon: settings.epsilon,
        seed,
        accuracy_public: last.test_accuracy_public.filter(|_| sends),
        accuracy_own: last.test_accuracy_private,
        accuracy_central: last.test_accuracy_optimum,
        regret: last.instantaneous_regret,
        regret_mean: last.dynamic_regret / rounds,
        certified_epsilon: settings.epsilon.and(certified),
        seconds_per_round: seconds / rounds,
        bytes_per_round: if sends { 8.0 * setup.model.parameters() as f64 * messages } else { 0.0 },
    })
}
