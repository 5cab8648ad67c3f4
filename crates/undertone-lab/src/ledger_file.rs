//! `ledger.ndjson`: a header line, then one receipt per line; and its verification.

use crate::error::{ExperimentError, FileError};
use crate::experiment::{LoadedExperiment, Overrides, load_file};
use crate::summary::{NOT_PRIVATE, Summary};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use undertone::privacy::{Accountant, Mechanism, Receipt, RoundTerms};
use undertone::{LearnerId, LearnerVerification, Verification};

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

/// Recomputes every account of a run folder from its config, and compares.
///
/// # Errors
/// When config or ledger cannot be read. A disagreement is a result, not an error.
pub fn verify_run(folder: &Path) -> Result<Verification, ExperimentError> {
    let loaded: LoadedExperiment = load_file(&folder.join("config.toml"), &Overrides::default())?;
    let setup = loaded.checked.setup()?;
    let (exhausted, receipts) = read(&folder.join(NAME), setup.mechanisms.len())?;
    // All learners run the same rounds: one with fewer receipts than the others has lost some.
    let longest = receipts.iter().map(Vec::len).max().unwrap_or(0);
    let learners = receipts
        .iter()
        .enumerate()
        .map(|(index, receipts)| {
            let id = LearnerId(u32::try_from(index).unwrap_or(u32::MAX));
            let missing = longest - receipts.len();
            LearnerVerification::with(&setup, id, receipts, |account| match missing {
                0 => None,
                // The run ended because this learner could not pay for the next round.
                1 if exhausted && could_refuse(account, receipts) => None,
                _ => Some(format!(
                    "ends after {} receipts, other learners have {longest}",
                    receipts.len()
                )),
            })
        })
        .collect();
    Ok(Verification::new(&setup, learners))
}

/// Whether a learner may have been refused the round after its last receipt.
///
/// The ledger does not say how many records arrived after the last receipt. With fewer arrivals,
/// earlier records pay more; if earlier records are forgotten and only new ones count, a single new
/// record pays most.
fn could_refuse(account: &Accountant, receipts: &[Receipt]) -> bool {
    let Some(last) = receipts.last() else { return account.would_exceed() };
    let Mechanism { weight: weight_heard, warmup, unit, forgetting, .. } = *account.mechanism();
    // The first receipt precedes all records; the warm-up and one more record have always arrived. How many persons
    // these are of is not known, and persons may leave a window.
    let least = match (unit.is_grouped(), forgetting.limit()) {
        (false, _) => last.records.max(warmup + 1),
        (true, None) => last.records.max(1),
        (true, Some(_)) => 1,
    };
    [least, least.max(last.records + 1)].into_iter().any(|records| {
        let mut account = account.clone();
        account.advance(&RoundTerms { round: account.round(), weight_heard, records });
        account.would_exceed()
    })
}

/// Reads whether a budget ended the run, and each learner's receipts in file order.
fn read(path: &Path, learners: usize) -> Result<(bool, Vec<Vec<Receipt>>), FileError> {
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
    Ok((header.exhausted, receipts))
}
