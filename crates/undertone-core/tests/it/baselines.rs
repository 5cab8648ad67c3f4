//! DSGD, DOLA and PDOP: a record pays in the round after it arrived, and what it costs for ever is that.

use undertone_core::method::{Method, Pdop};
use undertone_core::noise::NoiseKind;
use undertone_core::privacy::{
    Accountant, Cap, Cost, Mechanism, NoCertificate, NoiseLaw, Unit, lifetime, planned_cost,
    record_cost, user_cost,
};
use undertone_core::{Forgetting, LossConstants, PowerLaw, Round, Schedule};

fn mechanism(method: Method) -> Mechanism {
    Mechanism {
        dimension: 9,
        radius: 10.0,
        unit: Unit::Record,
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
        method,
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
        distance *= if facts.method == Method::Dsgd { 0.25 * step(t) } else { 0.0 };
    }
    (pure, zcdp)
}

fn ratio(facts: &Mechanism, t: u64, step: bool) -> f64 {
    match facts.method {
        Method::Pdop(Pdop { step_ratio, noise_ratio }) => {
            (if step { step_ratio } else { noise_ratio }).powf(t as f64)
        }
        Method::Algorithm1(_)
        | Method::Shielded(_)
        | Method::Dsgd
        | Method::Dola
        | Method::Local => 1.0,
    }
}

#[test]
fn every_record_pays_once_and_the_first_pays_most() {
    for method in
        [Method::Dsgd, Method::Dola, Method::Pdop(Pdop { step_ratio: 0.98, noise_ratio: 0.99 })]
    {
        let facts = mechanism(method);
        let (pure, zcdp) = by_hand(&facts, 0, 300);
        let planned = planned_cost(&facts, 300);
        assert!((planned.zcdp / zcdp - 1.0).abs() < 1e-6, "{method:?}: {} {zcdp}", planned.zcdp);
        assert!((planned.pure / pure - 1.0).abs() < 1e-6, "{method:?}: {} {pure}", planned.pure);
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
    let facts = mechanism(Method::Dola);
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
    let mut growing = mechanism(Method::Dola);
    growing.noise.scale.exponent = -0.6;
    assert!(matches!(lifetime(&growing), Err(NoCertificate::Forgetting { .. })));
    let mut carried = mechanism(Method::Dsgd);
    carried.schedule.step = PowerLaw::decaying(5.0, 0.0);
    assert_eq!(lifetime(&carried), Err(NoCertificate::NoContraction));
    let fast = mechanism(Method::Pdop(Pdop { step_ratio: 0.99, noise_ratio: 0.98 }));
    assert!(matches!(lifetime(&fast), Err(NoCertificate::Forgetting { .. })));
}

#[test]
fn a_cap_at_the_lifetime_bound_lasts() {
    for method in
        [Method::Dsgd, Method::Dola, Method::Pdop(Pdop { step_ratio: 0.99, noise_ratio: 0.995 })]
    {
        for warmup in 0..60 {
            let mut facts = Mechanism { warmup, ..mechanism(method) };
            // Steps at which DSGD forgets slowly: then the two currencies have different worst records.
            facts.schedule.step = PowerLaw::decaying(7.2, 1.0);
            let Cost { pure, zcdp } = lifetime(&facts).unwrap().total;
            let mut account = Accountant::new(facts, Some(Cap::Pure { epsilon: pure }));
            for t in 0..300 {
                account.pay().unwrap_or_else(|refusal| panic!("{method:?}, {warmup}: {refusal}"));
                account.advance(&facts.planned_terms(Round(t)));
            }
            assert!(account.spent().zcdp <= zcdp, "{method:?}, {warmup}");
        }
    }
}

/// Noise that shrinks makes machine arithmetic dear: the last record that can be sent pays most.
#[test]
fn the_last_record_under_vanishing_noise_is_within_the_certificate() {
    let method = Method::Pdop(Pdop { step_ratio: 0.95, noise_ratio: 0.98 });
    let facts = Mechanism { dimension: 7840, ..mechanism(method) };
    let bound = lifetime(&facts).unwrap().total;
    let last = (1..).take_while(|&t| facts.perturbation(Round(t)).grid().is_ok()).last().unwrap();
    let planned = planned_cost(&facts, last);
    assert!(planned.zcdp <= bound.zcdp && planned.pure <= bound.pure, "{planned:?} {bound:?}");
    let late = record_cost(&facts, Round(last - 1), last);
    let early = by_hand(&facts, last - 1, last).1;
    assert!(
        late.zcdp > 100.0 * early,
        "without the machine's charge it would cost next to nothing"
    );
    // A record pays once: the account must not let one stand for all that came after.
    assert!(planned.zcdp < 1.01 * by_hand(&facts, 0, 2).1 + 1.01 * late.zcdp, "{planned:?}");
}

#[test]
fn all_records_of_a_learner_together_pay_the_sum() {
    let facts = mechanism(Method::Dola);
    let sum: f64 = (0..300).map(|arrival| 4.0 * by_hand(&facts, arrival, 300).0).sum();
    let found = user_cost(&facts, 300);
    assert!((found.pure / sum - 1.0).abs() < 1e-6, "{} {sum}", found.pure);
    assert!(found.zcdp > planned_cost(&facts, 300).zcdp);
}
