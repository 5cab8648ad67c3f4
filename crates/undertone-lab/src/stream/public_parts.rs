//! What of the records is public because other records' place or meaning follows from it, and how that is said.

use undertone::privacy::UnitKind;

/// The unit of privacy where labels are public, in one line.
pub const UNIT_BESIDE_LABELS: &str = "the features of one record of one learner replaced by others (event level), \
                                      its label and all else equal; labels and the split are public";

/// The same for persons.
pub const PERSONS_BESIDE_LABELS: &str = "the features of all records of one person at one learner replaced by others (person \
                                         level), labels, person keys, counts and arrival times of records, and all else, equal; \
                                         labels and the split are public";

/// What of the records is public, beside their number.
///
/// The certificate compares two histories of one learner that differ in one record. Where a record's label
/// decides which learner holds it, two data sets that differ in one label are no such histories: one learner has
/// a record fewer, another one more, and what comes later shifts by a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublicParts {
    /// Labels and the split among learners.
    pub labels: bool,
    /// Classes and categories, which were read from the records.
    pub schema: bool,
}

impl PublicParts {
    /// The unit of privacy, in one line.
    #[must_use]
    pub fn unit(self, kind: UnitKind) -> &'static str {
        match (self.labels, kind) {
            (false, kind) => kind.text(),
            (true, UnitKind::Record) => UNIT_BESIDE_LABELS,
            (true, UnitKind::Person) => PERSONS_BESIDE_LABELS,
        }
    }

    /// What the file of a public model says of its content.
    #[must_use]
    pub fn model_content(self) -> &'static str {
        if self.labels {
            "average of noisy releases; safe to publish only where labels and the split among learners are public"
        } else {
            "average of noisy releases; safe to publish"
        }
    }

    /// The unit of privacy in sentences.
    #[must_use]
    pub fn unit_sentences(self, kind: UnitKind) -> &'static str {
        match (self.labels, kind) {
            (true, UnitKind::Record) => {
                "the features of one record of one learner. Two histories are neighbours when the features of one \
                 record are replaced by others, and its label and all else are equal (event level)."
            }
            (false, UnitKind::Record) => {
                "one record of one learner. Two histories are neighbours when one record is replaced by \
                 another and all else is equal (event level)."
            }
            (true, UnitKind::Person) => {
                "the features of all records of one person at one learner. Two histories are neighbours when they have \
                 the same labels, person keys, arrival times and counts of records, and only the features of one \
                 person's records differ (person level). A person with records at several learners has this promise \
                 from each of them, for the records there."
            }
            (false, UnitKind::Person) => {
                "all records of one person at one learner. Two histories are neighbours when they have the same person \
                 keys, arrival times and counts of records, and only what is in the records of one person differs \
                 (person level). How many records a person has, and when they arrive, is not protected. A person with \
                 records at several learners has this promise from each of them, for the records there."
            }
        }
    }

    /// What must be said of it, paragraph by paragraph.
    #[must_use]
    pub fn statement(self) -> Vec<String> {
        let mut text = Vec::new();
        if self.labels {
            text.push(format!("{LABELS_PUBLIC}. {WHY_LABELS}"));
        }
        if self.schema {
            text.push(
                "Schema: classes and categories were read from the records and count as public. One that a \
                 single record has is revealed."
                    .into(),
            );
        }
        text
    }
}

/// Said wherever a run whose labels are public is described.
pub const LABELS_PUBLIC: &str =
    "Labels: labels and the split among learners are public in this experiment";

const WHY_LABELS: &str = "A record's label decides which learner holds it, or when it comes (data.partition, or a \
                          folder of images), so a record with another label would be elsewhere, and this \
                          statement would not hold. The features of a record are protected; its label is not.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_public_is_said_to_be() {
        let none = PublicParts::default();
        assert_eq!(none.unit(UnitKind::Record), UnitKind::Record.text());
        assert!(none.statement().is_empty() && none.model_content().ends_with("safe to publish"));
        let labels = PublicParts { labels: true, schema: false };
        assert!(labels.unit(UnitKind::Record).contains("labels and the split are public"));
        assert_eq!(labels.statement().len(), 1);
        assert!(labels.statement()[0].contains("labels and the split among learners are public"));
        assert!(labels.unit_sentences(UnitKind::Record).contains("its label and all else"));
        for kind in [UnitKind::Record, UnitKind::Person] {
            assert!(labels.unit(kind).contains("features") && !none.unit(kind).contains("features"));
            assert!(labels.unit_sentences(kind).contains(kind.noun()));
        }
        let schema = PublicParts { labels: false, schema: true };
        assert!(schema.statement()[0].starts_with("Schema:") && schema.unit(UnitKind::Record) == UnitKind::Record.text());
    }
}
