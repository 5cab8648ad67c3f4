//! The private stream of each learner: records loaded, checked, distributed, and drawn in order.

mod distribute;
mod error;
mod load;
#[cfg(test)]
mod neighbour_tests;
mod public_parts;
pub(crate) mod source;

pub use error::StreamError;
pub use load::{from_records, load};
pub use public_parts::{LABELS_PUBLIC, PublicParts, UNIT_BESIDE_LABELS};
pub use source::EMBEDDED;

use crate::data::{Task, task};
use undertone::agreement::Agreement;
use undertone_models::{BoundedRecord, PublicRandom};

/// All records of a simulation, by learner.
#[derive(Clone, Debug)]
pub struct Streams {
    /// The data's name.
    pub name: String,
    /// The names of the classes, for classification.
    pub classes: Option<Vec<String>>,
    /// One stream for each learner.
    pub learners: Vec<Stream>,
    /// Records that no learner sees.
    pub test: Vec<BoundedRecord>,
    /// How many records were scaled into the bounds.
    pub scaled: u64,
    /// How many records were left out because they lie outside the bounds.
    pub refused: u64,
    /// What of the records is public, beside their number.
    pub public: PublicParts,
    /// Public randomness, in the state after the records were distributed.
    pub(crate) order: PublicRandom,
}

/// The records of one learner, in the order they arrive.
#[derive(Clone, Debug)]
pub struct Stream {
    records: Vec<BoundedRecord>,
    drawn: u64,
    repeat: bool,
}

impl Stream {
    /// A stream of records in the order given.
    #[must_use]
    pub fn new(records: Vec<BoundedRecord>, repeat: bool) -> Stream {
        Stream { records, drawn: 0, repeat }
    }

    /// Drops all but the first records, and returns how many can be drawn.
    pub(crate) fn shorten(&mut self, count: u64) -> u64 {
        self.records.truncate(usize::try_from(count).unwrap_or(usize::MAX));
        if self.repeat { count } else { self.records.len() as u64 }
    }

    /// The next records; fewer when the stream runs out and does not repeat.
    pub fn next(&mut self, count: u64) -> Vec<BoundedRecord> {
        let available = self.records.len() as u64;
        let mut batch = Vec::new();
        for _ in 0..count {
            if available == 0 || (!self.repeat && self.drawn >= available) {
                break;
            }
            let index = usize::try_from(self.drawn % available).unwrap_or(0);
            batch.push(self.records[index].clone());
            self.drawn += 1;
        }
        batch
    }

    /// Adds records to the end.
    pub(crate) fn append(&mut self, mut records: Vec<BoundedRecord>) {
        self.records.append(&mut records);
    }

    /// How many records are left, not counting repeats.
    pub(crate) fn left(&self) -> u64 {
        (self.records.len() as u64).saturating_sub(self.drawn)
    }

    /// Skips records, as if they had been drawn.
    pub fn skip(&mut self, count: u64) {
        self.drawn = self.drawn.saturating_add(count);
    }

    /// All distinct records, those that were drawn included.
    #[must_use]
    pub fn into_records(self) -> Vec<BoundedRecord> {
        self.records
    }

    /// The number of distinct records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there are no records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// How many records were drawn, repeats included.
    #[must_use]
    pub fn drawn(&self) -> u64 {
        self.drawn
    }

    /// How often the record drawn most often was drawn.
    #[must_use]
    pub fn draws_max(&self) -> u64 {
        if self.records.is_empty() { 0 } else { self.drawn.div_ceil(self.records.len() as u64) }
    }
}

/// Whether labels are numbers rather than classes.
#[must_use]
pub fn is_regression(agreement: &Agreement) -> bool {
    task(agreement) == Task::Regression
}
