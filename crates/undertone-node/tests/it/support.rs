//! A small setup, records, and fixed noise.

use std::sync::Arc;
use std::time::Duration;
use undertone::agreement::RawAgreement;
use undertone::load::{Source, Strictness, load};
use undertone::noise::{Cipher, Entropy, NoiseError, StreamKey};
use undertone::{DataBounds, LearnerId, Loss, MemoryKind, ModelSpec, Round};
use undertone_models::{BoundedRecord, Features, Model, Record, Setup};
use undertone_node::protocol::{FOLLOW_RATE, Settings};
use undertone_simulation::Dice;

/// A ring of logistic learners, with five features each.
pub(crate) fn setup(learners: usize, method: &str, more: &str) -> Arc<Setup> {
    loaded(text(learners, method, more))
}

/// A network in which all are neighbours.
pub(crate) fn complete_setup(learners: usize) -> Arc<Setup> {
    let text = text(learners, "algorithm1", "unproven = true")
        .replace("topology = \"ring\"", "topology = \"complete\"")
        .replace("weight = 0.24", "weight = 0.1");
    loaded(text)
}

/// The same with `features` features, and a memory of the same size.
pub(crate) fn wide_setup(learners: usize, features: usize) -> Arc<Setup> {
    let (now, then) = (format!("features = {FEATURES}"), format!("features = {features}"));
    let memory = (MEMORY, "kind = \"window\"\nwindow = 1");
    changed_setup(learners, "algorithm1", "unproven = true", &[(&now, &then), memory])
}

/// The same with parts of the text replaced.
pub(crate) fn changed_setup(
    learners: usize,
    method: &str,
    more: &str,
    changes: &[(&str, &str)],
) -> Arc<Setup> {
    let mut text = text(learners, method, more);
    for (now, then) in changes {
        assert!(text.contains(now), "{now}");
        text = text.replace(now, then);
    }
    loaded(text)
}

/// The memory in the text of a setup.
pub(crate) const MEMORY: &str = "kind = \"anchored\"\ntolerance = 0.05\ntolerance_exponent = 0.3";

fn loaded(text: String) -> Arc<Setup> {
    let source = Source::Text { origin: "the test".into(), text };
    let loaded = load(&source, |_: &mut RawAgreement| (), Strictness::Run).unwrap();
    Arc::new(Setup::new(loaded.checked).unwrap())
}

fn text(learners: usize, method: &str, more: &str) -> String {
    format!(
        r#"
name = "node test"
method = "{method}"
{more}
[network]
learners = {learners}
topology = "ring"
weight = 0.24
[records]
warmup = 3
batch = 2
[bounds]
feature_norm = 1.0
out_of_bounds = "refuse"
[model]
loss = "logistic"
features = {FEATURES}
ridge = 0.01
[memory]
{MEMORY}
[parameters]
set = "ball"
radius = 5.0
[schedule]
step = 1.0
step_exponent = 0.8
coupling = 1.0
coupling_exponent = 0.65
[noise]
kind = "laplace"
scale = 0.5
exponent = 0.1
[privacy]
delta = 1e-6
"#
    )
}

pub(crate) const FEATURES: usize = 5;

pub(crate) fn settings(end: u64) -> Settings {
    Settings {
        deadline: Duration::from_secs(5),
        request_after: Duration::from_millis(500),
        records_wait: Duration::from_secs(2),
        heard_min: 1,
        follow_rate: FOLLOW_RATE,
        end: Round(end),
        inbox_max: 100_000,
    }
}

/// A record for any of the setups here.
pub(crate) fn record(dice: &mut Dice) -> BoundedRecord {
    let values: Vec<f64> = (0..FEATURES).map(|_| dice.unit() - 0.5).collect();
    let mut features = Features::Dense(values.into());
    features.clip_norm(0.9);
    let label = if dice.below(2) == 0 { 0.0 } else { 1.0 };
    let spec = ModelSpec {
        loss: Loss::Logistic,
        features: FEATURES,
        degree: 1,
        ridge: 0.01,
        lasso: 0.0,
        clip: f64::INFINITY,
    };
    let bounds = DataBounds { feature_norm: 1.0, label: 0.0, radius: 5.0 };
    let model = Model::new(spec, bounds).unwrap();
    model.record_checker(MemoryKind::Exact).check(Record { features, label }).unwrap()
}

/// The same noise for the same learner and round.
#[derive(Clone, Copy)]
pub(crate) struct Fixed;

impl Entropy for Fixed {
    fn key(&mut self, learner: LearnerId, round: Round) -> Result<StreamKey, NoiseError> {
        let mut bytes = [7; 32];
        bytes[..4].copy_from_slice(&learner.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&round.0.to_le_bytes());
        Ok(StreamKey::new(Cipher::ChaCha20, bytes))
    }
}
