//! A record that was checked: all that a memory, a stream, an inbox or a journal holds.

use crate::record::visit_records;
use crate::record_bounds::{BoundsId, RecordBounds};
use crate::{Features, PersonKey, Record, RecordError};
use std::fmt;
use undertone_core::persist::{Fields, Persist, save};

/// A record within the bounds of a model, and fit for the memory it was checked for.
///
/// Only a [`RecordChecker`](crate::RecordChecker) makes one, so that nothing behind the place where records enter has to
/// check one again, or to say what happens to one that does not fit.
///
/// # Guarantee
/// The features are as many as the model has, finite, and of a norm, as computed by [`Features::norm`], at most the bound;
/// sparse indices increase and stay below the dimension. The label is a class of the model, or a number within its bound.
/// Which bounds these were is part of the record: a memory of a model with other bounds panics.
#[derive(Clone)]
pub struct BoundedRecord {
    record: Record,
    bounds: BoundsId,
    separable: bool,
    scaled: bool,
}

impl BoundedRecord {
    /// A record that a checker has found to keep to bounds.
    pub(crate) fn checked(
        record: Record,
        bounds: &RecordBounds,
        separable: bool,
        scaled: bool,
    ) -> BoundedRecord {
        BoundedRecord { record, bounds: bounds.id(), separable, scaled }
    }

    /// The features, known when predicting.
    #[must_use]
    #[inline]
    pub fn features(&self) -> &Features {
        &self.record.features
    }

    /// The label, known afterwards: a class, or a number.
    #[must_use]
    #[inline]
    pub fn label(&self) -> f64 {
        self.record.label
    }

    /// Who it is about, where privacy is stated for persons. Private.
    #[must_use]
    pub fn person(&self) -> Option<PersonKey> {
        self.record.person
    }

    /// Who it is about, of a record that was checked to say so.
    pub(crate) fn person_checked(&self) -> PersonKey {
        self.person().expect("a record of a person: it was checked for this agreement")
    }

    /// The record itself.
    #[must_use]
    pub fn as_record(&self) -> &Record {
        &self.record
    }

    /// Whether it was above the bounds and was scaled to them. Not stored: `false` after it was saved or read back.
    #[must_use]
    pub fn was_scaled(&self) -> bool {
        self.scaled
    }

    fn take(&mut self) -> Record {
        std::mem::replace(&mut self.record, Record::empty())
    }

    /// Whether it was checked against these bounds.
    pub(crate) fn keeps_to(&self, bounds: &RecordBounds) -> bool {
        self.bounds == bounds.id()
    }

    /// Panics when it was checked for a model with other bounds: a bug in the caller.
    #[inline]
    pub(crate) fn assert_keeps_to(&self, bounds: &RecordBounds) {
        assert!(self.keeps_to(bounds), "a record is observed by a model that it was checked for");
    }

    /// Whether it was checked to have at most one non-zero feature.
    pub(crate) fn is_separable(&self) -> bool {
        self.separable
    }
}

/// Prints the shape only: records are private.
impl fmt::Debug for BoundedRecord {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "BoundedRecord(dim={}, <redacted>)", self.features().dimension())
    }
}

/// Saves or loads a list of records. Those that were loaded are checked again; a list with one that fails is damaged.
pub fn visit_bounded_records(
    fields: &mut dyn Fields,
    records: &mut Vec<BoundedRecord>,
    check_again: impl Fn(Record) -> Result<BoundedRecord, RecordError>,
) {
    let mut plain: Vec<Record> =
        std::mem::take(records).into_iter().map(|bounded| bounded.record).collect();
    visit_records(fields, &mut plain);
    match plain.into_iter().map(check_again).collect() {
        Ok(checked) => *records = checked,
        // While saving this cannot happen: they passed before.
        Err(_) => fields.reject(),
    }
}

/// The bytes of a list of records, as [`visit_records`] loads it.
#[must_use]
pub fn save_records(records: &mut Vec<BoundedRecord>) -> Vec<u8> {
    /// Is never loaded into.
    struct Saved<'a>(&'a mut Vec<BoundedRecord>);

    impl Persist for Saved<'_> {
        fn visit(&mut self, fields: &mut dyn Fields) {
            let mut plain: Vec<Record> = self.0.iter_mut().map(BoundedRecord::take).collect();
            visit_records(fields, &mut plain);
            for (bounded, record) in self.0.iter_mut().zip(plain) {
                bounded.record = record;
            }
        }
    }

    save(&mut Saved(records))
}
