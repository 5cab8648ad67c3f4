//! A learner on its own, and losses of the user's own.

use std::ops::ControlFlow;
use std::sync::Arc;
use undertone::load::{Source, Strictness};
use undertone::{OnlineError, OnlineLearner};
use undertone_lab::experiment::{Experiment, RawExperiment};
use undertone_lab::presets::load_preset;
use undertone_lab::{Measuring, RunEntropy, Setup, simulate, stream};
use undertone_models::{DeclaredFault, DeclaredLoss, Features, Record, RecordError};

const ALONE: &str = r#"
name = "alone"
method = "shielded"
rounds = 31
[network]
learners = 1
topology = "alone"
[data]
source = "none"
partition = "iid"
[records]
warmup = 12
batch = 4
[bounds]
feature_norm = 1.0
label = 1.0
out_of_bounds = "scale"
[model]
loss = "ridge"
features = 2
clip = 1.0
[parameters]
set = "ball"
radius = 5.0
[memory]
kind = "window"
window = 4
[schedule]
step = 1.0
step_exponent = 0.4
coupling = 1.0
coupling_exponent = 0.0
[noise]
kind = "gaussian"
exponent = 0.0
calibrate = "lifetime"
[privacy]
epsilon = 4.0
delta = 1e-6
"#;

fn experiment(change: impl FnOnce(&mut RawExperiment)) -> Experiment {
    let source = Source::Text { origin: "alone".into(), text: ALONE.into() };
    undertone::load(&source, change, Strictness::Run).unwrap().checked
}

fn setup(change: impl FnOnce(&mut RawExperiment)) -> Arc<Setup> {
    Arc::new(experiment(change).setup().unwrap())
}

fn records(count: usize) -> Vec<Record> {
    let angle = |k: usize| (k as f64 * 0.7).sin();
    let record = |k: usize| {
        let features = [0.6 * angle(k), 0.5 * angle(3 * k + 1)];
        let label = 0.8 * features[0] - 0.3 * features[1];
        Record { features: Features::Dense(features.into()), label }
    };
    (0..count).map(record).collect()
}

fn learn(learner: &mut OnlineLearner<RunEntropy>, record: &Record) {
    learner.learn_record(record.clone()).unwrap();
}

fn seeded() -> RunEntropy {
    RunEntropy::new(Some(9))
}

#[test]
fn a_learner_alone_releases_what_a_network_of_one_does_bit_for_bit() {
    let experiment = experiment(|_| ());
    let setup = Arc::new(experiment.setup().unwrap());
    let all = records(12 + 4 * 31);
    let mut learner = OnlineLearner::new(Arc::clone(&setup), seeded()).unwrap();
    for record in &all[..12 + 4 * 30] {
        learner.learn_record(record.clone()).unwrap();
    }
    let streams = stream::from_records(&experiment, vec![all], Vec::new(), 0).unwrap();
    let go_on = |_: Option<&_>| ControlFlow::Continue(());
    let outcome = simulate(&setup, 31, streams, seeded(), Measuring::Evenly(5), go_on).unwrap();
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(learner.public_model().values()), bits(outcome.public.values()));
    assert_eq!(learner.accountant().spent(), outcome.learners[0].spent);
    assert_eq!((learner.records(), learner.waiting()), (12 + 4 * 30, 0));
}

#[test]
fn a_record_that_does_not_fit_leaves_nothing_behind() {
    let mut learner = OnlineLearner::new(setup(|_| ()), seeded()).unwrap();
    let wide = Record { features: Features::Dense([0.1; 3].into()), label: 0.0 };
    assert!(matches!(learner.learn_record(wide), Err(OnlineError::Record(_))));
    let odd = Record { features: Features::Dense([0.1, f64::NAN].into()), label: 0.0 };
    assert!(matches!(learner.learn_record(odd), Err(OnlineError::Record(RecordError::NotFinite))));
    assert_eq!(learner.waiting(), 0);
}

#[test]
fn several_learners_are_not_alone() {
    let loaded = load_preset("mushrooms", &Default::default()).unwrap();
    let setup = Arc::new(loaded.checked.setup().unwrap());
    assert!(matches!(OnlineLearner::new(setup, seeded()), Err(OnlineError::NotAlone)));
}

/// ½ k (a·θ − b)².
struct Square {
    scale: f64,
}

impl DeclaredLoss for Square {
    fn evaluate(&self, theta: &[f64], x: &[f64], label: f64, out: &mut [f64]) -> Option<f64> {
        let error = theta.iter().zip(x).map(|(t, x)| t * x).sum::<f64>() - label;
        let slope = self.scale * error;
        out.iter_mut().zip(x).for_each(|(slot, x)| *slot = slope * x);
        Some(0.5 * self.scale * error * error)
    }

    fn predict(&self, theta: &[f64], x: &[f64]) -> Option<f64> {
        Some(theta.iter().zip(x).map(|(t, x)| t * x).sum())
    }
}

const SQUARE: Square = Square { scale: 1.0 };

/// The gradient of the square is at most 1·(5·1 + 1) = 6 long, L = 1 and C = 12.
fn declared(clip: f64, curvature: Option<(f64, f64)>, spread: Option<f64>) -> Arc<Setup> {
    setup(|raw| {
        raw.agreement.model.loss = Some("declared".into());
        raw.agreement.model.parameters = Some(2);
        raw.agreement.model.clip = Some(clip);
        raw.agreement.model.smoothness = curvature.map(|(smoothness, _)| smoothness);
        raw.agreement.model.strong_convexity = curvature.map(|(_, convexity)| convexity);
        raw.agreement.model.gradient_spread = spread;
    })
}

fn learn_with(setup: &Setup, loss: Square) -> Result<OnlineLearner<RunEntropy>, OnlineError> {
    let setup = Arc::new(setup.clone().with_function(Arc::new(loss)));
    let mut learner = OnlineLearner::new(setup, seeded())?;
    records(100).into_iter().try_for_each(|record| learner.learn_record(record).map(|_| ()))?;
    Ok(learner)
}

#[test]
fn a_declared_square_learns_what_the_built_in_one_does() {
    let built_in = setup(|raw| {
        raw.agreement.model.clip = None;
        raw.agreement.bounds.feature_norm = Some(1.0);
    });
    let scale = built_in.scales()[0];
    let with_scale = |raw: &mut RawExperiment| {
        raw.agreement.noise.calibrate = None;
        raw.agreement.noise.scale = Some(undertone::agreement::OneOrEach::One(scale));
        raw.agreement.privacy.epsilon = None;
    };
    let built_in = setup(|raw| {
        raw.agreement.model.clip = None;
        with_scale(raw);
    });
    let own = setup(|raw| {
        raw.agreement.model.loss = Some("declared".into());
        raw.agreement.model.parameters = Some(2);
        raw.agreement.model.clip = Some(6.0);
        with_scale(raw);
    });
    let own = learn_with(&own, SQUARE).unwrap();
    let mut ours = OnlineLearner::new(built_in, seeded()).unwrap();
    records(100).iter().for_each(|record| learn(&mut ours, record));
    let pairs = own.public_model().values().iter().zip(ours.public_model().values());
    for (own, ours) in pairs {
        assert!((own - ours).abs() < 1e-3, "{own} {ours}");
    }
}

#[test]
fn a_gradient_that_contradicts_what_is_declared_ends_the_learner() {
    let steep = Square { scale: 100.0 };
    let cut = learn_with(&declared(1.0, None, None), steep);
    assert!(cut.is_ok(), "without L and μ it is cut");
    let steep = Square { scale: 100.0 };
    match learn_with(&declared(1.0, Some((1.0, 0.0)), None), steep) {
        Err(OnlineError::Function(DeclaredFault::TooLong { .. })) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn huge_gradients_are_cut_and_not_called_infinite() {
    let steep = Square { scale: 1e200 };
    assert!(learn_with(&declared(1.0, None, None), steep).is_ok());
}

/// A neural network at zero would learn nothing.
#[test]
fn a_neural_network_alone_does_not_start_at_zero() {
    let setup = setup(|raw| {
        raw.agreement.model.loss = Some("mlp".into());
        raw.agreement.model.classes = Some(2);
        raw.agreement.model.hidden = Some(vec![3]);
        raw.agreement.bounds.label = None;
    });
    let learner = OnlineLearner::new(setup, seeded()).unwrap();
    let theta = learner.private_parameters().for_owner();
    assert!(theta.iter().any(|value| value.abs() > 0.01));
}
