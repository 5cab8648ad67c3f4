//! `ledger.ndjson`: a header line, then one receipt a line, and its verification.

use crate::error::{ExperimentError, FileError};
use crate::experiment::{LoadedExperiment, Overrides, load_file};
use crate::summary::{NOT_PRIVATE, Summary};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use undertone::LearnerId;
use undertone::privacy::{Accountant, Mechanism, Receipt, RoundTerms, verify};
use undertone_models::Setup;

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
    /// Whether the run ended because somebody could not pay for the next round.
    #[serde(default)]
    exhausted: bool,
    warning: Option<String>,
}

/// What checking a ledger found.
#[derive(Clone, Debug, Serialize)]
pub struct Verification {
    /// Whether everything agrees.
    pub agrees: bool,
    /// One entry for each learner.
    pub learners: Vec<LearnerVerification>,
}

/// What checking one learner's receipts found.
#[derive(Clone, Debug, Serialize)]
pub struct LearnerVerification {
    /// The learner.
    pub learner: u32,
    /// How many receipts it has.
    pub receipts: usize,
    /// ε at the config's δ, by the account computed again; absent when it disagrees.
    pub epsilon: Option<f64>,
    /// Where it first disagrees.
    pub disagreement: Option<String>,
}

/// The file of a run's receipts.
///
/// # Errors
/// Only when JSON cannot be written, which does not happen with finite numbers.
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

/// Computes every account of a run folder again from its config, and compares.
///
/// # Errors
/// When config or ledger cannot be read. A ledger that disagrees is not an error but a finding.
pub fn verify_run(folder: &Path) -> Result<Verification, ExperimentError> {
    let loaded: LoadedExperiment = load_file(&folder.join("config.toml"), &Overrides::default())?;
    let setup = loaded.checked.setup()?;
    let (exhausted, receipts) = read(&folder.join(NAME), setup.mechanisms.len())?;
    // Learners work in lock-step: one that has fewer receipts than the others lost some.
    let longest = receipts.iter().map(Vec::len).max().unwrap_or(0);
    let learners: Vec<LearnerVerification> = receipts
        .iter()
        .enumerate()
        .map(|(place, receipts)| {
            let id = LearnerId(u32::try_from(place).unwrap_or(u32::MAX));
            let result =
                verify(id, &setup.mechanisms[place], setup.agreement.caps[place], receipts);
            let result = result.map_err(|disagreement| disagreement.to_string());
            let result = result.and_then(|account| match longest - receipts.len() {
                0 => Ok(account),
                // The run ended because this learner could not pay for the next round.
                1 if exhausted && could_refuse(&account, receipts) => Ok(account),
                _ => Err(format!(
                    "ends after {} receipts, other learners have {longest}",
                    receipts.len()
                )),
            });
            learner_verification(id, receipts.len(), result, setup.agreement.delta)
        })
        .collect();
    let agrees = learners.iter().all(|learner| learner.disagreement.is_none());
    Ok(Verification { agrees, learners })
}

/// Computes one learner's account again, whose rounds need not be those of the others.
#[must_use]
pub fn verify_one(setup: &Setup, id: LearnerId, receipts: &[Receipt]) -> LearnerVerification {
    let place = id.0 as usize;
    let result = verify(id, &setup.mechanisms[place], setup.agreement.caps[place], receipts);
    let result = result.map_err(|disagreement| disagreement.to_string());
    learner_verification(id, receipts.len(), result, setup.agreement.delta)
}

/// Whether a learner may have been refused the round after its last receipt.
///
/// How many records arrived in between is not on record. The fewer the dearer for those that were there
/// before; for a new one, which alone counts where older ones are forgotten, one is the dearest.
fn could_refuse(account: &Accountant, receipts: &[Receipt]) -> bool {
    let Some(last) = receipts.last() else { return account.would_exceed() };
    let Mechanism { weight: weight_heard, warmup, .. } = *account.mechanism();
    // The first receipt is from before any record; the warm-up and a first one are always there.
    let least = last.records.max(warmup + 1);
    [least, least.max(last.records + 1)].into_iter().any(|records| {
        let mut account = account.clone();
        account.advance(&RoundTerms { round: account.round(), weight_heard, records });
        account.would_exceed()
    })
}

fn learner_verification(
    id: LearnerId,
    receipts: usize,
    result: Result<Accountant, String>,
    delta: f64,
) -> LearnerVerification {
    let (epsilon, disagreement) = match result {
        Ok(account) => (Some(account.epsilon(delta)), None),
        Err(disagreement) => (None, Some(disagreement)),
    };
    LearnerVerification { learner: id.0, receipts, epsilon, disagreement }
}

/// Reads whether a budget ended the run, and the receipts of each learner, in the order of the file.
fn read(path: &Path, learners: usize) -> Result<(bool, Vec<Vec<Receipt>>), FileError> {
    let bad = |line: usize, reason: String| FileError::Line { path: path.into(), line, reason };
    let mut lines = BufReader::new(File::open(path).map_err(FileError::read(path))?).lines();
    let first = lines.next().transpose().map_err(FileError::read(path))?.unwrap_or_default();
    let header: Header = serde_json::from_str(&first).map_err(|error| bad(1, error.to_string()))?;
    if header.format != FORMAT || header.schema_version != 1 {
        return Err(bad(1, "not a ledger of version 1".into()));
    }
    if header.learners as usize != learners {
        let reason = format!("{} learners, the config has {learners}", header.learners);
        return Err(bad(1, reason));
    }
    let mut receipts = vec![Vec::new(); learners];
    for (place, line) in lines.enumerate() {
        let line = line.map_err(FileError::read(path))?;
        let receipt: Receipt =
            serde_json::from_str(&line).map_err(|error| bad(place + 2, error.to_string()))?;
        match receipts.get_mut(receipt.learner.0 as usize) {
            Some(list) => list.push(receipt),
            None => return Err(bad(place + 2, format!("there is no learner {}", receipt.learner))),
        }
    }
    Ok((header.exhausted, receipts))
}
