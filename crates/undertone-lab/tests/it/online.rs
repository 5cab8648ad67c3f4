//! A learner on its own, and losses of the user's own.

use std::ops::ControlFlow;
use std::sync::Arc;
use undertone::load::{Source, Strictness};
use undertone::{OnlineError, OnlineLearner};
use undertone_lab::experiment::{Experiment, RawExperiment};
use undertone_lab::presets::load_preset;
use undertone_lab::{
    DeclarationError, Measuring, RunEntropy, Setup, check_declaration, simulate, stream,
};
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
    assert_eq!(learner.accountant().spent(), {
        let spent = &outcome.learners[0];
        undertone::privacy::Cost { pure: spent.pure_epsilon, zcdp: spent.zcdp }
    });
    assert_eq!((learner.records(), learner.waiting()), (12 + 4 * 30, 0));
}

#[test]
fn a_learner_goes_on_from_its_bytes_and_refuses_others() {
    let setup = setup(|_| ());
    let all = records(150);
    let mut whole = OnlineLearner::new(Arc::clone(&setup), seeded()).unwrap();
    let mut first = OnlineLearner::new(Arc::clone(&setup), seeded()).unwrap();
    all[..77].iter().for_each(|record| learn(&mut first, record));
    let bytes = first.save().unwrap();
    let mut second = OnlineLearner::load(Arc::clone(&setup), seeded(), &bytes).unwrap();
    all[77..].iter().for_each(|record| learn(&mut second, record));
    all.iter().for_each(|record| learn(&mut whole, record));
    assert_eq!(whole.save().unwrap(), second.save().unwrap());
    let cut = OnlineLearner::load(Arc::clone(&setup), seeded(), &bytes[..bytes.len() - 1]);
    assert!(matches!(cut, Err(OnlineError::Damaged(_))));
}

#[test]
fn a_refused_learner_stays_refused_when_it_is_loaded() {
    let setup = setup(|raw| {
        raw.agreement.noise.calibrate = Some("rounds".into());
        raw.rounds = Some(3);
    });
    let mut learner = OnlineLearner::new(Arc::clone(&setup), seeded()).unwrap();
    let refused =
        records(100).into_iter().find_map(|record| learner.learn_record(record).err()).unwrap();
    assert!(matches!(refused, OnlineError::Budget(_)), "{refused}");
    let mut again = OnlineLearner::load(setup, seeded(), &learner.save().unwrap()).unwrap();
    assert_eq!(again.refusal(), learner.refusal());
    assert!(matches!(again.learn_record(records(1).remove(0)), Err(OnlineError::Budget(_))));
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

/// ½ k (a·θ − b)², wrong on purpose where asked.
struct Square {
    scale: f64,
    wrong_gradient: bool,
    fails_at: f64,
}

impl DeclaredLoss for Square {
    fn evaluate(&self, theta: &[f64], x: &[f64], label: f64, out: &mut [f64]) -> Option<f64> {
        let error = theta.iter().zip(x).map(|(t, x)| t * x).sum::<f64>() - label;
        let slope = self.scale * error * if self.wrong_gradient { 0.9 } else { 1.0 };
        out.iter_mut().zip(x).for_each(|(slot, x)| *slot = slope * x);
        (label < self.fails_at).then_some(0.5 * self.scale * error * error)
    }

    fn predict(&self, theta: &[f64], x: &[f64]) -> Option<f64> {
        Some(theta.iter().zip(x).map(|(t, x)| t * x).sum())
    }
}

const SQUARE: Square = Square { scale: 1.0, wrong_gradient: false, fails_at: f64::INFINITY };

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

#[test]
fn declarations_are_tried() {
    let tried = |setup: &Setup, loss: &Square| check_declaration(setup, loss, 400, 1);
    let honest = declared(6.0, Some((1.0, 0.0)), Some(12.0));
    assert_eq!(tried(&honest, &SQUARE), Ok(()));
    assert_eq!(tried(&declared(0.1, None, None), &SQUARE), Ok(()), "what is cut needs no bound");
    let found = |setup: &Setup| tried(setup, &SQUARE).unwrap_err();
    let smooth = found(&declared(6.0, Some((0.7, 0.0)), None));
    assert!(matches!(smooth, DeclarationError::Smoothness { .. }), "{smooth}");
    let convex = found(&declared(6.0, Some((1.0, 0.3)), None));
    assert!(matches!(convex, DeclarationError::Convexity { .. }), "{convex}");
    let spread = found(&declared(6.0, None, Some(5.0)));
    assert!(matches!(spread, DeclarationError::Spread { .. }), "{spread}");
    let norm = found(&declared(3.0, Some((1.0, 0.0)), None));
    assert!(matches!(norm, DeclarationError::Norm { .. }), "{norm}");
    let gradient = tried(&honest, &Square { wrong_gradient: true, ..SQUARE }).unwrap_err();
    assert!(matches!(gradient, DeclarationError::Gradient { .. }), "{gradient}");
    let failed = tried(&honest, &Square { fails_at: 0.5, ..SQUARE }).unwrap_err();
    assert_eq!(failed, DeclarationError::Failed);
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
    let steep = Square { scale: 100.0, ..SQUARE };
    let cut = learn_with(&declared(1.0, None, None), steep);
    assert!(cut.is_ok(), "without L and μ it is cut");
    let steep = Square { scale: 100.0, ..SQUARE };
    match learn_with(&declared(1.0, Some((1.0, 0.0)), None), steep) {
        Err(OnlineError::Function(DeclaredFault::TooLong { .. })) => {}
        other => panic!("{other:?}"),
    }
}

/// What was computed before and after a failure has not the sensitivity that is charged: it is never released.
#[test]
fn a_learner_whose_loss_failed_cannot_be_saved() {
    let failing = Arc::new(Square { fails_at: 0.3, ..SQUARE });
    let setup = Arc::new((*declared(1.0, None, None)).clone().with_function(failing));
    let mut learner = OnlineLearner::new(setup, seeded()).unwrap();
    let failed =
        records(100).into_iter().find_map(|record| learner.learn_record(record).err()).unwrap();
    assert!(matches!(failed, OnlineError::Function(DeclaredFault::Failed)), "{failed}");
    assert!(matches!(learner.save(), Err(OnlineError::Function(_))));
}

#[test]
fn huge_gradients_are_cut_and_not_called_infinite() {
    let steep = Square { scale: 1e200, ..SQUARE };
    assert!(learn_with(&declared(1.0, None, None), steep).is_ok());
}

/// A network at zero would learn nothing.
#[test]
fn a_network_alone_does_not_start_at_zero() {
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

#[test]
fn a_declared_loss_without_its_function_has_a_budget_and_does_not_run() {
    let setup = declared(1.0, None, None);
    assert!(setup.lifetime_epsilon_max().is_some_and(|epsilon| epsilon <= 4.0));
    assert!(matches!(OnlineLearner::new(setup, seeded()), Err(OnlineError::Memory(_))));
}
