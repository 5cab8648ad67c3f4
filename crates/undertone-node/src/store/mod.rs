//! What a learner never forgets.
//!
//! One commit a round holds what the round was computed from: the records that arrived, the releases that
//! were heard in the round before, and the learner's own release as it will be sent. After a crash the rounds
//! since the last snapshot are computed again from these, bit for bit, without any new noise.

mod disk;

pub use disk::DiskStore;

use std::collections::VecDeque;
use thiserror::Error;
use undertone::LearnerId;
use undertone::privacy::Receipt;
use undertone_models::Record;

/// Where a learner keeps what it must not forget. Faults are injected here.
///
/// # Guarantee
/// What a method returned `Ok` for is there after any crash. After an `Err` it may be there or not, whole
/// in either case, and the caller does nothing more than stop.
pub trait Storage {
    /// Everything that was kept.
    ///
    /// # Errors
    /// When it cannot be read, or is damaged.
    fn load(&mut self) -> Result<Stored, StorageError>;

    /// Keeps records that no round has used yet.
    ///
    /// # Errors
    /// When they could not be kept.
    fn accept(&mut self, records: &[Record]) -> Result<(), StorageError>;

    /// Keeps one round.
    ///
    /// # Errors
    /// When it could not be kept.
    fn commit(&mut self, commit: Commit<'_>) -> Result<(), StorageError>;

    /// Keeps that a neighbour is not to be heard any more.
    ///
    /// # Errors
    /// When it could not be kept.
    fn cut_off(&mut self, neighbour: LearnerId) -> Result<(), StorageError>;
}

/// One round to keep.
#[derive(Clone, Copy)]
pub struct Commit<'a> {
    /// The round as bytes. Private.
    pub entry: &'a [u8],
    /// How many of the records that were waiting it has used.
    pub records_used: usize,
    /// What was charged for its release.
    pub receipt: &'a Receipt,
    /// The whole state after it: with this, no earlier round is needed any more. Private.
    pub snapshot: Option<&'a [u8]>,
}

/// Everything that was kept. Private.
#[derive(Clone, Default)]
pub struct Stored {
    /// The newest snapshot.
    pub snapshot: Option<Vec<u8>>,
    /// The rounds after it, in order.
    pub entries: Vec<Vec<u8>>,
    /// Records that no round has used yet, in order.
    pub waiting: VecDeque<Record>,
    /// What was charged for the last release.
    pub receipt: Option<Receipt>,
    /// Neighbours that are not to be heard any more.
    pub cut_off: Vec<LearnerId>,
}

/// Why something could not be kept or read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum StorageError {
    /// The disk, or what is between.
    #[error("the store cannot be used: {0}")]
    Unavailable(String),
    /// What is there is not what was put there.
    #[error(
        "the store is damaged: {0}; restore no older copy (it would release rounds a second time): \
         start with a new store and a new learner"
    )]
    Damaged(String),
    /// Another process has it open.
    #[error(
        "the store is in use by another process: two learners on one store would release twice"
    )]
    InUse,
    /// Others may read it.
    #[error("the store holds private records and others may read it: chmod 600")]
    Exposed,
    /// It was made for something else.
    #[error("the store is of another {0}: every learner of every network has its own")]
    Other(&'static str),
}
