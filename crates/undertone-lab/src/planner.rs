//! `undertone plan`: noise and schedules for a target, as an experiment that can be run.

use crate::budget::{BudgetReport, LearnerBudget, SCHEMA_VERSION, budget};
use crate::error::{ExperimentError, FileError};
use crate::experiment::{LoadedExperiment, RawExperiment, resolved};
use serde::{Serialize, Serializer};
use undertone::agreement::{Agreement, OneOrEach};
use undertone::load::check_again;
use undertone::planner::{Forecast, Goal, Outlook, Tuned, calibrate, predict, tune};
use undertone::privacy::{Cap, Horizon};
use undertone_models::AnyModel;
use undertone_models::memory::error_bound;

/// The longest warm-up that an agreement allows.
const WARMUP_MAX: u64 = 1_000_000_000;

/// What to plan for.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The rounds over which the targets must hold.
    pub horizon: Horizon,
    /// Whether to search for a better schedule.
    pub tune: bool,
    /// Records of each learner; when absent, those the experiment uses.
    pub records: Option<u64>,
}

/// A plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The experiment to run, noise scales included.
    pub raw: RawExperiment,
    /// The report on it.
    pub report: PlanReport,
}

/// The report on a plan.
#[derive(Clone, Debug, Serialize)]
pub struct PlanReport {
    /// The version of this format.
    pub schema_version: u32,
    /// The rounds over which the targets hold; `lifetime` or `rounds` in JSON.
    #[serde(serialize_with = "horizon_name")]
    pub horizon: Horizon,
    /// The target of each learner: ε at the budget's δ, or pure ε.
    pub targets: Vec<Target>,
    /// The budget of the printed experiment, computed from its text.
    pub budget: BudgetReport,
    /// Whether a better schedule was searched for.
    pub tuned: bool,
    /// How many schedules were compared.
    pub schedules_compared: u64,
    /// Predicted excess loss, averaged with weight (t+1)²: an estimate, not a guarantee. NaN for a neural
    /// network, for which there is no prediction.
    pub predicted_error: f64,
    /// The same before tuning; null when the target could not be met.
    pub predicted_error_before: Option<f64>,
    /// The predicted curve.
    pub curve: Vec<CurvePoint>,
}

fn horizon_name<S: Serializer>(horizon: &Horizon, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match horizon {
        Horizon::Lifetime => "lifetime",
        Horizon::Rounds(_) => "rounds",
    })
}

/// The target of one learner.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// ε at the agreement's δ.
    Epsilon(f64),
    /// Pure ε.
    PureEpsilon(f64),
}

/// One point of the predicted curve, averaged over learners.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CurvePoint {
    /// The round.
    pub round: u64,
    /// F_t(θ_i) − F_t(θ*).
    pub excess_loss: f64,
    /// ‖θ_i − θ*‖².
    pub tracking_error: f64,
    /// ‖θ_i − θ̄‖².
    pub consensus_error: f64,
}

/// Chooses the noise, and the schedule if asked, and computes the budget of the result.
///
/// # Errors
/// When no finite calibration exists, or model, memory and noise do not fit together.
pub fn plan(loaded: &LoadedExperiment, request: &Request) -> Result<Plan, ExperimentError> {
    let experiment = &loaded.checked;
    let start = &experiment.agreement;
    let model = AnyModel::new(start.model, start.neural.as_ref(), start.bounds)?;
    let forecast_made =
        model.linear().is_some() && start.model.constants(&start.bounds).smoothness.is_finite();
    if request.tune && !forecast_made {
        return Err(ExperimentError::NoForecast);
    }
    let taken = start.records.taken_after(experiment.rounds);
    let goal = Goal {
        outlook: Outlook { rounds: experiment.rounds, heterogeneity: experiment.heterogeneity() },
        horizon: request.horizon,
        memory_error: error_bound(start.memory, &model)?,
        records: request.records.unwrap_or(taken),
        // The records of future batches may never arrive: the warm-up may use only records that the
        // caller says are there.
        warmup_max: if request.records.is_some() { WARMUP_MAX } else { start.records.warmup },
    };
    let Tuned { agreement, scales, forecast, before, compared } = if request.tune {
        tune(start, &goal)?
    } else {
        let scales = calibrate(start, goal.memory_error, goal.horizon)?;
        let forecast = if forecast_made {
            predict(start, &scales, &goal.outlook)
        } else {
            Forecast { points: Vec::new(), objective: f64::NAN }
        };
        Tuned {
            agreement: start.clone(),
            scales,
            before: Some(forecast.clone()),
            forecast,
            compared: 1,
        }
    };
    // The report is computed from what is printed.
    let printed = check_again(as_written(loaded, &agreement, &scales), &loaded.folder)?;
    let setup = printed.checked.setup()?;
    let (rounds, delta) = (printed.checked.rounds, setup.agreement.delta);
    let budget = budget(&setup, rounds, delta, Some(&printed.checked));
    let targets = setup.agreement.caps.iter().flatten().map(|cap| match *cap {
        Cap::Pure { epsilon } => Target::PureEpsilon(epsilon),
        Cap::Approximate { epsilon, .. } => Target::Epsilon(epsilon),
    });
    let report = PlanReport {
        schema_version: SCHEMA_VERSION,
        horizon: request.horizon,
        targets: targets.collect(),
        budget,
        tuned: request.tune,
        schedules_compared: compared,
        predicted_error: forecast.objective,
        predicted_error_before: before.map(|forecast| forecast.objective),
        curve: curve(&forecast),
    };
    Ok(Plan { raw: printed.raw, report })
}

impl PlanReport {
    /// The budget of a learner over the horizon, in the unit of its target.
    #[must_use]
    pub fn certified(&self, learner: &LearnerBudget) -> Option<f64> {
        let target = self.targets.get(learner.learner as usize)?;
        match (target, self.horizon) {
            (Target::Epsilon(_), Horizon::Lifetime) => learner.lifetime.epsilon,
            (Target::Epsilon(_), Horizon::Rounds(_)) => Some(learner.epsilon),
            (Target::PureEpsilon(_), Horizon::Lifetime) => learner.lifetime.pure_epsilon,
            (Target::PureEpsilon(_), Horizon::Rounds(_)) => learner.pure_epsilon,
        }
    }
}

impl Plan {
    /// The experiment as TOML, with the summary as comments on top.
    ///
    /// # Errors
    /// When a value has no form in TOML.
    pub fn text(&self, summary: &[String]) -> Result<String, ExperimentError> {
        let mut text =
            String::from("# Written by `undertone plan`. Run it with `undertone simulate`.\n#\n");
        // A name may contain line breaks.
        for line in summary.iter().flat_map(|line| line.split('\n')) {
            text.push_str(format!("# {line}").trim_end());
            text.push('\n');
        }
        text.push('\n');
        text.push_str(&toml::to_string(&self.raw).map_err(FileError::from)?);
        Ok(text)
    }
}

/// The original file with the chosen values written into it.
fn as_written(loaded: &LoadedExperiment, agreement: &Agreement, scales: &[f64]) -> RawExperiment {
    let mut found = loaded.clone();
    found.checked.agreement = agreement.clone();
    let raw = &mut found.raw.agreement;
    raw.schedule.step = Some(agreement.schedule.step.initial);
    raw.schedule.step_exponent = Some(-agreement.schedule.step.exponent);
    raw.schedule.coupling = Some(agreement.schedule.coupling.initial);
    raw.schedule.coupling_exponent = Some(-agreement.schedule.coupling.exponent);
    if agreement.noise_exponents != loaded.checked.agreement.noise_exponents {
        raw.noise.exponent = agreement.noise_exponents.first().map(|&all| OneOrEach::One(all));
    }
    resolved(&found, scales)
}

fn curve(forecast: &Forecast) -> Vec<CurvePoint> {
    let points = forecast.points.iter();
    points
        .map(|point| CurvePoint {
            round: point.round,
            excess_loss: point.excess_loss,
            tracking_error: point.tracking_error,
            consensus_error: point.disagreement,
        })
        .collect()
}
