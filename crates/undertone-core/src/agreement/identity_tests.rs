//! Two agreements that differ in what is shared have different ids; what is deliberately left out changes none.

use super::tests::{checked, good};
use super::*;
use crate::method::{Algorithm1, Bound, Pdop, Shielded};
use crate::neural::{LayerSpec, Shape};
use crate::privacy::{Digest, genesis};
use crate::{Forgetting, Loss};

const SCALES: [f64; 5] = [1.0; 5];

fn id(change: impl FnOnce(&mut Agreement)) -> NetworkId {
    let mut agreement = checked(&good()).unwrap();
    change(&mut agreement);
    agreement.network_id(&SCALES)
}

#[test]
fn the_id_of_an_agreement_is_golden() {
    assert_eq!(id(|_| ()).to_string(), "db30146d6443b90285462ff558a1cac1");
}

fn scattering(width: usize, dimension: Option<usize>) -> FeatureTransform {
    let input = Shape { channels: 1, height: 28, width };
    FeatureTransform::Scattering { input, dimension }
}

fn fourier(inputs: usize, gamma: f64, dimension: usize) -> FeatureTransform {
    FeatureTransform::Fourier { inputs, gamma, dimension }
}

/// A field that is not encoded does not compile; one that is encoded wrongly is found here.
#[test]
fn every_shared_fact_changes_the_id() {
    type Change = (&'static str, fn(&mut Agreement));
    let changes: [Change; 47] = [
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
        ("bounds.feature_norm", |a| a.bounds.feature_norm = 2.0),
        ("bounds.label", |a| a.bounds.label = 2.0),
        ("bounds.radius", |a| a.bounds.radius = 2.0),
        ("out_of_bounds", |a| a.out_of_bounds = OutOfBounds::Scale),
        ("loss", |a| a.model.loss = Loss::Squared),
        ("features", |a| a.model.features = 7),
        ("scattering", |a| a.transform = Some(scattering(28, None))),
        ("another image", |a| a.transform = Some(scattering(32, None))),
        ("projection", |a| a.transform = Some(scattering(28, Some(100)))),
        ("fourier", |a| a.transform = Some(fourier(3, 0.5, 8))),
        ("gamma", |a| a.transform = Some(fourier(3, 0.25, 8))),
        ("dimension", |a| a.transform = Some(fourier(3, 0.5, 10))),
        ("degree", |a| a.model.degree = 7),
        ("ridge", |a| a.model.ridge = 0.5),
        ("lasso", |a| a.model.lasso = 0.5),
        ("clip", |a| a.model.clip = 0.5),
        ("neural", |a| a.neural = Some(NeuralSpec::mlp(4, &[3], 2))),
        ("domain", |a| a.domain = Domain::Ball { radius: 3.0 }),
        ("start_spread", |a| a.start_spread = 0.1),
        ("memory", |a| a.memory = MemoryKind::Window { rounds: 3 }),
        ("step", |a| a.schedule.step.initial = 0.5),
        ("step exponent", |a| a.schedule.step.exponent = -0.6),
        ("coupling", |a| a.schedule.coupling.initial = 0.5),
        ("coupling exponent", |a| a.schedule.coupling.exponent = -0.6),
        ("noise kind", |a| a.noise_kind = NoiseKind::Gaussian),
        ("noise exponents", |a| a.noise_exponents[4] = 0.2),
        ("delta", |a| a.delta = 1e-5),
        ("theorem5i", |a| a.method = Method::Algorithm1(Algorithm1 { bound: Bound::Theorem5i })),
        ("theorem5ii", |a| a.method = Method::Algorithm1(Algorithm1 { bound: Bound::Theorem5ii })),
        ("shielded", |a| a.method = Method::Shielded(Shielded::default())),
        ("momentum", |a| a.method = Method::Shielded(Shielded { interval: 1, momentum: 0.5 })),
        ("interval", |a| {
            a.method = Method::Shielded(Shielded { interval: 2, ..Shielded::default() })
        }),
        ("dsgd", |a| a.method = Method::Dsgd),
        ("dola", |a| a.method = Method::Dola),
        ("pdop", |a| a.method = Method::Pdop(Pdop { step_ratio: 0.5, noise_ratio: 0.25 })),
        ("ratios", |a| a.method = Method::Pdop(Pdop { step_ratio: 0.25, noise_ratio: 0.5 })),
        ("local", |a| a.method = Method::Local),
    ];
    let mut ids = vec![id(|_| ())];
    for (name, change) in changes {
        let changed = id(change);
        assert!(!ids.contains(&changed), "{name} does not enter the id");
        ids.push(changed);
    }
    let agreement = checked(&good()).unwrap();
    assert!(!ids.contains(&agreement.network_id(&[1.0, 1.0, 1.0, 1.0, 2.0])), "noise scales");
    for (name, change) in [
        ("weight", (|raw| raw.network.weight = Some(0.2)) as fn(&mut RawAgreement)),
        ("members", |raw| {
            raw.network.learners = Some(6);
            raw.noise.exponent = Some(OneOrEach::One(0.1));
        }),
        ("edges", |raw| {
            raw.network.topology = Some("path".into());
        }),
    ] {
        let mut raw = good();
        change(&mut raw);
        let other = Agreement::unchecked_by_theorems(&raw).unwrap();
        assert!(!ids.contains(&other.network_id(&vec![1.0; other.graph.learners()])), "{name}");
    }
}

#[test]
fn what_is_deliberately_left_out_changes_no_id() {
    type Change = (&'static str, fn(&mut Agreement));
    let changes: [Change; 5] = [
        ("unproven", |a| a.unproven = true),
        ("spectrum", |a| a.spectrum = None),
        ("caps", |a| a.caps = vec![Some(Cap::Approximate { epsilon: 1.0, delta: 1e-6 }); 5]),
        ("calibrated", |a| a.noise_scale = NoiseScale::Lifetime),
        ("calibrated for rounds", |a| a.noise_scale = NoiseScale::Rounds(7)),
    ];
    for (name, change) in changes {
        assert_eq!(id(change), id(|_| ()), "{name}");
    }
    // How the graph and the model were written down does not matter, only what they are.
    let mut raw = good();
    raw.network.topology = Some("edges".into());
    let ring = [[0.0, 4.0], [1.0, 0.0], [1.0, 2.0], [3.0, 2.0], [4.0, 3.0]];
    raw.network.edges = Some(RawEdges::Inline(ring.iter().map(|edge| edge.to_vec()).collect()));
    let listed = checked(&raw).unwrap();
    assert_eq!(listed.network_id(&SCALES), id(|_| ()), "a ring by its edges");
    let pool = |stride| LayerSpec::MaxPool { size: 2, stride };
    let of = |layer| {
        id(|a| {
            let input = Shape { channels: 1, height: 4, width: 4 };
            a.neural = Some(NeuralSpec { input, classes: 4, layers: vec![layer] });
        })
    };
    assert_eq!(of(pool(None)), of(pool(Some(2))), "a stride that is the default");
    assert_ne!(of(pool(None)), of(pool(Some(1))), "the control");
}

fn mechanism() -> Mechanism {
    checked(&good()).unwrap().mechanisms(PowerLaw::ZERO, &SCALES)[0]
}

#[test]
fn the_genesis_of_a_ledger_is_golden() {
    assert_eq!(
        genesis(LearnerId(0), &mechanism()).to_string(),
        "9dcb660ab11cfc5df64a2db40d3236af8ab6b07777efcccf7cd3ee59db1a1358"
    );
}

#[test]
fn every_field_of_a_mechanism_changes_the_genesis() {
    // A field that is added does not compile here until it has a change below.
    let Mechanism {
        dimension: _,
        radius: _,
        constants: _,
        schedule: _,
        weight: _,
        weight_min: _,
        warmup: _,
        batch: _,
        memory_error: _,
        forgetting: _,
        noise: _,
        noise_max: _,
        method: _,
    } = mechanism();
    type Change = (&'static str, fn(&mut Mechanism));
    let changes: [Change; 24] = [
        ("dimension", |m| m.dimension += 1),
        ("radius", |m| m.radius *= 2.0),
        ("smoothness", |m| m.constants.smoothness *= 2.0),
        ("strong_convexity", |m| m.constants.strong_convexity *= 2.0),
        ("gradient_spread", |m| m.constants.gradient_spread *= 2.0),
        ("gradient_norm", |m| m.constants.gradient_norm *= 2.0),
        ("step", |m| m.schedule.step.initial *= 2.0),
        ("step exponent", |m| m.schedule.step.exponent *= 2.0),
        ("coupling", |m| m.schedule.coupling.initial *= 2.0),
        ("coupling exponent", |m| m.schedule.coupling.exponent *= 2.0),
        ("weight", |m| m.weight *= 2.0),
        ("weight_min", |m| m.weight_min *= 2.0),
        ("warmup", |m| m.warmup += 1),
        ("batch", |m| m.batch += 1),
        ("memory_error", |m| m.memory_error.initial = 0.1),
        ("memory_error exponent", |m| m.memory_error.exponent = -0.1),
        ("forgetting", |m| m.forgetting = Forgetting::Window { rounds: 1 }),
        ("noise kind", |m| m.noise.kind = NoiseKind::Gaussian),
        ("noise", |m| m.noise.scale.initial *= 2.0),
        ("noise exponent", |m| m.noise.scale.exponent *= 2.0),
        ("noise_max", |m| m.noise_max.initial *= 2.0),
        ("noise_max exponent", |m| m.noise_max.exponent *= 2.0),
        ("bound", |m| m.method = Method::Algorithm1(Algorithm1 { bound: Bound::Theorem5ii })),
        ("method", |m| m.method = Method::Local),
    ];
    let mut found: Vec<Digest> =
        vec![genesis(LearnerId(0), &mechanism()), genesis(LearnerId(1), &mechanism())];
    assert_ne!(found[0], found[1], "whose ledger it is");
    for (name, change) in changes {
        let mut changed = mechanism();
        change(&mut changed);
        let digest = genesis(LearnerId(0), &changed);
        assert!(!found.contains(&digest), "{name} does not enter the genesis");
        found.push(digest);
    }
}
