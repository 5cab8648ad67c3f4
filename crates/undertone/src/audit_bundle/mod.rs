//! Audit bundles: one file with all that is needed to compute every charge of a learner again, and nothing private.
//!
//! A bundle holds the agreement, the facts of each learner that charges follow from, and its ledger. The file ends with
//! a hash of all bytes before it. ADR 0027 describes the format, down to the hashes, for whoever writes a verifier of
//! their own; `scripts/verify_bundle.py` is one.

mod facts;
mod number;

use crate::load::{LoadError, Source, Strictness, load};
use crate::verification::{LearnerVerification, Verification, ending, of_uses};
use facts::{Difference, Facts, is_close};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use undertone_core::LearnerId;
use undertone_core::agreement::{Agreement, NoiseScale, RawAgreement};
use undertone_core::privacy::{Cost, Disagreement, Mechanism, Receipt, UNIT, verify};
use undertone_models::{Setup, SetupError, memory_error};

/// What every bundle calls itself.
const FORMAT: &str = "undertone audit bundle";
/// The version of the format.
const VERSION: u32 = 1;
/// What comes before the hash that ends the file.
const SEAL: &[u8] = b"\n\"sha256\":\"";
/// What comes after it.
const END: &[u8] = b"\"}\n";
/// The hexadecimal digits of a hash.
const HASH_DIGITS: usize = 64;

/// What a bundle is made of. All of it is public.
#[derive(Clone, Debug)]
pub struct AuditBundle {
    /// A warning that everyone must see: that a run had a seed, and its noise can be subtracted.
    pub warning: Option<String>,
    /// For a simulation, whether it ended because a learner could not pay for the next round. All its learners are in
    /// the bundle. `None` for the ledger of one learner.
    pub simulation_exhausted: Option<bool>,
    /// The agreement, with the noise scales in it.
    pub agreement: RawAgreement,
    /// The ledgers.
    pub ledgers: Vec<Ledger>,
}

/// The ledger of a learner.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// The learner.
    pub learner: LearnerId,
    /// How often the record that was used most was used: 1 where none is used again.
    pub uses: u64,
    /// What was charged, in the order of the rounds.
    pub receipts: Vec<Receipt>,
}

/// Why no bundle was made, or a file is none.
#[derive(Debug, Error)]
pub enum BundleError {
    /// The ledger is not what its agreement implies.
    #[error("the ledger of learner {learner} disagrees with its agreement: {disagreement}")]
    Ledger {
        /// The learner.
        learner: LearnerId,
        /// The first disagreement.
        disagreement: Box<Disagreement>,
    },
    /// The file does not end as a bundle does.
    #[error("not an audit bundle, or one that was cut off: it does not end with its hash")]
    NoSeal,
    /// The file is a bundle of another version.
    #[error("not an {FORMAT} of version {VERSION}")]
    Format,
    /// The contents are not those of a bundle.
    #[error("not an audit bundle: {0}")]
    Contents(#[from] serde_json::Error),
    /// The agreement in it cannot be used.
    #[error("the agreement in the bundle: {0}")]
    Agreement(#[from] LoadError),
    /// The agreement in it does not fit together.
    #[error("the agreement in the bundle: {0}")]
    Setup(#[from] SetupError),
    /// The agreement in it does not state the noise scales.
    #[error("the agreement in the bundle: noise.scale is missing")]
    NoScale,
}

/// A bundle as it stands in a file, without its seal.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    version: u32,
    producer: String,
    unit: String,
    warning: Option<String>,
    network: String,
    simulation: Option<Simulation>,
    agreement: Value,
    learners: Vec<Learner>,
    sha256: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Simulation {
    exhausted: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Learner {
    learner: LearnerId,
    uses: u64,
    mechanism: Facts,
    receipts: Vec<Receipt>,
    spent: Spent,
}

/// What the record that paid most has paid, all its uses together.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spent {
    #[serde(with = "number")]
    pure_epsilon: f64,
    #[serde(with = "number")]
    zcdp: f64,
    #[serde(with = "number")]
    epsilon: f64,
    #[serde(with = "number")]
    delta: f64,
}

impl Spent {
    fn new(spent: Cost, uses: u64, mechanism: &Mechanism, delta: f64) -> Spent {
        let cost = of_uses(spent, uses);
        let epsilon = cost.epsilon(mechanism.noise.kind, delta);
        Spent { pure_epsilon: cost.pure, zcdp: cost.zcdp, epsilon, delta }
    }

    /// The first number that is not the expected one.
    fn first_difference(&self, expected: &Spent) -> Option<Difference> {
        let &Spent { pure_epsilon, zcdp, epsilon, delta } = self;
        let pairs = [
            ("pure_epsilon", pure_epsilon, expected.pure_epsilon),
            ("zcdp", zcdp, expected.zcdp),
            ("epsilon", epsilon, expected.epsilon),
            ("delta", delta, expected.delta),
        ];
        // The conversion of zCDP adds 10⁻¹⁵, which is much of an ε that is smaller.
        let far = pairs.into_iter().find(|&(_, found, expected)| {
            !is_close(found, expected) && !((found - expected).abs() <= 1e-14)
        });
        far.map(|(name, found, expected)| Difference {
            fact: format!("spent.{name}"),
            found: found.to_string(),
            expected: expected.to_string(),
        })
    }
}

impl AuditBundle {
    /// The bytes of the file.
    ///
    /// # Errors
    /// When a ledger disagrees with the agreement: there is nothing to certify.
    ///
    /// # Panics
    /// When the network has no such learner: a bug in the caller.
    pub fn to_bytes(&self, setup: &Setup) -> Result<Vec<u8>, BundleError> {
        let AuditBundle { warning, simulation_exhausted, agreement, ledgers } = self;
        let producer = concat!("undertone ", env!("CARGO_PKG_VERSION"));
        let simulation = simulation_exhausted.map(|exhausted| Simulation { exhausted });
        let mut text = b"{".to_vec();
        add(&mut text, "\n\"format\":", &FORMAT)?;
        add(&mut text, ",\n\"version\":", &VERSION)?;
        add(&mut text, ",\n\"producer\":", &producer)?;
        add(&mut text, ",\n\"unit\":", &UNIT)?;
        add(&mut text, ",\n\"warning\":", warning)?;
        add(&mut text, ",\n\"network\":", &setup.network_id().to_string())?;
        add(&mut text, ",\n\"simulation\":", &simulation)?;
        add(&mut text, ",\n\"agreement\":", &without_nulls(serde_json::to_value(agreement)?))?;
        text.extend_from_slice(b",\n\"learners\":[");
        for (place, ledger) in ledgers.iter().enumerate() {
            text.extend_from_slice(if place == 0 { b"\n" } else { b",\n" });
            write_ledger(&mut text, setup, ledger)?;
        }
        text.extend_from_slice(b"],");
        text.extend_from_slice(SEAL);
        let hash = hash(&text);
        text.extend_from_slice(hash.as_bytes());
        text.extend_from_slice(END);
        Ok(text)
    }
}

/// One learner, each receipt on a line of its own.
fn write_ledger(text: &mut Vec<u8>, setup: &Setup, ledger: &Ledger) -> Result<(), BundleError> {
    let &Ledger { learner, uses, ref receipts } = ledger;
    let index = learner.0 as usize;
    let mechanism = &setup.mechanisms[index];
    let account = verify(learner, mechanism, setup.agreement.caps[index], receipts)
        .map_err(|found| BundleError::Ledger { learner, disagreement: Box::new(found) })?;
    let spent = Spent::new(account.spent(), uses, mechanism, setup.agreement.delta);
    add(text, "{\"learner\":", &learner)?;
    add(text, ",\"uses\":", &uses)?;
    add(text, ",\n\"mechanism\":", &Facts::from(mechanism))?;
    text.extend_from_slice(b",\n\"receipts\":[");
    for (place, receipt) in receipts.iter().enumerate() {
        add(text, if place == 0 { "\n" } else { ",\n" }, receipt)?;
    }
    add(text, "],\n\"spent\":", &spent)?;
    text.push(b'}');
    Ok(())
}

fn add(text: &mut Vec<u8>, before: &str, value: &impl Serialize) -> serde_json::Result<()> {
    text.extend_from_slice(before.as_bytes());
    serde_json::to_writer(text, value)
}

/// The same without keys that have no value, and without sections that have no keys.
fn without_nulls(value: Value) -> Value {
    let Value::Object(map) = value else { return value };
    let kept = map.into_iter().map(|(key, value)| (key, without_nulls(value)));
    let is_empty =
        |value: &Value| value.is_null() || value.as_object().is_some_and(|map| map.is_empty());
    Value::Object(kept.filter(|(_, value)| !is_empty(value)).collect())
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Checks a bundle: its hash, the facts of each learner against the agreement, and every charge of every ledger.
///
/// # Guarantee
/// As [`verify`] for each ledger, with facts that follow from the agreement in the file. And no byte of the file was
/// changed since it was made, unless all hashes after it were made again. What a bundle cannot prove is in
/// `docs/audit.md`.
///
/// # Errors
/// When the bytes are no bundle. A disagreement is a result, not an error.
pub fn verify_bundle(bytes: &[u8]) -> Result<Verification, BundleError> {
    let body = bytes.strip_suffix(END).ok_or(BundleError::NoSeal)?;
    let split = body.len().checked_sub(HASH_DIGITS).ok_or(BundleError::NoSeal)?;
    let (sealed, stated) = body.split_at(split);
    if !sealed.ends_with(SEAL) {
        return Err(BundleError::NoSeal);
    }
    if hash(sealed).as_bytes() == stated {
        return verify_contents(bytes);
    }
    let changed = "the file was changed: its hash is not that of its contents".to_string();
    // What else is wrong is worth knowing, as far as the rest can be read.
    let rest = verify_contents(bytes).unwrap_or_else(|_| Verification::new(Vec::new()));
    Ok(rest.with_fault(changed))
}

fn verify_contents(bytes: &[u8]) -> Result<Verification, BundleError> {
    let file: File = serde_json::from_slice(bytes)?;
    if file.format != FORMAT || file.version != VERSION {
        return Err(BundleError::Format);
    }
    let loaded = load::<RawAgreement>(&Source::Values(file.agreement), |_| (), Strictness::Run)?;
    let agreement = loaded.checked;
    let NoiseScale::Given(scales) = &agreement.noise_scale else {
        return Err(BundleError::NoScale);
    };
    let mechanisms = agreement.mechanisms(memory_error(&agreement)?, scales);
    let exhausted = file.simulation.as_ref().map(|simulation| simulation.exhausted);
    let longest = file.learners.iter().map(|learner| learner.receipts.len()).max().unwrap_or(0);
    let learners = file.learners.iter().map(|learner| {
        let complete = exhausted.map(|exhausted| (longest, exhausted));
        verify_learner(&agreement, &mechanisms, learner, complete)
    });
    let notes = file.warning.into_iter().chain(agreement.model.declared_by_user());
    let mut verification = Verification::new(learners.collect()).with_notes(notes);
    if file.unit != UNIT {
        verification = verification.with_fault(format!("the unit of privacy is not \"{UNIT}\""));
    }
    let network = agreement.network_id(scales).to_string();
    if file.network != network {
        verification = verification
            .with_fault(format!("network is {}, the agreement implies {network}", file.network));
    }
    let ids = file.learners.iter().map(|learner| learner.learner);
    let complete = match exhausted {
        Some(_) => ids.eq(agreement.graph.ids()),
        None => file.learners.len() == 1,
    };
    if !complete {
        let needed =
            if exhausted.is_some() { "every learner once, in order" } else { "one learner" };
        verification = verification.with_fault(format!("the bundle must hold {needed}"));
    }
    Ok(verification)
}

/// Checks one learner. `complete` has the receipts of the longest ledger of a simulation, and whether a cap ended it.
fn verify_learner(
    agreement: &Agreement,
    mechanisms: &[Mechanism],
    learner: &Learner,
    complete: Option<(usize, bool)>,
) -> LearnerVerification {
    let Learner { learner: id, uses, mechanism, receipts, spent } = learner;
    let index = id.0 as usize;
    let failed = |reason: String| LearnerVerification::failed(*id, receipts.len(), reason);
    let implies = |Difference { fact, found, expected }: Difference| {
        format!("{fact} is {found}, the agreement implies {expected}")
    };
    let (Some(expected), Some(&cap)) = (mechanisms.get(index), agreement.caps.get(index)) else {
        return failed(format!("the agreement has no learner {id}"));
    };
    if let Some(difference) = mechanism.first_difference(&Facts::from(expected)) {
        return failed(implies(Difference {
            fact: format!("mechanism.{}", difference.fact),
            ..difference
        }));
    }
    // The ledger begins with a hash of the facts to the last digit.
    let mechanism = match Mechanism::try_from(mechanism) {
        Ok(mechanism) => mechanism,
        Err(error) => return failed(format!("mechanism.dimension: {error}")),
    };
    let delta = agreement.delta;
    if *uses == 0 {
        return failed("uses is 0, and must be 1 at least".into());
    }
    LearnerVerification::of(*id, &mechanism, cap, (delta, *uses), receipts, |account| {
        let end =
            complete.and_then(|(longest, exhausted)| ending(account, receipts, longest, exhausted));
        let expected = Spent::new(account.spent(), *uses, &mechanism, delta);
        end.or_else(|| spent.first_difference(&expected).map(implies))
    })
}

#[cfg(test)]
mod tests;
