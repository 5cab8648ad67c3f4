//! User-defined losses.

use crate::errors::DeclarationError;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};
use undertone::{DECLARATION_SAMPLES, Declared, Setup, check_declaration};
use undertone_models::{DeclaredLoss, Prediction};

/// A loss of your own: a function that gives the loss of one record and its gradient.
///
/// ``function(theta, x, y)`` returns ``(value, gradient)``: a number and an array with an entry for
/// each of ``parameters``. ``x`` is the record as the learner keeps it: within ``feature_norm``,
/// the intercept last. ``predict(theta, x)`` is optional, for predictions.
///
/// The result for a record must depend only on ``theta`` and that record: a function that remembers
/// other records breaks every promise. A function that raises an exception ends its learner.
///
/// ``gradient_norm`` bounds the gradient of a record. It is enforced, so a shielded learner's
/// promise requires nothing else of the function. ``smoothness`` (L) and ``strong_convexity`` (μ)
/// are needed for ``method="algorithm1"`` and are **not proved**: they are tested on random points
/// and records when a learner is made, and every privacy statement says that you declared them. If
/// they are declared, a gradient above ``gradient_norm`` is an error. ``gradient_spread`` (C) may
/// be declared if it is below twice the norm.
///
/// >>> import numpy as np, undertone
/// >>> def absolute(theta, x, y):
/// ...     error = theta @ x - y
/// ...     return abs(error), np.sign(error) * x
/// >>> loss = undertone.Loss(absolute, parameters=3, gradient_norm=1.0, predict=lambda theta, x: theta @ x)
#[pyclass(module = "undertone", name = "Loss", frozen)]
pub(crate) struct PyLoss {
    callback: Arc<Callback>,
    /// How many parameters the function has.
    #[pyo3(get)]
    pub(crate) parameters: usize,
    /// The largest norm of a record's gradient.
    #[pyo3(get)]
    pub(crate) gradient_norm: f64,
    /// L, as declared.
    #[pyo3(get)]
    pub(crate) smoothness: Option<f64>,
    /// μ, as declared.
    #[pyo3(get)]
    pub(crate) strong_convexity: Option<f64>,
    /// C, as declared.
    #[pyo3(get)]
    pub(crate) gradient_spread: Option<f64>,
}

#[pymethods]
impl PyLoss {
    #[new]
    #[pyo3(signature = (function, *, parameters, gradient_norm, smoothness=None, strong_convexity=None, gradient_spread=None, predict=None))]
    fn new(
        function: Py<PyAny>,
        parameters: usize,
        gradient_norm: f64,
        smoothness: Option<f64>,
        strong_convexity: Option<f64>,
        gradient_spread: Option<f64>,
        predict: Option<Py<PyAny>>,
    ) -> PyLoss {
        let callback = Arc::new(Callback { function, predict, raised: Mutex::new(None) });
        PyLoss {
            callback,
            parameters,
            gradient_norm,
            smoothness,
            strong_convexity,
            gradient_spread,
        }
    }
}

impl PyLoss {
    /// The setup with this function, after its declarations were tested.
    pub(crate) fn join(&self, py: Python<'_>, setup: &Setup) -> PyResult<Arc<Setup>> {
        let function: Arc<dyn DeclaredLoss> = Arc::<Callback>::clone(&self.callback);
        if setup.agreement.model.declared_by_user().is_none() {
            return Err(PyTypeError::new_err(
                "the config has a loss of its own: model.loss must be \"declared\"",
            ));
        }
        let tried =
            py.detach(|| check_declaration(setup, function.as_ref(), DECLARATION_SAMPLES, 0));
        if let Err(error) = tried {
            let told = || DeclarationError::new_err(error.to_string());
            return Err(self.raised().unwrap_or_else(told));
        }
        Ok(Arc::new(setup.clone().with_function(function)))
    }

    /// What is declared of it.
    pub(crate) fn declared(&self) -> Declared {
        Declared {
            parameters: self.parameters,
            gradient_norm: self.gradient_norm,
            smoothness: self.smoothness,
            strong_convexity: self.strong_convexity,
            gradient_spread: self.gradient_spread,
        }
    }

    /// What the function itself raised, which says more than that it failed.
    pub(crate) fn raised(&self) -> Option<PyErr> {
        self.callback.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// A prediction made with this loss, or the reason why there is none.
    pub(crate) fn predicted(&self, prediction: Prediction) -> PyResult<Prediction> {
        if self.callback.predict.is_none() {
            return Err(PyTypeError::new_err("this loss has no way to predict: give it predict="));
        }
        self.raised().map_or(Ok(prediction), Err)
    }
}

struct Callback {
    function: Py<PyAny>,
    predict: Option<Py<PyAny>>,
    /// The first exception since the last call of `raised`.
    raised: Mutex<Option<PyErr>>,
}

impl Callback {
    fn keep<T>(&self, result: PyResult<T>) -> Option<T> {
        result
            .map_err(|error| {
                let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
                raised.get_or_insert(error);
            })
            .ok()
    }
}

impl DeclaredLoss for Callback {
    fn evaluate(
        &self,
        theta: &[f64],
        features: &[f64],
        label: f64,
        gradient: &mut [f64],
    ) -> Option<f64> {
        Python::attach(|py| {
            let mut call = || -> PyResult<f64> {
                let (theta, x) =
                    (PyArray1::from_slice(py, theta), PyArray1::from_slice(py, features));
                let result = self.function.call1(py, (theta, x, label))?;
                let (value, slopes): (f64, Bound<'_, PyAny>) = result.extract(py)?;
                let slopes = py.import("numpy")?.call_method1("asarray", (slopes, "float64"))?;
                let slopes: PyReadonlyArray1<'_, f64> = slopes.extract()?;
                let slopes = slopes.as_array();
                if slopes.len() != gradient.len() {
                    let (found, expected) = (slopes.len(), gradient.len());
                    let text = format!(
                        "the gradient has {found} entries, and there are {expected} parameters"
                    );
                    return Err(PyTypeError::new_err(text));
                }
                gradient.iter_mut().zip(slopes).for_each(|(slot, &slope)| *slot = slope);
                Ok(value)
            };
            self.keep(call())
        })
    }

    fn predict(&self, theta: &[f64], features: &[f64]) -> Option<f64> {
        let predict = self.predict.as_ref()?;
        Python::attach(|py| {
            let (theta, x) = (PyArray1::from_slice(py, theta), PyArray1::from_slice(py, features));
            self.keep(predict.call1(py, (theta, x)).and_then(|result| result.extract(py)))
        })
    }
}
