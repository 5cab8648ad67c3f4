//! Why a memory cannot serve a model.

use thiserror::Error;

/// Why a memory cannot serve a model.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum MemoryError {
    /// The memory does not support neural networks.
    #[error("a neural network needs memory exact, arrival or window")]
    Neural,
    /// The memory does not support the loss.
    #[error("memory {memory} does not support the {loss} loss; use {instead}")]
    Loss {
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
    /// The memory does not keep records by person.
    #[error(
        "this memory, or a neural network, cannot cut gradients by person; use memory exact or window, or limit the records of a person (privacy.records_per_person)"
    )]
    Grouping,
    /// The memory does not keep single gradients, which clipping needs.
    #[error("memory {memory} cannot clip record gradients; drop model.clip or use exact")]
    Clipped {
        /// The memory.
        memory: &'static str,
    },
    /// Expanded records always have more than one non-zero feature.
    #[error("memory recursive does not support features expanded to degree {degree}; use moments")]
    Expanded {
        /// The degree of expansion.
        degree: u32,
    },
    /// The second moments of this many parameters do not fit into memory.
    #[error(
        "memory {memory} keeps {parameters} × {parameters} moments, for at most {limit} parameters; use exact"
    )]
    TooManyParameters {
        /// The memory.
        memory: &'static str,
        /// The number of parameters.
        parameters: usize,
        /// The largest number allowed.
        limit: usize,
    },
    /// The degree is not supported.
    #[error("memory polynomial: degree {degree}, must be 2, 4 or 6")]
    Degree {
        /// The degree requested.
        degree: u32,
    },
    /// A fit of this degree needs too many moments.
    #[error(
        "memory polynomial of degree {degree} over {parameters} parameters needs more than {limit} moments; lower the degree or use anchored"
    )]
    TooManyMoments {
        /// The degree requested.
        degree: u32,
        /// The number of parameters.
        parameters: usize,
        /// The largest number of moments allowed.
        limit: usize,
    },
    /// The tolerance is not finite and above 0.
    #[error("memory anchored: tolerance {initial}·(t+1)^{exponent}, must be finite and above 0")]
    Tolerance {
        /// The tolerance at t = 0.
        initial: f64,
        /// The exponent of t + 1.
        exponent: f64,
    },
}
