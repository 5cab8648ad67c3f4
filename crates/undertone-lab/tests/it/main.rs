//! Integration tests of the lab, through its public interface only.
#![allow(clippy::unwrap_used, reason = "helpers of tests may unwrap")]
#![allow(clippy::print_stdout, reason = "long tests print what they measure")]

mod attack;
mod audit;
mod audit_shielded;
mod budgets;
mod catalogue;
mod image_folders;
mod neural;
mod online;
mod planner;
mod runs;
mod sensitivity;
mod streams;
mod tidy;

use std::path::Path;
use undertone::agreement::{Config, RawExperiment};
use undertone_lab::experiment::{LoadedExperiment, Overrides, load_preset};
use undertone_lab::{Measuring, Outcome, RunEntropy, Setup, simulate, stream};

/// A preset, changed.
fn preset(name: &str, change: impl FnOnce(&mut RawExperiment)) -> LoadedExperiment {
    let mut loaded = load_preset(name, &Overrides::default()).unwrap();
    change(&mut loaded.raw);
    loaded.checked = Config::try_from(&loaded.raw).unwrap();
    loaded
}

/// Runs a config with a seed, measuring about `rows` rounds.
fn run(config: &Config, seed: u64, rows: u64) -> (Setup, Outcome) {
    let setup = Setup::new(config.clone()).unwrap();
    let streams = stream::load(&setup.agreement, Path::new("."), seed).unwrap();
    let entropy = RunEntropy::new(Some(seed));
    let outcome = simulate(&setup, streams, entropy, Measuring::Evenly(rows), |_| {
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    (setup, outcome)
}
