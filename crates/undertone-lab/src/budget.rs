//! The budget of each learner, computed without data.

use serde::Serialize;
use undertone::Round;
use undertone::method::Bound;
use undertone::privacy::{Mechanism, planned_cost, record_cost, user_cost, worst_record};
use undertone_models::Setup;

/// The version of the JSON that `budget` and `simulate` print.
pub const SCHEMA_VERSION: u32 = 1;

/// The budgets of all learners.
#[derive(Clone, Debug, Serialize)]
pub struct BudgetReport {
    /// The version of this format.
    pub schema_version: u32,
    /// The agreement's name.
    pub name: String,
    /// The releases of rounds 1 to this one are counted; round 0 is free.
    pub rounds: u64,
    /// The unit of privacy.
    pub unit: String,
    /// One unit in a word: `record` or `person`.
    #[serde(skip)]
    pub noun: &'static str,
    /// Whether the agreement is outside the convergence theorems.
    pub unproven: bool,
    /// What the user declares about a loss of their own; null for built-in losses.
    pub declared_by_user: Option<String>,
    /// One entry for each learner.
    pub learners: Vec<LearnerBudget>,
}

/// The budget of one learner.
#[derive(Clone, Debug, Serialize)]
pub struct LearnerBudget {
    /// The learner.
    pub learner: u32,
    /// Pure ε over the rounds; null where the noise has none.
    pub pure_epsilon: Option<f64>,
    /// zCDP over the rounds.
    pub zcdp: f64,
    /// ε at `delta` over the rounds.
    pub epsilon: f64,
    /// The δ of both ε.
    pub delta: f64,
    /// ε at `delta` over the rounds for all records of the learner together (user level); null where it is
    /// infinite. Over a lifetime it always is.
    pub user_epsilon: Option<f64>,
    /// Lifetime bounds, null where there is no certificate.
    pub lifetime: LifetimeBudget,
    /// The method's name.
    pub method: &'static str,
    /// How its sensitivity is bounded, where there is a choice.
    pub bound: Option<Bound>,
    /// The noise scale of round 0.
    pub noise_scale: f64,
    /// The arrival round of the record that pays the most zCDP; 0 includes the warm-up.
    pub worst_arrival_round: u64,
    /// What records pay, by arrival round.
    pub records: Vec<RecordBudget>,
}

/// Lifetime bounds, null where there is no certificate.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LifetimeBudget {
    /// Pure ε.
    pub pure_epsilon: Option<f64>,
    /// zCDP.
    pub zcdp: Option<f64>,
    /// ε at the report's δ.
    pub epsilon: Option<f64>,
    /// Why there is no certificate.
    pub no_certificate: Option<String>,
}

/// What one record pays.
#[derive(Clone, Debug, Serialize)]
pub struct RecordBudget {
    /// The round in which the record arrives; 0 includes the warm-up.
    pub arrival_round: u64,
    /// Pure ε; null where the noise has none.
    pub pure_epsilon: Option<f64>,
    /// zCDP.
    pub zcdp: f64,
    /// ε at the report's δ.
    pub epsilon: f64,
}

/// A number for JSON: null where it is not finite.
#[must_use]
pub fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

impl LifetimeBudget {
    /// The lifetime bounds of one learner of a setup.
    #[must_use]
    pub fn of(setup: &Setup, learner: usize, delta: f64) -> LifetimeBudget {
        match &setup.lifetimes[learner] {
            Ok(bound) => LifetimeBudget {
                pure_epsilon: finite(bound.total.pure),
                zcdp: finite(bound.total.zcdp),
                epsilon: finite(bound.total.epsilon(setup.agreement.noise_kind, delta)),
                no_certificate: None,
            },
            Err(reason) => {
                LifetimeBudget { no_certificate: Some(reason.to_string()), ..Default::default() }
            }
        }
    }
}

/// Computes the budget of every learner over the given number of rounds.
///
/// T rounds count the releases of rounds 1 to T, as Theorem 5 of the paper does.
#[must_use]
pub fn budget(setup: &Setup, rounds: u64, delta: f64) -> BudgetReport {
    let mut known: Vec<(Mechanism, LearnerBudget)> = Vec::new();
    let mut learners = Vec::with_capacity(setup.mechanisms.len());
    for (index, mechanism) in setup.mechanisms.iter().enumerate() {
        let id = u32::try_from(index).unwrap_or(u32::MAX);
        if let Some((_, same)) = known.iter().find(|(other, _)| other == mechanism) {
            learners.push(LearnerBudget { learner: id, ..same.clone() });
            continue;
        }
        let total = planned_cost(mechanism, rounds);
        let worst = worst_record(mechanism, rounds);
        let noise = mechanism.noise.kind;
        let entry = LearnerBudget {
            learner: id,
            pure_epsilon: finite(total.pure),
            zcdp: total.zcdp,
            epsilon: total.epsilon(noise, delta),
            delta,
            user_epsilon: finite(user_cost(mechanism, rounds).epsilon(noise, delta)),
            lifetime: LifetimeBudget::of(setup, index, delta),
            method: mechanism.method.describe().name,
            bound: mechanism.method.describe().bound,
            noise_scale: mechanism.noise.scale.initial,
            worst_arrival_round: worst.0,
            records: record_view(mechanism, worst, rounds, delta),
        };
        known.push((*mechanism, entry.clone()));
        learners.push(entry);
    }
    BudgetReport {
        schema_version: SCHEMA_VERSION,
        name: setup.agreement.name.clone(),
        rounds,
        unit: setup.agreement.unit.to_string(),
        noun: setup.agreement.unit.noun(),
        unproven: !setup.agreement.broken_conditions().is_empty(),
        declared_by_user: setup.agreement.model.declared_by_user(),
        learners,
    }
}

/// What records pay that arrive in rounds 0, 1, 10, 100, … and in the worst round.
fn record_view(mechanism: &Mechanism, worst: Round, rounds: u64, delta: f64) -> Vec<RecordBudget> {
    let mut arrivals = vec![0];
    let mut next = 1;
    while next < rounds {
        arrivals.push(next);
        next *= 10;
    }
    arrivals.push(worst.0);
    arrivals.sort_unstable();
    arrivals.dedup();
    arrivals
        .into_iter()
        .map(|arrival_round| {
            let cost = record_cost(mechanism, Round(arrival_round), rounds);
            let epsilon = cost.epsilon(mechanism.noise.kind, delta);
            RecordBudget {
                arrival_round,
                pure_epsilon: finite(cost.pure),
                zcdp: cost.zcdp,
                epsilon,
            }
        })
        .collect()
}
