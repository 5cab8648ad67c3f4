//! Computes the public facts of every learner from an agreement: mechanisms, scales, certificates.

use crate::features::FeatureMap;
use crate::memory::error_bound;
use crate::{AnyMemory, AnyModel, DeclaredLoss, Model, RecordChecker, SetupError};
use std::convert::Infallible;
use std::sync::Arc;
use undertone_core::agreement::{Agreement, NetworkId, NoiseScale};
use undertone_core::planner::{PlannerError, calibrate};
use undertone_core::privacy::{
    Accountant, Horizon, Lifetime, Mechanism, NoCertificate, PlannedRounds, Statement, lifetimes,
};
use undertone_core::{Learner, LearnerId, LearnerSetup, PowerLaw, Round};

/// An agreement with everything that follows from it before any record is seen.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The agreement.
    pub agreement: Agreement,
    /// The loss with its bounds.
    pub model: AnyModel,
    /// The transform of a record's features, if there is one.
    pub map: Option<Arc<FeatureMap>>,
    /// One mechanism for each learner, noise scales included.
    pub mechanisms: Vec<Mechanism>,
    /// One lifetime certificate for each learner, or why there is none.
    pub lifetimes: Vec<Result<Lifetime, NoCertificate>>,
    /// For each learner, what the rounds cost that its noise was chosen for, if it was.
    pub planned: Vec<Option<PlannedRounds>>,
}

impl Setup {
    /// Computes mechanisms, noise scales and certificates.
    ///
    /// # Errors
    /// When model and memory do not fit, or no noise scale meets a target.
    pub fn new(agreement: Agreement) -> Result<Setup, SetupError> {
        let (model, memory_error) = model_and_memory(&agreement)?;
        let map = agreement.transform.map(FeatureMap::new).transpose()?.map(Arc::new);
        let scales = noise_scales(&agreement, memory_error)?;
        let mechanisms = agreement.mechanisms(memory_error, &scales);
        let lifetimes = lifetimes(&mechanisms);
        let planned = planned_rounds(&agreement, &mechanisms);
        let setup = Setup { agreement, model, map, mechanisms, lifetimes, planned };
        setup.check_sampler(Round::ZERO)?;
        Ok(setup)
    }

    /// Checks that the sampler can draw the noise of a round: it is exact only while |θ| is not too many
    /// grid steps. Noise that shrinks may fit in round 0 and not later.
    ///
    /// # Errors
    /// When the noise of a learner does not fit.
    pub fn check_sampler(&self, round: Round) -> Result<(), SetupError> {
        for (learner, mechanism) in self.agreement.graph.ids().zip(&self.mechanisms) {
            let grid = mechanism.perturbation(round).grid();
            grid.map_err(|error| SetupError::Sampler { learner, error })?;
        }
        Ok(())
    }

    /// The id of the network: what its learners share, hashed.
    #[must_use]
    pub fn network_id(&self) -> NetworkId {
        self.agreement.network_id(&self.scales())
    }

    /// Checks the records of a learner, once each, and makes what its memory takes of them.
    #[must_use]
    pub fn record_checker(&self) -> RecordChecker {
        let checker = self.model.record_checker(self.agreement.memory);
        checker.following(&self.agreement, self.map.clone())
    }

    /// Adds the user's function that a declared loss needs.
    ///
    /// # Panics
    /// When the loss is not declared: a bug in the caller.
    #[must_use]
    pub fn with_function(self, function: Arc<dyn DeclaredLoss>) -> Setup {
        let model = self.model.linear().expect("a declared loss is not a neural network");
        let model = Model::clone(model).with_function(function).into();
        Setup { model, ..self }
    }

    /// The noise scale ρ_0 of each learner.
    #[must_use]
    pub fn scales(&self) -> Vec<f64> {
        self.mechanisms.iter().map(|mechanism| mechanism.noise.scale.initial).collect()
    }

    /// What may be said of one learner's privacy at δ, given its account and how often its most used record was used.
    /// Every surface that speaks of what was spent, or of what ever will be, gets its numbers here.
    ///
    /// # Panics
    /// When there is no such learner: a bug in the caller.
    #[must_use]
    pub fn statement(
        &self,
        id: LearnerId,
        account: &Accountant,
        delta: f64,
        uses: u64,
    ) -> Statement {
        let place = id.0 as usize;
        account.statement(&self.lifetimes[place], self.planned[place], delta, uses)
    }

    /// The same before round 0: what is certified of a learner by the agreement alone.
    ///
    /// # Panics
    /// As [`statement`](Self::statement).
    #[must_use]
    pub fn statement_at_start(&self, id: LearnerId, delta: f64) -> Statement {
        let place = id.0 as usize;
        let account = Accountant::new(self.mechanisms[place], self.agreement.caps[place]);
        self.statement(id, &account, delta, 1)
    }

    /// ε for ever of one learner at the agreement's δ, if it has a certificate and a finite one.
    #[must_use]
    pub fn lifetime_epsilon(&self, id: LearnerId) -> Option<f64> {
        let lifetime = self.lifetimes.get(id.0 as usize)?.as_ref().ok()?;
        let epsilon = lifetime.total.epsilon(self.agreement.noise_kind, self.agreement.delta);
        epsilon.is_finite().then_some(epsilon)
    }

    /// The largest lifetime ε of any learner; `None` unless every learner has one.
    #[must_use]
    pub fn lifetime_epsilon_max(&self) -> Option<f64> {
        let mut each = self.agreement.graph.ids().map(|id| self.lifetime_epsilon(id));
        each.try_fold(0.0, |most: f64, epsilon| epsilon.map(|epsilon| most.max(epsilon)))
    }

    /// A random start that all learners share, if the model needs one: a neural network cannot
    /// learn from a start at zero, and all learners must start at the same point. `uniform` draws
    /// from [0, 1).
    pub fn common_start(&self, mut uniform: impl FnMut() -> f64) -> Option<Vec<f64>> {
        match &self.model {
            AnyModel::Neural(model) => {
                model.neural().initial_parameters(|| Ok::<_, Infallible>(uniform())).ok()
            }
            AnyModel::Linear(_) => None,
        }
    }

    /// A random start for one learner, if `parameters.start_spread` is set.
    pub fn spread_start(&self, mut uniform: impl FnMut() -> f64) -> Option<Vec<f64>> {
        let spread = self.agreement.start_spread;
        let mut coordinate = || spread * (2.0 * uniform() - 1.0);
        (spread > 0.0).then(|| (0..self.model.parameters()).map(|_| coordinate()).collect())
    }

    /// One learner before round 0, without records.
    ///
    /// # Errors
    /// When the memory does not fit the loss, which `new` has checked.
    ///
    /// # Panics
    /// When there is no such learner: a bug in the caller.
    pub fn learner(&self, id: LearnerId) -> Result<Learner<AnyMemory>, SetupError> {
        let agreement = &self.agreement;
        let setup = LearnerSetup {
            id,
            neighbours: agreement.graph.neighbours(id).to_vec(),
            mechanism: self.mechanisms[id.0 as usize],
            cap: agreement.caps[id.0 as usize],
            domain: agreement.domain,
            lasso: agreement.model.lasso,
        };
        Ok(Learner::new(setup, AnyMemory::new(agreement.memory, self.model.clone())?))
    }
}

/// What the rounds cost that noise was chosen for. Most networks have few different mechanisms.
fn planned_rounds(agreement: &Agreement, mechanisms: &[Mechanism]) -> Vec<Option<PlannedRounds>> {
    let rounds = match agreement.noise_scale {
        NoiseScale::Given(_) | NoiseScale::Lifetime => return vec![None; mechanisms.len()],
        NoiseScale::Rounds(rounds) => rounds,
    };
    let mut known: Vec<(&Mechanism, PlannedRounds)> = Vec::new();
    let mut found = Vec::with_capacity(mechanisms.len());
    for mechanism in mechanisms {
        let same = known.iter().find(|(other, _)| *other == mechanism);
        let planned = same.map_or_else(|| PlannedRounds::new(mechanism, rounds), |&(_, same)| same);
        if same.is_none() {
            known.push((mechanism, planned));
        }
        found.push(Some(planned));
    }
    found
}

/// A bound on the error of the gradients of an agreement's memory, round by round.
///
/// # Errors
/// When model and memory do not fit.
pub fn memory_error(agreement: &Agreement) -> Result<PowerLaw, SetupError> {
    model_and_memory(agreement).map(|(_, error)| error)
}

fn model_and_memory(agreement: &Agreement) -> Result<(AnyModel, PowerLaw), SetupError> {
    let model = AnyModel::new(agreement.model, agreement.neural.as_ref(), agreement.bounds)?;
    let error = error_bound(agreement.memory, &model)?;
    Ok((model, error))
}

/// The noise scale of each learner, as given or as calibrated.
fn noise_scales(agreement: &Agreement, memory_error: PowerLaw) -> Result<Vec<f64>, PlannerError> {
    match agreement.noise_scale {
        NoiseScale::Given(ref scales) => Ok(scales.clone()),
        NoiseScale::Lifetime => calibrate(agreement, memory_error, Horizon::Lifetime),
        NoiseScale::Rounds(rounds) => calibrate(agreement, memory_error, Horizon::Rounds(rounds)),
    }
}
