//! Checking a whole agreement, section by section.

use super::bounds::{bounds, out_of_bounds};
use super::features::transform;
use super::graph::graph;
use super::memory::{memory, newest_batch};
use super::model::{model, parameters};
use super::neural::{check_neural, neural};
use super::noise::{check_sampler, noise};
use super::privacy::privacy;
use super::records::records;
use super::schedule::schedule;
use super::{Agreement, Faults, Range, RawAgreement};
use crate::graph::{Graph, LEARNERS_MAX};
use crate::method::Method;
use crate::{Domain, Loss};

/// Checks everything. Returns `None` only if no agreement can be built because of the faults.
pub(super) fn check(raw: &RawAgreement, faults: &mut Faults) -> Option<Agreement> {
    let graph = graph(&raw.network, faults);
    // Without a graph a fault is already noted. The rest is checked as for a small network.
    let stated = raw.network.learners.unwrap_or(1).min(LEARNERS_MAX);
    let learners = graph.as_ref().map_or(stated, Graph::learners);
    let neural = neural(&raw.model, faults);
    let transform = transform(raw, faults);
    let model = model(&raw.model, neural.as_ref(), transform.as_ref(), faults);
    let domain = parameters(&raw.parameters, faults);
    let records = records(&raw.records, faults);
    let bounds = bounds(&raw.bounds, &model, &domain, faults);
    let out_of_bounds = out_of_bounds(&raw.bounds, faults);
    let (caps, delta) = privacy(&raw.privacy, learners, faults);
    let method = Method::read(raw, faults);
    let noise = noise(&raw.noise, method, &caps, learners, faults);
    let memory = if method.describe().gradients.are_of_newest_batch() {
        newest_batch(&raw.memory, faults)
    } else {
        memory(&raw.memory, &model, faults)
    };
    let schedule = schedule(&raw.schedule, faults);
    let start_spread = Some(raw.parameters.start_spread.unwrap_or(0.0));
    let start_spread = faults.number("parameters.start_spread", start_spread, Range::NonNegative);
    if let (Domain::Simplex { .. }, true) = (domain, model.lasso > 0.0) {
        faults.push("model.lasso", model.lasso, "is the same for every point of a simplex");
    }
    let agreement = Agreement {
        name: raw.name.clone().unwrap_or_else(|| "unnamed".into()),
        unproven: raw.unproven.unwrap_or(false),
        spectrum: graph.as_ref().and_then(Graph::spectrum),
        graph: graph?,
        records,
        bounds,
        out_of_bounds,
        transform,
        model,
        neural,
        domain,
        start_spread,
        memory,
        schedule,
        noise_kind: noise.kind,
        noise_exponents: noise.exponents,
        noise_scale: noise.scale,
        caps,
        delta,
        method,
    };
    check_constants(&agreement, faults);
    check_neural(raw, &agreement, faults);
    check_sampler(&agreement, faults);
    Some(agreement)
}

fn check_constants(agreement: &Agreement, faults: &mut Faults) {
    let constants = agreement.model.constants(&agreement.bounds);
    // For these, L may be unknown, which is reported elsewhere.
    let unknown = matches!(agreement.model.loss, Loss::Neural { .. } | Loss::Declared { .. });
    if !(unknown || constants.gradient_spread <= 1e100 && constants.smoothness <= 1e100) {
        let needed = "the loss is too steep for such features, labels and parameters";
        faults.push("bounds.feature_norm", agreement.bounds.feature_norm, needed);
    }
}
