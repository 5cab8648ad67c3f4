//! Checks receipts against the recomputed accounts.

use serde::Serialize;
use undertone_core::LearnerId;
use undertone_core::privacy::{
    Accountant, Cap, Cost, Mechanism, Receipt, RoundTerms, UNIT, verify,
};
use undertone_models::Setup;

/// The result of verifying a ledger.
#[derive(Clone, Debug, Serialize)]
pub struct Verification {
    /// Whether every learner's receipts agree with its account, and nothing else is wrong.
    pub agrees: bool,
    /// The unit of privacy of every ε.
    pub unit: &'static str,
    /// What is wrong with the file as a whole.
    pub faults: Vec<String>,
    /// What a reader of the results must know, such as that the noise of a seeded run can be subtracted.
    pub notes: Vec<String>,
    /// One entry for each learner.
    pub learners: Vec<LearnerVerification>,
}

impl Verification {
    /// The receipts of these learners.
    #[must_use]
    pub fn new(learners: Vec<LearnerVerification>) -> Verification {
        let agrees = learners.iter().all(|learner| learner.disagreement.is_none());
        Verification { agrees, unit: UNIT, faults: Vec::new(), notes: Vec::new(), learners }
    }

    /// Recomputes every charge of all learners of a simulation, and compares. `uses` says how often the record of each
    /// learner was used that was used most, and `exhausted` whether the run ended because one could not pay.
    #[must_use]
    pub fn of_simulation(
        setup: &Setup,
        uses: &[u64],
        receipts: &[Vec<Receipt>],
        exhausted: bool,
    ) -> Verification {
        let longest = receipts.iter().map(Vec::len).max().unwrap_or(0);
        let learners = setup.agreement.graph.ids().zip(uses).zip(receipts);
        let learners = learners.map(|((id, &uses), receipts)| {
            LearnerVerification::of_member(setup, id, uses, receipts, |account| {
                ending(account, receipts, longest, exhausted)
            })
        });
        Verification::new(learners.collect()).with_notes(setup.agreement.model.declared_by_user())
    }

    /// The same with what a reader must know.
    #[must_use]
    pub fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Verification {
        self.notes.extend(notes);
        self
    }

    /// The same with something that is wrong with the file as a whole.
    #[must_use]
    pub(crate) fn with_fault(mut self, fault: String) -> Verification {
        self.agrees = false;
        self.faults.push(fault);
        self
    }
}

/// The result of verifying one learner's receipts.
#[derive(Clone, Debug, Serialize)]
pub struct LearnerVerification {
    /// The learner.
    pub learner: u32,
    /// The number of receipts.
    pub receipts: usize,
    /// ε by the recomputed account; absent when the receipts disagree with it.
    pub epsilon: Option<f64>,
    /// The δ of that ε.
    pub delta: Option<f64>,
    /// How often the record was used that has paid this ε.
    pub uses: u64,
    /// The first disagreement.
    pub disagreement: Option<String>,
}

impl LearnerVerification {
    /// Recomputes every charge of a learner from its setup, and compares.
    #[must_use]
    pub fn new(setup: &Setup, id: LearnerId, receipts: &[Receipt]) -> LearnerVerification {
        LearnerVerification::of_member(setup, id, 1, receipts, |_| None)
    }

    fn of_member(
        setup: &Setup,
        id: LearnerId,
        uses: u64,
        receipts: &[Receipt],
        further: impl FnOnce(&Accountant) -> Option<String>,
    ) -> LearnerVerification {
        let index = id.0 as usize;
        let (mechanism, cap) = (&setup.mechanisms[index], setup.agreement.caps[index]);
        let claim = (setup.agreement.delta, uses);
        LearnerVerification::of(id, mechanism, cap, claim, receipts, further)
    }

    /// The same from the facts of a learner, with a further check, which says what is wrong with an account that agrees with
    /// its receipts. ε is at the δ given, for a record used as often as given.
    pub(crate) fn of(
        id: LearnerId,
        mechanism: &Mechanism,
        cap: Option<Cap>,
        (delta, uses): (f64, u64),
        receipts: &[Receipt],
        further: impl FnOnce(&Accountant) -> Option<String>,
    ) -> LearnerVerification {
        let account = match verify(id, mechanism, cap, receipts) {
            Ok(account) => account,
            Err(wrong) => {
                return LearnerVerification::failed(id, receipts.len(), wrong.to_string());
            }
        };
        if let Some(wrong) = further(&account) {
            return LearnerVerification::failed(id, receipts.len(), wrong);
        }
        let epsilon = of_uses(account.spent(), uses).epsilon(mechanism.noise.kind, delta);
        LearnerVerification {
            learner: id.0,
            receipts: receipts.len(),
            epsilon: Some(epsilon),
            delta: Some(delta),
            uses,
            disagreement: None,
        }
    }

    /// A learner whose receipts disagree, and why.
    pub(crate) fn failed(id: LearnerId, receipts: usize, wrong: String) -> LearnerVerification {
        let disagreement = Some(wrong);
        let (epsilon, delta, uses) = (None, None, 1);
        LearnerVerification { learner: id.0, receipts, epsilon, delta, uses, disagreement }
    }
}

/// What a record has paid that was used so often, if this is what it paid for one use.
pub(crate) fn of_uses(spent: Cost, uses: u64) -> Cost {
    // A record that was used once has paid what its account says, not a rounding more.
    if uses > 1 { spent.of_repeated(uses) } else { spent }
}

/// Why a ledger of a simulation ends too early, if it does. All learners of a simulation run the same rounds: one with
/// fewer receipts than the longest ledger has lost some, unless it could not pay for the round that `exhausted` the run.
pub(crate) fn ending(
    account: &Accountant,
    receipts: &[Receipt],
    longest: usize,
    exhausted: bool,
) -> Option<String> {
    match longest.saturating_sub(receipts.len()) {
        0 => None,
        // The run ended because this learner could not pay for the next round.
        1 if exhausted && could_refuse(account, receipts) => None,
        _ => Some(format!("ends after {} receipts, other learners have {longest}", receipts.len())),
    }
}

/// Whether a learner may have been refused the round after its last receipt.
///
/// The ledger does not say how many records arrived after the last receipt. With fewer arrivals,
/// earlier records pay more; if earlier records are forgotten and only new ones count, a single new
/// record pays most.
fn could_refuse(account: &Accountant, receipts: &[Receipt]) -> bool {
    let Some(last) = receipts.last() else { return account.would_exceed() };
    let Mechanism { weight: weight_heard, warmup, .. } = *account.mechanism();
    // The first receipt precedes all records; the warm-up and one more record have always arrived.
    let least = last.records.max(warmup + 1);
    [least, least.max(last.records + 1)].into_iter().any(|records| {
        let mut account = account.clone();
        account.advance(&RoundTerms { round: account.round(), weight_heard, records });
        account.would_exceed()
    })
}
