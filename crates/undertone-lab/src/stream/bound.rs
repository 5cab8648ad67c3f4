//! Checking the records of a stream, and counting those scaled or left out.

use super::StreamError;
use undertone_models::{BoundedRecord, Record, RecordChecker, RecordError};

/// Bounded records, and how many were scaled or left out.
pub(crate) struct Bounded {
    pub(crate) records: Vec<BoundedRecord>,
    pub(crate) scaled: u64,
    pub(crate) refused: u64,
}

pub(crate) fn keep_to_bounds(
    checker: &RecordChecker,
    records: Vec<Record>,
) -> Result<Bounded, StreamError> {
    let mut bounded = Bounded { records: Vec::with_capacity(records.len()), scaled: 0, refused: 0 };
    for (index, record) in records.into_iter().enumerate() {
        match checker.check(record) {
            Ok(record) => {
                bounded.scaled += u64::from(record.was_scaled());
                bounded.records.push(record);
            }
            Err(RecordError::FeatureNorm { .. } | RecordError::Label { .. }) => {
                bounded.refused += 1;
            }
            Err(error) => return Err(StreamError::Record { record: index + 1, error }),
        }
    }
    Ok(bounded)
}
