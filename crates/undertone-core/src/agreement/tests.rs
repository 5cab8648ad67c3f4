//! Faults are found all at once, and good configs pass.

use super::*;
use crate::neural::Shape;

/// A config without faults, for other tests to change.
pub(crate) fn good() -> RawAgreement {
    RawAgreement {
        method: None,
        name: Some("test".into()),
        unproven: None,
        network: RawNetwork {
            learners: Some(5),
            topology: Some("ring".into()),
            weight: Some(0.25),
            ..RawNetwork::default()
        },
        records: RawRecords::default(),
        bounds: RawBounds {
            feature_norm: Some(1.0),
            out_of_bounds: Some("refuse".into()),
            ..RawBounds::default()
        },
        model: RawModel {
            loss: Some("logistic".into()),
            features: Some(112.into()),
            ridge: Some(0.01),
            ..RawModel::default()
        },
        parameters: RawParameters {
            set: Some("ball".into()),
            radius: Some(10.0),
            ..RawParameters::default()
        },
        memory: RawMemory::default(),
        schedule: RawSchedule {
            step: Some(1.0),
            step_exponent: Some(0.8),
            coupling: Some(1.0),
            coupling_exponent: Some(0.7),
            ..RawSchedule::default()
        },
        noise: RawNoise {
            kind: Some("laplace".into()),
            scale: Some(OneOrEach::One(1.0)),
            exponent: Some(OneOrEach::Each(vec![0.1, 0.11, 0.12, 0.13, 0.14])),
            calibrate: None,
            ..RawNoise::default()
        },
        privacy: RawPrivacy { delta: Some(1e-6), ..RawPrivacy::default() },
    }
}

/// Checked, without advice on what to change.
pub(crate) fn checked(raw: &RawAgreement) -> Result<Agreement, Faults> {
    Agreement::check(raw, |_, _| None)
}

fn paths(raw: &RawAgreement) -> Vec<String> {
    match checked(raw) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.0.into_iter().map(|fault| fault.path).collect(),
    }
}

#[test]
fn a_good_config_passes() {
    let config = checked(&good()).unwrap();
    assert_eq!(config.graph.learners(), 5);
    assert!(config.broken_conditions().is_empty());
    let mechanism = config.mechanisms(PowerLaw::ZERO, &[1.0; 5])[4];
    assert!((mechanism.weight - 0.5).abs() < 1e-12);
    assert!((mechanism.noise.scale.exponent - 0.14).abs() < 1e-12);
}

#[test]
fn all_faults_are_reported_at_once() {
    let mut raw = good();
    raw.records.batch = Some(0);
    raw.network.weight = Some(f64::NAN);
    raw.bounds.feature_norm = None;
    raw.model.loss = Some("logistics".into());
    raw.parameters.radius = Some(-1.0);
    raw.noise.scale = Some(OneOrEach::Each(vec![1.0, 2.0]));
    raw.privacy.delta = Some(1.0);
    let found = paths(&raw);
    for path in [
        "records.batch",
        "network.weight",
        "bounds.feature_norm",
        "model.loss",
        "parameters.radius",
        "noise.scale",
        "privacy.delta",
    ] {
        assert!(found.iter().any(|fault| fault == path), "{path} not in {found:?}");
    }
}

#[test]
fn privacy_numbers_have_no_defaults() {
    let found = paths(&RawAgreement::default());
    for path in [
        "bounds.feature_norm",
        "bounds.out_of_bounds",
        "parameters.set",
        "noise.kind",
        "noise.scale",
        "noise.exponent",
        "privacy.delta",
        "schedule.step",
        "schedule.coupling",
    ] {
        assert!(found.iter().any(|fault| fault == path), "{path} not in {found:?}");
    }
}

#[test]
fn a_fault_says_path_value_and_bound() {
    let mut raw = good();
    raw.privacy.delta = Some(0.0);
    let text = checked(&raw).unwrap_err().to_string();
    assert_eq!(text, "privacy.delta = 0: must lie strictly between 0 and 1");
}

#[test]
fn schedules_outside_the_theorems_need_unproven() {
    let mut raw = good();
    raw.schedule.coupling_exponent = Some(0.63);
    raw.network.weight = Some(0.3);
    assert_eq!(paths(&raw), ["network.weight", "schedule.coupling_exponent"]);
    raw.unproven = Some(true);
    assert_eq!(checked(&raw).unwrap().broken_conditions().len(), 2);
    raw.unproven = None;
    raw.network.weight = Some(0.25);
    raw.schedule.coupling_exponent = Some(0.7);
    raw.model.ridge = None;
    assert_eq!(paths(&raw), ["schedule.step_exponent"], "(2u+1)/3 = 0.8 is met with equality only");
    raw.schedule.step_exponent = Some(0.81);
    assert!(paths(&raw).is_empty());
}

#[test]
fn a_key_without_meaning_is_refused() {
    let mut raw = good();
    raw.network.columns = Some(3);
    raw.model.classes = Some(4);
    raw.memory.tolerance = Some(0.1);
    raw.bounds.label = Some(1.0);
    assert_eq!(
        paths(&raw),
        ["network.columns", "model.classes", "bounds.label", "memory.tolerance"]
    );
}

#[test]
fn calibration_needs_a_target_and_gaussian_noise_has_no_pure_one() {
    let mut raw = good();
    raw.noise.scale = None;
    raw.noise.calibrate = Some("lifetime".into());
    assert_eq!(paths(&raw), ["privacy.epsilon"]);
    raw.privacy.pure_epsilon = Some(OneOrEach::One(3.0));
    assert!(paths(&raw).is_empty());
    raw.noise.kind = Some("gaussian".into());
    assert_eq!(paths(&raw), ["privacy.pure_epsilon"]);
}

#[test]
fn keys_that_would_be_ignored_are_refused() {
    let mut raw = good();
    raw.network.topology = Some("edges".into());
    raw.network.edges = Some(RawEdges::Inline(vec![vec![0.0, 1.0, 0.2]]));
    assert_eq!(paths(&raw), ["network.edges[0]"]);
}

#[test]
fn a_lasso_is_outside_the_theorems_and_meaningless_on_a_simplex() {
    let mut raw = good();
    raw.model.lasso = Some(0.1);
    assert_eq!(paths(&raw), ["model.lasso"]);
    raw.unproven = Some(true);
    assert!(paths(&raw).is_empty());
    raw.parameters =
        RawParameters { set: Some("simplex".into()), total: Some(1.0), ..RawParameters::default() };
    assert_eq!(paths(&raw), ["model.lasso"]);
}

#[test]
fn noise_that_is_calibrated_for_rounds_says_for_how_many() {
    let mut raw = good();
    raw.noise.scale = None;
    raw.noise.calibrate = Some("rounds".into());
    raw.privacy.epsilon = Some(OneOrEach::One(3.0));
    assert_eq!(paths(&raw), ["noise.rounds"]);
    for rounds in [0, u64::MAX, 200_000_000] {
        raw.noise.rounds = Some(rounds);
        assert_eq!(paths(&raw), ["noise.rounds"]);
    }
    raw.noise.rounds = Some(500);
    assert_eq!(checked(&raw).unwrap().noise_scale, NoiseScale::Rounds(500));
    raw.noise.calibrate = Some("lifetime".into());
    assert_eq!(paths(&raw), ["noise.rounds"], "a key without meaning");
}

#[test]
fn settings_of_one_method_are_refused_for_others() {
    for (method, expected) in [
        ("algorithm1", vec!["schedule.interval", "schedule.step_ratio", "noise.ratio"]),
        ("shielded", vec!["privacy.bound", "schedule.step_ratio", "noise.ratio"]),
        ("pdop", vec!["privacy.bound", "schedule.interval"]),
        ("local", vec!["privacy.bound", "schedule.interval", "schedule.step_ratio", "noise.ratio"]),
    ] {
        let mut raw = good();
        raw.method = Some(method.into());
        raw.schedule.interval = Some(2);
        raw.schedule.step_ratio = Some(0.5);
        raw.noise.ratio = Some(0.5);
        raw.privacy.bound = Some("tight".into());
        assert_eq!(paths(&raw), expected, "{method}");
    }
}

#[test]
fn large_networks_are_held_to_gershgorins_bound_and_memories_to_a_shrinking_error() {
    let mut raw = good();
    raw.network.learners = Some(1200);
    raw.noise.exponent = Some(OneOrEach::One(0.1));
    assert_eq!(paths(&raw), ["network.weight"]);
    raw.network.weight = Some(0.2);
    assert!(paths(&raw).is_empty());
    raw.memory.kind = Some("anchored".into());
    raw.memory.tolerance = Some(0.01);
    assert_eq!(paths(&raw), ["memory.kind"]);
    raw.memory.tolerance_exponent = Some(0.5);
    assert!(paths(&raw).is_empty());
}

#[test]
fn numbers_that_would_overflow_are_refused() {
    let mut raw = good();
    raw.schedule.step = Some(1e308);
    raw.parameters.radius = Some(1e300);
    assert_eq!(paths(&raw), ["parameters.radius", "schedule.step"]);
}

#[test]
fn the_sampler_must_be_able_to_hold_theta() {
    let mut raw = good();
    raw.parameters.radius = Some(1e12);
    raw.noise.scale = Some(OneOrEach::One(1e-6));
    assert_eq!(paths(&raw), ["noise.scale"]);
}

/// A config whose memory is a window, with the schedule that forgetting is for.
fn forgetful() -> RawAgreement {
    let mut raw = good();
    raw.unproven = Some(true);
    raw.memory.kind = Some("window".into());
    raw.memory.window = Some(20);
    raw.schedule.step_exponent = Some(0.0);
    raw.schedule.coupling_exponent = Some(0.0);
    raw.schedule.coupling = Some(0.5);
    raw
}

#[test]
fn a_memory_that_forgets_needs_its_keys_and_unproven() {
    let config = checked(&forgetful()).unwrap();
    assert_eq!(config.memory, MemoryKind::Window { rounds: 20 });
    let mechanism = config.mechanisms(PowerLaw::ZERO, &[1.0; 5])[0];
    assert_eq!(mechanism.forgetting, crate::Forgetting::Window { rounds: 20 });
    assert!(
        config.broken_conditions().iter().any(|found| found.id == ConditionId::HistoryGradient)
    );
    let changed = |change: &dyn Fn(&mut RawAgreement)| {
        let mut raw = forgetful();
        change(&mut raw);
        paths(&raw)
    };
    assert!(changed(&|raw| raw.unproven = None).contains(&"memory.kind".to_string()));
    for window in [None, Some(0), Some(100_001)] {
        assert_eq!(changed(&|raw| raw.memory.window = window), ["memory.window"]);
    }
    assert_eq!(changed(&|raw| raw.memory.factor = Some(0.9)), ["memory.factor"]);
    assert_eq!(changed(&|raw| raw.memory.kind = None), ["memory.window"]);
    assert_eq!(changed(&|raw| raw.memory.kind = Some("windows".into())).len(), 2);
}

#[test]
fn exponential_weights_are_cut_off_but_for_squared_losses() {
    let decaying = |change: &dyn Fn(&mut RawAgreement)| {
        let mut raw = forgetful();
        raw.memory.kind = Some("decaying".into());
        raw.memory.window = None;
        raw.memory.factor = Some(0.9);
        change(&mut raw);
        checked(&raw)
    };
    let faults = |change: &dyn Fn(&mut RawAgreement)| -> Vec<String> {
        decaying(change).unwrap_err().0.into_iter().map(|fault| fault.path).collect()
    };
    // 0.9^65 is above 0.001, and 0.9^66 below.
    let kept = MemoryKind::Decaying { factor: 0.9, rounds: Some(66) };
    assert_eq!(decaying(&|_| ()).unwrap().memory, kept);
    let ridge = |raw: &mut RawAgreement| {
        raw.model.loss = Some("ridge".into());
        raw.bounds.label = Some(1.0);
    };
    let all = MemoryKind::Decaying { factor: 0.9, rounds: None };
    assert_eq!(decaying(&ridge).unwrap().memory, all);
    for factor in [None, Some(0.0), Some(1.0), Some(0.99999), Some(f64::NAN)] {
        assert_eq!(faults(&|raw| raw.memory.factor = factor), ["memory.factor"]);
    }
    for cutoff in [0.0, 1.0, f64::NAN] {
        assert_eq!(faults(&|raw| raw.memory.cutoff = Some(cutoff)), ["memory.cutoff"]);
    }
    let squared_with_cutoff = |raw: &mut RawAgreement| {
        ridge(raw);
        raw.memory.cutoff = Some(0.1);
    };
    assert_eq!(faults(&squared_with_cutoff), ["memory.cutoff"]);
    let kept_too_long = |raw: &mut RawAgreement| {
        raw.memory.factor = Some(0.9999);
        raw.memory.cutoff = Some(1e-9);
    };
    assert_eq!(faults(&kept_too_long), ["memory.cutoff"]);
}

/// A config whose features are those of a transform.
fn transformed(name: &str) -> RawAgreement {
    let mut raw = good();
    raw.model.features = Some(RawFeatures::Transform(name.into()));
    raw
}

fn scattering() -> RawAgreement {
    let mut raw = transformed("scattering");
    raw.model.input = Some(Shape { channels: 1, height: 28, width: 28 });
    raw
}

#[test]
fn the_number_of_parameters_follows_from_the_transform() {
    let agreement = checked(&scattering()).unwrap();
    assert_eq!((agreement.record_features(), agreement.model.parameters()), (784, 3969));
    let mut raw = scattering();
    raw.model.dimension = Some(400);
    assert_eq!(checked(&raw).unwrap().model.features, 400);
    let mut raw = transformed("fourier");
    (raw.model.raw_features, raw.model.gamma) = (Some(54), Some(0.5));
    raw.model.dimension = Some(300);
    let agreement = checked(&raw).unwrap();
    assert_eq!((agreement.record_features(), agreement.model.features), (54, 300));
    // The control: without a transform a record has the features of the model.
    assert_eq!(checked(&good()).unwrap().record_features(), 112);
}

#[test]
fn a_transform_that_cannot_be_computed_is_a_fault_of_its_key() {
    let mut raw = transformed("wavelets");
    assert_eq!(paths(&raw), ["model.features"]);
    raw = transformed("scattering");
    assert_eq!(paths(&raw), ["model.input"]);
    raw.model.input = Some(Shape { channels: 1, height: 30, width: 28 });
    let text = checked(&raw).unwrap_err().to_string();
    assert_eq!(text, "model.input = 1×30×28: height and width must be multiples of 4");
    raw = scattering();
    raw.model.dimension = Some(3970);
    assert_eq!(paths(&raw), ["model.dimension"]);
    raw = transformed("fourier");
    assert_eq!(paths(&raw), ["model.gamma", "model.raw_features", "model.dimension"]);
    (raw.model.raw_features, raw.model.gamma) = (Some(54), Some(0.5));
    raw.model.dimension = Some(301);
    assert_eq!(paths(&raw), ["model.dimension"]);
}

#[test]
fn settings_that_a_transform_excludes_are_refused() {
    let mut raw = scattering();
    raw.records.intercept = Some(true);
    raw.records.centre = Some(true);
    raw.records.normalise = Some(true);
    raw.bounds.feature_norm = Some(2.0);
    let expected =
        ["records.intercept", "records.centre", "records.normalise", "bounds.feature_norm"];
    assert_eq!(paths(&raw), expected);
    let mut raw = good();
    raw.model.input = scattering().model.input;
    (raw.model.raw_features, raw.model.gamma, raw.model.dimension) = (Some(1), Some(1.0), Some(2));
    let expected = ["model.input", "model.raw_features", "model.gamma", "model.dimension"];
    assert_eq!(paths(&raw), expected);
    let mut raw = scattering();
    raw.model.loss = Some("cnn".into());
    raw.model.classes = Some(10);
    assert!(paths(&raw).contains(&"model.features".into()));
}
