//! Accounts of persons, compared with a second implementation that follows every record of one.

use super::tests::{reference, reference_of};
use super::*;
use crate::method::{Bound, Method, Shielded};
use crate::noise::NoiseKind;
use crate::{Forgetting, LearnerId, LossConstants, PowerLaw, RecordWeights, Round};
use proptest::prelude::*;

/// The constants of a record before its unit is known.
const RECORD: LossConstants = LossConstants {
    smoothness: 0.25,
    strong_convexity: 0.0,
    gradient_spread: 1.7,
    gradient_norm: 1.0,
};

fn of_unit(unit: Unit, mechanism: Mechanism) -> Mechanism {
    Mechanism { unit, constants: unit.constants(RECORD), ..mechanism }
}

fn limited(records: u64, mechanism: Mechanism) -> Mechanism {
    of_unit(Unit::LimitedPerson { records }, mechanism)
}

/// A shielded learner whose gradients are cut by person.
fn grouped(warmup: u64, per_round: u64, forgetting: Forgetting) -> Mechanism {
    let mut mechanism = reference_of(Method::Shielded(Shielded { interval: 1, momentum: 0.0 }));
    mechanism.radius = 10.0;
    (mechanism.warmup, mechanism.batch, mechanism.forgetting) = (warmup, per_round, forgetting);
    of_unit(Unit::GroupedPerson { warmup, per_round }, mechanism)
}

/// Constant steps, coupling and noise, as memories that forget have them.
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

/// What a person pays whose records arrive in these rounds, by definition: at each step every record moves θ by its
/// own weight, and the distance they have caused together is what the release shows. The memory's error and machine
/// arithmetic are charged once, from the first arrival on.
fn by_definition(mechanism: &Mechanism, arrivals: &[u64], rounds: u64) -> Cost {
    let mut weights = RecordWeights::new(mechanism.forgetting);
    let mut own: Vec<f64> = Vec::new();
    let (mut distance, mut pure, mut zcdp) = (0.0, 0.0, 0.0);
    for t in 0..rounds {
        let round = Round(t);
        weights.arrive(round, mechanism.batch + if t == 0 { mechanism.warmup } else { 0 });
        let (step, coupling) =
            (mechanism.schedule.step.at(round), mechanism.schedule.coupling.at(round));
        let heard = coupling * mechanism.weight;
        let LossConstants { smoothness, strong_convexity, .. } = RECORD;
        let fast = (1.0 - heard - step * smoothness).abs();
        let slow = (1.0 - heard - step * strong_convexity).abs();
        let arrived: Vec<u64> = arrivals.iter().copied().filter(|&k| k <= t).collect();
        own.resize(arrived.len(), weights.newest());
        for (weight, &arrival) in own.iter_mut().zip(&arrived) {
            *weight =
                if arrival == t { weights.newest() } else { weights.older(t - arrival, *weight) };
        }
        if arrived.is_empty() {
            continue;
        }
        let drive: f64 = own.iter().map(|weight| step * RECORD.gradient_spread * weight).sum();
        let error = 2.0 * step * mechanism.memory_error.at(round);
        distance = fast.max(slow) * distance + drive + error;
        let release = round.next();
        // One hop: that of a person of whom one record is used.
        let machine = limited(1, *mechanism).machine_sensitivity(release);
        let ratio = (distance + machine) / mechanism.noise.scale.at(release);
        pure += (mechanism.dimension as f64).sqrt() * ratio;
        zcdp += 0.5 * ratio * ratio;
    }
    Cost { pure, zcdp }
}

fn memories() -> impl Strategy<Value = Forgetting> {
    prop_oneof![
        Just(Forgetting::Never),
        (1u64..20).prop_map(|rounds| Forgetting::Window { rounds }),
        (0.5f64..0.99).prop_map(|factor| Forgetting::Decaying { factor, rounds: None }),
        (0.5f64..0.99, 2u64..20)
            .prop_map(|(factor, rounds)| Forgetting::Decaying { factor, rounds: Some(rounds) }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_person_pays_more_than_the_account_says_wherever_the_records_arrive(
        forgetting in memories(),
        mut arrivals in prop::collection::vec(0u64..40, 1..5),
        warmup in 0u64..10,
        batch in 1u64..4,
        error in prop_oneof![Just(0.0), 0.0..1e-6_f64],
    ) {
        arrivals.sort_unstable();
        let mut mechanism = match forgetting {
            Forgetting::Never => Mechanism { radius: 10.0, ..reference(Bound::Tight) },
            Forgetting::Window { .. } | Forgetting::Decaying { .. } => constant(forgetting),
        };
        (mechanism.warmup, mechanism.batch) = (warmup, batch);
        mechanism.memory_error = PowerLaw { initial: error, exponent: 0.0 };
        let mechanism = limited(arrivals.len() as u64, mechanism);
        let truth = by_definition(&mechanism, &arrivals, 60);
        let claimed = planned_cost(&mechanism, 60);
        prop_assert!(truth.zcdp <= claimed.zcdp * (1.0 + 1e-12), "{truth:?} {claimed:?}");
        prop_assert!(truth.pure <= claimed.pure * (1.0 + 1e-12), "{truth:?} {claimed:?}");
        // Of one record, both are the same: the definition is no looser than the account.
        if arrivals.len() == 1 && arrivals[0] == 0 && forgetting == Forgetting::Never {
            prop_assert!((truth.zcdp / claimed.zcdp - 1.0).abs() < 1e-8);
        }
    }

    #[test]
    fn an_account_of_grouped_persons_is_the_sum_of_their_shares(
        counts in prop::collection::vec(0u64..30, 3..40),
        interval in 1u64..4,
        window in prop_oneof![Just(None), (2u64..9).prop_map(Some)],
        kind in prop_oneof![Just(NoiseKind::Laplace), Just(NoiseKind::Gaussian)],
    ) {
        let forgetting = window.map_or(Forgetting::Never, |rounds| Forgetting::Window { rounds });
        let mut mechanism = grouped(5, 3, forgetting);
        mechanism.method = Method::Shielded(Shielded { interval, momentum: 0.5 });
        mechanism.noise.kind = kind;
        let mut account = Accountant::new(mechanism, None);
        // 2G: a person moves the sum over persons by no more, however many records there are.
        let (mut zcdp, mut pure) = (0.0, 0.0);
        for (t, &persons) in counts.iter().enumerate() {
            account.pay().unwrap();
            let terms = RoundTerms { round: Round(t as u64), weight_heard: 0.0, records: persons };
            account.advance(&terms);
            let release = terms.round.next();
            if release.0.is_multiple_of(interval) && persons > 0 {
                let share = 2.0 * RECORD.gradient_norm / persons as f64;
                let machine = mechanism.machine_sensitivity(release);
                let ratio = (share + machine) / mechanism.noise.scale.at(release);
                zcdp += 0.5 * ratio * ratio;
                pure += (mechanism.dimension as f64).sqrt() * ratio;
            }
        }
        account.pay().unwrap();
        let spent = account.spent();
        prop_assert!((spent.zcdp - zcdp).abs() <= 1e-8 * zcdp && spent.zcdp >= zcdp);
        match kind {
            NoiseKind::Laplace => prop_assert!((spent.pure - pure).abs() <= 1e-8 * pure),
            NoiseKind::Gaussian => prop_assert!(spent.pure.is_infinite() || pure <= 0.0),
        }
    }
}

#[test]
fn an_account_of_single_records_would_claim_too_little_for_a_person() {
    // The control of the test above: three records, and the claim of one.
    let mechanism = Mechanism { radius: 10.0, ..reference(Bound::Tight) };
    for forgetting in [Forgetting::Never, Forgetting::Window { rounds: 9 }] {
        let mechanism = Mechanism { forgetting, ..mechanism };
        let claimed = planned_cost(&of_unit(Unit::Record, mechanism), 60);
        let truth = by_definition(&limited(3, mechanism), &[0, 0, 1], 60);
        assert!(truth.zcdp > 3.0 * claimed.zcdp, "{truth:?} {claimed:?}");
    }
}

#[test]
fn k_records_of_a_person_pay_k_times_pure_epsilon_and_k_squared_zcdp_also_for_ever() {
    let methods = [
        Mechanism { radius: 10.0, ..reference(Bound::Tight) },
        Mechanism {
            radius: 10.0,
            warmup: 50,
            ..reference_of(Method::Shielded(Shielded { interval: 2, momentum: 0.0 }))
        },
        constant(Forgetting::Window { rounds: 5 }),
        constant(Forgetting::Decaying { factor: 0.8, rounds: None }),
    ];
    for mechanism in methods {
        let one = of_unit(Unit::Record, mechanism);
        let three = limited(3, mechanism);
        let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-6;
        let (planned, single) = (planned_cost(&three, 500), planned_cost(&one, 500));
        assert!(near(planned.pure, 3.0 * single.pure) && near(planned.zcdp, 9.0 * single.zcdp));
        let (bound, single) = (lifetime(&three).unwrap().total, lifetime(&one).unwrap().total);
        assert!(near(bound.zcdp, 9.0 * single.zcdp), "{bound:?} {single:?}");
        assert!(bound.zcdp >= planned.zcdp && bound.pure >= planned.pure);
        // All records of a learner are what they are, whoever they are of.
        let (all, whole) = (user_cost(&three, 50), user_cost(&one, 50));
        assert!((all.zcdp / whole.zcdp - 1.0).abs() < 1e-9);
    }
}

#[test]
fn grouped_persons_have_a_certificate_only_if_new_ones_keep_coming() {
    let growing = grouped(100, 2, Forgetting::Never);
    let bound = lifetime(&growing).unwrap().total;
    let long = planned_cost(&growing, 300_000);
    assert!(long.zcdp <= bound.zcdp && bound.zcdp < 1.01 * long.zcdp, "{bound:?} {long:?}");
    // By plan a window holds the persons of the warm-up and the new ones of its rounds.
    let returning = grouped(100, 0, Forgetting::Never);
    let window = grouped(100, 2, Forgetting::Window { rounds: 10 });
    assert_eq!(lifetime(&returning), Err(NoCertificate::NoNewPersons));
    assert_eq!(lifetime(&window), Err(NoCertificate::PersonsReturn));
    assert_eq!(window.planned_terms(Round(3)).records, 108);
    assert_eq!(window.planned_terms(Round(500)).records, 120);
    for mechanism in [returning, window] {
        let reason = lifetime(&mechanism).unwrap_err().to_string();
        assert!(reason.contains("person's share"), "{reason}");
        // The same amount is spent again and again, and a cap ends it.
        let (some, more) =
            (planned_cost(&mechanism, 1000).zcdp, planned_cost(&mechanism, 4000).zcdp);
        assert!(more > 2.5 * some, "{some} {more}");
        let cap = Some(Cap::Approximate { epsilon: 4.0, delta: 1e-6 });
        let mut account = Accountant::new(mechanism, cap);
        let refused = (0..1_000_000).find(|&t| {
            let refused = account.pay().is_err();
            if !refused {
                account.advance(&mechanism.planned_terms(Round(t)));
            }
            refused
        });
        assert!(refused.is_some() && account.epsilon(1e-6) <= 4.0);
    }
}

#[test]
fn persons_who_stay_away_make_the_certificate_from_here_larger_and_it_still_holds() {
    let mechanism = grouped(50, 2, Forgetting::Never);
    let planned = lifetime(&mechanism);
    let mut account = Accountant::new(mechanism, None);
    let mut persons = 0;
    for t in 0..200 {
        account.pay().unwrap();
        // The warm-up brings half of the persons that were planned, and then there is one in every round.
        persons += if t == 0 { 25 } else { 1 };
        let terms = mechanism.planned_terms(Round(t));
        account.advance(&RoundTerms { records: persons, ..terms });
    }
    let bound = account.for_ever(&planned).unwrap().total;
    assert!(bound.zcdp > planned.unwrap().total.zcdp);
    for t in 200..20_000 {
        account.pay().unwrap();
        persons += 2;
        let terms = mechanism.planned_terms(Round(t));
        account.advance(&RoundTerms { records: persons, ..terms });
    }
    assert!(account.spent().zcdp <= bound.zcdp && bound.zcdp < 1.1 * account.spent().zcdp);
}

#[test]
fn gradients_cut_by_person_have_no_account_where_parameters_are_perturbed() {
    for method in [Method::Algorithm1(crate::method::Algorithm1::default()), Method::Dsgd] {
        let mechanism = Mechanism { method, ..grouped(10, 2, Forgetting::Never) };
        let planned = planned_cost(&mechanism, 10);
        assert!(planned.zcdp.is_infinite() && planned.pure.is_infinite());
        assert!(user_cost(&mechanism, 10).zcdp.is_infinite());
        assert!(lifetime(&mechanism).is_err());
        let cap = Some(Cap::Approximate { epsilon: 1e6, delta: 1e-6 });
        let mut account = Accountant::new(mechanism, cap);
        account.pay().unwrap();
        account.advance(&mechanism.planned_terms(Round::ZERO));
        assert!(account.pay().is_err());
    }
}

#[test]
fn a_window_that_nobody_is_in_costs_nothing_and_one_person_costs_the_most() {
    let mechanism = grouped(10, 1, Forgetting::Window { rounds: 2 });
    let cost_with = |persons: u64| {
        let mut account = Accountant::new(mechanism, None);
        account.pay().unwrap();
        let terms = mechanism.planned_terms(Round::ZERO);
        account.advance(&RoundTerms { records: persons, ..terms });
        account.pay().unwrap().zcdp
    };
    assert!(cost_with(0) <= 0.0);
    assert!(cost_with(1) > 3.9 * cost_with(2) && cost_with(2) > 0.0);
}

#[test]
fn persons_may_leave_a_window_in_a_ledger_but_not_a_whole_history() {
    let ledger_of = |mechanism: &Mechanism| {
        let mut accountant = Accountant::new(*mechanism, None);
        let mut ledger = Ledger::new(LearnerId(0), mechanism);
        let mut receipts = Vec::new();
        for (t, persons) in [30, 40, 20, 0, 5].into_iter().enumerate() {
            let cost = accountant.pay().unwrap();
            receipts.push(ledger.receipt(&accountant, cost));
            let terms = RoundTerms { records: persons, ..mechanism.planned_terms(Round(t as u64)) };
            accountant.advance(&terms);
            ledger.advance(&terms);
        }
        verify(LearnerId(0), mechanism, None, &receipts)
    };
    assert!(ledger_of(&grouped(10, 2, Forgetting::Window { rounds: 3 })).is_ok());
    let whole = ledger_of(&grouped(10, 2, Forgetting::Never));
    assert!(matches!(whole, Err(Disagreement::Impossible { field: "records", .. })));
    let records = Mechanism {
        forgetting: Forgetting::Window { rounds: 3 },
        ..of_unit(Unit::Record, grouped(10, 2, Forgetting::Never))
    };
    assert!(matches!(ledger_of(&records), Err(Disagreement::Impossible { field: "records", .. })));
}

#[test]
fn every_statement_names_its_unit() {
    for (mechanism, words) in [
        (reference(Bound::Tight), ["one record", "event level"]),
        (limited(3, reference(Bound::Tight)), ["one person", "person level"]),
        (grouped(10, 2, Forgetting::Never), ["one person", "at one learner"]),
    ] {
        let planned = lifetime(&mechanism);
        let statement = Accountant::new(mechanism, None).statement(&planned, None, 1e-6, 1);
        assert_eq!(statement.unit, mechanism.unit.text());
        let text = statement.unit;
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
        assert_eq!(
            text.contains("person keys, counts and arrival times"),
            words[0] == "one person"
        );
    }
}
