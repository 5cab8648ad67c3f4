//! Bounding records, and counting those scaled or left out.

use super::StreamError;
use undertone::agreement::Agreement;
use undertone_models::Record;
use undertone_models::bounds::{BoundFault, Bounds};

/// Bounded records, and how many were scaled or left out.
pub(crate) struct Bounded {
    pub(crate) records: Vec<Record>,
    pub(crate) scaled: u64,
    pub(crate) refused: u64,
}

pub(crate) fn keep_to_bounds(
    agreement: &Agreement,
    records: Vec<Record>,
) -> Result<Bounded, StreamError> {
    let limits = Bounds::of(agreement);
    let mut bounded = Bounded { records: Vec::with_capacity(records.len()), scaled: 0, refused: 0 };
    for (index, mut record) in records.into_iter().enumerate() {
        match limits.apply(&mut record) {
            Ok(changed) => {
                // With `normalise` every row is scaled, whether or not it is within the bounds.
                bounded.scaled += u64::from(changed && !limits.normalise);
                bounded.records.push(record);
            }
            Err(BoundFault::Norm { .. } | BoundFault::Label { .. }) => bounded.refused += 1,
            Err(fault) => return Err(StreamError::Bounds { record: index + 1, fault }),
        }
    }
    Ok(bounded)
}
