//! One changed record moves no other record: what the certificate's "all else equal" rests on.

use super::random::portion;
use super::tests::{partitions, source};
use super::*;
use proptest::prelude::*;

type Shares = Vec<Vec<usize>>;

/// Whether every learner holds the same records in the same order, one record aside.
fn same_but_for(record: usize, before: &Shares, after: &Shares) -> bool {
    let without = |shares: &Shares| -> Shares {
        let others =
            |share: &Vec<usize>| share.iter().copied().filter(|&one| one != record).collect();
        shares.iter().map(others).collect()
    };
    without(before) == without(after)
}

/// Labels in random order, and the place and the class of one label that is flipped.
fn flips() -> impl Strategy<Value = (Vec<f64>, usize, f64, usize)> {
    (2_usize..6, 30_usize..200).prop_flat_map(|(classes, count)| {
        let label = (0..classes).prop_map(|class| class as f64);
        (prop::collection::vec(label.clone(), count), 0..count, label, Just(classes))
    })
}

proptest! {
    /// Without the label: `iid` and `in-order` do not look at it. With it: the record alone may go elsewhere.
    #[test]
    fn flipping_one_label_moves_only_that_record(
        (labels, record, label, classes) in flips(),
        learners in 1_usize..6,
        partition in partitions(),
        seed in any::<u64>(),
    ) {
        let mut flipped = labels.clone();
        flipped[record] = label;
        let deal = |labels: &[f64]| {
            let mut state = source(seed);
            let shares = split(labels, classes, learners, partition, &mut state);
            (shares, state())
        };
        let ((before, drawn), (after, drawn_after)) = (deal(&labels), deal(&flipped));
        prop_assert_eq!(drawn, drawn_after, "what is drawn next, such as starting points");
        // A learner may be left without records by a flip, which is an error.
        if let (Ok(before), Ok(after)) = (before, after) {
            prop_assert!(same_but_for(record, &before, &after));
            if !partition.depends_on_labels() {
                prop_assert_eq!(before, after);
            }
        }
    }

    /// No class is needed for `iid` and `in-order`, and none is looked at.
    #[test]
    fn deals_that_ignore_labels_depend_on_positions_only(
        labels in prop::collection::vec(any::<f64>(), 20..60),
        learners in 1_usize..6,
        seed in any::<u64>(),
    ) {
        for partition in [Partition::Iid, Partition::InOrder] {
            prop_assert!(!partition.depends_on_labels());
            let of_these = split(&labels, 0, learners, partition, &mut source(seed)).unwrap();
            let zeros = vec![0.0; labels.len()];
            let of_zeros = split(&zeros, 0, learners, partition, &mut source(seed)).unwrap();
            prop_assert_eq!(of_these, of_zeros);
        }
    }
}

/// As version 0.1 dealt: each class is shuffled and cut where cumulative proportions fall.
fn old_deal(labels: &[f64], proportions: &[Vec<f64>], seed: u64) -> Shares {
    let mut source = source(seed);
    let mut shares = vec![Vec::new(); proportions[0].len()];
    for (class, proportions) in proportions.iter().enumerate() {
        let of_class = |&record: &usize| (labels[record] - class as f64).abs() < 0.5;
        let records = (0..labels.len()).filter(of_class).collect();
        let mut records = shuffled(records, &mut source).into_iter();
        let (count, mut before, mut taken) = (records.len(), 0.0, 0);
        for (share, proportion) in shares.iter_mut().zip(proportions) {
            before += proportion;
            let until = portion(count, before);
            share.extend(records.by_ref().take(until - taken));
            taken = until;
        }
        shares[0].extend(records);
    }
    shares.into_iter().map(|share| shuffled(share, &mut source)).collect()
}

#[test]
fn control_the_old_deal_moves_many_records_for_one_label() {
    let labels: Vec<f64> = (0..200).map(|record| f64::from(record % 3)).collect();
    let mut flipped = labels.clone();
    flipped[100] = 0.0;
    let tables = [
        proportions::by_class(3, 5),
        proportions::own_class(3, 5, 0.4),
        (0..3).map(|class| draw_dirichlet(0.5, 5, &mut source(class))).collect(),
    ];
    for table in &tables {
        let (before, after) = (old_deal(&labels, table, 1), old_deal(&flipped, table, 1));
        assert!(!same_but_for(100, &before, &after));
        let holder = |shares: &Shares, record| shares.iter().position(|one| one.contains(&record));
        let moved = (0..200).filter(|&one| holder(&before, one) != holder(&after, one)).count();
        assert!(moved > 20, "{moved} records changed hands");
    }
    // And so does any deal that is shuffled after classes are known.
    let class_of_each: Vec<usize> = labels.iter().map(|&label| label as usize).collect();
    let mut other = class_of_each.clone();
    other[100] = 0;
    let deal = |classes: &[usize], seed| deal::by_class(classes, &tables[0], &mut source(seed));
    assert!(same_but_for(100, &deal(&class_of_each, 1), &deal(&other, 1)));
    assert!(!same_but_for(100, &deal(&class_of_each, 1), &deal(&other, 2)));
}

#[test]
fn a_flipped_label_does_move_its_record_where_the_partition_depends_on_labels() {
    // Otherwise the law above would hold of a deal that ignores labels altogether.
    let labels: Vec<f64> = (0..120).map(|record| f64::from(record % 2)).collect();
    let partition = Partition::ByClass;
    let before = split(&labels, 2, 4, partition, &mut source(1)).unwrap();
    for record in 0..labels.len() {
        let mut flipped = labels.clone();
        flipped[record] = 1.0 - labels[record];
        let after = split(&flipped, 2, 4, partition, &mut source(1)).unwrap();
        let holder = |shares: &Shares| shares.iter().position(|one| one.contains(&record));
        assert_ne!(holder(&before), holder(&after));
        assert!(same_but_for(record, &before, &after));
    }
}
