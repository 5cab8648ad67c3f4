//! `undertone verify`: the ledger of a run, computed again from its config.

use crate::failure::{FOUND_SOMETHING, Failure, finish};
use clap::Args;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use undertone_lab::ledger_file::{Verification, verify_run};

/// Check the ledger of a run offline: every charge is computed again from the config
#[derive(Args)]
pub(crate) struct Arguments {
    /// Run folder, as `undertone simulate` writes it
    #[arg(value_name = "RUN")]
    folder: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let found = verify_run(&arguments.folder)?;
    let code = if found.agrees { ExitCode::SUCCESS } else { ExitCode::from(FOUND_SOMETHING) };
    finish(code, print(&mut io::stdout().lock(), &found, arguments.json))
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
                "learner {}: {} receipts agree, ε = {:.4}",
                learner.learner,
                learner.receipts,
                epsilon.unwrap_or_default()
            )?,
        }
    }
    Ok(())
}
