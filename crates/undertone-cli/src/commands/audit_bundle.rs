//! `undertone audit-bundle`: a ledger with all that is needed to check it, in one file for others.

use crate::failure::{FOUND_SOMETHING, Failure, finish};
use anyhow::{Context, anyhow, bail};
use clap::Args;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use undertone::Setup;
use undertone::agreement::RawAgreement;
use undertone::audit_bundle::{AuditBundle, BundleError, Ledger};
use undertone::load::{Loaded, Source, Strictness, load};
use undertone_lab::experiment::resolved_agreement;
use undertone_lab::ledger_file::RunLedger;
use undertone_node::store::{DiskStore, StorageError};

/// Write one file from which others can check what was charged: agreement, ledger, and nothing private
#[derive(Args)]
pub(crate) struct Arguments {
    /// Run folder, as `undertone simulate` writes it; with --store, the agreement of the learner's network
    #[arg(value_name = "RUN")]
    folder: PathBuf,
    /// The store of a learner that does not run, instead of a run folder. It is only read
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// The file to write; it must not exist
    #[arg(long, value_name = "FILE", default_value = "audit-bundle.json")]
    out: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let path = &arguments.out;
    if path.exists() {
        return Err(anyhow!("{} exists already: choose another --out", path.display()).into());
    }
    let (setup, bundle) = match &arguments.store {
        Some(store) => of_store(store, &arguments.folder)?,
        None => of_run(&arguments.folder)?,
    };
    let bytes = match bundle.to_bytes(&setup) {
        Err(found @ BundleError::Ledger { .. }) => {
            let printed = writeln!(io::stdout(), "DISAGREES: {found}");
            return finish(ExitCode::from(FOUND_SOMETHING), printed);
        }
        bytes => bytes?,
    };
    let written = File::create_new(path).and_then(|mut file| file.write_all(&bytes));
    written.with_context(|| path.display().to_string())?;
    let receipts: usize = bundle.ledgers.iter().map(|ledger| ledger.receipts.len()).sum();
    writeln!(io::stdout(), "{}: {receipts} receipts, {} bytes", path.display(), bytes.len())?;
    Ok(ExitCode::SUCCESS)
}

fn of_run(folder: &Path) -> anyhow::Result<(Setup, AuditBundle)> {
    let RunLedger { setup, agreement, exhausted, warning, uses, receipts } =
        RunLedger::read(folder)?;
    let ledgers = setup.agreement.graph.ids().zip(uses).zip(receipts);
    let ledgers = ledgers.map(|((learner, uses), receipts)| Ledger { learner, uses, receipts });
    let ledgers = ledgers.collect();
    let bundle = AuditBundle { warning, simulation_exhausted: Some(exhausted), agreement, ledgers };
    Ok((setup, bundle))
}

fn of_store(store: &Path, agreement: &Path) -> anyhow::Result<(Setup, AuditBundle)> {
    let loaded: Loaded<RawAgreement> =
        load(&Source::File(agreement.into()), |_| (), Strictness::Run)?;
    let setup = Setup::new(loaded.checked).with_context(|| agreement.display().to_string())?;
    let agreement = resolved_agreement(&loaded.raw, &setup.agreement, &setup.scales());
    let place = || store.display().to_string();
    let (store, learner) = match DiskStore::open_any(store, &setup) {
        Err(StorageError::InUse) => bail!("{}: the learner is running: stop it first", place()),
        opened => opened.with_context(place)?,
    };
    let receipts = store.receipts().with_context(place)?;
    let ledgers = vec![Ledger { learner, uses: 1, receipts }];
    let bundle = AuditBundle { warning: None, simulation_exhausted: None, agreement, ledgers };
    Ok((setup, bundle))
}
