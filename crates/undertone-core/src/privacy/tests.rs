//! Reference numbers of the project's design notes, and laws that every account must obey.

use super::*;
use crate::method::{Algorithm1, Bound, Method, Shielded};
use crate::noise::NoiseKind;
use crate::{Forgetting, LossConstants, PowerLaw, Round, Schedule};
use proptest::prelude::*;

/// The reference case of the design notes.
pub(super) fn reference(bound: Bound) -> Mechanism {
    reference_of(Method::Algorithm1(Algorithm1 { bound }))
}

/// The same for any method.
pub(super) fn reference_of(method: Method) -> Mechanism {
    Mechanism {
        dimension: 112,
        radius: 1e5,
        constants: LossConstants {
            smoothness: 0.25,
            strong_convexity: 0.0,
            gradient_spread: 2.0,
            gradient_norm: 1.0,
        },
        schedule: Schedule {
            step: PowerLaw::decaying(1.0, 0.77),
            coupling: PowerLaw::decaying(1.0, 0.65),
        },
        weight: 0.6,
        weight_min: 0.6,
        warmup: 0,
        batch: 1,
        memory_error: PowerLaw::ZERO,
        forgetting: Forgetting::Never,
        noise: NoiseLaw { kind: NoiseKind::Laplace, scale: PowerLaw::growing(1.0, 0.11) },
        noise_max: PowerLaw::growing(1.0, 0.11),
        method,
    }
}

fn with(bound: Bound) -> Method {
    Method::Algorithm1(Algorithm1 { bound })
}

fn assert_four_digits(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 5e-4, "found {found}, expected {expected}");
}

#[test]
fn the_numbers_to_hold_are_held() {
    assert_four_digits(planned_cost(&reference(Bound::Theorem5i), 2000).pure, 20_575.0);
    assert_four_digits(planned_cost(&reference(Bound::Theorem5ii), 2000).pure, 412.88);
    let tight = planned_cost(&reference(Bound::Tight), 2000);
    assert_four_digits(tight.pure, 241.75);
    assert_four_digits(tight.zcdp, 7.1535);
    assert_four_digits(epsilon_from_zcdp(tight.zcdp, 1e-6), 25.86);
}

#[test]
fn raw_features_make_the_papers_bound_vacuous() {
    let raw = |rule| {
        let mut mechanism = reference(rule);
        mechanism.constants.smoothness = 5.5;
        mechanism.constants.gradient_spread = 9.38;
        planned_cost(&mechanism, 2000).pure
    };
    assert_four_digits(raw(Bound::Tight), 4650.0);
    assert!(raw(Bound::Theorem5i).log10() > 37.0 && raw(Bound::Theorem5ii).log10() > 37.0);
}

#[test]
fn later_records_pay_less() {
    let mechanism = reference(Bound::Tight);
    let unit = 2.0 * 112f64.sqrt();
    for (arrival, expected) in [(0, 11.42), (1, 7.63), (10, 3.60), (100, 1.36), (1000, 0.193)] {
        let found = record_cost(&mechanism, Round(arrival), 2000).pure / unit;
        assert!((found / expected - 1.0).abs() < 3e-3, "{arrival}: {found} {expected}");
    }
}

#[test]
fn strong_coupling_is_not_mistaken_for_contraction() {
    // Design notes: with γ0 = 10 the true sum is 52.6; without the absolute value, 1 − a_t would
    // give 0.76 (per C√n).
    let mut mechanism = reference(Bound::Tight);
    mechanism.schedule.coupling.initial = 10.0;
    let found = planned_cost(&mechanism, 2000).pure / (2.0 * 112f64.sqrt());
    assert!((found / 52.6 - 1.0).abs() < 2e-3, "{found}");
}

#[test]
fn the_papers_rules_hold_for_a_hub_that_hears_more_than_the_others() {
    // With a_t > 1 at the hub, 1 − w̄γ_t alone would claim too little.
    for rule in [Bound::Theorem5i, Bound::Theorem5ii] {
        let mut hub = reference(rule);
        hub.weight = 2.8;
        hub.weight_min = 0.7;
        let tight = Mechanism { method: with(Bound::Tight), ..hub };
        assert!(planned_cost(&hub, 200).pure >= planned_cost(&tight, 200).pure);
    }
}

#[test]
fn a_memory_error_of_a_few_roundings_keeps_the_certificate() {
    let mut mechanism = reference(Bound::Tight);
    mechanism.memory_error = PowerLaw { initial: 1e-14, exponent: 0.0 };
    let bound = lifetime(&mechanism).unwrap();
    assert!(bound.total.zcdp < 1.001 * lifetime(&reference(Bound::Tight)).unwrap().total.zcdp);
}

#[test]
fn the_account_agrees_with_the_plan_when_everyone_is_heard() {
    let mechanism = reference(Bound::Tight);
    let mut accountant = Accountant::new(mechanism, None);
    for t in 0..=500 {
        accountant.pay().unwrap();
        accountant.advance(&mechanism.planned_terms(Round(t)));
    }
    let plan = planned_cost(&mechanism, 500);
    assert_eq!(accountant.spent().pure.to_bits(), plan.pure.to_bits());
    assert_eq!(accountant.spent().zcdp.to_bits(), plan.zcdp.to_bits());
}

#[test]
fn a_missing_neighbour_costs_more() {
    let mechanism = reference(Bound::Tight);
    let total = |weight_heard: f64| {
        let mut accountant = Accountant::new(mechanism, None);
        for t in 0..=200 {
            accountant.pay().unwrap();
            accountant.advance(&RoundTerms { weight_heard, ..mechanism.planned_terms(Round(t)) });
        }
        accountant.spent().pure
    };
    assert!(total(0.3) > 1.2 * total(0.6));
}

#[test]
fn a_release_over_the_cap_is_refused_and_costs_nothing() {
    let mechanism = reference(Bound::Tight);
    for cap in [Cap::Pure { epsilon: 120.0 }, Cap::Approximate { epsilon: 20.0, delta: 1e-6 }] {
        let mut accountant = Accountant::new(mechanism, Some(cap));
        let refusal = loop {
            match accountant.pay() {
                Ok(_) => accountant.advance(&mechanism.planned_terms(accountant.round())),
                Err(refusal) => break refusal,
            }
        };
        assert!(matches!(refusal, Refusal::BudgetExhausted { .. }));
        let before = accountant.spent();
        assert!(accountant.would_exceed() && accountant.pay().is_err());
        assert_eq!(before, accountant.spent());
        match cap {
            Cap::Pure { epsilon } => assert!(before.pure <= epsilon && before.pure > 0.5 * epsilon),
            Cap::Approximate { epsilon, delta } => {
                let spent = accountant.epsilon(delta);
                assert!(spent <= epsilon && spent > 0.8 * epsilon, "{spent}");
            }
        }
    }
}

#[test]
fn gaussian_noise_has_no_pure_budget_and_the_same_zcdp() {
    let laplace = reference(Bound::Tight);
    let mut gaussian = laplace;
    gaussian.noise.kind = NoiseKind::Gaussian;
    assert!(planned_cost(&gaussian, 10).pure.is_infinite());
    let (left, right) = (planned_cost(&gaussian, 10).zcdp, planned_cost(&laplace, 10).zcdp);
    assert_eq!(left.to_bits(), right.to_bits());
    let bound = lifetime(&gaussian).unwrap().total;
    assert!(bound.pure.is_infinite() && bound.zcdp.is_finite());
}

#[test]
fn the_lifetime_bound_covers_long_runs_and_is_close_to_them() {
    for rule in [Bound::Tight, Bound::Theorem5ii] {
        let mechanism = reference(rule);
        let bound = lifetime(&mechanism).unwrap();
        let long = planned_cost(&mechanism, 1_000_000);
        assert!(bound.total.zcdp >= long.zcdp && bound.total.pure >= long.pure);
        // The zCDP sum converges fast, so the certificate should be nearly tight.
        assert!(bound.total.zcdp <= 1.01 * long.zcdp, "{} {}", bound.total.zcdp, long.zcdp);
    }
}

#[test]
fn there_is_no_certificate_where_nothing_is_proved() {
    let check = |change: &dyn Fn(&mut Mechanism)| {
        let mut mechanism = reference(Bound::Tight);
        change(&mut mechanism);
        lifetime(&mechanism)
    };
    assert!(check(&|_| ()).is_ok());
    assert_eq!(
        check(&|m| m.method = with(Bound::Theorem5i)),
        Err(NoCertificate::FiniteHorizonBound)
    );
    assert_eq!(
        check(&|m| m.constants.strong_convexity = -0.25),
        Err(NoCertificate::NotConvexAndSmooth)
    );
    assert_eq!(
        check(&|m| m.constants.smoothness = f64::INFINITY),
        Err(NoCertificate::NotConvexAndSmooth)
    );
    assert_eq!(check(&|m| m.batch = 0), Err(NoCertificate::NoNewRecords));
    assert_eq!(check(&|m| m.weight = 0.0), Err(NoCertificate::NoContraction));
    let constant_error = check(&|m| m.memory_error = PowerLaw { initial: 0.01, exponent: 0.0 });
    assert!(matches!(constant_error, Err(NoCertificate::Diverges { .. })));
    assert!(check(&|m| m.memory_error = PowerLaw::decaying(0.01, 0.5)).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn certificates_hold_for_random_mechanisms(
        u in 0.5f64..0.95, gap in 0.0f64..0.4, exponent in 0.0f64..0.4, step in 0.05f64..8.0,
        coupling in 0.05f64..3.0, smoothness in 0.01f64..6.0, convexity in 0.0f64..0.01,
        warmup in 0u64..400, batch in 1u64..6, error in 0.0f64..0.01, error_decay in 0.6f64..1.2,
        rule in prop_oneof![Just(Bound::Tight), Just(Bound::Theorem5ii)],
        weight in 0.2f64..4.0, share in 0.1f64..1.0,
    ) {
        let mut mechanism = reference(rule);
        mechanism.weight = weight;
        mechanism.weight_min = share * weight;
        mechanism.schedule.step = PowerLaw::decaying(step, u + gap);
        mechanism.schedule.coupling = PowerLaw::decaying(coupling, u);
        mechanism.constants.smoothness = smoothness;
        mechanism.constants.strong_convexity = convexity.min(smoothness);
        mechanism.noise.scale.exponent = exponent;
        mechanism.warmup = warmup;
        mechanism.batch = batch;
        mechanism.memory_error = PowerLaw::decaying(error, error_decay);
        if let Ok(bound) = lifetime(&mechanism) {
            let run = planned_cost(&mechanism, 300_000);
            prop_assert!(bound.total.zcdp >= run.zcdp);
            prop_assert!(bound.total.pure >= run.pure);
        }
    }

    #[test]
    fn no_run_of_a_shielded_learner_passes_its_certificate(
        error in 0.0f64..0.2, error_decay in 0.6f64..2.0, warmup in 0u64..2000, batch in 1u64..2000,
        interval in 1u64..20, exponent in 0.0f64..0.3, scale in 0.01f64..10.0,
    ) {
        let mut mechanism = reference_of(Method::Shielded(Shielded { interval, ..Shielded::default() }));
        mechanism.radius = 10.0;
        mechanism.memory_error = PowerLaw::decaying(error, error_decay);
        mechanism.noise.scale = PowerLaw::growing(scale, exponent);
        mechanism.warmup = warmup;
        mechanism.batch = batch;
        if let Ok(bound) = lifetime(&mechanism) {
            for rounds in [1, 2, 3, 10, 100, 3000] {
                let run = planned_cost(&mechanism, rounds);
                prop_assert!(bound.total.zcdp >= run.zcdp, "{rounds}: {bound:?} {run:?}");
                prop_assert!(bound.total.pure >= run.pure);
            }
        }
    }

    #[test]
    fn calibration_meets_its_target_and_never_passes_it(
        epsilon in 0.05f64..20.0, log_delta in -25.0f64..-5.0, exponent in 0.0f64..0.3,
    ) {
        let mut mechanism = reference(Bound::Tight);
        mechanism.radius = 10.0;
        mechanism.noise.scale.exponent = exponent;
        let delta = log_delta.exp();
        let target = Cap::Approximate { epsilon, delta };
        mechanism.noise.scale.initial = calibrate_scale(&mechanism, target, Horizon::Lifetime).unwrap();
        let found = epsilon_from_zcdp(lifetime(&mechanism).unwrap().total.zcdp, delta);
        prop_assert!(found <= epsilon && found > epsilon * (1.0 - 1e-6));
        let target = Cap::Pure { epsilon };
        mechanism.noise.scale.initial =
            calibrate_scale(&mechanism, target, Horizon::Rounds(300)).unwrap();
        let found = planned_cost(&mechanism, 300).pure;
        prop_assert!(found <= epsilon && found > epsilon * (1.0 - 1e-6));
    }

    #[test]
    fn no_round_that_was_calibrated_for_is_refused(
        epsilon in 0.05f64..20.0, log_delta in -25.0f64..-5.0, rounds in 1u64..200, gaussian: bool,
    ) {
        let mut mechanism = reference_of(Method::Shielded(Shielded::default()));
        mechanism.warmup = 100;
        if gaussian {
            mechanism.noise.kind = NoiseKind::Gaussian;
        }
        let cap = Cap::Approximate { epsilon, delta: log_delta.exp() };
        mechanism.noise.scale.initial =
            calibrate_scale(&mechanism, cap, Horizon::Rounds(rounds)).unwrap();
        let mut account = Accountant::new(mechanism, Some(cap));
        for t in 0..=rounds {
            prop_assert!(account.pay().is_ok(), "round {t} of {rounds}");
            account.advance(&mechanism.planned_terms(Round(t)));
        }
        prop_assert!(account.pay().is_err(), "the control: no more than was asked for");
    }

    #[test]
    fn spending_never_shrinks_and_a_smaller_record_share_costs_less(extra in 1u64..1000) {
        let small = planned_cost(&reference(Bound::Tight), 100);
        let mut mechanism = reference(Bound::Tight);
        mechanism.warmup = extra;
        let with_warmup = planned_cost(&mechanism, 100);
        prop_assert!(with_warmup.zcdp < small.zcdp);
        prop_assert!(planned_cost(&reference(Bound::Tight), 100 + extra).pure >= small.pure);
    }
}
