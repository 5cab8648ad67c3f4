//! Learning: one learner's stream, whole networks, and memories early and late.

use crate::rate;
use std::sync::Arc;
use std::time::Instant;
use undertone::config::{Config, RawConfig};
use undertone::noise::OsEntropy;
use undertone::{LearnerId, Round};
use undertone_lab::{Measuring, OnlineLearner, Plan, RunEntropy, Simulation, stream};
use undertone_models::{Features, Record};

pub(crate) fn plan(text: &str) -> Arc<Plan> {
    let raw: RawConfig = toml::from_str(text).expect("TOML");
    let config = Config::try_from(&raw).unwrap_or_else(|faults| panic!("{faults}"));
    Arc::new(Plan::new(config).unwrap_or_else(|error| panic!("{error}")))
}

fn unit(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

/// Dense rows of norm about a half, and labels that a line tells apart.
pub(crate) fn rows(count: usize, features: usize) -> Vec<Record> {
    let mut state = 7;
    let scale = 1.7 / (features as f64).sqrt();
    let mut row = || -> Vec<f64> { (0..features).map(|_| (unit(&mut state) - 0.5) * scale).collect() };
    let line = row();
    (0..count)
        .map(|_| {
            let values = row();
            let score: f64 = values.iter().zip(&line).map(|(a, b)| a * b).sum();
            Record { features: Features::Dense(values.into()), label: f64::from(score > 0.0) }
        })
        .collect()
}

/// Rows a second of a private logistic regression that takes one row at a time: every gradient once, a paid
/// and noisy step for every 32 rows.
pub(crate) fn logistic(features: usize) -> f64 {
    let plan = plan(&format!(
        r#"
method = "shielded"
rounds = 1000000
[network]
learners = 1
topology = "alone"
[data]
source = "none"
partition = "iid"
batch = 32
[bounds]
feature_norm = 1.0
out_of_bounds = "scale"
[model]
loss = "logistic"
features = {features}
[parameters]
set = "ball"
radius = 10.0
[memory]
kind = "window"
window = 1
[schedule]
step = 4.0
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
"#
    ));
    let mut learner = OnlineLearner::new(plan, RunEntropy::new(None)).expect("a learner");
    let rows = rows(4096, features);
    rate(rows.len() as u64, || {
        for row in &rows {
            learner.learn(row.clone()).expect("within the budget");
        }
    })
}

fn network(learners: usize, rounds: u64, memory: &str) -> Arc<Plan> {
    plan(&format!(
        r#"
unproven = true
rounds = {rounds}
[network]
learners = {learners}
topology = "ring"
weight = 0.25
[data]
source = "none"
partition = "iid"
[bounds]
feature_norm = 1.0
{label}
out_of_bounds = "scale"
[model]
loss = "{loss}"
features = 112
ridge = 0.01
[parameters]
set = "ball"
radius = 3.0
[memory]
{memory}
[schedule]
step = 0.5
step_exponent = 0.77
coupling = 1.0
coupling_exponent = 0.65
[noise]
kind = "laplace"
exponent = 0.1
scale = 1.0
[privacy]
delta = 1e-6
"#,
        loss = if memory.contains("moments") { "ridge" } else { "logistic" },
        label = if memory.contains("moments") { "label = 1.0" } else { "" },
    ))
}

/// Two learners, n = 112.
pub(crate) fn pair(memory: &str) -> Arc<Plan> {
    network(2, 1_000_000, memory)
}

/// Rounds a second of Algorithm 1 as the paper has it: n = 112, whole histories, 300 rounds from the first.
pub(crate) fn rounds(learners: usize) -> f64 {
    let count = 300;
    let plan = network(learners, count, "kind = \"exact\"");
    let records = rows(count as usize, 112);
    let sources = vec![records; learners];
    let streams = stream::given(&plan.config, sources, Vec::new(), 0).expect("records");
    let entropy = RunEntropy::new(None);
    let mut run = Simulation::new(plan, streams, entropy, Measuring::Evenly(1)).expect("a run");
    let begin = Instant::now();
    // The last round is measured, which the peer does not do.
    for _ in 1..count {
        run.round().expect("a round");
    }
    (count - 1) as f64 / begin.elapsed().as_secs_f64()
}

/// Microseconds a round of one learner with a constant-cost memory, after so many rounds.
pub(crate) fn memory(kind: &str, start: u64) -> f64 {
    let keys = match kind {
        "moments" => "kind = \"moments\"",
        "polynomial" => "kind = \"polynomial\"\ndegree = 2",
        "anchored" => "kind = \"anchored\"\ntolerance = 0.05\ntolerance_exponent = 0.4",
        _ => "kind = \"window\"\nwindow = 8",
    };
    let plan = pair(keys);
    let rows = rows(1024, 112);
    let mut learner = plan.learner(LearnerId(0)).expect("a learner");
    let mut other = plan.learner(LearnerId(1)).expect("a learner");
    let mut next = 0;
    let mut round = || {
        let row = &rows[next % rows.len()..=next % rows.len()];
        next += 1;
        learner.observe(row).expect("a record");
        let own = learner.release(&mut OsEntropy).expect("a release");
        let theirs = other.release(&mut OsEntropy).expect("a release");
        learner.absorb(&[&theirs]);
        other.absorb(&[&own]);
        learner.round()
    };
    while round() < Round(start) {}
    1e6 / rate(100, || {
        for _ in 0..100 {
            round();
        }
    })
}
