//! Steps of the other methods, chosen as the paper says: doubling them breaks convergence.
//!
//! The paper does not say how convergence was judged. With its noise, which grows, and a coupling that
//! does not fall, no step makes DSGD converge at all; so it is judged without noise.

use super::fig1::contender;
use super::quartiles::Quartiles;
use super::table1::Unknowns;
use super::{ReproduceError, Watch, run, run_all};
use crate::compare::settings::Method;
use crate::simulate::{Measuring, Outcome};
use serde::Serialize;
use undertone::config::OneOrEach;

/// A step that converges, and what happens at twice of it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Tuned {
    /// λ_0.
    pub step: f64,
    /// What is left of the excess loss without noise, as a share of that at the start; the median over
    /// seeds.
    pub left: f64,
    /// The same at twice the step; absent where the search ended first.
    pub left_at_double: Option<f64>,
}

/// Convergence: less than this share of the first excess loss is left in the last tenth of a run.
pub const CONVERGED: f64 = 0.5;
/// Runs for each step that is tried.
const SEEDS: u64 = 3;
/// Steps from 2^-this to 2^this are tried.
const DOUBLINGS: i32 = 12;

/// Finds the largest power of two that converges while its double does not.
///
/// # Errors
/// When interrupted.
pub fn tune(
    method: Method,
    unknowns: Unknowns,
    rounds: u64,
    watch: &Watch<'_>,
) -> Result<Tuned, ReproduceError> {
    let left = |doublings: i32| left(method, f64::from(doublings).exp2(), unknowns, rounds, watch);
    let mut doublings = 0;
    let mut here = left(doublings)?;
    while here >= CONVERGED && doublings > -DOUBLINGS {
        doublings -= 1;
        here = left(doublings)?;
    }
    let mut left_at_double = None;
    while doublings < DOUBLINGS {
        let double = left(doublings + 1)?;
        if double >= CONVERGED {
            left_at_double = Some(double);
            break;
        }
        (doublings, here) = (doublings + 1, double);
    }
    Ok(Tuned { step: f64::from(doublings).exp2(), left: here, left_at_double })
}

/// The share of the first excess loss that is left at the end of a run without noise.
fn left(
    method: Method,
    step: f64,
    unknowns: Unknowns,
    rounds: u64,
    watch: &Watch<'_>,
) -> Result<f64, ReproduceError> {
    let loaded = contender(method, step, unknowns, rounds, |raw| {
        // The sampler needs some noise, and one that does not vanish.
        raw.noise.scale = Some(OneOrEach::One(1e-6));
        raw.noise.exponent = Some(OneOrEach::One(0.0));
        raw.noise.ratio = raw.noise.ratio.map(|_| 0.9999);
    })?;
    let shares = run_all(&[loaded], SEEDS, |loaded, seed| {
        let outcome = run(loaded, seed, Measuring::Evenly(100), watch, |_| false)?;
        Ok(share_left(&outcome))
    })?;
    Ok(Quartiles::of(&shares.concat()).map_or(f64::INFINITY, |found| found.median))
}

fn share_left(outcome: &Outcome) -> f64 {
    let regrets: Vec<f64> =
        outcome.rows.iter().map(|row| row.metrics.instantaneous_regret).collect();
    let tail = &regrets[regrets.len() - regrets.len().div_ceil(10)..];
    let last = tail.iter().sum::<f64>() / tail.len().max(1) as f64;
    match regrets.first() {
        Some(first) if last.is_finite() => last / first,
        _ => f64::INFINITY,
    }
}
