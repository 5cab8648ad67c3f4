//! Sharing records out among learners.
//!
//! The paper's experiments give each learner records of some classes only; the other partitions
//! range from that to an even deal. Randomness comes in as a source of uniform 64-bit numbers. It
//! decides who holds what in an experiment and protects nothing, so that small biases (below
//! 2⁻³² for any real number of records) are accepted.

use std::collections::BTreeMap;

use crate::experiment::Partition;
use thiserror::Error;

/// Why records could not be shared out.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PartitionError {
    /// There is nobody to share with.
    #[error("no learners: at least one is needed")]
    NoLearners,
    /// Not every learner can have a record.
    #[error("{records} records cannot be shared among {learners} learners: use fewer learners")]
    TooFewRecords {
        /// How many records there are.
        records: usize,
        /// How many learners there are.
        learners: usize,
    },
    /// The Dirichlet parameter is not a positive number.
    #[error("dirichlet alpha = {alpha}: must be finite and above 0")]
    BadAlpha {
        /// What was given.
        alpha: f64,
    },
    /// The share is not one.
    #[error("own-class share = {share}: must be between 0 and 1")]
    BadShare {
        /// What was given.
        share: f64,
    },
    /// A label is not a class 0, 1, 2 …, as for regression.
    #[error("record {record} has no class: share regression records out with `iid` or `in-order`")]
    NotAClass {
        /// Which record, from 0.
        record: usize,
    },
    /// A learner came out without a record.
    #[error("learner {learner} would hold no record: {remedy}")]
    EmptyLearner {
        /// The first such learner, from 0.
        learner: usize,
        /// What to change.
        remedy: &'static str,
    },
}

/// Gives every record to exactly one learner: returns the record indices of each.
///
/// Each learner's records are in random order, but for [`Partition::InOrder`]. The result depends on
/// the labels and the source only. For all but [`Partition::Iid`] and [`Partition::InOrder`] labels must
/// be classes 0.0, 1.0, 2.0 ….
///
/// # Errors
/// When a parameter is out of range, a label is not a class, or a learner would hold nothing.
pub fn split(
    labels: &[f64],
    learners: usize,
    partition: Partition,
    shuffle: &mut impl FnMut() -> u64,
) -> Result<Vec<Vec<usize>>, PartitionError> {
    if learners == 0 {
        return Err(PartitionError::NoLearners);
    }
    let records = labels.len();
    if records < learners {
        return Err(PartitionError::TooFewRecords { records, learners });
    }
    let mut shares = vec![Vec::new(); learners];
    let remedy = match partition {
        Partition::Iid => {
            deal(shuffled((0..records).collect(), shuffle), &mut shares);
            "use fewer learners"
        }
        // Kept as it is: the order of the data is the time in which they arise.
        Partition::InOrder => {
            deal((0..records).collect(), &mut shares);
            return Ok(shares);
        }
        Partition::ByClass => {
            by_class(&classes(labels)?, &mut shares, shuffle);
            "use fewer learners, or records of every class"
        }
        Partition::Dirichlet { alpha } => {
            if !(alpha > 0.0 && alpha.is_finite()) {
                return Err(PartitionError::BadAlpha { alpha });
            }
            dirichlet(classes(labels)?, alpha, &mut shares, shuffle);
            "raise alpha, use fewer learners, or change the seed"
        }
        Partition::OwnClass { share } => {
            if !(0.0..=1.0).contains(&share) {
                return Err(PartitionError::BadShare { share });
            }
            own_class(classes(labels)?, share, &mut shares, shuffle);
            "lower the share, use fewer learners, or more records"
        }
    };
    if let Some(learner) = shares.iter().position(Vec::is_empty) {
        return Err(PartitionError::EmptyLearner { learner, remedy });
    }
    // Otherwise a learner would meet its classes one after the other.
    Ok(shares.into_iter().map(|share| shuffled(share, shuffle)).collect())
}

/// Sets a random share of `count` records apart for testing: returns training and test indices.
///
/// Both are increasing, so that a stream keeps its order.
///
/// # Panics
/// When the fraction is not between 0 and 1.
#[must_use]
pub fn train_test_split(
    count: usize,
    test_fraction: f64,
    shuffle: &mut impl FnMut() -> u64,
) -> (Vec<usize>, Vec<usize>) {
    assert!((0.0..=1.0).contains(&test_fraction), "test fraction must be between 0 and 1");
    let mut train = shuffled((0..count).collect(), shuffle);
    let test_count = portion(count, test_fraction);
    let mut test = train.split_off(count - test_count);
    train.sort_unstable();
    test.sort_unstable();
    (train, test)
}

/// Sets the last of `count` records apart for testing: returns training and test indices.
///
/// For records in order of time, where a random share would test on the past.
///
/// # Panics
/// When the fraction is not between 0 and 1.
#[must_use]
pub fn train_then_test(count: usize, test_fraction: f64) -> (Vec<usize>, Vec<usize>) {
    assert!((0.0..=1.0).contains(&test_fraction), "test fraction must be between 0 and 1");
    let test_from = count - portion(count, test_fraction);
    ((0..test_from).collect(), (test_from..count).collect())
}

/// The records of each class present.
fn classes(labels: &[f64]) -> Result<BTreeMap<usize, Vec<usize>>, PartitionError> {
    let mut classes: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (record, &label) in labels.iter().enumerate() {
        if !(label >= 0.0 && label < f64::from(u32::MAX) && label.fract().abs() <= 0.0) {
            return Err(PartitionError::NotAClass { record });
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
        deal(shuffled(records.clone(), shuffle), &mut shares[group]);
    }
}

fn dirichlet(
    classes: BTreeMap<usize, Vec<usize>>,
    alpha: f64,
    shares: &mut [Vec<usize>],
    shuffle: &mut impl FnMut() -> u64,
) {
    for records in classes.into_values() {
        let proportions = draw_dirichlet(alpha, shares.len(), shuffle);
        let mut records = shuffled(records, shuffle);
        let count = records.len();
        // Cutting at rounded cumulative proportions loses no record.
        let mut before = 0.0;
        for (share, proportion) in shares.iter_mut().zip(proportions).rev() {
            before += proportion;
            let kept = count - portion(count, before).min(count);
            share.extend(records.drain(kept.min(records.len())..));
        }
        shares[0].extend(records);
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
            // The remainder of the deal moves on from class to class.
            let start = class % (learners - 1);
            for (position, record) in rest.into_iter().enumerate() {
                let other = (start + position) % (learners - 1);
                shares[other + usize::from(other >= owner)].push(record);
            }
        }
        shares[owner].extend(own);
    }
}

/// Deals records in turn.
fn deal(records: Vec<usize>, shares: &mut [Vec<usize>]) {
    let learners = shares.len();
    for (position, record) in records.into_iter().enumerate() {
        shares[position % learners].push(record);
    }
}

/// A fraction of a count, rounded to the nearest, at most the count.
fn portion(count: usize, fraction: f64) -> usize {
    ((count as f64 * fraction).round() as usize).min(count)
}

/// The items in random order (Fisher and Yates).
fn shuffled(mut items: Vec<usize>, source: &mut impl FnMut() -> u64) -> Vec<usize> {
    for last in (1..items.len()).rev() {
        let chosen = (u128::from(source()) * (last as u128 + 1)) >> 64;
        items.swap(last, chosen as usize);
    }
    items
}

/// Proportions from the symmetric Dirichlet distribution.
///
/// They are gamma variables over their sum, taken from logarithms, as for a small alpha the
/// variables themselves would all round to zero.
fn draw_dirichlet(alpha: f64, count: usize, source: &mut impl FnMut() -> u64) -> Vec<f64> {
    let logarithms: Vec<f64> = (0..count).map(|_| ln_gamma_variable(alpha, source)).collect();
    let largest = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logarithms.iter().map(|value| (value - largest).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

/// The logarithm of a gamma variable of the given shape and scale 1.
///
/// # Source
/// Marsaglia and Tsang, A Simple Method for Generating Gamma Variables, 2000; below shape 1 a
/// variable of shape + 1 is multiplied by U^(1/shape).
fn ln_gamma_variable(shape: f64, source: &mut impl FnMut() -> u64) -> f64 {
    if shape < 1.0 {
        let boost = uniform(source).ln() / shape;
        // Below shape 1e-300 the boost is minus infinity; a large finite number keeps differences.
        return ln_gamma_variable(shape + 1.0, source) + boost.max(-1e300);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    // A draw is accepted with probability above 0.95: only a broken source gets to the end.
    for _ in 0..1000 {
        let x = normal(source);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && uniform(source).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d.ln() + v.ln();
        }
    }
    d.ln()
}

/// A standard normal variable (Box and Muller).
fn normal(source: &mut impl FnMut() -> u64) -> f64 {
    let radius = (-2.0 * uniform(source).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(source)).cos()
}

/// A uniform number above 0 and below 1.
fn uniform(source: &mut impl FnMut() -> u64) -> f64 {
    ((source() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// SplitMix64, which is enough for tests.
    fn source(mut state: u64) -> impl FnMut() -> u64 {
        move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        }
    }

    fn labels(counts: &[usize]) -> Vec<f64> {
        let of_class = |(class, &count): (usize, &usize)| vec![class as f64; count];
        counts.iter().enumerate().flat_map(of_class).collect()
    }

    fn held(shares: &[Vec<usize>], labels: &[f64], learner: usize, class: usize) -> usize {
        let is_class = |&&record: &&usize| (labels[record] - class as f64).abs() < 0.5;
        shares[learner].iter().filter(is_class).count()
    }

    fn partitions() -> impl Strategy<Value = Partition> {
        prop_oneof![
            Just(Partition::Iid),
            Just(Partition::InOrder),
            Just(Partition::ByClass),
            (1e-4..100.0).prop_map(|alpha| Partition::Dirichlet { alpha }),
            (0.0..=1.0).prop_map(|share| Partition::OwnClass { share }),
        ]
    }

    proptest! {
        #[test]
        fn every_record_goes_to_exactly_one_learner_and_nobody_goes_without(
            counts in prop::collection::vec(0_usize..40, 1..8),
            learners in 1_usize..10,
            partition in partitions(),
            seed in any::<u64>(),
        ) {
            let labels = labels(&counts);
            let first = split(&labels, learners, partition, &mut source(seed));
            let second = split(&labels, learners, partition, &mut source(seed));
            prop_assert_eq!(&first, &second);
            if let Ok(shares) = first {
                prop_assert_eq!(shares.len(), learners);
                prop_assert!(shares.iter().all(|share| !share.is_empty()));
                let mut all: Vec<usize> = shares.into_iter().flatten().collect();
                all.sort_unstable();
                prop_assert_eq!(all, (0..labels.len()).collect::<Vec<_>>());
            }
        }

        #[test]
        fn training_and_test_records_are_disjoint_and_complete(
            count in 0_usize..200, fraction in 0.0..=1.0, seed in any::<u64>(),
        ) {
            let (train, test) = train_test_split(count, fraction, &mut source(seed));
            prop_assert!((test.len() as f64 - count as f64 * fraction).abs() <= 0.5);
            let mut all = [train, test].concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn five_learners_and_two_classes_split_as_in_the_paper() {
        let labels = labels(&[30, 20]);
        let shares = split(&labels, 5, Partition::ByClass, &mut source(1)).unwrap();
        let table: Vec<[usize; 2]> = (0..5)
            .map(|learner| [0, 1].map(|class| held(&shares, &labels, learner, class)))
            .collect();
        assert_eq!(table, [[10, 0], [10, 0], [10, 0], [0, 10], [0, 10]]);
    }

    #[test]
    fn more_classes_than_learners_wrap_around() {
        let labels = labels(&[4; 5]);
        let shares = split(&labels, 2, Partition::ByClass, &mut source(1)).unwrap();
        for class in 0..5 {
            assert_eq!(held(&shares, &labels, class % 2, class), 4);
        }
    }

    #[test]
    fn a_deal_in_order_keeps_the_order() {
        let shares = split(&[0.5; 7], 3, Partition::InOrder, &mut source(1)).unwrap();
        assert_eq!(shares, [vec![0, 3, 6], vec![1, 4], vec![2, 5]]);
    }

    #[test]
    fn an_even_deal_is_even() {
        let shares = split(&labels(&[7, 10]), 5, Partition::Iid, &mut source(1)).unwrap();
        assert_eq!(shares.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 3, 3, 3]);
    }

    #[test]
    fn own_class_gives_the_share_to_the_owner_and_the_rest_evenly() {
        let labels = labels(&[100; 10]);
        let partition = Partition::OwnClass { share: 0.4 };
        let shares = split(&labels, 5, partition, &mut source(1)).unwrap();
        for class in 0..10 {
            for learner in 0..5 {
                let expected = if learner == class % 5 { 40 } else { 15 };
                assert_eq!(held(&shares, &labels, learner, class), expected);
            }
        }
        let alone = split(&labels, 1, partition, &mut source(1)).unwrap();
        assert_eq!(alone[0].len(), 1000);
    }

    #[test]
    fn what_cannot_be_shared_out_is_an_error_that_says_what_to_change() {
        let two = labels(&[4, 4]);
        let run = |labels: &[f64], learners, partition| {
            split(labels, learners, partition, &mut source(1)).unwrap_err()
        };
        assert_eq!(run(&two, 0, Partition::Iid), PartitionError::NoLearners);
        assert_eq!(
            run(&two, 9, Partition::Iid),
            PartitionError::TooFewRecords { records: 8, learners: 9 }
        );
        for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = run(&two, 2, Partition::Dirichlet { alpha });
            assert!(matches!(error, PartitionError::BadAlpha { .. }));
        }
        for share in [-0.1, 1.1, f64::NAN] {
            let error = run(&two, 2, Partition::OwnClass { share });
            assert!(matches!(error, PartitionError::BadShare { .. }));
        }
        for label in [0.5, -1.0, f64::NAN, f64::INFINITY] {
            let error = run(&[0.0, label], 2, Partition::ByClass);
            assert_eq!(error, PartitionError::NotAClass { record: 1 });
        }
        // Class 1 has one record for two learners.
        let message = run(&labels(&[9, 1]), 4, Partition::ByClass).to_string();
        assert!(message.contains("learner 3") && message.contains("fewer learners"), "{message}");
        let message = run(&two, 8, Partition::Dirichlet { alpha: 1e-3 }).to_string();
        assert!(message.contains("raise alpha"), "{message}");
    }

    #[test]
    fn a_broken_source_ends_all_the_same() {
        for value in [0, u64::MAX] {
            let partition = Partition::Dirichlet { alpha: 0.5 };
            let _ = split(&labels(&[20, 20]), 3, partition, &mut || value);
        }
    }

    /// Mean and variance of the first of five proportions, over 20 000 draws.
    fn moments(alpha: f64, seed: u64) -> (f64, f64) {
        let mut source = source(seed);
        let draws: Vec<f64> =
            (0..20_000).map(|_| draw_dirichlet(alpha, 5, &mut source)[0]).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let square = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>();
        (mean, square / draws.len() as f64)
    }

    /// Whether the moments are those of Dirichlet(alpha): mean 1/5, variance 4/(25 (5 alpha + 1)).
    ///
    /// n = 20 000. The mean's standard deviation is below 0.0029, and the tolerance five of it; the
    /// variance is taken within 6 %, above four of its standard deviations for the alphas below, and
    /// an alpha wrong by 25 % changes it by more than 10 %.
    fn fits(alpha: f64, (mean, variance): (f64, f64)) -> bool {
        let expected = 4.0 / (25.0 * (5.0 * alpha + 1.0));
        (mean - 0.2).abs() < 5.0 * (expected / 20_000.0).sqrt()
            && (variance / expected - 1.0).abs() < 0.06
    }

    #[test]
    fn dirichlet_proportions_have_the_right_mean_and_variance() {
        for (seed, alpha) in [(1, 0.3), (2, 1.0), (3, 4.0)] {
            assert!(fits(alpha, moments(alpha, seed)), "alpha {alpha}");
        }
    }

    #[test]
    fn control_a_dirichlet_of_another_alpha_or_mean_is_noticed() {
        for (seed, alpha) in [(1, 0.3), (2, 1.0), (3, 4.0)] {
            assert!(!fits(alpha, moments(1.25 * alpha, seed)), "alpha {alpha}");
            let (mean, variance) = moments(alpha, seed);
            assert!(!fits(alpha, (1.1 * mean, variance)), "mean, alpha {alpha}");
        }
    }

    #[test]
    fn dirichlet_splits_give_each_learner_its_mean_share_of_a_class() {
        // 400 splits of 1000 records: the mean share of a learner has a standard deviation of
        // 0.0072, and the tolerance is seven of it. With alpha 2 no learner is ever left empty (the
        // odds are below 1e-7), which with alpha 1 happens once in 15 000 splits.
        let labels = labels(&[500, 500]);
        let mut source = source(5);
        let mut totals = [0.0; 4];
        for _ in 0..400 {
            let partition = Partition::Dirichlet { alpha: 2.0 };
            let shares = split(&labels, 4, partition, &mut source).unwrap();
            for (learner, total) in totals.iter_mut().enumerate() {
                *total += held(&shares, &labels, learner, 1) as f64 / 500.0 / 400.0;
            }
        }
        let even = |mean: &f64| (mean - 0.25).abs() < 0.05;
        assert!(totals.iter().all(even), "{totals:?}");
        // Control: own-class shares are not even, and the same test says so.
        let shares = split(&labels, 4, Partition::OwnClass { share: 0.4 }, &mut source).unwrap();
        let held: Vec<f64> =
            (0..4).map(|learner| held(&shares, &labels, learner, 1) as f64 / 500.0).collect();
        assert!(!held.iter().all(even), "{held:?}");
    }
}
