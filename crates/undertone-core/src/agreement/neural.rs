//! Checking `[model]` where it is a neural network.

use super::{Agreement, Faults, RawAgreement, RawModel};
use crate::neural::{CLIP_RANGE, NeuralSpec};
use crate::{Loss, MemoryKind};

/// The default hidden layer of an `mlp`.
const HIDDEN: [usize; 1] = [64];

/// The layers that a config asks for; `None` for other losses, or after a fault.
pub(super) fn neural(raw: &RawModel, faults: &mut Faults) -> Option<NeuralSpec> {
    let kind = raw.loss.as_deref();
    if kind != Some("cnn") && raw.transform_name() != Some("scattering") {
        let only = "loss = \"cnn\" or features = \"scattering\"";
        faults.unused("model.input", raw.input.as_ref(), only);
    }
    if kind != Some("cnn") {
        faults.unused("model.layers", raw.layers.as_ref(), "loss = \"cnn\"");
    }
    if kind != Some("mlp") {
        faults.unused("model.hidden", raw.hidden.as_ref(), "loss = \"mlp\"");
    }
    if !matches!(kind, Some("cnn" | "mlp")) {
        return None;
    }
    let Some(classes) = raw.classes else {
        faults.missing("model.classes", "the number of classes of a record");
        return None;
    };
    let spec = if kind == Some("cnn") {
        cnn(raw, classes as usize, faults)?
    } else {
        let Some(features) = raw.feature_count() else {
            faults.missing("model.features", "the number of features of a record");
            return None;
        };
        NeuralSpec::mlp(features, raw.hidden.as_deref().unwrap_or(&HIDDEN), classes as usize)
    };
    match spec.layout() {
        Ok(_) => Some(spec),
        Err(error) => {
            let key = if kind == Some("cnn") { "model.layers" } else { "model.hidden" };
            faults.push(key, "", error.to_string());
            None
        }
    }
}

fn cnn(raw: &RawModel, classes: usize, faults: &mut Faults) -> Option<NeuralSpec> {
    let Some(input) = raw.input else {
        let needed = "the shape of an image: { channels = 1, height = 28, width = 28 }";
        faults.missing("model.input", needed);
        return None;
    };
    let features = input.count();
    if let Some(found) = raw.feature_count().filter(|&found| found != features) {
        faults.push("model.features", found, format!("model.input has {features}; leave it out"));
    }
    Some(match &raw.layers {
        Some(layers) => NeuralSpec { input, classes, layers: layers.clone() },
        None => NeuralSpec::cnn(input, classes),
    })
}

/// The loss of a neural network that was checked, or a stand-in for one that has faults.
pub(super) fn neural_loss(spec: Option<&NeuralSpec>) -> Loss {
    let layout = spec.and_then(|spec| Some((spec.classes, spec.layout().ok()?.1)));
    let (classes, parameters) = layout.unwrap_or((2, 1));
    Loss::Neural { classes: u32::try_from(classes).unwrap_or(u32::MAX), parameters }
}

/// Notes keys that a neural network cannot have, and those that only a neural network can have.
pub(super) fn check_neural(raw: &RawAgreement, agreement: &Agreement, faults: &mut Faults) {
    if !matches!(agreement.model.loss, Loss::Neural { .. }) {
        if agreement.memory == MemoryKind::Arrival {
            faults.push("memory.kind", "\"arrival\"", "needs loss = \"cnn\" or \"mlp\"");
        }
        return;
    }
    let only = "a loss other than a neural network";
    faults.unused("model.ridge", raw.model.ridge.as_ref(), only);
    faults.unused("model.lasso", raw.model.lasso.as_ref(), only);
    faults.unused("parameters.start_spread", raw.parameters.start_spread.as_ref(), only);
    let fits = matches!(
        agreement.memory,
        MemoryKind::Exact | MemoryKind::Arrival | MemoryKind::Window { .. }
    );
    if !fits {
        let kind = raw.memory.kind.as_deref().unwrap_or_default();
        let needed = "must be exact, arrival or window for a neural network";
        faults.push("memory.kind", format!("\"{kind}\""), needed);
    }
    match raw.model.clip {
        None => faults.missing("model.clip", "the largest norm of a record's gradient that counts"),
        Some(clip) if !CLIP_RANGE.contains(&clip) => {
            faults.push("model.clip", clip, "must be from 1e-12 to 1e12 for a neural network");
        }
        Some(_) => {}
    }
}
