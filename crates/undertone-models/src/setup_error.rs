//! Why an agreement cannot be run.

use crate::neural::Clip;
use thiserror::Error;
use undertone_core::neural::NeuralSpecError;
use undertone_core::noise::NoiseError;
use undertone_core::planner::PlannerError;
use undertone_core::{FeatureTransformError, LearnerId};

/// Why an agreement cannot be run: its model or its memory cannot be made, or no noise fits.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SetupError {
    /// A setting of the model is outside its range.
    #[error("model: {setting} = {value}: must be {range}")]
    Setting {
        /// The name of the setting.
        setting: &'static str,
        /// Its value.
        value: f64,
        /// The values allowed.
        range: &'static str,
    },
    /// The model would have more parameters than can be indexed.
    #[error(
        "model: degree {degree} over {features} features gives more than {limit} parameters; lower the degree"
    )]
    TooManyParameters {
        /// The dimension of a record.
        features: usize,
        /// The degree of expansion.
        degree: u32,
        /// The largest number of parameters.
        limit: usize,
    },
    /// There is no such transform of features.
    #[error("model: {0}")]
    Transform(#[from] FeatureTransformError),
    /// The layers of a neural network are missing, or do not match the loss.
    #[error("model: a neural network needs layers and the loss cnn or mlp")]
    NoLayers,
    /// The layers of a neural network do not fit together.
    #[error("model: {0}")]
    Layers(#[from] NeuralSpecError),
    /// The bound on the gradients of a neural network is outside its range.
    #[error("model: clip bound {bound}: must be from {least} to {most}", least = Clip::LEAST, most = Clip::MOST)]
    ClipBound {
        /// The bound.
        bound: f64,
    },
    /// The memory does not support neural networks.
    #[error("memory: a neural network needs memory exact, arrival or window")]
    NeuralMemory,
    /// The memory does not support the loss.
    #[error("memory: {memory} does not support the {loss} loss; use {instead}")]
    UnsupportedLoss {
        /// The memory.
        memory: &'static str,
        /// The loss.
        loss: &'static str,
        /// What to use instead.
        instead: &'static str,
    },
    /// The loss is declared, and its function is missing.
    #[error(
        "loss \"declared\" needs a function, which only a program can supply: run it from Python"
    )]
    NoFunction,
    /// The memory does not keep single gradients, which clipping needs.
    #[error("memory: {memory} cannot clip record gradients; drop model.clip or use exact")]
    Clipped {
        /// The memory.
        memory: &'static str,
    },
    /// Expanded records always have more than one non-zero feature.
    #[error("memory: recursive does not support features expanded to degree {degree}; use moments")]
    Expanded {
        /// The degree of expansion.
        degree: u32,
    },
    /// The second moments of this many parameters do not fit into memory.
    #[error(
        "memory: {memory} keeps {parameters} × {parameters} moments, for at most {limit} parameters; use exact"
    )]
    MomentsTooLarge {
        /// The memory.
        memory: &'static str,
        /// The number of parameters.
        parameters: usize,
        /// The largest number allowed.
        limit: usize,
    },
    /// The degree of a polynomial memory is not supported.
    #[error("memory: polynomial: degree {degree}, must be 2, 4 or 6")]
    Degree {
        /// The degree requested.
        degree: u32,
    },
    /// A fit of this degree needs too many moments.
    #[error(
        "memory: polynomial of degree {degree} over {parameters} parameters needs more than {limit} moments; \
         lower the degree or use anchored"
    )]
    TooManyMoments {
        /// The degree requested.
        degree: u32,
        /// The number of parameters.
        parameters: usize,
        /// The largest number of moments allowed.
        limit: usize,
    },
    /// The tolerance of an anchored memory is not finite and above 0.
    #[error("memory: anchored: tolerance {initial}·(t+1)^{exponent}, must be finite and above 0")]
    Tolerance {
        /// The tolerance at t = 0.
        initial: f64,
        /// The exponent of t + 1.
        exponent: f64,
    },
    /// No noise scale meets the budget.
    #[error("noise.calibrate: {0}")]
    Calibration(#[from] PlannerError),
    /// The calibrated scale does not fit the sampler.
    #[error("noise.calibrate: learner {learner}: {error}")]
    Sampler {
        /// The learner.
        learner: LearnerId,
        /// Why.
        error: NoiseError,
    },
}
