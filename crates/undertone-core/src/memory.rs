//! What a learner requires of its gradient memory. The implementations are in `undertone-models`.

use crate::{Forgetting, PowerLaw, Round};

/// The history of one learner's stream, which computes the average gradient over it.
///
/// # Guarantee
/// `gradient` is within `error_bound().at(round)` of the exact average of record gradients in
/// Euclidean norm, each with the weight that `forgetting` gives it, whatever the data and θ inside the
/// bounds. The accountant charges twice that.
pub trait Memory {
    /// One record of the stream. It is checked when it is made, against the bounds that the loss constants follow from.
    /// So a memory never has to refuse one.
    type Record;

    /// Scores each record with θ as it arrives, then remembers it.
    ///
    /// # Panics
    /// A memory may panic when a record was checked for another model: a bug in the caller.
    fn observe(&mut self, theta: &[f64], batch: &[Self::Record]) -> Score;

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
        /// The number of rounds after which a record is dropped; `None` keeps statistics of all, for the squared
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
