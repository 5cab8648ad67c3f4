//! What to change in an agreement that breaks a condition of the theorems.

use undertone_core::MemoryKind;
use undertone_core::agreement::Digits::{Down, Exact, Up};
use undertone_core::agreement::{Agreement, Condition, ConditionId, Limits, Numbers};
use undertone_core::graph::Graph;
use undertone_core::method::Method;
use undertone_core::privacy::NoCertificate;

/// What to change so that a condition holds; `None` if it holds, or if no change is known to help.
#[must_use]
pub fn advice(agreement: &Agreement, condition: &Condition) -> Option<String> {
    if condition.holds == Some(true) {
        return None;
    }
    let numbers = Numbers::of(agreement);
    let text = match condition.id {
        ConditionId::Domain => "use a ball or a box".into(),
        ConditionId::Convexity => "choose a convex loss".into(),
        ConditionId::Gradient | ConditionId::Deviation | ConditionId::Spread => {
            "use smaller bounds on features, labels and parameters".into()
        }
        ConditionId::Connected => "connect every learner to the others".into(),
        ConditionId::Eigenvalue => weights(agreement, &numbers),
        ConditionId::Smoothness => smoothness(agreement).into(),
        ConditionId::NoiseExponent => {
            "set every noise.exponent above 0 and below 0.5, 0.01 for example".into()
        }
        ConditionId::CouplingExponent => coupling_exponent(&numbers),
        ConditionId::StepExponent => step_exponent(&numbers),
        ConditionId::HistoryGradient => memory(agreement).into(),
        ConditionId::StrongConvexity => "set model.ridge above 0, or rely on Theorems 2 and 4".into(),
        ConditionId::CouplingSize => {
            let limit = Down.of(numbers.limits().coupling_max?);
            format!("set schedule.coupling to at most {limit}, or use smaller weights")
        }
        ConditionId::StepSizeStronglyConvex => step_size(
            &numbers,
            |limits| limits.ratio_min_strongly_convex,
            "a stronger ridge or a smaller feature_norm allows more",
        )?,
        ConditionId::StepSizeConvex => step_size(
            &numbers,
            |limits| limits.ratio_min_convex,
            "a smaller radius of Θ (D holds ridge × radius) or feature_norm allows more",
        )?,
        ConditionId::ExponentsConvex => exponents(&numbers),
        ConditionId::LaplaceNoise => {
            "use noise.kind = \"laplace\" for a pure ε; with Gaussian noise rely on the certificate's ε at δ".into()
        }
        // What a shielded config needs is said where it is found (`shielded.rs`).
        ConditionId::ShieldedGradient
        | ConditionId::ShieldedSpread
        | ConditionId::ShieldedNoise
        | ConditionId::ShieldedHistory
        | ConditionId::ShieldedWeights
        | ConditionId::ShieldedInterval
        | ConditionId::LifetimeCertificate => return None,
    };
    Some(text)
}

/// What to change so that there is a lifetime certificate.
pub(super) fn certificate_advice(reason: NoCertificate) -> String {
    let advice = match reason {
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
        // Not reached for an agreement, which has no rounds to depart from the plan.
        NoCertificate::DepartedFromPlan => {
            let names = Method::names_where(|method| method.runs_on_a_network);
            return format!("choose method = \"{}\"", names.join("\" or \""));
        }
        NoCertificate::Diverges { .. } => {
            "use an exact memory or a larger memory.tolerance_exponent, or raise noise.exponent"
        }
    };
    advice.into()
}

fn weights(agreement: &Agreement, numbers: &Numbers) -> String {
    match (uniform_weight(&agreement.graph), numbers.delta_m) {
        (Some(weight), Some(delta)) => {
            format!("use a weight below {} on this graph", Down.of(weight / -delta))
        }
        (None, Some(delta)) => {
            format!("multiply all weights by less than {}", Down.of(-1.0 / delta))
        }
        (_, None) => "weights that add up to less than 1/2 at every learner are enough".into(),
    }
}

/// The weight of every edge, if all are equal.
fn uniform_weight(graph: &Graph) -> Option<f64> {
    let mut weights = graph.ids().flat_map(|id| graph.neighbours(id)).map(|&(_, weight)| weight);
    let first = weights.next()?;
    weights.all(|weight| weight.to_bits() == first.to_bits()).then_some(first)
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
    let floor = numbers.limits().coupling_exponent_floor;
    let mut advice = if !above(1.0, floor) {
        "bring every noise.exponent below 0.5 first".to_string()
    } else if above(v, floor) {
        let (floor, v) = (Exact.of(floor), Exact.of(v));
        format!("set schedule.coupling_exponent above {floor} and below v = {v}")
    } else {
        let floor = Exact.of(floor);
        format!("set schedule.coupling_exponent above {floor} and step_exponent between it and 1")
    };
    if above(u, 0.5) {
        advice.push_str(&format!(", or every noise.exponent below {}", Exact.of(u - 0.5)));
    }
    advice
}

fn step_exponent(numbers: &Numbers) -> String {
    let u = numbers.coupling_exponent;
    match above(1.0, u) {
        true => format!("set schedule.step_exponent above {} and below 1", Exact.of(u)),
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

fn step_size(
    numbers: &Numbers,
    ratio_min: fn(&Limits) -> Option<f64>,
    other: &str,
) -> Option<String> {
    let limits = numbers.limits();
    // The bound shrinks with γ0, which may have to shrink first.
    let coupling = limits.coupling_max.map_or(numbers.coupling, |max| numbers.coupling.min(max));
    let limit = Down.of(coupling / ratio_min(&limits)?);
    let coupling = Down.of(coupling);
    Some(format!("set schedule.step to at most {limit} with coupling {coupling}; {other}"))
}

fn exponents(numbers: &Numbers) -> String {
    let v = numbers.step_exponent;
    let floor = numbers.limits().step_exponent_floor;
    let mut advice = match above(1.0, floor) {
        true => format!("set schedule.step_exponent above {} and below 1", Up.of(floor)),
        false => "set schedule.coupling_exponent below 1 first".into(),
    };
    let ceiling = (3.0 * v - 1.0) / 2.0;
    if above(ceiling, numbers.limits().coupling_exponent_floor) && above(1.0, v) {
        advice.push_str(&format!(", or coupling_exponent below {}", Down.of(ceiling)));
    }
    advice
}

/// Above, for numbers that people wrote: decimals that read the same are equal, whatever their last bits.
fn above(left: f64, right: f64) -> bool {
    left > right && Exact.of(left) != Exact.of(right)
}
