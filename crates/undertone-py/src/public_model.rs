//! The model that may be published.

use crate::arrays::{Matrix, Schema};
use crate::config::PyConfig;
use crate::errors::{ConfigError, RecordError, checked_delta, config_error};
use crate::loss::PyLoss;
use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::{PyOSError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use undertone::privacy::ModelAccounts;
use undertone_lab::stream::{LABELS_PUBLIC, PublicParts};
use undertone_lab::summary::NOT_PRIVATE;
use undertone_models::{
    Features, Prediction, Setup, accounts_from_json, accounts_json, model_file,
};

/// A model that may be published: an average of noisy releases. Publishing it costs nothing more.
#[pyclass(module = "undertone", name = "PublicModel", frozen)]
pub(crate) struct PyPublicModel {
    pub(crate) setup: Arc<Setup>,
    pub(crate) config: Py<PyConfig>,
    pub(crate) schema: Schema,
    pub(crate) loss: Option<Py<PyLoss>>,
    pub(crate) model: undertone::PublicModel,
    /// What records have paid for it.
    pub(crate) accounts: ModelAccounts,
    pub(crate) private: bool,
    pub(crate) public: PublicParts,
}

impl PyPublicModel {
    fn prediction(&self, features: Features) -> PyResult<Prediction> {
        prediction(&self.setup, self.model.values(), features, self.loss.as_ref())
    }

    /// Refuses a learner that would read the parameters in another way.
    pub(crate) fn check_start(
        &self,
        py: Python<'_>,
        setup: &Setup,
        schema: &Schema,
    ) -> PyResult<()> {
        let layout = |setup: &Setup| {
            let agreement = &setup.agreement;
            let model = &agreement.model;
            (model.features, agreement.records.intercept, model.degree, agreement.neural.clone())
        };
        let refusal = if self.schema.features != schema.features {
            Some(format!(
                "takes {} features, and the learner {}",
                self.schema.features, schema.features
            ))
        } else if !self.schema.has_same_names(py, schema)? {
            Some("has other names of features, or in another order".into())
        } else if !self.schema.has_same_classes(py, schema)? {
            Some("has other classes, or in another order".into())
        } else if layout(&self.setup) != layout(setup)
            || self.model.values().len() != setup.model.parameters()
        {
            Some("has its parameters in another order: degree, intercept and layers must be the same".into())
        } else {
            None
        };
        refusal.map_or(Ok(()), |text| Err(ConfigError::new_err(format!("start: the model {text}"))))
    }

    fn matrix<'py>(&self, table: &Bound<'py, PyAny>) -> PyResult<Matrix<'py>> {
        let py = table.py();
        let arrays = py.import("undertone._arrays")?;
        arrays.call_method1("as_matrix", (table, self.schema.names(py)))?.extract()
    }
}

#[pymethods]
impl PyPublicModel {
    /// The parameters; the intercept's is the last.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.model.values())
    }

    /// The labels of the classes; None for regression.
    #[getter]
    fn classes<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyList>> {
        self.schema.labels(py)
    }

    /// The most that any record has paid for it, as ε at the config's δ.
    #[getter(epsilon)]
    fn epsilon_at_own_delta(&self) -> f64 {
        self.accounts.epsilon(self.setup.agreement.delta)
    }

    /// The most that any record has paid for it, as ε at the given δ or the config's.
    #[pyo3(signature = (delta=None))]
    fn get_epsilon(&self, delta: Option<f64>) -> PyResult<f64> {
        let delta = checked_delta(delta, self.setup.agreement.delta)?;
        Ok(self.accounts.epsilon(delta))
    }

    /// What the records of each learner have paid for it, as the metadata of its file have it; ε is at the given δ or the
    /// config's.
    #[pyo3(signature = (delta=None))]
    fn accounts<'py>(&self, py: Python<'py>, delta: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        let delta = checked_delta(delta, self.setup.agreement.delta)?;
        let text = accounts_json(&self.accounts, delta);
        py.import("json")?.call_method1("loads", (text,))
    }

    /// False if the noise follows from a seed: anyone who knows the seed can subtract the noise.
    #[getter]
    fn private(&self) -> bool {
        self.private
    }

    /// True where records were dealt to learners by their labels: then labels and the split are public, and only
    /// the features of records are protected.
    #[getter]
    fn labels_public(&self) -> bool {
        self.public.labels
    }

    /// The label, or the number, that the model predicts.
    fn predict_one<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.schema.prediction_to_python(x.py(), &self.prediction(self.schema.features(x)?)?)
    }

    /// The probability of each class.
    fn predict_proba_one<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        self.schema.probabilities(x.py(), &self.prediction(self.schema.features(x)?)?)
    }

    /// The result of ``predict_one`` for each row of an array, a frame or an Arrow table.
    #[expect(non_snake_case, reason = "scikit-learn's name")]
    fn predict<'py>(&self, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = X.py();
        let rows = self.schema.rows(&self.matrix(X)?)?;
        let theta = self.model.values();
        let numbers = predict_rows(py, &self.setup, theta, rows, self.loss.as_ref())?;
        let arrays = py.import("undertone._arrays")?;
        arrays.call_method1("from_numbers", (numbers, self.schema.labels(py)))
    }

    /// The probability of each class for each row, with classes in order.
    #[expect(non_snake_case, reason = "scikit-learn's name")]
    fn predict_proba<'py>(&self, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows = self.schema.rows(&self.matrix(X)?)?;
        predict_proba_rows(X.py(), &self.setup, self.model.values(), rows)
    }

    /// Writes it as a safetensors file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        let mut metadata = HashMap::from([
            ("producer".to_string(), format!("undertone {}", env!("CARGO_PKG_VERSION"))),
            ("name".to_string(), self.setup.agreement.name.clone()),
            ("content".to_string(), self.public.model_content().to_string()),
        ]);
        if let Some(declared) = self.setup.agreement.model.declared_by_user() {
            metadata.insert("declared_by_user".into(), declared);
        }
        if self.public.labels {
            metadata.insert("labels".into(), LABELS_PUBLIC.into());
        }
        if !self.private {
            metadata.insert("content".into(), NOT_PRIVATE.into());
        }
        let agreement = &self.setup.agreement;
        metadata.extend(
            agreement.transform.map(|transform| ("features".into(), transform.to_string())),
        );
        let (neural, delta) = (agreement.neural.as_ref(), agreement.delta);
        let bytes = model_file(&self.model, neural, &self.accounts, delta, metadata);
        let bytes = bytes.map_err(config_error)?;
        std::fs::write(&path, bytes)
            .map_err(|error| PyOSError::new_err(format!("{}: {error}", path.display())))
    }

    /// It is public, so it may be copied and pickled, unlike a learner.
    #[expect(clippy::type_complexity, reason = "what pickle asks for")]
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(
        Bound<'py, PyAny>,
        (String, Bound<'py, PyAny>, Bound<'py, PyAny>, Vec<u8>, String, bool, bool),
    )> {
        if self.setup.agreement.model.declared_by_user().is_some() {
            return Err(PyTypeError::new_err(
                "a model with a loss of your own cannot be pickled: save its values",
            ));
        }
        let restore = py.get_type::<PyPublicModel>().getattr("_restore")?;
        let names = self.schema.names(py).into_pyobject(py)?.into_any();
        let classes = self.schema.labels(py).into_pyobject(py)?.into_any();
        let state = undertone::persist::save(&mut self.model.clone());
        let text = self.config.get().to_toml(py)?;
        let accounts = accounts_json(&self.accounts, self.setup.agreement.delta);
        let marks = (self.private, self.public.labels);
        Ok((restore, (text, names, classes, state, accounts, marks.0, marks.1)))
    }

    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "what pickle keeps")]
    fn _restore(
        py: Python<'_>,
        text: &str,
        names: Option<Vec<String>>,
        classes: Option<Bound<'_, PyList>>,
        state: Vec<u8>,
        accounts: &str,
        private: bool,
        labels_public: bool,
    ) -> PyResult<PyPublicModel> {
        let config = Py::new(py, PyConfig::from_text(text)?)?;
        let setup = config.get().setup(py)?;
        let schema = Schema::new(py, &setup, names, classes)?;
        let mut model = undertone::PublicModel::new(setup.model.parameters());
        undertone::persist::load(&mut model, &state).map_err(config_error)?;
        let public = PublicParts { labels: labels_public, schema: false };
        let (accounts, _) = accounts_from_json(accounts).map_err(config_error)?;
        Ok(PyPublicModel { setup, config, schema, loss: None, model, accounts, private, public })
    }

    fn __repr__(&self) -> String {
        format!("PublicModel(parameters={})", self.model.values().len())
    }
}

/// The prediction of parameters for features, to which the bounds are applied first.
pub(crate) fn prediction(
    setup: &Setup,
    theta: &[f64],
    features: Features,
    loss: Option<&Py<PyLoss>>,
) -> PyResult<Prediction> {
    let features = setup.record_checker().check_features(features);
    let prediction = features.and_then(|features| setup.model.predict(theta, &features));
    let prediction = prediction.map_err(|error| RecordError::new_err(error.to_string()))?;
    loss.map_or(Ok(prediction.clone()), |loss| loss.get().predicted(prediction))
}

pub(crate) fn predict_rows<'py>(
    py: Python<'py>,
    setup: &Setup,
    theta: &[f64],
    rows: Vec<Features>,
    loss: Option<&Py<PyLoss>>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let answers: PyResult<Vec<f64>> = py.detach(|| {
        let answer = |features| match prediction(setup, theta, features, loss)? {
            #[expect(clippy::cast_precision_loss, reason = "classes are few")]
            Prediction::Class { class, .. } => Ok(class as f64),
            Prediction::Value(value) => Ok(value),
        };
        rows.into_iter().map(answer).collect()
    });
    Ok(PyArray1::from_vec(py, answers?))
}

pub(crate) fn predict_proba_rows<'py>(
    py: Python<'py>,
    setup: &Setup,
    theta: &[f64],
    rows: Vec<Features>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let answers: PyResult<Vec<Vec<f64>>> = py.detach(|| {
        let answer = |features| match prediction(setup, theta, features, None)? {
            Prediction::Class { probabilities, .. } => Ok(probabilities),
            Prediction::Value(_) => Err(PyTypeError::new_err("a regression has no probabilities")),
        };
        rows.into_iter().map(answer).collect()
    });
    PyArray2::from_vec2(py, &answers?).map_err(|error| RecordError::new_err(error.to_string()))
}
