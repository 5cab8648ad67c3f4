//! The conversion beside numbers computed with 80 digits (`scripts/gaussian_tails.py`).

use super::*;
use proptest::prelude::*;

/// One row of the table. Numbers of 60 digits are read as the f64 next to them.
struct Row {
    mu: f64,
    delta: f64,
    epsilon: f64,
    delta_at_half: f64,
}

fn table() -> Vec<Row> {
    let text = include_str!("../../../tests/data/gaussian_tails.csv");
    let rows = text.lines().skip(1).map(|line| {
        let numbers: Vec<f64> = line.split(',').map(|number| number.parse().unwrap()).collect();
        let [mu, delta, epsilon, delta_at_half] = numbers[..] else {
            panic!("four columns: {line}")
        };
        Row { mu, delta, epsilon, delta_at_half }
    });
    rows.collect()
}

/// Half a place of an f64: what reading a number of 60 digits loses.
const READING: f64 = f64::EPSILON;

#[test]
fn epsilon_is_the_exact_one_rounded_up() {
    let rows = table();
    assert_eq!(rows.len(), 204);
    for Row { mu, delta, epsilon, .. } in rows {
        let found = epsilon_from_gdp(mu, delta);
        assert!(found >= epsilon * (1.0 - READING), "{mu} {delta}: {found} is below {epsilon}");
        assert!(
            found <= epsilon * (1.0 + 1e-12) + 1e-18,
            "{mu} {delta}: {found} is above {epsilon}"
        );
    }
}

#[test]
fn tails_of_delta_are_right_to_twelve_digits_and_never_below() {
    for Row { mu, epsilon, delta_at_half, .. } in table() {
        // The table has δ at the f64 next to half of ε.
        let bound = delta_bound(0.5 * epsilon, mu);
        assert!(
            bound >= delta_at_half * (1.0 - READING),
            "{mu} {epsilon}: {bound} {delta_at_half}"
        );
        // Where μ is large, ε/μ − μ/2 loses digits, and ε none: what counts is the test above.
        if mu <= 40.0 {
            let most = delta_at_half * (1.0 + 1e-12);
            assert!(bound <= most, "{mu} {epsilon}: {bound} {delta_at_half}");
        }
    }
}

#[test]
fn the_control_of_the_naive_formula_loses_digits() {
    // With Φ from 1 − Φ in f64, as a naive program has it, the tail at δ = 10⁻¹² keeps four digits at most.
    let row = table()
        .into_iter()
        .find(|row| row.mu > 0.29 && row.mu < 0.31 && row.delta < 2e-12)
        .unwrap();
    let naive = |x: f64| 1.0 - (1.0 - delta_bound_of_tail(x));
    let (x, y) = (row.epsilon / row.mu - row.mu / 2.0, row.epsilon / row.mu + row.mu / 2.0);
    let found = naive(x) - row.epsilon.exp() * naive(y);
    assert!((found / row.delta - 1.0).abs() > 1e-6, "{found}");
}

/// 1 − Φ(x).
fn delta_bound_of_tail(x: f64) -> f64 {
    let x = Bracket::exactly(x);
    let density = DENSITY_AT_ZERO.times(x.square().times(Bracket::exactly(0.5)).exp_of_minus());
    density.times(mills_of(x)).high
}

#[test]
fn noise_needed_falls_as_the_exact_account_promises() {
    // Shares of today's standard deviation that the exact price needs, at the same (ε, δ).
    for (epsilon, delta, share) in [
        (1.0, 1e-5, 0.922),
        (2.0, 1e-5, 0.928),
        (8.0, 1e-5, 0.941),
        (1.0, 1e-6, 0.932),
        (2.0, 1e-6, 0.936),
        (8.0, 1e-6, 0.947),
    ] {
        let [by_order, exact] =
            [crate::noise::NoiseKind::Laplace, crate::noise::NoiseKind::Gaussian]
                .map(|noise| crate::privacy::zcdp_from_epsilon(noise, epsilon, delta).sqrt());
        assert!((by_order / exact - share).abs() < 6e-4, "{epsilon} {delta}: {}", by_order / exact);
    }
}

#[test]
fn ends_of_the_range_give_no_nan() {
    assert!(epsilon_from_gdp(f64::INFINITY, 1e-6).is_infinite());
    assert!(epsilon_from_gdp(1e200, 1e-6).is_infinite());
    assert!(epsilon_from_gdp(0.0, 1e-6).abs() < 1e-300);
    for mu in [1e-300, 1e-160, 1e-20, 1e20, 1e150] {
        for delta in [1e-300, 1e-12, 0.5, 1.0 - 1e-16] {
            let epsilon = epsilon_from_gdp(mu, delta);
            assert!(epsilon >= 0.0, "{mu} {delta}: {epsilon}");
            assert!(
                epsilon <= (0.5 * mu * mu + mu * 38.0) * (1.0 + 1e-11),
                "{mu} {delta}: {epsilon}"
            );
        }
    }
}

proptest! {
    #[test]
    fn more_loss_costs_more(log_mu in -12.0f64..6.0, log_delta in -40.0f64..-0.01) {
        let (mu, delta) = (log_mu.exp(), log_delta.exp());
        let [less, more] = [mu, mu * (1.0 + 1e-9)].map(|mu| epsilon_from_gdp(mu, delta));
        prop_assert!(less <= more * (1.0 + 2e-14), "{less} {more}");
    }

    #[test]
    fn both_ways_to_the_difference_agree(epsilon in 0.0f64..4.0, beyond in 0.0f64..1e-6) {
        // μ = 1 is where the series gives way to the difference of two ratios.
        let [series, ratios] = [1.0, 1.0 + 1e-12 + beyond * 1e-6].map(|mu| delta_bound(epsilon, mu));
        prop_assert!((series / ratios - 1.0).abs() < 1e-10, "{series} {ratios}");
    }
}
