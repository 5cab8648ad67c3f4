//! Experiments with Undertone in one process. Runs with a seed are NOT PRIVATE: anyone who knows the seed can subtract
//! the noise. No daemon depends on this crate.
//!
//! Start with [`simulate`](simulate()), the loop over the rounds of all learners. Then:
//!
//! | for | look at |
//! |---|---|
//! | what is simulated: an agreement with its data and rounds | [`Experiment`], [`presets`], [`config`] |
//! | the records of each learner | [`stream`], [`partition`]; data sets by name in [`catalogue`] |
//! | what a run gives | [`Outcome`], [`Metrics`], [`Summary`]; its files in [`run_folder`] and [`ledger_file`], its page in [`report`] |
//! | budgets, and noise for a target | [`budget`], [`planner`] |
//! | methods at equal budgets | [`compare`] |
//! | whether the account is right | [`audit`], which tries to break its claims |
//! | what an observer can reconstruct | [`attack`] |
//! | the paper's tables and figures | [`reproduce`] |

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
