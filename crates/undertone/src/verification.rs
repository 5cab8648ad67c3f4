//! Receipts, checked against the accounts that they should come from.

use serde::Serialize;
use undertone_core::LearnerId;
use undertone_core::privacy::{Accountant, Receipt, verify};
use undertone_models::Setup;

/// The result of verifying a ledger.
#[derive(Clone, Debug, Serialize)]
pub struct Verification {
    /// Whether every learner's receipts agree with its account.
    pub agrees: bool,
    /// What every ε here is about: the unit of privacy.
    pub unit: String,
    /// One entry for each learner.
    pub learners: Vec<LearnerVerification>,
}

impl Verification {
    /// Of these learners of a setup.
    #[must_use]
    pub fn new(setup: &Setup, learners: Vec<LearnerVerification>) -> Verification {
        let agrees = learners.iter().all(|learner| learner.disagreement.is_none());
        Verification { agrees, unit: setup.agreement.unit.to_string(), learners }
    }
}

/// The result of verifying one learner's receipts.
#[derive(Clone, Debug, Serialize)]
pub struct LearnerVerification {
    /// The learner.
    pub learner: u32,
    /// The number of receipts.
    pub receipts: usize,
    /// ε at the agreement's δ by the recomputed account; absent when the receipts disagree with it.
    pub epsilon: Option<f64>,
    /// The first disagreement.
    pub disagreement: Option<String>,
}

impl LearnerVerification {
    /// Recomputes every charge of a learner from its setup, and compares.
    #[must_use]
    pub fn new(setup: &Setup, id: LearnerId, receipts: &[Receipt]) -> LearnerVerification {
        LearnerVerification::with(setup, id, receipts, |_| None)
    }

    /// The same with a further check, which says what is wrong with an account that agrees with its receipts.
    #[must_use]
    pub fn with(
        setup: &Setup,
        id: LearnerId,
        receipts: &[Receipt],
        further: impl FnOnce(&Accountant) -> Option<String>,
    ) -> LearnerVerification {
        let index = id.0 as usize;
        let account = verify(id, &setup.mechanisms[index], setup.agreement.caps[index], receipts);
        let (epsilon, disagreement) = match account {
            Ok(account) => match further(&account) {
                None => (Some(account.epsilon(setup.agreement.delta)), None),
                wrong => (None, wrong),
            },
            Err(disagreement) => (None, Some(disagreement.to_string())),
        };
        LearnerVerification { learner: id.0, receipts: receipts.len(), epsilon, disagreement }
    }
}
