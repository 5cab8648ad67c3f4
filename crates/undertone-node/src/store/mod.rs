//! What a learner never forgets.
//!
//! One commit a round holds what the round was computed from: the records that arrived, the releases that
//! were heard in the round before, and the learner's own release as it will be sent. After a crash the rounds
//! since the last snapshot are computed again from these, bit for bit, without any new noise.

mod disk;

pub use disk::DiskStore;

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
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

    /// Keeps records that no round has used yet, and with them how far their source was read.
    ///
    /// # Errors
    /// When they could not be kept.
    fn accept(
        &mut self,
        records: &[Record],
        position: Option<&Position>,
    ) -> Result<(), StorageError>;

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

/// How many receipts are read back when a store is opened.
pub const RECEIPTS_SHOWN: usize = 20;

/// How far a source of records was read: after a crash it is read on from there, and no record is taken twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// What the source is called.
    pub source: String,
    /// So far, in whatever unit the source counts.
    pub reached: u64,
}

/// Bytes in pieces that follow each other: releases may be large, and are copied only by who keeps them.
#[derive(Default)]
pub struct Pieces<'a>(Vec<Cow<'a, [u8]>>);

impl<'a> Pieces<'a> {
    /// Adds bytes that stay where they are.
    pub(crate) fn add(&mut self, piece: &'a [u8]) {
        self.0.push(Cow::Borrowed(piece));
    }

    /// Adds bytes.
    pub(crate) fn add_owned(&mut self, piece: Vec<u8>) {
        self.0.push(Cow::Owned(piece));
    }

    /// Piece by piece.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.0.iter().map(|piece| &**piece)
    }

    /// How many bytes there are in all.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.iter().map(<[u8]>::len).sum()
    }

    /// All of them in one piece.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        self.iter().collect::<Vec<_>>().concat()
    }
}

/// One round to keep.
#[derive(Clone, Copy)]
pub struct Commit<'a> {
    /// The round as bytes. Private.
    pub entry: &'a Pieces<'a>,
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
    /// How many releases there were.
    pub releases: u64,
    /// What was charged for the last releases, oldest first; at most [`RECEIPTS_SHOWN`].
    pub receipts: VecDeque<Receipt>,
    /// How far each source of records was read.
    pub positions: BTreeMap<String, u64>,
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
    /// It was made by another version of the program.
    #[error("the store was made by a version of undertone whose stores this one cannot read")]
    Format,
    /// It was made for something else.
    #[error("the store is of another {0}: every learner of every network has its own")]
    Other(&'static str),
}
