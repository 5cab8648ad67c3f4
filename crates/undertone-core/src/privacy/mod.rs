//! What a learner's releases cost: in advance, so far, and for ever.
//!
//! Read [`Mechanism`] first (the public facts behind sensitivity and cost), then [`Accountant`] (the
//! running account that a cap is enforced on), then [`lifetime()`] (the certificate) and [`verify`] (the
//! ledger, checked offline). Noise for a target is in [`planner`](crate::planner).

mod accountant;
mod budget;
mod conversion;
mod cost;
pub(crate) mod forgetting_lifetime;
#[cfg(test)]
mod forgetting_tests;
pub(crate) mod from_here;
#[cfg(test)]
mod from_here_tests;
mod gaussian;
mod ledger;
mod lifetime;
mod mechanism;
pub(crate) mod one_use_lifetime;
#[cfg(test)]
mod person_tests;
mod price;
mod record_accounts;
mod shown;
mod statement;
mod step_effect;
#[cfg(test)]
mod tests;
mod unit;

pub use crate::encoding::Digest;
pub use accountant::{Accountant, Cap, Refusal};
pub use budget::{Horizon, planned_cost, record_cost, user_cost, worst_record};
pub(crate) use budget::{NoScale, calibrate_scale};
pub use conversion::{epsilon_from_zcdp, zcdp_from_epsilon};
pub use cost::Cost;
pub(crate) use cost::ROUNDING;
pub(crate) use from_here::{Standing, forgetting_from_here};
pub(crate) use ledger::Ledger;
#[cfg(test)]
pub(crate) use ledger::genesis;
pub use ledger::{Disagreement, Receipt, verify};
pub use lifetime::{Lifetime, NoCertificate, lifetime, lifetimes};
pub(crate) use lifetime::{Tail, TailTerm, sum_then_tail};
pub(crate) use mechanism::{MESSAGES_CHARGED, RoundScales};
pub use mechanism::{Mechanism, NoiseLaw, RoundTerms};
pub use shown::{
    NO_BOUND, format_epsilon, format_epsilon_or, format_rounded_up, format_scientific_up,
};
pub use statement::{Loss, Statement};
pub(crate) use step_effect::StepEffect;
pub use unit::Unit;
