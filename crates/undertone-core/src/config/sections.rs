//! Checking each section of a config.

use super::faults::{
    EXPONENT, FRACTION, Faults, NON_NEGATIVE, POSITIVE, PROBABILITY, SHARE, SIGNED_EXPONENT,
};
use super::memory::memory;
use super::model::{model, parameters};
use super::network::network;
use super::neural::{check_neural, neural};
use super::{
    Config, DataPlan, NoiseScale, OutOfBounds, Partition, RawBounds, RawConfig, RawData, RawMemory,
    RawNoise, RawPrivacy, RawSchedule, RecordOrder,
};
use crate::graph::{Graph, LEARNERS_MAX};
use crate::noise::NoiseKind;
use crate::privacy::{Cap, Rule};
use crate::{DataBounds, Domain, Loss, MemoryKind, ModelSpec, PowerLaw, Round, Schedule};

/// Rounds are paid for one by one: longer horizons would take minutes to add up.
const COUNTED_ROUNDS_MAX: u64 = 100_000_000;

/// Checks everything. `None` only when faults were noted that leave nothing to build.
pub(super) fn check(raw: &RawConfig, faults: &mut Faults) -> Option<Config> {
    let rounds = rounds(raw, faults);
    let graph = network(&raw.network, faults);
    // Without a graph there is a fault already; the rest is checked as for a small network.
    let stated = raw.network.learners.unwrap_or(1).min(LEARNERS_MAX);
    let learners = graph.as_ref().map_or(stated, Graph::learners);
    let neural_network = neural(&raw.model, faults);
    let model = model(&raw.model, neural_network.as_ref(), faults);
    let domain = parameters(&raw.parameters, faults);
    let data = data(&raw.data, faults);
    let bounds = bounds(&raw.bounds, &model, &domain, faults);
    let out_of_bounds = faults.word(
        "bounds.out_of_bounds",
        raw.bounds.out_of_bounds.as_deref(),
        &[("scale", OutOfBounds::Scale), ("refuse", OutOfBounds::Refuse)],
    );
    let (caps, delta) = privacy(&raw.privacy, learners, faults);
    let rule = rule(raw, faults);
    if data.repeat && caps.iter().any(Option::is_some) {
        faults.push(
            "data.repeat",
            true,
            "a cap or target holds for records used once; drop privacy.epsilon, or repeat",
        );
    }
    let (noise_kind, noise_exponents, noise_scale) =
        noise(&raw.noise, rule, &caps, learners, faults);
    let memory = if rule.is_baseline() {
        newest_batch(&raw.memory, faults)
    } else {
        memory(&raw.memory, &model, faults)
    };
    let schedule = schedule(&raw.schedule, faults);
    if let (Domain::Simplex { .. }, true) = (domain, model.lasso > 0.0) {
        faults.push("model.lasso", model.lasso, "is the same for every point of a simplex");
    }
    let config = Config {
        name: raw.name.clone().unwrap_or_else(|| "unnamed".into()),
        rounds,
        unproven: raw.unproven.unwrap_or(false),
        spectrum: graph.as_ref().and_then(Graph::spectrum),
        graph: graph?,
        data,
        bounds,
        out_of_bounds,
        model,
        network: neural_network,
        domain,
        start_spread: faults.number(
            "parameters.start_spread",
            Some(raw.parameters.start_spread.unwrap_or(0.0)),
            &NON_NEGATIVE,
        ),
        memory,
        schedule,
        noise_kind,
        noise_exponents,
        noise_scale,
        caps,
        delta,
        rule,
    };
    let constants = config.model.constants(&config.bounds);
    // Of these L may be unknown, which is said elsewhere.
    let unknown = matches!(config.model.loss, Loss::Neural { .. } | Loss::Declared { .. });
    if !(unknown || constants.gradient_spread <= 1e100 && constants.smoothness <= 1e100) {
        let needed = "the loss is too steep for such features, labels and parameters";
        faults.push("bounds.feature_norm", config.bounds.feature_norm, needed);
    }
    check_neural(raw, &config, faults);
    check_sampler(&config, faults);
    Some(config)
}

fn bounds(raw: &RawBounds, model: &ModelSpec, domain: &Domain, faults: &mut Faults) -> DataBounds {
    let label = if model.loss.classes().is_none() {
        faults.number("bounds.label", raw.label, &POSITIVE)
    } else {
        faults.unused("bounds.label", raw.label.as_ref(), "a regression loss");
        0.0
    };
    DataBounds {
        feature_norm: faults.number("bounds.feature_norm", raw.feature_norm, &POSITIVE),
        label,
        radius: domain.radius(model.parameters()),
    }
}

fn data(raw: &RawData, faults: &mut Faults) -> DataPlan {
    let source = raw.source.clone().unwrap_or_else(|| {
        faults.missing(
            "data.source",
            "the name of a data set, or the path of a file or a folder of images",
        );
        String::new()
    });
    if source == "mushrooms" {
        let only = "a file as the source";
        faults.unused("data.format", raw.format.as_ref(), only);
        faults.unused("data.label", raw.label.as_ref(), only);
        faults.unused("data.classes", raw.classes.as_ref(), only);
        faults.unused("data.categorical", raw.categorical.as_ref(), only);
        faults.unused("data.drop", raw.drop.as_ref(), only);
        faults.unused("data.intercept", raw.intercept.filter(|&wanted| wanted).as_ref(), only);
    }
    let partition = partition(raw, faults);
    let batch = raw.batch.unwrap_or(1);
    if batch == 0 {
        faults.push("data.batch", batch, "must be at least 1");
    }
    let warmup = raw.warmup.unwrap_or(0);
    for (path, value) in [("data.batch", batch), ("data.warmup", warmup)] {
        if value > 1_000_000_000 {
            faults.push(path, value, "must be at most 1000000000");
        }
    }
    DataPlan {
        source,
        format: raw.format.clone(),
        label: raw.label.clone(),
        classes: raw.classes.clone(),
        categorical: raw.categorical.clone(),
        drop: raw.drop.clone().unwrap_or_default(),
        intercept: raw.intercept.unwrap_or(false),
        centre: raw.centre.unwrap_or(false),
        normalise: raw.normalise.unwrap_or(false),
        partition,
        order: raw.order.as_deref().map(|order| {
            let choices = [("shuffled", RecordOrder::Shuffled), ("file", RecordOrder::File)];
            faults.word("data.order", Some(order), &choices)
        }),
        test_fraction: raw
            .test_fraction
            .map(|fraction| faults.number("data.test_fraction", Some(fraction), &FRACTION)),
        warmup: warmup.min(1_000_000_000),
        batch: batch.clamp(1, 1_000_000_000),
        repeat: raw.repeat.unwrap_or(false),
    }
}

fn partition(raw: &RawData, faults: &mut Faults) -> Partition {
    let kind = raw.partition.as_deref();
    if kind != Some("dirichlet") {
        faults.unused("data.alpha", raw.alpha.as_ref(), "partition = \"dirichlet\"");
    }
    if kind != Some("own-class") {
        faults.unused("data.share", raw.share.as_ref(), "partition = \"own-class\"");
    }
    match kind {
        Some("dirichlet") => {
            Partition::Dirichlet { alpha: faults.number("data.alpha", raw.alpha, &POSITIVE) }
        }
        Some("own-class") => {
            Partition::OwnClass { share: faults.number("data.share", raw.share, &PROBABILITY) }
        }
        other => faults.word(
            "data.partition",
            other,
            &[
                ("iid", Partition::Iid),
                ("in-order", Partition::InOrder),
                ("by-class", Partition::ByClass),
                // The last two are taken above; they stand here for the list of choices.
                ("dirichlet", Partition::Iid),
                ("own-class", Partition::Iid),
            ],
        ),
    }
}

fn schedule(raw: &RawSchedule, faults: &mut Faults) -> Schedule {
    let step = faults.number("schedule.step", raw.step, &POSITIVE);
    let step_exponent = faults.number("schedule.step_exponent", raw.step_exponent, &EXPONENT);
    let coupling = faults.number("schedule.coupling", raw.coupling, &POSITIVE);
    let coupling_exponent =
        faults.number("schedule.coupling_exponent", raw.coupling_exponent, &EXPONENT);
    Schedule {
        step: PowerLaw::decaying(step, step_exponent),
        coupling: PowerLaw::decaying(coupling, coupling_exponent),
    }
}

fn rounds(raw: &RawConfig, faults: &mut Faults) -> u64 {
    let rounds = raw.rounds.unwrap_or_else(|| {
        faults.missing("rounds", "how many rounds to run");
        1
    });
    if rounds == 0 || rounds >= Round::LIMIT.0 {
        faults.push("rounds", rounds, format!("must be at least 1 and below {}", Round::LIMIT));
    }
    if rounds > COUNTED_ROUNDS_MAX && raw.noise.calibrate.as_deref() == Some("rounds") {
        let needed = format!("is over {COUNTED_ROUNDS_MAX} rounds; use \"lifetime\"");
        faults.push("noise.calibrate", "\"rounds\"", needed);
    }
    rounds
}

/// The memory of methods that step along the newest batch alone.
fn newest_batch(raw: &RawMemory, faults: &mut Faults) -> MemoryKind {
    if let Some(other) = raw.kind.as_deref().filter(|&kind| kind != "window") {
        let needed = "this method steps along the newest batch; remove it";
        faults.push("memory.kind", format!("\"{other}\""), needed);
    }
    if let Some(rounds) = raw.window.filter(|&rounds| rounds != 1) {
        faults.push("memory.window", rounds, "this method steps along the newest batch: 1");
    }
    MemoryKind::Window { rounds: 1 }
}

fn noise(
    raw: &RawNoise,
    rule: Rule,
    caps: &[Option<Cap>],
    learners: usize,
    faults: &mut Faults,
) -> (NoiseKind, Vec<f64>, NoiseScale) {
    let kind = faults.word(
        "noise.kind",
        raw.kind.as_deref(),
        &[("laplace", NoiseKind::Laplace), ("gaussian", NoiseKind::Gaussian)],
    );
    let range = if rule.is_baseline() { &SIGNED_EXPONENT } else { &EXPONENT };
    let exponents = faults.each("noise.exponent", raw.exponent.as_ref(), learners, range);
    let scale = match (&raw.scale, raw.calibrate.as_deref()) {
        (Some(scale), None) => {
            NoiseScale::Given(faults.each("noise.scale", Some(scale), learners, &POSITIVE))
        }
        (None, Some("lifetime")) => NoiseScale::Lifetime,
        (None, Some("rounds")) => NoiseScale::Rounds,
        (None, Some(other)) => {
            faults.push("noise.calibrate", format!("\"{other}\""), "must be lifetime or rounds");
            NoiseScale::Lifetime
        }
        (Some(_), Some(_)) => {
            faults.push("noise.scale", "", "give either scale or calibrate, not both");
            NoiseScale::Lifetime
        }
        (None, None) => {
            faults.missing("noise.scale", "give scale, or calibrate = \"lifetime\" or \"rounds\"");
            NoiseScale::Lifetime
        }
    };
    if raw.calibrate.is_some() && caps.iter().any(Option::is_none) {
        faults.missing("privacy.epsilon", "calibrated noise needs a target");
    }
    let pure_cap = caps.iter().any(|cap| matches!(cap, Some(Cap::Pure { .. })));
    if kind == NoiseKind::Gaussian && pure_cap {
        faults.push(
            "privacy.pure_epsilon",
            "",
            "Gaussian noise has no pure epsilon; use epsilon and delta",
        );
    }
    (kind, exponents, scale)
}

fn privacy(raw: &RawPrivacy, learners: usize, faults: &mut Faults) -> (Vec<Option<Cap>>, f64) {
    let delta = faults.number("privacy.delta", raw.delta, &PROBABILITY);
    let caps = match (&raw.epsilon, &raw.pure_epsilon) {
        (None, None) => vec![None; learners],
        (Some(epsilon), None) => faults
            .each("privacy.epsilon", Some(epsilon), learners, &POSITIVE)
            .into_iter()
            .map(|epsilon| Some(Cap::Approximate { epsilon, delta }))
            .collect(),
        (None, Some(epsilon)) => faults
            .each("privacy.pure_epsilon", Some(epsilon), learners, &POSITIVE)
            .into_iter()
            .map(|epsilon| Some(Cap::Pure { epsilon }))
            .collect(),
        (Some(_), Some(_)) => {
            faults.push("privacy.epsilon", "", "give either epsilon or pure_epsilon, not both");
            vec![None; learners]
        }
    };
    (caps, delta)
}

/// The method, and for Algorithm 1 how its sensitivity is bounded.
fn rule(raw: &RawConfig, faults: &mut Faults) -> Rule {
    #[derive(Clone, Copy, PartialEq)]
    enum Method {
        Algorithm1,
        Shielded,
        Local,
        Dsgd,
        Dola,
        Pdop,
    }
    let method = faults.word(
        "method",
        Some(raw.method.as_deref().unwrap_or("algorithm1")),
        &[
            ("algorithm1", Method::Algorithm1),
            ("shielded", Method::Shielded),
            ("local", Method::Local),
            ("dsgd", Method::Dsgd),
            ("dola", Method::Dola),
            ("pdop", Method::Pdop),
        ],
    );
    let interval = raw.schedule.interval.unwrap_or(1);
    if !(1..=1_000_000).contains(&interval) {
        faults.push("schedule.interval", interval, "must be 1 to 1000000");
    }
    if method != Method::Shielded {
        let interval = raw.schedule.interval.as_ref();
        faults.unused("schedule.interval", interval, "method = \"shielded\"");
    }
    if method != Method::Pdop {
        let ratio = raw.schedule.step_ratio.as_ref();
        faults.unused("schedule.step_ratio", ratio, "method = \"pdop\"");
        faults.unused("noise.ratio", raw.noise.ratio.as_ref(), "method = \"pdop\"");
    }
    if method != Method::Algorithm1 {
        faults.unused("privacy.rule", raw.privacy.rule.as_ref(), "method = \"algorithm1\"");
    }
    match method {
        Method::Shielded => return Rule::Shielded { interval: interval.max(1) },
        Method::Local => return Rule::Local,
        Method::Dsgd => return Rule::Dsgd,
        Method::Dola => return Rule::Dola,
        Method::Pdop => {
            return Rule::Pdop {
                step_ratio: faults.number("schedule.step_ratio", raw.schedule.step_ratio, &SHARE),
                noise_ratio: faults.number("noise.ratio", raw.noise.ratio, &SHARE),
            };
        }
        Method::Algorithm1 => {}
    }
    faults.word(
        "privacy.rule",
        Some(raw.privacy.rule.as_deref().unwrap_or("tight")),
        &[("tight", Rule::Tight), ("theorem5i", Rule::Theorem5i), ("theorem5ii", Rule::Theorem5ii)],
    )
}

/// The sampler is exact only while |θ| is not too many grid steps: check the first and last round.
fn check_sampler(config: &Config, faults: &mut Faults) {
    let NoiseScale::Given(scales) = &config.noise_scale else { return };
    let learners = config.graph.ids().zip(scales).zip(&config.noise_exponents);
    for ((learner, &scale), &exponent) in learners {
        let law = PowerLaw::growing(scale, exponent);
        for round in [Round::ZERO, Round(config.rounds)] {
            let mechanism = config.mechanism(learner, PowerLaw::ZERO, scale, law);
            if let Err(error) = mechanism.perturbation(round).grid() {
                faults.push("noise.scale", scale, error.to_string());
                return;
            }
        }
    }
}
