//! Records that wait for a round.

use super::error::AcceptError;
use crate::store::Position;
use std::collections::{BTreeMap, VecDeque};
use undertone_models::BoundedRecord;

/// Records that no round has used yet, and how far each of their sources was read.
pub(super) struct Inbox {
    records: VecDeque<BoundedRecord>,
    capacity: usize,
    positions: BTreeMap<String, u64>,
}

impl Inbox {
    pub(super) fn new(capacity: usize) -> Inbox {
        Inbox { records: VecDeque::new(), capacity, positions: BTreeMap::new() }
    }

    /// Restores what the store held.
    pub(super) fn restore(
        &mut self,
        records: VecDeque<BoundedRecord>,
        positions: BTreeMap<String, u64>,
    ) {
        (self.records, self.positions) = (records, positions);
    }

    /// Checks that there is room for `count` more records.
    pub(super) fn check_room(&self, count: usize) -> Result<(), AcceptError> {
        let (limit, room) = (self.capacity, self.room());
        if count > limit {
            return Err(AcceptError::TooMany { count, limit });
        }
        if count > room {
            return Err(AcceptError::Full { waiting: self.len(), room });
        }
        Ok(())
    }

    /// Adds records that are in the store, with the position of their source.
    pub(super) fn add(&mut self, records: Vec<BoundedRecord>, position: Option<Position>) {
        self.records.extend(records);
        if let Some(Position { source, reached }) = position {
            self.positions.insert(source, reached);
        }
    }

    /// Takes out the oldest records, at most `count`.
    pub(super) fn take(&mut self, count: usize) -> Vec<BoundedRecord> {
        let count = count.min(self.records.len());
        self.records.drain(..count).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// How many more records there is room for.
    pub(super) fn room(&self) -> usize {
        self.capacity.saturating_sub(self.records.len())
    }

    /// How far each source was read.
    pub(super) fn positions(&self) -> &BTreeMap<String, u64> {
        &self.positions
    }
}
