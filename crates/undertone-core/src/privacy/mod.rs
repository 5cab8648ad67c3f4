//! What a learner's releases cost: in advance, so far, and for ever.
//!
//! Read [`Mechanism`] first (the public facts behind sensitivity and cost), then [`Accountant`] (the
//! running account that a cap is enforced on), then [`lifetime()`] (the certificate),
//! [`calibrate_scale`] (its inverse) and [`verify`] (the ledger, checked offline).

mod accountant;
mod budget;
mod conversion;
mod cost;
pub(crate) mod forgetting_lifetime;
#[cfg(test)]
mod forgetting_tests;
mod ledger;
mod lifetime;
mod mechanism;
pub(crate) mod one_use_lifetime;
mod price;
mod record_accounts;
mod step_effect;
#[cfg(test)]
mod tests;

pub use crate::encoding::Digest;
pub use accountant::{Accountant, Cap, Refusal};
pub use budget::{
    CalibrationError, Horizon, WorstRecord, calibrate_scale, planned_cost, record_cost, user_cost,
    worst_record,
};
pub use conversion::{epsilon_from_zcdp, rounded_up, zcdp_from_epsilon};
pub use cost::Cost;
pub(crate) use cost::ROUNDING;
pub use ledger::{Disagreement, Ledger, Receipt, genesis, verify};
pub use lifetime::{Lifetime, NoCertificate, lifetime, lifetimes};
pub(crate) use lifetime::{Tail, TailTerm, sum_then_tail};
pub(crate) use mechanism::{MESSAGES_CHARGED, RoundScales};
pub use mechanism::{Mechanism, NoiseLaw, RoundTerms};
pub(crate) use step_effect::StepEffect;

/// The unit of privacy, in one line.
pub const UNIT: &str =
    "one record of one learner replaced by another (event level), all else equal";
