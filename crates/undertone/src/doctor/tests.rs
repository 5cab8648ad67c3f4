//! Each broken condition is found, and no other; the conditions that the paper's own settings break
//! are reported.

use super::rates::{rate_convex, rate_strongly_convex, start_convex, start_strongly_convex};
use super::*;
use crate::load::{Strictness, check_agreement};
use proptest::prelude::*;
use undertone_core::agreement::{
    OneOrEach, RawAgreement, RawBounds, RawModel, RawNetwork, RawNoise, RawParameters, RawPrivacy,
    RawSchedule,
};

/// An agreement that satisfies everything.
fn sound() -> RawAgreement {
    RawAgreement {
        name: Some("sound".into()),
        network: RawNetwork {
            learners: Some(5),
            topology: Some("ring".into()),
            weight: Some(0.25),
            ..RawNetwork::default()
        },
        bounds: RawBounds {
            feature_norm: Some(1.0),
            out_of_bounds: Some("scale".into()),
            ..RawBounds::default()
        },
        model: RawModel {
            loss: Some("logistic".into()),
            features: Some(112.into()),
            ridge: Some(0.1),
            ..RawModel::default()
        },
        parameters: RawParameters {
            set: Some("ball".into()),
            radius: Some(1.0),
            ..RawParameters::default()
        },
        schedule: RawSchedule {
            step: Some(0.01),
            step_exponent: Some(0.9),
            coupling: Some(0.3),
            coupling_exponent: Some(0.7),
            ..RawSchedule::default()
        },
        noise: RawNoise {
            kind: Some("laplace".into()),
            scale: Some(OneOrEach::One(1.0)),
            exponent: Some(OneOrEach::One(0.1)),
            ..RawNoise::default()
        },
        privacy: RawPrivacy { delta: Some(1e-6), ..RawPrivacy::default() },
        ..RawAgreement::default()
    }
}

const USAGE: Usage = Usage { rounds: Some(100), records_repeat: false };

/// The paper's three experiments: a ring of five with weight 0.3, ς_i from `first` by `by`.
fn paper(
    model: RawModel,
    feature_norm: f64,
    first: f64,
    by: f64,
    schedule: [f64; 4],
) -> RawAgreement {
    let [step, step_exponent, coupling, coupling_exponent] = schedule.map(Some);
    let mut raw = sound();
    raw.unproven = Some(true);
    raw.network.weight = Some(0.3);
    raw.model = model;
    raw.bounds.feature_norm = Some(feature_norm);
    raw.parameters.radius = Some(1e5);
    raw.schedule =
        RawSchedule { step, step_exponent, coupling, coupling_exponent, ..RawSchedule::default() };
    let exponents = (0..5).map(|i| first + by * f64::from(i)).collect();
    raw.noise.exponent = Some(OneOrEach::Each(exponents));
    raw
}

fn mushrooms() -> RawAgreement {
    let model = RawModel {
        loss: Some("logistic".into()),
        features: Some(112.into()),
        ridge: Some(0.1),
        ..RawModel::default()
    };
    paper(model, 4.5826, 0.11, 0.01, [1.0, 0.77, 1.0, 0.65])
}

/// The schedules of MNIST and CIFAR-10. The paper trains neural networks there; softmax is what we have.
fn images(features: usize) -> RawAgreement {
    let model = RawModel {
        loss: Some("softmax".into()),
        features: Some(features.into()),
        classes: Some(10),
        ..RawModel::default()
    };
    paper(model, 1.0, 0.12, 0.02, [1.0, 0.71, 0.01, 0.7])
}

fn diagnose(raw: &RawAgreement, memory_error: PowerLaw) -> Diagnosis {
    examine(&Agreement::unchecked_by_theorems(raw).unwrap(), memory_error, USAGE)
}

fn with(holds: Option<bool>, diagnosis: &Diagnosis) -> Vec<&'static str> {
    let wanted = diagnosis.findings.iter().filter(|finding| finding.holds == holds);
    wanted.map(|finding| finding.id.name()).collect()
}

fn finding<'a>(diagnosis: &'a Diagnosis, id: &str) -> &'a Finding {
    diagnosis.findings.iter().find(|finding| finding.id.name() == id).unwrap()
}

fn holding(diagnosis: &Diagnosis) -> Vec<&'static str> {
    let theorems = diagnosis.theorems.iter();
    theorems.filter(|(_, theorem)| theorem.holds == Some(true)).map(|(id, _)| *id).collect()
}

#[test]
fn a_sound_config_satisfies_everything() {
    let diagnosis = diagnose(&sound(), PowerLaw::ZERO);
    assert_eq!(with(Some(true), &diagnosis).len(), diagnosis.findings.len(), "{diagnosis:#?}");
    assert!(diagnosis.holds && diagnosis.proven);
    assert!(diagnosis.findings.iter().all(|finding| finding.advice.is_none()));
    assert!(diagnosis.assumptions.values().all(|holds| *holds == Some(true)));
    assert_eq!(diagnosis.assumptions.len(), 5);
    assert_eq!(holding(&diagnosis), ["theorem1", "theorem2", "theorem3", "theorem4", "theorem5"]);
    assert!(diagnosis.theorems["theorem3"].from_round.unwrap() < 1.0, "λ0 and γ0 are small enough");
}

/// What is changed in a sound config, what must then be found, and the theorems that remain.
type Case = (fn(&mut RawAgreement), &'static [&'static str], &'static [&'static str]);

const CASES: [Case; 16] = [
    (
        |raw| {
            raw.parameters.set = Some("simplex".into());
            raw.parameters.total = raw.parameters.radius.take();
        },
        &["assumption1.domain"],
        &[],
    ),
    (|raw| raw.network.weight = Some(0.28), &["assumption2.eigenvalue"], &[]),
    (|raw| raw.model.lasso = Some(0.01), &["assumption3.smoothness"], &[]),
    (
        |raw| raw.noise.exponent = Some(OneOrEach::Each(vec![0.1, 0.1, 0.0, 0.1, 0.1])),
        &["assumption4.noise"],
        &[],
    ),
    (
        |raw| raw.noise.exponent = Some(OneOrEach::Each(vec![0.1, 0.1, 0.2, 0.1, 0.1])),
        &["assumption4.coupling"],
        &[],
    ),
    (|raw| raw.schedule.coupling_exponent = Some(0.6), &["assumption4.coupling"], &[]),
    // u < v < 1 is a part of what Theorem 2 prints, so these two break together.
    (
        |raw| raw.schedule.step_exponent = Some(1.0),
        &["assumption4.step", "theorem2.exponents"],
        &[],
    ),
    (
        |raw| {
            raw.memory.kind = Some("anchored".into());
            raw.memory.tolerance = Some(0.01);
        },
        &["algorithm1.gradient"],
        &[],
    ),
    (|raw| raw.model.ridge = Some(0.0), &["theorem1.convexity"], &["theorem2", "theorem4"]),
    (|raw| raw.schedule.coupling = Some(0.4), &["theorem1.coupling"], &["theorem3", "theorem4"]),
    (
        |raw| raw.schedule.step = Some(0.0105),
        &["theorem1.step"],
        &["theorem2", "theorem3", "theorem4"],
    ),
    (
        |raw| raw.schedule.step_exponent = Some(0.8),
        &["theorem2.exponents"],
        &["theorem1", "theorem3", "theorem5"],
    ),
    (
        |raw| raw.parameters.radius = Some(30.0),
        &["theorem2.step"],
        &["theorem1", "theorem3", "theorem4", "theorem5"],
    ),
    (
        |raw| raw.noise.kind = Some("gaussian".into()),
        &["theorem5.noise"],
        &["theorem1", "theorem2", "theorem3", "theorem4"],
    ),
    (
        |raw| raw.privacy.bound = Some("theorem5i".into()),
        &["certificate.lifetime"],
        &["theorem1", "theorem2", "theorem3", "theorem4", "theorem5"],
    ),
    (
        |raw| raw.bounds.feature_norm = Some(1e-3),
        &[],
        &["theorem1", "theorem2", "theorem3", "theorem4", "theorem5"],
    ),
];

#[test]
fn each_condition_broken_alone_is_found_alone() {
    for (place, (change, broken, theorems)) in CASES.iter().enumerate() {
        let mut raw = sound();
        change(&mut raw);
        let diagnosis = diagnose(&raw, PowerLaw::ZERO);
        assert_eq!(with(Some(false), &diagnosis), *broken, "case {place}");
        assert_eq!(holding(&diagnosis), *theorems, "case {place}");
        assert_eq!(diagnosis.holds, broken.is_empty(), "case {place}");
        for id in *broken {
            assert!(finding(&diagnosis, id).advice.is_some(), "case {place}");
        }
    }
}

#[test]
fn bounds_agree_with_their_formulas_worked_by_hand() {
    let numbers = diagnose(&sound(), PowerLaw::ZERO).numbers;
    let close = |found: f64, expected: f64| {
        assert!((found / expected - 1.0).abs() < 1e-4, "{found} instead of {expected}");
    };
    // δ₂ = −0.5(1 − cos 72°) and δ_m = −0.5(1 − cos 144°); L = 0.35, μ = 0.1, κ = G = 1, D = 1.1.
    close(numbers.delta_2.unwrap(), -0.345_491_5);
    close(numbers.delta_m.unwrap(), -0.904_508_5);
    let limits = numbers.limits();
    close(limits.coupling_max.unwrap(), 0.368_524_3);
    close(limits.ratio_min_strongly_convex.unwrap(), 0.99 / (0.345_491_5 * 0.1));
    close(limits.ratio_min_convex.unwrap(), 2.0 * (0.1225 + 1.0 + 1.21) / 0.345_491_5);
    // With λ0 = 1 the step decides both starts: v − u = 0.2 and (3v − 2u − 1)/2 = 0.15.
    let large = Numbers { step: 1.0, ..numbers };
    close(start_strongly_convex(&large).unwrap(), (0.99f64 / (0.034_549_15 * 0.3)).powi(5) - 1.0);
    close(start_convex(&large).unwrap(), (4.665f64 / (0.345_491_5 * 0.3)).powf(1.0 / 0.15) - 1.0);
    // With λ0 tiny and γ0 = 2 the coupling does: (6 × 0.9045)^(1/0.7) − 1 = 10.2.
    let coupled = Numbers { step: 1e-9, coupling: 2.0, ..numbers };
    close(start_strongly_convex(&coupled).unwrap(), 11.0);
    close(start_convex(&coupled).unwrap(), 11.0);
    let rate = rate_strongly_convex(&numbers);
    close(rate.printed, 0.1);
    close(rate.corrected.unwrap(), 0.2);
    close(rate_convex(&numbers).printed, 0.05);
}

#[test]
fn the_papers_mushrooms_break_assumptions_2_and_4_and_not_theorem_2s_exponents() {
    let diagnosis = diagnose(&mushrooms(), PowerLaw::ZERO);
    assert_eq!(
        with(Some(false), &diagnosis),
        [
            "assumption2.eigenvalue",
            "assumption4.coupling",
            "theorem1.coupling",
            "theorem1.step",
            "theorem2.step"
        ]
    );
    assert!(holding(&diagnosis).is_empty() && !diagnosis.proven);
    let eigenvalue = finding(&diagnosis, "assumption2.eigenvalue");
    assert_eq!((&*eigenvalue.found, &*eigenvalue.needed), ("δ_m = -1.0854", "above -1"));
    assert!(eigenvalue.advice.as_ref().unwrap().contains("below 0.2763"), "{eigenvalue:?}");
    let coupling = finding(&diagnosis, "assumption4.coupling");
    assert_eq!(coupling.found, "u = 0.65");
    assert_eq!(coupling.needed, "above max ς + 1/2 = 0.65, equal is not enough");
    assert!(finding(&diagnosis, "theorem1.coupling").needed.contains("0.307"));
    assert!((diagnosis.numbers.limits().coupling_max.unwrap() - 0.3071).abs() < 5e-5);
    let rate = diagnosis.theorems["theorem1"].rate.unwrap();
    assert!((rate.printed - 0.08).abs() < 1e-12, "min ς hides that the proof gives nothing");
    assert!(rate.largest_noise.unwrap().abs() < 1e-12);
    assert!((rate.corrected.unwrap() - 0.23).abs() < 1e-12);
}

#[test]
fn the_papers_mnist_and_cifar_schedules_break_assumption_4_with_equality_too() {
    for features in [784, 3072] {
        let mut raw = images(features);
        let diagnosis = diagnose(&raw, PowerLaw::ZERO);
        let broken = with(Some(false), &diagnosis);
        assert_eq!(
            broken,
            [
                "assumption2.eigenvalue",
                "assumption4.coupling",
                "theorem1.convexity",
                "theorem2.exponents",
                "theorem2.step",
                "certificate.lifetime"
            ]
        );
        assert_eq!(with(None, &diagnosis), ["theorem1.step"], "no bound without strong convexity");
        assert_eq!(
            finding(&diagnosis, "assumption4.coupling").needed,
            "above max ς + 1/2 = 0.7, equal is not enough"
        );
        assert_eq!(finding(&diagnosis, "theorem1.coupling").holds, Some(true), "0.01 ≤ 0.307");
        // |w_ii|γ0 = 0.006 outweighs s(t+1)^-0.3 only after 2.6e7 rounds, past where we look.
        let certificate = finding(&diagnosis, "certificate.lifetime");
        assert!(certificate.found.contains("no contraction sets in"), "{certificate:?}");
        raw.model.ridge = Some(0.01);
        let diagnosis = diagnose(&raw, PowerLaw::ZERO);
        assert!(with(Some(false), &diagnosis).contains(&"theorem1.step"));
        // v − u = 0.01 puts t0 at the hundredth power of a large number.
        assert!(diagnosis.theorems["theorem3"].from_round.unwrap() > 1e100);
    }
}

#[test]
fn an_approximate_memory_that_never_improves_has_no_certificate() {
    let constant = PowerLaw { initial: 0.01, exponent: 0.0 };
    let diagnosis = diagnose(&sound(), constant);
    assert_eq!(with(Some(false), &diagnosis), ["certificate.lifetime"]);
    let certificate = finding(&diagnosis, "certificate.lifetime");
    assert!(certificate.found.contains("does not converge"), "{certificate:?}");
}

#[test]
fn a_large_network_is_unknown_and_not_sound() {
    let mut raw = sound();
    raw.network.learners = Some(1001);
    let diagnosis = diagnose(&raw, PowerLaw::ZERO);
    assert_eq!(
        with(None, &diagnosis),
        ["assumption2.eigenvalue", "theorem1.coupling", "theorem1.step", "theorem2.step"]
    );
    assert!(with(Some(false), &diagnosis).is_empty() && !diagnosis.holds && !diagnosis.proven);
    assert_eq!(diagnosis.theorems["theorem3"].holds, None);
    // Gershgorin's bound is enough for lighter weights.
    raw.network.weight = Some(0.2);
    assert!(diagnose(&raw, PowerLaw::ZERO).proven);
}

#[test]
fn other_faults_are_still_faults() {
    let mut raw = sound();
    raw.network.weight = Some(0.3);
    raw.privacy.delta = Some(2.0);
    let faults = Agreement::unchecked_by_theorems(&raw).unwrap_err();
    assert_eq!(faults.0.len(), 1);
    assert_eq!(faults.0[0].path, "privacy.delta");
    raw.privacy.delta = Some(1e-6);
    assert!(Agreement::unchecked_by_theorems(&raw).is_ok());
    assert!(check_agreement(&raw, Strictness::Run).is_err());
}

#[test]
fn following_the_advice_on_weights_mends_assumption_2_and_no_more_does() {
    for (weight, holds) in [(0.2763, true), (0.2764, false)] {
        let mut raw = sound();
        raw.network.weight = Some(weight);
        let diagnosis = diagnose(&raw, PowerLaw::ZERO);
        assert_eq!(diagnosis.assumptions["assumption2"], Some(holds));
    }
    let mut raw = sound();
    raw.network.weight = None;
    raw.network.weights = Some("metropolis".into());
    raw.network.topology = Some("path".into());
    raw.network.learners = Some(4);
    let diagnosis = diagnose(&raw, PowerLaw::ZERO);
    let advice = finding(&diagnosis, "assumption2.eigenvalue").advice.clone().unwrap();
    assert!(advice.contains("weight below"), "on this path all three weights are 1/3: {advice}");
}

/// A shielded agreement as the presets write it, with constant coupling and Gaussian noise.
fn shielded() -> RawAgreement {
    let mut raw = sound();
    raw.method = Some("shielded".into());
    raw.model.clip = Some(0.25);
    raw.model.ridge = None;
    raw.schedule.step_exponent = Some(0.32);
    raw.schedule.coupling_exponent = Some(0.0);
    raw.schedule.interval = Some(8);
    raw.noise.kind = Some("gaussian".into());
    raw.noise.exponent = Some(OneOrEach::One(0.0));
    raw.records.warmup = Some(800);
    raw
}

#[test]
fn a_shielded_config_is_told_what_its_certificate_rests_on_and_not_held_to_algorithm_1() {
    let diagnosis = diagnose(&shielded(), PowerLaw::ZERO);
    let ids: Vec<&str> = diagnosis.findings.iter().map(|finding| finding.id.name()).collect();
    assert_eq!(
        ids,
        [
            "shielded.gradient",
            "shielded.spread",
            "shielded.noise",
            "shielded.history",
            "shielded.weights",
            "shielded.interval",
            "certificate.lifetime"
        ]
    );
    assert!(diagnosis.holds && diagnosis.proven, "{diagnosis:#?}");
    assert_eq!(diagnosis.method, "shielded");
    assert!(diagnosis.theorems.is_empty() && diagnosis.assumptions.is_empty());
    assert!(diagnosis.not_checked[0].contains("convergence"));
    for (id, part) in [
        ("shielded.gradient", "G = 0.25, clipped by model.clip = 0.25"),
        ("shielded.spread", "C = 2G = 0.5"),
        ("shielded.noise", "Gaussian noise, which has ε at δ, and no pure ε"),
        ("shielded.history", "h_t = 800 + 1·(t + 1)"),
        ("shielded.weights", "γ0 = 0.3, −δ_m = 0.904"),
        ("shielded.interval", "one in every 8 rounds, of 100"),
        ("certificate.lifetime", "at most ε = "),
    ] {
        assert!(finding(&diagnosis, id).found.contains(part), "{:?}", finding(&diagnosis, id));
    }
    // The control: the same settings break many conditions of Algorithm 1, for which they are not meant.
    let mut raw = shielded();
    raw.method = None;
    raw.schedule.interval = None;
    assert!(with(Some(false), &diagnose(&raw, PowerLaw::ZERO)).len() > 3);
}

/// What is changed in a shielded config, and the fact that it breaks, alone.
#[test]
fn each_fact_that_a_shielded_config_lacks_is_found() {
    type Change = fn(&mut RawAgreement);
    let cases: [(Change, &[&str]); 5] = [
        (|raw| raw.schedule.interval = Some(100), &["shielded.interval"]),
        (|raw| raw.schedule.interval = Some(99), &[]),
        // −δ_m = 4 · 0.25 · sin²(2π/5) = 0.9045 on a ring of five.
        (|raw| raw.schedule.coupling = Some(2.22), &["shielded.weights"]),
        (|raw| raw.schedule.coupling = Some(2.2), &[]),
        (|raw| raw.noise.kind = Some("laplace".into()), &[]),
    ];
    for (change, expected) in cases {
        let mut raw = shielded();
        change(&mut raw);
        let diagnosis = diagnose(&raw, PowerLaw::ZERO);
        assert_eq!(with(Some(false), &diagnosis), expected);
        assert_eq!(diagnosis.holds, expected.is_empty());
        for finding in &diagnosis.findings {
            assert_eq!(finding.advice.is_none(), finding.holds == Some(true), "{finding:?}");
        }
    }
    let mut laplace = shielded();
    laplace.noise.kind = Some("laplace".into());
    let found = diagnose(&laplace, PowerLaw::ZERO);
    assert!(finding(&found, "shielded.noise").found.contains("pure ε, and"));
    // Records that are drawn again void the certificate of any method.
    let agreement = Agreement::unchecked_by_theorems(&shielded()).unwrap();
    let usage = Usage { records_repeat: true, ..USAGE };
    let diagnosis = examine(&agreement, PowerLaw::ZERO, usage);
    assert_eq!(with(Some(false), &diagnosis), ["certificate.lifetime"]);
    // Eigenvalues of large networks are not computed.
    let mut many = shielded();
    many.network.learners = Some(1001);
    assert_eq!(
        with(Some(true), &diagnose(&many, PowerLaw::ZERO)).len(),
        7,
        "by Gershgorin's bound"
    );
    many.schedule.coupling = Some(2.1);
    assert_eq!(with(None, &diagnose(&many, PowerLaw::ZERO)), ["shielded.weights"]);
}

#[test]
fn other_methods_are_asked_for_a_certificate_and_nothing_else() {
    for method in ["dsgd", "dola", "local"] {
        let mut raw = sound();
        raw.method = Some(method.into());
        let diagnosis = diagnose(&raw, PowerLaw::ZERO);
        let ids: Vec<&str> = diagnosis.findings.iter().map(|finding| finding.id.name()).collect();
        assert_eq!((ids.as_slice(), diagnosis.method), (&["certificate.lifetime"][..], method));
        assert!(diagnosis.theorems.is_empty());
    }
}

proptest! {
    /// The check of an agreement and the doctor agree: a config runs without `unproven` exactly
    /// when Theorem 3 or Theorem 4 covers it (with an exact memory in a ball).
    #[test]
    fn a_config_is_proven_exactly_when_theorem_3_or_4_holds(
        weight in 0.2f64..0.32,
        step_exponent in 0.5f64..1.1,
        coupling_exponent in 0.4f64..1.1,
        noise in 0.0f64..0.6,
        ridge in prop_oneof![Just(0.0), Just(0.1)],
        lasso in prop_oneof![3 => Just(0.0), 1 => Just(0.1)],
    ) {
        let mut raw = sound();
        raw.network.weight = Some(weight);
        raw.schedule.step_exponent = Some(step_exponent);
        raw.schedule.coupling_exponent = Some(coupling_exponent);
        raw.noise.exponent = Some(OneOrEach::One(noise));
        raw.model.ridge = Some(ridge);
        raw.model.lasso = Some(lasso);
        // The bound without a certificate spares the long sum; it does not enter here.
        raw.privacy.bound = Some("theorem5i".into());
        let diagnosis = diagnose(&raw, PowerLaw::ZERO);
        let covered = ["theorem3", "theorem4"].iter().any(|id| diagnosis.theorems[id].holds == Some(true));
        prop_assert_eq!(covered, check_agreement(&raw, Strictness::Run).is_ok());
        prop_assert_eq!(covered, diagnosis.proven);
    }
}
