//! One learner and its round: `observe`, `release`, `absorb`.
//!
//! This file has what all methods share: the order of the calls in a round, and the account. How
//! the parameters move is up to the method; read `method/algorithm1.rs` next, which is Algorithm 1
//! of the paper.

use crate::domain::Domain;
use crate::memory::{Memory, Score};
use crate::method::{Attendance, State, Update};
use crate::noise::{Entropy, NoiseError};
use crate::persist::{Fields, Persist};
use crate::privacy::{Accountant, Cap, Ledger, Mechanism, Receipt, Refusal, RoundTerms};
use crate::release::{LatePull, Release, ReleaseView};
use crate::{LearnerId, Round};
use std::fmt;
use thiserror::Error;

/// One learner: its private parameters and history, its neighbours and its account.
///
/// The caller owns the loop. In every round it calls [`observe`](Self::observe) with the records
/// that arrived (perhaps none), [`release`](Self::release), and [`absorb`](Self::absorb) with what
/// the neighbours released in the same round.
///
/// ```
/// use undertone_core::noise::{NoiseKind, OsEntropy};
/// use undertone_core::method::{Algorithm1, Method};
/// use undertone_core::privacy::{Cap, Mechanism, NoiseLaw, Unit};
/// use undertone_core::{Domain, Forgetting, Learner, LearnerId, LearnerSetup, LossConstants, Memory, PowerLaw, Round, Schedule, Score};
///
/// /// A record: a number in [-1, 1]. C = 2 follows from that, so it is checked here, once, and NaN fails.
/// struct Reading(f64);
/// impl Reading {
///     fn new(x: f64) -> Option<Reading> { (x.abs() <= 1.0).then_some(Reading(x)) }
/// }
///
/// /// The running mean of a stream: loss ½(θ − x)², so L = μ = 1 and C = 2.
/// struct Mean { sum: f64, count: u64 }
/// impl Memory for Mean {
///     type Record = Reading;
///     fn observe(&mut self, theta: &[f64], batch: &[Reading]) -> Score {
///         let mut score = Score::default();
///         for &Reading(x) in batch {
///             score.loss_sum += 0.5 * (theta[0] - x).powi(2);
///             score.records += 1;
///             self.sum += x;
///             self.count += 1;
///         }
///         score
///     }
///     fn gradient(&mut self, _: Round, theta: &[f64], out: &mut [f64]) {
///         out[0] = theta[0] - self.sum / self.count.max(1) as f64;
///     }
///     fn records(&self) -> u64 { self.count }
///     fn forgetting(&self) -> Forgetting { Forgetting::Never }
///     fn error_bound(&self) -> PowerLaw { PowerLaw::ZERO }
/// }
///
/// let mechanism = Mechanism {
///     dimension: 1,
///     radius: 1.0,
///     unit: Unit::Record,
///     constants: LossConstants { smoothness: 1.0, strong_convexity: 1.0, gradient_spread: 2.0, gradient_norm: 2.0 },
///     schedule: Schedule { step: PowerLaw::decaying(0.5, 0.8), coupling: PowerLaw::decaying(0.5, 0.7) },
///     weight: 0.5,
///     weight_min: 0.5,
///     warmup: 0,
///     batch: 1,
///     memory_error: PowerLaw::ZERO,
///     forgetting: Forgetting::Never,
///     noise: NoiseLaw { kind: NoiseKind::Laplace, scale: PowerLaw::growing(5.0, 0.1) },
///     noise_max: PowerLaw::growing(5.0, 0.1),
///     method: Method::Algorithm1(Algorithm1::default()),
/// };
/// let mut pair: Vec<Learner<Mean>> = (0..2).map(|id| Learner::new(LearnerSetup {
///     id: LearnerId(id),
///     neighbours: vec![(LearnerId(1 - id), 0.5)],
///     mechanism,
///     cap: Some(Cap::Approximate { epsilon: 4.0, delta: 1e-6 }),
///     domain: Domain::Ball { radius: 1.0 },
///     lasso: 0.0,
/// }, Mean { sum: 0.0, count: 0 })).collect();
///
/// for _ in 0..50 {
///     let mut releases = Vec::new();
///     for learner in &mut pair {
///         learner.observe(&[Reading::new(0.25).ok_or("a reading out of range")?]);
///         releases.push(learner.release(&mut OsEntropy)?);
///     }
///     pair[0].absorb(&[&releases[1]]);
///     pair[1].absorb(&[&releases[0]]);
/// }
/// assert!(pair[0].accountant().epsilon(1e-6) <= 4.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Learner<M> {
    state: State<M>,
    /// The method at work, with what it keeps between calls.
    update: Box<dyn Update<M>>,
    released: bool,
    ledger: Ledger,
    receipt: Option<Receipt>,
}

/// What a learner is made of, apart from its memory.
#[derive(Clone, Debug)]
pub struct LearnerSetup {
    /// Its number in the network.
    pub id: LearnerId,
    /// Its neighbours and their weights w_ij.
    pub neighbours: Vec<(LearnerId, f64)>,
    /// The public facts its budget follows from, schedules and noise included.
    pub mechanism: Mechanism,
    /// The most it may ever spend.
    pub cap: Option<Cap>,
    /// The parameter set Θ.
    pub domain: Domain,
    /// The weight of a lasso penalty, applied as a proximal step.
    pub lasso: f64,
}

/// A learner's own θ_t. Its type differs from that of public values, so that the two are not mixed
/// up.
#[derive(Clone, Copy)]
pub struct PrivateParameters<'a>(&'a [f64]);

impl<'a> PrivateParameters<'a> {
    /// The values, for the owner of the learner only.
    #[must_use]
    pub fn for_owner(self) -> &'a [f64] {
        self.0
    }
}

/// Prints the shape only: parameters are private.
impl fmt::Debug for PrivateParameters<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PrivateParameters(dim={}, <redacted>)", self.0.len())
    }
}

/// Why nothing was released.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum ReleaseError {
    /// The accountant refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// There is no randomness, or the noise scale and the bound on θ do not fit the sampler: halt, never fall back.
    #[error(transparent)]
    Noise(#[from] NoiseError),
}

/// What is public about a finished round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundReport {
    /// The round that was finished.
    pub round: Round,
    /// How many neighbours were heard.
    pub heard: usize,
    /// How many were missing.
    pub missing: usize,
    /// The sum of the weights heard, as told to the accountant.
    pub weight_heard: f64,
    /// How many records have arrived so far. This is h_t if none is ever forgotten. Where gradients are cut by person,
    /// how many persons are behind the gradient.
    pub records: u64,
}

impl<M: Memory> Learner<M> {
    /// A learner before round 0, with θ at the point of Θ nearest to zero.
    ///
    /// # Panics
    /// When the memory's error is not the one the mechanism charges for, when the memory's forgetting rule
    /// differs from the mechanism's, when gradients are cut by person and the method perturbs something else, or when Θ
    /// is larger than the mechanism's radius: bugs in the caller.
    #[must_use]
    pub fn new(mut setup: LearnerSetup, memory: M) -> Learner<M> {
        let mechanism = setup.mechanism;
        assert_eq!(memory.error_bound(), mechanism.memory_error, "the memory's error is charged");
        assert_eq!(
            memory.forgetting(),
            mechanism.forgetting,
            "the memory's forgetting rule is the mechanism's"
        );
        assert!(mechanism.unit_is_accounted(), "gradients cut by person are perturbed themselves");
        let radius = setup.domain.radius(mechanism.dimension);
        assert!(radius <= mechanism.radius, "theta stays within the radius that is charged");
        assert!(setup.lasso >= 0.0 && setup.lasso.is_finite(), "a lasso weight");
        setup.neighbours.sort_by_key(|&(id, _)| id);
        let mut theta = vec![0.0; mechanism.dimension];
        setup.domain.project(&mut theta);
        Learner {
            update: mechanism.method.update(theta.len()),
            state: State {
                id: setup.id,
                neighbours: setup.neighbours,
                domain: setup.domain,
                lasso: setup.lasso,
                accountant: Accountant::new(mechanism, setup.cap),
                memory,
                theta,
            },
            released: false,
            ledger: Ledger::new(setup.id, &mechanism),
            receipt: None,
        }
    }

    /// The same learner with another starting point, which is projected onto Θ.
    ///
    /// The start must not depend on any record: the release of round 0 is not charged.
    ///
    /// # Panics
    /// After round 0 or with a point of another dimension: bugs in the caller.
    #[must_use]
    pub fn starting_at(mut self, start: &[f64]) -> Learner<M> {
        assert!(self.round() == Round::ZERO && !self.released, "a start comes before everything");
        self.state.theta.copy_from_slice(start);
        self.state.domain.project(&mut self.state.theta);
        self
    }

    /// Its number in the network.
    #[must_use]
    pub fn id(&self) -> LearnerId {
        self.state.id
    }

    /// The round it is in.
    #[must_use]
    pub fn round(&self) -> Round {
        self.state.round()
    }

    /// Whether it has released in this round and is waiting for `absorb`.
    #[must_use]
    pub fn has_released(&self) -> bool {
        self.released
    }

    /// Its account.
    #[must_use]
    pub fn accountant(&self) -> &Accountant {
        &self.state.accountant
    }

    /// The receipt of the last charge, for the ledger.
    #[must_use]
    pub fn receipt(&self) -> Option<&Receipt> {
        self.receipt.as_ref()
    }

    /// Its history.
    #[must_use]
    pub fn memory(&self) -> &M {
        &self.state.memory
    }

    /// The private parameters θ_t, for the owner's own predictions only. Never publish them.
    #[must_use]
    pub fn private_parameters(&self) -> PrivateParameters<'_> {
        PrivateParameters(&self.state.theta)
    }

    /// The history gradient that this round's `release` will perturb, for the owner only. Never
    /// publish it.
    ///
    /// Only a method that perturbs gradients holds one, from `absorb` to `release`, and only in
    /// rounds that release a gradient.
    #[must_use]
    pub fn private_gradient(&self) -> Option<PrivateParameters<'_>> {
        let due = self.state.mechanism().gradient_is_released(self.round()) && !self.released;
        self.update.pending_gradient().filter(|_| due).map(PrivateParameters)
    }

    /// The perturbed gradient behind this round's release, for a method that perturbs gradients.
    ///
    /// The learner has paid for it and the release is computed from it, so it is public. There is
    /// none before `release`, nor in rounds that release no new gradient.
    #[must_use]
    pub fn perturbed_gradient(&self) -> Option<&[f64]> {
        self.update.perturbed_gradient()
    }

    /// Predicts and scores the records that arrived, then remembers them. They were checked when they were made.
    ///
    /// The call may come before or after `release`, because a release does not depend on the
    /// records of its own round. It must come before `absorb`, which learns from them.
    pub fn observe(&mut self, batch: &[M::Record]) -> Score {
        self.state.memory.observe(&self.state.theta, batch)
    }

    /// Pays for this round and draws its release; y_t = θ_t + ζ_t for Algorithm 1.
    ///
    /// # Guarantee
    /// The charge precedes the noise. On an error nothing may be sent; a charge already made stays.
    ///
    /// # Errors
    /// When the budget is spent, there is no entropy, or scale and bound do not fit the sampler.
    ///
    /// # Panics
    /// When called twice in a round: the release of a round is drawn only once.
    pub fn release(&mut self, entropy: &mut impl Entropy) -> Result<Release, ReleaseError> {
        assert!(!self.released, "a round has one release");
        self.pay()?;
        let release = self.update.release(&mut self.state, entropy)?;
        self.released = true;
        Ok(release)
    }

    fn pay(&mut self) -> Result<(), Refusal> {
        let cost = self.state.accountant.pay()?;
        self.receipt = Some(self.ledger.receipt(&self.state.accountant, cost));
        Ok(())
    }

    /// Takes the release of this round that was drawn before a restart, from the store, and charges
    /// it again.
    ///
    /// This is for a learner that is recomputed after a restart. The charge and the receipt are the
    /// same as before the restart.
    ///
    /// # Errors
    /// When the account refuses a release that it accepted before: the stored release is of another
    /// learner.
    ///
    /// # Panics
    /// When the release is of another learner, round or dimension, or the round has one already.
    pub fn release_again(&mut self, drawn: ReleaseView<'_>) -> Result<(), Refusal> {
        assert!(!self.released, "a round has one release");
        assert!(
            drawn.learner == self.id() && drawn.round == self.round(),
            "its own, of this round"
        );
        self.pay()?;
        self.update.restore(&mut self.state, drawn);
        self.released = true;
        Ok(())
    }

    /// Skips all rounds before `until`: nothing is released, nothing is learnt and nothing is paid.
    ///
    /// Returns the round that the learner is in afterwards, which may be later than `until`: a
    /// shielded learner that releases a gradient only every `interval` rounds resumes at the same
    /// place in the interval, with the gradient it holds.
    ///
    /// # Panics
    /// Between `release` and `absorb`: a bug in the caller.
    pub fn skip_to(&mut self, until: Round) -> Round {
        assert!(!self.released, "a round that has begun is ended first");
        let now = self.round();
        let method = self.state.mechanism().method;
        let until = method.account().resume_round(now, until).max(now);
        self.state.accountant.skip_to(until);
        until
    }

    /// Moves towards what the neighbours released and against the history gradient, and ends the round.
    ///
    /// Neighbours may be missing: the update uses the weights actually heard, and the accountant
    /// gets them.
    ///
    /// # Panics
    /// When a release is not from a neighbour, or has another round or dimension, or when nothing
    /// was released before. These are bugs in the caller, which checks what comes from the wire.
    pub fn absorb(&mut self, heard: &[&Release]) -> RoundReport {
        let heard: Vec<ReleaseView<'_>> = heard.iter().map(|&release| release.into()).collect();
        self.absorb_received(&heard, &[])
    }

    /// Does the same with releases received over a network, and with the late pulls for earlier
    /// rounds.
    ///
    /// # Guarantee
    /// A late pull moves θ by a vector that follows from two releases already made, so it costs
    /// nothing (ADR 0017).
    ///
    /// # Panics
    /// As [`absorb`](Self::absorb), and when there are two late pulls for one neighbour: the
    /// rounding of the second would not be charged.
    pub fn absorb_received(
        &mut self,
        heard: &[ReleaseView<'_>],
        late: &[LatePull<'_>],
    ) -> RoundReport {
        assert!(self.released, "release comes before absorb");
        let round = self.round();
        let Attendance { weight, count } = self.update.absorb(&mut self.state, heard, late);
        assert_eq!(count, heard.len(), "releases of neighbours, one of each");
        assert!(self.state.theta.iter().all(|value| value.is_finite()), "theta stays finite");
        let records = self.state.memory.records();
        let terms = RoundTerms { round, weight_heard: weight, records };
        self.state.accountant.advance(&terms);
        self.ledger.advance(&terms);
        self.released = false;
        let missing = self.state.neighbours.len() - count;
        RoundReport { round, heard: count, missing, weight_heard: weight, records }
    }
}

/// Everything that changes from round to round, except the last receipt, which is in the ledger.
impl<M: Memory + Persist> Persist for Learner<M> {
    fn visit(&mut self, fields: &mut dyn Fields) {
        fields.flag(&mut self.released);
        fields.numbers(&mut self.state.theta);
        self.update.visit(fields, self.released);
        self.state.accountant.visit(fields);
        self.ledger.visit(fields);
        self.state.memory.visit(fields);
    }
}

/// Prints public facts only: parameters and history are private.
impl<M> fmt::Debug for Learner<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "Learner(id={}, round={}, dim={}, <redacted>)",
            self.state.id,
            self.state.accountant.round(),
            self.state.theta.len()
        )
    }
}
