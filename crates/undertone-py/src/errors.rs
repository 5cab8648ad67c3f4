//! Python's exceptions for what can go wrong.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::fmt::Display;
use undertone_lab::{OnlineError, SimulateError};

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

pub(crate) fn online_error(error: OnlineError) -> PyErr {
    let text = error.to_string();
    match error {
        OnlineError::Budget(_) => BudgetError::new_err(text),
        OnlineError::Bounds(_) | OnlineError::Record(_) => RecordError::new_err(text),
        OnlineError::Function(_) => DeclarationError::new_err(text),
        OnlineError::NotAlone
        | OnlineError::NothingReleased
        | OnlineError::Memory(_)
        | OnlineError::Damaged(_) => ConfigError::new_err(text),
        OnlineError::Release(_) => PyRuntimeError::new_err(text),
    }
}

pub(crate) fn simulate_error(error: SimulateError) -> PyErr {
    let text = error.to_string();
    match error {
        SimulateError::Record { .. } | SimulateError::TestRecord(_) => RecordError::new_err(text),
        SimulateError::Memory(_) => ConfigError::new_err(text),
        SimulateError::Function(_) => DeclarationError::new_err(text),
        SimulateError::Release { .. } => PyRuntimeError::new_err(text),
    }
}
