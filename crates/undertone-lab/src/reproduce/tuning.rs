//! The steps of the other methods, chosen as in the paper: doubling them breaks convergence.
//!
//! The paper does not state its criterion of convergence. With noise that grows and a coupling that does not
//! fall, no step makes DSGD converge, so convergence is judged without noise.

use super::fig1::experiment_of;
use super::quartiles::Quartiles;
use super::table1::Unknowns;
use super::{Watch, run, run_all};
use crate::compare::settings::ComparedMethod;
use crate::error::ExperimentError;
use crate::simulate::{Measuring, Outcome, RoundRow};
use serde::Serialize;
use undertone::agreement::OneOrEach;

/// A run without noise: its excess loss relative to the start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// Its mean over the last tenth of the run; the median over seeds.
    pub left: f64,
    /// The largest in any measured round; the median over seeds.
    pub worst: f64,
}

/// A run has converged if less than this share of the excess loss is left at the end,
pub const LEFT_MAX: f64 = 0.5;
/// and in no round the excess loss is more than this many times that at the start.
pub const WORST_MAX: f64 = 2.0;

impl Trial {
    fn converged(self) -> bool {
        self.left < LEFT_MAX && self.worst <= WORST_MAX
    }
}

/// A step that converges, compared with twice that step.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Tuned {
    /// λ_0.
    pub step: f64,
    /// The run at this step.
    pub trial: Trial,
    /// The run at twice the step.
    pub at_double: Trial,
}

/// Runs per step.
const SEEDS: u64 = 3;
/// The smallest step tried is 2^-this.
const HALVINGS_MAX: i32 = 20;

/// Finds the largest power of two that converges, so that its double does not.
///
/// # Errors
/// When no step converges, or when interrupted.
pub fn tune(
    method: ComparedMethod,
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

/// Runs a method with a step, without noise.
fn trial(
    method: ComparedMethod,
    step: f64,
    unknowns: Unknowns,
    rounds: u64,
    watch: &Watch<'_>,
) -> Result<Trial, ExperimentError> {
    let loaded = experiment_of(method, step, unknowns, rounds, |raw| {
        // The sampler needs noise that does not vanish.
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
    fn runs_that_diverge_or_stagnate_have_not_converged() {
        assert!(Trial { left: 0.1, worst: 1.0 }.converged());
        assert!(!Trial { left: 0.1, worst: 1e6 }.converged());
        assert!(!Trial { left: 0.9, worst: 1.0 }.converged());
        assert!(!Trial { left: f64::NAN, worst: f64::NAN }.converged());
    }
}
