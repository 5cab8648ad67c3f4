//! Checking `[noise]`.

use super::{Agreement, Faults, NoiseScale, Range, RawNoise};
use crate::method::Method;
use crate::noise::NoiseKind;
use crate::privacy::Cap;
use crate::{PowerLaw, Round};

/// Costs are added round by round: a longer horizon would take minutes.
const COUNTED_ROUNDS_MAX: u64 = 100_000_000;

/// What `[noise]` says.
pub(super) struct Noise {
    pub(super) kind: NoiseKind,
    pub(super) exponents: Vec<f64>,
    pub(super) scale: NoiseScale,
}

pub(super) fn noise(
    raw: &RawNoise,
    method: Method,
    caps: &[Option<Cap>],
    learners: usize,
    faults: &mut Faults,
) -> Noise {
    let kind = faults.word(
        "noise.kind",
        raw.kind.as_deref(),
        &[("laplace", NoiseKind::Laplace), ("gaussian", NoiseKind::Gaussian)],
    );
    // A record that is used in one step pays for a few rounds only, whatever the noise of later rounds is.
    let once = method.describe().gradients.are_of_newest_batch();
    let range = if once { Range::SignedExponent } else { Range::Exponent };
    let exponents = faults.each("noise.exponent", raw.exponent.as_ref(), learners, range);
    let scale = scale(raw, learners, faults);
    if raw.calibrate.is_some() && caps.iter().any(Option::is_none) {
        faults.missing("privacy.epsilon", "calibrated noise needs a target");
    }
    let pure_cap = caps.iter().any(|cap| matches!(cap, Some(Cap::Pure { .. })));
    if kind == NoiseKind::Gaussian && pure_cap {
        faults.push(
            "privacy.pure_epsilon",
            "",
            "Gaussian noise has no pure epsilon: use epsilon and delta, or noise.kind = \"laplace\"",
        );
    }
    Noise { kind, exponents, scale }
}

fn scale(raw: &RawNoise, learners: usize, faults: &mut Faults) -> NoiseScale {
    if raw.calibrate.as_deref() != Some("rounds") {
        faults.unused("noise.rounds", raw.rounds.as_ref(), "calibrate = \"rounds\"");
    }
    match (&raw.scale, raw.calibrate.as_deref()) {
        (Some(scale), None) => {
            NoiseScale::Given(faults.each("noise.scale", Some(scale), learners, Range::Positive))
        }
        (None, Some("lifetime")) => NoiseScale::Lifetime,
        (None, Some("rounds")) => NoiseScale::Rounds(calibrated_rounds(raw, faults)),
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
    }
}

fn calibrated_rounds(raw: &RawNoise, faults: &mut Faults) -> u64 {
    let Some(rounds) = raw.rounds else {
        faults.missing("noise.rounds", "for how many rounds the noise is calibrated");
        return 1;
    };
    if rounds == 0 || rounds >= Round::LIMIT.0 {
        let needed = format!("must be at least 1 and below {}", Round::LIMIT);
        faults.push("noise.rounds", rounds, needed);
    } else if rounds > COUNTED_ROUNDS_MAX {
        let needed = format!("is over {COUNTED_ROUNDS_MAX} rounds; use calibrate = \"lifetime\"");
        faults.push("noise.rounds", rounds, needed);
    }
    rounds.clamp(1, COUNTED_ROUNDS_MAX)
}

/// The sampler is exact only while |θ| is not too many grid steps: checks the first round.
pub(super) fn check_sampler(agreement: &Agreement, faults: &mut Faults) {
    let NoiseScale::Given(scales) = &agreement.noise_scale else { return };
    let constants = agreement.model.constants(&agreement.bounds);
    let learners = agreement.graph.ids().zip(scales).zip(&agreement.noise_exponents);
    for ((learner, &scale), &exponent) in learners {
        let law = PowerLaw::growing(scale, exponent);
        let mechanism = agreement.mechanism(constants, learner, PowerLaw::ZERO, scale, law);
        if let Err(error) = mechanism.perturbation(Round::ZERO).grid() {
            faults.push("noise.scale", scale, error.to_string());
            return;
        }
    }
}
