//! The configs that are measured, spelt once.

use std::sync::Arc;
use undertone::config::{Config, RawConfig};
use undertone_lab::Plan;

/// A config's text as a plan.
pub(crate) fn plan(text: &str) -> Arc<Plan> {
    let raw: RawConfig = toml::from_str(text).expect("TOML");
    let config = Config::try_from(&raw).unwrap_or_else(|faults| panic!("{faults}"));
    Arc::new(Plan::new(config).unwrap_or_else(|error| panic!("{error}")))
}

/// What all have in common: records come from the program, dense rows of norm at most 1.
const COMMON: &str = r#"
[data]
source = "none"
partition = "iid"
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
pub(crate) fn alone(features: usize) -> Arc<Plan> {
    plan(&format!(
        r#"
method = "shielded"
rounds = 1000000
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
pub(crate) fn ring(learners: usize, features: usize, rounds: u64, loss: &str, memory: &str) -> Arc<Plan> {
    plan(&format!(
        r#"
unproven = true
rounds = {rounds}
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

/// The section of a memory that is known by name.
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

/// The squared loss where the memory is made for it.
pub(crate) fn loss_of(kind: &str) -> &'static str {
    if kind == "moments" { "ridge" } else { "logistic" }
}
