//! An agreement as written in a file, before any check.
//!
//! Every key is optional here, so that all faults can be reported at once.

use crate::neural::{LayerSpec, Shape};
use serde::{Deserialize, Serialize};

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "keys are explained in the starter config and in docs/config.md")]
#[serde(default)]
pub struct RawAgreement {
    pub name: Option<String>,
    pub method: Option<String>,
    pub unproven: Option<bool>,
    pub network: RawNetwork,
    pub records: RawRecords,
    pub bounds: RawBounds,
    pub model: RawModel,
    pub parameters: RawParameters,
    pub memory: RawMemory,
    pub schedule: RawSchedule,
    pub noise: RawNoise,
    pub privacy: RawPrivacy,
}

/// `[network]`: which learners are neighbours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "keys are explained in the starter config and in docs/config.md")]
#[serde(default)]
pub struct RawNetwork {
    pub learners: Option<usize>,
    pub topology: Option<String>,
    pub columns: Option<usize>,
    pub degree: Option<usize>,
    pub probability: Option<f64>,
    pub seed: Option<u64>,
    pub edges: Option<RawEdges>,
    pub weights: Option<String>,
    pub weight: Option<f64>,
}

/// Edges, in a file or inline, each as `[i, j]` or `[i, j, weight]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RawEdges {
    /// A text file with one edge a line.
    Path(String),
    /// The edges themselves.
    Inline(Vec<Vec<f64>>),
}

/// `[records]`: how rows become records, and how many a round takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "keys are explained in the starter config and in docs/config.md")]
#[serde(default)]
pub struct RawRecords {
    pub label: Option<String>,
    pub classes: Option<Vec<String>>,
    pub categorical: Option<Vec<String>>,
    pub drop: Option<Vec<String>>,
    pub intercept: Option<bool>,
    pub centre: Option<bool>,
    pub normalise: Option<bool>,
    pub warmup: Option<u64>,
    pub batch: Option<u64>,
}

/// `[bounds]`: public bounds on the data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "keys are explained in the starter config and in docs/config.md")]
#[serde(default)]
pub struct RawBounds {
    pub feature_norm: Option<f64>,
    pub label: Option<f64>,
    pub out_of_bounds: Option<String>,
}

/// `[model]`: the loss.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "keys are explained in the starter config and in docs/config.md")]
#[serde(default)]
pub struct RawModel {
    pub loss: Option<String>,
    pub features: Option<RawFeatures>,
    pub raw_features: Option<usize>,
    pub dimension: Option<usize>,
    pub gamma: Option<f64>,
    pub classes: Option<u32>,
    pub input: Option<Shape>,
    pub layers: Option<Vec<LayerSpec>>,
    pub hidden: Option<Vec<usize>>,
    pub degree: Option<u32>,
    pub threshold: Option<f64>,
    pub ridge: Option<f64>,
    pub lasso: Option<f64>,
    pub clip: Option<f64>,
    pub parameters: Option<usize>,
    pub smoothness: Option<f64>,
    pub strong_convexity: Option<f64>,
    pub gradient_spread: Option<f64>,
}

/// The features that a model sees: how many there are, or the name of the transform that makes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RawFeatures {
    /// As many as a record has.
    Count(usize),
    /// Those of a transform.
    Transform(String),
}

impl From<usize> for RawFeatures {
    fn from(count: usize) -> RawFeatures {
        RawFeatures::Count(count)
    }
}

impl RawModel {
    /// The number of features, if it is given as a number.
    pub(super) fn feature_count(&self) -> Option<usize> {
        match self.features {
            Some(RawFeatures::Count(count)) => Some(count),
            Some(RawFeatures::Transform(_)) | None => None,
        }
    }

    /// The name of the transform, if one is given.
    pub(super) fn transform_name(&self) -> Option<&str> {
        match &self.features {
            Some(RawFeatures::Transform(name)) => Some(name),
            Some(RawFeatures::Count(_)) | None => None,
        }
    }
}

/// `[parameters]`: the set Θ.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "keys are explained in the starter config and in docs/config.md")]
#[serde(default)]
pub struct RawParameters {
    pub set: Option<String>,
    pub radius: Option<f64>,
    pub lower: Option<f64>,
    pub upper: Option<f64>,
    pub total: Option<f64>,
    pub start_spread: Option<f64>,
}

/// `[memory]`: how the history gradient is computed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "keys are explained in the starter config and in docs/config.md")]
#[serde(default)]
pub struct RawMemory {
    pub kind: Option<String>,
    pub degree: Option<u32>,
    pub tolerance: Option<f64>,
    pub tolerance_exponent: Option<f64>,
    pub window: Option<u64>,
    pub factor: Option<f64>,
    pub cutoff: Option<f64>,
}

/// `[schedule]`: steps and coupling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "keys are explained in the starter config and in docs/config.md")]
#[serde(default)]
pub struct RawSchedule {
    pub step: Option<f64>,
    pub step_exponent: Option<f64>,
    pub coupling: Option<f64>,
    pub coupling_exponent: Option<f64>,
    pub interval: Option<u64>,
    pub momentum: Option<f64>,
    pub step_ratio: Option<f64>,
}

/// `[noise]`: what is added to every release.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "keys are explained in the starter config and in docs/config.md")]
#[serde(default)]
pub struct RawNoise {
    pub kind: Option<String>,
    pub scale: Option<OneOrEach>,
    pub calibrate: Option<String>,
    pub rounds: Option<u64>,
    pub exponent: Option<OneOrEach>,
    pub ratio: Option<f64>,
}

/// `[privacy]`: the budget.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "keys are explained in the starter config and in docs/config.md")]
#[serde(default)]
pub struct RawPrivacy {
    pub epsilon: Option<OneOrEach>,
    pub pure_epsilon: Option<OneOrEach>,
    pub delta: Option<f64>,
    pub bound: Option<String>,
}

/// One number for all learners, or one for each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OneOrEach {
    /// The same for all.
    One(f64),
    /// In the order of the learners.
    Each(Vec<f64>),
}
