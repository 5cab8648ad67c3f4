//! Datasets, in-process runs, metrics and reports for Undertone.
//!
//! Read [`simulate`](simulate()) first: it is the plain loop over a round. [`Setup`] is what follows
//! from a config before any record is seen, [`stream`] is where records come from, [`catalogue`] gets
//! data sets by name. [`audit`] tries to break what the accountant claims.

pub mod attack;
pub mod audit;
pub mod budget;
pub mod catalogue;
pub mod columns;
pub mod compare;
pub mod data;
mod declaration;
mod entropy;
mod error;
pub mod experiment;
pub mod learner_file;
pub mod ledger_file;
mod metrics;
mod neural_metrics;
mod optimum;
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

pub use declaration::{DeclarationError, check_declaration};
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
