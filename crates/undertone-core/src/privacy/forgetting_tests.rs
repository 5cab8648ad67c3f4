//! Accounts of memories that forget, compared with a second implementation without short cuts.

use super::tests::reference;
use super::*;
use crate::method::{Algorithm1, Bound, Method, Shielded};
use crate::noise::NoiseKind;
use crate::{Forgetting, LearnerId, PowerLaw, Round};
use proptest::prelude::*;

/// The reference case with constant steps and coupling, strongly convex, and a memory that forgets.
fn constant(forgetting: Forgetting) -> Mechanism {
    let mut mechanism = reference(Bound::Tight);
    mechanism.radius = 10.0;
    mechanism.schedule.step = PowerLaw { initial: 0.5, exponent: 0.0 };
    mechanism.schedule.coupling = PowerLaw { initial: 0.2, exponent: 0.0 };
    mechanism.noise.scale.exponent = 0.0;
    mechanism.noise_max.exponent = 0.0;
    mechanism.forgetting = forgetting;
    mechanism
}

/// What happened in a round: records that arrived, weight heard.
type Happened = (u64, f64);

/// Sensitivities and costs by definition: every record on its own, every weight from all counts.
struct ByDefinition {
    /// The largest pure ε and zCDP of any record, and whose zCDP it is.
    pure: f64,
    zcdp: f64,
    worst: u64,
    /// The largest sensitivity at the last release.
    sensitivity: f64,
}

fn raw_weight(forgetting: Forgetting, age: usize) -> f64 {
    match forgetting {
        Forgetting::Never => 1.0,
        Forgetting::Window { rounds } => f64::from(u8::from((age as u64) < rounds)),
        Forgetting::Decaying { rounds: Some(rounds), .. } if age as u64 >= rounds => 0.0,
        Forgetting::Decaying { factor, .. } => factor.powf(age as f64),
    }
}

fn by_definition(mechanism: &Mechanism, story: &[Happened]) -> ByDefinition {
    let weight = |k: usize, t: usize| {
        let raw = |j: usize| raw_weight(mechanism.forgetting, t - j);
        let total: f64 = (0..=t).map(|j| story[j].0 as f64 * raw(j)).sum();
        (total > 0.0).then(|| raw(k) / total)
    };
    let mut found = ByDefinition { pure: 0.0, zcdp: 0.0, worst: 0, sensitivity: 0.0 };
    for k in (0..story.len()).filter(|&k| story[k].0 > 0) {
        let (mut distance, mut pure, mut zcdp) = (0.0, 0.0, 0.0);
        for (t, &(_, weight_heard)) in story.iter().enumerate().skip(k) {
            let at = Round(t as u64);
            let (step, coupling) =
                (mechanism.schedule.step.at(at), mechanism.schedule.coupling.at(at));
            let heard = coupling * weight_heard;
            let constants = &mechanism.constants;
            let mut contraction = f64::max(
                (1.0 - heard - step * constants.smoothness).abs(),
                (1.0 - heard - step * constants.strong_convexity).abs(),
            );
            if weight(k, t).is_none() {
                contraction = contraction.max((1.0 - heard).abs());
            }
            let drive = step * constants.gradient_spread * weight(k, t).unwrap_or(0.0);
            distance = contraction * distance + drive + 2.0 * step * mechanism.memory_error.at(at);
            let release = at.next();
            let ratio = (distance + mechanism.machine_sensitivity(release))
                / mechanism.noise.scale.at(release);
            pure += (mechanism.dimension as f64).sqrt() * ratio;
            zcdp += 0.5 * ratio * ratio;
        }
        found.pure = found.pure.max(pure);
        found.sensitivity = found.sensitivity.max(distance);
        if zcdp > found.zcdp * (1.0 + 1e-12) {
            (found.zcdp, found.worst) = (zcdp, k as u64);
        }
    }
    found
}

/// The account after the release that follows the story.
fn account(mechanism: &Mechanism, story: &[Happened]) -> Accountant {
    let mut accountant = Accountant::new(*mechanism, None);
    let mut records = 0;
    accountant.pay().unwrap();
    for (t, &(arrived, weight_heard)) in story.iter().enumerate() {
        records += arrived;
        accountant.advance(&RoundTerms { round: Round(t as u64), weight_heard, records });
        accountant.pay().unwrap();
    }
    accountant
}

fn planned_story(mechanism: &Mechanism, rounds: u64) -> Vec<Happened> {
    let first = mechanism.warmup + mechanism.batch;
    let arrived = |t| if t == 0 { first } else { mechanism.batch };
    (0..rounds).map(|t| (arrived(t), mechanism.weight)).collect()
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * right.abs() + 1e-300
}

fn kinds() -> impl Strategy<Value = Forgetting> {
    prop_oneof![
        (1u64..30).prop_map(|rounds| Forgetting::Window { rounds }),
        (0.3f64..0.99).prop_map(|factor| Forgetting::Decaying { factor, rounds: None }),
        (0.3f64..0.99, 1u64..30)
            .prop_map(|(factor, rounds)| Forgetting::Decaying { factor, rounds: Some(rounds) }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_account_agrees_with_one_that_follows_every_record_by_definition(
        forgetting in kinds(),
        story in prop::collection::vec((0u64..4, prop_oneof![Just(0.0), Just(0.3), Just(0.6)]), 1..90),
        (step, step_exponent) in (0.05f64..3.0, 0.0f64..0.5),
        (coupling, coupling_exponent) in (0.05f64..2.0, 0.0f64..0.5),
        (smoothness, convexity) in (0.01f64..3.0, 0.0f64..0.01),
        error in prop_oneof![Just(0.0), 0.0f64..0.01],
        growth in 0.0f64..0.3,
    ) {
        let mut mechanism = constant(forgetting);
        mechanism.schedule.step = PowerLaw::decaying(step, step_exponent);
        mechanism.schedule.coupling = PowerLaw::decaying(coupling, coupling_exponent);
        mechanism.constants.smoothness = smoothness;
        mechanism.constants.strong_convexity = convexity.min(smoothness);
        mechanism.memory_error = PowerLaw::decaying(error, 0.3);
        mechanism.noise.scale.exponent = growth;
        let expected = by_definition(&mechanism, &story);
        let accountant = account(&mechanism, &story);
        let spent = accountant.spent();
        prop_assert!(close(spent.zcdp, expected.zcdp), "{} {}", spent.zcdp, expected.zcdp);
        prop_assert!(close(spent.pure, expected.pure), "{} {}", spent.pure, expected.pure);
        prop_assert!(close(accountant.sensitivity(), expected.sensitivity));
    }

    #[test]
    fn the_plan_agrees_with_the_account_and_with_the_worst_single_record(
        forgetting in kinds(), warmup in 0u64..60, batch in 1u64..4, rounds in 2u64..80,
        coupling_exponent in 0.0f64..0.6,
    ) {
        let mut mechanism = constant(forgetting);
        mechanism.warmup = warmup;
        mechanism.batch = batch;
        mechanism.schedule.coupling.exponent = -coupling_exponent;
        let plan = planned_cost(&mechanism, rounds);
        let story = planned_story(&mechanism, rounds);
        let running = account(&mechanism, &story).spent();
        prop_assert_eq!(plan.zcdp.to_bits(), running.zcdp.to_bits());
        prop_assert_eq!(plan.pure.to_bits(), running.pure.to_bits());
        let expected = by_definition(&mechanism, &story);
        prop_assert!(close(plan.zcdp, expected.zcdp) && close(plan.pure, expected.pure));
        let worst = record_cost(&mechanism, worst_record(&mechanism, rounds), rounds);
        prop_assert!(close(worst.zcdp, plan.zcdp), "{} {}", worst.zcdp, plan.zcdp);
        let single = (0..rounds).map(|k| record_cost(&mechanism, Round(k), rounds).zcdp);
        prop_assert!(close(single.fold(0.0, f64::max), plan.zcdp));
    }

    #[test]
    fn certificates_hold_and_are_close_for_random_mechanisms(
        forgetting in kinds(), warmup in 0u64..200, batch in 1u64..4, growth in prop_oneof![Just(0.0), 0.0f64..0.4],
        step in 0.05f64..2.0, coupling in 0.1f64..1.0, smoothness in 0.01f64..1.0,
        convexity in -0.2f64..0.01, laplace in any::<bool>(), error in prop_oneof![Just(0.0), Just(1e-14)],
        bound in prop_oneof![Just(Bound::Tight), Just(Bound::Theorem5ii)],
    ) {
        let mut mechanism = constant(forgetting);
        mechanism.method = Method::Algorithm1(Algorithm1 { bound });
        mechanism.warmup = warmup;
        mechanism.batch = batch;
        mechanism.schedule.step.initial = step;
        mechanism.schedule.coupling.initial = coupling;
        mechanism.constants.smoothness = smoothness;
        mechanism.constants.strong_convexity = convexity.max(-smoothness);
        mechanism.memory_error.initial = error;
        mechanism.noise.scale.exponent = growth;
        mechanism.noise.kind = if laplace { NoiseKind::Laplace } else { NoiseKind::Gaussian };
        if let Ok(bound) = lifetime(&mechanism) {
            let run = planned_cost(&mechanism, 4000);
            prop_assert!(bound.total.zcdp >= run.zcdp && bound.total.pure >= run.pure);
            // Growing noise is taken at its least, and a warm-up that wears off as worn off.
            let slack = if growth > 0.0 { 1.05 } else { 1.0 + 1e-4 };
            // Where records are forgotten slowly the run is too short to be near.
            let terms = mechanism.planned_terms(Round::ZERO);
            let short = mechanism.step_effect(&terms).contraction > 0.99;
            prop_assert!(
                short || bound.total.zcdp <= slack * run.zcdp,
                "{} {}", bound.total.zcdp, run.zcdp
            );
        }
    }
}

#[test]
fn a_window_longer_than_the_run_is_a_full_history() {
    let full = Mechanism { forgetting: Forgetting::Never, ..constant(Forgetting::Never) };
    let long = constant(Forgetting::Window { rounds: 10_000 });
    let (left, right) = (planned_cost(&full, 300), planned_cost(&long, 300));
    assert!(close(left.pure, right.pure) && close(left.zcdp, right.zcdp));
    assert_eq!(worst_record(&long, 300), Round::ZERO);
}

#[test]
fn an_account_that_assumed_the_first_record_would_claim_too_little() {
    // The control for "found, not assumed". Twice a later record is the worst: behind a warm-up that
    // shares its weight, and when the coupling fades, so that later records are forgotten more slowly.
    let mut warm = constant(Forgetting::Window { rounds: 20 });
    warm.warmup = 500;
    let mut fading = constant(Forgetting::Window { rounds: 20 });
    fading.warmup = 19;
    fading.schedule.coupling.exponent = -0.7;
    // A run long enough for the records in its middle to be forgotten before it ends.
    for (mechanism, rounds) in [(warm, 400), (fading, 400)] {
        let arrival = worst_record(&mechanism, rounds);
        let found = record_cost(&mechanism, arrival, rounds);
        let first = record_cost(&mechanism, Round::ZERO, rounds);
        assert!(arrival > Round::ZERO, "{arrival:?}");
        assert!(found.zcdp > 1.2 * first.zcdp, "{} {}", found.zcdp, first.zcdp);
        assert!(planned_cost(&mechanism, rounds).zcdp > 1.2 * first.zcdp);
        let expected = by_definition(&mechanism, &planned_story(&mechanism, rounds));
        let worst = record_cost(&mechanism, Round(expected.worst), rounds).zcdp;
        assert!(close(worst, found.zcdp));
    }
    let steady = constant(Forgetting::Window { rounds: 20 });
    assert_eq!(worst_record(&steady, 400), Round::ZERO, "few records weigh most at first");
}

#[test]
fn a_learner_calibrated_for_life_is_never_refused() {
    for forgetting in [
        Forgetting::Window { rounds: 7 },
        Forgetting::Decaying { factor: 0.9, rounds: None },
        Forgetting::Decaying { factor: 0.8, rounds: Some(31) },
    ] {
        let mut mechanism = constant(forgetting);
        let cap = Cap::Approximate { epsilon: 1.0, delta: 1e-6 };
        let scale = calibrate_scale(&mechanism, cap, Horizon::Lifetime).unwrap();
        mechanism.noise.scale.initial = scale;
        let mut accountant = Accountant::new(mechanism, Some(cap));
        for t in 0..8_000 {
            accountant.pay().unwrap();
            accountant.advance(&mechanism.planned_terms(Round(t)));
        }
        let spent = accountant.epsilon(1e-6);
        assert!(spent > 1.0 - 1e-5, "{forgetting:?}: {spent}");
        // And with a little less noise it is: the calibration is sharp.
        mechanism.noise.scale.initial *= 0.999;
        let mut accountant = Accountant::new(mechanism, Some(cap));
        let refused = (0..8_000).any(|t| {
            let refused = accountant.pay().is_err();
            accountant.advance(&mechanism.planned_terms(Round(t)));
            refused
        });
        assert!(refused, "{forgetting:?}");
    }
}

#[test]
fn a_shielded_record_pays_for_its_weight_in_every_gradient_that_is_released() {
    for (forgetting, interval) in [
        (Forgetting::Window { rounds: 7 }, 1),
        (Forgetting::Window { rounds: 7 }, 3),
        (Forgetting::Decaying { factor: 0.8, rounds: None }, 2),
    ] {
        let mut mechanism = constant(forgetting);
        mechanism.method = Method::Shielded(Shielded { interval, ..Shielded::default() });
        mechanism.warmup = 40;
        let rounds = 600;
        let story = planned_story(&mechanism, rounds);
        let weight = |k: u64, t: u64| {
            let raw = |j: u64| raw_weight(forgetting, (t - j) as usize);
            raw(k) / (0..=t).map(|j| story[j as usize].0 as f64 * raw(j)).sum::<f64>()
        };
        let paid = |k: u64| -> f64 {
            let released = (k + 1..=rounds).filter(|t| t % interval == 0);
            let ratio = |t: u64| {
                let moved = mechanism.constants.gradient_spread * weight(k, t - 1);
                (moved + mechanism.machine_sensitivity(Round(t)))
                    / mechanism.noise.scale.at(Round(t))
            };
            released.map(|t| 0.5 * ratio(t).powi(2)).sum()
        };
        let expected = (0..rounds).map(paid).fold(0.0, f64::max);
        let found = planned_cost(&mechanism, rounds).zcdp;
        assert!(
            (found / expected - 1.0).abs() < 1e-8,
            "{forgetting:?} {interval}: {found} {expected}"
        );
        assert!(lifetime(&mechanism).unwrap().total.zcdp >= found);
        assert!(worst_record(&mechanism, rounds) > Round::ZERO, "behind the warm-up");
    }
}

#[test]
fn a_stream_that_runs_dry_does_not_hide_what_the_ridge_no_longer_contracts() {
    // With no record in the window there is no gradient, so that μ must not be counted on.
    let mut mechanism = constant(Forgetting::Window { rounds: 3 });
    mechanism.constants.strong_convexity = 0.2;
    mechanism.weight = 0.0;
    mechanism.weight_min = 0.0;
    let story: Vec<Happened> = (0..40).map(|t| (u64::from(t < 5), 0.0)).collect();
    let accountant = account(&mechanism, &story);
    let before = account(&mechanism, &story[..7]);
    assert!(accountant.sensitivity() >= before.sensitivity());
    assert!(close(accountant.spent().zcdp, by_definition(&mechanism, &story).zcdp));
}

#[test]
fn there_is_no_certificate_where_something_else_changes_with_time() {
    let check = |change: &dyn Fn(&mut Mechanism)| {
        let mut mechanism = constant(Forgetting::Window { rounds: 10 });
        change(&mut mechanism);
        lifetime(&mechanism)
    };
    assert!(check(&|_| ()).is_ok());
    let forgetting = |result| matches!(result, Err(NoCertificate::Forgetting { .. }));
    assert!(forgetting(check(&|m| m.schedule.step.exponent = -0.1)));
    assert!(forgetting(check(&|m| m.schedule.coupling.exponent = -0.1)));
    assert!(forgetting(check(&|m| m.noise.scale.exponent = -0.1)));
    assert!(forgetting(check(&|m| m.memory_error.initial = 0.01)));
    assert!(forgetting(check(&|m| m.forgetting = Forgetting::Window { rounds: 1 << 40 })));
    assert_eq!(check(&|m| m.batch = 0), Err(NoCertificate::NoNewRecords));
    assert_eq!(
        check(&|m| m.method = Method::Algorithm1(Algorithm1 { bound: Bound::Theorem5i })),
        Err(NoCertificate::FiniteHorizonBound)
    );
    assert_eq!(check(&|m| m.weight = 0.0), Err(NoCertificate::NoContraction));
    // A full history has one of the other kind, without a pure ε: weights shrink, but only like 1/t.
    assert!(lifetime(&constant(Forgetting::Never)).unwrap().total.pure.is_infinite());
    assert!(check(&|_| ()).unwrap().total.pure.is_finite());
}

#[test]
fn a_ledger_of_a_forgetting_learner_is_verified_and_a_change_is_found() {
    for forgetting in
        [Forgetting::Window { rounds: 4 }, Forgetting::Decaying { factor: 0.9, rounds: None }]
    {
        let mechanism = Mechanism { warmup: 9, ..constant(forgetting) };
        let mut accountant = Accountant::new(mechanism, None);
        let mut ledger = Ledger::new(LearnerId(3), &mechanism);
        let mut receipts = Vec::new();
        for t in 0..60 {
            let cost = accountant.pay().unwrap();
            receipts.push(ledger.receipt(&accountant, cost));
            let heard = if t % 3 == 0 { 0.3 } else { 0.6 };
            let terms = RoundTerms { weight_heard: heard, ..mechanism.planned_terms(Round(t)) };
            accountant.advance(&terms);
            ledger.advance(&terms);
        }
        let verified = verify(LearnerId(3), &mechanism, None, &receipts).unwrap();
        assert_eq!(verified.spent().zcdp.to_bits(), accountant.spent().zcdp.to_bits());
        let costs: f64 = receipts.iter().map(|receipt| receipt.zcdp_cost).sum();
        assert!(costs > 1.5 * verified.spent().zcdp, "no record pays for every release in full");
        // More records would make every weight smaller: the numbers that follow do not fit.
        let mut changed = receipts.clone();
        changed[30].records += 1;
        assert!(verify(LearnerId(3), &mechanism, None, &changed).is_err());
        let other = Mechanism { forgetting: Forgetting::Window { rounds: 5 }, ..mechanism };
        assert!(matches!(
            verify(LearnerId(3), &other, None, &receipts),
            Err(Disagreement::Chain { round: Round(0) })
        ));
    }
}

#[test]
fn a_round_of_a_long_run_takes_no_more_entries_than_still_count() {
    // Entries that hardly count stand for one another, and the total does not notice.
    let mechanism = constant(Forgetting::Window { rounds: 5 });
    let short = planned_cost(&mechanism, 2_000).zcdp;
    let long = planned_cost(&mechanism, 60_000).zcdp;
    assert!(long >= short && long <= short * (1.0 + 1e-7), "{short} {long}");
}
