//! The paper's experiments, run again beside its own numbers.
//!
//! [`table1`] counts how long learning takes as noise grows, [`unknowns`] looks for what the paper does
//! not say, [`fig1`] draws Algorithm 1 against three other methods, whose steps [`tuning`] chooses.
//! [`neural`] does so for networks (Figures 2 and 3), and [`table2`] attacks them.

pub mod fig1;
pub mod neural;
mod other_methods;
pub mod quartiles;
pub mod spreadsheet;
pub mod table1;
pub mod table2;
pub mod tuning;
pub mod unknowns;

use crate::error::ExperimentError;
use crate::experiment::LoadedExperiment;
use crate::seeded_run::{prepare, seeded_run};
use crate::simulate::{Measuring, Outcome, RoundRow};
use rayon::prelude::*;
use std::ops::ControlFlow;
use undertone_models::Setup;

/// How an experiment is watched: both are called from many threads.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Called when a run is done.
    pub done: &'a (dyn Fn() + Sync),
    /// Asked in every round.
    pub interrupted: &'a (dyn Fn() -> bool + Sync),
}

/// The preset that the experiments on mushrooms start from.
const PRESET: &str = "paper-mushrooms";

fn setup(loaded: &LoadedExperiment) -> Result<Setup, ExperimentError> {
    Ok(loaded.checked.setup()?)
}

/// Runs a config with one seed, until `stop` says so.
fn run(
    loaded: &LoadedExperiment,
    seed: u64,
    measuring: Measuring,
    watch: &Watch<'_>,
    mut stop: impl FnMut(&RoundRow) -> bool,
) -> Result<Outcome, ExperimentError> {
    if (watch.interrupted)() {
        return Err(ExperimentError::Interrupted);
    }
    let (setup, streams) = prepare(&loaded.checked, &loaded.folder, seed)?;
    let mut interrupted = false;
    let outcome = seeded_run(&setup, loaded.checked.rounds, streams, seed, measuring, |row| {
        interrupted = (watch.interrupted)();
        if interrupted || row.is_some_and(&mut stop) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    if interrupted {
        return Err(ExperimentError::Interrupted);
    }
    (watch.done)();
    Ok(outcome)
}

/// Runs every config with seeds 1 to `seeds` on all cores; the results of each config together.
fn run_all<T: Send>(
    configs: &[LoadedExperiment],
    seeds: u64,
    one: impl Fn(&LoadedExperiment, u64) -> Result<T, ExperimentError> + Sync,
) -> Result<Vec<Vec<T>>, ExperimentError> {
    let jobs: Vec<(&LoadedExperiment, u64)> =
        configs.iter().flat_map(|config| (1..=seeds).map(move |seed| (config, seed))).collect();
    let results: Result<Vec<T>, ExperimentError> =
        jobs.into_par_iter().map(|(config, seed)| one(config, seed)).collect();
    let mut results = results?.into_iter();
    let of_one = |_| results.by_ref().take(seeds as usize).collect();
    Ok(configs.iter().map(of_one).collect())
}
