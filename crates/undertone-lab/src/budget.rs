//! The budget of each learner, computed without data.

use crate::experiment::Experiment;
use crate::stream::PublicParts;
use serde::Serialize;
use undertone::method::Bound;
use undertone::privacy::{
    Cap, Cost, ForEver, Loss, Mechanism, Statement, planned_cost, planned_costs, record_costs,
    user_cost, user_costs, worst_record,
};
use undertone::{LearnerId, Round};
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
    pub unit: &'static str,
    /// How many rounds the noise was chosen for; null where it was given, or chosen for ever.
    pub planned_rounds: Option<u64>,
    /// Whether records are drawn again when they run out. Each draw is paid for.
    pub records_repeat: bool,
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
    /// How often the record is used whose cost `pure_epsilon`, `zcdp` and `epsilon` are: 1, unless records are drawn
    /// again. Then it is every draw of the rounds, because how many records there are is not known without data.
    pub uses: u64,
    /// Pure ε over the rounds; null where the noise has none.
    pub pure_epsilon: Option<f64>,
    /// zCDP over the rounds.
    pub zcdp: f64,
    /// ε at `delta` over the rounds.
    pub epsilon: f64,
    /// The same for a record used once.
    pub epsilon_used_once: f64,
    /// The δ of every ε.
    pub delta: f64,
    /// ε at `delta` over the rounds for all records of the learner together (user level); null where it is
    /// infinite. Over a lifetime it always is.
    pub user_epsilon: Option<f64>,
    /// The cap, if there is one: ε at the agreement's δ, or pure ε. A release that would pass it is refused.
    pub cap_epsilon: Option<f64>,
    /// Lifetime bounds with this noise and without the cap, null where there is no certificate.
    pub lifetime: LifetimeBudget,
    /// The method's name.
    pub method: &'static str,
    /// How its sensitivity is bounded, where there is a choice.
    pub bound: Option<Bound>,
    /// The noise scale of round 0.
    pub noise_scale: f64,
    /// The arrival round of the record that pays the most zCDP; 0 includes the warm-up.
    pub worst_arrival_round: u64,
    /// What records pay that are used once, by arrival round.
    pub records: Vec<RecordBudget>,
    /// What holds for ever.
    #[serde(skip)]
    pub for_ever: ForEver,
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
    /// Whether the bounds start at the learner's present state, because a round has departed from the plan.
    pub from_here: bool,
    /// Why there is no finite bound.
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
    /// The bounds of a statement.
    #[must_use]
    pub fn of(statement: &Statement) -> LifetimeBudget {
        let from_here = statement.from_here;
        match statement.lifetime {
            Ok(Loss { epsilon, pure_epsilon, zcdp }) => LifetimeBudget {
                pure_epsilon,
                zcdp: finite(zcdp),
                epsilon: finite(epsilon),
                from_here,
                no_certificate: None,
            },
            Err(reason) => LifetimeBudget {
                from_here,
                no_certificate: Some(reason.to_string()),
                ..LifetimeBudget::default()
            },
        }
    }
}

/// Computes the budget of every learner over the given number of rounds. An experiment says whether records are drawn
/// again, and whether labels are public; an agreement alone has neither.
///
/// T rounds count the releases of rounds 1 to T, as Theorem 5 of the paper does.
#[must_use]
pub fn budget(
    setup: &Setup,
    rounds: u64,
    delta: f64,
    experiment: Option<&Experiment>,
) -> BudgetReport {
    let records_repeat = experiment.is_some_and(|experiment| experiment.data.repeat);
    let labels = experiment.is_some_and(|one| one.data.partition.depends_on_labels());
    let uses = if records_repeat { setup.agreement.records.taken_after(rounds) } else { 1 };
    let mut known: Vec<(Mechanism, Option<Cap>, LearnerBudget)> = Vec::new();
    let mut learners = Vec::with_capacity(setup.mechanisms.len());
    for (id, mechanism) in setup.agreement.graph.ids().zip(&setup.mechanisms) {
        let cap = setup.agreement.caps[id.0 as usize];
        let same = known.iter().find(|(other, its, _)| other == mechanism && *its == cap);
        if let Some((_, _, same)) = same {
            learners.push(LearnerBudget { learner: id.0, ..same.clone() });
            continue;
        }
        let entry = learner_budget(setup, id, rounds, delta, uses);
        known.push((*mechanism, cap, entry.clone()));
        learners.push(entry);
    }
    BudgetReport {
        schema_version: SCHEMA_VERSION,
        name: setup.agreement.name.clone(),
        rounds,
        unit: PublicParts { labels, schema: false }.unit(),
        planned_rounds: setup.planned.iter().flatten().map(|planned| planned.rounds).next(),
        records_repeat,
        unproven: !setup.agreement.broken_conditions().is_empty(),
        declared_by_user: setup.agreement.model.declared_by_user(),
        learners,
    }
}

/// A bound on what a record pays that is used so many times.
///
/// Each use moves a release no more than the one use that moves it most, and all uses together no more than all records
/// of the learner together.
#[must_use]
pub fn cost_of_uses(mechanism: &Mechanism, rounds: u64, uses: u64) -> Cost {
    let once = planned_cost(mechanism, rounds);
    if uses <= 1 {
        return once;
    }
    let (each, all) = (once.of_repeated(uses), user_cost(mechanism, rounds));
    Cost { pure: each.pure.min(all.pure), zcdp: each.zcdp.min(all.zcdp) }
}

/// ε at δ that a record pays in planned rounds that is used this often. It may be less than that of
/// [`cost_of_uses`]: a plan has fixed costs.
#[must_use]
pub fn epsilon_of_uses(mechanism: &Mechanism, rounds: u64, uses: u64, delta: f64) -> f64 {
    let once = planned_costs(mechanism, rounds);
    if uses <= 1 {
        return once.epsilon(delta);
    }
    let all = user_costs(mechanism, rounds).epsilon(delta);
    once.of_repeated(uses).epsilon(delta).min(all)
}

fn learner_budget(
    setup: &Setup,
    id: LearnerId,
    rounds: u64,
    delta: f64,
    uses: u64,
) -> LearnerBudget {
    let mechanism = &setup.mechanisms[id.0 as usize];
    let total = cost_of_uses(mechanism, rounds, uses);
    let worst = worst_record(mechanism, rounds);
    let statement = setup.statement_at_start(id, delta);
    LearnerBudget {
        learner: id.0,
        uses,
        pure_epsilon: finite(total.pure),
        zcdp: total.zcdp,
        epsilon: epsilon_of_uses(mechanism, rounds, uses, delta),
        epsilon_used_once: epsilon_of_uses(mechanism, rounds, 1, delta),
        delta,
        user_epsilon: finite(user_costs(mechanism, rounds).epsilon(delta)),
        cap_epsilon: statement.cap.map(Cap::epsilon),
        lifetime: LifetimeBudget::of(&statement),
        method: mechanism.method.describe().name,
        bound: mechanism.method.describe().bound,
        noise_scale: mechanism.noise.scale.initial,
        worst_arrival_round: worst.0,
        records: record_view(mechanism, worst, rounds, delta),
        for_ever: statement.for_ever(),
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
            let costs = record_costs(mechanism, Round(arrival_round), rounds);
            let total = costs.total();
            RecordBudget {
                arrival_round,
                pure_epsilon: finite(total.pure),
                zcdp: total.zcdp,
                epsilon: costs.epsilon(delta),
            }
        })
        .collect()
}
