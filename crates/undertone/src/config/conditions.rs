//! The conditions of the paper's convergence theorems, each with its numbers.

use super::Config;
use crate::MemoryKind;
use std::fmt;

/// One condition of an assumption or theorem.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Which assumption or theorem asks for it.
    pub name: &'static str,
    /// The key of the config it depends on most.
    pub path: &'static str,
    /// The symbol and the number found.
    pub found: String,
    /// What is asked for, in words and numbers.
    pub text: String,
    /// Whether it holds.
    pub holds: bool,
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}; {}", self.name, self.found, self.text)
    }
}

/// Checks what Theorems 3 and 4 ask of graph, schedules and noise.
///
/// Theorems 3 and 4 allow any λ0 and γ0, so the constants of Theorems 1 and 2 are not asked for.
#[must_use]
pub fn conditions(config: &Config) -> Vec<Condition> {
    let u = -config.schedule.coupling.exponent;
    let v = -config.schedule.step.exponent;
    let growth = config.noise_exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let slowest = config.noise_exponents.iter().copied().fold(f64::INFINITY, f64::min);
    let mut list = vec![graph_condition(config)];
    list.extend(model_conditions(config));
    list.push(Condition {
        name: "Assumption 4",
        path: "noise.exponent",
        found: format!("ς = {slowest}"),
        text: "the noise must grow: exponents above 0".into(),
        holds: slowest > 0.0,
    });
    list.push(Condition {
        name: "Assumption 4",
        path: "schedule.coupling_exponent",
        found: format!("u = {u}"),
        text: format!("must be above the largest noise exponent + 1/2 = {}", growth + 0.5),
        holds: above(u, growth + 0.5),
    });
    list.push(Condition {
        name: "Assumption 4",
        path: "schedule.step_exponent",
        found: format!("v = {v}"),
        text: format!("must lie strictly between the coupling exponent {u} and 1"),
        holds: above(v, u) && above(1.0, v),
    });
    if !(config.model.ridge > 0.0) {
        list.push(Condition {
            name: "Theorem 4",
            path: "schedule.step_exponent",
            found: format!("v = {v}"),
            text: format!(
                "without a ridge term it must be above (2u + 1)/3 = {:.4}",
                (2.0 * u + 1.0) / 3.0
            ),
            holds: above(v, (2.0 * u + 1.0) / 3.0),
        });
    }
    list
}

/// Assumption 2, by the spectrum or, for large graphs, by Gershgorin's bound.
fn graph_condition(config: &Config) -> Condition {
    let (found, smallest) = match config.spectrum {
        Some(spectrum) => (format!("δ_m = {:.4}", spectrum.delta_m), spectrum.delta_m),
        None => {
            // No eigenvalue of W lies below −2|w_ii| for the largest |w_ii|.
            let heaviest = config.graph.ids().map(|id| config.graph.weight(id)).fold(0.0, f64::max);
            (format!("δ_m ≥ {:.4} by Gershgorin's bound", -2.0 * heaviest), -2.0 * heaviest)
        }
    };
    Condition {
        name: "Assumption 2",
        path: "network.weight",
        found,
        text: "the smallest eigenvalue of W must be above -1; use smaller weights".into(),
        holds: above(smallest, -1.0),
    }
}

/// What the theorems ask of loss and memory.
fn model_conditions(config: &Config) -> Vec<Condition> {
    let mut list = Vec::new();
    let constant_error = match config.memory {
        MemoryKind::Polynomial { .. } => true,
        MemoryKind::Anchored { tolerance } => !(tolerance.exponent < 0.0),
        MemoryKind::Exact | MemoryKind::Moments | MemoryKind::Recursive => false,
    };
    if constant_error {
        list.push(Condition {
            name: "Theorems 1 to 4",
            path: "memory.kind",
            found: "a gradient error that does not shrink".into(),
            text: "the theorems ask for the exact history gradient in the long run".into(),
            holds: false,
        });
    }
    if config.model.lasso > 0.0 {
        list.push(Condition {
            name: "Assumption 3",
            path: "model.lasso",
            found: format!("weight {}", config.model.lasso),
            text: "the theorems ask for a smooth loss, and a lasso penalty is not".into(),
            holds: false,
        });
    }
    list
}

/// Strictly above: decimal exponents that are equal on paper must not pass by a rounding error.
fn above(left: f64, right: f64) -> bool {
    left > right + 1e-12
}
