//! What to change in an agreement that breaks a condition of the theorems.

use undertone_core::MemoryKind;
use undertone_core::agreement::digits::{down, exact, up};
use undertone_core::agreement::{Agreement, Condition, Numbers, above};
use undertone_core::privacy::NoCertificate;

/// What to change so that a condition holds; `None` if it holds, or if no change is known to help.
#[must_use]
pub fn advice(agreement: &Agreement, condition: &Condition) -> Option<String> {
    if condition.holds == Some(true) {
        return None;
    }
    let numbers = Numbers::of(agreement);
    let text = match condition.id {
        "assumption1.domain" => "use a ball or a box".into(),
        "assumption1.convexity" => "choose a convex loss".into(),
        "assumption1.gradient" | "assumption3.deviation" | "assumption5.spread" => {
            "use smaller bounds on features, labels and parameters".into()
        }
        "assumption2.connected" => "connect every learner to the others".into(),
        "assumption2.eigenvalue" => weights(agreement, &numbers),
        "assumption3.smoothness" => smoothness(agreement).into(),
        "assumption4.noise" => {
            "set every noise.exponent above 0 and below 0.5, 0.01 for example".into()
        }
        "assumption4.coupling" => coupling_exponent(&numbers),
        "assumption4.step" => step_exponent(&numbers),
        "algorithm1.gradient" => memory(agreement).into(),
        "theorem1.convexity" => "set model.ridge above 0, or rely on Theorems 2 and 4".into(),
        "theorem1.coupling" => {
            let limit = down(numbers.coupling_max()?);
            format!("set schedule.coupling to at most {limit}, or use smaller weights")
        }
        "theorem1.step" => step_size(
            &numbers,
            Numbers::step_max_strongly_convex,
            "a stronger ridge or a smaller feature_norm allows more",
        )?,
        "theorem2.step" => step_size(
            &numbers,
            Numbers::step_max_convex,
            "a smaller radius of Θ (D holds ridge × radius) or feature_norm allows more",
        )?,
        "theorem2.exponents" => exponents(&numbers),
        "theorem5.noise" => {
            "use noise.kind = \"laplace\" for a pure ε; with Gaussian noise rely on the certificate's ε at δ".into()
        }
        _ => return None,
    };
    Some(text)
}

/// What to change so that there is a lifetime certificate.
pub(super) fn certificate_advice(reason: NoCertificate) -> &'static str {
    match reason {
        NoCertificate::FiniteHorizonBound => "set privacy.bound to tight or theorem5ii",
        NoCertificate::NotConvexAndSmooth => "choose a convex loss and keep the bounds finite",
        NoCertificate::RecordsRepeat => "set data.repeat = false: records used once pay once",
        NoCertificate::NoNewRecords => "let records arrive: records.batch at least 1",
        NoCertificate::NoContraction => {
            "set schedule.coupling_exponent below 1 and step_exponent above it, and raise coupling or lower step"
        }
        NoCertificate::Forgetting { .. } => {
            "with memory.kind = \"window\" or \"decaying\", set schedule.step_exponent and coupling_exponent to 0"
        }
        NoCertificate::Diverges { .. } => {
            "use an exact memory or a larger memory.tolerance_exponent, or raise noise.exponent"
        }
    }
}

fn weights(agreement: &Agreement, numbers: &Numbers) -> String {
    match (agreement.graph.uniform_weight(), numbers.delta_m) {
        (Some(weight), Some(delta)) => {
            format!("use a weight below {} on this graph", down(weight / -delta))
        }
        (None, Some(delta)) => format!("multiply all weights by less than {}", down(-1.0 / delta)),
        (_, None) => "weights that add up to less than 1/2 at every learner are enough".into(),
    }
}

fn smoothness(agreement: &Agreement) -> &'static str {
    if agreement.neural.is_some() {
        "a neural network has none: use method = \"shielded\", which needs none"
    } else {
        "set model.lasso = 0 and keep the bounds finite"
    }
}

fn coupling_exponent(numbers: &Numbers) -> String {
    let (u, v) = (numbers.coupling_exponent, numbers.step_exponent);
    let floor = numbers.coupling_exponent_floor();
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
    advice
}

fn step_exponent(numbers: &Numbers) -> String {
    let u = numbers.coupling_exponent;
    match above(1.0, u) {
        true => format!("set schedule.step_exponent above {} and below 1", exact(u)),
        false => {
            "set schedule.coupling_exponent below 1, and step_exponent between it and 1".into()
        }
    }
}

fn memory(agreement: &Agreement) -> &'static str {
    match agreement.memory {
        MemoryKind::Window { .. } | MemoryKind::Decaying { .. } => {
            "use memory.kind = \"exact\" (or moments for squared losses) if the data do not drift; forgetting is accounted for, but the convergence theorems are about the whole history"
        }
        MemoryKind::Exact
        | MemoryKind::Moments
        | MemoryKind::Recursive
        | MemoryKind::Polynomial { .. }
        | MemoryKind::Anchored { .. }
        | MemoryKind::Arrival => {
            "use memory.kind = \"exact\" (or moments for squared losses); an approximate one is charged in the budget, but the convergence theorems do not cover its error"
        }
    }
}

fn step_size(numbers: &Numbers, bound: fn(&Numbers) -> Option<f64>, other: &str) -> Option<String> {
    // The bound is proportional to γ0, which may have to be reduced first.
    let coupling = numbers.coupling_max().map_or(numbers.coupling, |max| numbers.coupling.min(max));
    let limit = down(bound(&Numbers { coupling, ..*numbers })?);
    let coupling = down(coupling);
    Some(format!("set schedule.step to at most {limit} with coupling {coupling}; {other}"))
}

fn exponents(numbers: &Numbers) -> String {
    let v = numbers.step_exponent;
    let floor = numbers.step_exponent_floor();
    let mut advice = match above(1.0, floor) {
        true => format!("set schedule.step_exponent above {} and below 1", up(floor)),
        false => "set schedule.coupling_exponent below 1 first".into(),
    };
    let ceiling = (3.0 * v - 1.0) / 2.0;
    if above(ceiling, numbers.coupling_exponent_floor()) && above(1.0, v) {
        advice.push_str(&format!(", or coupling_exponent below {}", down(ceiling)));
    }
    advice
}
