//! Python's exceptions.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::fmt::Display;
use undertone::OnlineError;
use undertone_lab::SimulateError;
use undertone_lab::data::DataError;
use undertone_lab::stream::StreamError;

pyo3::create_exception!(
    undertone,
    BudgetError,
    PyRuntimeError,
    "The privacy budget is spent: nothing more may be released. What was learnt stays."
);
pyo3::create_exception!(
    undertone,
    ConfigError,
    PyValueError,
    "A config, or an argument that becomes part of one, cannot be used. Names every fault at once."
);
pyo3::create_exception!(
    undertone,
    RecordError,
    PyValueError,
    "A record does not fit. Says where and which bound, never a value. Nothing of it was kept."
);
pyo3::create_exception!(
    undertone,
    DeclarationError,
    PyValueError,
    "What was declared of a loss is not true of it."
);

pub(crate) fn config_error(error: impl Display) -> PyErr {
    ConfigError::new_err(error.to_string())
}

/// The given δ, or the config's.
pub(crate) fn checked_delta(asked: Option<f64>, own: f64) -> PyResult<f64> {
    let delta = asked.unwrap_or(own);
    if delta > 0.0 && delta < 1.0 {
        Ok(delta)
    } else {
        Err(PyValueError::new_err(format!("delta = {delta}: must be above 0 and below 1")))
    }
}

/// Rounds are added up one by one, so more would take minutes.
pub(crate) fn checked_rounds(rounds: u64) -> PyResult<u64> {
    if rounds <= 100_000_000 {
        Ok(rounds)
    } else {
        Err(PyValueError::new_err("rounds: at most 100000000; for ever is lifetime_epsilon"))
    }
}

pub(crate) fn stream_error(learner: Option<usize>, error: StreamError) -> PyErr {
    let place = learner.map_or(String::new(), |learner| format!("learner {learner}: "));
    match error {
        StreamError::Data(DataError::Unfit { record, error }) => {
            // Rows are counted from 0 in Python.
            RecordError::new_err(format!("{place}row {}: {error}", record - 1))
        }
        error @ (StreamError::Data(_)
        | StreamError::TooFewRecords { .. }
        | StreamError::NotAClass { .. }
        | StreamError::EmptyLearner { .. }
        | StreamError::NothingWithinBounds { .. }
        | StreamError::Format { .. }
        | StreamError::UnknownSource { .. }
        | StreamError::Catalogue(_)
        | StreamError::UnusedKey { .. }
        | StreamError::UnusedByImages { .. }
        | StreamError::WarmupTooLong { .. }) => ConfigError::new_err(format!("{place}{error}")),
    }
}

pub(crate) fn online_error(error: OnlineError) -> PyErr {
    let text = error.to_string();
    match error {
        OnlineError::Budget(_) => BudgetError::new_err(text),
        OnlineError::Record(_) => RecordError::new_err(text),
        OnlineError::Function(_) => DeclarationError::new_err(text),
        OnlineError::NotAlone
        | OnlineError::NothingReleased
        | OnlineError::Setup(_)
        | OnlineError::Damaged(_) => ConfigError::new_err(text),
        OnlineError::Release(_) => PyRuntimeError::new_err(text),
    }
}

pub(crate) fn simulate_error(error: SimulateError) -> PyErr {
    let text = error.to_string();
    match error {
        SimulateError::Setup(_) => ConfigError::new_err(text),
        SimulateError::Function(_) => DeclarationError::new_err(text),
        SimulateError::Release { .. } => PyRuntimeError::new_err(text),
    }
}
