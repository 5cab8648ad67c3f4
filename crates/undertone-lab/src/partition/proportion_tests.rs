//! Shares keep their meaning although they are proportional up to chance only.

use super::tests::{held, labels, source};
use super::*;

/// Whether a learner holds the share of a class that it should.
///
/// Of M = 6000 records a share p has a standard deviation of at most √(p(1 − p)/M) ≤ 0.0065, and the tolerance is
/// five of it: in the tests below fewer than one count in a million is outside by chance, and a share wrong by
/// 0.065 is outside in more than 999 999 of a million.
fn near(held: usize, count: usize, share: f64) -> bool {
    let tolerance = 5.0 * (0.25 / count as f64).sqrt();
    (held as f64 / count as f64 - share).abs() <= tolerance
}

/// Ten classes of 6000 records each, one after the other or mixed.
fn ten_classes(mixed: bool) -> Vec<f64> {
    let sorted = labels(&[6000; 10]);
    match mixed {
        true => shuffled((0..60_000).collect(), &mut source(7))
            .into_iter()
            .map(|at| sorted[at])
            .collect(),
        false => sorted,
    }
}

/// Whether own-class shares of ten classes over five learners are `share` for the owner and even for the others.
fn own_class_fits(labels: &[f64], shares: &[Vec<usize>], share: f64) -> bool {
    (0..10).all(|class| {
        (0..5).all(|learner| {
            let expected = if learner == class % 5 { share } else { (1.0 - share) / 4.0 };
            near(held(shares, labels, learner, class), 6000, expected)
        })
    })
}

#[test]
fn own_class_gives_the_share_to_the_owner_and_the_rest_evenly() {
    for mixed in [false, true] {
        let labels = ten_classes(mixed);
        let partition = Partition::OwnClass { share: 0.4 };
        let shares = split(&labels, 10, 5, partition, &mut source(1)).unwrap();
        assert!(own_class_fits(&labels, &shares, 0.4));
        let counts: Vec<usize> = shares.iter().map(Vec::len).collect();
        assert!(counts.iter().all(|&count| near(count, 60_000, 0.2)), "{counts:?}");
        // Controls: another share, and an even deal.
        assert!(!own_class_fits(&labels, &shares, 0.465));
        let even = split(&labels, 10, 5, Partition::Iid, &mut source(1)).unwrap();
        assert!(!own_class_fits(&labels, &even, 0.4));
    }
    let alone =
        split(&ten_classes(true), 10, 1, Partition::OwnClass { share: 0.4 }, &mut source(1));
    assert_eq!(alone.unwrap()[0].len(), 60_000);
}

#[test]
fn by_class_gives_each_class_to_neighbours_in_number_and_to_nobody_else() {
    // Five classes over twelve learners: groups of 3, 3, 2, 2 and 2.
    let groups = [0..3, 3..6, 6..8, 8..10, 10..12];
    let sorted = labels(&[6000; 5]);
    let mixed = shuffled((0..30_000).collect(), &mut source(3));
    let mixed: Vec<f64> = mixed.into_iter().map(|at| sorted[at]).collect();
    for labels in [sorted, mixed] {
        let shares = split(&labels, 5, 12, Partition::ByClass, &mut source(2)).unwrap();
        let even = split(&labels, 5, 12, Partition::Iid, &mut source(2)).unwrap();
        let fits = |shares: &[Vec<usize>]| {
            groups.iter().enumerate().all(|(class, group)| {
                (0..12).all(|learner| {
                    let held = held(shares, &labels, learner, class);
                    let inside = group.contains(&learner);
                    if inside { near(held, 6000, 1.0 / group.len() as f64) } else { held == 0 }
                })
            })
        };
        assert!(fits(&shares));
        assert!(!fits(&even), "the control");
    }
}

#[test]
fn dirichlet_deals_each_class_in_the_proportions_drawn_for_it() {
    let labels = ten_classes(true);
    for (seed, alpha) in [(1, 0.1), (2, 1.0), (3, 20.0)] {
        let partition = Partition::Dirichlet { alpha };
        let shares = split(&labels, 10, 5, partition, &mut source(seed)).unwrap();
        let mut again = source(seed);
        let drawn: Vec<Vec<f64>> = (0..10).map(|_| draw_dirichlet(alpha, 5, &mut again)).collect();
        let fits = |drawn: &[Vec<f64>]| {
            drawn.iter().enumerate().all(|(class, proportions)| {
                let of = |(learner, &share): (usize, &f64)| {
                    near(held(&shares, &labels, learner, class), 6000, share)
                };
                proportions.iter().enumerate().all(of)
            })
        };
        assert!(fits(&drawn), "alpha {alpha}");
        let others: Vec<Vec<f64>> = (0..10).map(|_| draw_dirichlet(alpha, 5, &mut again)).collect();
        assert!(!fits(&others), "the control: proportions that were not drawn for these classes");
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
        let shares = split(&labels, 2, 4, partition, &mut source).unwrap();
        for (learner, total) in totals.iter_mut().enumerate() {
            *total += held(&shares, &labels, learner, 1) as f64 / 500.0 / 400.0;
        }
    }
    let even = |mean: &f64| (mean - 0.25).abs() < 0.05;
    assert!(totals.iter().all(even), "{totals:?}");
    // Control: own-class shares are not even, and the same test says so.
    let shares = split(&labels, 2, 4, Partition::OwnClass { share: 0.4 }, &mut source).unwrap();
    let held: Vec<f64> =
        (0..4).map(|learner| held(&shares, &labels, learner, 1) as f64 / 500.0).collect();
    assert!(!held.iter().all(even), "{held:?}");
}

#[test]
fn the_order_of_arrival_mixes_classes() {
    // Sorted by class in the file, and held by everybody: otherwise each learner would see its classes one after
    // the other.
    let labels = labels(&[600, 600]);
    let partition = Partition::OwnClass { share: 0.5 };
    let shares = split(&labels, 2, 2, partition, &mut source(4)).unwrap();
    for share in shares {
        let half = share.len() / 2;
        let first = share[..half].iter().filter(|&&record| record < 600).count();
        // Of about 300 places half: a standard deviation of 6, and the tolerance is seven of it.
        assert!(first.abs_diff(half / 2) < 45, "{first} of {half}");
        assert!(!share.is_sorted(), "the control: the file's order");
    }
}
