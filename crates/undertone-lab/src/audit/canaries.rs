//! The layer `canaries`: one secret bit in every coordinate of a release, guessed from the release
//! alone.
//!
//! Each coordinate of the secret (θ, or a gradient) is plus or minus half the claimed scale, so the
//! claim is that each bit is 1-private (ε = 1, or Δ/s = 1 for Gaussian noise). The share of correct
//! guesses gives a lower bound on the true loss. Above the claim, the claim is broken; far below
//! it, the test is dead.
//!
//! | test | n | alpha | smallest error seen |
//! |---|---|---|---|
//! | Clopper-Pearson on right guesses | 10⁶ bits | 10⁻⁶ | noise 2 % too small, 99 times of 100 |
//!
//! # Source
//! Steinke, Nasr and Jagielski (2023), one-run auditing, here with independent coordinates.

use super::Effort;
use super::audited_learner::Facts;
use super::intervals::{ALPHA, critical, lower, strength};
use super::limits::{round_cost, rounds_in_all};
use super::replay::Make;
use super::report::{Check, Layer, Verdict};
use super::subject::{Subject, Trial};
use undertone::ReleaseError;
use undertone::noise::NoiseKind;
use undertone_models::PublicRandom;

/// The claim at which power is checked.
const CLAIM: f64 = 1.0;
/// The share of the claim that the test must prove, or it is dead.
const POWER: f64 = 0.9;
/// The first trial number of this layer.
const FIRST_TRIAL: u64 = 3 << 40;

/// Plants and guesses the bits.
///
/// # Errors
/// When nothing can be released.
pub(super) fn audit<S: Subject>(
    facts: &Facts,
    make: Make<'_, S>,
    effort: &Effort,
) -> Result<Vec<Check>, ReleaseError> {
    let kind = facts.mechanism.noise.kind;
    let (guesses, right) = guess(facts, make, effort)?;
    if guesses == 0 {
        let note = "nothing released could be guessed from: nothing was tested".into();
        return Ok(vec![check("bound", CLAIM, f64::NAN, Verdict::Dead, note)]);
    }
    let proven = strength(kind, lower(right, guesses, ALPHA));
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

/// Returns how many bits were guessed, and how many correctly.
fn guess<S: Subject>(
    facts: &Facts,
    make: Make<'_, S>,
    effort: &Effort,
) -> Result<(u64, u64), ReleaseError> {
    let kind = facts.mechanism.noise.kind;
    let dimension = facts.dimension();
    let planted = |number: u64, secret: Vec<f64>| {
        make(&Trial { planted: Some(secret), ..Trial::new(FIRST_TRIAL + number) })
    };
    let mut probe = planted(0, vec![0.0; dimension]);
    let Some(scale) = first_secret(facts, &mut probe)? else { return Ok((0, 0)) };
    let half = 0.5 * CLAIM * scale;
    let mut bits = PublicRandom::new(facts.seed ^ 0xca9a_0001);
    let (mut guesses, mut right) = (0, 0);
    let one = (facts.interval() + 1) as f64 * round_cost(facts, 0.0, 0.0);
    let affordable = rounds_in_all(one, effort).max(1);
    for number in 0..effort.canaries.div_ceil(dimension as u64).min(affordable) {
        let secret: Vec<f64> =
            (0..dimension).map(|_| if bits.next_u64() >> 63 == 1 { half } else { -half }).collect();
        let mut subject = planted(number, secret.clone());
        if first_secret(facts, &mut subject)?.is_none() {
            break;
        }
        for (y, secret) in subject.release()?.into_iter().zip(secret) {
            // Between the two values, a Laplace release says little, so it is not counted. Gaussian
            // noise has no such region.
            let sure = kind == NoiseKind::Gaussian || y.abs() >= half;
            guesses += u64::from(sure);
            right += u64::from(sure && (y > 0.0) == (secret > 0.0));
        }
    }
    Ok((guesses, right))
}

/// Advances to the first round with a secret, without hearing neighbours. Returns the noise scale
/// claimed there.
fn first_secret<S: Subject>(facts: &Facts, subject: &mut S) -> Result<Option<f64>, ReleaseError> {
    for _ in 0..=facts.interval() {
        if subject.secret().is_some() {
            return Ok(Some(subject.claims().scale));
        }
        subject.release()?;
        subject.absorb(&[]);
    }
    Ok(None)
}

fn check(name: &'static str, claimed: f64, measured: f64, verdict: Verdict, note: String) -> Check {
    Check { layer: Layer::Canaries, name, claimed, measured, verdict, note }
}

/// 0.9 of the claim, or what this number of guesses proves except with probability 10⁻⁶.
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
