//! The planner keeps its promises: targets, conditions, records; and its model obeys simple laws.

use super::estimate::{blocks, estimated_cost};
use super::*;
use crate::agreement::tests::{checked, good};
use crate::agreement::{Agreement, OneOrEach, RawAgreement};
use crate::method::{Algorithm1, Bound, Method};
use crate::noise::NoiseKind;
use crate::privacy::{Cap, NoCertificate, lifetime, planned_cost};
use proptest::prelude::*;

fn raw() -> RawAgreement {
    let mut raw = good();
    raw.name = None;
    raw.records.warmup = Some(100);
    raw.model.ridge = Some(0.001);
    raw.parameters.radius = Some(20.0);
    raw.schedule.step = Some(0.1);
    raw.schedule.coupling = Some(0.1);
    raw.noise.exponent = Some(OneOrEach::One(0.1));
    raw.noise.scale = None;
    raw.noise.calibrate = Some("lifetime".into());
    raw.privacy.epsilon = Some(OneOrEach::One(8.0));
    raw
}

fn config(change: impl FnOnce(&mut RawAgreement)) -> Agreement {
    let mut raw = raw();
    change(&mut raw);
    checked(&raw).unwrap()
}

/// Data split by class.
const OUTLOOK: Outlook = Outlook { rounds: 400, heterogeneity: 1.0 };

fn goal(config: &Agreement, horizon: Horizon) -> Goal {
    let records = config.records.taken_after(OUTLOOK.rounds);
    Goal { outlook: OUTLOOK, horizon, memory_error: PowerLaw::ZERO, records, warmup_max: records }
}

#[test]
fn tuning_twice_gives_the_same_plan() {
    let start = config(|_| ());
    let goal = goal(&start, Horizon::Rounds(400));
    let (first, second) = (tune(&start, &goal).unwrap(), tune(&start, &goal).unwrap());
    assert_eq!(first.agreement, second.agreement);
    assert_eq!(first.scales, second.scales);
    assert_eq!(first.forecast, second.forecast);
    assert_eq!(first.compared, second.compared);
}

#[test]
fn a_tuned_plan_keeps_target_conditions_and_records_and_predicts_no_worse() {
    let changes: [fn(&mut RawAgreement); 6] = [
        |_| (),
        // The first once more, for data that are alike.
        |_| (),
        |raw| raw.noise.kind = Some("gaussian".into()),
        |raw| {
            raw.model.ridge = Some(0.0);
            raw.schedule.step_exponent = Some(0.9);
        },
        |raw| {
            raw.network.topology = Some("star".into());
            raw.network.weight = Some(0.15);
            raw.privacy.epsilon = Some(OneOrEach::Each(vec![1.0, 2.0, 4.0, 8.0, 16.0]));
            raw.noise.exponent = Some(OneOrEach::Each(vec![0.1, 0.11, 0.12, 0.13, 0.14]));
        },
        |raw| {
            raw.privacy.epsilon = None;
            raw.privacy.pure_epsilon = Some(OneOrEach::One(50.0));
        },
    ];
    for (case, change) in changes.into_iter().enumerate() {
        let start = config(change);
        for horizon in [Horizon::Rounds(OUTLOOK.rounds), Horizon::Lifetime] {
            let mut goal = goal(&start, horizon);
            goal.outlook.heterogeneity = if case == 1 { 0.0 } else { 1.0 };
            goal.records += 37;
            let tuned = tune(&start, &goal).unwrap();
            let found = &tuned.agreement;
            assert!(found.broken_conditions().is_empty(), "case {case}: {found:?}");
            assert!(found.records.taken_after(OUTLOOK.rounds) <= goal.records);
            assert_eq!(found.caps, start.caps);
            // A start without a certificate has no prediction to beat.
            let before = tuned.before.map_or(f64::INFINITY, |before| before.objective);
            assert!(tuned.forecast.objective <= before, "case {case}");
            let mechanisms = found.mechanisms(PowerLaw::ZERO, &tuned.scales);
            for (id, mechanism) in found.graph.ids().zip(&mechanisms) {
                let cost = match horizon {
                    Horizon::Lifetime => lifetime(mechanism).unwrap().total,
                    Horizon::Rounds(rounds) => planned_cost(mechanism, rounds),
                };
                let (spent, target) = match found.caps[id.0 as usize].unwrap() {
                    Cap::Pure { epsilon } => (cost.pure, epsilon),
                    Cap::Approximate { epsilon, delta } => {
                        (cost.epsilon(mechanism.noise.kind, delta), epsilon)
                    }
                };
                assert!(spent <= target && spent >= target * (1.0 - 1e-6), "{spent} {target}");
            }
        }
    }
}

#[test]
fn a_bad_start_is_left_far_behind() {
    let start = config(|raw| raw.records.warmup = Some(0));
    let mut goal = goal(&start, Horizon::Lifetime);
    goal.records = 700;
    let tuned = tune(&start, &goal).unwrap();
    assert!(tuned.forecast.objective < 0.6 * tuned.before.unwrap().objective);
    assert!(tuned.agreement.records.warmup > 200, "noise is cheaper with records collected first");
}

#[test]
fn conditions_bind_only_where_the_config_says_so() {
    let start = config(|raw| {
        raw.network.weight = Some(0.3);
        raw.unproven = Some(true);
    });
    let tuned = tune(&start, &goal(&start, Horizon::Rounds(400))).unwrap();
    let bound = config(|_| ());
    let kept = tune(&bound, &goal(&bound, Horizon::Rounds(400))).unwrap();
    assert!(tuned.agreement.broken_conditions().len() > 1, "freedom is used");
    assert!(tuned.forecast.objective < kept.forecast.objective);
}

#[test]
fn what_cannot_be_met_is_refused_with_the_reason() {
    let start = config(|_| ());
    let too_few = Goal { records: 399, ..goal(&start, Horizon::Lifetime) };
    let refused = tune(&start, &too_few).unwrap_err();
    assert_eq!(refused, PlannerError::TooFewRecords { records: 399, rounds: 400 });
    let no_target = config(|raw| {
        raw.privacy.epsilon = None;
        raw.noise.calibrate = None;
        raw.noise.scale = Some(OneOrEach::One(1.0));
    });
    let goal_of = goal(&no_target, Horizon::Lifetime);
    let nobody = PlannerError::NoTarget { learner: LearnerId(0) };
    assert_eq!(calibrate(&no_target, goal_of.memory_error, goal_of.horizon).unwrap_err(), nobody);
    assert_eq!(tune(&no_target, &goal_of).unwrap_err(), nobody);
    let mut finite_only = config(|_| ());
    finite_only.method = Method::Algorithm1(Algorithm1 { bound: Bound::Theorem5i });
    let reason = NoCertificate::FiniteHorizonBound;
    let refused = PlannerError::NoCertificate { learner: LearnerId(0), reason };
    assert_eq!(calibrate(&finite_only, PowerLaw::ZERO, Horizon::Lifetime).unwrap_err(), refused);
    assert!(calibrate(&finite_only, PowerLaw::ZERO, Horizon::Rounds(50)).is_ok());
}

#[test]
fn more_noise_and_more_different_data_are_predicted_to_hurt() {
    let start = config(|raw| raw.schedule.step = Some(4.0));
    let at = |config: &Agreement, scale: f64, outlook: &Outlook| {
        predict(config, &[scale; 5], outlook).objective
    };
    assert!(at(&start, 0.1, &OUTLOOK) < at(&start, 0.2, &OUTLOOK));
    assert!(at(&start, 0.2, &OUTLOOK) < at(&start, 2.0, &OUTLOOK));
    let alike = Outlook { heterogeneity: 0.0, ..OUTLOOK };
    assert!(at(&start, 0.1, &alike) < at(&start, 0.1, &OUTLOOK));
    let mut still = start.clone();
    still.schedule.step.initial = 1e-9;
    let moves = at(&start, 1e-6, &alike) < at(&still, 1e-6, &alike);
    assert!(moves, "steps help where there is no noise");
}

#[test]
fn the_curve_starts_at_zero_ends_with_the_run_and_stays_finite() {
    for rounds in [1, 2, 3, 129, 100_000] {
        let mut wild = config(|_| ());
        wild.schedule.step.initial = 1e6;
        wild.schedule.coupling.initial = 1e6;
        let forecast = predict(&wild, &[1e9; 5], &Outlook { rounds, ..OUTLOOK });
        assert_eq!(forecast.points[0].round, 0);
        assert_eq!(forecast.points.last().unwrap().round, rounds - 1);
        assert!(forecast.points.windows(2).all(|pair| pair[0].round < pair[1].round));
        assert!(forecast.objective.is_finite());
        assert!(forecast.points.iter().all(|point| point.tracking_error <= 8.0 * 400.0 * 1.001));
    }
}

/// The shielded method with a gradient in every so many rounds.
fn shielded(interval: u64) -> Agreement {
    config(|raw| {
        raw.method = Some("shielded".into());
        raw.schedule.interval = Some(interval);
        raw.schedule.step_exponent = Some(0.0);
        raw.schedule.coupling_exponent = Some(0.0);
        raw.noise.kind = Some("gaussian".into());
        raw.noise.exponent = Some(OneOrEach::One(0.0));
    })
}

/// What the search must never choose: 24 rounds between gradients in a run of 20 learn nothing, at an ε of 0.
#[test]
fn a_tuned_plan_releases_a_gradient_within_its_rounds_and_spends_its_budget() {
    for rounds in [1, 2, 5, 20, 100] {
        for (interval, horizon) in [
            (1, Horizon::Rounds(rounds)),
            (24, Horizon::Rounds(rounds)),
            (1, Horizon::Lifetime),
            (24, Horizon::Lifetime),
            (128, Horizon::Lifetime),
        ] {
            let start = shielded(interval);
            let outlook = Outlook { rounds, heterogeneity: 1.0 };
            let records = 100 + rounds;
            let goal =
                Goal { outlook, horizon, memory_error: PowerLaw::ZERO, records, warmup_max: 100 };
            let tuned = tune(&start, &goal).unwrap();
            let found = tuned.agreement.method.describe().interval.unwrap();
            assert!(
                found < rounds.max(2),
                "{found} in {rounds} rounds from {interval}, {horizon:?}"
            );
            for mechanism in tuned.agreement.mechanisms(PowerLaw::ZERO, &tuned.scales) {
                // The releases of a run of these rounds, and those that the account counts.
                for last in [(rounds - 1).max(1), rounds] {
                    assert!(planned_cost(&mechanism, last).zcdp > 0.0);
                }
                let spent = planned_cost(&mechanism, rounds).epsilon(NoiseKind::Gaussian, 1e-6);
                let finite = matches!(horizon, Horizon::Rounds(_));
                assert!(spent > 0.0 && (!finite || spent > 8.0 * (1.0 - 1e-6)), "{spent}");
            }
        }
    }
}

#[test]
fn control_a_plan_that_releases_no_gradient_is_predicted_to_be_better_than_any_that_does() {
    // Its noise, calibrated for ever, is the least of all, and the model spreads a step over the rounds between two:
    // nothing but the rule keeps the search from it.
    let outlook = Outlook { rounds: 20, heterogeneity: 1.0 };
    let (horizon, memory_error) = (Horizon::Lifetime, PowerLaw::ZERO);
    let goal = Goal { outlook, horizon, memory_error, records: 120, warmup_max: 100 };
    let mut start = shielded(1);
    start.caps.fill(Some(Cap::Approximate { epsilon: 1.0, delta: 1e-6 }));
    let best = tune(&start, &goal).unwrap();
    let every = best.agreement.method.describe().interval.unwrap();
    let idle = [24, 32, 64, 128].map(|interval| {
        let mut idle = best.agreement.clone();
        idle.method = idle.method.with_interval(interval);
        #[expect(clippy::cast_precision_loss, reason = "small whole numbers")]
        let longer = interval as f64 / every as f64;
        // The same mean step a round.
        idle.schedule.step.initial *= longer;
        let scales = calibrate(&idle, memory_error, horizon).unwrap();
        let mechanism = idle.mechanisms(memory_error, &scales)[0];
        assert!(planned_cost(&mechanism, 20).zcdp <= 0.0, "it spends nothing");
        predict(&idle, &scales, &outlook).objective
    });
    let least = idle.into_iter().fold(f64::INFINITY, f64::min);
    assert!(least < best.forecast.objective, "{idle:?} {:?}", best.forecast);
}

#[test]
fn a_horizon_without_a_gradient_is_refused_with_the_longest_interval_that_has_one() {
    let horizon = Horizon::Rounds(20);
    let refused = PlannerError::NothingReleased { interval: 24, rounds: 20 };
    assert_eq!(calibrate(&shielded(24), PowerLaw::ZERO, horizon).unwrap_err(), refused);
    assert!(refused.to_string().contains("use at most 19"), "{refused}");
    assert!(calibrate(&shielded(20), PowerLaw::ZERO, horizon).is_ok());
    // For ever there is a cost, and a scale that meets the target.
    assert!(calibrate(&shielded(24), PowerLaw::ZERO, Horizon::Lifetime).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn blocks_cover_every_round_once(last in 0u64..1_000_000, fineness in 1u64..200) {
        let mut next = 0;
        for (first, length) in blocks(last, fineness) {
            prop_assert_eq!(first, next);
            next = first + length;
        }
        prop_assert_eq!(next, last + 1);
    }

    #[test]
    fn estimates_are_near_the_account(
        step in 0.01f64..8.0, coupling in 0.05f64..3.0, u in 0.51f64..0.8, gap in 0.01f64..0.19,
        warmup in 0u64..500, rounds in 2u64..3000,
    ) {
        let mut config = config(|_| ());
        config.schedule.step = PowerLaw::decaying(step, u + gap);
        config.schedule.coupling = PowerLaw::decaying(coupling, u);
        config.records.warmup = warmup;
        let mechanism = config.mechanisms(PowerLaw::ZERO, &[1.0; 5])[0];
        let exact = planned_cost(&mechanism, rounds);
        let estimate = estimated_cost(&mechanism, Horizon::Rounds(rounds));
        prop_assert!((estimate.zcdp / exact.zcdp - 1.0).abs() < 0.03, "{estimate:?} {exact:?}");
        prop_assert!((estimate.pure / exact.pure - 1.0).abs() < 0.03, "{estimate:?} {exact:?}");
    }
}
