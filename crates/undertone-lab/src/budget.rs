//! The budget of a config, learner by learner, computed without data.

use serde::Serialize;
use undertone::Round;
use undertone::method::Bound;
use undertone::privacy::{
    Cost, Mechanism, UNIT, epsilon_from_zcdp, planned_cost, record_cost, user_cost, worst_record,
};
use undertone_models::Setup;

/// The version of the JSON that `budget` and `simulate` print.
pub const SCHEMA_VERSION: u32 = 1;

/// What a config costs.
#[derive(Clone, Debug, Serialize)]
pub struct BudgetReport {
    /// The version of this format.
    pub schema_version: u32,
    /// The config's name.
    pub name: String,
    /// Releases of rounds 1 to this one are counted; round 0 is free.
    pub rounds: u64,
    /// What one unit of privacy is.
    pub unit: &'static str,
    /// Whether the config is outside the convergence theorems.
    pub unproven: bool,
    /// What of it rests on the word of the user whose loss it is; null for losses that we know.
    pub declared_by_user: Option<String>,
    /// One entry for each learner.
    pub learners: Vec<LearnerBudget>,
}

/// What one learner spends.
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
    /// ε at `delta` over the rounds for all records of the learner together (user level), null where it
    /// is beyond all bounds. There is no finite one for ever.
    pub user_epsilon: Option<f64>,
    /// Bounds for ever, null where there is no certificate.
    pub lifetime: LifetimeBudget,
    /// The recursion used.
    pub method: &'static str,
    /// How its sensitivity is bounded, where there is a choice.
    pub bound: Option<Bound>,
    /// The noise scale of round 0.
    pub noise_scale: f64,
    /// The round in which the record arrives that pays most zCDP; 0 stands for the warm-up too.
    pub worst_arrival_round: u64,
    /// What records pay by the round they arrive in.
    pub records: Vec<RecordBudget>,
}

/// Bounds for ever, null where there is no certificate.
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
    /// The round in which it arrives; 0 stands for the warm-up too.
    pub arrival_round: u64,
    /// Pure ε; null where the noise has none.
    pub pure_epsilon: Option<f64>,
    /// zCDP.
    pub zcdp: f64,
    /// ε at the report's δ.
    pub epsilon: f64,
}

/// A number for JSON: null where it is infinite.
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
                epsilon: finite(epsilon_from_zcdp(bound.total.zcdp, delta)),
                no_certificate: None,
            },
            Err(reason) => {
                LifetimeBudget { no_certificate: Some(reason.to_string()), ..Default::default() }
            }
        }
    }
}

/// Works out the budget of every learner over the given number of rounds.
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
        let worst = worst_record(mechanism, rounds).arrival;
        let entry = LearnerBudget {
            learner: id,
            pure_epsilon: finite(total.pure),
            zcdp: total.zcdp,
            epsilon: epsilon_from_zcdp(total.zcdp, delta),
            delta,
            user_epsilon: finite(epsilon_from_zcdp(user_cost(mechanism, rounds).zcdp, delta)),
            lifetime: LifetimeBudget::of(setup, index, delta),
            method: mechanism.method.name(),
            bound: mechanism.method.bound(),
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
        unit: UNIT,
        unproven: !setup.agreement.broken_conditions().is_empty(),
        declared_by_user: setup.agreement.model.declared_by_user(),
        learners,
    }
}

/// What records pay that arrive in rounds 0, 1, 10, 100, … and in the worst one.
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
            let Cost { pure, zcdp } = record_cost(mechanism, Round(arrival_round), rounds);
            let epsilon = epsilon_from_zcdp(zcdp, delta);
            RecordBudget { arrival_round, pure_epsilon: finite(pure), zcdp, epsilon }
        })
        .collect()
}
