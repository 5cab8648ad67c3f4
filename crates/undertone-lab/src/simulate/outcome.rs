//! The outcome of a simulation.

use super::members::Member;
use crate::metrics::Metrics;
use std::fmt;
use undertone::privacy::{Accountant, Cost, ModelAccounts, PaidAccount, Receipt, Refusal};
use undertone::{LearnerId, Memory, PublicModel};

/// One measured round: a line of `rounds.csv`.
#[derive(Clone, Debug)]
pub struct RoundRow {
    /// The round t.
    pub round: u64,
    /// Records in all histories.
    pub records: u64,
    /// Mean loss of this round's records before their labels were known; absent without records.
    pub prequential_loss: Option<f64>,
    /// Share of all records so far that were classified correctly before their labels were known.
    pub prequential_accuracy: Option<f64>,
    /// The metrics.
    pub metrics: Metrics,
    /// ε at the agreement's δ that the most used record of each learner has paid, this round's release included.
    pub epsilon: Vec<f64>,
    /// Pure ε that it has paid.
    pub pure_epsilon: Vec<f64>,
    /// The noise scale of this round's release, for each learner.
    pub noise_scale: Vec<f64>,
}

/// Why a simulation ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// All rounds were run.
    Finished,
    /// The caller asked to stop.
    Interrupted,
    /// A learner's accountant refused a release.
    BudgetExhausted {
        /// Which learner.
        learner: LearnerId,
        /// Why.
        refusal: Refusal,
    },
}

/// The outcome of a simulation.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// One row for each measured round.
    pub rows: Vec<RoundRow>,
    /// The model that may be published.
    pub public: PublicModel,
    /// What records have paid for it, each draw of a record counted.
    pub accounts: ModelAccounts,
    /// The δ that the agreement reports at.
    pub delta: f64,
    /// One entry for each learner.
    pub learners: Vec<LearnerOutcome>,
    /// The learners' own parameters after the last round.
    pub parameters: FinalParameters,
    /// One receipt for every release, by round and learner; empty where there are too many to keep.
    pub ledger: Vec<Receipt>,
    /// How many rounds were run.
    pub rounds_run: u64,
    /// Why the run ended.
    pub ending: Ending,
}

/// The learners' parameters after the last round.
///
/// **Private**: `Debug` shows only their number, and they are written to no file.
#[derive(Clone)]
pub struct FinalParameters(pub(super) Vec<Box<[f64]>>);

impl FinalParameters {
    /// The parameters of each learner, for callers who may see them.
    #[must_use]
    pub fn for_owners(&self) -> &[Box<[f64]>] {
        &self.0
    }
}

impl fmt::Debug for FinalParameters {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "FinalParameters(learners={}, <redacted>)", self.0.len())
    }
}

impl Outcome {
    /// Whether a learner's records ran out, which voids the certificate of its plan.
    #[must_use]
    pub fn ran_dry(&self) -> bool {
        self.learners.iter().any(|learner| learner.ran_dry)
    }
}

/// What one learner did and spent.
#[derive(Clone, Debug)]
pub struct LearnerOutcome {
    /// Records in its history, repeats included.
    pub records: u64,
    /// How often its most used record was used.
    pub draws_max: u64,
    /// What a record used once has paid, at most.
    pub spent: Cost,
    /// ε at the agreement's δ that its most used record has paid.
    pub epsilon: f64,
    /// Its account, of a record used once.
    pub account: Accountant,
    /// Whether its records ran out before the last round.
    pub ran_dry: bool,
}

pub(super) fn learner_outcome(member: &Member, delta: f64) -> LearnerOutcome {
    let account = member.learner.accountant();
    LearnerOutcome {
        records: member.learner.memory().records(),
        draws_max: member.stream.draws_max(),
        spent: account.spent(),
        epsilon: member.paid().epsilon(account.mechanism().noise.kind, delta),
        account: account.clone(),
        ran_dry: member.ran_dry,
    }
}

pub(super) fn paid_account(member: &Member) -> PaidAccount {
    let learner = &member.learner;
    learner.accountant().paid_account(learner.id(), member.stream.draws_max())
}
