//! One learner on its own stream.

use crate::arrays::{Matrix, Schema, Vector};
use crate::config::PyConfig;
use crate::errors::{ConfigError, RecordError, checked_delta, config_error, online_error};
use crate::loss::PyLoss;
use crate::public_model::{PyPublicModel, predict_proba_rows, predict_rows, prediction};
use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use undertone::{LearnerFileError, OnlineError, OnlineLearner, SavedLearner};
use undertone_lab::RunEntropy;
use undertone_lab::stream::PublicParts;
use undertone_lab::summary::NOT_PRIVATE;
use undertone_models::{BoundedRecord, Features, Prediction, Record};

/// Ctrl-C is checked once in this many rows.
const SIGNALS_EVERY: usize = 10_000;

/// The compiled part of :class:`undertone.Learner`.
#[pyclass(module = "undertone", name = "Learner", subclass)]
pub(crate) struct PyLearner {
    /// `None` after it was saved: the learner is then in the file.
    learner: Option<OnlineLearner<RunEntropy>>,
    schema: Schema,
    config: Py<PyConfig>,
    loss: Option<Py<PyLoss>>,
    /// Whether any of its noise, or that of the model it started from, came from a seed.
    seeded: bool,
    /// Whether the model that it started from came from an experiment whose labels are public.
    start_labels_public: bool,
    /// The process it was made in: a forked process has only a copy.
    process: u32,
}

/// What a learner starts from.
enum Origin<'a> {
    Zero,
    Model(&'a PyPublicModel),
    File(SavedLearner),
}

/// What is kept in a learner's file beside the learner.
#[derive(Serialize, Deserialize)]
struct Notes {
    /// The agreement, as TOML.
    settings: String,
    /// Whether any of the learner's noise came from a seed.
    seeded: bool,
    /// Whether the model that the learner started from came from an experiment whose labels are public.
    #[serde(default)]
    start_labels_public: bool,
}

impl PyLearner {
    fn get(&self) -> PyResult<&OnlineLearner<RunEntropy>> {
        self.learner.as_ref().ok_or_else(saved)
    }

    /// The learner, to continue with. Fails in a copy made by a fork.
    fn get_mut(&mut self) -> PyResult<&mut OnlineLearner<RunEntropy>> {
        if self.process != std::process::id() {
            return Err(PyRuntimeError::new_err(
                "this learner belongs to the process that made it: a forked copy would release the same rounds twice",
            ));
        }
        self.learner.as_mut().ok_or_else(saved)
    }

    /// The exception of the user's function, or else the learner's error.
    fn error(&self, error: OnlineError) -> PyErr {
        let function = matches!(error, OnlineError::Function(_));
        let raised = self.loss.as_ref().filter(|_| function).and_then(|loss| loss.get().raised());
        raised.unwrap_or_else(|| online_error(error))
    }

    fn prediction(&self, features: Features) -> PyResult<Prediction> {
        let learner = self.get()?;
        let theta = learner.private_parameters().for_owner();
        prediction(learner.setup(), theta, features, self.loss.as_ref())
    }

    fn build(
        py: Python<'_>,
        config: Py<PyConfig>,
        names: Option<Vec<String>>,
        classes: Option<Bound<'_, PyList>>,
        loss: Option<Py<PyLoss>>,
        seed: Option<u64>,
        origin: Origin<'_>,
    ) -> PyResult<PyLearner> {
        let mut setup = config.get().setup(py)?;
        if let Some(loss) = &loss {
            setup = loss.get().join(py, &setup)?;
        }
        let schema = Schema::new(py, &setup, names, classes)?;
        let entropy = RunEntropy::new(seed);
        let learner = match origin {
            Origin::Zero => OnlineLearner::new(setup, entropy).map_err(online_error),
            Origin::File(saved) => saved.restore(setup, entropy).map_err(file_error),
            Origin::Model(start) => {
                start.check_start(py, &setup, &schema)?;
                OnlineLearner::starting_at(setup, entropy, &start.model, &start.accounts)
                    .map_err(online_error)
            }
        };
        let learner = Some(learner?);
        let (seeded, process) = (seed.is_some(), std::process::id());
        let start_labels_public = false;
        Ok(PyLearner { learner, schema, config, loss, seeded, start_labels_public, process })
    }
}

#[pymethods]
impl PyLearner {
    /// Makes a learner from a config, or from the file that a learner was moved into.
    #[new]
    #[pyo3(signature = (config, names=None, classes=None, loss=None, seed=None, start=None, path=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        config: Option<Py<PyConfig>>,
        names: Option<Vec<String>>,
        classes: Option<Bound<'_, PyList>>,
        loss: Option<Py<PyLoss>>,
        seed: Option<u64>,
        start: Option<Py<PyPublicModel>>,
        path: Option<PathBuf>,
    ) -> PyResult<PyLearner> {
        match (config, path) {
            (Some(config), None) => {
                let start = start.as_ref().map(Py::get);
                let origin = start.map_or(Origin::Zero, Origin::Model);
                let config = PyConfig::agreement(&config, py)?;
                let mut learner = PyLearner::build(py, config, names, classes, loss, seed, origin)?;
                if let Some(start) = start {
                    learner.seeded |= !start.private;
                    learner.start_labels_public = start.public.labels;
                }
                Ok(learner)
            }
            (None, Some(path)) => {
                // Dropped on an error, it gives the file its name back: nothing went on from it.
                let saved = SavedLearner::claim(&path).map_err(file_error)?;
                let notes: Notes = serde_json::from_str(saved.notes()).map_err(config_error)?;
                let config = Py::new(py, PyConfig::from_text(&notes.settings)?)?;
                let file = Origin::File(saved);
                let mut learner = PyLearner::build(py, config, names, classes, loss, seed, file)?;
                learner.seeded |= notes.seeded;
                learner.start_labels_public = notes.start_labels_public;
                Ok(learner)
            }
            _ => Err(PyTypeError::new_err("a learner is made from a config, or from a file")),
        }
    }

    /// Takes one record. With every full batch the learner makes a step and pays for it.
    ///
    /// ``x`` is a dict by feature name (missing features are 0) or a sequence of numbers; ``y`` is
    /// a class or a number. A record longer than ``feature_norm`` is scaled down to it. Raises
    /// :class:`BudgetError` once the budget is spent, and :class:`RecordError` for a record that
    /// does not fit; such a record is not kept.
    fn learn_one(&mut self, x: &Bound<'_, PyAny>, y: &Bound<'_, PyAny>) -> PyResult<()> {
        let record = Record { features: self.schema.features(x)?, label: self.schema.label(y)? };
        let learnt = self.get_mut()?.learn_record(record);
        learnt.map(|_| ()).map_err(|error| self.error(error))
    }

    /// Takes all rows of a matrix, with classes by number, or none if one does not fit.
    fn _learn_rows(
        &mut self,
        py: Python<'_>,
        matrix: Matrix<'_>,
        labels: Vector<'_>,
    ) -> PyResult<()> {
        let records = self.schema.records(&matrix, &labels)?;
        let learner = self.get_mut()?;
        let check = |(row, record): (usize, Record)| {
            let checked = learner.check(record);
            checked.map_err(|error| RecordError::new_err(format!("row {row}: {error}")))
        };
        let checked: PyResult<Vec<BoundedRecord>> =
            py.detach(|| records.into_iter().enumerate().map(check).collect());
        let mut rest = checked?.into_iter();
        while rest.len() > 0 {
            let learner = self.get_mut()?;
            let part = rest.by_ref().take(SIGNALS_EVERY);
            let learnt = py.detach(|| {
                part.into_iter().try_for_each(|record| learner.learn_checked(record).map(|_| ()))
            });
            learnt.map_err(|error| self.error(error))?;
            py.check_signals()?;
        }
        Ok(())
    }

    /// The class, or the number, that the learner's own parameters predict. For the learner's owner
    /// only.
    fn predict_one<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.schema.prediction_to_python(x.py(), &self.prediction(self.schema.features(x)?)?)
    }

    /// The probability of each class, by the learner's own parameters. For the learner's owner
    /// only.
    fn predict_proba_one<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        self.schema.probabilities(x.py(), &self.prediction(self.schema.features(x)?)?)
    }

    fn _predict_rows<'py>(
        &self,
        py: Python<'py>,
        matrix: Matrix<'py>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let learner = self.get()?;
        let theta = learner.private_parameters().for_owner();
        predict_rows(py, learner.setup(), theta, self.schema.rows(&matrix)?, self.loss.as_ref())
    }

    fn _predict_proba_rows<'py>(
        &self,
        py: Python<'py>,
        matrix: Matrix<'py>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let learner = self.get()?;
        let theta = learner.private_parameters().for_owner();
        predict_proba_rows(py, learner.setup(), theta, self.schema.rows(&matrix)?)
    }

    /// The most that any record has paid so far, as ε at the given δ or the config's: one of this learner, or one behind
    /// the model that it started from.
    #[pyo3(signature = (delta=None))]
    fn get_epsilon(&self, delta: Option<f64>) -> PyResult<f64> {
        let learner = self.get()?;
        let delta = checked_delta(delta, learner.setup().agreement.delta)?;
        Ok(learner.model_accounts().epsilon(delta))
    }

    /// The privacy statement, in sentences.
    #[getter]
    fn privacy_statement(&self) -> PyResult<Vec<String>> {
        let learner = self.get()?;
        let mut text = learner.statement();
        if self.seeded {
            let warning = "The rest is what the same run would promise without a seed.";
            text.insert(0, format!("{NOT_PRIVATE}. {warning}"));
        }
        if self.start_labels_public {
            text.push(
                "The labels of the records behind the model that it started from, and their split among learners, are \
                 public: that model protects their features, and not their labels."
                    .into(),
            );
        }
        Ok(text)
    }

    /// The model that may be published: an average of the releases. It costs nothing more.
    #[getter]
    fn public_model(&self, py: Python<'_>) -> PyResult<PyPublicModel> {
        let learner = self.get()?;
        Ok(PyPublicModel {
            setup: Arc::clone(learner.setup()),
            config: self.config.clone_ref(py),
            schema: self.schema.clone_ref(py),
            loss: self.loss.as_ref().map(|loss| loss.clone_ref(py)),
            model: learner.public_model().clone(),
            accounts: learner.model_accounts(),
            private: !self.seeded,
            public: PublicParts { labels: self.start_labels_public, schema: false },
        })
    }

    /// The learner's own parameters. **Private**, unless the method is ``shielded``: never publish them.
    #[getter]
    fn private_parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_slice(py, self.get()?.private_parameters().for_owner()))
    }

    /// The settings, as in a file for the command ``undertone``.
    #[getter]
    fn config(&self, py: Python<'_>) -> Py<PyConfig> {
        self.config.clone_ref(py)
    }

    /// The labels of the classes; None for regression.
    #[getter]
    fn classes<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyList>> {
        self.schema.labels(py)
    }

    /// The names of the features; None if they have none.
    #[getter]
    fn feature_names<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyTuple>> {
        self.schema.names(py)
    }

    /// How many releases were charged, after the free one of round 0.
    #[getter]
    fn rounds(&self) -> PyResult<u64> {
        Ok(self.get()?.accountant().round().0)
    }

    /// How many records it has learnt from.
    #[getter]
    fn records(&self) -> PyResult<u64> {
        Ok(self.get()?.records())
    }

    /// How many records wait for their batch to be full.
    #[getter]
    fn waiting(&self) -> PyResult<usize> {
        Ok(self.get()?.waiting())
    }

    /// How many records were scaled into the bounds.
    #[getter]
    fn scaled(&self) -> PyResult<u64> {
        Ok(self.get()?.scaled())
    }

    /// Mean loss of records before they were learnt from. Private: for the learner's owner.
    #[getter]
    fn loss(&self) -> PyResult<Option<f64>> {
        let score = self.get()?.score();
        #[expect(clippy::cast_precision_loss, reason = "record counts stay far below 2^53")]
        Ok((score.records > 0).then(|| score.loss_sum / score.records as f64))
    }

    /// Share of records that were classified correctly before they were learnt from. Private: for
    /// the learner's owner.
    #[getter]
    fn accuracy(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        let score = self.get()?.score();
        let known = score.records > 0 && self.schema.labels(py).is_some();
        #[expect(clippy::cast_precision_loss, reason = "record counts stay far below 2^53")]
        Ok(known.then(|| score.correct as f64 / score.records as f64))
    }

    /// Moves the learner, including its account, into a file. This object cannot be used
    /// afterwards.
    ///
    /// The file holds records and parameters, and only its owner can read it. The learner is moved,
    /// not copied: two learners that continue from one state would release the same rounds twice,
    /// and each account would charge them once.
    fn save(&mut self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let settings = self.config.get().to_toml(py)?;
        let start_labels_public = self.start_labels_public;
        let notes = Notes { settings, seeded: self.seeded, start_labels_public };
        let notes = serde_json::to_string(&notes).map_err(config_error)?;
        self.get_mut()?;
        let learner = self.learner.take().ok_or_else(saved)?;
        learner.save_with_notes(&path, &notes).map_err(|refused| {
            self.learner = refused.learner.map(|learner| *learner);
            match refused.error {
                LearnerFileError::Learner(error) => self.error(error),
                error @ (LearnerFileError::Io { .. }
                | LearnerFileError::Exists { .. }
                | LearnerFileError::Left { .. }
                | LearnerFileError::Damaged { .. }
                | LearnerFileError::OtherNetwork { .. }) => file_error(error),
            }
        })
    }

    fn __repr__(&self) -> String {
        match &self.learner {
            Some(learner) => {
                let (records, rounds) = (learner.records(), learner.accountant().round());
                format!("Learner(records={records}, rounds={rounds}, <redacted>)")
            }
            None => "Learner(<saved>)".into(),
        }
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyRuntimeError::new_err(
            "a learner is not copied or pickled: two that go on from one state would release the same rounds twice. \
             Use save and load, or public_model",
        ))
    }
}

fn saved() -> PyErr {
    PyRuntimeError::new_err("this learner was saved, and lives in its file; load it to go on")
}

fn file_error(error: LearnerFileError) -> PyErr {
    let text = error.to_string();
    match error {
        LearnerFileError::Learner(error) => online_error(error),
        LearnerFileError::OtherNetwork { .. } => ConfigError::new_err(text),
        LearnerFileError::Io { .. }
        | LearnerFileError::Exists { .. }
        | LearnerFileError::Left { .. }
        | LearnerFileError::Damaged { .. } => PyOSError::new_err(text),
    }
}
