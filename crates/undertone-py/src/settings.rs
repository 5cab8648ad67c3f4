//! The defaults of a learner without neighbours, from the crate `undertone`.

use crate::config::{drop_empty, to_python};
use crate::errors::config_error;
use crate::loss::PyLoss;
use pyo3::prelude::*;
use undertone::{Declared, Label, LearnerBuilder};

/// The agreement of one learner without neighbours, as nested dicts: what
/// :func:`undertone.make_config` starts from.
#[pyfunction]
#[pyo3(signature = (features, *, epsilon, delta, classes, label_bound, loss, declared, feature_norm, normalise, intercept, batch, window, warmup, radius, ridge, clip, step, step_exponent, rounds))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub(crate) fn learner_settings<'py>(
    py: Python<'py>,
    features: usize,
    epsilon: f64,
    delta: f64,
    classes: Option<Vec<String>>,
    label_bound: Option<f64>,
    loss: Option<String>,
    declared: Option<Py<PyLoss>>,
    feature_norm: f64,
    normalise: bool,
    intercept: bool,
    batch: u64,
    window: u64,
    warmup: Option<u64>,
    radius: f64,
    ridge: f64,
    clip: Option<f64>,
    step: Option<f64>,
    step_exponent: f64,
    rounds: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let builder = LearnerBuilder {
        label: match classes {
            Some(names) => Label::Classes {
                count: u32::try_from(names.len()).unwrap_or(u32::MAX),
                names: Some(names),
            },
            None => Label::Number { bound: label_bound },
        },
        loss,
        declared: declared.map(|loss| {
            let loss = loss.get();
            Declared {
                parameters: loss.parameters,
                gradient_norm: loss.gradient_norm,
                smoothness: loss.smoothness,
                strong_convexity: loss.strong_convexity,
                gradient_spread: loss.gradient_spread,
            }
        }),
        feature_norm,
        normalise,
        intercept,
        batch,
        window,
        warmup,
        radius,
        ridge,
        clip,
        step,
        step_exponent,
        rounds,
        ..LearnerBuilder::new(features, epsilon, delta)
    };
    let mut value = serde_json::to_value(builder.agreement()).map_err(config_error)?;
    drop_empty(&mut value);
    to_python(py, &value)
}
