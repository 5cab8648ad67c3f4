//! One run of a config with a seed, as comparisons and reproductions make many of.

use crate::entropy::RunEntropy;
use crate::error::ExperimentError;
use crate::experiment::Experiment;
use crate::simulate::{Measuring, Outcome, RoundRow, simulate};
use crate::stream::{self, Streams};
use std::ops::ControlFlow;
use std::path::Path;
use undertone_models::Setup;

/// What a seeded run needs: the setup, and the records in the order of the seed.
pub(crate) fn prepare(
    experiment: &Experiment,
    folder: &Path,
    seed: u64,
) -> Result<(Setup, Streams), ExperimentError> {
    let setup = experiment.setup()?;
    let streams = stream::load(experiment, folder, seed)?;
    Ok((setup, streams))
}

/// Runs it with the noise of the seed. NOT PRIVATE.
pub(crate) fn seeded_run(
    setup: &Setup,
    rounds: u64,
    streams: Streams,
    seed: u64,
    measuring: Measuring,
    after_round: impl FnMut(Option<&RoundRow>) -> ControlFlow<()>,
) -> Result<Outcome, ExperimentError> {
    Ok(simulate(setup, rounds, streams, RunEntropy::new(Some(seed)), measuring, after_round)?)
}
