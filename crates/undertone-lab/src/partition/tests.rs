use proptest::prelude::*;

use super::dirichlet::draw_dirichlet;
use super::*;
use undertone_models::PublicRandom;

pub(super) fn source(seed: u64) -> impl FnMut() -> u64 {
    let mut random = PublicRandom::new(seed);
    move || random.next_u64()
}

pub(super) fn labels(counts: &[usize]) -> Vec<f64> {
    let of_class = |(class, &count): (usize, &usize)| vec![class as f64; count];
    counts.iter().enumerate().flat_map(of_class).collect()
}

/// As [`split`], with the classes that the labels have.
fn deal(
    labels: &[f64],
    learners: usize,
    partition: Partition,
    shuffle: &mut impl FnMut() -> u64,
) -> Result<Vec<Vec<usize>>, StreamError> {
    let last = labels.iter().copied().filter(|label| label.is_finite()).fold(0.0, f64::max);
    split(labels, last as usize + 1, learners, partition, shuffle)
}

pub(super) fn held(shares: &[Vec<usize>], labels: &[f64], learner: usize, class: usize) -> usize {
    let is_class = |&&record: &&usize| (labels[record] - class as f64).abs() < 0.5;
    shares[learner].iter().filter(is_class).count()
}

pub(super) fn partitions() -> impl Strategy<Value = Partition> {
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
        let first = deal(&labels, learners, partition, &mut source(seed)).ok();
        let second = deal(&labels, learners, partition, &mut source(seed)).ok();
        prop_assert_eq!(&first, &second);
        if let Some(shares) = first {
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
    let labels = labels(&[300, 200]);
    let shares = deal(&labels, 5, Partition::ByClass, &mut source(1)).unwrap();
    let owners = [[0, 1, 2].as_slice(), [3, 4].as_slice()];
    for (class, (count, owners)) in [300, 200].into_iter().zip(owners).enumerate() {
        let each: Vec<usize> =
            (0..5).map(|learner| held(&shares, &labels, learner, class)).collect();
        assert_eq!(each.iter().sum::<usize>(), count);
        for (learner, &held) in each.iter().enumerate() {
            // Blocks of sixty records of one class are dealt evenly.
            let even = if owners.contains(&learner) { count / owners.len() } else { 0 };
            assert!(held.abs_diff(even) <= 2, "class {class}: {each:?}");
        }
    }
}

#[test]
fn more_classes_than_learners_wrap_around() {
    let labels = labels(&[4; 5]);
    let shares = deal(&labels, 2, Partition::ByClass, &mut source(1)).unwrap();
    for class in 0..5 {
        assert_eq!(held(&shares, &labels, class % 2, class), 4);
    }
}

#[test]
fn a_deal_in_order_keeps_the_order() {
    let shares = deal(&[0.5; 7], 3, Partition::InOrder, &mut source(1)).unwrap();
    assert_eq!(shares, [vec![0, 3, 6], vec![1, 4], vec![2, 5]]);
}

#[test]
fn an_even_deal_is_even() {
    let shares = deal(&labels(&[7, 10]), 5, Partition::Iid, &mut source(1)).unwrap();
    assert_eq!(shares.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 3, 3, 3]);
}

/// An experiment cannot hold such a value: it was checked when it was read.
#[test]
fn parameters_out_of_range_are_a_bug_in_the_caller() {
    let two = labels(&[4, 4]);
    let sound = |partition| {
        std::panic::catch_unwind(|| deal(&two, 2, partition, &mut source(1)).is_ok()).is_ok()
    };
    for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(!sound(Partition::Dirichlet { alpha }), "{alpha}");
    }
    for share in [-0.1, 1.1, f64::NAN] {
        assert!(!sound(Partition::OwnClass { share }), "{share}");
    }
    assert!(
        sound(Partition::Dirichlet { alpha: 1.0 }) && sound(Partition::OwnClass { share: 0.5 })
    );
}

#[test]
fn what_cannot_be_shared_out_is_an_error_that_says_what_to_change() {
    let two = labels(&[4, 4]);
    let run = |labels: &[f64], learners, partition| {
        deal(labels, learners, partition, &mut source(1)).unwrap_err()
    };
    let error = run(&two, 9, Partition::Iid);
    assert!(matches!(error, StreamError::TooFewRecords { records: 8, learners: 9 }), "{error}");
    for label in [0.5, -1.0, f64::NAN, f64::INFINITY] {
        let error = run(&[0.0, label], 2, Partition::ByClass);
        assert!(matches!(error, StreamError::NotAClass { record: 1 }), "{error}");
    }
    // The schema has two classes, and data without classes have none.
    for (classes, record) in [(2, 1), (0, 0)] {
        let error = split(&[0.0, 2.0], classes, 2, Partition::ByClass, &mut source(1)).unwrap_err();
        assert!(matches!(error, StreamError::NotAClass { record: found } if found == record));
    }
    // Class 1 has one record for two learners.
    let message = run(&labels(&[9, 1]), 4, Partition::ByClass).to_string();
    assert!(message.contains("no record") && message.contains("fewer learners"), "{message}");
    let message = run(&two, 8, Partition::Dirichlet { alpha: 1e-3 }).to_string();
    assert!(message.contains("raise alpha"), "{message}");
}

#[test]
fn a_broken_source_ends_all_the_same() {
    for value in [0, u64::MAX] {
        let partition = Partition::Dirichlet { alpha: 0.5 };
        let _ = deal(&labels(&[20, 20]), 3, partition, &mut || value);
    }
}

/// Mean and variance of the first of five proportions, over 20 000 draws.
fn moments(alpha: f64, seed: u64) -> (f64, f64) {
    let mut source = source(seed);
    let draws: Vec<f64> = (0..20_000).map(|_| draw_dirichlet(alpha, 5, &mut source)[0]).collect();
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
