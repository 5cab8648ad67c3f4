//! Partitions: which learner holds which records.
//!
//! The paper's experiments give each learner records of a few classes only; the other partitions range from
//! that to an even distribution. Randomness comes in as a source of uniform 64-bit numbers. It protects
//! nothing, so small biases (below 2⁻³² for any realistic number of records) are accepted.

mod dirichlet;
mod random;
mod test_records;
#[cfg(test)]
mod tests;

pub use test_records::{train_test_split, train_then_test};

use crate::experiment::Partition;
use crate::stream::StreamError;
use dirichlet::dirichlet;
use random::{portion, shuffled};
use std::collections::BTreeMap;

/// Assigns every record to exactly one learner, and returns the record indices of each learner.
///
/// Each learner's records are in random order, except with [`Partition::InOrder`]. The result depends only
/// on the labels and the source of randomness. Except with [`Partition::Iid`] and [`Partition::InOrder`],
/// labels must be classes 0.0, 1.0, 2.0 ….
///
/// # Errors
/// When a label is not a class, or a learner would hold no record.
///
/// # Panics
/// When there are no learners, or a parameter is out of range: bugs in the caller, because the experiment was checked.
pub fn split(
    labels: &[f64],
    learners: usize,
    partition: Partition,
    shuffle: &mut impl FnMut() -> u64,
) -> Result<Vec<Vec<usize>>, StreamError> {
    assert!(learners > 0, "a network has learners");
    let records = labels.len();
    if records < learners {
        return Err(StreamError::TooFewRecords { records, learners });
    }
    let mut shares = vec![Vec::new(); learners];
    let remedy = match partition {
        Partition::Iid => {
            assign_in_turn(shuffled((0..records).collect(), shuffle), &mut shares);
            "use fewer learners"
        }
        // The records keep their order, which is the order of time.
        Partition::InOrder => {
            assign_in_turn((0..records).collect(), &mut shares);
            return Ok(shares);
        }
        Partition::ByClass => {
            by_class(&classes(labels)?, &mut shares, shuffle);
            "use fewer learners, or records of every class"
        }
        Partition::Dirichlet { alpha } => {
            assert!(alpha > 0.0 && alpha.is_finite(), "the experiment's alpha was checked");
            dirichlet(classes(labels)?, alpha, &mut shares, shuffle);
            "raise alpha, use fewer learners, or change the seed"
        }
        Partition::OwnClass { share } => {
            assert!((0.0..=1.0).contains(&share), "the experiment's share was checked");
            own_class(classes(labels)?, share, &mut shares, shuffle);
            "lower the share, use fewer learners, or more records"
        }
    };
    if let Some(learner) = shares.iter().position(Vec::is_empty) {
        return Err(StreamError::EmptyLearner { learner, remedy });
    }
    // Otherwise each learner would see its classes one after the other.
    Ok(shares.into_iter().map(|share| shuffled(share, shuffle)).collect())
}

/// The records of each class present.
fn classes(labels: &[f64]) -> Result<BTreeMap<usize, Vec<usize>>, StreamError> {
    let mut classes: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (record, &label) in labels.iter().enumerate() {
        if !(label >= 0.0 && label < f64::from(u32::MAX) && label.fract().abs() <= 0.0) {
            return Err(StreamError::NotAClass { record });
        }
        classes.entry(label as usize).or_default().push(record);
    }
    Ok(classes)
}

fn by_class(
    classes: &BTreeMap<usize, Vec<usize>>,
    shares: &mut [Vec<usize>],
    shuffle: &mut impl FnMut() -> u64,
) {
    let learners = shares.len();
    let class_count = classes.last_key_value().map_or(1, |(&last, _)| last + 1);
    for (&class, records) in classes {
        let group = if class_count > learners {
            class % learners..class % learners + 1
        } else {
            let (size, larger) = (learners / class_count, learners % class_count);
            let first = class * size + class.min(larger);
            first..first + size + usize::from(class < larger)
        };
        assign_in_turn(shuffled(records.clone(), shuffle), &mut shares[group]);
    }
}

fn own_class(
    classes: BTreeMap<usize, Vec<usize>>,
    share: f64,
    shares: &mut [Vec<usize>],
    shuffle: &mut impl FnMut() -> u64,
) {
    let learners = shares.len();
    for (class, records) in classes {
        let owner = class % learners;
        let mut own = shuffled(records, shuffle);
        if learners > 1 {
            let rest = own.split_off(portion(own.len(), share));
            // The learner that is served first changes from class to class.
            let start = class % (learners - 1);
            for (position, record) in rest.into_iter().enumerate() {
                let other = (start + position) % (learners - 1);
                shares[other + usize::from(other >= owner)].push(record);
            }
        }
        shares[owner].extend(own);
    }
}

/// Assigns records to learners in turn.
fn assign_in_turn(records: Vec<usize>, shares: &mut [Vec<usize>]) {
    let learners = shares.len();
    for (position, record) in records.into_iter().enumerate() {
        shares[position % learners].push(record);
    }
}
