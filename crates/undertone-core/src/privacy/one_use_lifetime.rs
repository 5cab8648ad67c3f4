//! The lifetime certificate of methods that use a record in one step only: DSGD, DOLA and PDOP.
//!
//! A record that arrives in round k moves the step of that round, and so the release of round k +
//! 1, by λ_k C/N. DOLA and PDOP take gradients at public points, so the record costs nothing more;
//! with DSGD each later round multiplies the distance by λ_t L. If steps do not grow, and shrink at
//! least as fast as the noise, later records cost no more than earlier ones, release by release. So
//! only the first two rounds matter: the warm-up shares the first step, so a record of round 0 may
//! have less weight than one of round 1.
//!
//! This ignores the charge for machine arithmetic, which grows relative to noise that shrinks. So
//! the first two records are followed with the largest such charge of any round
//! ([`machine_ratio`]).

use super::cost::{Cost, ROUNDING, Total};
use super::lifetime::{Lifetime, NoCertificate};
use super::mechanism::Mechanism;
use super::record_accounts::FOLDING_ROOM;
use crate::noise::{NoiseKind, Perturbation};
use crate::{Forgetting, Round};

/// A record of DSGD is followed for this many rounds at most.
const FOLLOWED_MAX: u64 = 1 << 12;
/// A record of DSGD is followed until its sensitivity is below this share of the first one.
const NEGLIGIBLE: f64 = 1e-9;

/// How a method uses each record once.
pub(crate) struct OneUse {
    /// Steps are multiplied by this in every round, in addition to their power law.
    pub(crate) step_ratio: f64,
    /// Noise scales are multiplied by this in every round, in addition to their power law.
    pub(crate) noise_ratio: f64,
    /// Whether gradients are taken at the learner's own parameters, which depend on earlier records.
    pub(crate) carries_over: bool,
}

/// Bounds what any record will ever pay.
///
/// # Guarantee
/// As [`lifetime`](super::lifetime()).
pub(crate) fn lifetime(mechanism: &Mechanism, uses: &OneUse) -> Result<Lifetime, NoCertificate> {
    let needs = |needs| NoCertificate::Forgetting { needs };
    if mechanism.forgetting != (Forgetting::Window { rounds: 1 }) {
        return Err(needs("a window of one round"));
    }
    if mechanism.batch == 0 {
        return Err(NoCertificate::NoNewRecords);
    }
    let (step, noise) = (mechanism.schedule.step.exponent, mechanism.noise.scale.exponent);
    let &OneUse { step_ratio, noise_ratio, carries_over } = uses;
    if !(step <= 0.0 && step_ratio <= 1.0 && step <= noise && step_ratio <= noise_ratio) {
        return Err(needs("steps that shrink, and at least as fast as the noise"));
    }
    // How far an effect on a learner's own parameters carries over depends on L.
    if carries_over && !mechanism.constants.smoothness.is_finite() {
        return Err(NoCertificate::NotConvexAndSmooth);
    }
    if carries_over && !(noise >= 0.0) {
        return Err(needs("noise that does not shrink"));
    }
    let grows = noise >= 0.0 && noise_ratio >= 1.0;
    if !grows && noise > 0.0 {
        return Err(needs("noise that either grows or shrinks"));
    }
    let machine = machine_ratio(mechanism, grows);
    let first = follow(mechanism, Round::ZERO, machine)?;
    let second = follow(mechanism, Round(1), machine)?;
    let worst = if second.total.zcdp > first.total.zcdp { second } else { first };
    // The record with the larger zCDP need not be the one with the larger pure ε.
    Ok(Lifetime { total: first.total.largest(second.total), ..worst })
}

/// The largest charge for machine arithmetic in any round, in units of that round's noise.
///
/// Both charge and noise are monotone in t; a quotient of a sum of powers by a power is convex in
/// ln t. So if noise grows, the quotient is largest at one of the ends. If it shrinks, the largest
/// charge over the smallest noise is a bound; with noise below the sampler's limit nothing is sent.
fn machine_ratio(mechanism: &Mechanism, grows: bool) -> f64 {
    let ends = [Round(1), Round::LIMIT];
    let larger_end = |value: &dyn Fn(Round) -> f64| ends.map(value).into_iter().fold(0.0, f64::max);
    if grows {
        return larger_end(&|t| mechanism.machine_sensitivity(t) / mechanism.noise_scale(t));
    }
    let least = mechanism.noise_scale(Round::LIMIT).max(least_scale(mechanism));
    larger_end(&|t| mechanism.machine_sensitivity(t)) / least
}

/// A noise scale that the sampler refuses, just below the smallest that it accepts.
fn least_scale(mechanism: &Mechanism) -> f64 {
    let perturbation = mechanism.perturbation(Round::ZERO);
    let admits = |log: f64| Perturbation { scale: log.exp2(), ..perturbation }.grid().is_ok();
    let (mut low, mut high) = (-1022.0, perturbation.scale.log2());
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        *(if admits(middle) { &mut high } else { &mut low }) = middle;
    }
    low.exp2()
}

/// What a record that arrives in a round pays. `machine` is the machine's charge in units of the
/// noise.
fn follow(mechanism: &Mechanism, arrival: Round, machine: f64) -> Result<Lifetime, NoCertificate> {
    #[expect(clippy::cast_precision_loss, reason = "record counts stay far below 2^53")]
    let records = match arrival {
        Round::ZERO => mechanism.warmup + mechanism.batch,
        _ => mechanism.batch,
    } as f64;
    let mut spent = Total::default();
    let effect = |round| mechanism.step_effect(&mechanism.planned_terms(round));
    let mut step = effect(arrival);
    let start = step.next(0.0, step.reach / records);
    let (mut sensitivity, mut round) = (start, arrival.next());
    let cost = |round, sensitivity| mechanism.price(round).with_machine(machine).cost(sensitivity);
    spent.add(cost(round, sensitivity));
    while sensitivity > NEGLIGIBLE * start && round.0 < arrival.0 + FOLLOWED_MAX {
        step = effect(round);
        sensitivity = step.next(sensitivity, 0.0);
        round = round.next();
        spent.add(cost(round, sensitivity));
    }
    // The remaining sensitivities shrink at least by the last factor in every round.
    let factor = step.contraction;
    if !(factor < 1.0) {
        return Err(NoCertificate::NoContraction);
    }
    let tail =
        if factor > 0.0 { rest(mechanism, round, sensitivity, factor) } else { Cost::default() };
    // The running account merges the entries of faint records, which costs a tiny share more.
    let Cost { pure, zcdp } = spent.cost().plus(tail);
    let total = Cost { pure: pure * FOLDING_ROOM, zcdp: zcdp * FOLDING_ROOM };
    Ok(Lifetime { total, summed_to: round, tail, worst: arrival })
}

/// At most `sensitivity` · factor^j in the j-th round from here, and the machine's charge in all of them.
fn rest(mechanism: &Mechanism, round: Round, sensitivity: f64, factor: f64) -> Cost {
    #[expect(clippy::cast_precision_loss, reason = "2^32 and dimensions far below 2^53 are exact")]
    let (rounds, root) = (Round::LIMIT.0 as f64, (mechanism.dimension as f64).sqrt());
    // Noise does not shrink, nor does what it is compared with grow faster than it.
    let scale = mechanism.noise_scale(round);
    let own = sensitivity / scale;
    let machine = [round, Round::LIMIT]
        .map(|end| mechanism.machine_sensitivity(end) / mechanism.noise_scale(end))
        .into_iter()
        .fold(0.0, f64::max);
    let sum = own * factor / (1.0 - factor);
    let squares = own * own * factor * factor / (1.0 - factor * factor);
    let pure = match mechanism.noise.kind {
        NoiseKind::Laplace => root * (sum + rounds * machine),
        NoiseKind::Gaussian => f64::INFINITY,
    };
    // Σ (x_j + m)²/2
    let zcdp = 0.5 * squares + machine * sum + 0.5 * rounds * machine * machine;
    Cost { pure: pure * ROUNDING, zcdp: zcdp * ROUNDING }
}
