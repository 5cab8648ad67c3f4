//! One learner and its round: `observe`, `release`, `absorb`. This is Algorithm 1 of the paper.
//!
//! A learner whose [`Rule`] is another differs in what it perturbs: `shielded.rs`.

use crate::domain::{Domain, soft_threshold};
use crate::memory::{Memory, RecordError, Score};
use crate::noise::{Entropy, EntropyError, Grid, NoiseError, perturb};
use crate::persist::{Fields, Persist, flag};
use crate::privacy::{Accountant, Cap, Ledger, Mechanism, Receipt, Refusal, RoundTerms, Rule};
use crate::release::{Heard, LatePull, Release};
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
/// use undertone_core::privacy::{Cap, Mechanism, NoiseLaw, Rule};
/// use undertone_core::{Domain, Forgetting, Learner, LearnerId, LearnerSetup, LossConstants, Memory, PowerLaw, RecordError, Round, Schedule, Score};
///
/// /// The running mean of a stream in [-1, 1]: loss ½(θ − x)², so L = μ = 1 and C = 2.
/// struct Mean { sum: f64, count: u64 }
/// impl Memory for Mean {
///     type Record = f64;
///     fn observe(&mut self, theta: &[f64], batch: &[f64]) -> Result<Score, RecordError> {
///         let mut score = Score::default();
///         for (position, &x) in batch.iter().enumerate() {
///             if !(x.abs() <= 1.0) { return Err(RecordError::NotFinite { position }); }
///             score.loss_sum += 0.5 * (theta[0] - x).powi(2);
///             score.records += 1;
///         }
///         self.sum += batch.iter().sum::<f64>();
///         self.count += batch.len() as u64;
///         Ok(score)
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
///     rule: Rule::Tight,
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
///         learner.observe(&[0.25])?;
///         releases.push(learner.release(&mut OsEntropy)?);
///     }
///     pair[0].absorb(&[&releases[1]]);
///     pair[1].absorb(&[&releases[0]]);
/// }
/// assert!(pair[0].accountant().epsilon(1e-6) <= 4.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Learner<M> {
    id: LearnerId,
    neighbours: Vec<(LearnerId, f64)>,
    domain: Domain,
    lasso: f64,
    pub(crate) accountant: Accountant,
    pub(crate) memory: M,
    /// Private: leaves only through `release`, noised. (A shielded learner's is public.)
    pub(crate) theta: Vec<f64>,
    /// Room for the gradient and the update, kept to avoid allocation in every round. Private.
    pub(crate) update: Vec<f64>,
    /// Whether `update` holds a gradient after its noise, and may be shown.
    pub(crate) update_is_perturbed: bool,
    /// What was sent in this round, where the method goes on from there; else empty.
    pub(crate) sent: Vec<f64>,
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

/// A learner's own θ_t. Of another type than what may be published, so that the two are not mixed up.
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
    /// There is no randomness: halt, never fall back.
    #[error(transparent)]
    NoEntropy(#[from] EntropyError),
    /// The noise scale and the bound on θ do not fit the sampler.
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
    /// How many records have arrived so far; h_t, where none is ever forgotten.
    pub records: u64,
}

impl<M: Memory> Learner<M> {
    /// A learner before round 0, with θ at the point of Θ nearest to zero.
    ///
    /// # Panics
    /// When the memory may err by more than the mechanism charges for, or forgets otherwise than it
    /// follows, or Θ is larger: bugs in the caller.
    #[must_use]
    pub fn new(mut setup: LearnerSetup, memory: M) -> Learner<M> {
        let charged = setup.mechanism.memory_error;
        assert_eq!(memory.error_bound(), charged, "the memory's error is what is charged");
        let followed = setup.mechanism.forgetting;
        assert_eq!(memory.forgetting(), followed, "the account forgets as the memory does");
        let radius = setup.domain.radius(setup.mechanism.dimension);
        assert!(radius <= setup.mechanism.radius, "theta stays within the radius that is charged");
        assert!(setup.lasso >= 0.0 && setup.lasso.is_finite(), "a lasso weight");
        setup.neighbours.sort_by_key(|&(id, _)| id);
        let mut theta = vec![0.0; setup.mechanism.dimension];
        setup.domain.project(&mut theta);
        Learner {
            id: setup.id,
            neighbours: setup.neighbours,
            domain: setup.domain,
            lasso: setup.lasso,
            accountant: Accountant::new(setup.mechanism, setup.cap),
            memory,
            update: vec![0.0; theta.len()],
            update_is_perturbed: false,
            sent: if setup.mechanism.rule.is_baseline() { theta.clone() } else { Vec::new() },
            theta,
            released: false,
            ledger: Ledger::new(setup.id, &setup.mechanism),
            receipt: None,
        }
    }

    /// The same learner, starting at another point, moved to the nearest point of Θ.
    ///
    /// The start must not depend on any record: the release of round 0 is not charged.
    ///
    /// # Panics
    /// After round 0 or with a point of another dimension: bugs in the caller.
    #[must_use]
    pub fn starting_at(mut self, start: &[f64]) -> Learner<M> {
        assert!(self.round() == Round::ZERO && !self.released, "a start comes before everything");
        self.theta.copy_from_slice(start);
        self.domain.project(&mut self.theta);
        self
    }

    /// Its number in the network.
    #[must_use]
    pub fn id(&self) -> LearnerId {
        self.id
    }

    /// The round it is in.
    #[must_use]
    pub fn round(&self) -> Round {
        self.accountant.round()
    }

    /// Whether it has released in this round, and waits for `absorb`.
    #[must_use]
    pub fn has_released(&self) -> bool {
        self.released
    }

    /// Its account.
    #[must_use]
    pub fn accountant(&self) -> &Accountant {
        &self.accountant
    }

    /// The receipt of the last charge, for the ledger.
    #[must_use]
    pub fn receipt(&self) -> Option<&Receipt> {
        self.receipt.as_ref()
    }

    /// Its history.
    #[must_use]
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// The private parameters θ_t, for the owner's own predictions only. Never publish them.
    #[must_use]
    pub fn private_parameters(&self) -> PrivateParameters<'_> {
        PrivateParameters(&self.theta)
    }

    /// The history gradient that this round's `release` will perturb, for the owner only. Never
    /// publish it.
    ///
    /// Only a shielded learner holds one, from `absorb` to `release`, in rounds that release one.
    #[must_use]
    pub fn private_gradient(&self) -> Option<PrivateParameters<'_>> {
        (self.gradient_is_perturbed() && !self.released).then(|| PrivateParameters(&self.update))
    }

    /// The perturbed gradient behind this round's release of a shielded learner.
    ///
    /// It is what was paid for, and the release follows from it: it is as public. There is none
    /// before `release`, and in rounds that release no new gradient.
    #[must_use]
    pub fn perturbed_gradient(&self) -> Option<&[f64]> {
        self.update_is_perturbed.then_some(&self.update)
    }

    fn gradient_is_perturbed(&self) -> bool {
        let mechanism = self.accountant.mechanism();
        matches!(mechanism.rule, Rule::Shielded { .. })
            && mechanism.gradient_is_released(self.round())
    }

    /// Predicts and scores the records that arrived, then remembers them.
    ///
    /// # Errors
    /// A record outside the declared bounds refuses the whole batch, and nothing is remembered.
    ///
    /// Before or after `release`, whose value does not depend on the records of its own round; before
    /// `absorb`, which learns from them.
    pub fn observe(&mut self, batch: &[M::Record]) -> Result<Score, RecordError> {
        self.memory.observe(&self.theta, batch)
    }

    /// Pays for this round and draws its release: y_t = θ_t + ζ_t.
    ///
    /// # Guarantee
    /// The charge precedes the noise. On an error nothing may be sent; a charge already made stays.
    ///
    /// # Errors
    /// When the budget is spent, there is no entropy, or scale and bound do not fit the sampler.
    ///
    /// # Panics
    /// When called twice in a round: a release is drawn once, ever.
    pub fn release(&mut self, entropy: &mut impl Entropy) -> Result<Release, ReleaseError> {
        assert!(!self.released, "a round has one release");
        let cost = self.accountant.pay()?;
        self.receipt = Some(self.ledger.receipt(&self.accountant, cost));
        let release = match self.accountant.mechanism().rule {
            Rule::Shielded { .. } => self.step_along_perturbed_gradient(entropy)?,
            Rule::Local => self.say_nothing()?,
            _ => self.perturb_parameters(entropy)?,
        };
        if self.accountant.mechanism().rule.is_baseline() {
            self.sent.copy_from_slice(release.values());
        }
        self.released = true;
        Ok(release)
    }

    fn perturb_parameters(&self, entropy: &mut impl Entropy) -> Result<Release, ReleaseError> {
        let round = self.round();
        let scale = self.accountant.scales().noise;
        let perturbation = self.accountant.mechanism().perturbation_of_scale(scale);
        let mut values = vec![0.0; self.theta.len()].into_boxed_slice();
        let key = entropy.key(self.id, round)?;
        let grid = perturb(&perturbation, &self.theta, key, &mut values)?;
        Ok(Release::new(self.id, round, grid, values))
    }

    /// Takes the release of this round that was drawn before, from a durable record, and pays for it again.
    ///
    /// This is for a learner that is computed again after a restart, up to where it was: the charge is the
    /// one that was made then, and the receipt comes out the same.
    ///
    /// # Errors
    /// When the account refuses what it did not refuse then: the record is of another learner.
    ///
    /// # Panics
    /// When the release is of another learner, round or dimension, or the round has one already.
    pub fn release_again(&mut self, drawn: Heard<'_>) -> Result<(), Refusal> {
        assert!(!self.released, "a round has one release");
        assert!(drawn.learner == self.id && drawn.round == self.round(), "its own, of this round");
        let cost = self.accountant.pay()?;
        self.receipt = Some(self.ledger.receipt(&self.accountant, cost));
        if let Rule::Shielded { .. } = self.accountant.mechanism().rule {
            // What a shielded learner sends is where it is. Its gradient is not needed any more.
            self.theta.copy_from_slice(drawn.values);
            self.update.fill(0.0);
        }
        if self.accountant.mechanism().rule.is_baseline() {
            self.sent.copy_from_slice(drawn.values);
        }
        self.released = true;
        Ok(())
    }

    /// Stays out of all rounds before `until`: nothing is released, nothing is learnt and nothing is paid.
    ///
    /// Gives the round it is in then: a shielded learner that takes a gradient only every so many rounds
    /// comes back in a round like the one it left in, with the gradient it holds.
    ///
    /// # Panics
    /// Between `release` and `absorb`: a bug in the caller.
    pub fn sit_out(&mut self, until: Round) -> Round {
        assert!(!self.released, "a round that has begun is ended first");
        let now = self.round();
        let until = match self.accountant.mechanism().rule {
            Rule::Shielded { interval } => {
                Round(now.0 + until.0.saturating_sub(now.0).next_multiple_of(interval))
            }
            _ => until.max(now),
        };
        self.accountant.sit_out(until);
        until
    }

    /// Moves towards what the neighbours released and against the history gradient, and ends the round.
    ///
    /// Missing neighbours are a normal case: the update uses the weights actually heard, and the
    /// accountant is told.
    ///
    /// # Panics
    /// When a release is not from a neighbour, of another round or of another dimension, or when
    /// nothing was released before: bugs in the caller, who checks what comes from the wire.
    pub fn absorb(&mut self, heard: &[&Release]) -> RoundReport {
        let heard: Vec<Heard<'_>> = heard.iter().map(|&release| release.into()).collect();
        self.absorb_heard(&heard, &[])
    }

    /// The same for releases that came over a network, with what is to be made up for.
    ///
    /// # Guarantee
    /// A late pull moves θ by a vector that follows from two releases already made, so the account does not
    /// know it (ADR 0017).
    ///
    /// # Panics
    /// As [`absorb`](Self::absorb), and when there are two late pulls of one neighbour, whose roundings
    /// are not charged.
    pub fn absorb_heard(&mut self, heard: &[Heard<'_>], late: &[LatePull<'_>]) -> RoundReport {
        assert!(self.released, "release comes before absorb");
        let round = self.round();
        self.update_is_perturbed = false;
        let (weight_heard, heard_count) = match self.accountant.mechanism().rule {
            Rule::Tight | Rule::Theorem5i | Rule::Theorem5ii => self.step_and_mix(heard, late),
            Rule::Shielded { .. } => self.mix_and_take_gradient(heard, late),
            Rule::Local => self.step_alone(heard, late),
            Rule::Dsgd | Rule::Dola | Rule::Pdop { .. } => {
                assert!(late.is_empty(), "methods to compare with know no late pulls");
                self.mix_what_was_sent_and_step(heard)
            }
        };
        assert_eq!(heard_count, heard.len(), "releases of neighbours, one of each");
        assert!(self.theta.iter().all(|value| value.is_finite()), "theta stays finite");
        let records = self.memory.records();
        let terms = RoundTerms { round, weight_heard, records };
        self.accountant.advance(&terms);
        self.ledger.advance(&terms);
        self.released = false;
        let missing = self.neighbours.len() - heard_count;
        RoundReport { round, heard: heard_count, missing, weight_heard, records }
    }

    /// θ_{t+1} = P[θ_t + γ_t Σ w (y − θ_t) − λ_t ∇]. Gives the weight and number of neighbours heard.
    fn step_and_mix(&mut self, heard: &[Heard<'_>], late: &[LatePull<'_>]) -> (f64, usize) {
        // θ lends itself to the memory; nothing is copied.
        let theta = std::mem::take(&mut self.theta);
        let lambda = self.begin_step_at(&theta);
        self.theta = theta;
        let (weight_heard, heard_count) = self.add_pulls(heard);
        self.add_late_pulls(late);
        self.apply_update(lambda);
        (weight_heard, heard_count)
    }

    /// Zeros, which depend on no record.
    fn say_nothing(&self) -> Result<Release, ReleaseError> {
        let grid = Grid::new(self.accountant.mechanism().radius)?;
        let values = vec![0.0; self.theta.len()].into_boxed_slice();
        Ok(Release::new(self.id, self.round(), grid, values))
    }

    /// A step along the learner's own gradient. What neighbours say is not listened to.
    fn step_alone(&mut self, heard: &[Heard<'_>], late: &[LatePull<'_>]) -> (f64, usize) {
        assert!(late.is_empty(), "who listens to nobody has nothing to make up for");
        self.step_and_mix(&[], &[]);
        (0.0, heard.len())
    }

    /// Makes the update −λ_t times the gradient at a point, and gives λ_t.
    pub(crate) fn begin_step_at(&mut self, point: &[f64]) -> f64 {
        let round = self.round();
        // lambda: step (paper map, row 4)
        let lambda = self.accountant.scales().step;
        self.memory.gradient(round, point, &mut self.update);
        for value in &mut self.update {
            *value *= -lambda;
        }
        lambda
    }

    /// Adds γ_t Σ w (y − θ_t) to the update, neighbours in id order.
    pub(crate) fn add_pulls(&mut self, heard: &[Heard<'_>]) -> (f64, usize) {
        let round = self.round();
        // gamma: coupling (paper map, row 4)
        let scales = self.accountant.scales();
        let gamma = scales.coupling;
        let bound = self.accountant.mechanism().message_bound_at(scales);
        let mut weight_heard = 0.0;
        let mut heard_count = 0;
        for &(neighbour, weight) in &self.neighbours {
            let Some(release) = heard.iter().find(|release| release.learner == neighbour) else {
                continue;
            };
            assert_eq!(release.round, round, "releases of this round");
            assert_eq!(release.values.len(), self.theta.len(), "releases of this dimension");
            let pull = gamma * weight;
            for ((slot, &theirs), &own) in
                self.update.iter_mut().zip(release.values).zip(&self.theta)
            {
                *slot += pull * (theirs.clamp(-bound, bound) - own);
            }
            weight_heard += weight;
            heard_count += 1;
        }
        (weight_heard, heard_count)
    }

    /// Adds γ_s Σ w (theirs − own) to the update, each value no larger than one heard on time could make it.
    pub(crate) fn add_late_pulls(&mut self, late: &[LatePull<'_>]) {
        for (place, pull) in late.iter().enumerate() {
            let LatePull { own, theirs } = pull;
            assert!(own.learner == self.id && own.round == theirs.round, "two ends of an edge");
            assert!(own.round < self.round(), "of an earlier round");
            let once = late[..place].iter().all(|other| other.theirs.learner != theirs.learner);
            assert!(once, "one late pull of each neighbour");
            let weight = self.neighbours.iter().find(|&&(id, _)| id == theirs.learner);
            let weight = weight.map(|&(_, weight)| weight).expect("a pull of a neighbour");
            let mechanism = self.accountant.mechanism();
            let pull = mechanism.schedule.coupling.at(own.round) * weight;
            let bound = mechanism.message_bound(own.round);
            let limit = mechanism.schedule.coupling.at(self.round())
                * weight
                * mechanism.message_bound(self.round());
            let pairs = own.values.iter().zip(theirs.values);
            for (slot, (own, theirs)) in self.update.iter_mut().zip(pairs) {
                let apart = theirs.clamp(-bound, bound) - own.clamp(-bound, bound);
                *slot += (pull * apart).clamp(-limit, limit);
            }
        }
    }

    /// Adds the update to θ, then the proximal step of the lasso, then the projection onto Θ.
    pub(crate) fn apply_update(&mut self, lambda: f64) {
        for (value, change) in self.theta.iter_mut().zip(&self.update) {
            *value += change;
        }
        self.settle(lambda);
    }

    /// The proximal step of the lasso, then the projection onto Θ.
    pub(crate) fn settle(&mut self, lambda: f64) {
        if self.lasso > 0.0 {
            soft_threshold(lambda * self.lasso, &mut self.theta);
        }
        self.project();
    }

    pub(crate) fn project(&mut self) {
        self.domain.project(&mut self.theta);
    }
}

/// Everything that changes from round to round, but the last receipt, which is in the ledger.
impl<M: Memory + Persist> Persist for Learner<M> {
    fn visit(&mut self, fields: &mut dyn Fields) {
        flag(fields, &mut self.released);
        fields.numbers(&mut self.theta);
        if !self.released {
            // The gradient that a shielded learner's next release will perturb.
            fields.numbers(&mut self.update);
        }
        fields.numbers(&mut self.sent);
        self.accountant.visit(fields);
        self.ledger.visit(fields);
        self.memory.visit(fields);
    }
}

/// Prints public facts only: parameters and history are private.
impl<M> fmt::Debug for Learner<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "Learner(id={}, round={}, dim={}, <redacted>)",
            self.id,
            self.accountant.round(),
            self.theta.len()
        )
    }
}
