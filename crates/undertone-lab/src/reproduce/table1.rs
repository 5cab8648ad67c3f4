//! Table I: budget and iterations as the noise is multiplied.

use super::quartiles::Quartiles;
use super::{PRESET, Watch, run, run_all, setup};
use crate::error::ExperimentError;
use crate::experiment::LoadedExperiment;
use crate::presets::load_preset_with;
use crate::simulate::Measuring;
use serde::Serialize;
use undertone::agreement::OneOrEach;
use undertone::noise::NoiseKind;
use undertone::privacy::{Cost, lifetimes, planned_costs};
use undertone_models::Setup;

/// One column of the paper's table.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Printed {
    /// k: the noise is Lap(0.1 k (t+1)^ς).
    pub multiple: f64,
    /// The printed cumulative budget.
    pub budget: f64,
    /// The printed number of iterations.
    pub iterations: u64,
}

const fn printed(multiple: f64, budget: f64, iterations: u64) -> Printed {
    Printed { multiple, budget, iterations }
}

/// Table I of the paper.
pub const PRINTED: [Printed; 11] = [
    printed(1.0, 23.34, 8),
    printed(1.5, 16.59, 11),
    printed(2.0, 12.65, 12),
    printed(2.5, 11.97, 34),
    printed(3.0, 11.54, 127),
    printed(3.5, 10.50, 269),
    printed(4.0, 9.64, 575),
    printed(4.5, 8.79, 934),
    printed(5.0, 7.98, 1119),
    printed(5.5, 7.47, 2292),
    printed(6.0, 7.03, 4999),
];

/// Noise at multiple 1: the paper's budgets are ten times a sum of unit terms.
const BASE_NOISE: f64 = 0.1;
/// δ of the certified budgets.
pub const DELTA: f64 = 1e-5;
/// A run has converged in the first round with ‖θ̄_t − θ*_t‖ at most this.
const CLOSE: f64 = 1.0;
/// A run that has not converged by this round is stopped.
pub const ROUNDS_MAX: u64 = 10_000;
/// Every round is measured up to this one, then fewer: counts have a relative error of one in this many.
const RESOLUTION: u64 = 100;

/// Settings that the paper does not state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Unknowns {
    /// N_i: records of a learner per round.
    pub batch: u64,
    /// r_i: the ridge.
    pub ridge: f64,
    /// θ_0: every coordinate is uniform on [−spread, spread].
    pub start_spread: f64,
}

/// The settings that came closest in [`search`](super::closest_settings::search).
pub const CLOSEST: Unknowns = Unknowns { batch: 1, ridge: 0.3, start_spread: 0.7 };

/// Pure ε, and ε at [`DELTA`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Certified {
    /// With δ = 0.
    pub pure: f64,
    /// With δ = [`DELTA`].
    pub approximate: f64,
}

/// One noise level: the paper's numbers and ours.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The paper's numbers.
    pub printed: Printed,
    /// Σ_{t=0}^{T} 10 / (k (t+1)^1.24) at the paper's T, which gives its budget row.
    pub unit_formula: f64,
    /// The certified budget over the paper's rounds, per use of a record, of the learner that pays most.
    pub certified: Certified,
    /// The same over a lifetime; absent without a certificate.
    pub certified_for_ever: Option<Certified>,
    /// Our iterations over seeds; infinite beyond [`ROUNDS_MAX`], which JSON writes as null.
    pub iterations: Option<Quartiles>,
    /// How many runs were stopped before they converged.
    pub never: usize,
}

/// Table I: the paper's numbers and ours.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// The settings of our runs.
    pub unknowns: Unknowns,
    /// How many runs for each row.
    pub seeds: u64,
    /// One for each noise level.
    pub rows: Vec<Row>,
}

/// The paper's budget row: the rate of Theorem 5 with every constant set to 1.
#[must_use]
pub fn unit_formula(multiple: f64, iterations: u64) -> f64 {
    let term = |t: u64| 1.0 / (BASE_NOISE * multiple * ((t + 1) as f64).powf(1.24));
    (0..=iterations).map(term).sum()
}

/// The experiment at one noise level.
///
/// # Errors
/// When a setting is out of range.
pub fn experiment(multiple: f64, unknowns: Unknowns) -> Result<LoadedExperiment, ExperimentError> {
    load_preset_with(PRESET, |raw| {
        raw.rounds = Some(ROUNDS_MAX);
        raw.data.test_fraction = Some(0.0);
        raw.agreement.records.batch = Some(unknowns.batch);
        raw.agreement.model.ridge = Some(unknowns.ridge);
        raw.agreement.parameters.start_spread = Some(unknowns.start_spread);
        raw.agreement.noise.scale = Some(OneOrEach::One(BASE_NOISE * multiple));
        raw.agreement.privacy.delta = Some(DELTA);
    })
}

/// Runs some rows of the table with seeds 1 to `seeds`.
///
/// # Errors
/// When a setting is out of range, or when interrupted.
pub fn table(
    printed: &[Printed],
    unknowns: Unknowns,
    seeds: u64,
    watch: &Watch<'_>,
) -> Result<Table, ExperimentError> {
    let experiments: Result<Vec<LoadedExperiment>, ExperimentError> =
        printed.iter().map(|printed| experiment(printed.multiple, unknowns)).collect();
    let experiments = experiments?;
    let rounds =
        run_all(&experiments, seeds, |loaded, seed| convergence_round(loaded, seed, watch))?;
    let mut rows = Vec::new();
    for ((printed, loaded), rounds) in printed.iter().zip(&experiments).zip(&rounds) {
        rows.push(row(*printed, &setup(loaded)?, rounds));
    }
    Ok(Table { unknowns, seeds, rows })
}

/// The first measured round in which the mean over learners has converged; infinite if there is none.
fn convergence_round(
    loaded: &LoadedExperiment,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<f64, ExperimentError> {
    let close = |row: &crate::RoundRow| row.metrics.tracking_distance_of_mean <= CLOSE;
    let outcome = run(loaded, seed, Measuring::Geometrically(RESOLUTION), watch, close)?;
    let found = outcome.rows.last().filter(|row| close(row));
    Ok(found.map_or(f64::INFINITY, |row| row.round as f64))
}

fn row(printed: Printed, setup: &Setup, rounds: &[f64]) -> Row {
    let planned = setup.mechanisms.iter().map(|mechanism| {
        let costs = planned_costs(mechanism, printed.iterations);
        Certified { pure: costs.total().pure, approximate: costs.epsilon(DELTA) }
    });
    // The setup has no certificate because records repeat. These are per use of a record.
    let for_ever: Option<Vec<Cost>> =
        lifetimes(&setup.mechanisms).into_iter().map(|bound| Some(bound.ok()?.total)).collect();
    // The paper's noise is Laplace noise.
    let certified_for_ever = |total: Cost| Certified {
        pure: total.pure,
        approximate: total.epsilon(NoiseKind::Laplace, DELTA),
    };
    Row {
        printed,
        unit_formula: unit_formula(printed.multiple, printed.iterations),
        certified: largest(planned),
        certified_for_ever: for_ever
            .map(|totals| largest(totals.into_iter().map(certified_for_ever))),
        iterations: Quartiles::of(rounds),
        never: rounds.iter().filter(|round| round.is_infinite()).count(),
    }
}

fn largest(certified: impl Iterator<Item = Certified>) -> Certified {
    certified.fold(Certified { pure: 0.0, approximate: 0.0 }, |most, one| Certified {
        pure: most.pure.max(one.pure),
        approximate: most.approximate.max(one.approximate),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_formula_is_the_papers_budget_row() {
        for Printed { multiple, budget, iterations } in PRINTED {
            let found = unit_formula(multiple, iterations);
            assert!((found - budget).abs() < 0.05, "{multiple}: found {found}, expected {budget}");
        }
    }

    /// Control: with the paper's own constants the row would be different.
    #[test]
    fn other_constants_do_not_give_the_papers_budget_row() {
        let far = |change: fn(f64) -> f64| {
            let wrong = |row: &&Printed| {
                let found = change(unit_formula(row.multiple, row.iterations));
                (found - row.budget).abs() >= 0.05
            };
            PRINTED.iter().filter(wrong).count()
        };
        assert_eq!(far(|sum| sum), 0);
        assert_eq!(far(|sum| sum * 112f64.sqrt()), PRINTED.len());
        assert!(far(|sum| 1.01 * sum) > 0);
    }
}
