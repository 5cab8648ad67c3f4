//! Checking `[model]` and `[parameters]`.

use super::faults::{FINITE, Faults, NON_NEGATIVE, POSITIVE};
use super::neural::neural_loss;
use super::{RawModel, RawParameters};
use crate::neural::NeuralSpec;
use crate::{DeclaredCurvature, Domain, Loss, ModelSpec};

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

pub(super) fn model(raw: &RawModel, neural: Option<&NeuralSpec>, faults: &mut Faults) -> ModelSpec {
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
    let features = match kind {
        // A neural network without layers has noted its faults.
        Kind::Neural => neural.map_or(1, |spec| spec.input.count()),
        _ => stated_features(raw, faults),
    };
    let mut degree = |allowed: std::ops::RangeInclusive<u32>, even: bool| match raw.degree {
        Some(degree) if allowed.contains(&degree) && (!even || degree % 2 == 0) => degree,
        found => {
            let kind = if even { "an even number" } else { "a number" };
            let needed = format!("must be {kind} from {} to {}", allowed.start(), allowed.end());
            match found {
                Some(degree) => faults.push("model.degree", degree, needed),
                None => faults.missing("model.degree", needed),
            }
            2
        }
    };
    let (loss, expansion) = match kind {
        Kind::Ridge | Kind::Lasso => (Loss::Squared, 1),
        Kind::Polynomial => (Loss::Squared, degree(2..=8, false)),
        Kind::Power => (Loss::Power { degree: degree(2..=8, true) }, 1),
        Kind::Logistic => (Loss::Logistic, 1),
        Kind::Huber => (
            Loss::Huber { threshold: faults.number("model.threshold", raw.threshold, &POSITIVE) },
            1,
        ),
        Kind::Softmax => {
            let classes = raw.classes.unwrap_or(0);
            if !(2..=100_000).contains(&classes) {
                faults.push("model.classes", classes, "must be 2 to 100000");
            }
            (Loss::Softmax { classes: classes.max(2) }, 1)
        }
        Kind::Neural => (neural_loss(neural), 1),
        Kind::Declared => (declared(raw, faults), 1),
    };
    refuse_meaningless_keys(raw, kind, faults);
    let lasso = match kind {
        Kind::Lasso => faults.number("model.lasso", raw.lasso, &POSITIVE),
        _ => faults.number("model.lasso", Some(raw.lasso.unwrap_or(0.0)), &NON_NEGATIVE),
    };
    let ridge = faults.number("model.ridge", Some(raw.ridge.unwrap_or(0.0)), &NON_NEGATIVE);
    let clip =
        raw.clip.map_or(f64::INFINITY, |clip| faults.number("model.clip", Some(clip), &POSITIVE));
    let spec = ModelSpec { loss, features: features.max(1), degree: expansion, ridge, lasso, clip };
    if spec.parameters() > PARAMETERS_MAX {
        let needed = format!("the model would have more than {PARAMETERS_MAX} parameters");
        faults.push("model.features", features, needed);
        return ModelSpec { features: 1, ..spec };
    }
    spec
}

fn stated_features(raw: &RawModel, faults: &mut Faults) -> usize {
    let Some(features) = raw.features else {
        faults.missing("model.features", "the number of features of a record");
        return 1;
    };
    if features == 0 || features > PARAMETERS_MAX {
        faults.push("model.features", features, format!("must be 1 to {PARAMETERS_MAX}"));
    }
    features
}

/// A loss whose function is supplied by a program. The config has only its constants.
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
            let smoothness = faults.number("model.smoothness", smoothness, &POSITIVE);
            let convexity = faults.number("model.strong_convexity", strong_convexity, &FINITE);
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
    let spread =
        raw.gradient_spread.map(|c| faults.number("model.gradient_spread", Some(c), &POSITIVE));
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
            Domain::Ball { radius: faults.number("parameters.radius", raw.radius, &POSITIVE) }
        }
        Some("box") => {
            let lower = faults.number("parameters.lower", raw.lower, &FINITE);
            let upper = faults.number("parameters.upper", raw.upper, &FINITE);
            if !(lower < upper) {
                faults.push("parameters.upper", upper, format!("must be above lower = {lower}"));
                return Domain::Box { lower: -1.0, upper: 1.0 };
            }
            Domain::Box { lower, upper }
        }
        Some("simplex") => {
            Domain::Simplex { total: faults.number("parameters.total", raw.total, &POSITIVE) }
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
