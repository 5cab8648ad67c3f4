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

/// Bounds records, and keeps those that are within the bounds.
pub(crate) fn keep_to_bounds(
    agreement: &Agreement,
    records: Vec<Record>,
) -> Result<Bounded, StreamError> {
    let InPlace { records, scaled, refused } = bound_in_place(agreement, records)?;
    Ok(Bounded { records: records.into_iter().flatten().collect(), scaled, refused })
}

/// Bounded records at their positions, and how many were scaled or left out.
pub(super) struct InPlace {
    /// `None` where a record was left out.
    pub(super) records: Vec<Option<Record>>,
    pub(super) scaled: u64,
    pub(super) refused: u64,
}

/// Bounds records and keeps the position of each: those behind a record that is left out do not move up.
pub(super) fn bound_in_place(
    agreement: &Agreement,
    records: Vec<Record>,
) -> Result<InPlace, StreamError> {
    let limits = Bounds::of(agreement);
    let mut bounded = InPlace { records: Vec::with_capacity(records.len()), scaled: 0, refused: 0 };
    for (index, mut record) in records.into_iter().enumerate() {
        match limits.apply(&mut record) {
            Ok(changed) => {
                // With `normalise` every row is scaled, whether or not it is within the bounds.
                bounded.scaled += u64::from(changed && !limits.normalise);
                bounded.records.push(Some(record));
            }
            Err(BoundFault::Norm { .. } | BoundFault::Label { .. }) => {
                bounded.refused += 1;
                bounded.records.push(None);
            }
            Err(fault) => return Err(StreamError::Bounds { record: index + 1, fault }),
        }
    }
    Ok(bounded)
}
