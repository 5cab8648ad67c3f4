//! Steps of the other methods, chosen as the paper says: doubling them breaks convergence.
//!
//! The paper does not say how convergence was judged. With its noise, which grows, and a coupling that
//! does not fall, no step makes DSGD converge at all; so it is judged without noise.

use super::fig1::contender;
use super::quartiles::Quartiles;
use super::table1::Unknowns;
use super::{Watch, run, run_all};
use crate::compare::settings::Method;
use crate::error::ExperimentError;
use crate::simulate::{Measuring, Outcome, RoundRow};
use serde::Serialize;
use undertone::agreement::OneOrEach;

/// A run without noise: what becomes of the excess loss, as a share of that at the start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// Its mean over the last tenth of the run; the median over seeds.
    pub left: f64,
    /// The largest in any measured round; the median over seeds.
    pub worst: f64,
}

/// Convergence: less than this share is left at the end,
pub const LEFT_MAX: f64 = 0.5;
/// and in no round is the excess loss more than this many times that at the start.
pub const WORST_MAX: f64 = 2.0;

impl Trial {
    fn converged(self) -> bool {
        self.left < LEFT_MAX && self.worst <= WORST_MAX
    }
}

/// A step that converges, and what happens at twice of it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Tuned {
    /// λ_0.
    pub step: f64,
    /// Without noise at this step.
    pub trial: Trial,
    /// The same at twice the step.
    pub at_double: Trial,
}

/// Runs for each step that is tried.
const SEEDS: u64 = 3;
/// Steps of 2^-this and more are tried.
const HALVINGS_MAX: i32 = 20;

/// Finds the largest power of two that converges, from above: its double does not.
///
/// # Errors
/// When no step converges, or when interrupted.
pub fn tune(
    method: Method,
    unknowns: Unknowns,
    rounds: u64,
    watch: &Watch<'_>,
) -> Result<Tuned, ExperimentError> {
    let step = |halvings: i32| f64::from(4 - halvings).exp2();
    let trial = |halvings| trial(method, step(halvings), unknowns, rounds, watch);
    let mut at_double = trial(0)?;
    for halvings in 1..=HALVINGS_MAX {
        let here = trial(halvings)?;
        if here.converged() && !at_double.converged() {
            return Ok(Tuned { step: step(halvings), trial: here, at_double });
        }
        at_double = here;
    }
    Err(ExperimentError::NoStep { method })
}

/// Runs a step without noise.
fn trial(
    method: Method,
    step: f64,
    unknowns: Unknowns,
    rounds: u64,
    watch: &Watch<'_>,
) -> Result<Trial, ExperimentError> {
    let loaded = contender(method, step, unknowns, rounds, |raw| {
        // The sampler needs some noise, and one that does not vanish.
        raw.agreement.noise.scale = Some(OneOrEach::One(1e-6));
        raw.agreement.noise.exponent = Some(OneOrEach::One(0.0));
        raw.agreement.noise.ratio = raw.agreement.noise.ratio.map(|_| 0.9999);
    })?;
    let quiet = Watch { done: &|| (), ..*watch };
    let shares = run_all(&[loaded], SEEDS, |loaded, seed| {
        let outcome = run(loaded, seed, Measuring::Geometrically(20), &quiet, |_| false)?;
        Ok(shares(&outcome, rounds))
    })?
    .concat();
    let median = |value: fn(&Trial) -> f64| {
        let values: Vec<f64> = shares.iter().map(value).collect();
        Quartiles::of(&values).map_or(f64::INFINITY, |found| found.median)
    };
    Ok(Trial { left: median(|share| share.left), worst: median(|share| share.worst) })
}

fn shares(outcome: &Outcome, rounds: u64) -> Trial {
    let regret = |row: &RoundRow| row.metrics.instantaneous_regret;
    let first = outcome.rows.first().map_or(f64::NAN, regret);
    let late = |row: &&RoundRow| 10 * (row.round + 1) >= 9 * rounds;
    let last: Vec<f64> = outcome.rows.iter().filter(late).map(regret).collect();
    let mean = last.iter().sum::<f64>() / last.len() as f64;
    let worst = outcome.rows.iter().map(regret).fold(0.0, f64::max);
    Trial { left: mean / first, worst: worst / first }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_blows_up_or_stays_has_not_converged() {
        assert!(Trial { left: 0.1, worst: 1.0 }.converged());
        assert!(!Trial { left: 0.1, worst: 1e6 }.converged());
        assert!(!Trial { left: 0.9, worst: 1.0 }.converged());
        assert!(!Trial { left: f64::NAN, worst: f64::NAN }.converged());
    }
}
