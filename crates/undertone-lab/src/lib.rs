//! Experiments with Undertone: data sets, in-process runs, metrics, audits, attacks and reports.
//!
//! Read [`simulate`](simulate()) first: it is the plain loop over a round. An [`Experiment`] is an agreement
//! with its data and rounds, [`stream`] loads the records, [`catalogue`] installs data sets by name.
//! [`audit`] tries to break what the accountant claims.

pub mod attack;
pub mod audit;
pub mod budget;
pub mod catalogue;
pub mod columns;
pub mod compare;
pub mod config;
mod entropy;
mod error;
pub mod experiment;
pub mod ledger_file;
mod metrics;
mod neural_metrics;
mod optimum;
pub mod partition;
pub mod planner;
pub mod presets;
pub mod report;
pub mod reproduce;
pub mod run_folder;
pub mod run_store;
mod seeded_run;
mod simulate;
pub mod stream;
pub mod summary;

/// Loaders of files and the built-in data set.
pub use undertone_data as data;

pub use entropy::{RunEntropy, SeededEntropy};
pub use error::{ExperimentError, FileError};
pub use experiment::{Experiment, LoadedExperiment, RawExperiment};
pub use metrics::Metrics;
pub use optimum::Optimum;
pub use simulate::{
    Ending, FinalParameters, LearnerOutcome, Measuring, Outcome, RoundRow, SimulateError,
    Simulation, simulate,
};
pub use summary::{RunFacts, Summary};
pub use undertone_models::{Setup, SetupError, memory_error};
