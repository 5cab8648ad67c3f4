//! What the auditor drives: anything that observes, releases, absorbs and claims.

use crate::entropy::{RunEntropy, SeededEntropy, Shuffle};
use crate::plan::Plan;
use std::sync::Arc;
use undertone::noise::Entropy;
use undertone::privacy::{Cost, Mechanism};
use undertone::{
    Domain, Learner, LearnerId, LearnerSetup, RecordError, Release, ReleaseError, Round,
};
use undertone_models::{AnyMemory, Model, Record};

/// A learner under audit.
///
/// The real one is [`LearnerSubject`]. Tests wrap it to plant faults, so that no fault switch exists
/// anywhere in the product.
pub trait Subject {
    /// Takes the records that arrived.
    ///
    /// # Errors
    /// When a record is outside the declared bounds.
    fn observe(&mut self, batch: &[Record]) -> Result<(), RecordError>;

    /// What it sends in this round. Asked again in the same round it must answer the same bytes.
    ///
    /// # Errors
    /// When the release is refused, or there is no entropy.
    fn release(&mut self) -> Result<Vec<f64>, ReleaseError>;

    /// Ends the round with what the neighbours sent.
    fn absorb(&mut self, heard: &[&Release]);

    /// θ_t, for the layers that look inside.
    fn parameters(&self) -> &[f64];

    /// What it claims in this round.
    fn claims(&self) -> Claims;
}

/// What a subject claims about the round it is in.
#[derive(Clone, Copy, Debug)]
pub struct Claims {
    /// The round t.
    pub round: Round,
    /// Φ_t with the charge for machine arithmetic: how far θ_t can depend on one record.
    pub sensitivity: f64,
    /// ρ_t, the noise scale of this round's release.
    pub scale: f64,
    /// Everything spent, this round's release included once it was asked for.
    pub spent: Cost,
}

/// Which subject to build.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// Two trials of different number draw independent noise.
    pub number: u64,
    /// Where θ starts, over a Θ wide enough for it; `None` starts as the config does, at zero.
    pub start: Option<Vec<f64>>,
    /// Whether the config's cap is in force. Noise does not depend on it, and setting up an account
    /// with a cap costs as much as a hundred releases.
    pub capped: bool,
}

impl Trial {
    /// A trial that starts where the config does, without a cap.
    #[must_use]
    pub fn new(number: u64) -> Trial {
        Trial { number, start: None, capped: false }
    }

    /// The same with the config's cap in force.
    #[must_use]
    pub fn capped(number: u64) -> Trial {
        Trial { capped: true, ..Trial::new(number) }
    }

    /// The keys of this trial: the operating system's, or those that belong to a seed (NOT PRIVATE).
    #[must_use]
    pub fn entropy(&self, seed: Option<u64>) -> RunEntropy {
        match seed {
            None => RunEntropy::new(None),
            Some(seed) => {
                let mut mixed = Shuffle::new(Shuffle::new(seed).next_u64() ^ self.number);
                RunEntropy::Seeded(SeededEntropy::new(mixed.next_u64()))
            }
        }
    }
}

/// The learner of a config, as `simulate` builds it.
pub struct LearnerSubject<E> {
    learner: Learner<AnyMemory>,
    entropy: E,
    /// This round's release, kept so that asking again cannot draw again.
    sent: Option<Release>,
}

impl<E: Entropy> LearnerSubject<E> {
    /// One learner of a plan.
    ///
    /// # Panics
    /// When the plan's memory does not fit its model, which [`Plan::new`] has checked.
    #[must_use]
    pub fn new(plan: &Plan, id: LearnerId, entropy: E, trial: &Trial) -> LearnerSubject<E> {
        let config = &plan.config;
        let mut setup = LearnerSetup {
            id,
            neighbours: config.graph.neighbours(id).to_vec(),
            mechanism: plan.mechanisms[id.0 as usize],
            cap: config.caps[id.0 as usize].filter(|_| trial.capped),
            domain: config.domain,
            lasso: config.model.lasso,
        };
        if let Some(start) = &trial.start {
            let norm = start.iter().map(|x| x * x).sum::<f64>().sqrt();
            let radius = setup.mechanism.radius.max(1.001 * norm);
            setup.domain = Domain::Ball { radius };
            setup.mechanism.radius = radius;
        }
        let memory = AnyMemory::new(config.memory, Arc::clone(&plan.model))
            .expect("the plan was built with this memory");
        let mut learner = Learner::new(setup, memory);
        if let Some(start) = &trial.start {
            learner = learner.starting_at(start);
        }
        LearnerSubject { learner, entropy, sent: None }
    }
}

impl<E: Entropy> Subject for LearnerSubject<E> {
    fn observe(&mut self, batch: &[Record]) -> Result<(), RecordError> {
        self.learner.observe(batch).map(|_score| ())
    }

    fn release(&mut self) -> Result<Vec<f64>, ReleaseError> {
        if self.sent.is_none() {
            self.sent = Some(self.learner.release(&mut self.entropy)?);
        }
        Ok(self.sent.as_ref().map(|release| release.values().to_vec()).unwrap_or_default())
    }

    fn absorb(&mut self, heard: &[&Release]) {
        self.learner.absorb(heard);
        self.sent = None;
    }

    fn parameters(&self) -> &[f64] {
        self.learner.private_parameters().for_owner()
    }

    fn claims(&self) -> Claims {
        let account = self.learner.accountant();
        let mechanism = account.mechanism();
        Claims {
            round: account.round(),
            sensitivity: account.sensitivity() + mechanism.machine_sensitivity(account.round()),
            scale: mechanism.noise_scale(account.round()),
            spent: account.spent(),
        }
    }
}

/// The public facts about the learner under audit, and perhaps its own records.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The loss with its bounds.
    pub model: Arc<Model>,
    /// What its budget follows from.
    pub mechanism: Mechanism,
    /// Its neighbours and their weights.
    pub neighbours: Vec<(LearnerId, f64)>,
    /// How many rounds the config runs.
    pub rounds: u64,
    /// Its own records in order of arrival, if they are to be used.
    pub own: Option<Vec<Record>>,
    /// The seed of the search and of canaries.
    pub seed: u64,
}

impl Facts {
    /// The facts about one learner of a plan.
    #[must_use]
    pub fn new(plan: &Plan, id: LearnerId, own: Option<Vec<Record>>, seed: u64) -> Facts {
        Facts {
            model: Arc::clone(&plan.model),
            mechanism: plan.mechanisms[id.0 as usize],
            neighbours: plan.config.graph.neighbours(id).to_vec(),
            rounds: plan.config.rounds,
            own,
            seed,
        }
    }

    /// n, the number of coordinates.
    pub(super) fn dimension(&self) -> usize {
        self.mechanism.dimension
    }

    /// The two labels farthest apart.
    pub(super) fn labels(&self) -> [f64; 2] {
        use undertone::Loss;
        match self.model.spec().loss {
            Loss::Logistic => [0.0, 1.0],
            Loss::Softmax { classes } => [0.0, f64::from(classes - 1)],
            Loss::Squared | Loss::Power { .. } | Loss::Huber { .. } => {
                let bound = self.model.bounds().label;
                [-bound, bound]
            }
        }
    }
}
