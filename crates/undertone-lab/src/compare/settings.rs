//! The config of one method at one budget, from the config that all methods start from.

use crate::error::{ExperimentError, FileError};
use crate::experiment::{Experiment, LoadedExperiment, RawExperiment};
use crate::planner::{Request, make};
use crate::run_store::config_digest;
use serde::{Deserialize, Serialize};
use std::fmt;
use undertone::agreement::OneOrEach;
use undertone::load::check_again;
use undertone::privacy::Horizon;

/// A method that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
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
    /// Every learner for itself: nothing is sent, nothing heard.
    Local,
}

impl Method {
    /// All of them, in the order of tables and colours.
    pub const ALL: [Method; 6] = [
        Method::Algorithm1,
        Method::Shielded,
        Method::Dsgd,
        Method::Dola,
        Method::Pdop,
        Method::Local,
    ];

    /// Its name in configs and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Method::Algorithm1 => "algorithm1",
            Method::Shielded => "shielded",
            Method::Dsgd => "dsgd",
            Method::Dola => "dola",
            Method::Pdop => "pdop",
            Method::Local => "local",
        }
    }

    /// Whether anything leaves a learner.
    #[must_use]
    pub fn publishes(self) -> bool {
        self != Method::Local
    }

    /// The number of its line style: the same in every figure.
    #[must_use]
    pub(crate) fn style(self) -> u8 {
        let place = Method::ALL.iter().position(|&other| other == self).unwrap_or(0);
        u8::try_from(place + 1).unwrap_or(1)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// A method at a budget, ready to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which method.
    pub method: Method,
    /// The target; `None` is a run without privacy.
    pub epsilon: Option<f64>,
    /// What is run.
    pub experiment: Experiment,
    /// The same as it would stand in a file.
    pub raw: RawExperiment,
}

impl Settings {
    /// A digest of the config as it is run and of the program's version.
    ///
    /// # Errors
    /// When the config has no form in TOML.
    pub fn digest(&self) -> Result<String, FileError> {
        config_digest(&self.raw)
    }
}

/// Without privacy there is still noise, as the sampler needs some: this small.
const NO_NOISE: f64 = 1e-6;
/// What a schedule without privacy is tuned for: a budget so large that noise hardly matters.
const EPSILON_MAX: f64 = 1e4;

/// What is left of PDOP's steps and noise at the end of a run.
const PDOP_STEP_END: f64 = 0.02;
const PDOP_NOISE_END: f64 = 0.1;

/// What the theorems ask of Algorithm 1 is of no use to other methods.
fn without_decay(raw: &mut RawExperiment) {
    raw.agreement.privacy.bound = None;
    raw.agreement.schedule.coupling_exponent = Some(0.0);
    raw.agreement.schedule.step_exponent = Some(0.0);
    raw.agreement.noise.exponent = Some(OneOrEach::One(0.0));
}

fn newest_batch(raw: &mut RawExperiment) {
    raw.agreement.memory = undertone::agreement::RawMemory::default();
    raw.agreement.schedule.interval = None;
}

/// Makes the config of a method at a budget, tuned by the planner with the same effort as any other.
///
/// # Errors
/// When the method does not fit the config, or no noise meets the budget.
pub fn settings(
    base: &LoadedExperiment,
    method: Method,
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
    // The same noise for all: at equal zCDP that of Laplace has twice the variance.
    raw.agreement.noise.kind = Some("gaussian".into());
    match method {
        Method::Algorithm1 => raw.agreement.schedule.interval = None,
        Method::Shielded => without_decay(raw),
        Method::Dsgd | Method::Dola => {
            without_decay(raw);
            newest_batch(raw);
        }
        Method::Pdop => {
            without_decay(raw);
            newest_batch(raw);
            let rounds = start.checked.rounds as f64;
            raw.agreement.schedule.step_ratio = Some(PDOP_STEP_END.powf(1.0 / rounds));
            raw.agreement.noise.ratio = Some(PDOP_NOISE_END.powf(1.0 / rounds));
        }
        Method::Local => return local(base),
    }
    let start = checked(start.raw, base, method)?;
    let request = Request { horizon: Horizon::Lifetime, tune: true, records: None };
    let mut raw = make(&start, &request).map_err(|error| of_method(method, error))?.raw;
    if epsilon.is_none() {
        raw.agreement.privacy.epsilon = None;
        raw.agreement.noise.scale = Some(OneOrEach::One(NO_NOISE));
    }
    let LoadedExperiment { raw, checked: experiment, .. } = checked(raw, base, method)?;
    Ok(Settings { method, epsilon, experiment, raw })
}

/// Learners on their own step as shielded ones would without privacy: nothing else is left of those.
fn local(base: &LoadedExperiment) -> Result<Settings, ExperimentError> {
    let method = Method::Local;
    let mut raw = settings(base, Method::Shielded, None)?.raw;
    raw.agreement.method = Some(method.name().into());
    raw.agreement.schedule.interval = None;
    raw.agreement.noise.scale = Some(OneOrEach::One(1.0));
    let LoadedExperiment { raw, checked: experiment, .. } = checked(raw, base, method)?;
    Ok(Settings { method, epsilon: None, experiment, raw })
}

fn checked(
    raw: RawExperiment,
    base: &LoadedExperiment,
    method: Method,
) -> Result<LoadedExperiment, ExperimentError> {
    check_again(raw, &base.folder).map_err(|error| of_method(method, error.into()))
}

fn of_method(method: Method, error: ExperimentError) -> ExperimentError {
    ExperimentError::OfMethod { method, error: Box::new(error) }
}
