//! The learner of a config as a subject.

use super::audited_learner::driven;
use super::subject::{Claims, Subject, Trial};
use undertone::method::Perturbs;
use undertone::noise::Entropy;
use undertone::privacy::Mechanism;
use undertone::{
    Domain, Forgetting, Learner, LearnerId, LearnerSetup, Memory, PowerLaw, PrivateParameters,
    Release, ReleaseError, Round, Score,
};
use undertone_models::{
    AnyMemory, BoundedRecord, PublicRandom, Record, RecordChecker, RecordError, Setup,
};

/// Separates the seeds of starting points from other uses of small seeds.
const START_SEED: u64 = 0x5747_0000_0000_0000;

/// The learner of a config, as `simulate` builds it.
pub struct LearnerSubject<E> {
    learner: Learner<AuditMemory>,
    /// Scales no record: the audit checks that a record outside the bounds is refused.
    checker: RecordChecker,
    entropy: E,
    /// This round's release, kept so that a second call does not draw again.
    release: Option<Release>,
}

/// The config's memory, or one that returns the gradient that the auditor planted.
enum AuditMemory {
    Real(Box<AnyMemory>),
    Planted { gradient: Vec<f64>, error: PowerLaw, forgetting: Forgetting },
}

impl Memory for AuditMemory {
    type Record = BoundedRecord;

    fn observe(&mut self, theta: &[f64], batch: &[BoundedRecord]) -> Score {
        match self {
            AuditMemory::Real(memory) => memory.observe(theta, batch),
            AuditMemory::Planted { .. } => Score::default(),
        }
    }

    fn gradient(&mut self, round: Round, theta: &[f64], out: &mut [f64]) {
        match self {
            AuditMemory::Real(memory) => memory.gradient(round, theta, out),
            AuditMemory::Planted { gradient, .. } => out.copy_from_slice(gradient),
        }
    }

    fn records(&self) -> u64 {
        match self {
            AuditMemory::Real(memory) => memory.records(),
            AuditMemory::Planted { .. } => 0,
        }
    }

    fn forgetting(&self) -> Forgetting {
        match self {
            AuditMemory::Real(memory) => memory.forgetting(),
            AuditMemory::Planted { forgetting, .. } => *forgetting,
        }
    }

    fn error_bound(&self) -> PowerLaw {
        match self {
            AuditMemory::Real(memory) => memory.error_bound(),
            AuditMemory::Planted { error, .. } => *error,
        }
    }
}

impl<E: Entropy> LearnerSubject<E> {
    /// One learner of a setup, or its first neighbour if the trial asks for that.
    ///
    /// # Panics
    /// When the setup's memory does not fit its model, which [`Setup::new`] has checked.
    #[must_use]
    pub fn new(setup: &Setup, id: LearnerId, entropy: E, trial: &Trial) -> LearnerSubject<E> {
        let agreement = &setup.agreement;
        let neighbour = agreement.graph.neighbours(id).first().map(|&(other, _)| other);
        let id = neighbour.filter(|_| trial.neighbour).unwrap_or(id);
        let mut subject = LearnerSetup {
            id,
            neighbours: agreement.graph.neighbours(id).to_vec(),
            mechanism: driven(setup.mechanisms[id.0 as usize]),
            cap: agreement.caps[id.0 as usize].filter(|_| trial.capped),
            domain: agreement.domain,
            lasso: agreement.model.lasso,
        };
        let shielded = subject.mechanism.method.describe().perturbs == Perturbs::Gradient;
        if shielded && trial.still {
            subject.mechanism.schedule.step = PowerLaw::ZERO;
        }
        let learner = match &trial.planted {
            Some(secret) => planted(subject, secret, shielded),
            None => {
                let memory = AnyMemory::new(agreement.memory, setup.model.clone())
                    .expect("the setup was built with this memory");
                let learner = Learner::new(subject, AuditMemory::Real(Box::new(memory)));
                // A start of its own is public, and the same in every trial.
                let mut random = PublicRandom::new(START_SEED ^ u64::from(id.0));
                match trial.start.clone().or_else(|| setup.spread_start(|| random.unit())) {
                    Some(start) => learner.starting_at(&start),
                    None => learner,
                }
            }
        };
        let checker = setup.model.record_checker(agreement.memory);
        LearnerSubject { learner, checker, entropy, release: None }
    }
}

/// A learner whose first secret is given, with bounds wide enough for it.
fn planted(mut setup: LearnerSetup, secret: &[f64], shielded: bool) -> Learner<AuditMemory> {
    let norm = 1.001 * secret.iter().map(|x| x * x).sum::<f64>().sqrt();
    let Mechanism { memory_error: error, forgetting, .. } = setup.mechanism;
    let memory = AuditMemory::Planted { gradient: secret.to_vec(), error, forgetting };
    if shielded {
        let constants = &mut setup.mechanism.constants;
        constants.gradient_norm = constants.gradient_norm.max(norm);
        return Learner::new(setup, memory);
    }
    let radius = setup.mechanism.radius.max(norm);
    setup.domain = Domain::Ball { radius };
    setup.mechanism.radius = radius;
    Learner::new(setup, memory).starting_at(secret)
}

impl<E: Entropy> Subject for LearnerSubject<E> {
    fn check(&self, record: Record) -> Result<BoundedRecord, RecordError> {
        self.checker.check(record)
    }

    fn observe(&mut self, batch: &[BoundedRecord]) {
        self.learner.observe(batch);
    }

    fn secret(&self) -> Option<PrivateParameters<'_>> {
        match self.learner.accountant().mechanism().method.describe().perturbs {
            Perturbs::Gradient => self.learner.private_gradient(),
            Perturbs::Parameters | Perturbs::Nothing => Some(self.learner.private_parameters()),
        }
    }

    fn release(&mut self) -> Result<Vec<f64>, ReleaseError> {
        if self.release.is_none() {
            self.release = Some(self.learner.release(&mut self.entropy)?);
        }
        Ok(match self.learner.accountant().mechanism().method.describe().perturbs {
            Perturbs::Gradient => self.learner.perturbed_gradient().unwrap_or_default(),
            Perturbs::Parameters | Perturbs::Nothing => self.sent(),
        }
        .to_vec())
    }

    fn sent(&self) -> &[f64] {
        self.release.as_ref().map(Release::values).unwrap_or_default()
    }

    fn absorb(&mut self, heard: &[&Release]) {
        self.learner.absorb(heard);
        self.release = None;
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
