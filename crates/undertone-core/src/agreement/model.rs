//! Checking `[model]` and `[parameters]`.

use super::neural::neural_loss;
use super::{Faults, Range, RawModel, RawParameters};
use crate::neural::NeuralSpec;
use crate::{DeclaredCurvature, Domain, FeatureTransform, Loss, ModelSpec};

/// The largest model: a vector of 2 GiB.
const PARAMETERS_MAX: usize = 1 << 28;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Ridge,
    Lasso,
    Polynomial,
    Power,
    Huber,
    Logistic,
    Softmax,
    Neural,
    Declared,
}

pub(super) fn model(
    raw: &RawModel,
    neural: Option<&NeuralSpec>,
    transform: Option<&FeatureTransform>,
    faults: &mut Faults,
) -> ModelSpec {
    let kind = faults.word(
        "model.loss",
        raw.loss.as_deref(),
        &[
            ("ridge", Kind::Ridge),
            ("lasso", Kind::Lasso),
            ("polynomial", Kind::Polynomial),
            ("power", Kind::Power),
            ("huber", Kind::Huber),
            ("logistic", Kind::Logistic),
            ("softmax", Kind::Softmax),
            ("cnn", Kind::Neural),
            ("mlp", Kind::Neural),
            ("declared", Kind::Declared),
        ],
    );
    let features = features(raw, kind, neural, transform, faults);
    let (loss, expansion) = loss(raw, kind, neural, faults);
    refuse_meaningless_keys(raw, kind, faults);
    let lasso = lasso(raw, kind, faults);
    let ridge = faults.number("model.ridge", Some(raw.ridge.unwrap_or(0.0)), Range::NonNegative);
    let clip = raw
        .clip
        .map_or(f64::INFINITY, |clip| faults.number("model.clip", Some(clip), Range::Positive));
    let spec = ModelSpec { loss, features: features.max(1), degree: expansion, ridge, lasso, clip };
    if spec.parameters() > PARAMETERS_MAX {
        let needed = format!("the model would have more than {PARAMETERS_MAX} parameters");
        faults.push("model.features", features, needed);
        return ModelSpec { features: 1, ..spec };
    }
    spec
}

fn features(
    raw: &RawModel,
    kind: Kind,
    neural: Option<&NeuralSpec>,
    transform: Option<&FeatureTransform>,
    faults: &mut Faults,
) -> usize {
    match kind {
        Kind::Neural if raw.transform_name().is_some() => {
            faults.push("model.features", "", "must be a number for cnn and mlp");
            1
        }
        // A neural network without layers has noted its faults.
        Kind::Neural => neural.map_or(1, |spec| spec.input.count()),
        Kind::Ridge
        | Kind::Lasso
        | Kind::Polynomial
        | Kind::Power
        | Kind::Huber
        | Kind::Logistic
        | Kind::Softmax
        | Kind::Declared => match transform {
            Some(transform) => transform.outputs(),
            // A transform that does not exist has noted its faults.
            None if raw.transform_name().is_some() => 1,
            None => stated_features(raw, faults),
        },
    }
}

fn stated_features(raw: &RawModel, faults: &mut Faults) -> usize {
    let Some(features) = raw.feature_count() else {
        faults.missing("model.features", "the number of features of a record");
        return 1;
    };
    if features == 0 || features > PARAMETERS_MAX {
        faults.push("model.features", features, format!("must be 1 to {PARAMETERS_MAX}"));
    }
    features
}

/// The loss, and the degree that features are expanded to.
fn loss(
    raw: &RawModel,
    kind: Kind,
    neural: Option<&NeuralSpec>,
    faults: &mut Faults,
) -> (Loss, u32) {
    match kind {
        Kind::Ridge | Kind::Lasso => (Loss::Squared, 1),
        Kind::Polynomial => (Loss::Squared, degree(raw, false, faults)),
        Kind::Power => (Loss::Power { degree: degree(raw, true, faults) }, 1),
        Kind::Logistic => (Loss::Logistic, 1),
        Kind::Huber => {
            let threshold = faults.number("model.threshold", raw.threshold, Range::Positive);
            (Loss::Huber { threshold }, 1)
        }
        Kind::Softmax => {
            let classes = raw.classes.unwrap_or(0);
            if !(2..=100_000).contains(&classes) {
                faults.push("model.classes", classes, "must be 2 to 100000");
            }
            (Loss::Softmax { classes: classes.max(2) }, 1)
        }
        Kind::Neural => (neural_loss(neural), 1),
        Kind::Declared => (declared(raw, faults), 1),
    }
}

fn degree(raw: &RawModel, even: bool, faults: &mut Faults) -> u32 {
    let kind = if even { "an even number" } else { "a number" };
    let needed = format!("must be {kind} from 2 to 8");
    match raw.degree {
        Some(degree) if (2..=8).contains(&degree) && (!even || degree % 2 == 0) => return degree,
        Some(degree) => faults.push("model.degree", degree, needed),
        None => faults.missing("model.degree", needed),
    }
    2
}

fn lasso(raw: &RawModel, kind: Kind, faults: &mut Faults) -> f64 {
    match kind {
        Kind::Lasso => faults.number("model.lasso", raw.lasso, Range::Positive),
        Kind::Ridge
        | Kind::Polynomial
        | Kind::Power
        | Kind::Huber
        | Kind::Logistic
        | Kind::Softmax
        | Kind::Neural
        | Kind::Declared => {
            faults.number("model.lasso", Some(raw.lasso.unwrap_or(0.0)), Range::NonNegative)
        }
    }
}

/// A loss whose function comes from elsewhere, and of which the config has the constants.
fn declared(raw: &RawModel, faults: &mut Faults) -> Loss {
    let parameters = match raw.parameters {
        Some(count) if (1..=PARAMETERS_MAX).contains(&count) => count,
        Some(count) => {
            faults.push("model.parameters", count, format!("must be 1 to {PARAMETERS_MAX}"));
            1
        }
        None => {
            faults.missing("model.parameters", "how many parameters the function has");
            1
        }
    };
    let curvature = match (raw.smoothness, raw.strong_convexity) {
        (None, None) => None,
        (smoothness, strong_convexity) => {
            let smoothness = faults.number("model.smoothness", smoothness, Range::Positive);
            let convexity =
                faults.number("model.strong_convexity", strong_convexity, Range::Finite);
            if !(convexity.abs() <= smoothness) {
                let needed = format!("must be between -smoothness and smoothness = {smoothness}");
                faults.push("model.strong_convexity", convexity, needed);
            }
            Some(DeclaredCurvature { smoothness, strong_convexity: convexity })
        }
    };
    if raw.clip.is_none() {
        faults.missing("model.clip", "the largest norm of a record's gradient");
    }
    if let Some(ridge) = raw.ridge.filter(|&ridge| ridge > 0.0 && curvature.is_none()) {
        let needed = "a declared loss needs smoothness and strong_convexity with a ridge; put it into the loss";
        faults.push("model.ridge", ridge, needed);
    }
    let spread = raw
        .gradient_spread
        .map(|c| faults.number("model.gradient_spread", Some(c), Range::Positive));
    Loss::Declared { parameters, curvature, gradient_spread: spread }
}

fn refuse_meaningless_keys(raw: &RawModel, kind: Kind, faults: &mut Faults) {
    if kind != Kind::Declared {
        let only = "loss = \"declared\"";
        faults.unused("model.parameters", raw.parameters.as_ref(), only);
        faults.unused("model.smoothness", raw.smoothness.as_ref(), only);
        faults.unused("model.strong_convexity", raw.strong_convexity.as_ref(), only);
        faults.unused("model.gradient_spread", raw.gradient_spread.as_ref(), only);
    }
    if !matches!(kind, Kind::Softmax | Kind::Neural) {
        let only = "loss = \"softmax\", \"cnn\" or \"mlp\"";
        faults.unused("model.classes", raw.classes.as_ref(), only);
    }
    if kind != Kind::Huber {
        faults.unused("model.threshold", raw.threshold.as_ref(), "loss = \"huber\"");
    }
    if !matches!(kind, Kind::Polynomial | Kind::Power) {
        faults.unused("model.degree", raw.degree.as_ref(), "loss = \"polynomial\" or \"power\"");
    }
}

pub(super) fn parameters(raw: &RawParameters, faults: &mut Faults) -> Domain {
    let kind = raw.set.as_deref();
    if kind != Some("ball") {
        faults.unused("parameters.radius", raw.radius.as_ref(), "set = \"ball\"");
    }
    if kind != Some("box") {
        faults.unused("parameters.lower", raw.lower.as_ref(), "set = \"box\"");
        faults.unused("parameters.upper", raw.upper.as_ref(), "set = \"box\"");
    }
    if kind != Some("simplex") {
        faults.unused("parameters.total", raw.total.as_ref(), "set = \"simplex\"");
    }
    match kind {
        Some("ball") => {
            Domain::Ball { radius: faults.number("parameters.radius", raw.radius, Range::Positive) }
        }
        Some("box") => {
            let lower = faults.number("parameters.lower", raw.lower, Range::Finite);
            let upper = faults.number("parameters.upper", raw.upper, Range::Finite);
            if !(lower < upper) {
                faults.push("parameters.upper", upper, format!("must be above lower = {lower}"));
                return Domain::Box { lower: -1.0, upper: 1.0 };
            }
            Domain::Box { lower, upper }
        }
        Some("simplex") => {
            Domain::Simplex { total: faults.number("parameters.total", raw.total, Range::Positive) }
        }
        other => {
            let needed = "must be one of ball, box, simplex";
            match other {
                None => faults.missing("parameters.set", needed),
                Some(word) => faults.push("parameters.set", format!("\"{word}\""), needed),
            }
            Domain::Ball { radius: 1.0 }
        }
    }
}
