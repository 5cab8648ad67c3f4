//! At most so many records of each person: the rest are left out.

use super::AnyMemory;
use crate::{BoundedRecord, PersonKey};
use std::collections::BTreeMap;
use std::fmt;
use undertone_core::persist::{Fields, Persist};
use undertone_core::{Forgetting, Memory, PowerLaw, Round, Score};

/// Counts the records of each person, and says which may still be used.
///
/// The first records of a person are used. Which these are follows from keys and order alone, never from what is in
/// the records, so that it is the same in two neighbouring histories.
#[derive(Clone)]
pub struct PersonLimit {
    limit: u64,
    used: BTreeMap<PersonKey, u64>,
}

impl PersonLimit {
    /// Before any record.
    #[must_use]
    pub fn new(limit: u64) -> PersonLimit {
        PersonLimit { limit, used: BTreeMap::new() }
    }

    /// Whether a record may be used. If so, it is counted.
    ///
    /// # Panics
    /// When the record has no person: it was checked for another agreement, which is a bug in the caller.
    #[must_use]
    pub fn admits(&mut self, record: &BoundedRecord) -> bool {
        let used = self.used.entry(record.person_checked()).or_default();
        let admitted = *used < self.limit;
        *used += u64::from(admitted);
        admitted
    }

    /// The records that may be used, of these.
    #[must_use]
    pub fn admitted(&mut self, mut records: Vec<BoundedRecord>) -> Vec<BoundedRecord> {
        records.retain(|record| self.admits(record));
        records
    }

    /// How many persons have a record that was used. Private: for the owner.
    #[must_use]
    pub fn persons(&self) -> u64 {
        self.used.len() as u64
    }
}

/// Shows no person.
impl fmt::Debug for PersonLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PersonLimit(limit={}, <redacted>)", self.limit)
    }
}

impl Persist for PersonLimit {
    fn visit(&mut self, fields: &mut dyn Fields) {
        let mut entries: Vec<(PersonKey, u64)> =
            std::mem::take(&mut self.used).into_iter().collect();
        let length = fields.length(entries.len(), 16 + 8);
        entries.resize(length, (PersonKey::empty(), 0));
        for (person, used) in &mut entries {
            person.visit(fields);
            fields.count(used);
            if !(1..=self.limit).contains(used) {
                fields.reject();
            }
        }
        self.used = entries.into_iter().collect();
        if self.used.len() != length {
            fields.reject();
        }
    }
}

/// A memory that uses at most so many records of each person.
///
/// Whoever feeds it should leave records out before, so that rounds are full. This memory makes sure of it.
#[derive(Clone, Debug)]
pub struct Limited {
    limit: PersonLimit,
    memory: Box<AnyMemory>,
}

impl Limited {
    pub(super) fn new(limit: u64, memory: AnyMemory) -> Limited {
        Limited { limit: PersonLimit::new(limit), memory: Box::new(memory) }
    }

    /// The records used so far, person by person.
    #[must_use]
    pub fn limit(&self) -> &PersonLimit {
        &self.limit
    }

    /// The memory of the records that are used.
    #[must_use]
    pub fn memory(&self) -> &AnyMemory {
        &self.memory
    }
}

impl Memory for Limited {
    type Record = BoundedRecord;

    fn observe(&mut self, theta: &[f64], batch: &[BoundedRecord]) -> Score {
        let admitted: Vec<bool> = batch.iter().map(|record| self.limit.admits(record)).collect();
        if admitted.iter().all(|&one| one) {
            return self.memory.observe(theta, batch);
        }
        let pairs = batch.iter().zip(admitted).filter(|&(_, admitted)| admitted);
        let used: Vec<BoundedRecord> = pairs.map(|(record, _)| record.clone()).collect();
        self.memory.observe(theta, &used)
    }

    fn gradient(&mut self, round: Round, theta: &[f64], out: &mut [f64]) {
        self.memory.gradient(round, theta, out);
    }

    /// The records that were used.
    fn records(&self) -> u64 {
        self.memory.records()
    }

    fn forgetting(&self) -> Forgetting {
        self.memory.forgetting()
    }

    fn error_bound(&self) -> PowerLaw {
        self.memory.error_bound()
    }
}

impl Persist for Limited {
    fn visit(&mut self, fields: &mut dyn Fields) {
        self.limit.visit(fields);
        self.memory.visit(fields);
    }
}
