//! Why a record is refused.

use thiserror::Error;

/// Why a record, or the features of a query, cannot be used. Says which bound it breaks, never the value.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum RecordError {
    /// The features have another dimension than the model.
    #[error("{found} features, the model has {expected}")]
    Dimension {
        /// Dimension of the record.
        found: usize,
        /// Dimension of the model.
        expected: usize,
    },
    /// Sparse indices are not increasing, pass the dimension, or do not match the values.
    #[error("sparse indices must increase, stay below the dimension and match the values")]
    Indices,
    /// A feature or the label is NaN or infinite.
    #[error("a value is not finite")]
    NotFinite,
    /// A value of an image is not one of a pixel.
    #[error("a pixel is outside 0 to 1")]
    Pixel,
    /// The feature vector is longer than the bound.
    #[error("feature norm is above the bound {bound}")]
    FeatureNorm {
        /// The bound.
        bound: f64,
    },
    /// The label of a regression is larger than the bound.
    #[error("label is above the bound {bound} in absolute value")]
    Label {
        /// The bound.
        bound: f64,
    },
    /// The label is not the number of a class.
    #[error("label is not a class: must be a whole number from 0 to {last}")]
    Class {
        /// The largest class.
        last: u32,
    },
    /// The memory holds only for records with at most one non-zero feature.
    #[error(
        "the recursive memory needs one parameter, or records with one non-zero feature; use moments, anchored or exact"
    )]
    NotSeparable,
}
