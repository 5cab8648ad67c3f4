//! Configs: the same as the command's files, from a dict, a file or a preset.

use crate::errors::{ConfigError, config_error};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use undertone::load::{Source, Strictness};
use undertone_lab::config::{LoadedConfig, load_config};
use undertone_lab::experiment::{LoadedExperiment, Overrides};
use undertone_lab::presets::preset_source;
use undertone_lab::{Setup, SetupError};

/// Settings of learners, checked: the same as the file of the command ``undertone``.
///
/// With ``rounds`` or ``data`` they are an experiment, which a :class:`Network` runs; without, an agreement, which
/// is all that a :class:`Learner` and an :class:`Accountant` need. ``Config({"method": "shielded", ...})`` takes the
/// sections of the file as nested dicts. Every fault is reported at once, as :class:`ConfigError`.
///
/// >>> import undertone
/// >>> config = undertone.Config.preset("mushrooms")
/// >>> config["network.learners"], config["privacy.epsilon"]
/// (5, 8.0)
/// >>> config.replace({"privacy.epsilon": 2.0})["privacy.epsilon"]
/// 2.0
#[pyclass(module = "undertone", name = "Config", frozen)]
pub(crate) struct PyConfig {
    pub(crate) loaded: LoadedConfig,
    setup: OnceLock<Arc<Setup>>,
}

impl PyConfig {
    pub(crate) fn new(loaded: LoadedConfig) -> PyConfig {
        PyConfig { loaded, setup: OnceLock::new() }
    }

    /// What follows from the config; computed once.
    pub(crate) fn setup(&self, py: Python<'_>) -> PyResult<Arc<Setup>> {
        if let Some(setup) = self.setup.get() {
            return Ok(Arc::clone(setup));
        }
        let setup: Result<Setup, SetupError> = py.detach(|| self.loaded.setup());
        let setup = Arc::new(setup.map_err(config_error)?);
        Ok(Arc::clone(self.setup.get_or_init(|| setup)))
    }

    /// The experiment that it must be.
    pub(crate) fn experiment(&self) -> PyResult<&LoadedExperiment> {
        experiment(&self.loaded)
    }

    /// The agreement in it, as a config of its own.
    pub(crate) fn agreement(config: &Py<PyConfig>, py: Python<'_>) -> PyResult<Py<PyConfig>> {
        let loaded = &config.get().loaded;
        if loaded.experiment().is_none() {
            return Ok(config.clone_ref(py));
        }
        let agreement = LoadedConfig::Agreement(loaded.clone().into_agreement());
        Py::new(py, PyConfig::new(agreement))
    }

    /// What [`PyConfig::to_toml`] gave.
    pub(crate) fn from_text(text: &str) -> PyResult<PyConfig> {
        loaded(&Source::Text { origin: "the config".into(), text: text.into() }, Strictness::Run)
            .map(PyConfig::new)
    }

    fn value(&self) -> PyResult<Value> {
        let mut value = self.loaded.values().map_err(config_error)?;
        drop_empty(&mut value);
        Ok(value)
    }
}

#[pymethods]
impl PyConfig {
    #[new]
    fn from_dict(settings: &Bound<'_, PyDict>) -> PyResult<PyConfig> {
        loaded(&values(settings)?, Strictness::Run).map(PyConfig::new)
    }

    /// A config that comes with the package; ``undertone.presets()`` lists them.
    #[classmethod]
    fn preset(_class: &Bound<'_, PyType>, name: &str) -> PyResult<PyConfig> {
        loaded(&preset_source(name).map_err(config_error)?, Strictness::Run).map(PyConfig::new)
    }

    /// A config from a TOML file.
    #[classmethod]
    fn load(_class: &Bound<'_, PyType>, path: PathBuf) -> PyResult<PyConfig> {
        loaded(&Source::File(path), Strictness::Run).map(PyConfig::new)
    }

    /// The same with some settings changed: ``{"privacy.epsilon": 2.0, "records.batch": None}``. None removes one.
    fn replace(&self, changes: &Bound<'_, PyDict>) -> PyResult<PyConfig> {
        let mut value = self.value()?;
        for (key, change) in changes {
            let key: String = key.extract()?;
            set(&mut value, &key, from_python(&change)?)?;
        }
        let changed = loaded(&Source::Values(value), Strictness::Run)?;
        Ok(PyConfig::new(changed.in_folder(self.loaded.folder().into())))
    }

    /// One setting by its path, as in ``config["privacy.delta"]``; None if it is not set.
    fn __getitem__<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyAny>> {
        let value = self.value()?;
        let found = path.split('.').try_fold(&value, |value, key| value.get(key));
        to_python(py, &found)
    }

    /// All settings, as nested dicts.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.value()?)
    }

    /// The settings as the text of a file for the command ``undertone``, with noise scales
    /// computed.
    pub(crate) fn to_toml(&self, py: Python<'_>) -> PyResult<String> {
        self.loaded.to_toml(&self.setup(py)?.scales()).map_err(config_error)
    }

    /// The noise scale of round 0, for each learner.
    #[getter]
    fn noise_scales(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        Ok(self.setup(py)?.scales())
    }

    /// The bound for ever with this noise and without a cap: the largest ε of any learner at the config's δ; None
    /// without a certificate. Where noise is chosen for a number of rounds it is above the cap, which ends the run first.
    #[getter]
    fn lifetime_epsilon(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.setup(py)?.lifetime_epsilon_max())
    }

    /// The id of the network that these settings describe: equal where learners may talk to one another.
    #[getter]
    fn network_id(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.setup(py)?.network_id().to_string())
    }

    fn __repr__(&self) -> String {
        let agreement = self.loaded.agreement();
        let (name, learners) = (&agreement.name, agreement.graph.learners());
        match self.loaded.experiment() {
            Some(experiment) => {
                let rounds = experiment.checked.rounds;
                format!("Config(name={name:?}, learners={learners}, rounds={rounds})")
            }
            None => format!("Config(name={name:?}, learners={learners})"),
        }
    }
}

/// A config from whatever names one: a Config, a dict, a preset's name or a file's path.
pub(crate) fn from_any(source: &Bound<'_, PyAny>) -> PyResult<LoadedConfig> {
    read(source, Strictness::Run)
}

/// The same for one that may break conditions of the theorems, to be examined.
pub(crate) fn from_any_for_examination(source: &Bound<'_, PyAny>) -> PyResult<LoadedConfig> {
    read(source, Strictness::Examine)
}

/// The experiment that a config must be.
pub(crate) fn experiment(loaded: &LoadedConfig) -> PyResult<&LoadedExperiment> {
    loaded.experiment().ok_or_else(|| {
        ConfigError::new_err(
            "an experiment is needed, with rounds and data, and this is an agreement",
        )
    })
}

fn read(source: &Bound<'_, PyAny>, strictness: Strictness) -> PyResult<LoadedConfig> {
    if let Ok(config) = source.cast::<PyConfig>() {
        return Ok(config.get().loaded.clone());
    }
    if let Ok(settings) = source.cast::<PyDict>() {
        return loaded(&values(settings)?, strictness);
    }
    let is_text = source.is_instance_of::<PyString>();
    let path: PathBuf = source.extract().map_err(|_| {
        PyTypeError::new_err(
            "a config is a Config, a dict, the name of a preset or the path of a file",
        )
    })?;
    let is_file = !is_text || path.extension().is_some_and(|ending| ending == "toml");
    let source = if is_file {
        Source::File(path)
    } else {
        preset_source(&path.to_string_lossy()).map_err(config_error)?
    };
    loaded(&source, strictness)
}

fn loaded(source: &Source, strictness: Strictness) -> PyResult<LoadedConfig> {
    load_config(source, &Overrides::default(), strictness).map_err(config_error)
}

fn values(settings: &Bound<'_, PyDict>) -> PyResult<Source> {
    let mut value = from_python(settings)?;
    drop_empty(&mut value);
    Ok(Source::Values(value))
}

/// Sets or removes one setting by its path.
fn set(value: &mut Value, path: &str, change: Value) -> PyResult<()> {
    let mut place = value;
    let (sections, key) = path.rsplit_once('.').map_or((None, path), |(a, b)| (Some(a), b));
    for section in sections.into_iter().flat_map(|sections| sections.split('.')) {
        let table = place.as_object_mut();
        let table = table.ok_or_else(|| ConfigError::new_err(format!("{path}: unknown key")))?;
        place = table.entry(section).or_insert_with(|| Value::Object(serde_json::Map::new()));
    }
    let table = place.as_object_mut();
    let table = table.ok_or_else(|| ConfigError::new_err(format!("{path}: unknown key")))?;
    if change.is_null() {
        table.remove(key);
    } else {
        table.insert(key.into(), change);
    }
    Ok(())
}

/// Removes settings that are not set.
pub(crate) fn drop_empty(value: &mut Value) {
    if let Value::Object(table) = value {
        table.retain(|_, value| !value.is_null());
        table.values_mut().for_each(drop_empty);
    }
}

/// Converts Python's plain values, including numpy's numbers, by way of JSON.
fn from_python(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let py = value.py();
    let options = PyDict::new(py);
    options.set_item("default", py.import("undertone._plain")?.getattr("plain")?)?;
    options.set_item("allow_nan", false)?;
    let text =
        py.import("json")?.call_method("dumps", (value,), Some(&options)).map_err(|error| {
            // Numbers that are not finite, and types that no config has.
            ConfigError::new_err(format!("a setting cannot be used: {}", error.value(py)))
        })?;
    serde_json::from_str(text.cast::<PyString>()?.to_str()?).map_err(config_error)
}

/// Converts what can be written as JSON to Python's dicts and lists.
pub(crate) fn to_python<'py>(
    py: Python<'py>,
    value: &impl Serialize,
) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(config_error)?;
    py.import("json")?.call_method1("loads", (text,))
}
