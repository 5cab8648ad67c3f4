//! What a model's file says of what its records have paid: written and read in one place.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use thiserror::Error;
use undertone_core::noise::NoiseKind;
use undertone_core::privacy::{Cost, ModelAccounts, PaidAccount, PaidBasis, format_epsilon};
use undertone_core::{LearnerId, Round};

/// The key of the accounts, as JSON.
const ACCOUNTS: &str = "accounts";
const VERSION: u32 = 1;

/// Why the accounts of a model cannot be read.
#[derive(Debug, Error)]
pub enum AccountsError {
    /// The file is no safetensors file.
    #[error("is not a safetensors file: {0}")]
    File(#[from] safetensors::SafeTensorError),
    /// The file does not say what its records have paid.
    #[error("does not say what records have paid: it has no metadata `{ACCOUNTS}`")]
    Missing,
    /// The accounts are not of the form that is written.
    #[error("metadata `{ACCOUNTS}`: {0}")]
    Malformed(#[from] serde_json::Error),
    /// They are of another version or unit, or no learner can have paid them.
    #[error("metadata `{ACCOUNTS}`: {0}")]
    Unusable(&'static str),
}

/// All accounts of a model, in a file.
#[derive(Serialize, Deserialize)]
struct Written {
    version: u32,
    unit: String,
    /// Of every ε.
    delta: f64,
    learners: Vec<WrittenAccount>,
    not_listed: u64,
}

/// One account, in a file. Null is infinite.
#[derive(Serialize, Deserialize)]
struct WrittenAccount {
    learner: u32,
    starts_ago: u32,
    through_round: u64,
    basis: PaidBasis,
    noise: NoiseKind,
    /// Of a record that was used once.
    zcdp: Option<f64>,
    /// Of a record that was used once.
    pure_epsilon: Option<f64>,
    uses: u64,
    /// Of the record that was used most. For readers; it follows from the others.
    epsilon: Option<f64>,
}

/// The metadata of a model's file that say what its records have paid.
///
/// # Panics
/// When δ is not inside (0, 1): configs are checked before.
#[must_use]
pub fn accounts_metadata(accounts: &ModelAccounts, delta: f64) -> HashMap<String, String> {
    let worst = accounts.worst(delta);
    let by = worst.map_or("nobody".into(), whose);
    HashMap::from(
        [
            ("epsilon_spent", epsilon_text(accounts, delta)),
            ("epsilon_spent_by", by),
            ("delta", format!("{delta:e}")),
            ("unit", accounts.unit().into()),
            ("privacy", accounts_sentence(accounts, delta)),
            (ACCOUNTS, accounts_json(accounts, delta)),
        ]
        .map(|(key, value)| (key.to_string(), value)),
    )
}

/// What the records of a model have paid at most, and whose they are, in one sentence or more.
///
/// # Panics
/// As [`accounts_metadata`].
#[must_use]
pub fn accounts_sentence(accounts: &ModelAccounts, delta: f64) -> String {
    let Some(worst) = accounts.worst(delta) else {
        return "No release is in it: no record has paid anything.".into();
    };
    let whose = whose(worst);
    let mut text = match worst.basis {
        PaidBasis::NotKnown => format!("What the records of {whose} have paid is not known."),
        PaidBasis::OwnAccount | PaidBasis::AsPlanned => format!(
            "The records of {whose} have paid most: ε = {} at δ = {delta:e}.",
            epsilon_text(accounts, delta)
        ),
    };
    let planned = accounts.iter().filter(|account| account.basis == PaidBasis::AsPlanned).count();
    if planned > 0 {
        text.push_str(&format!(
            " Of {planned} learners only what was planned is known: their own accounts may be higher, where a neighbour \
             or a record was missing."
        ));
    }
    text
}

fn epsilon_text(accounts: &ModelAccounts, delta: f64) -> String {
    match accounts.worst(delta) {
        Some(worst) if worst.basis == PaidBasis::NotKnown => "not known".into(),
        Some(worst) => format_epsilon(worst.epsilon(delta)),
        None => format_epsilon(0.0),
    }
}

fn whose(account: &PaidAccount) -> String {
    let learner = account.learner;
    match account.starts_ago {
        0 => format!("learner {learner}"),
        1 => format!("learner {learner} of the model that it started from"),
        starts => format!("learner {learner} of the model {starts} starts ago"),
    }
}

/// The accounts as JSON, with their ε at δ for readers.
///
/// # Panics
/// As [`accounts_metadata`].
#[must_use]
pub fn accounts_json(accounts: &ModelAccounts, delta: f64) -> String {
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    let written = |account: &PaidAccount| WrittenAccount {
        learner: account.learner.0,
        starts_ago: account.starts_ago,
        through_round: account.through.0,
        basis: account.basis,
        noise: account.noise,
        zcdp: finite(account.one_use.zcdp),
        pure_epsilon: finite(account.one_use.pure),
        uses: account.uses,
        epsilon: finite(account.epsilon(delta)),
    };
    let written = Written {
        version: VERSION,
        unit: accounts.unit().into(),
        delta,
        learners: accounts.iter().map(written).collect(),
        not_listed: accounts.unlisted(),
    };
    serde_json::to_string(&written).expect("texts and finite numbers have a form in JSON")
}

/// Reads what [`accounts_json`] wrote: the accounts, and the δ of every ε in the text.
///
/// # Errors
/// When the text has another form, version or unit, or holds what no learner can have paid.
pub fn accounts_from_json(text: &str) -> Result<(ModelAccounts, f64), AccountsError> {
    let written: Written = serde_json::from_str(text)?;
    if written.version != VERSION {
        return Err(AccountsError::Unusable("is of another version of the form"));
    }
    let accounts = written.learners.into_iter().map(WrittenAccount::account).collect::<Vec<_>>();
    if !accounts.iter().all(PaidAccount::is_possible) {
        return Err(AccountsError::Unusable("holds what no learner can have paid"));
    }
    let accounts = ModelAccounts::new(accounts).and_unlisted(written.not_listed);
    if written.unit != accounts.unit() {
        return Err(AccountsError::Unusable("counts in another unit of privacy"));
    }
    if !(written.delta > 0.0 && written.delta < 1.0) {
        return Err(AccountsError::Unusable("has a delta that is not between 0 and 1"));
    }
    Ok((accounts, written.delta))
}

impl WrittenAccount {
    fn account(self) -> PaidAccount {
        let or_infinite = |value: Option<f64>| value.unwrap_or(f64::INFINITY);
        PaidAccount {
            learner: LearnerId(self.learner),
            starts_ago: self.starts_ago,
            through: Round(self.through_round),
            noise: self.noise,
            one_use: Cost { pure: or_infinite(self.pure_epsilon), zcdp: or_infinite(self.zcdp) },
            uses: self.uses,
            basis: self.basis,
        }
    }
}

/// Reads from a model's file what its records have paid, and the δ at which the file states it.
///
/// # Errors
/// When the file is damaged, or does not say it.
pub fn read_accounts(file: &[u8]) -> Result<(ModelAccounts, f64), AccountsError> {
    let (_, metadata) = safetensors::SafeTensors::read_metadata(file)?;
    let text = metadata.metadata().as_ref().and_then(|all| all.get(ACCOUNTS));
    accounts_from_json(text.ok_or(AccountsError::Missing)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model_file;
    use undertone_core::PublicModel;

    fn accounts() -> ModelAccounts {
        let exporter = PaidAccount {
            learner: LearnerId(0),
            starts_ago: 0,
            through: Round(30),
            noise: NoiseKind::Laplace,
            one_use: Cost { pure: 0.61, zcdp: 0.001_3 },
            uses: 1,
            basis: PaidBasis::OwnAccount,
        };
        let neighbour = PaidAccount {
            learner: LearnerId(3),
            one_use: Cost { pure: 40.0, zcdp: 1.0 / 3.0 },
            uses: 4,
            basis: PaidBasis::AsPlanned,
            ..exporter
        };
        let before = PaidAccount {
            noise: NoiseKind::Gaussian,
            one_use: Cost { pure: f64::INFINITY, zcdp: 0.1 + 0.2 },
            ..exporter
        };
        ModelAccounts::new(vec![before]).continued_by([exporter, neighbour])
    }

    fn file(accounts: &ModelAccounts, delta: f64) -> Vec<u8> {
        model_file(&PublicModel::new(3), None, accounts, delta, HashMap::new()).unwrap()
    }

    #[test]
    fn a_models_file_says_what_the_records_of_every_learner_have_paid_and_at_which_delta() {
        for delta in [1e-9, 1e-6, 0.3] {
            let (read, at) = read_accounts(&file(&accounts(), delta)).unwrap();
            assert_eq!(read, accounts());
            assert_eq!(at.to_bits(), delta.to_bits());
            for account in accounts().iter() {
                let same = read.iter().find(|one| one.learner == account.learner);
                assert!(same.is_some(), "learner {}", account.learner);
            }
        }
        let metadata = accounts_metadata(&accounts(), 1e-9);
        assert_eq!(metadata["delta"], "1e-9");
        assert_eq!(metadata["unit"], undertone_core::privacy::UNIT);
        assert_eq!(metadata["epsilon_spent_by"], "learner 3");
        let said: f64 = metadata["epsilon_spent"].parse().unwrap();
        let paid = accounts().epsilon(1e-9);
        assert!(said >= paid && said < paid + 1e-4, "{said} of {paid}");
        assert!(said > 5.0 * accounts().iter().next().unwrap().epsilon(1e-9), "not the exporter's");
        let sentence = &metadata["privacy"];
        assert!(sentence.contains("Of 1 learners only what was planned is known"), "{sentence}");
    }

    #[test]
    fn what_is_not_known_of_a_neighbour_is_said_and_no_number_is() {
        let mut all: Vec<PaidAccount> = accounts().iter().copied().collect();
        all[1].basis = PaidBasis::NotKnown;
        all[1].one_use = Cost { pure: f64::INFINITY, zcdp: f64::INFINITY };
        let metadata = accounts_metadata(&ModelAccounts::new(all.clone()), 1e-6);
        assert_eq!(metadata["epsilon_spent"], "not known");
        assert_eq!(metadata["epsilon_spent_by"], "learner 3");
        assert!(metadata["privacy"].starts_with("What the records of learner 3"));
        assert_eq!(
            read_accounts(&file(&ModelAccounts::new(all.clone()), 1e-6)).unwrap().0.iter().count(),
            3
        );
        // The control: without that account there is a number.
        all.remove(1);
        assert!(
            accounts_metadata(&ModelAccounts::new(all), 1e-6)["epsilon_spent"]
                .parse::<f64>()
                .is_ok()
        );
    }

    #[test]
    fn accounts_that_no_learner_can_have_paid_are_refused() {
        let text = accounts_json(&accounts(), 1e-6);
        assert!(accounts_from_json(&text).is_ok(), "the control");
        for (now, then) in [
            ("\"version\":1", "\"version\":2"),
            ("one record", "two records"),
            ("\"delta\":1e-6", "\"delta\":0.0"),
            ("\"uses\":4", "\"uses\":0"),
            ("\"zcdp\":0.0013", "\"zcdp\":-0.0013"),
            ("\"zcdp\":0.0013", "\"zcdp\":1e999"),
            ("gaussian", "cauchy"),
            ("own-account", "hearsay"),
        ] {
            assert!(text.contains(now), "{now} in {text}");
            assert!(accounts_from_json(&text.replace(now, then)).is_err(), "{then}");
        }
        for bytes in [Vec::new(), vec![0; 40], b"not a model".to_vec()] {
            assert!(matches!(read_accounts(&bytes), Err(AccountsError::File(_))));
        }
        let values = [0_u8; 8];
        let view = safetensors::tensor::TensorView::new(safetensors::Dtype::F64, vec![1], &values);
        let silent = safetensors::serialize([("theta", view.unwrap())], None).unwrap();
        assert!(matches!(read_accounts(&silent), Err(AccountsError::Missing)));
    }
}
