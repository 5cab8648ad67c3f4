//! The unit of privacy: what two neighbouring histories of a learner differ in.

use crate::LossConstants;

/// What two neighbouring histories of a learner differ in. Every cost, every ε and every certificate is about this.
///
/// Two histories of persons are neighbours when they have the same person keys, arrival times and counts of
/// records, and only the contents of one person's records differ. Which records are of the same person is the
/// same in both, and so is all that follows from it.
///
/// # Source
/// ADR 0002 for records, ADR 0028 for persons, with proofs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// One record.
    #[default]
    Record,
    /// All records of one person, of which a learner ever uses so many at most and leaves out the rest.
    LimitedPerson {
        /// How many, at least 1.
        records: u64,
    },
    /// All records of one person, however many: the gradients of a person's records are added, and the sum is cut
    /// to the norm of one record's.
    GroupedPerson {
        /// New persons before round 0, by plan.
        warmup: u64,
        /// New persons in each round, by plan.
        per_round: u64,
    },
}

impl Unit {
    /// Whether records need a person key.
    #[must_use]
    pub fn is_person(self) -> bool {
        self.kind() == UnitKind::Person
    }

    /// Whether the gradients of a person's records are added and cut together.
    #[must_use]
    pub fn is_grouped(self) -> bool {
        match self {
            Unit::Record | Unit::LimitedPerson { .. } => false,
            Unit::GroupedPerson { .. } => true,
        }
    }

    /// How many records of one person a learner ever uses; `None` where there is no limit, or no person.
    #[must_use]
    pub fn records_per_person(self) -> Option<u64> {
        match self {
            Unit::LimitedPerson { records } => Some(records),
            Unit::Record | Unit::GroupedPerson { .. } => None,
        }
    }

    /// What two neighbouring histories differ in.
    #[must_use]
    pub fn kind(self) -> UnitKind {
        match self {
            Unit::Record => UnitKind::Record,
            Unit::LimitedPerson { .. } | Unit::GroupedPerson { .. } => UnitKind::Person,
        }
    }

    /// The same in one line.
    #[must_use]
    pub fn text(self) -> &'static str {
        self.kind().text()
    }

    /// The constants of the loss for this unit, from those of a record: C is how far the gradients at one θ of all that one
    /// unit contributes can be apart, in units of 1/h_t.
    ///
    /// # Guarantee
    /// k records of one person move a sum of gradients by at most kC. Where sums of a person's gradients are
    /// cut to norm G, two of them are at most 2G apart.
    #[must_use]
    pub fn constants(self, record: LossConstants) -> LossConstants {
        let LossConstants { gradient_spread, gradient_norm, .. } = record;
        let gradient_spread = match self {
            Unit::Record => gradient_spread,
            Unit::LimitedPerson { .. } => self.records_charged() * gradient_spread,
            Unit::GroupedPerson { .. } => 2.0 * gradient_norm,
        };
        LossConstants { gradient_spread, ..record }
    }

    /// k: how many records of one unit are charged as that many.
    pub(crate) fn records_charged(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "agreements allow at most a million")]
        match self {
            Unit::LimitedPerson { records } => records as f64,
            Unit::Record | Unit::GroupedPerson { .. } => 1.0,
        }
    }
}

/// What two neighbouring histories differ in, however a person's records are bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnitKind {
    /// One record.
    #[default]
    Record,
    /// All records of one person at one learner. What is promised of these is promised of each record too.
    Person,
}

impl UnitKind {
    /// In one line, as every statement, report and file has it.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            UnitKind::Record => {
                "one record of one learner replaced by another (event level), all else equal"
            }
            UnitKind::Person => {
                "all records of one person at one learner replaced by others (person level), person keys, counts and \
                 arrival times of records, and all else, equal"
            }
        }
    }

    /// One in a word, for tables and sentences.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            UnitKind::Record => "record",
            UnitKind::Person => "person",
        }
    }
}
