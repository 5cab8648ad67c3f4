//! What a learner does in a round: one file for each method.
//!
//! Each file holds a method's update, its sensitivity and its price. Read `algorithm1.rs` first: it
//! is the paper's algorithm. A learner and its account use a method through two traits only:
//! `Update` (what is released and how the parameters move) and `Account` (how far one record can
//! move what is released, and what that costs). CONTRIBUTING.md says how to add a method.

pub(crate) mod algorithm1;
mod dola;
mod dsgd;
mod local;
mod newest_batch;
mod pdop;
mod shielded;
mod state;

pub use algorithm1::{Algorithm1, Bound};
pub use dola::Dola;
pub use dsgd::Dsgd;
pub use local::Local;
pub use pdop::Pdop;
pub use shielded::Shielded;
pub(crate) use state::State;

use crate::agreement::{Faults, RawAgreement};
use crate::encoding::Encoder;
use crate::learner::ReleaseError;
use crate::memory::Memory;
use crate::noise::{Entropy, Grid, NoiseError};
use crate::persist::Fields;
use crate::planner::{ScheduleShape, estimate_by_recursion};
use crate::privacy::{
    Cost, Lifetime, Mechanism, NoCertificate, RoundScales, RoundTerms, StepEffect,
};
use crate::release::{LatePull, Release, ReleaseView};
use crate::{PowerLaw, Round, Schedule};

/// What a learner does in a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Algorithm 1 of the paper: perturbed parameters are exchanged, gradients are of the whole history.
    Algorithm1(Algorithm1),
    /// Our method: the history gradient is perturbed, and what is exchanged is computed from it.
    Shielded(Shielded),
    /// Distributed stochastic gradient descent, for comparison.
    Dsgd(Dsgd),
    /// DOLA (Li et al., 2018), for comparison.
    Dola(Dola),
    /// PDOP (Huang, Mitra & Vaidya, 2015), for comparison.
    Pdop(Pdop),
    /// Every learner learns alone: nothing leaves a learner.
    Local(Local),
}

/// Reads a method with its settings.
type Reader = fn(&RawAgreement, &mut Faults) -> Method;

/// How a config names each method and reads its settings.
const READERS: [(&str, Reader); 6] = [
    ("algorithm1", Algorithm1::read),
    ("shielded", Shielded::read),
    ("dsgd", Dsgd::read),
    ("dola", Dola::read),
    ("pdop", Pdop::read),
    ("local", Local::read),
];

impl Method {
    /// The method that a config names, with its settings; Algorithm 1 if the config names none.
    pub(crate) fn read(raw: &RawAgreement, faults: &mut Faults) -> Method {
        let name = raw.method.as_deref().unwrap_or("algorithm1");
        let read = faults.word("method", Some(name), &READERS);
        read(raw, faults)
    }

    /// What the account asks of the method.
    pub(crate) fn account(&self) -> &dyn Account {
        match self {
            Method::Algorithm1(method) => method,
            Method::Shielded(method) => method,
            Method::Dsgd(method) => method,
            Method::Dola(method) => method,
            Method::Pdop(method) => method,
            Method::Local(method) => method,
        }
    }

    /// The method's part of a learner with this many parameters.
    pub(crate) fn update<M: Memory>(&self, dimension: usize) -> Box<dyn Update<M>> {
        match self {
            Method::Algorithm1(_) => Box::new(algorithm1::Algorithm1Update::new(dimension)),
            Method::Shielded(_) => Box::new(shielded::ShieldedUpdate::new(dimension)),
            Method::Dsgd(_) => {
                Box::new(newest_batch::NewestBatchUpdate::at_own_parameters(dimension))
            }
            Method::Dola(_) | Method::Pdop(_) => {
                Box::new(newest_batch::NewestBatchUpdate::at_mixed_parameters(dimension))
            }
            Method::Local(_) => Box::new(local::LocalUpdate::new(dimension)),
        }
    }

    /// Its name in configs and reports.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.account().name()
    }

    /// What it does, in a few words, for reports.
    #[must_use]
    pub fn summary(&self) -> &'static str {
        self.account().summary()
    }

    /// How the account bounds its sensitivity, if there is a choice.
    #[must_use]
    pub fn bound(&self) -> Option<Bound> {
        self.account().bound()
    }

    /// Whether the paper's theorems apply to it: they are about Algorithm 1.
    #[must_use]
    pub fn theorems_apply(&self) -> bool {
        self.account().theorems_apply()
    }

    /// What its releases perturb.
    #[must_use]
    pub fn perturbs(&self) -> Perturbs {
        self.account().perturbs()
    }

    /// Where a learner takes gradients of records.
    #[must_use]
    pub fn gradients(&self) -> Gradients {
        self.account().gradients()
    }

    /// How many rounds there are for each released gradient, if the method has that setting.
    #[must_use]
    pub fn interval(&self) -> Option<u64> {
        self.account().interval()
    }

    /// The same method with another interval, if it has one.
    #[must_use]
    pub fn with_interval(self, interval: u64) -> Method {
        match self {
            Method::Shielded(_) => Method::Shielded(Shielded { interval }),
            other @ (Method::Algorithm1(_)
            | Method::Dsgd(_)
            | Method::Dola(_)
            | Method::Pdop(_)
            | Method::Local(_)) => other,
        }
    }
}

/// What the releases of a method perturb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Perturbs {
    /// The parameters.
    Parameters,
    /// The gradient; everything else that is sent is computed from it.
    Gradient,
    /// Nothing: no release depends on a record.
    Nothing,
}

/// Which records a gradient is of, and where it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gradients {
    /// Of the history, at the learner's parameters.
    History,
    /// Of the newest batch, at the learner's own parameters.
    NewestAtOwn,
    /// Of the newest batch, at the mixed parameters, which are public.
    NewestAtMixed,
}

impl Gradients {
    /// Whether a record is used in one step only.
    #[must_use]
    pub fn are_of_newest_batch(self) -> bool {
        match self {
            Gradients::History => false,
            Gradients::NewestAtOwn | Gradients::NewestAtMixed => true,
        }
    }
}

/// What the account needs to know about a method. All of it is public, and none of it depends on a
/// record.
pub(crate) trait Account {
    /// Its name in configs and reports.
    fn name(&self) -> &'static str;

    /// What it does, in a few words.
    fn summary(&self) -> &'static str;

    /// What its releases perturb.
    fn perturbs(&self) -> Perturbs;

    /// Which records its gradients are of, and where they are taken.
    fn gradients(&self) -> Gradients;

    /// What the step of a round does to the distance of two histories that differ in one record.
    fn step_effect(
        &self,
        facts: &Mechanism,
        terms: &RoundTerms,
        scales: &RoundScales,
    ) -> StepEffect;

    /// A bound on everything the learner will ever pay.
    fn lifetime(&self, facts: &Mechanism) -> Result<Lifetime, NoCertificate>;

    /// Adds the method and its settings to a hash, so that two that differ have different hashes.
    fn encode(&self, encoder: &mut Encoder);

    /// What the planner expects of a round; `base` is t + 1.
    fn expected(&self, schedule: &Schedule, base: f64) -> Expected;

    /// How the account bounds its sensitivity, if there is a choice.
    fn bound(&self) -> Option<Bound> {
        None
    }

    /// Whether the paper's theorems apply to it.
    fn theorems_apply(&self) -> bool {
        false
    }

    /// Whether the release of a round contains a gradient that was not in the one before.
    fn releases_gradient(&self, round: Round) -> bool {
        round > Round::ZERO
    }

    /// How many rounds there are for each released gradient, if the method has that setting.
    fn interval(&self) -> Option<u64> {
        None
    }

    /// The charge for machine arithmetic, added to the sensitivity of every release after the first.
    fn machine_sensitivity(&self, facts: &Mechanism, scales: &RoundScales) -> f64 {
        facts.state_rounding(scales)
    }

    /// Whether a release may still contain rounding errors of earlier rounds. False if everything
    /// except the newest gradient is public.
    fn rounding_carries(&self) -> bool {
        true
    }

    /// A bound on each coordinate that noise is added to.
    fn perturbed_bound(&self, facts: &Mechanism) -> f64 {
        facts.radius
    }

    /// The grid that every value of a round's release lies on.
    fn release_grid(&self, facts: &Mechanism, round: Round) -> Result<Grid, NoiseError> {
        facts.perturbation(round).grid()
    }

    /// λ_t, given the value of the step's power law.
    fn step_at(&self, step: f64, _round: Round) -> f64 {
        step
    }

    /// ρ_t, given the value of the noise's power law.
    fn noise_at(&self, noise: f64, _round: Round) -> f64 {
        noise
    }

    /// The first round from `until` on in which a learner that skips rounds from `from` on may
    /// continue.
    fn resume_round(&self, _from: Round, until: Round) -> Round {
        until
    }

    /// Whether the noise may shrink over time.
    fn noise_may_shrink(&self) -> bool {
        false
    }

    /// An estimate of the cost of the releases of rounds 0 to `last`, for comparing schedules.
    /// Never reported.
    fn estimated_cost(&self, facts: &Mechanism, last: u64) -> Cost {
        estimate_by_recursion(facts, last)
    }

    /// The schedules that the planner's search starts from.
    fn schedule_shapes(&self) -> [ScheduleShape; 4] {
        ScheduleShape::DECAYING
    }

    /// Whether the planner may choose exponents. False if steps and noise shrink geometrically.
    fn exponents_are_free(&self) -> bool {
        true
    }
}

/// What the planner expects of one round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    /// The step along the gradient.
    pub(crate) step: f64,
    /// How far neighbours pull.
    pub(crate) coupling: f64,
    /// The share of the variance of a release's noise that enters the parameters.
    pub(crate) noise: f64,
}

impl Expected {
    /// λ_t, γ_t and the noise of neighbours' releases, as their power laws say.
    pub(crate) fn of(schedule: &Schedule, base: f64) -> Expected {
        let law = |law: PowerLaw| law.initial * base.powf(law.exponent);
        let coupling = law(schedule.coupling);
        Expected { step: law(schedule.step), coupling, noise: coupling * coupling }
    }
}

/// A method at work in one learner: what is released, and how the parameters move.
pub(crate) trait Update<M: Memory>: Send + Sync {
    /// Draws the release of this round, for which the learner has paid.
    fn release(
        &mut self,
        state: &mut State<M>,
        entropy: &mut dyn Entropy,
    ) -> Result<Release, ReleaseError>;

    /// Continues after a restart with the release of this round that was drawn before.
    fn restore(&mut self, state: &mut State<M>, drawn: ReleaseView<'_>);

    /// Moves the parameters, given the releases heard and the records. Returns who was heard.
    fn absorb(
        &mut self,
        state: &mut State<M>,
        heard: &[ReleaseView<'_>],
        late: &[LatePull<'_>],
    ) -> Attendance;

    /// Saves or loads what is kept between calls. `released` says whether this round has been released.
    fn visit(&mut self, fields: &mut dyn Fields, released: bool);

    /// The gradient that the next release will perturb, if that is what it perturbs. Private.
    fn pending_gradient(&self) -> Option<&[f64]> {
        None
    }

    /// The perturbed gradient behind this round's release, if there is one. Public.
    fn perturbed_gradient(&self) -> Option<&[f64]> {
        None
    }
}

/// Which neighbours' releases a round used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Attendance {
    /// The sum of their weights.
    pub(crate) weight: f64,
    /// How many releases there were.
    pub(crate) count: usize,
}
