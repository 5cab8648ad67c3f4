//! Layer 3: one secret bit in every coordinate of a release, guessed from the release alone.
//!
//! Half the claimed scale is added to or taken from each coordinate of θ, so that the claim is that
//! each bit is 1-private (ε = 1, or Δ/s = 1 for Gaussian noise). The share of right guesses gives a
//! lower bound on the truth: above the claim it is broken, far below the test itself is dead.
//!
//! | test | n | alpha | smallest error seen |
//! |---|---|---|---|
//! | Clopper-Pearson on right guesses | 10⁶ bits | 10⁻⁶ | noise 2 % too small, 99 times of 100 |
//!
//! # Source
//! Steinke, Nasr and Jagielski (2023), one-run auditing, here with independent coordinates.

use super::Effort;
use super::intervals::{ALPHA, critical, lower, strength};
use super::replay::Make;
use super::report::{Check, Layer, Verdict};
use super::subject::{Facts, Subject, Trial};
use crate::entropy::Shuffle;
use undertone::ReleaseError;
use undertone::noise::NoiseKind;

/// The claim at which power is checked.
const CLAIM: f64 = 1.0;
/// The share of the claim that a live test proves.
const POWER: f64 = 0.9;
/// Trials of this layer are numbered from here.
const FIRST_TRIAL: u64 = 3 << 40;

/// Plants and guesses the bits.
///
/// # Errors
/// When nothing can be released in round 0.
pub(super) fn audit<S: Subject>(
    facts: &Facts,
    make: Make<'_, S>,
    effort: &Effort,
) -> Result<Vec<Check>, ReleaseError> {
    let kind = facts.mechanism.noise.kind;
    let dimension = facts.dimension();
    let scale = make(&Trial::new(FIRST_TRIAL)).claims().scale;
    let half = 0.5 * CLAIM * scale;
    let mut bits = Shuffle::new(facts.seed ^ 0xca9a_0001);
    let (mut guesses, mut right) = (0_u64, 0_u64);
    let releases = effort.canaries.div_ceil(dimension as u64);
    for number in 0..releases {
        let start: Vec<f64> =
            (0..dimension).map(|_| if bits.next_u64() >> 63 == 1 { half } else { -half }).collect();
        let trial = Trial { start: Some(start.clone()), ..Trial::new(FIRST_TRIAL + number) };
        for (y, secret) in make(&trial).release()?.into_iter().zip(start) {
            // Between the two values Laplace noise says little; Gaussian noise has no such place.
            let sure = kind == NoiseKind::Gaussian || y.abs() >= half;
            guesses += u64::from(sure);
            right += u64::from(sure && (y > 0.0) == (secret > 0.0));
        }
    }
    let bound = if guesses == 0 { f64::NAN } else { lower(right, guesses, ALPHA) };
    let proven = strength(kind, bound);
    let unit = match kind {
        NoiseKind::Laplace => "epsilon of one coordinate",
        NoiseKind::Gaussian => "distance over deviation of one coordinate",
    };
    let note =
        format!("{unit}: lower bound from {right} right of {guesses} guesses, alpha {ALPHA:e}");
    let required = required(kind, guesses);
    Ok(vec![
        check("bound", CLAIM, proven, Verdict::of(proven <= CLAIM), note),
        check(
            "power",
            required,
            proven,
            if proven >= required { Verdict::Holds } else { Verdict::Dead },
            "the least that a live test proves of a claim of 1".into(),
        ),
    ])
}

fn check(name: &'static str, claimed: f64, measured: f64, verdict: Verdict, note: String) -> Check {
    Check { layer: Layer::Canaries, name, claimed, measured, verdict, note }
}

/// 0.9 of the claim, or what this number of guesses can prove but for bad luck of chance 10⁻⁶.
fn required(kind: NoiseKind, guesses: u64) -> f64 {
    let count = guesses.max(1) as f64;
    let share = match kind {
        NoiseKind::Laplace => CLAIM.exp() / (1.0 + CLAIM.exp()),
        NoiseKind::Gaussian => 0.691_462_461,
    };
    let spread = (share * (1.0 - share) / count).sqrt();
    let reached = (share - critical(2.0 * ALPHA) * spread).max(0.5);
    let expected = lower((reached * count) as u64, guesses.max(1), ALPHA);
    strength(kind, expected).clamp(0.0, POWER * CLAIM)
}
