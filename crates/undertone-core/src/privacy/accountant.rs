//! The running account of one learner. It pays for a release before the noise is drawn, or refuses.

use super::conversion::zcdp_from_epsilon;
use super::cost::{Cost, Total};
use super::format::format_scientific_up;
use super::lifetime::{Lifetime, NoCertificate};
use super::lifetime_from_present::Standing;
use super::mechanism::{Mechanism, RoundScales, RoundTerms};
use super::price::Price;
use super::record_accounts::RecordAccounts;
use crate::persist::{Fields, Persist};
use crate::{Forgetting, Round};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A cap on what a learner may ever spend.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Cap {
    /// On pure ε.
    Pure {
        /// The largest total.
        epsilon: f64,
    },
    /// On ε at a given δ: exact for Gaussian noise, by the optimal conversion from zCDP for Laplace noise.
    Approximate {
        /// The largest ε.
        epsilon: f64,
        /// At this δ.
        delta: f64,
    },
}

impl Cap {
    /// Its ε: at the cap's δ, or pure.
    #[must_use]
    pub fn epsilon(self) -> f64 {
        match self {
            Cap::Pure { epsilon } | Cap::Approximate { epsilon, .. } => epsilon,
        }
    }
}

/// Why a release was refused. Nothing was drawn and nothing may be sent.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum Refusal {
    /// The release would exceed the cap.
    #[error(
        "round {round} would cost {} of {currency} on top of {} already spent, over the cap of {}",
        format_scientific_up(*.cost, 4), format_scientific_up(*.spent, 4), format_scientific_up(*.limit, 4)
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

/// The running account of one learner's privacy.
///
/// It uses the weights actually heard and the records actually held, so it stays right when
/// neighbours are missing. Its totals only grow. A round takes O(1) time and space. If records are
/// forgotten, both grow with the number of rounds whose records still count.
#[derive(Clone, Debug, PartialEq)]
pub struct Accountant {
    mechanism: Mechanism,
    cap: Option<Cap>,
    /// The cap as a cost.
    limit: Cost,
    round: Round,
    /// Whether the release of this round was paid for.
    paid: bool,
    /// The schedules in this round.
    scales: RoundScales,
    /// The machine charge of θ when it was last computed, if rounds were skipped since then.
    /// Skipped rounds do not reduce it.
    carried: f64,
    /// Whether a round departed from the plan, so that the planned certificate is void.
    has_departed: bool,
    /// Records that should have arrived by now and have not.
    missing: u64,
    records: Records,
}

/// The records whose cost is followed.
#[derive(Clone, Debug, PartialEq)]
enum Records {
    /// Only record 0, which pays most if nothing is forgotten (ADR 0004).
    First { sensitivity: f64, spent: Total },
    /// Every record: if records are forgotten, any of them may pay most (ADR 0011).
    Each(RecordAccounts),
}

/// The largest relative difference between the weights heard and those planned: they are summed in another order.
const WEIGHT_ROUNDING: f64 = 1e-12;

/// What the release of a round costs.
struct Due {
    /// For the record that the release depends on most.
    cost: Cost,
    /// For any record, by its sensitivity.
    price: Price,
    /// The total of record 0 after this release. Unused if every record is followed.
    after: Total,
}

impl Accountant {
    /// An account with nothing spent, before round 0.
    #[must_use]
    pub fn new(mechanism: Mechanism, cap: Option<Cap>) -> Accountant {
        let mut limit = Cost { pure: f64::INFINITY, zcdp: f64::INFINITY };
        match cap {
            Some(Cap::Pure { epsilon }) => limit.pure = epsilon,
            Some(Cap::Approximate { epsilon, delta }) => {
                limit.zcdp = zcdp_from_epsilon(mechanism.noise.kind, epsilon, delta);
            }
            None => {}
        }
        let records = match mechanism.forgetting {
            Forgetting::Never => Records::First { sensitivity: 0.0, spent: Total::default() },
            Forgetting::Window { .. } | Forgetting::Decaying { .. } => {
                Records::Each(RecordAccounts::new(&mechanism))
            }
        };
        let round = Round::ZERO;
        let scales = mechanism.scales(round);
        Accountant {
            mechanism,
            cap,
            limit,
            round,
            paid: false,
            scales,
            carried: 0.0,
            has_departed: false,
            missing: 0,
            records,
        }
    }

    /// The public facts the account is based on.
    #[must_use]
    pub fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    /// The cap, if there is one.
    #[must_use]
    pub fn cap(&self) -> Option<Cap> {
        self.cap
    }

    /// Whether a round departed from the plan, by a neighbour that counts or a record that was missing, or by rounds
    /// that were skipped. The certificate of the plan is then void.
    #[must_use]
    pub fn has_departed(&self) -> bool {
        self.has_departed
    }

    /// The round whose release is charged next.
    #[must_use]
    pub fn round(&self) -> Round {
        self.round
    }

    /// The schedules in this round.
    pub(crate) fn scales(&self) -> &RoundScales {
        &self.scales
    }

    fn enter(&mut self, round: Round) {
        self.round = round;
        self.scales = self.mechanism.scales(round);
    }

    /// Φ_t: how far one record can move the θ that is released next.
    #[must_use]
    pub fn sensitivity(&self) -> f64 {
        match &self.records {
            Records::First { sensitivity, .. } => *sensitivity,
            Records::Each(accounts) => accounts.sensitivity(),
        }
    }

    /// The total cost so far of the record that has paid most.
    #[must_use]
    pub fn spent(&self) -> Cost {
        match &self.records {
            Records::First { spent, .. } => spent.cost(),
            Records::Each(accounts) => accounts.spent(),
        }
    }

    /// The round in which the record arrived that has paid most so far.
    ///
    /// It is 0 (which includes the warm-up) if nothing is forgotten. Records are compared by zCDP.
    #[must_use]
    pub fn worst_record(&self) -> Round {
        match &self.records {
            Records::First { .. } => Round::ZERO,
            Records::Each(accounts) => accounts.worst(),
        }
    }

    /// What has been spent, as ε at the given δ.
    #[must_use]
    pub fn epsilon(&self, delta: f64) -> f64 {
        self.spent().epsilon(self.mechanism.noise.kind, delta)
    }

    /// A bound on all that will ever be spent: what was spent, and the rest as planned from now on.
    ///
    /// As long as everything went as planned this is the planned certificate, which the caller has. Where a
    /// neighbour that counts was missing, or a record, that one is void, and the bound starts at the learner's
    /// present state.
    ///
    /// # Guarantee
    /// If every neighbour is heard and every record arrives from this round on, no later total is above it.
    ///
    /// # Errors
    /// [`NoCertificate`] with the reason when no finite bound is known.
    pub fn for_ever(
        &self,
        planned: &Result<Lifetime, NoCertificate>,
    ) -> Result<Lifetime, NoCertificate> {
        let planned = planned.as_ref().map_err(|&reason| reason)?;
        if !self.has_departed {
            return Ok(*planned);
        }
        let (sensitivity, spent, each) = match &self.records {
            Records::First { sensitivity, spent } => (*sensitivity, *spent, None),
            Records::Each(accounts) => (0.0, Total::default(), Some(accounts)),
        };
        let &Accountant { round, paid, carried, missing, .. } = self;
        let standing = Standing { round, paid, sensitivity, spent, carried, missing, each };
        self.mechanism.method.account().lifetime_from(&self.mechanism, planned, &standing)
    }

    /// Whether the release of this round would exceed the cap.
    #[must_use]
    pub fn would_exceed(&self) -> bool {
        self.check().is_err()
    }

    /// Pays for the release of this round. Returns what it costs the record that it depends on
    /// most.
    ///
    /// If records are forgotten, that need not be the record that has paid most, so the amount
    /// spent may grow by less.
    ///
    /// # Guarantee
    /// On `Ok` the cost is already part of [`spent`](Self::spent), whatever happens to the release
    /// afterwards; on `Err` nothing was spent and nothing may be released.
    ///
    /// # Errors
    /// [`Refusal`] when the cap or the last round is reached.
    pub fn pay(&mut self) -> Result<Cost, Refusal> {
        let Due { cost, price, after } = self.check()?;
        match &mut self.records {
            Records::First { spent, .. } => *spent = after,
            Records::Each(accounts) if self.round > Round::ZERO => {
                accounts.pay(&price);
            }
            // The release of round 0 depends on no record.
            Records::Each(_) => {}
        }
        self.paid = true;
        Ok(cost)
    }

    /// Moves to the next round. The next sensitivity follows from the records used and the weights
    /// heard.
    ///
    /// # Panics
    /// When the terms are of another round: a bug in the caller.
    pub fn advance(&mut self, terms: &RoundTerms) {
        assert_eq!(terms.round, self.round, "terms of the round that was paid for");
        self.compare_with_plan(terms);
        match &mut self.records {
            Records::First { sensitivity, .. } => {
                *sensitivity =
                    self.mechanism.next_sensitivity_at(*sensitivity, terms, &self.scales);
            }
            Records::Each(accounts) => accounts.advance(&self.mechanism, terms),
        }
        self.enter(self.round.next());
        self.paid = false;
        self.carried = 0.0;
    }

    /// Notes what is missing of the plan.
    fn compare_with_plan(&mut self, terms: &RoundTerms) {
        let planned = self.mechanism.planned_terms(terms.round);
        self.missing = planned.records.saturating_sub(terms.records);
        let all_heard = terms.weight_heard >= planned.weight_heard * (1.0 - WEIGHT_ROUNDING);
        let attended = all_heard || !self.mechanism.method.account().attendance_counts();
        self.has_departed |= self.missing > 0 || !attended;
    }

    /// What the release of this round costs, whatever the sensitivity.
    fn price(&self) -> Price {
        self.mechanism.price_at(self.round, &self.scales).with_machine_least(self.carried)
    }

    /// Moves to a later round without a step: θ does not change, and neither does its sensitivity.
    ///
    /// # Panics
    /// When the round is before the one the account is in: a bug in the caller.
    pub fn skip_to(&mut self, until: Round) {
        assert!(until >= self.round, "rounds only grow");
        if until > self.round {
            self.carried = self.carried.max(self.mechanism.machine_sensitivity_at(&self.scales));
            self.has_departed = true;
            self.paid = false;
            self.enter(until);
        }
    }

    /// What the release of this round costs, and its price for any sensitivity; or why it is
    /// refused.
    fn check(&self) -> Result<Due, Refusal> {
        if self.round >= Round::LIMIT {
            return Err(Refusal::RoundLimit { round: self.round, limit: Round::LIMIT });
        }
        let price = self.price();
        let cost = price.cost(self.sensitivity());
        let mut after = Total::default();
        let total = match &self.records {
            Records::Each(accounts) if self.round > Round::ZERO => accounts.spent_after(&price),
            // The same total that `pay` will add, rounded up once, so that the last round of a
            // calibrated plan is not refused.
            Records::First { spent, .. } => {
                after = *spent;
                after.add(cost);
                after.cost()
            }
            Records::Each(_) => self.spent().plus(cost),
        };
        // A NaN total must be refused, so the comparisons test for what is allowed.
        if !(total.pure <= self.limit.pure) {
            let of = |cost: Cost| cost.pure;
            return Err(self.refusal("pure epsilon", of, cost, total));
        }
        if !(total.zcdp <= self.limit.zcdp) {
            return Err(self.refusal("zCDP", |cost| cost.zcdp, cost, total));
        }
        Ok(Due { cost, price, after })
    }

    /// Why this round is refused, in the currency whose cap it would exceed.
    #[cold]
    fn refusal(
        &self,
        currency: &'static str,
        of: impl Fn(Cost) -> f64,
        cost: Cost,
        total: Cost,
    ) -> Refusal {
        let spent = of(self.spent());
        let cost = match &self.records {
            Records::First { .. } => of(cost),
            // If every record is followed: by how much the largest total would grow.
            Records::Each(_) => of(total) - spent,
        };
        Refusal::BudgetExhausted { round: self.round, currency, spent, cost, limit: of(self.limit) }
    }
}

/// The round, sensitivities and totals; the rest is public and follows from the agreement.
impl Persist for Accountant {
    fn visit(&mut self, fields: &mut dyn Fields) {
        fields.count(&mut self.round.0);
        fields.flag(&mut self.paid);
        fields.number(&mut self.carried);
        fields.flag(&mut self.has_departed);
        fields.count(&mut self.missing);
        match &mut self.records {
            Records::First { sensitivity, spent } => {
                fields.number(sensitivity);
                spent.visit(fields);
            }
            Records::Each(accounts) => accounts.visit(fields),
        }
        // The round may just have been loaded.
        self.enter(self.round);
    }
}
