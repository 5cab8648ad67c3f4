//! The paper's experiments, reproduced and compared with its numbers.
//!
//! [`table1`] counts the iterations of learning as noise grows, [`closest_settings`] searches for settings that the
//! paper does not state, [`fig1`] compares Algorithm 1 with three other methods, whose steps [`tuning`]
//! chooses. [`neural`] does the same for neural networks (Figures 2 and 3), and [`table2`] attacks them.

pub mod closest_settings;
pub mod fig1;
pub mod neural;
mod other_methods;
pub mod quartiles;
pub mod spreadsheet;
pub mod table1;
pub mod table2;
pub mod tuning;

use crate::error::ExperimentError;
use crate::experiment::LoadedExperiment;
use crate::seeded_run::{prepare, seeded_run};
use crate::simulate::{Measuring, Outcome, RoundRow};
use rayon::prelude::*;
use std::ops::ControlFlow;
use undertone_models::Setup;

/// Callbacks of a long experiment. Both are called from many threads.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Called after each run.
    pub done: &'a (dyn Fn() + Sync),
    /// Called in every round; true stops the experiment.
    pub interrupted: &'a (dyn Fn() -> bool + Sync),
}

/// The preset of the experiments on mushrooms.
const PRESET: &str = "paper-mushrooms";

fn setup(loaded: &LoadedExperiment) -> Result<Setup, ExperimentError> {
    Ok(loaded.checked.setup()?)
}

/// Runs an experiment with one seed, until `stop` returns true.
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

/// Runs every experiment with seeds 1 to `seeds` on all cores; returns the results by experiment.
fn run_all<T: Send>(
    experiments: &[LoadedExperiment],
    seeds: u64,
    one: impl Fn(&LoadedExperiment, u64) -> Result<T, ExperimentError> + Sync,
) -> Result<Vec<Vec<T>>, ExperimentError> {
    let jobs: Vec<(&LoadedExperiment, u64)> =
        experiments.iter().flat_map(|loaded| (1..=seeds).map(move |seed| (loaded, seed))).collect();
    let results: Result<Vec<T>, ExperimentError> =
        jobs.into_par_iter().map(|(loaded, seed)| one(loaded, seed)).collect();
    let mut results = results?.into_iter();
    let of_one = |_| results.by_ref().take(seeds as usize).collect();
    Ok(experiments.iter().map(of_one).collect())
}
