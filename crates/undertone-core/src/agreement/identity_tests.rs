//! Two agreements that differ in what learners share have different ids. An owner's own choices do
//! not enter.

use super::tests::good;
use super::*;
use crate::privacy::genesis;

const SCALES: [f64; 5] = [1.0; 5];

fn id(change: impl FnOnce(&mut Agreement)) -> NetworkId {
    let mut agreement = Agreement::try_from(&good()).unwrap();
    change(&mut agreement);
    agreement.network_id(&SCALES)
}

#[test]
fn the_id_of_an_agreement_is_golden() {
    assert_eq!(id(|_| ()).to_string(), "db30146d6443b90285462ff558a1cac1");
}

#[test]
fn the_genesis_of_a_ledger_is_golden_and_covers_the_gradient_norm() {
    let agreement = Agreement::try_from(&good()).unwrap();
    let mut mechanism = agreement.mechanisms(PowerLaw::ZERO, &SCALES)[0];
    let found = genesis(LearnerId(0), &mechanism);
    assert_eq!(
        found.to_string(),
        "1050fadeabdd86d436e36c87c06b843ce4b4ac3a34e6785e7961485cd9525fc8"
    );
    mechanism.constants.gradient_norm *= 2.0;
    assert_ne!(genesis(LearnerId(0), &mechanism), found);
}

/// A field that is not encoded does not compile; one that is encoded wrongly is found here.
#[test]
fn every_shared_fact_changes_the_id() {
    type Change = (&'static str, fn(&mut Agreement));
    let changes: [Change; 23] = [
        ("name", |a| a.name.push('x')),
        ("label", |a| a.records.label = Some("y".into())),
        ("classes", |a| a.records.classes = Some(vec!["a".into(), "b".into()])),
        ("categorical", |a| a.records.categorical = Some(vec!["c".into()])),
        ("drop", |a| a.records.drop = vec!["c".into()]),
        ("intercept", |a| a.records.intercept = true),
        ("centre", |a| a.records.centre = true),
        ("normalise", |a| a.records.normalise = true),
        ("warmup", |a| a.records.warmup = 7),
        ("batch", |a| a.records.batch = 7),
        ("feature_norm", |a| a.bounds.feature_norm = 2.0),
        ("out_of_bounds", |a| a.out_of_bounds = OutOfBounds::Scale),
        ("ridge", |a| a.model.ridge = 0.5),
        ("clip", |a| a.model.clip = 0.5),
        ("domain", |a| a.domain = Domain::Ball { radius: 3.0 }),
        ("start_spread", |a| a.start_spread = 0.1),
        ("memory", |a| a.memory = MemoryKind::Window { rounds: 3 }),
        ("step", |a| a.schedule.step.initial = 0.5),
        ("coupling", |a| a.schedule.coupling.exponent = -0.6),
        ("noise kind", |a| a.noise_kind = NoiseKind::Gaussian),
        ("noise exponents", |a| a.noise_exponents[4] = 0.2),
        ("delta", |a| a.delta = 1e-5),
        ("method", |a| a.method = Method::Shielded(crate::method::Shielded { interval: 1 })),
    ];
    let mut ids = vec![id(|_| ())];
    for (name, change) in changes {
        let changed = id(change);
        assert!(!ids.contains(&changed), "{name} does not enter the id");
        ids.push(changed);
    }
    let agreement = Agreement::try_from(&good()).unwrap();
    assert!(!ids.contains(&agreement.network_id(&[1.0, 1.0, 1.0, 1.0, 2.0])), "noise scales");
    let mut other = good();
    other.network.weight = Some(0.2);
    assert!(!ids.contains(&Agreement::try_from(&other).unwrap().network_id(&SCALES)), "weights");
}

#[test]
fn an_owners_cap_is_not_part_of_the_id() {
    let capped = id(|a| a.caps = vec![Some(Cap::Approximate { epsilon: 1.0, delta: 1e-6 }); 5]);
    assert_eq!(capped, id(|_| ()));
}
