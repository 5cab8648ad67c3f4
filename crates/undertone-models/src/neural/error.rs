//! Why a neural network, its parameters or a batch cannot be used.

use thiserror::Error;
use undertone_core::neural::NeuralSpecError;

/// Why a neural network, its parameters or a batch cannot be used.
///
/// Holds sizes and positions only, never a value of a record or a parameter.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum NeuralError {
    /// The spec does not fit together.
    #[error(transparent)]
    Spec(#[from] NeuralSpecError),
    /// A vector has the wrong length.
    #[error("{what}: {found} numbers, expected {expected}")]
    Length {
        /// Which vector.
        what: &'static str,
        /// Its length.
        found: usize,
        /// What it should be.
        expected: usize,
    },
    /// A record's label is no class.
    #[error("record {position}: its label is none of the {classes} classes")]
    Label {
        /// The record's place in the batch, from 0.
        position: usize,
        /// How many classes there are.
        classes: usize,
    },
    /// A batch is too large for the bound on rounding to hold.
    #[error("{records} records in one clipped sum: at most {limit}; add up several sums")]
    BatchTooLarge {
        /// Its records.
        records: usize,
        /// The largest number.
        limit: usize,
    },
    /// A clipping bound that is not a number it can be.
    #[error("clip bound {bound}: must be from {least} to {most}")]
    ClipBound {
        /// The bound.
        bound: f64,
        /// The smallest one.
        least: f64,
        /// The largest one.
        most: f64,
    },
}
