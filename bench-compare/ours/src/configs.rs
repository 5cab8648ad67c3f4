//! The configs that are measured.

use std::sync::Arc;
use undertone::agreement::RawAgreement;
use undertone::load::{Strictness, check_agreement};
use undertone_lab::Setup;

/// A config's text as a setup.
pub(crate) fn setup(text: &str) -> Arc<Setup> {
    let raw: RawAgreement = toml::from_str(text).expect("TOML");
    let agreement = check_agreement(&raw, Strictness::Run);
    let agreement = agreement.unwrap_or_else(|faults| panic!("{faults}"));
    Arc::new(Setup::new(agreement).unwrap_or_else(|error| panic!("{error}")))
}

/// What all configs share: records come from the program, as dense rows of norm at most 1.
const COMMON: &str = r#"
[records]
batch = BATCH
[bounds]
feature_norm = 1.0
out_of_bounds = "scale"
LABEL
[parameters]
set = "ball"
radius = RADIUS
"#;

fn common(batch: u64, radius: f64, loss: &str) -> String {
    let label = if loss == "ridge" { "label = 1.0" } else { "" };
    COMMON.replace("BATCH", &batch.to_string()).replace("RADIUS", &format!("{radius:?}")).replace("LABEL", label)
}

/// One private logistic regression on its own stream: a paid and noisy step for every 32 rows, every gradient once.
pub(crate) fn alone(features: usize) -> Arc<Setup> {
    setup(&format!(
        r#"
method = "shielded"
[network]
learners = 1
topology = "alone"
{common}
[model]
loss = "logistic"
features = {features}
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
"#,
        common = common(32, 10.0, "logistic"),
    ))
}

/// A ring that runs Algorithm 1. `memory` is the text of its section.
pub(crate) fn ring(learners: usize, features: usize, loss: &str, memory: &str) -> Arc<Setup> {
    setup(&format!(
        r#"
unproven = true
[network]
learners = {learners}
topology = "ring"
weight = 0.25
{common}
[model]
loss = "{loss}"
features = {features}
ridge = 0.01
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
        common = common(1, 3.0, loss),
    ))
}

/// The config section of a memory, by name.
pub(crate) fn memory(kind: &str) -> &'static str {
    match kind {
        "exact" => "kind = \"exact\"",
        "moments" => "kind = \"moments\"",
        "polynomial" => "kind = \"polynomial\"\ndegree = 2",
        "anchored" => "kind = \"anchored\"\ntolerance = 0.05\ntolerance_exponent = 0.4",
        "window" => "kind = \"window\"\nwindow = 8",
        "newest" => "kind = \"window\"\nwindow = 1",
        _ => panic!("no such memory"),
    }
}

/// The squared loss for memories that require it, else the logistic loss.
pub(crate) fn loss_of(kind: &str) -> &'static str {
    if kind == "moments" { "ridge" } else { "logistic" }
}

/// A ring of real learners over sockets, which keep only the newest batch.
pub(crate) fn over_sockets(learners: usize, features: usize) -> Arc<Setup> {
    setup(&format!(
        r#"
name = "bench"
unproven = true
[network]
learners = {learners}
topology = "ring"
weight = 0.24
[bounds]
feature_norm = 1.0
out_of_bounds = "refuse"
[model]
loss = "logistic"
features = {features}
ridge = 0.01
[memory]
kind = "window"
window = 1
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
    ))
}

/// A complete graph, with statistics of constant size if they fit, else with only the newest batch.
pub(crate) fn everybody(learners: u32, dimension: usize) -> Arc<Setup> {
    let memory = memory(fitting_memory(dimension));
    setup(&format!(
        r#"
name = "store growth"
method = "shielded"
unproven = true
[network]
learners = {learners}
topology = "complete"
weight = 0.08
[bounds]
feature_norm = 1.0
label = 1.0
out_of_bounds = "scale"
[model]
loss = "ridge"
features = {dimension}
ridge = 0.001
[memory]
{memory}
[parameters]
set = "ball"
radius = 10.0
[schedule]
step = 0.5
step_exponent = 0.3
coupling = 1.0
coupling_exponent = 0.0
[noise]
kind = "gaussian"
scale = 0.2
exponent = 0.1
[privacy]
delta = 1e-6
"#
    ))
}

/// The memory of constant size that a learner can have at this dimension.
pub(crate) fn fitting_memory(dimension: usize) -> &'static str {
    if dimension <= 1000 { "moments" } else { "newest" }
}

/// Shielded ridge regression from widely spread starting points, with coupling 1. `shape` is the
/// text of the graph.
pub(crate) fn spread_out(learners: usize, shape: &str, weight: f64, dimension: usize, [step, noise]: [f64; 2]) -> Arc<Setup> {
    setup(&format!(
        r#"
name = "events"
method = "shielded"
unproven = true
[network]
learners = {learners}
{shape}
weight = {weight}
[bounds]
feature_norm = 1.0
label = 1.0
out_of_bounds = "refuse"
[model]
loss = "ridge"
features = {dimension}
ridge = 0.001
[memory]
kind = "moments"
[parameters]
set = "ball"
radius = 100.0
start_spread = 1.0
[schedule]
step = {step:e}
step_exponent = 0.0
coupling = 1.0
coupling_exponent = 0.0
[noise]
kind = "gaussian"
scale = {noise:e}
exponent = 0.0
[privacy]
delta = 1e-6
"#
    ))
}

/// The config of docs/node.md with more learners.
pub(crate) fn readmission(learners: usize) -> Arc<Setup> {
    setup(&format!(
        r#"
name = "readmission"
method = "shielded"
[network]
learners = {learners}
topology = "random-regular"
degree = 6
seed = 1
weight = 0.08
[records]
classes = ["home", "readmitted"]
intercept = true
warmup = 100
batch = 1
[bounds]
feature_norm = 2.0
out_of_bounds = "scale"
[model]
loss = "logistic"
features = 5
clip = 0.5
[parameters]
set = "ball"
radius = 10.0
[schedule]
step = 5.0
step_exponent = 0.3
coupling = 0.6
coupling_exponent = 0.0
[noise]
kind = "gaussian"
exponent = 0.1
scale = 0.22
[privacy]
epsilon = 4.0
delta = 1e-6
"#
    ))
}
