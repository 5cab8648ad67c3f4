//! Checking the transform of features in `[model]`, and what it excludes in other sections.

use super::{Faults, Range, RawAgreement, RawModel};
use crate::neural::Shape;
use crate::{FeatureTransform, FeatureTransformError};

/// The transforms there are.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Scattering,
    Fourier,
}

/// The transform that a config asks for; `None` without one, or after a fault.
pub(super) fn transform(raw: &RawAgreement, faults: &mut Faults) -> Option<FeatureTransform> {
    let model = &raw.model;
    let kind = match model.transform_name() {
        None => None,
        Some("scattering") => Some(Kind::Scattering),
        Some("fourier") => Some(Kind::Fourier),
        Some(other) => {
            let needed = "must be a number, or one of scattering, fourier";
            faults.push("model.features", format!("\"{other}\""), needed);
            return None;
        }
    };
    if kind != Some(Kind::Fourier) {
        faults.unused("model.raw_features", model.raw_features.as_ref(), "features = \"fourier\"");
        faults.unused("model.gamma", model.gamma.as_ref(), "features = \"fourier\"");
    }
    if kind.is_none() {
        let only = "features = \"scattering\" or \"fourier\"";
        faults.unused("model.dimension", model.dimension.as_ref(), only);
    }
    let transform = match kind? {
        Kind::Scattering => scattering(model, faults)?,
        Kind::Fourier => fourier(model, faults)?,
    };
    if let Err(error) = transform.check() {
        note(&transform, error, faults);
        return None;
    }
    exclude(raw, faults);
    Some(transform)
}

fn scattering(raw: &RawModel, faults: &mut Faults) -> Option<FeatureTransform> {
    let Some(input) = raw.input else {
        let needed = "the shape of an image: { channels = 1, height = 28, width = 28 }";
        faults.missing("model.input", needed);
        return None;
    };
    Some(FeatureTransform::Scattering { input, dimension: raw.dimension })
}

fn fourier(raw: &RawModel, faults: &mut Faults) -> Option<FeatureTransform> {
    let gamma = faults.number("model.gamma", raw.gamma, Range::Positive);
    if raw.raw_features.is_none() {
        faults.missing("model.raw_features", "the number of features of a record");
    }
    if raw.dimension.is_none() {
        faults.missing("model.dimension", "the number of features after the transform");
    }
    let (inputs, dimension) = (raw.raw_features?, raw.dimension?);
    Some(FeatureTransform::Fourier { inputs, gamma, dimension })
}

/// Notes an error under the key that it is about.
fn note(transform: &FeatureTransform, error: FeatureTransformError, faults: &mut Faults) {
    let needed = error.to_string();
    match (*transform, error) {
        (_, FeatureTransformError::Gamma) => faults.push("model.gamma", "", needed),
        (
            FeatureTransform::Scattering { dimension, .. },
            FeatureTransformError::Projection { .. },
        ) => faults.push("model.dimension", dimension.unwrap_or_default(), needed),
        (FeatureTransform::Scattering { input, .. }, _) => {
            let Shape { channels, height, width } = input;
            faults.push("model.input", format!("{channels}×{height}×{width}"), needed);
        }
        (FeatureTransform::Fourier { dimension, .. }, _) => {
            faults.push("model.dimension", dimension, needed);
        }
    }
}

/// Notes settings that have no meaning with a transform.
fn exclude(raw: &RawAgreement, faults: &mut Faults) {
    let records = &raw.records;
    for (path, set, why) in [
        ("records.intercept", records.intercept, "needs features that are not transformed"),
        ("records.centre", records.centre, "needs features that are not transformed"),
        ("records.normalise", records.normalise, "a transform scales to norm 1 itself; remove it"),
    ] {
        if set == Some(true) {
            faults.push(path, true, why);
        }
    }
    let norm = FeatureTransform::NORM;
    if let Some(found) = raw.bounds.feature_norm.filter(|found| !(*found >= norm && *found <= norm))
    {
        let needed = format!("must be {norm}, the norm of all transformed features");
        faults.push("bounds.feature_norm", found, needed);
    }
}
