//! What of the records is public because other records' place or meaning follows from it, and how that is said.

use undertone::privacy::UNIT;

/// The unit of privacy where labels are public, in one line.
pub const UNIT_BESIDE_LABELS: &str = "the features of one record of one learner replaced by others (event level), \
                                      its label and all else equal; labels and the split are public";

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
    pub fn unit(self) -> &'static str {
        if self.labels { UNIT_BESIDE_LABELS } else { UNIT }
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
    pub fn unit_sentences(self) -> &'static str {
        if self.labels {
            "the features of one record of one learner. Two histories are neighbours when the features of one \
             record are replaced by others, and its label and all else are equal (event level)."
        } else {
            "one record of one learner. Two histories are neighbours when one record is replaced by \
             another and all else is equal (event level)."
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
        assert_eq!(none.unit(), UNIT);
        assert!(none.statement().is_empty() && none.model_content().ends_with("safe to publish"));
        let labels = PublicParts { labels: true, schema: false };
        assert!(labels.unit().contains("labels and the split are public"));
        assert_eq!(labels.statement().len(), 1);
        assert!(labels.statement()[0].contains("labels and the split among learners are public"));
        assert!(labels.unit_sentences().contains("its label and all else"));
        let schema = PublicParts { labels: false, schema: true };
        assert!(schema.statement()[0].starts_with("Schema:") && schema.unit() == UNIT);
    }
}
