//! Why a node cannot be opened, has halted, or does not accept records.

use crate::store::StorageError;
use crate::wire::Rejection;
use thiserror::Error;
use undertone::ReleaseError;
use undertone::method::Method;
use undertone::persist::Damaged;
use undertone::privacy::Refusal;
use undertone_models::{RecordError, SetupError};

/// Why a learner cannot be opened. Nothing was changed.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StorageError),
    /// What it holds was not written by this learner with this agreement.
    #[error("{0}")]
    Damaged(#[from] Damaged),
    /// A release in it is not one of this network.
    #[error("a release in the store is not of this network: {0}")]
    Release(#[from] Rejection),
    /// A record in it is out of bounds: it was damaged, or stored under another agreement.
    #[error("a record in the store is out of bounds: {0}")]
    Record(#[from] RecordError),
    /// A charge that was made before is now refused.
    #[error("the charges in the store do not agree with the agreement: {0}")]
    Refused(#[from] Refusal),
    /// The method does not run on a network.
    #[error(
        "this method is for comparisons in `simulate`; on a network use {}",
        Method::names_where(|method| method.runs_on_a_network).join(" or ")
    )]
    Method,
    /// The learner has no neighbours.
    #[error(
        "network.topology = \"alone\": a daemon needs a neighbour; use `simulate`, or Learner from Python"
    )]
    Alone,
    /// A recomputed charge differs from the stored one.
    #[error(
        "the charges in the store do not agree with the agreement: the last receipt differs from the recomputed one"
    )]
    Receipt,
    /// The learner cannot be made from the agreement.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

/// Why a node has halted. What it has stored is safe; start it again.
#[derive(Debug, Error)]
pub enum Halt {
    /// The store failed. What it holds is known only after it was opened again.
    #[error(transparent)]
    Store(#[from] StorageError),
    /// No noise could be drawn.
    #[error(transparent)]
    Release(ReleaseError),
    /// A release has no receipt.
    #[error("internal error: a release has no receipt")]
    Receipt,
    /// It halted before.
    #[error("the learner has halted because of an earlier error")]
    AlreadyHalted,
}

/// Why records were not accepted.
#[derive(Debug, Error)]
pub enum AcceptError {
    /// Too many are waiting.
    #[error(
        "{waiting} records are waiting for a round, and there is room for {room}: try again later"
    )]
    Full {
        /// How many are waiting.
        waiting: usize,
        /// How many more there is room for.
        room: usize,
    },
    /// More than the inbox can ever hold.
    #[error(
        "{count} records at once, and there is never room for more than {limit}: send them in parts"
    )]
    TooMany {
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
    /// No later round could use them.
    #[error("all rounds were run, or the budget is spent: no more records are accepted")]
    Over,
    /// They could not be stored.
    #[error(transparent)]
    Halt(#[from] Halt),
}
