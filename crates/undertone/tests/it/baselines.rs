//! DSGD, DOLA and PDOP: a record pays in the round after it arrived, and what it costs for ever is that.

use undertone::noise::NoiseKind;
use undertone::privacy::{
    Accountant, Cap, Mechanism, NoCertificate, NoiseLaw, Rule, lifetime, planned_cost,
};
use undertone::{Forgetting, LossConstants, PowerLaw, Round, Schedule};

fn mechanism(rule: Rule) -> Mechanism {
    Mechanism {
        dimension: 9,
        radius: 10.0,
        constants: LossConstants {
            smoothness: 0.25,
            strong_convexity: 0.0,
            gradient_spread: 2.0,
            gradient_norm: 1.0,
        },
        schedule: Schedule {
            step: PowerLaw::decaying(2.0, 0.5),
            coupling: PowerLaw::decaying(1.0, 0.0),
        },
        weight: 0.5,
        weight_min: 0.5,
        warmup: 0,
        batch: 4,
        memory_error: PowerLaw::ZERO,
        forgetting: Forgetting::Window { rounds: 1 },
        noise: NoiseLaw { kind: NoiseKind::Laplace, scale: PowerLaw::growing(0.4, 0.0) },
        noise_max: PowerLaw::growing(0.4, 0.0),
        rule,
    }
}

/// Pure ε and zCDP of the record of one round, from the definition.
fn by_hand(facts: &Mechanism, arrival: u64, last: u64) -> (f64, f64) {
    let step = |t: u64| 2.0 / (t as f64 + 1.0).sqrt() * ratio(facts, t, true);
    let (mut pure, mut zcdp) = (0.0, 0.0);
    let mut distance = step(arrival) * 2.0 / 4.0;
    for t in arrival + 1..=last {
        let relative = distance / (0.4 * ratio(facts, t, false));
        pure += 3.0 * relative;
        zcdp += 0.5 * relative * relative;
        distance *= if facts.rule == Rule::Dsgd { 0.25 * step(t) } else { 0.0 };
    }
    (pure, zcdp)
}

fn ratio(facts: &Mechanism, t: u64, step: bool) -> f64 {
    match facts.rule {
        Rule::Pdop { step_ratio, noise_ratio } => {
            (if step { step_ratio } else { noise_ratio }).powf(t as f64)
        }
        _ => 1.0,
    }
}

#[test]
fn every_record_pays_once_and_the_first_pays_most() {
    for rule in [Rule::Dsgd, Rule::Dola, Rule::Pdop { step_ratio: 0.98, noise_ratio: 0.99 }] {
        let facts = mechanism(rule);
        let (pure, zcdp) = by_hand(&facts, 0, 300);
        let planned = planned_cost(&facts, 300);
        assert!((planned.zcdp / zcdp - 1.0).abs() < 1e-6, "{rule:?}: {} {zcdp}", planned.zcdp);
        assert!((planned.pure / pure - 1.0).abs() < 1e-6, "{rule:?}: {} {pure}", planned.pure);
        let later = by_hand(&facts, 20, 300).1;
        assert!(later < zcdp);
        let bound = lifetime(&facts).unwrap();
        assert!(bound.total.zcdp >= planned.zcdp && bound.total.zcdp < planned.zcdp * 1.01);
        // Control: added up over rounds, as for all records of one learner, it is far more.
        let sum: f64 = (0..300).map(|arrival| by_hand(&facts, arrival, 300).1).sum();
        assert!(sum > 2.0 * zcdp);
    }
}

#[test]
fn a_small_batch_later_costs_more_and_is_charged() {
    let facts = mechanism(Rule::Dola);
    let mut account = Accountant::new(facts, None);
    for t in 0..50 {
        account.pay().unwrap();
        let mut terms = facts.planned_terms(Round(t));
        // One record alone in round 30 instead of four.
        terms.records -= if t >= 30 { 3 } else { 0 };
        account.advance(&terms);
    }
    assert_eq!(account.worst_record(), Round::ZERO, "the step of round 30 is five times smaller");
    let mut even = facts;
    even.schedule.step = PowerLaw::decaying(2.0, 0.0);
    let mut account = Accountant::new(even, None);
    for t in 0..50 {
        account.pay().unwrap();
        let mut terms = even.planned_terms(Round(t));
        terms.records -= if t >= 30 { 3 } else { 0 };
        account.advance(&terms);
    }
    assert_eq!(account.worst_record(), Round(30));
}

#[test]
fn what_has_no_bound_gets_none() {
    let mut growing = mechanism(Rule::Dola);
    growing.noise.scale.exponent = -0.6;
    assert!(matches!(lifetime(&growing), Err(NoCertificate::Forgetting { .. })));
    let mut carried = mechanism(Rule::Dsgd);
    carried.schedule.step = PowerLaw::decaying(5.0, 0.0);
    assert_eq!(lifetime(&carried), Err(NoCertificate::NoContraction));
    let fast = mechanism(Rule::Pdop { step_ratio: 0.99, noise_ratio: 0.98 });
    assert!(matches!(lifetime(&fast), Err(NoCertificate::Forgetting { .. })));
}

#[test]
fn a_cap_at_the_lifetime_bound_lasts() {
    for rule in [Rule::Dsgd, Rule::Dola, Rule::Pdop { step_ratio: 0.99, noise_ratio: 0.995 }] {
        for warmup in [0, 50] {
            let facts = Mechanism { warmup, ..mechanism(rule) };
            let epsilon = lifetime(&facts).unwrap().total.pure;
            let mut account = Accountant::new(facts, Some(Cap::Pure { epsilon }));
            for t in 0..2000 {
                account.pay().unwrap_or_else(|refusal| panic!("{rule:?}, {warmup}: {refusal}"));
                account.advance(&facts.planned_terms(Round(t)));
            }
        }
    }
}
