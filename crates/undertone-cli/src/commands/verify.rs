//! `undertone verify`: recomputes a ledger from its config, or an audit bundle from itself.

use crate::agreement_source::load_agreement;
use crate::failure::{FOUND_SOMETHING, Failure, finish};
use anyhow::{Context, anyhow};
use clap::Args;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use undertone::audit_bundle::verify_bundle;
use undertone::privacy::{NO_BOUND, format_epsilon_or};
use undertone::{LearnerVerification, Verification};
use undertone_lab::ledger_file::verify_run;
use undertone_node::store::DiskStore;

/// Check a ledger or an audit bundle: recompute every charge from the agreement and compare
#[derive(Args)]
pub(crate) struct Arguments {
    /// Run folder, as `undertone simulate` writes it, or a file of `undertone audit-bundle`; with --store, the agreement
    /// of the learner's network
    #[arg(value_name = "RUN", required_unless_present = "store")]
    path: Option<PathBuf>,
    /// Check the store of a learner that is not running, instead of a run folder
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let found = match (&arguments.store, &arguments.path) {
        (Some(store), Some(agreement)) => verify_store(store, agreement)?,
        (None, Some(path)) if path.is_file() => verify_file(path)?,
        (None, Some(folder)) => verify_run(folder)?,
        (_, None) => {
            return Err(anyhow!("--store: give the agreement of the learner's network too").into());
        }
    };
    let code = if found.agrees { ExitCode::SUCCESS } else { ExitCode::from(FOUND_SOMETHING) };
    finish(code, print(&mut io::stdout().lock(), &found, arguments.json))
}

fn verify_file(path: &Path) -> anyhow::Result<Verification> {
    let place = || path.display().to_string();
    let bytes = fs::read(path).with_context(place)?;
    verify_bundle(&bytes).with_context(place)
}

fn verify_store(path: &Path, agreement: &Path) -> anyhow::Result<Verification> {
    let setup = load_agreement(agreement)?;
    let place = || path.display().to_string();
    let (store, id) = DiskStore::open_any(path, &setup).with_context(place)?;
    let receipts = store.receipts().with_context(place)?;
    let found = Verification::new(vec![LearnerVerification::new(&setup, id, &receipts)]);
    Ok(found.with_notes(setup.agreement.model.declared_by_user()))
}

fn print(out: &mut impl Write, found: &Verification, json: bool) -> io::Result<()> {
    if json {
        serde_json::to_writer_pretty(&mut *out, found).map_err(io::Error::from)?;
        return writeln!(out);
    }
    for fault in &found.faults {
        writeln!(out, "DISAGREES: {fault}")?;
    }
    for learner in &found.learners {
        let LearnerVerification { learner, receipts, epsilon, delta, uses, disagreement } = learner;
        match disagreement {
            Some(disagreement) => writeln!(out, "learner {learner}: DISAGREES: {disagreement}")?,
            None => writeln!(
                out,
                "learner {learner}: {receipts} receipts agree, ε = {} at δ = {:e}{}",
                format_epsilon_or(*epsilon, NO_BOUND),
                delta.unwrap_or_default(),
                match uses {
                    0 | 1 => String::new(),
                    uses => format!(", by a record that was used {uses} times"),
                }
            )?,
        }
    }
    found.notes.iter().try_for_each(|note| writeln!(out, "{note}"))?;
    writeln!(out, "unit: {}", found.unit)
}
