//! Integration tests of the lab, through its public interface only.
#![allow(clippy::unwrap_used, reason = "helpers of tests may unwrap")]
#![allow(clippy::print_stdout, reason = "long tests print what they measure")]

mod attack;
mod audit;
mod audit_noise;
mod audit_shielded;
mod budgets;
mod catalogue;
mod golden;
mod image_folders;
mod independent;
mod neural;
mod online;
mod planner;
mod public_labels;
mod runs;
mod sensitivity;
mod statements;
mod streams;
mod tidy;

use std::path::Path;
use undertone_lab::experiment::{Experiment, LoadedExperiment, RawExperiment};
use undertone_lab::presets::load_preset_with;
use undertone_lab::{Measuring, Outcome, RunEntropy, Setup, simulate, stream};

/// A preset, changed.
fn preset(name: &str, change: impl FnOnce(&mut RawExperiment)) -> LoadedExperiment {
    load_preset_with(name, change).unwrap()
}

/// Runs an experiment with a seed, measuring about `rows` rounds.
fn run(experiment: &Experiment, seed: u64, rows: u64) -> (Setup, Outcome) {
    let setup = experiment.setup().unwrap();
    let streams = stream::load(experiment, Path::new("."), seed).unwrap();
    let (entropy, measuring) = (RunEntropy::new(Some(seed)), Measuring::Evenly(rows));
    let outcome = simulate(&setup, experiment.rounds, streams, entropy, measuring, |_| {
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    (setup, outcome)
}
