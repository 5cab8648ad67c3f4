//! Comparing methods on the same data and graph, with the same certified budget.
//!
//! [`settings`] makes the experiment of one method at one budget, [`run`] runs it with one seed, [`store`]
//! keeps the measurements so that an interrupted comparison can be continued, [`statistics`] summarises
//! them and [`page`] writes the report.

mod fingerprint;
pub mod page;
pub mod settings;
pub mod statistics;
pub mod store;

use crate::error::ExperimentError;
use crate::seeded_run::{prepare, seeded_run};
use crate::simulate::Measuring;
use serde::{Deserialize, Serialize};
use settings::{ComparedMethod, Settings};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

/// The measurements of one run of one method at one budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The digest of the settings.
    pub digest: String,
    /// Which method.
    pub method: ComparedMethod,
    /// The target ε; `None` is a run without privacy.
    pub epsilon: Option<f64>,
    /// The seed of data order, test split and noise.
    pub seed: u64,
    /// Test accuracy of the public model; absent where nothing is published, and for regression.
    pub accuracy_public: Option<f64>,
    /// Mean test accuracy of the learners' own parameters.
    pub accuracy_own: Option<f64>,
    /// Test accuracy of the optimum over all records: centralised and not private.
    pub accuracy_central: Option<f64>,
    /// F(θ_i) − F(θ*) in the last round, mean over learners.
    pub regret: f64,
    /// The same, averaged over all rounds.
    pub regret_mean: f64,
    /// The lifetime ε at the agreement's δ, the largest of all learners; `None` without privacy, or where a
    /// learner's records ran out.
    pub certified_epsilon: Option<f64>,
    /// Wall time of a round of all learners, measurements included.
    pub seconds_per_round: f64,
    /// Bytes that a learner sends per round, eight per value to each of its neighbours; the mean.
    pub bytes_per_round: f64,
}

/// Which rounds of a run are measured.
const ROWS: Measuring = Measuring::Evenly(40);

/// Runs one method at one budget with one seed.
///
/// # Errors
/// When the experiment or its data cannot be used.
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
    // A certificate assumes the planned records: with fewer records each weighs more.
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
