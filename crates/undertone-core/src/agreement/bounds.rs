//! Checking `[bounds]`.

use super::{Faults, OutOfBounds, Range, RawBounds};
use crate::{DataBounds, Domain, ModelSpec};

pub(super) fn bounds(
    raw: &RawBounds,
    model: &ModelSpec,
    domain: &Domain,
    faults: &mut Faults,
) -> DataBounds {
    let label = if model.loss.classes().is_none() {
        faults.number("bounds.label", raw.label, Range::Positive)
    } else {
        faults.unused("bounds.label", raw.label.as_ref(), "a regression loss");
        0.0
    };
    DataBounds {
        feature_norm: faults.number("bounds.feature_norm", raw.feature_norm, Range::Positive),
        label,
        radius: domain.radius(model.parameters()),
    }
}

pub(super) fn out_of_bounds(raw: &RawBounds, faults: &mut Faults) -> OutOfBounds {
    faults.word(
        "bounds.out_of_bounds",
        raw.out_of_bounds.as_deref(),
        &[("scale", OutOfBounds::Scale), ("refuse", OutOfBounds::Refuse)],
    )
}
