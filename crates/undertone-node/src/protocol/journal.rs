//! What a node has stored, and what it stores with the next round.

use super::KEPT_ROUNDS;
use super::entry::Closing;
use crate::store::{Commit, Position, RECEIPTS_SHOWN, Storage, StorageError};
use crate::wire::OwnRelease;
use std::collections::VecDeque;
use undertone::privacy::Receipt;
use undertone::{LearnerId, Round};
use undertone_models::BoundedRecord;

/// A snapshot is written when the entries since the last one are this many times its size. It bounds how many rounds a
/// restart computes again, and keeps what is written for snapshots to a quarter of what is written for rounds.
const SNAPSHOT_SHARE: usize = 4;

/// The store, and what is known of its contents.
pub(super) struct Journal<S> {
    store: S,
    /// How many releases were stored.
    releases: u64,
    /// The newest receipts, oldest first.
    receipts: VecDeque<Receipt>,
    /// This learner's newest releases, oldest first.
    own_releases: Vec<OwnRelease>,
    /// How the last round ended. It is stored with the next release.
    closing: Option<Closing>,
    /// Bytes of the entries since the last snapshot.
    log_bytes: usize,
    /// Bytes of the last snapshot.
    snapshot_bytes: usize,
}

impl<S> Journal<S> {
    pub(super) fn new(store: S) -> Journal<S> {
        Journal {
            store,
            releases: 0,
            receipts: VecDeque::new(),
            own_releases: Vec::new(),
            closing: None,
            log_bytes: 0,
            snapshot_bytes: 0,
        }
    }

    pub(super) fn into_store(self) -> S {
        self.store
    }

    pub(super) fn releases(&self) -> u64 {
        self.releases
    }

    pub(super) fn receipts(&self) -> &VecDeque<Receipt> {
        &self.receipts
    }

    /// Restores how many releases were made, and the newest receipts.
    pub(super) fn restore(&mut self, releases: u64, receipts: VecDeque<Receipt>) {
        (self.releases, self.receipts) = (releases, receipts);
    }

    /// Whether this learner has released anything.
    pub(super) fn has_released(&self) -> bool {
        !self.own_releases.is_empty()
    }

    /// This learner's newest release.
    pub(super) fn newest_release(&self) -> Option<&OwnRelease> {
        self.own_releases.last()
    }

    /// This learner's release of a round, if it is still held.
    pub(super) fn release_of(&self, round: Round) -> Option<&OwnRelease> {
        self.own_releases.iter().find(|release| release.round() == Some(round))
    }

    /// Adds a release of this learner, and drops the oldest.
    pub(super) fn add_release(&mut self, release: OwnRelease) {
        let kept = usize::try_from(KEPT_ROUNDS).unwrap_or(usize::MAX);
        if self.own_releases.len() > kept {
            self.own_releases.remove(0);
        }
        self.own_releases.push(release);
    }

    /// The releases that a snapshot holds.
    pub(super) fn own_releases_mut(&mut self) -> &mut Vec<OwnRelease> {
        &mut self.own_releases
    }

    /// Notes how a round ended.
    pub(super) fn set_closing(&mut self, closing: Closing) {
        self.closing = Some(closing);
    }

    /// How the last round ended, to be stored with the next.
    pub(super) fn take_closing(&mut self) -> Option<Closing> {
        self.closing.take()
    }

    /// Counts the bytes of an entry.
    pub(super) fn add_entry_bytes(&mut self, bytes: usize) {
        self.log_bytes += bytes;
    }

    /// Notes the size of a snapshot: entries before it are not counted any more.
    pub(super) fn set_snapshot_bytes(&mut self, bytes: usize) {
        (self.log_bytes, self.snapshot_bytes) = (0, bytes);
    }

    /// Whether the next commit should hold a snapshot.
    pub(super) fn snapshot_is_due(&self) -> bool {
        self.log_bytes / SNAPSHOT_SHARE > self.snapshot_bytes
    }
}

impl<S: Storage> Journal<S> {
    /// Stores records, with the position of their source.
    pub(super) fn accept(
        &mut self,
        records: &[BoundedRecord],
        position: Option<&Position>,
    ) -> Result<(), StorageError> {
        self.store.accept(records, position)
    }

    /// Stores that a neighbour is ignored from now on.
    pub(super) fn cut_off(&mut self, neighbour: LearnerId) -> Result<(), StorageError> {
        self.store.cut_off(neighbour)
    }

    /// Stores a round.
    pub(super) fn commit(&mut self, commit: Commit<'_>) -> Result<(), StorageError> {
        self.store.commit(commit)?;
        if self.receipts.len() >= RECEIPTS_SHOWN {
            self.receipts.pop_front();
        }
        self.receipts.push_back(*commit.receipt);
        self.releases += 1;
        if let Some(snapshot) = commit.snapshot {
            self.set_snapshot_bytes(snapshot.len());
        }
        Ok(())
    }
}
