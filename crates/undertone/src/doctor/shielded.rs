//! What the certificate of the shielded method rests on.
//!
//! No theorem of the paper speaks of it, and its certificate needs neither convexity nor a contraction
//! (ADR 0012). It needs that no gradient is too long, that noise of a known price is added to each that leaves,
//! and that a record weighs less and less. The last two facts are about learning alone.

use super::{Finding, Usage};
use undertone_core::Forgetting;
use undertone_core::agreement::Digits::{Down, Nearest};
use undertone_core::agreement::{Agreement, Condition, ConditionId};
use undertone_core::noise::NoiseKind;
use undertone_core::planner::interval_max;

const CERTIFICATE: &str = "What the certificate rests on";
const LEARNING: &str = "What learning rests on";

/// Every fact, with the numbers of the agreement.
pub(super) fn facts(agreement: &Agreement, usage: Usage) -> Vec<Finding> {
    let mut facts = vec![
        gradient(agreement),
        spread(agreement),
        noise(agreement),
        history(agreement),
        weights(agreement),
    ];
    facts.extend(interval(agreement, usage));
    facts
}

fn finding(condition: Condition, advice: String) -> Finding {
    let advice = (condition.holds != Some(true)).then_some(advice);
    Finding { condition, advice }
}

fn gradient(agreement: &Agreement) -> Finding {
    let norm = agreement.model.constants(&agreement.bounds).gradient_norm;
    let how = match agreement.model.clip.is_finite() {
        true => format!("clipped by model.clip = {}", Nearest.of(agreement.model.clip)),
        false => "by the loss and bounds.feature_norm, without clipping".into(),
    };
    let condition = Condition {
        id: ConditionId::ShieldedGradient,
        name: CERTIFICATE,
        path: "model.clip",
        holds: Some(norm.is_finite()),
        statement: "no record's gradient is longer than G",
        found: format!("G = {}, {how}", Nearest.of(norm)),
        needed: "a finite bound".into(),
    };
    finding(condition, "set model.clip, or keep the bounds finite".into())
}

fn spread(agreement: &Agreement) -> Finding {
    let constants = agreement.model.constants(&agreement.bounds);
    let (spread, twice) = (constants.gradient_spread, 2.0 * constants.gradient_norm);
    let how = match agreement.model.declared_by_user() {
        Some(_) => "declared",
        None => "proved",
    };
    let found = match spread < twice {
        true => format!("C = {}, {how} below 2G = {}", Nearest.of(spread), Nearest.of(twice)),
        false => format!("C = 2G = {}", Nearest.of(spread)),
    };
    let condition = Condition {
        id: ConditionId::ShieldedSpread,
        name: CERTIFICATE,
        path: "model.clip",
        holds: Some(spread.is_finite() && spread <= twice),
        statement: "replacing a record moves the sum of gradients by at most C, which is no more than 2G",
        found,
        needed: "a finite bound".into(),
    };
    finding(condition, "set model.clip, or keep the bounds finite".into())
}

fn noise(agreement: &Agreement) -> Finding {
    let (kind, price) = match agreement.noise_kind {
        NoiseKind::Gaussian => ("Gaussian", "ε at δ, and no pure ε"),
        NoiseKind::Laplace => ("Laplace", "pure ε, and ε at δ"),
    };
    let condition = Condition {
        id: ConditionId::ShieldedNoise,
        name: CERTIFICATE,
        path: "noise.kind",
        holds: Some(true),
        statement: "every gradient that leaves carries noise in every coordinate",
        found: format!("{kind} noise, which has {price}"),
        needed: "Gaussian or Laplace noise".into(),
    };
    finding(condition, String::new())
}

fn history(agreement: &Agreement) -> Finding {
    let records = &agreement.records;
    let (warmup, batch) = (records.warmup, records.batch);
    let found = match agreement.memory.forgetting() {
        Forgetting::Never => format!("h_t = {warmup} + {batch}·(t + 1)"),
        Forgetting::Window { .. } | Forgetting::Decaying { .. } => {
            format!("{batch} records a round, and old ones are forgotten")
        }
    };
    let condition = Condition {
        id: ConditionId::ShieldedHistory,
        name: CERTIFICATE,
        path: "records.batch",
        holds: Some(batch > 0),
        statement: "a record's share C/h_t of a gradient shrinks, because records keep arriving",
        found,
        needed: "at least one record a round".into(),
    };
    finding(condition, "let records arrive: records.batch at least 1".into())
}

/// Weights enter no charge: only what is public is mixed. Below 2 mixing brings learners together.
fn weights(agreement: &Agreement) -> Finding {
    let (graph, coupling) = (&agreement.graph, agreement.schedule.coupling.initial);
    let heaviest = graph.ids().map(|id| graph.weight(id)).fold(0.0, f64::max);
    // No eigenvalue of W is below −2 max |w_ii| (Gershgorin).
    let (eigenvalue, exact) = match agreement.spectrum {
        Some(spectrum) => (-spectrum.delta_m, true),
        None => (2.0 * heaviest, false),
    };
    let reach = coupling * eigenvalue;
    let holds = if reach < 2.0 { Some(true) } else { exact.then_some(false) };
    let found = match (graph.edges(), exact) {
        (0, _) => "no neighbours".to_string(),
        (_, true) => format!("γ0 = {}, −δ_m = {}", Nearest.of(coupling), Nearest.of(eigenvalue)),
        (_, false) => {
            format!("γ0 = {}, −δ_m at most {}", Nearest.of(coupling), Nearest.of(eigenvalue))
        }
    };
    let condition = Condition {
        id: ConditionId::ShieldedWeights,
        name: LEARNING,
        path: "schedule.coupling",
        holds,
        statement: "mixing does not overshoot, γ0(−δ_m) < 2 (weights enter no charge)",
        found,
        needed: "a product below 2".into(),
    };
    let limit = Down.of(2.0 / eigenvalue);
    finding(condition, format!("set schedule.coupling below {limit}, or use smaller weights"))
}

/// Without a gradient in the planned rounds nothing is learnt, and nothing is spent. Not asked where no number of
/// rounds is planned, as in an agreement.
fn interval(agreement: &Agreement, usage: Usage) -> Option<Finding> {
    let interval = agreement.method.describe().interval?;
    let rounds = usage.rounds?;
    let most = interval_max(rounds);
    let condition = Condition {
        id: ConditionId::ShieldedInterval,
        name: LEARNING,
        path: "schedule.interval",
        holds: Some(interval <= most),
        statement: "a gradient leaves within the planned rounds",
        found: format!("one in every {interval} rounds, of {rounds}"),
        needed: format!("an interval of at most {most}"),
    };
    let advice = format!("set schedule.interval to at most {most}, or plan more rounds");
    Some(finding(condition, advice))
}
