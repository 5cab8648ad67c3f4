//! Why a neural network, its parameters or a batch cannot be used.

use thiserror::Error;
use undertone_core::neural::NeuralSpecError;

/// Why a neural network, its parameters or a batch cannot be used.
///
/// Contains sizes and positions only, never a value of a record or a parameter.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum NeuralError {
    /// The spec does not fit together.
    #[error(transparent)]
    Spec(#[from] NeuralSpecError),
    /// A vector has the wrong length.
    #[error("{what}: {found} numbers, expected {expected}")]
    Length {
        /// The vector.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The expected length.
        expected: usize,
    },
    /// A record's label is not a class.
    #[error("record {position}: its label is none of the {classes} classes")]
    Label {
        /// The position of the record in the batch, from 0.
        position: usize,
        /// The number of classes.
        classes: usize,
    },
    /// A batch is too large for the bound on rounding to hold.
    #[error(
        "{records} records in one clipped sum: at most {limit}; compute several sums and add them"
    )]
    BatchTooLarge {
        /// The number of records.
        records: usize,
        /// The largest number allowed.
        limit: usize,
    },
    /// A clipping bound is outside its range.
    #[error("clip bound {bound}: must be from {least} to {most}")]
    ClipBound {
        /// The bound.
        bound: f64,
        /// The smallest bound allowed.
        least: f64,
        /// The largest bound allowed.
        most: f64,
    },
}
