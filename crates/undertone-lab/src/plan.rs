//! From a checked config to the public facts of every learner: mechanisms, scales, certificates.

use std::sync::Arc;
use thiserror::Error;
use undertone::config::{Config, NoiseScale};
use undertone::noise::{NoiseError, Perturbation};
use undertone::privacy::{
    CalibrationError, Horizon, Lifetime, Mechanism, NoCertificate, calibrate_scale, lifetime,
};
use undertone::{LearnerId, PowerLaw, Round};
use undertone_models::memory::error_bound;
use undertone_models::{MemoryError, Model, ModelError};

/// A config with everything that follows from it before any record is seen.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The config.
    pub config: Config,
    /// The loss with its bounds.
    pub model: Arc<Model>,
    /// One mechanism for each learner, noise scales included.
    pub mechanisms: Vec<Mechanism>,
    /// One lifetime certificate for each learner, or why there is none.
    pub lifetimes: Vec<Result<Lifetime, NoCertificate>>,
}

/// Why a config cannot be run.
#[derive(Clone, Debug, Error)]
pub enum PlanError {
    /// The loss cannot be built.
    #[error("model: {0}")]
    Model(#[from] ModelError),
    /// The memory does not fit the loss.
    #[error("memory: {0}")]
    Memory(#[from] MemoryError),
    /// No noise scale meets the budget.
    #[error("noise.calibrate: learner {learner}: {error}")]
    Calibration {
        /// Whose budget.
        learner: LearnerId,
        /// Why.
        error: CalibrationError,
    },
    /// The calibrated scale does not fit the sampler.
    #[error("noise.calibrate: learner {learner}: {error}")]
    Sampler {
        /// Whose noise.
        learner: LearnerId,
        /// Why.
        error: NoiseError,
    },
}

impl Plan {
    /// Works out mechanisms, noise scales and certificates.
    ///
    /// # Errors
    /// When model and memory do not fit, or no noise scale meets a target.
    pub fn new(config: Config) -> Result<Plan, PlanError> {
        let (model, memory_error) = model_and_memory(&config)?;
        let mut mechanisms: Vec<Mechanism> = Vec::with_capacity(config.graph.learners());
        let mut lifetimes: Vec<Result<Lifetime, NoCertificate>> = Vec::new();
        let mut calibrated: Vec<(Mechanism, f64)> = Vec::new();
        for id in config.graph.ids() {
            let mechanism = mechanism_of(&config, id, memory_error, &mut calibrated)?;
            // Most networks have many learners of the same kind.
            let known = mechanisms.iter().position(|other| *other == mechanism);
            lifetimes.push(known.map_or_else(|| lifetime(&mechanism), |place| lifetimes[place]));
            mechanisms.push(mechanism);
        }
        Ok(Plan { config, model, mechanisms, lifetimes })
    }

    /// The noise scale ρ_0 of each learner.
    #[must_use]
    pub fn scales(&self) -> Vec<f64> {
        self.mechanisms.iter().map(|mechanism| mechanism.noise.scale.initial).collect()
    }
}

/// A bound on the error of the gradients of a config's memory, round by round.
///
/// # Errors
/// When model and memory do not fit.
pub fn memory_error(config: &Config) -> Result<PowerLaw, PlanError> {
    model_and_memory(config).map(|(_, error)| error)
}

fn model_and_memory(config: &Config) -> Result<(Arc<Model>, PowerLaw), PlanError> {
    let model = Arc::new(Model::new(config.model, config.bounds)?);
    let error = error_bound(config.memory, &model)?;
    Ok((model, error))
}

fn mechanism_of(
    config: &Config,
    id: LearnerId,
    memory_error: PowerLaw,
    calibrated: &mut Vec<(Mechanism, f64)>,
) -> Result<Mechanism, PlanError> {
    let place = id.0 as usize;
    let horizon = match &config.noise_scale {
        NoiseScale::Given(scales) => return Ok(config.mechanism(id, memory_error, scales[place])),
        NoiseScale::Lifetime => Horizon::Lifetime,
        NoiseScale::Rounds => Horizon::Rounds(config.rounds),
    };
    let cap = config.caps[place].expect("calibration without a target is refused with the config");
    let unit = config.mechanism(id, memory_error, 1.0);
    let same_cap = |other: usize| config.caps[other] == config.caps[place];
    let known = calibrated
        .iter()
        .enumerate()
        .find(|(other, (known, _))| *known == unit && same_cap(*other));
    let scale = match known {
        Some((_, &(_, scale))) => scale,
        None => calibrate_scale(&unit, cap, horizon)
            .map_err(|error| PlanError::Calibration { learner: id, error })?,
    };
    calibrated.push((unit, scale));
    let mechanism = config.mechanism(id, memory_error, scale);
    for round in [Round::ZERO, Round(config.rounds)] {
        let perturbation = Perturbation {
            kind: mechanism.noise.kind,
            scale: mechanism.noise.scale.at(round),
            bound: mechanism.radius,
        };
        perturbation.grid().map_err(|error| PlanError::Sampler { learner: id, error })?;
    }
    Ok(mechanism)
}
