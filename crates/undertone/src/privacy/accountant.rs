//! The running account of one learner: pays for a release before it exists, or refuses.

use super::conversion::{epsilon_from_zcdp, zcdp_from_epsilon};
use super::mechanism::{Cost, Mechanism, RoundTerms, Total};
use crate::Round;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A ceiling on what a learner may ever spend.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Cap {
    /// On pure ε.
    Pure {
        /// The largest total.
        epsilon: f64,
    },
    /// On ε at a given δ, by the optimal conversion from zCDP.
    Approximate {
        /// The largest ε.
        epsilon: f64,
        /// At this δ.
        delta: f64,
    },
}

/// Why a release was refused. Nothing was drawn and nothing may be sent.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum Refusal {
    /// The release would pass the cap.
    #[error(
        "round {round} would cost {cost:.4e} of {currency} on top of {spent:.4e} already spent, over the cap of {limit:.4e}"
    )]
    BudgetExhausted {
        /// The round refused.
        round: Round,
        /// Pure ε or zCDP.
        currency: &'static str,
        /// Spent so far.
        spent: f64,
        /// What this release would add.
        cost: f64,
        /// The cap.
        limit: f64,
    },
    /// The learner has reached the last round its certificate covers.
    #[error("round {round} is past the {limit} rounds a learner may ever take part in")]
    RoundLimit {
        /// The round refused.
        round: Round,
        /// [`Round::LIMIT`].
        limit: Round,
    },
}

/// The running account of one learner's privacy, O(1) in time and space per round.
///
/// It follows the weights actually heard and the records actually held, so it stays right when
/// neighbours are missing. Its totals only grow.
#[derive(Clone, Debug)]
pub struct Accountant {
    mechanism: Mechanism,
    limit: Cost,
    round: Round,
    sensitivity: f64,
    spent: Total,
}

impl Accountant {
    /// An account with nothing spent, before round 0.
    #[must_use]
    pub fn new(mechanism: Mechanism, cap: Option<Cap>) -> Accountant {
        let mut limit = Cost { pure: f64::INFINITY, zcdp: f64::INFINITY };
        match cap {
            Some(Cap::Pure { epsilon }) => limit.pure = epsilon,
            Some(Cap::Approximate { epsilon, delta }) => {
                limit.zcdp = zcdp_from_epsilon(epsilon, delta);
            }
            None => {}
        }
        Accountant {
            mechanism,
            limit,
            round: Round::ZERO,
            sensitivity: 0.0,
            spent: Total::default(),
        }
    }

    /// The public facts the account is based on.
    #[must_use]
    pub fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    /// The round whose release is paid for next.
    #[must_use]
    pub fn round(&self) -> Round {
        self.round
    }

    /// Φ_t: how far the θ about to be released can depend on one record.
    #[must_use]
    pub fn sensitivity(&self) -> f64 {
        self.sensitivity
    }

    /// Everything paid so far.
    #[must_use]
    pub fn spent(&self) -> Cost {
        self.spent.cost()
    }

    /// What has been spent, as ε at the given δ.
    #[must_use]
    pub fn epsilon(&self, delta: f64) -> f64 {
        epsilon_from_zcdp(self.spent().zcdp, delta)
    }

    /// What the release of this round would cost.
    #[must_use]
    pub fn next_cost(&self) -> Cost {
        self.mechanism.cost(self.round, self.sensitivity)
    }

    /// Whether the release of this round would pass the cap.
    #[must_use]
    pub fn would_exceed(&self) -> bool {
        self.check().is_err()
    }

    /// Pays for the release of this round.
    ///
    /// # Guarantee
    /// On `Ok` the cost is already part of [`spent`](Self::spent), whatever happens to the release
    /// afterwards; on `Err` nothing was spent and nothing may be released.
    ///
    /// # Errors
    /// [`Refusal`] when the cap or the last round is reached.
    pub fn pay(&mut self) -> Result<Cost, Refusal> {
        let cost = self.check()?;
        self.spent.add(cost);
        Ok(cost)
    }

    /// Moves to the next round: the records used and the weights heard shape the next sensitivity.
    ///
    /// # Panics
    /// When the terms are of another round: a bug in the caller.
    pub fn advance(&mut self, terms: &RoundTerms) {
        assert_eq!(terms.round, self.round, "terms of the round that was paid for");
        self.sensitivity = self.mechanism.next_sensitivity(self.sensitivity, terms);
        self.round = self.round.next();
    }

    fn check(&self) -> Result<Cost, Refusal> {
        if self.round >= Round::LIMIT {
            return Err(Refusal::RoundLimit { round: self.round, limit: Round::LIMIT });
        }
        let cost = self.next_cost();
        let spent = self.spent();
        let total = spent.plus(cost);
        let refuse = |currency, spent, cost, limit| {
            Err(Refusal::BudgetExhausted { round: self.round, currency, spent, cost, limit })
        };
        // A NaN total must be refused, so the comparisons ask what is allowed.
        if !(total.pure <= self.limit.pure) {
            return refuse("pure epsilon", spent.pure, cost.pure, self.limit.pure);
        }
        if !(total.zcdp <= self.limit.zcdp) {
            return refuse("zCDP", spent.zcdp, cost.zcdp, self.limit.zcdp);
        }
        Ok(cost)
    }
}
