//! The conditions of the paper's assumptions and theorems, each with its numbers.
//!
//! [`conditions`] are those without which a config needs `unproven = true`; [`all_conditions`] are
//! those that [`crate::doctor`] reports. Both are made by the same functions.

use super::digits::{down, exact, short, up};
use super::{Config, Numbers};
use crate::noise::NoiseKind;
use crate::{Domain, MemoryKind};
use serde::Serialize;
use std::fmt;

/// One condition of an assumption or theorem.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Condition {
    /// A name for programs, which does not change.
    pub id: &'static str,
    /// Which assumption or theorem asks for it.
    pub name: &'static str,
    /// The key of the config it depends on most.
    pub path: &'static str,
    /// Whether it holds; `None` where that cannot be worked out.
    pub holds: Option<bool>,
    /// What is asked for, in symbols.
    pub statement: &'static str,
    /// The symbols and the numbers found.
    pub found: String,
    /// The numbers needed.
    pub needed: String,
    /// What to change; `None` where it holds.
    pub advice: Option<String>,
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}; needs {}", self.name, self.found, self.needed)
    }
}

impl Condition {
    /// Keeps the advice only where there is something to change.
    fn judged(mut self, holds: impl Into<Option<bool>>) -> Condition {
        self.holds = holds.into();
        if self.holds == Some(true) {
            self.advice = None;
        }
        self
    }
}

/// Checks what Theorems 3 and 4 ask of graph, schedules and noise.
///
/// Theorems 3 and 4 allow any λ0 and γ0, so the constants of Theorems 1 and 2 are not asked for.
#[must_use]
pub fn conditions(config: &Config) -> Vec<Condition> {
    // The theorems speak of Algorithm 1 only.
    if !config.rule.is_algorithm1() {
        return Vec::new();
    }
    let numbers = Numbers::of(config);
    let mut list = vec![
        smallest_eigenvalue(config, &numbers),
        noise_growth(&numbers),
        coupling_exponent(&numbers),
        step_exponent(&numbers),
    ];
    if config.model.lasso > 0.0 || !numbers.smoothness.is_finite() {
        list.push(smoothness(config, &numbers));
    }
    if !(config.model.ridge > 0.0) {
        list.push(exponents_convex(&numbers));
    }
    // A gradient error that shrinks does not keep learning from converging; a constant one does, and so
    // does forgetting, which is for data that change.
    let other_gradient = match config.memory {
        MemoryKind::Polynomial { .. } => true,
        MemoryKind::Anchored { tolerance } => !(tolerance.exponent < 0.0),
        MemoryKind::Arrival | MemoryKind::Window { .. } | MemoryKind::Decaying { .. } => true,
        MemoryKind::Exact | MemoryKind::Moments | MemoryKind::Recursive => false,
    };
    if other_gradient {
        list.push(exact_gradient(config));
    }
    list
}

/// Checks everything that Assumptions 1 to 5 and Theorems 1 to 5 ask of a config.
#[must_use]
pub fn all_conditions(config: &Config) -> Vec<Condition> {
    let numbers = Numbers::of(config);
    vec![
        domain(config),
        convexity(&numbers),
        bounded(&GRADIENT, numbers.gradient_norm),
        second_eigenvalue(config, &numbers),
        smallest_eigenvalue(config, &numbers),
        bounded(&DEVIATION, numbers.gradient_deviation),
        smoothness(config, &numbers),
        noise_growth(&numbers),
        coupling_exponent(&numbers),
        step_exponent(&numbers),
        bounded(&SPREAD, numbers.gradient_spread),
        exact_gradient(config),
        strong_convexity(&numbers),
        coupling_size(&numbers),
        step_size_strongly_convex(&numbers),
        exponents_convex(&numbers),
        step_size_convex(&numbers),
        laplace(config),
    ]
}

fn domain(config: &Config) -> Condition {
    let (found, holds) = match config.domain {
        Domain::Ball { radius } => (format!("a ball of radius {}", short(radius)), true),
        Domain::Box { lower, upper } => (format!("a box from {lower} to {upper}"), true),
        Domain::Simplex { .. } => ("a simplex, which is flat".into(), false),
    };
    Condition {
        id: "assumption1.domain",
        name: "Assumption 1",
        path: "parameters.set",
        holds: None,
        statement: "Θ is convex and compact, with an interior",
        found,
        needed: "a set with an interior".into(),
        advice: Some("use a ball or a box".into()),
    }
    .judged(holds)
}

fn convexity(numbers: &Numbers) -> Condition {
    Condition {
        id: "assumption1.convexity",
        name: "Assumption 1",
        path: "model.loss",
        holds: None,
        statement: "every f_i is convex, μ ≥ 0",
        found: format!("μ = {}", exact(numbers.strong_convexity)),
        needed: "at least 0".into(),
        advice: Some("choose a convex loss".into()),
    }
    .judged(numbers.strong_convexity >= 0.0)
}

/// A constant that only has to exist.
struct Constant {
    id: &'static str,
    name: &'static str,
    statement: &'static str,
    symbol: &'static str,
}

const GRADIENT: Constant = Constant {
    id: "assumption1.gradient",
    name: "Assumption 1",
    statement: "‖∇f_i‖ ≤ D on Θ",
    symbol: "D = G + ridge × radius of Θ",
};
const DEVIATION: Constant = Constant {
    id: "assumption3.deviation",
    name: "Assumption 3",
    statement: "E‖∇l − ∇f_i‖² ≤ κ²",
    symbol: "κ = G = C/2",
};
const SPREAD: Constant = Constant {
    id: "assumption5.spread",
    name: "Assumption 5",
    statement: "‖∇l(θ, ξ) − ∇l(θ, ξ')‖ ≤ C on Θ",
    symbol: "C",
};

fn bounded(constant: &Constant, value: f64) -> Condition {
    Condition {
        id: constant.id,
        name: constant.name,
        path: "bounds.feature_norm",
        holds: None,
        statement: constant.statement,
        found: format!("{} = {}", constant.symbol, short(value)),
        needed: "a finite bound".into(),
        advice: Some("use smaller bounds on features, labels and parameters".into()),
    }
    .judged(value.is_finite())
}

fn second_eigenvalue(config: &Config, numbers: &Numbers) -> Condition {
    let found = match numbers.delta_2 {
        Some(delta) => format!("δ₂ = {delta:.4}"),
        None => format!("δ₂ not computed for {} learners", config.graph.learners()),
    };
    Condition {
        id: "assumption2.connected",
        name: "Assumption 2",
        path: "network.topology",
        holds: None,
        statement: "rows and columns of W sum to 0, and all learners are connected, δ₂ < 0",
        found,
        needed: "below 0".into(),
        advice: Some("connect every learner to the others".into()),
    }
    // A graph that is not connected is a fault of the config, so δ₂ < 0 even where it is not known.
    .judged(numbers.delta_2.is_none_or(|delta| delta < 0.0))
}

/// DIFFERENCE: the paper prints δ_m < δ_{m−1}, strictly, which no ring with an odd number of learners
/// fulfils, and which its proofs do not use. Only δ_m > −1 is asked for.
fn smallest_eigenvalue(config: &Config, numbers: &Numbers) -> Condition {
    let heaviest = config.graph.ids().map(|id| config.graph.weight(id)).fold(0.0, f64::max);
    let found = match numbers.delta_m {
        Some(delta) => format!("δ_m = {delta:.4}"),
        None => format!("δ_m not computed for {} learners", config.graph.learners()),
    };
    let advice = match (config.graph.uniform_weight(), numbers.delta_m) {
        (Some(weight), Some(delta)) => {
            format!("use a weight below {} on this graph", down(weight / -delta))
        }
        (None, Some(delta)) => format!("multiply all weights by less than {}", down(-1.0 / delta)),
        (_, None) => "weights that add up to less than 1/2 at every learner are enough".into(),
    };
    Condition {
        id: "assumption2.eigenvalue",
        name: "Assumption 2",
        path: "network.weight",
        holds: None,
        statement: "every eigenvalue of W is above −1",
        found,
        needed: "above -1".into(),
        advice: Some(advice),
    }
    .judged(match numbers.delta_m {
        Some(delta) => Some(above(delta, -1.0)),
        // No eigenvalue is below −2 max |w_ii| (Gershgorin): enough where that is above −1.
        None => above(-2.0 * heaviest, -1.0).then_some(true),
    })
}

fn smoothness(config: &Config, numbers: &Numbers) -> Condition {
    let lasso = config.model.lasso;
    let network = config.network.is_some();
    let found = match lasso > 0.0 {
        true => format!("lasso weight {lasso}, which is not smooth"),
        false => format!("L = {}", short(numbers.smoothness)),
    };
    Condition {
        id: "assumption3.smoothness",
        name: "Assumption 3",
        path: if network { "model.loss" } else { "model.lasso" },
        holds: None,
        statement: "record losses are L-smooth",
        found,
        needed: "a smooth loss with finite L".into(),
        advice: Some(if network {
            "a network has none: use method = \"shielded\", which needs none".into()
        } else {
            "set model.lasso = 0 and keep the bounds finite".into()
        }),
    }
    .judged(!(lasso > 0.0) && numbers.smoothness.is_finite())
}

fn noise_growth(numbers: &Numbers) -> Condition {
    let (least, most) = (numbers.noise_exponent_min, numbers.noise_exponent_max);
    Condition {
        id: "assumption4.noise",
        name: "Assumption 4",
        path: "noise.exponent",
        holds: None,
        statement: "the noise grows: 0 < ς_i < 1/2",
        found: format!("ς from {} to {}", exact(least), exact(most)),
        needed: "above 0 and below 0.5".into(),
        advice: Some("set every noise.exponent above 0 and below 0.5, 0.01 for example".into()),
    }
    .judged(least > 0.0 && above(0.5, most))
}

fn coupling_exponent(numbers: &Numbers) -> Condition {
    let (u, v) = (numbers.coupling_exponent, numbers.step_exponent);
    let floor = numbers.coupling_exponent_floor();
    let equal = (u - floor).abs() <= TOLERANCE;
    let mut advice = if !above(1.0, floor) {
        "bring every noise.exponent below 0.5 first".to_string()
    } else if above(v, floor) {
        let (floor, v) = (exact(floor), exact(v));
        format!("set schedule.coupling_exponent above {floor} and below v = {v}")
    } else {
        let floor = exact(floor);
        format!("set schedule.coupling_exponent above {floor} and step_exponent between it and 1")
    };
    if above(u, 0.5) {
        advice.push_str(&format!(", or every noise.exponent below {}", exact(u - 0.5)));
    }
    Condition {
        id: "assumption4.coupling",
        name: "Assumption 4",
        path: "schedule.coupling_exponent",
        holds: None,
        statement: "max ς + 1/2 < u",
        found: format!("u = {}", exact(u)),
        needed: format!(
            "above max ς + 1/2 = {}{}",
            exact(floor),
            if equal { ", equal is not enough" } else { "" }
        ),
        advice: Some(advice),
    }
    .judged(above(u, floor))
}

fn step_exponent(numbers: &Numbers) -> Condition {
    let (u, v) = (numbers.coupling_exponent, numbers.step_exponent);
    let advice = match above(1.0, u) {
        true => format!("set schedule.step_exponent above {} and below 1", exact(u)),
        false => {
            "set schedule.coupling_exponent below 1, and step_exponent between it and 1".into()
        }
    };
    Condition {
        id: "assumption4.step",
        name: "Assumption 4",
        path: "schedule.step_exponent",
        holds: None,
        statement: "u < v < 1",
        found: format!("v = {}", exact(v)),
        needed: format!("above u = {} and below 1", exact(u)),
        advice: Some(advice),
    }
    .judged(above(v, u) && above(1.0, v))
}

fn exact_gradient(config: &Config) -> Condition {
    let approximate = "use memory.kind = \"exact\" (or moments for squared losses); an approximate one is charged in the budget, but the convergence theorems do not cover its error";
    let forgetful = "use memory.kind = \"exact\" (or moments for squared losses) if the data do not drift; what is forgotten is charged rightly, but the convergence theorems are about the whole history";
    let (found, advice) = match config.memory {
        MemoryKind::Exact => ("memory exact", None),
        MemoryKind::Moments => ("memory moments", None),
        MemoryKind::Recursive => ("memory recursive", None),
        MemoryKind::Polynomial { .. } => {
            ("memory polynomial, which approximates", Some(approximate))
        }
        MemoryKind::Anchored { .. } => ("memory anchored, which approximates", Some(approximate)),
        MemoryKind::Arrival => ("memory arrival, whose gradients grow old", Some(approximate)),
        MemoryKind::Window { .. } => ("memory window, which forgets", Some(forgetful)),
        MemoryKind::Decaying { .. } => ("memory decaying, which forgets", Some(forgetful)),
    };
    Condition {
        id: "algorithm1.gradient",
        name: "Algorithm 1",
        path: "memory.kind",
        holds: None,
        statement: "d_t is the gradient of the whole history",
        found: found.into(),
        needed: "an exact memory of all records".into(),
        advice: advice.map(str::to_string),
    }
    .judged(advice.is_none())
}

fn strong_convexity(numbers: &Numbers) -> Condition {
    Condition {
        id: "theorem1.convexity",
        name: "Theorems 1, 3 and 5",
        path: "model.ridge",
        holds: None,
        statement: "strongly convex, μ > 0",
        found: format!("μ = {}", exact(numbers.strong_convexity)),
        needed: "above 0".into(),
        advice: Some("set model.ridge above 0, or rely on Theorems 2 and 4".into()),
    }
    .judged(numbers.strong_convexity > 0.0)
}

fn coupling_size(numbers: &Numbers) -> Condition {
    let limit = numbers.coupling_max();
    Condition {
        id: "theorem1.coupling",
        name: "Theorems 1, 2 and 5",
        path: "schedule.coupling",
        holds: None,
        statement: "γ0 ≤ 1/(−3δ_m)",
        found: format!("γ0 = {}", short(numbers.coupling)),
        needed: limit
            .map_or("δ_m is not known".into(), |limit| format!("at most {}", down(limit))),
        advice: limit.map(|limit| {
            format!("set schedule.coupling to at most {}, or use smaller weights", down(limit))
        }),
    }
    .judged(limit.map(|limit| at_most(numbers.coupling, limit)))
}

fn step_size_strongly_convex(numbers: &Numbers) -> Condition {
    let size = StepSize {
        id: "theorem1.step",
        name: "Theorems 1 and 5",
        statement: "λ0 ≤ −γ0 δ₂ μ/(μ² + 8L²)",
        unknown: if numbers.strong_convexity > 0.0 {
            "δ₂ is not known"
        } else {
            "no bound at μ = 0"
        },
        lever: "a stronger ridge or a smaller feature_norm allows more",
    };
    step_size(numbers, &size, Numbers::step_max_strongly_convex)
}

fn step_size_convex(numbers: &Numbers) -> Condition {
    let size = StepSize {
        id: "theorem2.step",
        name: "Theorem 2",
        statement: "λ0 ≤ −δ₂ γ0/(2(L² + κ² + D²))",
        unknown: "δ₂ is not known",
        lever: "a smaller radius of Θ (D holds ridge × radius) or feature_norm allows more",
    };
    step_size(numbers, &size, Numbers::step_max_convex)
}

struct StepSize {
    id: &'static str,
    name: &'static str,
    statement: &'static str,
    unknown: &'static str,
    lever: &'static str,
}

fn step_size(numbers: &Numbers, size: &StepSize, bound: fn(&Numbers) -> Option<f64>) -> Condition {
    let limit = bound(numbers);
    // The bound shrinks with γ0, which may have to shrink first.
    let coupling = numbers.coupling_max().map_or(numbers.coupling, |max| numbers.coupling.min(max));
    let mended = bound(&Numbers { coupling, ..*numbers });
    Condition {
        id: size.id,
        name: size.name,
        path: "schedule.step",
        holds: None,
        statement: size.statement,
        found: format!("λ0 = {}", short(numbers.step)),
        needed: limit.map_or(size.unknown.into(), |limit| format!("at most {}", down(limit))),
        advice: mended.map(|limit| {
            let (limit, coupling) = (down(limit), down(coupling));
            format!("set schedule.step to at most {limit} with coupling {coupling}; {}", size.lever)
        }),
    }
    .judged(limit.map(|limit| at_most(numbers.step, limit)))
}

fn exponents_convex(numbers: &Numbers) -> Condition {
    let (u, v) = (numbers.coupling_exponent, numbers.step_exponent);
    let floor = numbers.step_exponent_floor();
    let mut advice = match above(1.0, floor) {
        true => format!("set schedule.step_exponent above {} and below 1", up(floor)),
        false => "set schedule.coupling_exponent below 1 first".into(),
    };
    let ceiling = (3.0 * v - 1.0) / 2.0;
    if above(ceiling, numbers.coupling_exponent_floor()) && above(1.0, v) {
        advice.push_str(&format!(", or coupling_exponent below {}", down(ceiling)));
    }
    Condition {
        id: "theorem2.exponents",
        name: "Theorems 2 and 4",
        path: "schedule.step_exponent",
        holds: None,
        statement: "2/3 < (1 + 2u)/3 < v < 1",
        found: format!("u = {}, v = {}", exact(u), exact(v)),
        needed: format!("v above (1 + 2u)/3 = {} and below 1, u above 0.5", up(floor)),
        advice: Some(advice),
    }
    .judged(above(u, 0.5) && above(v, floor) && above(1.0, v))
}

fn laplace(config: &Config) -> Condition {
    let (found, holds) = match config.noise_kind {
        NoiseKind::Laplace => ("Laplace", true),
        NoiseKind::Gaussian => ("Gaussian", false),
    };
    Condition {
        id: "theorem5.noise",
        name: "Theorem 5",
        path: "noise.kind",
        holds: None,
        statement: "every coordinate gets Laplace noise",
        found: format!("{found} noise"),
        needed: "Laplace noise".into(),
        advice: Some(
            "use noise.kind = \"laplace\" for a pure ε; with Gaussian noise rely on the certificate's ε at δ"
                .into(),
        ),
    }
    .judged(holds)
}

const TOLERANCE: f64 = 1e-12;

/// Strictly above: decimal exponents that are equal on paper must not pass by a rounding error.
fn above(left: f64, right: f64) -> bool {
    left > right + TOLERANCE
}

/// At most: a bound that is met with equality on paper must not fail by a rounding error.
fn at_most(left: f64, right: f64) -> bool {
    left <= right * (1.0 + TOLERANCE)
}
