//! Undertone for Python: the compiled part of the package `undertone`.
//!
//! Nothing is decided here. Python's values become records and configs, the crate `undertone` (for simulations,
//! audits and seeds the laboratory) does the work, and what comes of it becomes Python's values again. The package's own Python files are in `python/undertone`.

mod account;
mod arrays;
mod config;
mod errors;
mod learner;
mod loss;
mod network;
mod public_model;
mod reports;
mod settings;

use pyo3::prelude::*;

/// The compiled part of the package `undertone`.
#[pymodule]
mod _undertone {
    #[pymodule_export]
    use crate::account::PyAccountant;
    #[pymodule_export]
    use crate::config::PyConfig;
    #[pymodule_export]
    use crate::errors::{BudgetError, ConfigError, DeclarationError, RecordError};
    #[pymodule_export]
    use crate::learner::PyLearner;
    #[pymodule_export]
    use crate::loss::PyLoss;
    #[pymodule_export]
    use crate::network::PyNetwork;
    #[pymodule_export]
    use crate::public_model::PyPublicModel;
    #[pymodule_export]
    use crate::reports::{audit, budget, doctor, get_data, plan, presets, verify};
    #[pymodule_export]
    use crate::settings::learner_settings;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
