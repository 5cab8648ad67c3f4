//! The durable state of a learner.
//!
//! Each round has one commit. It holds what the round was computed from: the records that arrived, the releases that
//! were heard in the round before, and the learner's own release as it will be sent. After a crash the rounds
//! since the last snapshot are computed again from these, bit for bit, without new noise.

mod disk;
mod file;
mod read_only;

pub use disk::DiskStore;
pub use file::StoreFile;

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use thiserror::Error;
use undertone::LearnerId;
use undertone::privacy::Receipt;
use undertone_models::{BoundedRecord, Record};

/// A learner's durable storage. Tests inject faults here.
///
/// # Guarantee
/// After a method has returned `Ok`, its change survives any crash. After an `Err` the change is there completely or not
/// at all, and the caller must stop.
pub trait Storage {
    /// Loads everything.
    ///
    /// # Errors
    /// When it cannot be read, or is damaged.
    fn load(&mut self) -> Result<Stored, StorageError>;

    /// Stores records that no round has used yet, with the position of their source.
    ///
    /// # Errors
    /// When they could not be stored.
    fn accept(
        &mut self,
        records: &[BoundedRecord],
        position: Option<&Position>,
    ) -> Result<(), StorageError>;

    /// Stores one round.
    ///
    /// # Errors
    /// When it could not be stored.
    fn commit(&mut self, commit: Commit<'_>) -> Result<(), StorageError>;

    /// Stores that a neighbour is ignored from now on.
    ///
    /// # Errors
    /// When it could not be stored.
    fn cut_off(&mut self, neighbour: LearnerId) -> Result<(), StorageError>;
}

/// How many receipts are loaded when a store is opened.
pub const RECEIPTS_SHOWN: usize = 20;

/// How far a source of records was read. After a crash reading continues there, so that no record is used twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The source's name.
    pub source: String,
    /// How far it was read, in the source's own unit.
    pub reached: u64,
}

/// Consecutive pieces of bytes. Releases may be large, so they are copied only once, into the store.
#[derive(Default)]
pub struct Pieces<'a>(Vec<Cow<'a, [u8]>>);

impl<'a> Pieces<'a> {
    /// Adds borrowed bytes.
    pub(crate) fn add(&mut self, piece: &'a [u8]) {
        self.0.push(Cow::Borrowed(piece));
    }

    /// Adds owned bytes.
    pub(crate) fn add_owned(&mut self, piece: Vec<u8>) {
        self.0.push(Cow::Owned(piece));
    }

    /// The pieces, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.0.iter().map(|piece| &**piece)
    }

    /// The total number of bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.iter().map(<[u8]>::len).sum()
    }

    /// All pieces in one.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        self.iter().collect::<Vec<_>>().concat()
    }
}

/// One round to store.
#[derive(Clone, Copy)]
pub struct Commit<'a> {
    /// The round as bytes. Private.
    pub entry: &'a Pieces<'a>,
    /// How many waiting records it has used.
    pub records_used: usize,
    /// What was charged for its release.
    pub receipt: &'a Receipt,
    /// The whole state after it, which replaces all earlier rounds. Private.
    pub snapshot: Option<&'a [u8]>,
}

/// The contents of a store. Private.
#[derive(Clone, Default)]
pub struct Stored {
    /// The newest snapshot.
    pub snapshot: Option<Vec<u8>>,
    /// The rounds after it, in order.
    pub entries: Vec<Vec<u8>>,
    /// Records that no round has used yet, in order. They may have been damaged since then, so they are checked again before use.
    pub waiting: VecDeque<Record>,
    /// How many releases there were.
    pub releases: u64,
    /// What was charged for the last releases, oldest first; at most [`RECEIPTS_SHOWN`].
    pub receipts: VecDeque<Receipt>,
    /// How far each source of records was read.
    pub positions: BTreeMap<String, u64>,
    /// Neighbours that are ignored.
    pub cut_off: Vec<LearnerId>,
}

/// Why a store cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum StorageError {
    /// The file cannot be read or written.
    #[error("the store cannot be used: {0}")]
    Unavailable(String),
    /// A new store was to be made where one is.
    #[error("the store exists already; to continue with it, start without --new")]
    Exists,
    /// There is no store.
    #[error("there is no such store; --new makes one, for a learner that has never run before")]
    Missing,
    /// The contents are not what was written.
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
    /// It was made by another version of the program.
    #[error("the store was made by a version of undertone whose stores this one cannot read")]
    Format,
    /// It belongs to another learner or another network.
    #[error("the store is of another {0}: every learner of every network has its own")]
    Mismatch(&'static str),
}
