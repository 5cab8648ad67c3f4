//! What a learner's releases cost: in advance, so far, and for ever.
//!
//! Read [`Mechanism`] first (the public facts behind sensitivity and cost), then [`Accountant`] (the
//! running account that a cap is enforced on), then [`lifetime()`] (the certificate) and [`verify`] (the
//! ledger, checked offline). Noise for a target is in [`planner`](crate::planner).

mod accountant;
mod budget;
mod conversion;
mod cost;
mod fixed_costs;
pub(crate) mod forgetting_lifetime;
#[cfg(test)]
mod forgetting_tests;
mod format;
mod gaussian;
mod laplace;
mod ledger;
mod lifetime;
pub(crate) mod lifetime_from_present;
#[cfg(test)]
mod lifetime_from_present_tests;
mod mechanism;
pub(crate) mod one_use_lifetime;
mod paid;
#[cfg(test)]
mod paid_tests;
mod price;
mod record_accounts;
mod statement;
mod step_effect;
#[cfg(test)]
mod tests;

pub use crate::encoding::Digest;
pub use accountant::{Accountant, Cap, Refusal};
pub use budget::{
    Horizon, planned_cost, planned_costs, record_cost, record_costs, user_cost, user_costs,
    worst_record,
};
pub(crate) use budget::{NoScale, calibrate_scale};
pub use conversion::{epsilon_from_zcdp, zcdp_from_epsilon};
pub use cost::Cost;
pub(crate) use cost::ROUNDING;
pub use fixed_costs::FixedCosts;
pub use format::{
    NO_BOUND, format_epsilon, format_epsilon_or, format_rounded_up, format_scientific_up,
};
pub(crate) use ledger::Ledger;
#[cfg(test)]
pub(crate) use ledger::genesis;
pub use ledger::{Disagreement, Receipt, verify};
pub use lifetime::{Lifetime, NoCertificate, lifetime, lifetimes};
pub(crate) use lifetime::{Tail, TailTerm, sum_then_tail};
pub(crate) use lifetime_from_present::{Standing, lifetime_from_present};
pub(crate) use mechanism::{MESSAGES_CHARGED, RoundScales};
pub use mechanism::{Mechanism, NoiseLaw, RoundTerms};
pub use paid::{ModelAccounts, PaidAccount, PaidBasis};
pub use statement::{ForEver, Loss, PlannedLoss, PlannedRounds, Statement};
pub(crate) use step_effect::StepEffect;

/// The unit of privacy, in one line.
pub const UNIT: &str =
    "one record of one learner replaced by another (event level), all else equal";
