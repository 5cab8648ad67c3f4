//! The Rényi account of Laplace noise beside integrals, other splits, zCDP and an exact privacy-loss distribution.

use super::divergence::cumulant;
use super::*;
use proptest::prelude::*;

/// What one release costs that moves by `shift` noise scales.
fn cost(shift: f64, dimension: usize) -> Cost {
    Cost { pure: shift * (dimension as f64).sqrt(), zcdp: 0.5 * shift * shift }
}

fn releases(shifts: &[f64], dimension: usize) -> LaplaceReleases {
    let mut all = LaplaceReleases::new(dimension);
    shifts.iter().for_each(|&shift| all.add(cost(shift, dimension)));
    all
}

/// ln ∫ p^α q^(1−α) of Laplace densities that are `shift` apart, by Simpson's rule on the three pieces where it is smooth.
fn integrated(shift: f64, order: f64) -> f64 {
    let value = |x: f64| {
        let (left, right) = (x.abs(), (x - shift).abs());
        0.5 * (-order * left - (1.0 - order) * right).exp()
    };
    let simpson = |from: f64, to: f64| {
        let pieces = 40_000;
        let width = (to - from) / f64::from(pieces);
        let inner = (1..pieces).map(|k| {
            let weight = if k % 2 == 1 { 4.0 } else { 2.0 };
            weight * value(from + f64::from(k) * width)
        });
        (value(from) + value(to) + inner.sum::<f64>()) * width / 3.0
    };
    (simpson(-50.0, 0.0) + simpson(0.0, shift) + simpson(shift, shift + 50.0)).ln()
}

#[test]
fn divergences_are_those_found_by_integration() {
    for shift in [0.01, 0.3, 1.0, 2.5] {
        for order in [1.01, 1.5, 2.0, 7.0, 40.0] {
            let (found, expected) = (cumulant(shift, order - 1.0), integrated(shift, order));
            assert!((found - expected).abs() < 1e-9, "{shift} {order}: {found} {expected}");
            // The control: a tenth more of a shift is seen.
            assert!(cumulant(1.1 * shift, order - 1.0) - expected > 1e-8, "{shift} {order}");
        }
    }
}

#[test]
fn small_and_large_shifts_keep_their_digits() {
    for excess in [1e-6, 0.1, 1.0, 30.0, 1e6] {
        // f(a) = α(α − 1)(a²/2 − a³/6 ± …), the next term of which is αa times smaller.
        let order = 1.0 + excess;
        let shift = 1e-9 / order;
        let series = order * excess * shift * shift * (0.5 - shift / 6.0);
        let found = cumulant(shift, excess);
        assert!((found / series - 1.0).abs() < 1e-9, "{excess}: {found} {series}");
        // Where one formula gives way to the other, by 1 % in the shift and so by some 5 in the result.
        let (below, above) = (cumulant(499.99 / excess, excess), cumulant(500.01 / excess, excess));
        assert!((above - below - 0.02).abs() < 1e-6, "{excess}: {below} {above}");
    }
    assert!(cumulant(0.0, 1.0).abs() < 1e-300 && cumulant(1e300, 1e300).is_infinite());
}

/// A shift of this norm, split over coordinates as the weights say.
fn split(weights: &[f64], norm: f64) -> Vec<f64> {
    let length = weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
    weights.iter().map(|weight| norm * weight.abs() / length).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn no_split_over_coordinates_is_worse_than_the_even_one(
        weights in prop::collection::vec(prop_oneof![-1.0..1.0_f64, 1e-3..1e-2_f64], 1..12),
        log_norm in -6.0..4.0_f64,
        log_excess in -6.0..6.0_f64,
    ) {
        let (norm, excess, n) = (log_norm.exp(), log_excess.exp(), weights.len() as f64);
        let found: f64 = split(&weights, norm).into_iter().map(|a| cumulant(a, excess)).sum();
        let even = n * cumulant(norm / n.sqrt(), excess);
        prop_assert!(found <= even * (1.0 + 1e-12), "{found} {even}");
        // And no even split is worse than zCDP says.
        prop_assert!(even <= 0.5 * (1.0 + excess) * excess * norm * norm * (1.0 + 1e-12));
    }

    #[test]
    fn a_plan_never_costs_more_than_its_total(
        shifts in prop::collection::vec(prop_oneof![0.0..0.1_f64, 0.0..3.0_f64], 1..60),
        dimension in prop_oneof![Just(1_usize), 1_usize..2000],
        log_delta in -30.0..-0.3_f64,
    ) {
        let delta = log_delta.exp();
        let found = releases(&shifts, dimension).epsilon(delta);
        let mut total = Total::default();
        shifts.iter().for_each(|&shift| total.add(cost(shift, dimension)));
        let zcdp = super::super::epsilon_from_zcdp(total.cost().zcdp, delta);
        prop_assert!(found <= zcdp * (1.0 + 1e-9) + 1e-14, "{found} {zcdp}");
    }

    #[test]
    fn counting_releases_together_loses_next_to_nothing_and_never_what_they_cost(
        shifts in prop::collection::vec(prop_oneof![1e-4..0.1_f64, 0.0..3.0_f64], 1..60),
        dimension in 1_usize..20,
        log_excess in -4.0..4.0_f64,
    ) {
        let excess = log_excess.exp();
        let n = dimension as f64;
        let exact = |shift: &f64| n * cumulant(shift / n.sqrt(), excess) / excess;
        let exact: f64 = shifts.iter().map(exact).sum();
        let found = releases(&shifts, dimension).divergence(excess);
        prop_assert!(found >= exact, "{found} {exact}");
        prop_assert!(found <= exact * (1.0 + 1e-9), "{found} {exact}");
        // All in one group is worse, and a bound too.
        let mut together = LaplaceReleases::new(dimension);
        let zcdp = shifts.iter().map(|shift| 0.5 * shift * shift).sum::<f64>() * (1.0 + 1e-12);
        together.add_total(shifts.len() as u64, Cost { pure: 0.0, zcdp });
        prop_assert!(together.divergence(excess) >= exact);
    }
}

/// The control of the splits: the bound is attained, and a bound for a norm that is a tenth smaller is passed, by the even
/// split and by an uneven one.
#[test]
fn splits_pass_the_bound_of_a_smaller_norm() {
    let sum = |split: &[f64]| split.iter().map(|&a| cumulant(a, 3.0)).sum::<f64>();
    let bound = |norm: f64| 4.0 * cumulant(norm / 2.0, 3.0);
    let even = sum(&split(&[1.0, 1.0, 1.0, 1.0], 1.0));
    assert!((even / bound(1.0) - 1.0).abs() < 1e-12);
    let uneven = sum(&split(&[1.2, 1.0, 1.0, 0.7], 1.0));
    assert!(uneven > bound(0.9) && uneven < bound(1.0), "{uneven}");
    // All of it in one coordinate is much cheaper: the number of coordinates matters.
    assert!(sum(&[1.0]) < 0.9 * bound(1.0));
}

/// The distribution of the privacy loss of shifted coordinates with Laplace noise, in steps, rounded down.
struct Losses {
    step: f64,
    /// Of the losses from −`span` steps to `span` steps.
    chances: Vec<f64>,
}

impl Losses {
    fn span(&self) -> usize {
        self.chances.len() / 2
    }

    /// Of one coordinate that moves by `steps` steps: |x − a| − |x| at x from the Laplace distribution.
    fn of_shift(steps: usize, step: f64) -> Losses {
        let mut chances = vec![0.0; 2 * steps + 1];
        // x ≤ 0: the loss is a. x ≥ a: it is −a. Between them it is a − 2x, with the density e^−x / 2.
        chances[2 * steps] = 0.5;
        chances[0] = 0.5 * (-(steps as f64) * step).exp();
        for (k, chance) in chances.iter_mut().enumerate().take(2 * steps) {
            // Losses from k − steps to k + 1 − steps.
            let x = |k: usize| 0.5 * step * (2 * steps - k) as f64;
            *chance += 0.5 * ((-x(k + 1)).exp() - (-x(k)).exp());
        }
        Losses { step, chances }
    }

    fn plus(&self, other: &Losses) -> Losses {
        let mut chances = vec![0.0; self.chances.len() + other.chances.len() - 1];
        for (i, left) in self.chances.iter().enumerate() {
            for (j, right) in other.chances.iter().enumerate() {
                chances[i + j] += left * right;
            }
        }
        Losses { step: self.step, chances }
    }

    /// δ(ε), up to what rounding losses down takes off: never above the truth.
    fn delta(&self, epsilon: f64) -> f64 {
        let at = |(k, chance): (usize, &f64)| {
            let loss = (k as f64 - self.span() as f64) * self.step;
            if loss > epsilon { chance * (1.0 - (epsilon - loss).exp()) } else { 0.0 }
        };
        self.chances.iter().enumerate().map(at).sum()
    }
}

/// δ(ε) of rounds × coordinates whose shifts are given in steps.
fn exact_delta(steps: &[usize], step: f64, epsilon: f64) -> f64 {
    let mut all = Losses { step, chances: vec![1.0] };
    for &steps in steps {
        all = all.plus(&Losses::of_shift(steps, step));
    }
    all.delta(epsilon)
}

#[test]
fn epsilon_is_never_below_that_of_the_exact_privacy_loss() {
    let step = 0.01;
    // Rounds, coordinates, and the shift of each in steps, which may be uneven.
    let cases: [(usize, Vec<usize>); 5] = [
        (1, vec![100]),
        (6, vec![60]),
        (3, vec![30, 30, 30]),
        (3, vec![52, 0, 0]),
        (4, vec![10, 40, 25]),
    ];
    for (rounds, coordinates) in cases {
        let squares: f64 = coordinates.iter().map(|&steps| (steps as f64 * step).powi(2)).sum();
        let all: Vec<usize> = coordinates.repeat(rounds);
        let found = releases(&vec![squares.sqrt(); rounds], coordinates.len());
        for delta in [0.1, 1e-2, 1e-4, 1e-6] {
            let epsilon = found.epsilon(delta);
            let truth = exact_delta(&all, step, epsilon);
            assert!(truth <= delta, "{rounds} {coordinates:?} {delta}: {epsilon} has {truth}");
            // The control: an account of shifts that are a third smaller is found out.
            let short = releases(&vec![squares.sqrt() / 1.5; rounds], coordinates.len());
            let truth = exact_delta(&all, step, short.epsilon(delta));
            let even = coordinates.iter().all(|&steps| steps == coordinates[0]);
            assert!(!even || truth > delta, "{rounds} {coordinates:?} {delta}: {truth}");
        }
    }
}

#[test]
fn few_coordinates_with_large_shifts_cost_clearly_less_than_their_zcdp_says() {
    let share = |shifts: &[f64], dimension: usize| {
        let zcdp = shifts.iter().map(|shift| 0.5 * shift * shift).sum();
        releases(shifts, dimension).epsilon(1e-6) / super::super::epsilon_from_zcdp(zcdp, 1e-6)
    };
    assert!(share(&[0.5; 20], 1) < 0.94);
    assert!(share(&[0.5; 20], 100) > 0.98);
    // A single release of one coordinate costs its shift, whatever δ is.
    let single = releases(&[1.0], 1).epsilon(1e-9);
    assert!((0.99..1.001).contains(&single), "{single}");
}

#[test]
fn a_record_used_again_moves_releases_as_many_times_as_far() {
    let once = releases(&[0.1, 0.2], 5).of_repeated(3).epsilon(1e-6);
    let often = releases(&[0.3, 0.6], 5).epsilon(1e-6);
    assert!((once / often - 1.0).abs() < 1e-8, "{once} {often}");
}

#[test]
fn releases_that_cost_nothing_or_without_end_have_no_nan() {
    assert!(releases(&[], 3).epsilon(1e-6).abs() < 1e-300);
    assert!(releases(&[0.0, 0.0], 3).epsilon(1e-6).abs() < 1e-300);
    assert!(releases(&[f64::INFINITY], 3).epsilon(1e-6).is_infinite());
    for shift in [1e-150, 1e-8, 1e8, 1e150] {
        for delta in [1e-300, 1e-12, 0.5, 1.0 - 1e-16] {
            let found = releases(&[shift], 3).epsilon(delta);
            let pure = cost(shift, 3).pure;
            assert!(
                found >= 0.0 && found <= pure * (1.0 + 1e-6) + 1e-14,
                "{shift} {delta}: {found}"
            );
        }
    }
}
