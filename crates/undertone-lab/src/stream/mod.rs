//! The private stream of each learner: loaded, bounded, dealt out, and drawn in order.

mod bound;
mod deal;
mod error;
mod load;
pub(crate) mod source;

pub(crate) use bound::keep_to_bounds;
pub use error::StreamError;
pub use load::{given, load, load_own};
pub use source::EMBEDDED;

use undertone::agreement::Agreement;
use undertone_models::{PublicRandom, Record};

/// All records of a simulation, dealt out.
#[derive(Clone, Debug)]
pub struct Streams {
    /// What the data are called.
    pub name: String,
    /// The texts of the classes, for classification.
    pub classes: Option<Vec<String>>,
    /// One stream for each learner.
    pub learners: Vec<Stream>,
    /// Records that no learner sees.
    pub test: Vec<Record>,
    /// How many records were scaled into the bounds.
    pub scaled: u64,
    /// How many records were left out because they lie outside the bounds.
    pub refused: u64,
    /// Goes on where dealing out stopped, for other public randomness of the run.
    pub(crate) order: PublicRandom,
}

/// The records of one learner, in the order they arrive.
#[derive(Clone, Debug)]
pub struct Stream {
    records: Vec<Record>,
    drawn: u64,
    repeat: bool,
}

impl Stream {
    /// A stream over records in the order given.
    #[must_use]
    pub fn new(records: Vec<Record>, repeat: bool) -> Stream {
        Stream { records, drawn: 0, repeat }
    }

    /// Forgets all but the first records, where no more will be drawn; says how many there are.
    pub(crate) fn shorten(&mut self, count: u64) -> u64 {
        self.records.truncate(usize::try_from(count).unwrap_or(usize::MAX));
        if self.repeat { count } else { self.records.len() as u64 }
    }

    /// The next records, fewer when the stream runs dry and does not repeat.
    pub fn next(&mut self, count: u64) -> Vec<Record> {
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
    pub(crate) fn append(&mut self, mut records: Vec<Record>) {
        self.records.append(&mut records);
    }

    /// How many records are left, where none is drawn twice.
    pub(crate) fn left(&self) -> u64 {
        (self.records.len() as u64).saturating_sub(self.drawn)
    }

    /// Passes over records, as if they had been drawn.
    pub fn skip(&mut self, count: u64) {
        self.drawn = self.drawn.saturating_add(count);
    }

    /// How many different records there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there are none.
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
    agreement.model.loss.classes().is_none()
}
