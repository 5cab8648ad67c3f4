//! Checking the records of a file or a stream, and counting those scaled or left out.

use super::DataError;
use rayon::prelude::*;
use undertone_models::{BoundedRecord, Record, RecordChecker, RecordError};

/// Bounded records, and how many were scaled or left out.
#[derive(Clone, Debug)]
pub struct Bounded {
    /// The records, in order.
    pub records: Vec<BoundedRecord>,
    /// How many were scaled into the bounds. With `normalise` every row is scaled, and none is counted.
    pub scaled: u64,
    /// How many were left out because they lie outside the bounds.
    pub refused: u64,
}

impl Bounded {
    /// Checks records, and leaves out those above the bounds where they are to be refused. If features are transformed, that is
    /// done in several threads; the result is the same.
    ///
    /// # Errors
    /// When a record does not fit the model at all, such as one with a NaN.
    pub fn new(checker: &RecordChecker, records: Vec<Record>) -> Result<Bounded, DataError> {
        let InPlace { records, scaled, refused } = InPlace::new(checker, records)?;
        Ok(Bounded { records: records.into_iter().flatten().collect(), scaled, refused })
    }
}

/// Bounded records at their positions, and how many were scaled or left out.
#[derive(Clone, Debug)]
pub struct InPlace {
    /// The records, in order; `None` where one was left out.
    pub records: Vec<Option<BoundedRecord>>,
    /// As in [`Bounded`].
    pub scaled: u64,
    /// As in [`Bounded`].
    pub refused: u64,
}

impl InPlace {
    /// Checks records and keeps the position of each: those behind a record that is left out do not move up.
    ///
    /// # Errors
    /// As [`Bounded::new`].
    pub fn new(checker: &RecordChecker, records: Vec<Record>) -> Result<InPlace, DataError> {
        let mut bounded =
            InPlace { records: Vec::with_capacity(records.len()), scaled: 0, refused: 0 };
        let checked: Vec<Result<BoundedRecord, RecordError>> = if checker.transforms() {
            records.into_par_iter().map(|record| checker.check(record)).collect()
        } else {
            records.into_iter().map(|record| checker.check(record)).collect()
        };
        for (index, record) in checked.into_iter().enumerate() {
            bounded.records.push(match record {
                Ok(record) => {
                    bounded.scaled += u64::from(record.was_scaled());
                    Some(record)
                }
                Err(RecordError::FeatureNorm { .. } | RecordError::Label { .. }) => {
                    bounded.refused += 1;
                    None
                }
                Err(
                    error @ (RecordError::Dimension { .. }
                    | RecordError::Indices
                    | RecordError::NotFinite
                    | RecordError::Pixel
                    | RecordError::Class { .. }
                    | RecordError::NotSeparable),
                ) => return Err(DataError::Unfit { record: index + 1, error }),
            });
        }
        Ok(bounded)
    }
}
