//! The experiment of one method at one budget, derived from a common base.

use crate::error::{ExperimentError, FileError};
use crate::experiment::{Experiment, LoadedExperiment, RawExperiment};
use crate::planner::{Request, plan};
use crate::run_store::config_digest;
use serde::{Deserialize, Serialize};
use std::fmt;
use undertone::agreement::OneOrEach;
use undertone::load::check_again;
use undertone::privacy::Horizon;

/// A method that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparedMethod {
    /// Chen & Wang: noise on the parameters.
    Algorithm1,
    /// Ours: noise on the gradients, at public points.
    Shielded,
    /// Perturbed parameters, steps along the newest batch.
    Dsgd,
    /// Li et al. 2018: the same with gradients at the mixed point.
    Dola,
    /// Huang, Mitra & Vaidya 2015: the same with steps and noise that shrink geometrically.
    Pdop,
    /// Every learner on its own: nothing is sent or received.
    Local,
}

impl ComparedMethod {
    /// All methods, in the order of tables and colours.
    pub const ALL: [ComparedMethod; 6] = [
        ComparedMethod::Algorithm1,
        ComparedMethod::Shielded,
        ComparedMethod::Dsgd,
        ComparedMethod::Dola,
        ComparedMethod::Pdop,
        ComparedMethod::Local,
    ];

    /// Its name in configs and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ComparedMethod::Algorithm1 => "algorithm1",
            ComparedMethod::Shielded => "shielded",
            ComparedMethod::Dsgd => "dsgd",
            ComparedMethod::Dola => "dola",
            ComparedMethod::Pdop => "pdop",
            ComparedMethod::Local => "local",
        }
    }

    /// Whether anything leaves a learner.
    #[must_use]
    pub fn publishes(self) -> bool {
        self != ComparedMethod::Local
    }

    /// The number of its line style, the same in every figure.
    #[must_use]
    pub(crate) fn style(self) -> u8 {
        let index = ComparedMethod::ALL.iter().position(|&other| other == self).unwrap_or(0);
        u8::try_from(index + 1).unwrap_or(1)
    }
}

impl fmt::Display for ComparedMethod {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// A method at a budget, ready to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which method.
    pub method: ComparedMethod,
    /// The target; `None` is a run without privacy.
    pub epsilon: Option<f64>,
    /// The experiment to run.
    pub experiment: Experiment,
    /// The same as in a file.
    pub raw: RawExperiment,
}

impl Settings {
    /// A digest of the experiment as it is run and of the program's version.
    ///
    /// # Errors
    /// When the experiment has no form in TOML.
    pub fn digest(&self) -> Result<String, FileError> {
        config_digest(&self.raw)
    }
}

/// The noise scale of a run without privacy, because the sampler needs some.
const NO_NOISE: f64 = 1e-6;
/// The budget that a schedule without privacy is tuned for: so large that noise hardly matters.
const EPSILON_MAX: f64 = 1e4;

/// PDOP's steps and noise in the last round, relative to the first.
const PDOP_STEP_END: f64 = 0.02;
const PDOP_NOISE_END: f64 = 0.1;

/// Removes the decay that the theorems require of Algorithm 1 only.
fn without_decay(raw: &mut RawExperiment) {
    raw.agreement.privacy.bound = None;
    raw.agreement.schedule.coupling_exponent = Some(0.0);
    raw.agreement.schedule.step_exponent = Some(0.0);
    raw.agreement.noise.exponent = Some(OneOrEach::One(0.0));
}

fn newest_batch(raw: &mut RawExperiment) {
    raw.agreement.memory = undertone::agreement::RawMemory::default();
    without_keys_of_shielded(raw);
}

fn without_keys_of_shielded(raw: &mut RawExperiment) {
    raw.agreement.schedule.interval = None;
    raw.agreement.schedule.momentum = None;
}

/// Makes the experiment of a method at a budget. The planner tunes every method with the same effort.
///
/// # Errors
/// When the method does not fit the experiment, or no noise meets the budget.
pub fn settings(
    base: &LoadedExperiment,
    method: ComparedMethod,
    epsilon: Option<f64>,
) -> Result<Settings, ExperimentError> {
    if base.checked.agreement.neural.is_some() {
        return Err(ExperimentError::NotComparable);
    }
    let mut start = base.clone();
    let raw = &mut start.raw;
    raw.agreement.privacy.epsilon = Some(OneOrEach::One(epsilon.unwrap_or(EPSILON_MAX)));
    raw.agreement.privacy.pure_epsilon = None;
    raw.agreement.noise.scale = None;
    raw.agreement.noise.calibrate = Some("lifetime".into());
    raw.agreement.method = Some(method.name().into());
    // The same kind of noise for all methods: at equal zCDP, Laplace noise has twice the variance.
    raw.agreement.noise.kind = Some("gaussian".into());
    match method {
        ComparedMethod::Algorithm1 => without_keys_of_shielded(raw),
        ComparedMethod::Shielded => without_decay(raw),
        ComparedMethod::Dsgd | ComparedMethod::Dola => {
            without_decay(raw);
            newest_batch(raw);
        }
        ComparedMethod::Pdop => {
            without_decay(raw);
            newest_batch(raw);
            let rounds = start.checked.rounds as f64;
            raw.agreement.schedule.step_ratio = Some(PDOP_STEP_END.powf(1.0 / rounds));
            raw.agreement.noise.ratio = Some(PDOP_NOISE_END.powf(1.0 / rounds));
        }
        ComparedMethod::Local => return local(base),
    }
    let start = checked(start.raw, base, method)?;
    let request = Request { horizon: Horizon::Lifetime, tune: true, records: None };
    let mut raw = plan(&start, &request).map_err(|error| of_method(method, error))?.raw;
    if epsilon.is_none() {
        raw.agreement.privacy.epsilon = None;
        raw.agreement.noise.scale = Some(OneOrEach::One(NO_NOISE));
    }
    let LoadedExperiment { raw, checked: experiment, .. } = checked(raw, base, method)?;
    Ok(Settings { method, epsilon, experiment, raw })
}

/// Local learners take the steps of shielded ones without privacy.
fn local(base: &LoadedExperiment) -> Result<Settings, ExperimentError> {
    let method = ComparedMethod::Local;
    let mut raw = settings(base, ComparedMethod::Shielded, None)?.raw;
    raw.agreement.method = Some(method.name().into());
    without_keys_of_shielded(&mut raw);
    raw.agreement.noise.scale = Some(OneOrEach::One(1.0));
    let LoadedExperiment { raw, checked: experiment, .. } = checked(raw, base, method)?;
    Ok(Settings { method, epsilon: None, experiment, raw })
}

fn checked(
    raw: RawExperiment,
    base: &LoadedExperiment,
    method: ComparedMethod,
) -> Result<LoadedExperiment, ExperimentError> {
    check_again(raw, &base.folder).map_err(|error| of_method(method, error.into()))
}

fn of_method(method: ComparedMethod, error: ExperimentError) -> ExperimentError {
    ExperimentError::OfMethod { method, error: Box::new(error) }
}
