//! From a checked config to the public facts of every learner: mechanisms, scales, certificates.

use std::sync::Arc;
use thiserror::Error;
use undertone::config::{Config, NoiseScale};
use undertone::noise::{NoiseError, Perturbation};
use undertone::privacy::{
    CalibrationError, Cap, Horizon, Lifetime, Mechanism, NoCertificate, calibrate_scale, lifetime,
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
        // The largest scale enters every learner's charge for machine arithmetic, with a factor 2⁻⁴⁴:
        // a first calibration finds it, a second one meets the targets with it.
        let rough = noise_scales(&config, memory_error, 1.0)?;
        let bound = rough.iter().copied().fold(0.0, f64::max) * (1.0 + 1e-6);
        let scales = noise_scales(&config, memory_error, bound)?;
        let largest = scales.iter().copied().fold(0.0, f64::max);
        let mut mechanisms: Vec<Mechanism> = Vec::with_capacity(scales.len());
        let mut lifetimes: Vec<Result<Lifetime, NoCertificate>> = Vec::with_capacity(scales.len());
        for (id, &scale) in config.graph.ids().zip(&scales) {
            let mechanism = config.mechanism(id, memory_error, scale, largest);
            check_sampler(&config, id, &mechanism)?;
            // Most networks have many learners of the same kind.
            let known = mechanisms.iter().position(|other| *other == mechanism);
            lifetimes.push(match known {
                Some(place) => lifetimes[place],
                None if config.data.repeat => Err(NoCertificate::RecordsRepeat),
                None => lifetime(&mechanism),
            });
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

/// The noise scale of each learner, as given or as calibrated.
fn noise_scales(
    config: &Config,
    memory_error: PowerLaw,
    scale_max: f64,
) -> Result<Vec<f64>, PlanError> {
    let horizon = match &config.noise_scale {
        NoiseScale::Given(scales) => return Ok(scales.clone()),
        NoiseScale::Lifetime => Horizon::Lifetime,
        NoiseScale::Rounds => Horizon::Rounds(config.rounds),
    };
    let mut known: Vec<(Mechanism, Cap, f64)> = Vec::new();
    let mut scales = Vec::with_capacity(config.graph.learners());
    for id in config.graph.ids() {
        let cap = config.caps[id.0 as usize]
            .expect("calibration without a target is refused with the config");
        let unit = config.mechanism(id, memory_error, 1.0, scale_max);
        let same = known.iter().find(|(other, target, _)| *other == unit && *target == cap);
        let scale = match same {
            Some(&(_, _, scale)) => scale,
            None => {
                let failed = |error| PlanError::Calibration { learner: id, error };
                if config.data.repeat && horizon == Horizon::Lifetime {
                    return Err(failed(NoCertificate::RecordsRepeat.into()));
                }
                let scale = calibrate_scale(&unit, cap, horizon).map_err(failed)?;
                known.push((unit, cap, scale));
                scale
            }
        };
        scales.push(scale);
    }
    Ok(scales)
}

/// The sampler is exact only while |θ| is not too many grid steps: check the first and last round.
fn check_sampler(config: &Config, id: LearnerId, mechanism: &Mechanism) -> Result<(), PlanError> {
    for round in [Round::ZERO, Round(config.rounds)] {
        let perturbation = Perturbation {
            kind: mechanism.noise.kind,
            scale: mechanism.noise.scale.at(round),
            bound: mechanism.radius,
        };
        perturbation.grid().map_err(|error| PlanError::Sampler { learner: id, error })?;
    }
    Ok(())
}
