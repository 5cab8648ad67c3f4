//! What a learner's releases cost, before, during and for ever.
//!
//! Read [`mechanism`](Mechanism) first (sensitivity and cost of one round), then [`Accountant`] (the
//! running account that a cap is enforced on), then [`lifetime()`] (the certificate),
//! [`calibrate_scale`] (its inverse) and [`verify`] (the ledger, checked offline).

mod accountant;
mod budget;
mod conversion;
mod exposures;
#[cfg(test)]
mod forgetting_tests;
mod fresh;
mod ledger;
mod lifetime;
mod mechanism;
mod stationary;
#[cfg(test)]
mod tests;

pub use accountant::{Accountant, Cap, Refusal};
pub use budget::{
    CalibrationError, Horizon, WorstRecord, calibrate_scale, planned_cost, record_cost, user_cost,
    worst_record,
};
pub use conversion::{epsilon_from_zcdp, zcdp_from_epsilon};
pub use ledger::{Digest, Disagreement, Ledger, Receipt, genesis, verify};
pub use lifetime::{Lifetime, NoCertificate, lifetime, lifetimes};
pub use mechanism::{Cost, Mechanism, NoiseLaw, RoundTerms, Rule};

/// The unit of privacy, in one line.
pub const UNIT: &str =
    "one record of one learner replaced by another (event level), all else equal";
