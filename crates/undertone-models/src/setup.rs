//! From a checked config to the public facts of every learner: mechanisms, scales, certificates.

use crate::memory::error_bound;
use crate::{AnyMemory, AnyModel, DeclaredLoss, MemoryError, Model, ModelError};
use std::sync::Arc;
use thiserror::Error;
use undertone_core::config::{Config, NoiseScale};
use undertone_core::noise::NoiseError;
use undertone_core::planner::{PlannerError, calibrate};
use undertone_core::privacy::{
    Horizon, Lifetime, Mechanism, NoCertificate, epsilon_from_zcdp, lifetimes,
};
use undertone_core::{Learner, LearnerId, LearnerSetup, PowerLaw, Round};

/// A config with everything that follows from it before any record is seen.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The config.
    pub config: Config,
    /// The loss with its bounds.
    pub model: AnyModel,
    /// One mechanism for each learner, noise scales included.
    pub mechanisms: Vec<Mechanism>,
    /// One lifetime certificate for each learner, or why there is none.
    pub lifetimes: Vec<Result<Lifetime, NoCertificate>>,
}

/// Why a config cannot be run.
#[derive(Clone, Debug, Error)]
pub enum SetupError {
    /// The loss cannot be built.
    #[error("model: {0}")]
    Model(#[from] ModelError),
    /// The memory does not fit the loss.
    #[error("memory: {0}")]
    Memory(#[from] MemoryError),
    /// No noise scale meets the budget.
    #[error("noise.calibrate: {0}")]
    Calibration(#[from] PlannerError),
    /// The calibrated scale does not fit the sampler.
    #[error("noise.calibrate: learner {learner}: {error}")]
    Sampler {
        /// Whose noise.
        learner: LearnerId,
        /// Why.
        error: NoiseError,
    },
}

impl Setup {
    /// Works out mechanisms, noise scales and certificates.
    ///
    /// # Errors
    /// When model and memory do not fit, or no noise scale meets a target.
    pub fn new(config: Config) -> Result<Setup, SetupError> {
        let (model, memory_error) = model_and_memory(&config)?;
        let scales = noise_scales(&config, memory_error)?;
        let mechanisms = config.mechanisms(memory_error, &scales);
        for (id, mechanism) in config.graph.ids().zip(&mechanisms) {
            check_sampler(&config, id, mechanism)?;
        }
        let lifetimes = if config.data.repeat {
            vec![Err(NoCertificate::RecordsRepeat); mechanisms.len()]
        } else {
            lifetimes(&mechanisms)
        };
        Ok(Setup { config, model, mechanisms, lifetimes })
    }

    /// The same with the user's function that a declared loss needs.
    ///
    /// # Panics
    /// When the loss is not declared: a bug in the caller.
    #[must_use]
    pub fn with_function(self, function: Arc<dyn DeclaredLoss>) -> Setup {
        let model = self.model.linear().expect("a declared loss is no network");
        let model = Model::clone(model).with_function(function).into();
        Setup { model, ..self }
    }

    /// The noise scale ρ_0 of each learner.
    #[must_use]
    pub fn scales(&self) -> Vec<f64> {
        self.mechanisms.iter().map(|mechanism| mechanism.noise.scale.initial).collect()
    }

    /// ε for ever of one learner at the config's δ, if it has a certificate and a finite one.
    #[must_use]
    pub fn lifetime_epsilon(&self, id: LearnerId) -> Option<f64> {
        let lifetime = self.lifetimes.get(id.0 as usize)?.as_ref().ok()?;
        let epsilon = epsilon_from_zcdp(lifetime.total.zcdp, self.config.delta);
        epsilon.is_finite().then_some(epsilon)
    }

    /// The most of any learner; none unless every learner has one.
    #[must_use]
    pub fn lifetime_epsilon_max(&self) -> Option<f64> {
        let mut each = self.config.graph.ids().map(|id| self.lifetime_epsilon(id));
        each.try_fold(0.0, |most: f64, epsilon| epsilon.map(|epsilon| most.max(epsilon)))
    }

    /// One learner before round 0, without records.
    ///
    /// # Errors
    /// When the memory does not fit the loss, which `new` has checked.
    ///
    /// # Panics
    /// When there is no such learner: a bug in the caller.
    pub fn learner(&self, id: LearnerId) -> Result<Learner<AnyMemory>, MemoryError> {
        let config = &self.config;
        let setup = LearnerSetup {
            id,
            neighbours: config.graph.neighbours(id).to_vec(),
            mechanism: self.mechanisms[id.0 as usize],
            cap: config.caps[id.0 as usize],
            domain: config.domain,
            lasso: config.model.lasso,
        };
        Ok(Learner::new(setup, AnyMemory::new(config.memory, self.model.clone())?))
    }
}

/// A bound on the error of the gradients of a config's memory, round by round.
///
/// # Errors
/// When model and memory do not fit.
pub fn memory_error(config: &Config) -> Result<PowerLaw, SetupError> {
    model_and_memory(config).map(|(_, error)| error)
}

fn model_and_memory(config: &Config) -> Result<(AnyModel, PowerLaw), SetupError> {
    let model = AnyModel::new(config.model, config.network.as_ref(), config.bounds)?;
    let error = error_bound(config.memory, &model)?;
    Ok((model, error))
}

/// The noise scale of each learner, as given or as calibrated.
fn noise_scales(config: &Config, memory_error: PowerLaw) -> Result<Vec<f64>, PlannerError> {
    match &config.noise_scale {
        NoiseScale::Given(scales) => Ok(scales.clone()),
        NoiseScale::Lifetime => calibrate(config, memory_error, Horizon::Lifetime),
        NoiseScale::Rounds => calibrate(config, memory_error, Horizon::Rounds(config.rounds)),
    }
}

/// The sampler is exact only while |θ| is not too many grid steps: check the first and last round.
fn check_sampler(config: &Config, id: LearnerId, mechanism: &Mechanism) -> Result<(), SetupError> {
    for round in [Round::ZERO, Round(config.rounds)] {
        let grid = mechanism.perturbation(round).grid();
        grid.map_err(|error| SetupError::Sampler { learner: id, error })?;
    }
    Ok(())
}
