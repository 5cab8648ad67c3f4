//! Configs: the same as the command's files, from a dict, a file or a preset.

use crate::errors::{ConfigError, config_error};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use undertone::config::RawConfig;
use undertone_lab::config_file::{
    self, Given, LoadedConfig, Overrides, check_given, check_given_for_examination, resolved,
};
use undertone_lab::{Setup, SetupError};

/// Settings of learners, checked: the same as the file of the command ``undertone``.
///
/// ``Config({"rounds": 10, ...})`` takes the sections of the file as nested dicts. Every fault is reported at
/// once, as :class:`ConfigError`.
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

    /// What follows from the config; worked out once.
    pub(crate) fn setup(&self, py: Python<'_>) -> PyResult<Arc<Setup>> {
        if let Some(setup) = self.setup.get() {
            return Ok(Arc::clone(setup));
        }
        let config = self.loaded.config.clone();
        let setup: Result<Setup, SetupError> = py.detach(|| Setup::new(config));
        let setup = Arc::new(setup.map_err(config_error)?);
        Ok(Arc::clone(self.setup.get_or_init(|| setup)))
    }

    /// What [`PyConfig::to_toml`] gave.
    pub(crate) fn from_text(text: &str) -> PyResult<PyConfig> {
        let value = toml::Deserializer::parse(text).map_err(config_error)?;
        let (raw, unknown) = RawConfig::read(value).map_err(config_error)?;
        let folder = PathBuf::from(".");
        check_given(Given { raw, unknown, folder }).map(PyConfig::new).map_err(config_error)
    }

    fn value(&self) -> PyResult<Value> {
        let mut value = serde_json::to_value(&self.loaded.raw).map_err(config_error)?;
        drop_empty(&mut value);
        Ok(value)
    }
}

#[pymethods]
impl PyConfig {
    #[new]
    fn from_dict(settings: &Bound<'_, PyDict>) -> PyResult<PyConfig> {
        check_given(given(settings)?).map(PyConfig::new).map_err(config_error)
    }

    /// A config that comes with the package; ``undertone.presets()`` lists them.
    #[classmethod]
    fn preset(_class: &Bound<'_, PyType>, name: &str) -> PyResult<PyConfig> {
        let loaded = config_file::load_preset(name, &Overrides::default());
        loaded.map(PyConfig::new).map_err(config_error)
    }

    /// A config from a TOML file.
    #[classmethod]
    fn load(_class: &Bound<'_, PyType>, path: PathBuf) -> PyResult<PyConfig> {
        let loaded = config_file::load_file(&path, &Overrides::default());
        loaded.map(PyConfig::new).map_err(config_error)
    }

    /// The same with some settings changed: ``{"privacy.epsilon": 2.0, "data.batch": None}``. None removes one.
    fn replace(&self, changes: &Bound<'_, PyDict>) -> PyResult<PyConfig> {
        let mut value = self.value()?;
        for (key, change) in changes {
            let key: String = key.extract()?;
            set(&mut value, &key, from_python(&change)?)?;
        }
        let (raw, unknown) = RawConfig::read(value).map_err(config_error)?;
        let folder = self.loaded.folder.clone();
        check_given(Given { raw, unknown, folder }).map(PyConfig::new).map_err(config_error)
    }

    /// One setting by its path, as ``config["privacy.delta"]``; None where it is not set.
    fn __getitem__<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyAny>> {
        let value = self.value()?;
        let found = path.split('.').try_fold(&value, |value, key| value.get(key));
        to_python(py, &found)
    }

    /// All settings, as nested dicts.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.value()?)
    }

    /// The settings as the text of a file for the command ``undertone``, noise scales worked out.
    pub(crate) fn to_toml(&self, py: Python<'_>) -> PyResult<String> {
        let raw = resolved(&self.loaded, &self.setup(py)?.scales());
        toml::to_string(&raw).map_err(config_error)
    }

    /// The noise scale of round 0, for each learner.
    #[getter]
    fn noise_scales(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        Ok(self.setup(py)?.scales())
    }

    /// What is bounded for ever: the largest ε of any learner at the config's δ; None without a certificate.
    #[getter]
    fn lifetime_epsilon(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.setup(py)?.lifetime_epsilon_max())
    }

    fn __repr__(&self) -> String {
        let config = &self.loaded.config;
        let (learners, rounds) = (config.graph.learners(), config.rounds);
        format!("Config(name={:?}, learners={learners}, rounds={rounds})", config.name)
    }
}

/// A config from whatever names one: a Config, a dict, a preset's name or a file's path.
pub(crate) fn from_any(source: &Bound<'_, PyAny>) -> PyResult<LoadedConfig> {
    read(source, check_given, |path, is_file| match is_file {
        true => config_file::load_file(path, &Overrides::default()),
        false => config_file::load_preset(&path.to_string_lossy(), &Overrides::default()),
    })
}

/// The same for one that may break conditions of the theorems, to be examined.
pub(crate) fn from_any_for_examination(source: &Bound<'_, PyAny>) -> PyResult<LoadedConfig> {
    read(source, check_given_for_examination, |path, is_file| match is_file {
        true => config_file::load_file_for_examination(path),
        false => config_file::load_preset_for_examination(&path.to_string_lossy()),
    })
}

fn read(
    source: &Bound<'_, PyAny>,
    check: impl Fn(Given) -> Result<LoadedConfig, config_file::ConfigError>,
    load: impl Fn(&Path, bool) -> Result<LoadedConfig, config_file::ConfigError>,
) -> PyResult<LoadedConfig> {
    if let Ok(config) = source.cast::<PyConfig>() {
        return Ok(config.get().loaded.clone());
    }
    if let Ok(settings) = source.cast::<PyDict>() {
        return check(given(settings)?).map_err(config_error);
    }
    let is_text = source.is_instance_of::<PyString>();
    let path: PathBuf = source.extract().map_err(|_| {
        PyTypeError::new_err(
            "a config is a Config, a dict, the name of a preset or the path of a file",
        )
    })?;
    let is_file = !is_text || path.extension().is_some_and(|ending| ending == "toml");
    load(&path, is_file).map_err(config_error)
}

fn given(settings: &Bound<'_, PyDict>) -> PyResult<Given> {
    let mut value = from_python(settings)?;
    drop_empty(&mut value);
    let (raw, unknown) = RawConfig::read(value).map_err(config_error)?;
    Ok(Given { raw, unknown, folder: PathBuf::from(".") })
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
    match change {
        Value::Null => table.remove(key),
        change => table.insert(key.into(), change),
    };
    Ok(())
}

/// Drops settings that are not set.
fn drop_empty(value: &mut Value) {
    if let Value::Object(table) = value {
        table.retain(|_, value| !value.is_null());
        table.values_mut().for_each(drop_empty);
    }
}

/// Python's plain values, numpy's numbers included, by way of JSON.
fn from_python(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let py = value.py();
    let options = PyDict::new(py);
    options.set_item("default", py.import("undertone._plain")?.getattr("plain")?)?;
    options.set_item("allow_nan", false)?;
    let text =
        py.import("json")?.call_method("dumps", (value,), Some(&options)).map_err(|error| {
            // Numbers that are not finite, and things that no config has.
            ConfigError::new_err(format!("a setting cannot be used: {}", error.value(py)))
        })?;
    serde_json::from_str(text.cast::<PyString>()?.to_str()?).map_err(config_error)
}

/// What can be written as JSON, as Python's dicts and lists.
pub(crate) fn to_python<'py>(
    py: Python<'py>,
    value: &impl Serialize,
) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(config_error)?;
    py.import("json")?.call_method1("loads", (text,))
}
