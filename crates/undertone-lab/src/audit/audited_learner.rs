//! The public facts about the learner under audit, and optionally records of its own.

use std::sync::Arc;
use undertone::method::Perturbs;
use undertone::privacy::{Cap, Cost, Lifetime, Mechanism, NoCertificate, planned_cost};
use undertone::{Domain, Forgetting, LearnerId, MemoryKind};
use undertone_models::{BoundedRecord, Model, Setup};

/// The longest interval between gradients of a shielded learner under audit; otherwise its first
/// gradient could take hours. The cost of a gradient does not depend on the interval.
const INTERVAL_MAX: u64 = 4;
/// The most rounds that are added up one by one, which takes half a second.
const PLANNED_MAX: u64 = 1 << 21;

/// The public facts about the learner under audit, and optionally records of its own.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The loss with its bounds.
    pub model: Arc<Model>,
    /// How the history gradient is computed.
    pub memory: MemoryKind,
    /// The public facts that its budget follows from.
    pub mechanism: Mechanism,
    /// Θ.
    pub domain: Domain,
    /// Its neighbours and their weights.
    pub neighbours: Vec<(LearnerId, f64)>,
    /// How many rounds the config runs.
    pub rounds: u64,
    /// The cap.
    pub cap: Option<Cap>,
    /// The rounds of `planned`: those of the config, or as many as are added up.
    pub planned_rounds: u64,
    /// The claimed cost of the releases of rounds 0 to `planned_rounds`, with all neighbours heard.
    pub planned: Cost,
    /// The lifetime certificate, or why there is none.
    pub lifetime: Result<Lifetime, NoCertificate>,
    /// Records of some learners that share these facts, in order of arrival, if they are used.
    pub own: Vec<(LearnerId, Vec<BoundedRecord>)>,
    /// The seed of the search and of canaries.
    pub seed: u64,
}

impl Facts {
    /// The facts about one learner of a setup.
    ///
    /// # Panics
    /// If the model is a neural network, which the audit does not [support](super::unsupported).
    #[must_use]
    pub fn new(
        setup: &Setup,
        rounds: u64,
        id: LearnerId,
        own: Vec<(LearnerId, Vec<BoundedRecord>)>,
        seed: u64,
    ) -> Facts {
        let (agreement, index) = (&setup.agreement, id.0 as usize);
        let mechanism = setup.mechanisms[index];
        let planned_rounds = rounds.min(account_rounds(&mechanism, PLANNED_MAX));
        Facts {
            model: Arc::clone(setup.model.linear().expect("an audited model is linear")),
            memory: agreement.memory,
            mechanism,
            domain: agreement.domain,
            neighbours: agreement.graph.neighbours(id).to_vec(),
            rounds,
            cap: agreement.caps[index],
            planned_rounds,
            planned: planned_cost(&mechanism, planned_rounds),
            lifetime: setup.lifetimes[index],
            own,
            seed,
        }
    }

    /// n, the number of coordinates.
    pub(super) fn dimension(&self) -> usize {
        self.mechanism.dimension
    }

    /// Whether gradients are perturbed rather than parameters.
    pub(super) fn is_shielded(&self) -> bool {
        self.mechanism.method.describe().perturbs == Perturbs::Gradient
    }

    /// Rounds from one secret to the next, under audit.
    pub(super) fn interval(&self) -> u64 {
        driven(self.mechanism).method.describe().interval.unwrap_or(1)
    }

    /// The two labels farthest apart.
    pub(super) fn labels(&self) -> [f64; 2] {
        match self.model.spec().loss.classes() {
            Some(classes) => [0.0, f64::from(classes - 1)],
            None => {
                let bound = self.model.bounds().label;
                [-bound, bound]
            }
        }
    }
}

/// How many rounds of this account take as much time as `rounds` of one that follows a single
/// record.
pub(super) fn account_rounds(mechanism: &Mechanism, rounds: u64) -> u64 {
    match mechanism.forgetting {
        Forgetting::Never => rounds,
        // Every round whose records still count has an entry.
        forgetting @ (Forgetting::Window { .. } | Forgetting::Decaying { .. }) => {
            rounds / (8 + forgetting.limit().unwrap_or(256).min(1 << 17))
        }
    }
}

/// The mechanism as audited: a long interval between gradients is shortened.
pub(super) fn driven(mut mechanism: Mechanism) -> Mechanism {
    if let Some(interval) = mechanism.method.describe().interval {
        mechanism.method = mechanism.method.with_interval(INTERVAL_MAX.min(interval));
    }
    mechanism
}
