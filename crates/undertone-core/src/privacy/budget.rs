//! Budgets computed from public facts alone: no data, no run.

use super::conversion::zcdp_from_epsilon;
use super::cost::{Cost, Total};
use super::fixed_costs::FixedCosts;
use super::lifetime::{Lifetime, NoCertificate, lifetime};
use super::mechanism::Mechanism;
use super::record_accounts::RecordAccounts;
use super::step_effect::StepEffect;
use crate::privacy::Cap;
use crate::{Forgetting, RecordWeights, Round};

/// What the releases of rounds 0 to `rounds` cost if all neighbours are heard.
///
/// The release of round 0 is free, so this is the sum over t = 1 … `rounds`, as in Theorem 5, for the
/// record that pays most.
#[must_use]
pub fn planned_cost(mechanism: &Mechanism, rounds: u64) -> Cost {
    match mechanism.forgetting {
        Forgetting::Never => record_cost(mechanism, Round::ZERO, rounds),
        Forgetting::Window { .. } | Forgetting::Decaying { .. } => {
            planned_account(mechanism, rounds).spent()
        }
    }
}

/// The same, release by release: what [`planned_cost`] adds up. With Laplace noise it may have a smaller ε.
#[must_use]
pub fn planned_costs(mechanism: &Mechanism, rounds: u64) -> FixedCosts {
    match mechanism.forgetting {
        Forgetting::Never => record_costs(mechanism, Round::ZERO, rounds),
        Forgetting::Window { .. } | Forgetting::Decaying { .. } => {
            // Who pays most zCDP may not be who pays most at another order. Evenly over all rounds, nobody pays more.
            let mut costs = FixedCosts::new(mechanism);
            costs.add_total(rounds, planned_account(mechanism, rounds).spent());
            costs
        }
    }
}

/// What releases in rounds 0 to `rounds` reveal of all records of a learner together (user level).
///
/// If all records may be replaced at once, the average over a batch or a history moves by up to C,
/// whatever its size. No method here has a finite bound of this kind for ever, and neither has
/// Algorithm 1.
#[must_use]
pub fn user_cost(mechanism: &Mechanism, rounds: u64) -> Cost {
    let mut total = Total::default();
    for_user(mechanism, rounds, |cost| total.add(cost));
    total.cost()
}

/// The same, release by release.
#[must_use]
pub fn user_costs(mechanism: &Mechanism, rounds: u64) -> FixedCosts {
    let mut costs = FixedCosts::new(mechanism);
    for_user(mechanism, rounds, |cost| costs.add(cost));
    costs
}

fn for_user(mechanism: &Mechanism, rounds: u64, mut charge: impl FnMut(Cost)) {
    let mut sensitivity = 0.0;
    for t in 0..rounds {
        let step = mechanism.step_effect(&mechanism.planned_terms(Round(t)));
        sensitivity = step.next(sensitivity, step.reach);
        charge(mechanism.cost(Round(t + 1), sensitivity));
    }
}

/// The round in which the record arrives that pays most zCDP for the releases of rounds 0 to `rounds`; 0 stands for
/// the warm-up too. What it pays is [`record_cost`].
#[must_use]
pub fn worst_record(mechanism: &Mechanism, rounds: u64) -> Round {
    match mechanism.forgetting {
        Forgetting::Never => Round::ZERO,
        Forgetting::Window { .. } | Forgetting::Decaying { .. } => {
            planned_account(mechanism, rounds).worst()
        }
    }
}

/// What every record has paid after the release of round `rounds`.
fn planned_account(mechanism: &Mechanism, rounds: u64) -> RecordAccounts {
    let mut accounts = RecordAccounts::new(mechanism);
    for t in 0..rounds {
        accounts.advance(mechanism, &mechanism.planned_terms(Round(t)));
        accounts.pay(&mechanism.price(Round(t + 1)));
    }
    accounts
}

/// What the releases of rounds 0 to `rounds` reveal of a record that arrived in a given round.
///
/// θ cannot depend on a record before the step of the record's own round, so its sensitivity is
/// zero until then. If nothing is forgotten, record 0 (or any of the warm-up) pays most.
#[must_use]
pub fn record_cost(mechanism: &Mechanism, arrival: Round, rounds: u64) -> Cost {
    let mut total = Total::default();
    for_record(mechanism, arrival, rounds, |cost| total.add(cost));
    total.cost()
}

/// The same, release by release.
#[must_use]
pub fn record_costs(mechanism: &Mechanism, arrival: Round, rounds: u64) -> FixedCosts {
    let mut costs = FixedCosts::new(mechanism);
    for_record(mechanism, arrival, rounds, |cost| costs.add(cost));
    costs
}

fn for_record(mechanism: &Mechanism, arrival: Round, rounds: u64, mut charge: impl FnMut(Cost)) {
    let mut sensitivity = 0.0;
    let mut weights = PlannedWeight::new(mechanism, arrival);
    for t in arrival.0..=rounds {
        let round = Round(t);
        // The release of the arrival round itself does not depend on the record.
        if t > arrival.0 {
            charge(mechanism.cost(round, sensitivity));
        }
        let terms = mechanism.planned_terms(round);
        sensitivity = match mechanism.forgetting {
            Forgetting::Never => mechanism.next_sensitivity(sensitivity, &terms),
            Forgetting::Window { .. } | Forgetting::Decaying { .. } => {
                let weight = weights.at(round);
                let step = StepEffect::of(mechanism, &terms, &weights.weights);
                step.next(sensitivity, step.drive(weight))
            }
        };
    }
}

/// The weight of one record, round by round, when records arrive as planned.
struct PlannedWeight {
    weights: RecordWeights,
    arrival: Round,
    batch: u64,
    weight: f64,
}

impl PlannedWeight {
    fn new(mechanism: &Mechanism, arrival: Round) -> PlannedWeight {
        let mut weights = RecordWeights::new(mechanism.forgetting);
        let batch = mechanism.batch;
        if mechanism.forgetting != Forgetting::Never {
            weights.arrive(Round::ZERO, mechanism.warmup + batch);
            (1..=arrival.0).for_each(|t| weights.arrive(Round(t), batch));
        }
        PlannedWeight { weight: weights.newest(), weights, arrival, batch }
    }

    /// Its weight in `round`, which must be its arrival round or follow the last round asked for.
    fn at(&mut self, round: Round) -> f64 {
        if round > self.arrival {
            self.weights.arrive(round, self.batch);
            self.weight = self.weights.older(round.0 - self.arrival.0, self.weight);
        }
        if self.weights.is_empty() { 0.0 } else { self.weight }
    }
}

/// Over which rounds a target must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Horizon {
    /// For ever.
    Lifetime,
    /// For the releases of rounds 0 to this one.
    Rounds(u64),
}

/// Why no noise scale meets a target. The planner says whose target it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum NoScale {
    /// There is no finite lifetime bound at any scale.
    NoCertificate(NoCertificate),
    /// The noise has no finite pure ε at any scale, the horizon has no cost at all, or machine arithmetic
    /// alone costs more than the target.
    Unreachable {
        /// The cost at unit scale.
        cost: f64,
    },
}

impl From<NoCertificate> for NoScale {
    fn from(reason: NoCertificate) -> NoScale {
        NoScale::NoCertificate(reason)
    }
}

/// The smallest initial noise scale that keeps a learner's cost within a target.
///
/// # Guarantee
/// With the returned scale, the cost over the horizon is at most the target: sensitivity does not
/// depend on the noise, so pure ε scales as 1/scale and zCDP as 1/scale², and the result is checked
/// and raised until it holds. Costs are counted as the accountant enforces a cap of this target, so it refuses no
/// round of the horizon. With Laplace noise [`planned_costs`] may show a smaller ε than was asked for (ADR 0026).
///
/// # Errors
/// When no scale can meet the target.
pub(crate) fn calibrate_scale(
    mechanism: &Mechanism,
    target: Cap,
    horizon: Horizon,
) -> Result<f64, NoScale> {
    let at = |scale: f64| -> Result<Cost, NoCertificate> {
        let mut candidate = *mechanism;
        candidate.noise.scale.initial = scale;
        match horizon {
            Horizon::Lifetime => lifetime(&candidate).map(|bound: Lifetime| bound.total),
            Horizon::Rounds(rounds) => Ok(planned_cost(&candidate, rounds)),
        }
    };
    let unit = at(1.0)?;
    // As the accountant enforces it, in zCDP: by rounding, a total within ε may be above that.
    let noise = mechanism.noise.kind;
    let zcdp_limit = match target {
        Cap::Pure { .. } => f64::INFINITY,
        Cap::Approximate { epsilon, delta } => zcdp_from_epsilon(noise, epsilon, delta),
    };
    let within = |cost: Cost| match target {
        Cap::Pure { epsilon } => cost.pure <= epsilon,
        Cap::Approximate { epsilon, delta } => {
            cost.zcdp <= zcdp_limit && cost.epsilon(noise, delta) <= epsilon
        }
    };
    let (cost, guess) = match target {
        Cap::Pure { epsilon } => (unit.pure, unit.pure / epsilon),
        Cap::Approximate { .. } => (unit.zcdp, (unit.zcdp / zcdp_limit).sqrt()),
    };
    let unreachable = NoScale::Unreachable { cost };
    if !(cost > 0.0 && cost.is_finite() && guess > 0.0 && guess.is_finite()) {
        return Err(unreachable);
    }
    // The charge for machine arithmetic does not scale with the noise, so the guess may be too low
    // or too high, by rounding or by more.
    let (mut short, mut enough) = (guess * (1.0 - 1e-12), guess);
    let mut move_by = 1e-12;
    while !within(at(enough)?) {
        (short, enough) = (enough, enough * (1.0 + move_by));
        move_by = (4.0 * move_by).min(1.0);
        if enough > RAISE_MAX * guess {
            return Err(unreachable);
        }
    }
    while within(at(short)?) {
        (short, enough) = (short * (1.0 - move_by), short);
        move_by = (4.0 * move_by).min(0.5);
    }
    while enough - short > 2e-12 * enough {
        let middle = 0.5 * (short + enough);
        *(if within(at(middle)?) { &mut enough } else { &mut short }) = middle;
    }
    Ok(enough)
}

/// The limit on raising a scale. Beyond it, machine arithmetic alone costs more than the target.
const RAISE_MAX: f64 = 1e6;
