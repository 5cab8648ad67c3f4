//! `ledger.ndjson`: a header line, then one receipt per line; and its verification.

use crate::error::{ExperimentError, FileError};
use crate::experiment::{LoadedExperiment, Overrides, load_file, resolved_agreement};
use crate::summary::{self, NOT_PRIVATE, Summary};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use undertone::agreement::RawAgreement;
use undertone::privacy::Receipt;
use undertone::{Setup, Verification};

/// The name of the file in a run folder.
pub const NAME: &str = "ledger.ndjson";
const FORMAT: &str = "undertone ledger";

/// The first line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: String,
    schema_version: u32,
    learners: u32,
    /// Whether the run ended because a learner could not pay for the next round.
    #[serde(default)]
    exhausted: bool,
    warning: Option<String>,
}

/// Encodes the receipts of a run.
///
/// # Errors
/// When a value has no form in JSON, which does not happen with finite numbers.
pub fn encode(receipts: &[Receipt], summary: &Summary) -> Result<Vec<u8>, serde_json::Error> {
    let header = Header {
        format: FORMAT.into(),
        schema_version: 1,
        learners: u32::try_from(summary.learners.len()).unwrap_or(u32::MAX),
        exhausted: summary.refusal.is_some(),
        warning: (!summary.private).then(|| NOT_PRIVATE.to_string()),
    };
    let mut bytes = serde_json::to_vec(&header)?;
    for receipt in receipts {
        bytes.push(b'\n');
        serde_json::to_writer(&mut bytes, receipt)?;
    }
    bytes.push(b'\n');
    Ok(bytes)
}

/// The ledger of a run, with the setup that its charges follow from.
pub struct RunLedger {
    /// The agreement as it was run, noise scales included, and what follows from it.
    pub setup: Setup,
    /// The same as written.
    pub agreement: RawAgreement,
    /// Whether the run ended because a learner could not pay for the next round.
    pub exhausted: bool,
    /// `NOT PRIVATE` for a seeded run.
    pub warning: Option<String>,
    /// How often each learner's most used record was drawn.
    pub uses: Vec<u64>,
    /// The receipts of each learner.
    pub receipts: Vec<Vec<Receipt>>,
}

impl RunLedger {
    /// Reads config and ledger of a run folder.
    ///
    /// # Errors
    /// When config or ledger cannot be read.
    pub fn read(folder: &Path) -> Result<RunLedger, ExperimentError> {
        let loaded: LoadedExperiment =
            load_file(&folder.join("config.toml"), &Overrides::default())?;
        let setup = loaded.checked.setup()?;
        let raw = resolved_agreement(&loaded.raw.shared(), &setup.agreement, &setup.scales());
        let learners = setup.mechanisms.len();
        let (header, receipts) = read(&folder.join(NAME), learners)?;
        let uses = match loaded.checked.data.repeat {
            true => draws(&folder.join(summary::NAME), learners)?,
            false => vec![1; learners],
        };
        Ok(RunLedger {
            setup,
            agreement: raw,
            exhausted: header.exhausted,
            warning: header.warning,
            uses,
            receipts,
        })
    }

    /// Recomputes every account, and compares.
    #[must_use]
    pub fn verify(&self) -> Verification {
        let RunLedger { setup, uses, receipts, exhausted, warning, .. } = self;
        Verification::of_simulation(setup, uses, receipts, *exhausted).with_notes(warning.clone())
    }
}

/// Recomputes every account of a run folder from its config, and compares.
///
/// # Errors
/// When config or ledger cannot be read. A disagreement is a result, not an error.
pub fn verify_run(folder: &Path) -> Result<Verification, ExperimentError> {
    Ok(RunLedger::read(folder)?.verify())
}

/// Reads how often each learner's most used record was drawn: the receipts are of a record that is used once.
fn draws(path: &Path, learners: usize) -> Result<Vec<u64>, FileError> {
    #[derive(Deserialize)]
    struct Draws {
        learners: Vec<LearnerDraws>,
    }
    #[derive(Deserialize)]
    struct LearnerDraws {
        draws_max: u64,
    }
    let text = fs::read_to_string(path).map_err(FileError::read(path))?;
    let draws: Draws = serde_json::from_str(&text)?;
    let draws: Vec<u64> = draws.learners.iter().map(|one| one.draws_max.max(1)).collect();
    if draws.len() == learners {
        return Ok(draws);
    }
    let reason = format!("{} learners, but the config has {learners}", draws.len());
    Err(FileError::Line { path: path.into(), line: 1, reason })
}

/// Reads the header, and each learner's receipts in file order.
fn read(path: &Path, learners: usize) -> Result<(Header, Vec<Vec<Receipt>>), FileError> {
    let bad = |line: usize, reason: String| FileError::Line { path: path.into(), line, reason };
    let mut lines = BufReader::new(File::open(path).map_err(FileError::read(path))?).lines();
    let first = lines.next().transpose().map_err(FileError::read(path))?.unwrap_or_default();
    let header: Header = serde_json::from_str(&first).map_err(|error| bad(1, error.to_string()))?;
    if header.format != FORMAT || header.schema_version != 1 {
        return Err(bad(1, "not a ledger of version 1".into()));
    }
    if header.learners as usize != learners {
        let reason = format!("{} learners, but the config has {learners}", header.learners);
        return Err(bad(1, reason));
    }
    let mut receipts = vec![Vec::new(); learners];
    for (index, line) in lines.enumerate() {
        let line = line.map_err(FileError::read(path))?;
        let receipt: Receipt =
            serde_json::from_str(&line).map_err(|error| bad(index + 2, error.to_string()))?;
        match receipts.get_mut(receipt.learner.0 as usize) {
            Some(list) => list.push(receipt),
            None => return Err(bad(index + 2, format!("there is no learner {}", receipt.learner))),
        }
    }
    Ok((header, receipts))
}
