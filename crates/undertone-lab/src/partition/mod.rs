//! Partitions: which learner holds which records.
//!
//! The paper's experiments give each learner records of a few classes only; the other partitions range from
//! that to an even distribution. Randomness comes in as a source of uniform 64-bit numbers. It protects
//! nothing, so small biases (below 2⁻³² for any realistic number of records) are accepted.
//!
//! # What one record can change
//! The certificate compares two histories of one learner that differ in one record, all else being equal. So
//! who holds a record, and where it comes in that learner's order, must not follow from any *other* record:
//!
//! - `iid` and `in-order` look at positions alone.
//! - `by-class`, `dirichlet` and `own-class` look at positions and at the record's own class. A record whose
//!   class changes goes to another learner, and no other record changes learner or order. Even so two learners
//!   then have one record fewer and one more, which the certificate does not speak of: in such an experiment
//!   labels are public ([`Partition::depends_on_labels`]).

mod deal;
mod dirichlet;
#[cfg(test)]
mod neighbour_tests;
#[cfg(test)]
mod proportion_tests;
mod proportions;
mod random;
mod test_records;
#[cfg(test)]
mod tests;

pub use test_records::{train_test_split, train_then_test};

use crate::experiment::Partition;
use crate::stream::StreamError;
use dirichlet::draw_dirichlet;
use random::shuffled;

/// Assigns every record to exactly one learner, and returns the record indices of each learner.
///
/// Each learner's records are in random order, except with [`Partition::InOrder`]. Except with
/// [`Partition::Iid`] and [`Partition::InOrder`], labels must be classes 0.0, 1.0, 2.0 … below `classes`, which
/// is part of the schema: a number taken from the labels themselves would follow from single records.
///
/// # Guarantee
/// Which learner holds a record follows from its position, the source of randomness and, where the partition
/// depends on labels, its own class. Neither that nor the order of any two records of one learner, nor how much
/// is drawn from the source, follows from another record.
///
/// # Errors
/// When a label is not a class, or a learner would hold no record.
///
/// # Panics
/// When there are no learners, or a parameter is out of range: bugs in the caller, because the experiment was checked.
pub fn split(
    labels: &[f64],
    classes: usize,
    learners: usize,
    partition: Partition,
    shuffle: &mut impl FnMut() -> u64,
) -> Result<Vec<Vec<usize>>, StreamError> {
    assert!(learners > 0, "a network has learners");
    let records = labels.len();
    if records < learners {
        return Err(StreamError::TooFewRecords { records, learners });
    }
    let (proportions, remedy) = match partition {
        Partition::Iid => {
            let shares = in_turn(shuffled((0..records).collect(), shuffle), learners);
            return Ok(shares.into_iter().map(|share| shuffled(share, shuffle)).collect());
        }
        // The records keep their order, which is the order of time.
        Partition::InOrder => return Ok(in_turn((0..records).collect(), learners)),
        Partition::ByClass => (
            proportions::by_class(classes, learners),
            "use fewer learners, or records of every class, or change the seed",
        ),
        Partition::Dirichlet { alpha } => {
            assert!(alpha > 0.0 && alpha.is_finite(), "the experiment's alpha was checked");
            let drawn = (0..classes).map(|_| draw_dirichlet(alpha, learners, shuffle)).collect();
            (drawn, "raise alpha, use fewer learners, or change the seed")
        }
        Partition::OwnClass { share } => {
            assert!((0.0..=1.0).contains(&share), "the experiment's share was checked");
            (
                proportions::own_class(classes, learners, share),
                "lower the share, use fewer learners, or more records",
            )
        }
    };
    let shares = deal::by_class(&class_of_each(labels, classes)?, &proportions, shuffle);
    match shares.iter().position(Vec::is_empty) {
        Some(learner) => Err(StreamError::EmptyLearner { learner, remedy }),
        None => Ok(shares),
    }
}

/// The class of every record.
fn class_of_each(labels: &[f64], classes: usize) -> Result<Vec<usize>, StreamError> {
    let class = |(record, &label): (usize, &f64)| {
        if !(label >= 0.0 && label < f64::from(u32::MAX) && label.fract().abs() <= 0.0) {
            return Err(StreamError::NotAClass { record });
        }
        Some(label as usize)
            .filter(|&class| class < classes)
            .ok_or(StreamError::NotAClass { record })
    };
    labels.iter().enumerate().map(class).collect()
}

/// Assigns records to learners in turn.
fn in_turn(records: Vec<usize>, learners: usize) -> Vec<Vec<usize>> {
    let mut shares = vec![Vec::new(); learners];
    for (position, record) in records.into_iter().enumerate() {
        shares[position % learners].push(record);
    }
    shares
}
