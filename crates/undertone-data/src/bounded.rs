//! Bounding records, and counting those scaled or left out.

use super::DataError;
use undertone::agreement::Agreement;
use undertone_models::Record;
use undertone_models::bounds::{BoundFault, Bounds};

/// Bounded records, and how many were scaled or left out.
#[derive(Clone, Debug)]
pub struct Bounded {
    /// The records, in order.
    pub records: Vec<Record>,
    /// How many were scaled into the bounds.
    pub scaled: u64,
    /// How many were left out because they lie outside the bounds.
    pub refused: u64,
}

impl Bounded {
    /// Applies an agreement's bounds to records.
    ///
    /// # Errors
    /// When a record is no record of the agreement's at all, such as one with a NaN.
    pub fn new(agreement: &Agreement, records: Vec<Record>) -> Result<Bounded, DataError> {
        let limits = Bounds::of(agreement);
        let mut bounded =
            Bounded { records: Vec::with_capacity(records.len()), scaled: 0, refused: 0 };
        for (index, mut record) in records.into_iter().enumerate() {
            match limits.apply(&mut record) {
                Ok(changed) => {
                    // With `normalise` every row is scaled, whether or not it is within the bounds.
                    bounded.scaled += u64::from(changed && !limits.normalise);
                    bounded.records.push(record);
                }
                Err(BoundFault::Norm { .. } | BoundFault::Label { .. }) => bounded.refused += 1,
                Err(fault) => return Err(DataError::Bounds { record: index + 1, fault }),
            }
        }
        Ok(bounded)
    }
}
