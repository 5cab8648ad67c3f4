//! The errors that most of the laboratory shares: of experiments, and of the files that they write.

use crate::attack::AttackError;
use crate::compare::settings::ComparedMethod;
use crate::presets::preset_names;
use crate::simulate::SimulateError;
use crate::stream::StreamError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;
use undertone::planner::PlannerError;
use undertone::{LoadError, Round};
use undertone_models::{ExportError, SetupError};

/// Why an experiment cannot be loaded, planned or run.
#[derive(Debug, Error)]
pub enum ExperimentError {
    /// There is no preset of that name.
    #[error("no preset is called \"{name}\"; there are: {}", preset_names().join(", "))]
    NoPreset {
        /// What was asked for.
        name: String,
    },
    /// The file cannot be read, or has faults.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Model, memory and noise do not fit together.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The records cannot be used.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// A run failed.
    #[error(transparent)]
    Simulate(#[from] SimulateError),
    /// A file or folder of results cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// No target can be met, or there are too few records.
    #[error("no plan: {0}")]
    Plan(#[from] PlannerError),
    /// Nothing says how many rounds.
    #[error(
        "rounds: an agreement does not say how many; give at least 1 and fewer than {}",
        Round::LIMIT
    )]
    NoRounds,
    /// The loss has no constants that a forecast could follow from.
    #[error(
        "--tune cannot forecast how a neural network, or a loss without L and μ, learns; give the schedule in the config"
    )]
    NoForecast,
    /// There is nothing to attack.
    #[error(transparent)]
    Attack(#[from] AttackError),
    /// A comparison tunes every method with the planner, which does not forecast neural networks.
    #[error("compare knows linear models only: the planner cannot tune neural networks")]
    NotComparable,
    /// The settings of one method of a comparison cannot be made.
    #[error("{method}: {error}")]
    OfMethod {
        /// Which method.
        method: ComparedMethod,
        /// Why.
        error: Box<ExperimentError>,
    },
    /// The budget did not last: a fault of the settings.
    #[error("{method}: the budget ended the run after {rounds} rounds")]
    Exhausted {
        /// Which method.
        method: ComparedMethod,
        /// How many rounds were run.
        rounds: u64,
    },
    /// No step was found that converges without noise while twice that step does not.
    #[error("{method}: no step was found at which doubling breaks convergence")]
    NoStep {
        /// Which method.
        method: ComparedMethod,
    },
    /// The runs measured nothing: the data have no test records.
    #[error("nothing was measured")]
    NothingMeasured,
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The caller asked to stop an experiment that keeps its finished runs.
    #[error(
        "interrupted; {runs} finished runs are kept, and the same command continues from there"
    )]
    InterruptedButKept {
        /// How many.
        runs: usize,
    },
}

/// Why a file or folder of results cannot be read or written.
#[derive(Debug, Error)]
pub enum FileError {
    /// The folder exists already.
    #[error("{} exists already: choose another --out, or remove it", path.display())]
    Exists {
        /// Which folder.
        path: PathBuf,
    },
    /// The operating system does not let it be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The operating system does not let it be written.
    #[error("cannot write {}: {error}", path.display())]
    Write {
        /// Which file or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The folder holds runs of another experiment.
    #[error("{} holds runs of another config, data or version: choose another --out", path.display())]
    OtherRuns {
        /// Which folder.
        path: PathBuf,
    },
    /// Another process writes into the folder.
    #[error("{} is in use by another process", path.display())]
    InUse {
        /// Which folder.
        path: PathBuf,
    },
    /// A line is not what the file holds.
    #[error("{}, line {line}: {reason}", path.display())]
    Line {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// An experiment has no form in TOML.
    #[error("cannot write the experiment as TOML: {0}")]
    Toml(#[from] toml::ser::Error),
    /// The rounds cannot be written as CSV.
    #[error("cannot write rounds.csv: {0}")]
    Csv(#[from] csv::Error),
    /// A value has no form in JSON.
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The model cannot be written.
    #[error("cannot write model.safetensors: {0}")]
    Model(#[from] ExportError),
}

impl FileError {
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> FileError {
        let path = path.to_path_buf();
        move |error| FileError::Read { path, error }
    }

    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> FileError {
        let path = path.to_path_buf();
        move |error| FileError::Write { path, error }
    }
}
