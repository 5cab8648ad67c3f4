//! What a learner requires of its gradient memory. The implementations are in `undertone-models`.

use crate::{Forgetting, PowerLaw, Round};
use thiserror::Error;

/// The history of one learner's stream, which computes the average gradient over it.
///
/// # Guarantee
/// `gradient` is within `error_bound().at(round)` of the exact average of record gradients in
/// Euclidean norm, each with the weight that `forgetting` gives it, whatever the data and θ inside the
/// bounds. The accountant charges twice that.
pub trait Memory {
    /// One record of the stream.
    type Record;

    /// Scores each record with θ as it arrives, then remembers it.
    ///
    /// # Errors
    /// When a record is outside the declared bounds or has the wrong shape: then nothing of the
    /// batch is remembered.
    fn observe(&mut self, theta: &[f64], batch: &[Self::Record]) -> Result<Score, RecordError>;

    /// Writes the history gradient at θ, ridge term included, into `out`. Zero without records.
    ///
    /// Records observed since the last call count as arrived in `round`, which must not be before
    /// the round of the last call.
    fn gradient(&mut self, round: Round, theta: &[f64], out: &mut [f64]);

    /// How many records were observed so far, including those forgotten since.
    fn records(&self) -> u64;

    /// How the weight of a record falls with its age. The accountant follows it.
    fn forgetting(&self) -> Forgetting;

    /// The proven bound on the error of `gradient`, round by round.
    fn error_bound(&self) -> PowerLaw;
}

/// Which gradient memory a learner uses. `undertone-models` builds it and states its error bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MemoryKind {
    /// The full history, for any loss. Cost grows with the history.
    Exact,
    /// Sufficient statistics, for the squared loss.
    Moments,
    /// Sums at fixed nodes, for polynomial losses of records with one non-zero feature.
    Recursive,
    /// A polynomial fit of the logistic loss over moment statistics.
    Polynomial {
        /// The degree of the fitted loss: 2, 4 or 6.
        degree: u32,
    },
    /// The average of gradients taken once, when records arrive, for neural networks. Constant cost.
    Arrival,
    /// A quadratic model of the history at an anchor, renewed when its error exceeds the tolerance.
    Anchored {
        /// The error the gradient may have, round by round.
        tolerance: PowerLaw,
    },
    /// The records of the last rounds, for any loss.
    Window {
        /// How many rounds.
        rounds: u64,
    },
    /// Exponential weights: sufficient statistics for the squared loss, or records up to an age.
    Decaying {
        /// What a round does to the weight of a record, above 0 and below 1.
        factor: f64,
        /// After so many rounds a record is dropped; `None` keeps statistics of all, for the squared
        /// loss.
        rounds: Option<u64>,
    },
}

impl MemoryKind {
    /// How the weight of a record falls with its age in such a memory.
    #[must_use]
    pub fn forgetting(self) -> Forgetting {
        match self {
            MemoryKind::Exact
            | MemoryKind::Arrival
            | MemoryKind::Moments
            | MemoryKind::Recursive
            | MemoryKind::Polynomial { .. }
            | MemoryKind::Anchored { .. } => Forgetting::Never,
            MemoryKind::Window { rounds } => Forgetting::Window { rounds },
            MemoryKind::Decaying { factor, rounds } => Forgetting::Decaying { factor, rounds },
        }
    }
}

/// How well θ did on a batch before it saw the labels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// How many records were scored.
    pub records: u64,
    /// The sum of their losses.
    pub loss_sum: f64,
    /// How many were classified correctly; always 0 for regression.
    pub correct: u64,
}

/// Why a record cannot join the history. It names the place and the bound, never the value.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum RecordError {
    /// The features have another dimension than the model.
    #[error("record {position}: {found} features, the model has {expected}")]
    Dimension {
        /// Place in the batch, from 0.
        position: usize,
        /// Dimension of the record.
        found: usize,
        /// Dimension of the model.
        expected: usize,
    },
    /// Sparse indices do not increase, exceed the dimension, or do not match the values.
    #[error(
        "record {position}: sparse indices must increase, stay below the dimension and match the values"
    )]
    Indices {
        /// Place in the batch, from 0.
        position: usize,
    },
    /// A feature or the label is NaN or infinite.
    #[error("record {position}: a feature or the label is not finite")]
    NotFinite {
        /// Place in the batch, from 0.
        position: usize,
    },
    /// The feature norm exceeds the declared bound.
    #[error("record {position}: feature norm above the declared bound {bound}")]
    FeatureNorm {
        /// Place in the batch, from 0.
        position: usize,
        /// The bound from the agreement.
        bound: f64,
    },
    /// The label is not a class, or exceeds the declared bound.
    #[error(
        "record {position}: label outside the declared range (classes 0 to {bound}, or |label| ≤ {bound})"
    )]
    Label {
        /// Place in the batch, from 0.
        position: usize,
        /// The largest class, or the bound on a regression label.
        bound: f64,
    },
    /// The memory supports only records with at most one non-zero feature.
    #[error(
        "record {position}: the recursive memory needs one parameter, or records with one non-zero feature; use moments, anchored or exact"
    )]
    NotSeparable {
        /// Place in the batch, from 0.
        position: usize,
    },
}

impl RecordError {
    /// The record's place in the batch, from 0.
    #[must_use]
    pub fn position(&self) -> usize {
        match *self {
            RecordError::Dimension { position, .. }
            | RecordError::Indices { position }
            | RecordError::NotFinite { position }
            | RecordError::FeatureNorm { position, .. }
            | RecordError::Label { position, .. }
            | RecordError::NotSeparable { position } => position,
        }
    }
}
