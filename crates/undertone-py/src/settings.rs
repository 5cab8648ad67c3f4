//! The agreement of a learner from keywords. What is left out is as `LearnerBuilder` has it.

use crate::config::{drop_empty, to_python};
use crate::errors::config_error;
use crate::loss::PyLoss;
use pyo3::prelude::*;
use undertone::{Label, LearnerBuilder, OwnLoss};

/// The agreement of one learner without neighbours, as nested dicts: what
/// :func:`undertone.make_config` starts from.
#[pyfunction]
#[pyo3(signature = (features, *, epsilon, delta, classes=None, label_bound=None, loss=None, declared=None, feature_norm=None, normalise=None, intercept=None, batch=None, window=None, warmup=None, radius=None, ridge=None, clip=None, step=None, step_exponent=None, rounds=None, records_per_person=None))]
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
    feature_norm: Option<f64>,
    normalise: Option<bool>,
    intercept: Option<bool>,
    batch: Option<u64>,
    window: Option<u64>,
    warmup: Option<u64>,
    radius: Option<f64>,
    ridge: Option<f64>,
    clip: Option<f64>,
    step: Option<f64>,
    step_exponent: Option<f64>,
    rounds: Option<u64>,
    records_per_person: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut builder = LearnerBuilder::new(features, epsilon, delta);
    let bounded = label_bound.map(|bound| Label::Number { bound: Some(bound) });
    set(&mut builder.label, classes.map(named).or(bounded));
    set(&mut builder.loss, loss.map(Some));
    let own = declared.map(|loss| OwnLoss { declared: loss.get().declared(), function: None });
    set(&mut builder.own_loss, own.map(Some));
    set(&mut builder.feature_norm, feature_norm);
    set(&mut builder.normalise, normalise);
    set(&mut builder.intercept, intercept);
    set(&mut builder.batch, batch);
    set(&mut builder.window, window);
    set(&mut builder.warmup, warmup.map(Some));
    set(&mut builder.radius, radius);
    set(&mut builder.ridge, ridge);
    set(&mut builder.clip, clip.map(Some));
    set(&mut builder.step, step.map(Some));
    set(&mut builder.step_exponent, step_exponent);
    set(&mut builder.rounds, rounds.map(Some));
    set(&mut builder.records_per_person, records_per_person.map(Some));
    let mut value = serde_json::to_value(builder.agreement()).map_err(config_error)?;
    drop_empty(&mut value);
    to_python(py, &value)
}

/// Sets what was given.
fn set<T>(setting: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *setting = given;
    }
}

fn named(classes: Vec<String>) -> Label {
    let count = u32::try_from(classes.len()).unwrap_or(u32::MAX);
    Label::Classes { count, names: Some(classes) }
}
