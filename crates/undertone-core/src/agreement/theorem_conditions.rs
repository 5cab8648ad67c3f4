//! The conditions of the paper's assumptions and theorems, each with its numbers.
//!
//! `conditions` are those without which an agreement needs `unproven = true`; [`all_conditions`] is
//! everything that Assumptions 1 to 5 and Theorems 1 to 5 ask for. Both are made by the same functions.

use super::Digits::{Down, Exact, Nearest, Up};
use super::condition_id::ConditionId;
use super::{Agreement, Numbers};
use crate::noise::NoiseKind;
use crate::{Domain, MemoryKind};
use serde::Serialize;
use std::fmt;

/// One condition of an assumption or theorem.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Condition {
    /// Which condition it is.
    pub id: ConditionId,
    /// The assumption or theorem that requires it.
    pub name: &'static str,
    /// The key of the agreement it depends on most.
    pub path: &'static str,
    /// Whether it holds; `None` if that cannot be computed.
    pub holds: Option<bool>,
    /// What is required, in symbols.
    pub statement: &'static str,
    /// The symbols and the numbers found.
    pub found: String,
    /// The numbers needed.
    pub needed: String,
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}; needs {}", self.name, self.found, self.needed)
    }
}

/// Checks what Theorems 3 and 4 require of graph, schedules and noise.
///
/// Theorems 3 and 4 allow any λ0 and γ0, so the constants of Theorems 1 and 2 are not asked for.
pub(super) fn conditions(agreement: &Agreement) -> Vec<Condition> {
    if !agreement.method.describe().theorems_apply {
        return Vec::new();
    }
    let numbers = Numbers::of(agreement);
    let mut list = vec![
        smallest_eigenvalue(agreement, &numbers),
        noise_growth(&numbers),
        coupling_exponent(&numbers),
        step_exponent(&numbers),
    ];
    if agreement.model.lasso > 0.0 || !numbers.smoothness.is_finite() {
        list.push(smoothness(agreement, &numbers));
    }
    if !(agreement.model.ridge > 0.0) {
        list.push(exponents_convex(&numbers));
    }
    // Learning converges despite a gradient error that shrinks. It does not with a constant error,
    // or with forgetting, which is for data that change.
    let other_gradient = match agreement.memory {
        MemoryKind::Polynomial { .. } => true,
        MemoryKind::Anchored { tolerance } => !(tolerance.exponent < 0.0),
        MemoryKind::Arrival | MemoryKind::Window { .. } | MemoryKind::Decaying { .. } => true,
        MemoryKind::Exact | MemoryKind::Moments | MemoryKind::Recursive => false,
    };
    if other_gradient {
        list.push(exact_gradient(agreement));
    }
    list
}

/// Checks everything that Assumptions 1 to 5 and Theorems 1 to 5 require of an agreement.
#[must_use]
pub fn all_conditions(agreement: &Agreement) -> Vec<Condition> {
    let numbers = Numbers::of(agreement);
    vec![
        domain(agreement),
        convexity(&numbers),
        bounded(&GRADIENT, numbers.gradient_norm),
        second_eigenvalue(agreement, &numbers),
        smallest_eigenvalue(agreement, &numbers),
        bounded(&DEVIATION, numbers.gradient_deviation),
        smoothness(agreement, &numbers),
        noise_growth(&numbers),
        coupling_exponent(&numbers),
        step_exponent(&numbers),
        bounded(&SPREAD, numbers.gradient_spread),
        exact_gradient(agreement),
        strong_convexity(&numbers),
        coupling_size(&numbers),
        step_size_strongly_convex(&numbers),
        exponents_convex(&numbers),
        step_size_convex(&numbers),
        laplace(agreement),
    ]
}

fn domain(agreement: &Agreement) -> Condition {
    let (found, holds) = match agreement.domain {
        Domain::Ball { radius } => (format!("a ball of radius {}", Nearest.of(radius)), true),
        Domain::Box { lower, upper } => (format!("a box from {lower} to {upper}"), true),
        Domain::Simplex { .. } => ("a simplex, which is flat".into(), false),
    };
    Condition {
        id: ConditionId::Domain,
        name: "Assumption 1",
        path: "parameters.set",
        holds: Some(holds),
        statement: "Θ is convex and compact, with an interior",
        found,
        needed: "a set with an interior".into(),
    }
}

fn convexity(numbers: &Numbers) -> Condition {
    Condition {
        id: ConditionId::Convexity,
        name: "Assumption 1",
        path: "model.loss",
        holds: Some(numbers.strong_convexity >= 0.0),
        statement: "every f_i is convex, μ ≥ 0",
        found: format!("μ = {}", Exact.of(numbers.strong_convexity)),
        needed: "at least 0".into(),
    }
}

/// A constant that only has to exist.
struct Constant {
    id: ConditionId,
    name: &'static str,
    statement: &'static str,
    symbol: &'static str,
}

const GRADIENT: Constant = Constant {
    id: ConditionId::Gradient,
    name: "Assumption 1",
    statement: "‖∇f_i‖ ≤ D on Θ",
    symbol: "D = G + ridge × radius of Θ",
};
const DEVIATION: Constant = Constant {
    id: ConditionId::Deviation,
    name: "Assumption 3",
    statement: "E‖∇l − ∇f_i‖² ≤ κ²",
    symbol: "κ = G = C/2",
};
const SPREAD: Constant = Constant {
    id: ConditionId::Spread,
    name: "Assumption 5",
    statement: "‖∇l(θ, ξ) − ∇l(θ, ξ')‖ ≤ C on Θ",
    symbol: "C",
};

fn bounded(constant: &Constant, value: f64) -> Condition {
    Condition {
        id: constant.id,
        name: constant.name,
        path: "bounds.feature_norm",
        holds: Some(value.is_finite()),
        statement: constant.statement,
        found: format!("{} = {}", constant.symbol, Nearest.of(value)),
        needed: "a finite bound".into(),
    }
}

fn second_eigenvalue(agreement: &Agreement, numbers: &Numbers) -> Condition {
    let found = match numbers.delta_2 {
        Some(delta) => format!("δ₂ = {delta:.4}"),
        None => format!("δ₂ not computed for {} learners", agreement.graph.learners()),
    };
    Condition {
        id: ConditionId::Connected,
        name: "Assumption 2",
        path: "network.topology",
        // A graph that is not connected is a fault of the agreement, so δ₂ < 0 even where it is not known.
        holds: Some(numbers.delta_2.is_none_or(|delta| delta < 0.0)),
        statement: "rows and columns of W sum to 0, and all learners are connected, δ₂ < 0",
        found,
        needed: "below 0".into(),
    }
}

/// DIFFERENCE: the paper requires δ_m < δ_{m−1}, strictly. No ring with an odd number of learners
/// satisfies that, and the proofs do not use it. Only δ_m > −1 is required here.
fn smallest_eigenvalue(agreement: &Agreement, numbers: &Numbers) -> Condition {
    let graph = &agreement.graph;
    let heaviest = graph.ids().map(|id| graph.weight(id)).fold(0.0, f64::max);
    let (found, holds) = match numbers.delta_m {
        Some(delta) => (format!("δ_m = {delta:.4}"), Some(above(delta, -1.0))),
        // No eigenvalue is below −2 max |w_ii| (Gershgorin), so the condition holds if that is
        // above −1.
        None => (
            format!("δ_m not computed for {} learners", graph.learners()),
            above(-2.0 * heaviest, -1.0).then_some(true),
        ),
    };
    Condition {
        id: ConditionId::Eigenvalue,
        name: "Assumption 2",
        path: "network.weight",
        holds,
        statement: "every eigenvalue of W is above −1",
        found,
        needed: "above -1".into(),
    }
}

fn smoothness(agreement: &Agreement, numbers: &Numbers) -> Condition {
    let lasso = agreement.model.lasso;
    let found = match lasso > 0.0 {
        true => format!("lasso weight {lasso}, which is not smooth"),
        false => format!("L = {}", Nearest.of(numbers.smoothness)),
    };
    Condition {
        id: ConditionId::Smoothness,
        name: "Assumption 3",
        path: if agreement.neural.is_some() { "model.loss" } else { "model.lasso" },
        holds: Some(!(lasso > 0.0) && numbers.smoothness.is_finite()),
        statement: "record losses are L-smooth",
        found,
        needed: "a smooth loss with finite L".into(),
    }
}

fn noise_growth(numbers: &Numbers) -> Condition {
    let (least, most) = (numbers.noise_exponent_min, numbers.noise_exponent_max);
    Condition {
        id: ConditionId::NoiseExponent,
        name: "Assumption 4",
        path: "noise.exponent",
        holds: Some(least > 0.0 && above(0.5, most)),
        statement: "the noise grows: 0 < ς_i < 1/2",
        found: format!("ς from {} to {}", Exact.of(least), Exact.of(most)),
        needed: "above 0 and below 0.5".into(),
    }
}

fn coupling_exponent(numbers: &Numbers) -> Condition {
    let u = numbers.coupling_exponent;
    let floor = numbers.limits().coupling_exponent_floor;
    let equal = (u - floor).abs() <= TOLERANCE;
    Condition {
        id: ConditionId::CouplingExponent,
        name: "Assumption 4",
        path: "schedule.coupling_exponent",
        holds: Some(above(u, floor)),
        statement: "max ς + 1/2 < u",
        found: format!("u = {}", Exact.of(u)),
        needed: format!(
            "above max ς + 1/2 = {}{}",
            Exact.of(floor),
            if equal { ", equal is not enough" } else { "" }
        ),
    }
}

fn step_exponent(numbers: &Numbers) -> Condition {
    let (u, v) = (numbers.coupling_exponent, numbers.step_exponent);
    Condition {
        id: ConditionId::StepExponent,
        name: "Assumption 4",
        path: "schedule.step_exponent",
        holds: Some(above(v, u) && above(1.0, v)),
        statement: "u < v < 1",
        found: format!("v = {}", Exact.of(v)),
        needed: format!("above u = {} and below 1", Exact.of(u)),
    }
}

fn exact_gradient(agreement: &Agreement) -> Condition {
    let (found, holds) = match agreement.memory {
        MemoryKind::Exact => ("memory exact", true),
        MemoryKind::Moments => ("memory moments", true),
        MemoryKind::Recursive => ("memory recursive", true),
        MemoryKind::Polynomial { .. } => ("memory polynomial, which approximates", false),
        MemoryKind::Anchored { .. } => ("memory anchored, which approximates", false),
        MemoryKind::Arrival => ("memory arrival, whose gradients grow old", false),
        MemoryKind::Window { .. } => ("memory window, which forgets", false),
        MemoryKind::Decaying { .. } => ("memory decaying, which forgets", false),
    };
    Condition {
        id: ConditionId::HistoryGradient,
        name: "Algorithm 1",
        path: "memory.kind",
        holds: Some(holds),
        statement: "d_t is the gradient of the whole history",
        found: found.into(),
        needed: "an exact memory of all records".into(),
    }
}

fn strong_convexity(numbers: &Numbers) -> Condition {
    Condition {
        id: ConditionId::StrongConvexity,
        name: "Theorems 1, 3 and 5",
        path: "model.ridge",
        holds: Some(numbers.strong_convexity > 0.0),
        statement: "strongly convex, μ > 0",
        found: format!("μ = {}", Exact.of(numbers.strong_convexity)),
        needed: "above 0".into(),
    }
}

fn coupling_size(numbers: &Numbers) -> Condition {
    let limit = numbers.limits().coupling_max;
    Condition {
        id: ConditionId::CouplingSize,
        name: "Theorems 1, 2 and 5",
        path: "schedule.coupling",
        holds: limit.map(|limit| at_most(numbers.coupling, limit)),
        statement: "γ0 ≤ 1/(−3δ_m)",
        found: format!("γ0 = {}", Nearest.of(numbers.coupling)),
        needed: limit
            .map_or("δ_m is not known".into(), |limit| format!("at most {}", Down.of(limit))),
    }
}

fn step_size_strongly_convex(numbers: &Numbers) -> Condition {
    let convex = numbers.strong_convexity > 0.0;
    let unknown = if convex { "δ₂ is not known" } else { "no bound at μ = 0" };
    let ratio_min = numbers.limits().ratio_min_strongly_convex;
    Condition {
        name: "Theorems 1 and 5",
        statement: "λ0 ≤ −γ0 δ₂ μ/(μ² + 8L²)",
        ..step_size(ConditionId::StepSizeStronglyConvex, numbers, ratio_min, unknown)
    }
}

fn step_size_convex(numbers: &Numbers) -> Condition {
    let ratio_min = numbers.limits().ratio_min_convex;
    Condition {
        name: "Theorem 2",
        statement: "λ0 ≤ −δ₂ γ0/(2(L² + κ² + D²))",
        ..step_size(ConditionId::StepSizeConvex, numbers, ratio_min, "δ₂ is not known")
    }
}

fn step_size(
    id: ConditionId,
    numbers: &Numbers,
    ratio_min: Option<f64>,
    unknown: &str,
) -> Condition {
    let limit = ratio_min.map(|ratio| numbers.coupling / ratio);
    Condition {
        id,
        name: "",
        path: "schedule.step",
        holds: limit.map(|limit| at_most(numbers.step, limit)),
        statement: "",
        found: format!("λ0 = {}", Nearest.of(numbers.step)),
        needed: limit.map_or(unknown.into(), |limit| format!("at most {}", Down.of(limit))),
    }
}

fn exponents_convex(numbers: &Numbers) -> Condition {
    let (u, v) = (numbers.coupling_exponent, numbers.step_exponent);
    let floor = numbers.limits().step_exponent_floor;
    Condition {
        id: ConditionId::ExponentsConvex,
        name: "Theorems 2 and 4",
        path: "schedule.step_exponent",
        holds: Some(above(u, 0.5) && above(v, floor) && above(1.0, v)),
        statement: "2/3 < (1 + 2u)/3 < v < 1",
        found: format!("u = {}, v = {}", Exact.of(u), Exact.of(v)),
        needed: format!("v above (1 + 2u)/3 = {} and below 1, u above 0.5", Up.of(floor)),
    }
}

fn laplace(agreement: &Agreement) -> Condition {
    let (found, holds) = match agreement.noise_kind {
        NoiseKind::Laplace => ("Laplace", true),
        NoiseKind::Gaussian => ("Gaussian", false),
    };
    Condition {
        id: ConditionId::LaplaceNoise,
        name: "Theorem 5",
        path: "noise.kind",
        holds: Some(holds),
        statement: "every coordinate gets Laplace noise",
        found: format!("{found} noise"),
        needed: "Laplace noise".into(),
    }
}

/// How far two numbers that are equal on paper may be apart by rounding.
const TOLERANCE: f64 = 1e-12;

/// Strictly above: decimal exponents that are equal on paper must not pass by a rounding error.
fn above(left: f64, right: f64) -> bool {
    left > right + TOLERANCE
}

/// At most: a bound that is met with equality on paper must not fail by a rounding error.
fn at_most(left: f64, right: f64) -> bool {
    left <= right * (1.0 + TOLERANCE)
}
