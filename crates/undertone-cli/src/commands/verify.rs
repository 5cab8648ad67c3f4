//! `undertone verify`: recomputes a ledger from its config.

use crate::agreement_source::load_agreement;
use crate::failure::{FOUND_SOMETHING, Failure, finish};
use anyhow::{Context, anyhow};
use clap::Args;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use undertone::privacy::{NO_BOUND, format_epsilon_or};
use undertone::{LearnerVerification, Verification};
use undertone_lab::ledger_file::verify_run;
use undertone_node::store::DiskStore;

/// Check a ledger offline: every charge is computed again from the config
#[derive(Args)]
pub(crate) struct Arguments {
    /// Run folder, as `undertone simulate` writes it; with --store, the agreement of the learner's network
    #[arg(value_name = "RUN", required_unless_present = "store")]
    folder: Option<PathBuf>,
    /// The store of a learner that does not run, instead of a run folder
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let found = match (&arguments.store, &arguments.folder) {
        (Some(store), Some(agreement)) => verify_store(store, agreement)?,
        (None, Some(folder)) => verify_run(folder)?,
        (_, None) => {
            return Err(anyhow!("--store: give the agreement of the learner's network too").into());
        }
    };
    let code = if found.agrees { ExitCode::SUCCESS } else { ExitCode::from(FOUND_SOMETHING) };
    finish(code, print(&mut io::stdout().lock(), &found, arguments.json))
}

fn verify_store(path: &Path, agreement: &Path) -> anyhow::Result<Verification> {
    let setup = load_agreement(agreement)?;
    let place = || path.display().to_string();
    let (store, id) = DiskStore::open_any(path, &setup).with_context(place)?;
    let receipts = store.receipts().with_context(place)?;
    Ok(Verification::new(&setup, vec![LearnerVerification::new(&setup, id, &receipts)]))
}

fn print(out: &mut impl Write, found: &Verification, json: bool) -> io::Result<()> {
    if json {
        serde_json::to_writer_pretty(&mut *out, found).map_err(io::Error::from)?;
        return writeln!(out);
    }
    for learner in &found.learners {
        match (&learner.disagreement, learner.epsilon) {
            (Some(disagreement), _) => {
                writeln!(out, "learner {}: DISAGREES: {disagreement}", learner.learner)?;
            }
            (None, epsilon) => writeln!(
                out,
                "learner {}: {} receipts agree, ε = {}",
                learner.learner,
                learner.receipts,
                format_epsilon_or(epsilon, NO_BOUND)
            )?,
        }
    }
    writeln!(out, "unit: {}", found.unit)
}
