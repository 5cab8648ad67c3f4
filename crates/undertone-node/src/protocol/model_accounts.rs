//! What records have paid for a learner's public model, as far as this learner can know.
//!
//! A learner knows its own account. What others have paid depends on whom they have heard and when their records came,
//! which they tell nobody. Of them it says what the agreement plans, and that it is no more than that.

use super::node::Node;
use std::collections::{BTreeMap, BinaryHeap};
use undertone::privacy::{Cost, ModelAccounts, PaidAccount, PaidBasis, planned_cost};
use undertone::{Forgetting, LearnerId, Round};
use undertone_models::Setup;

/// The most steps of accounts that are computed for one model: a fraction of a second. Beyond that the bounds for ever,
/// which are known, stand for what is planned.
const STEPS_MAX: u64 = 4_000_000;

/// How many records an account follows in a round, about, where a memory forgets and says no number.
const RECORDS_FOLLOWED: u64 = 100;

/// What a learner has paid of which nothing is known.
const NOT_KNOWN: Cost = Cost { pure: f64::INFINITY, zcdp: f64::INFINITY };

impl<E, S> Node<E, S> {
    /// What records have paid for the public model: this learner's by its own account; those of all others whose releases
    /// may have shaped it as planned.
    ///
    /// Caps of other learners are not used: they are their owners' choice and no part of the agreement.
    #[must_use]
    pub fn model_accounts(&self) -> ModelAccounts {
        let (setup, own) = (self.wire.setup(), &self.learner);
        let others = self.others_in_the_model();
        let steps = others.values().map(|&through| steps(setup, through));
        let exact = steps.fold(0, u64::saturating_add) <= STEPS_MAX;
        let planned = others.into_iter().map(|(id, through)| planned(setup, id, through, exact));
        let own = own.accountant().paid_account(own.id(), 1);
        ModelAccounts::new(std::iter::once(own).chain(planned).collect())
    }

    /// The other learners whose releases may have shaped the model, each with the newest round it can be of.
    ///
    /// A neighbour's release of round r was computed from releases of its own neighbours up to round r − 1.
    fn others_in_the_model(&self) -> BTreeMap<LearnerId, Round> {
        let graph = &self.wire.setup().agreement.graph;
        let used = self.neighbours.iter();
        let mut reached: BinaryHeap<(Round, LearnerId)> =
            used.filter_map(|one| Some((one.used.newest()?, one.id))).collect();
        let mut found = BTreeMap::new();
        while let Some((through, id)) = reached.pop() {
            // The latest round comes first.
            if id == self.learner.id() || found.contains_key(&id) {
                continue;
            }
            found.insert(id, through);
            if let Some(before) = through.0.checked_sub(1).map(Round) {
                reached.extend(graph.neighbours(id).iter().map(|&(next, _)| (before, next)));
            }
        }
        found
    }
}

/// How many steps of an account it takes to compute what is planned up to a round.
fn steps(setup: &Setup, through: Round) -> u64 {
    let records = match setup.agreement.memory.forgetting() {
        Forgetting::Never => 1,
        Forgetting::Window { rounds } => rounds,
        Forgetting::Decaying { rounds, .. } => rounds.unwrap_or(RECORDS_FOLLOWED),
    };
    through.0.saturating_mul(records)
}

fn planned(setup: &Setup, learner: LearnerId, through: Round, exact: bool) -> PaidAccount {
    let place = learner.0 as usize;
    let mechanism = &setup.mechanisms[place];
    let cost = match &setup.lifetimes[place] {
        _ if exact => Some(planned_cost(mechanism, through.0)),
        Ok(lifetime) => Some(lifetime.total),
        Err(_) => None,
    };
    let basis = if cost.is_some() { PaidBasis::AsPlanned } else { PaidBasis::NotKnown };
    let one_use = cost.unwrap_or(NOT_KNOWN);
    let noise = mechanism.noise.kind;
    PaidAccount { learner, starts_ago: 0, through, noise, one_use, uses: 1, basis }
}
