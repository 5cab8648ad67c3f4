//! What a learner does in a round: one file for each method.
//!
//! Each file holds a method's settings and the keys they are read from, its update, its sensitivity and its
//! price. `algorithm1.rs` is the paper's algorithm and the one to read first. A learner and its account know
//! methods through two traits only: `Update` (what is released and how the parameters move) and `Account` (how
//! far one record can move what is released, and what that costs). CONTRIBUTING.md says how to add a method.

pub(crate) mod algorithm1;
mod dola;
mod dsgd;
mod entry;
mod local;
mod newest_batch;
mod pdop;
mod shielded;
mod state;

pub use algorithm1::{Algorithm1, Bound};
pub use entry::MethodDescription;
pub use pdop::Pdop;
pub use shielded::Shielded;
pub(crate) use state::State;

use crate::agreement::{Faults, RawAgreement};
use crate::encoding::Encoder;
use crate::learner::ReleaseError;
use crate::memory::Memory;
use crate::noise::{Entropy, Grid, NoiseError};
use crate::persist::Fields;
use crate::planner::{ScheduleShape, estimate_by_lifetime, estimate_by_recursion};
use crate::privacy::{
    Cost, Lifetime, Mechanism, NoCertificate, RoundScales, RoundTerms, Standing, StepEffect,
};
use crate::release::{LatePull, Release, ReleaseView};
use crate::{PowerLaw, Round, Schedule};
use entry::Entry;

/// What a learner does in a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Algorithm 1 of the paper: perturbed parameters are exchanged, gradients are of the whole history.
    Algorithm1(Algorithm1),
    /// Our method: the history gradient is perturbed, and what is exchanged is computed from it.
    Shielded(Shielded),
    /// Distributed stochastic gradient descent, to compare with.
    Dsgd,
    /// DOLA (Li et al., 2018), to compare with.
    Dola,
    /// PDOP (Huang, Mitra & Vaidya, 2015), to compare with.
    Pdop(Pdop),
    /// Every learner for itself: nothing leaves a learner.
    Local,
}

/// What configs say of each method.
const ENTRIES: [&Entry; 6] =
    [&algorithm1::ENTRY, &shielded::ENTRY, &dsgd::ENTRY, &dola::ENTRY, &pdop::ENTRY, &local::ENTRY];

impl Method {
    /// The method that a config names, with its settings; Algorithm 1 if the config names none.
    pub(crate) fn read(raw: &RawAgreement, faults: &mut Faults) -> Method {
        entry::read(&ENTRIES, raw, faults)
    }

    /// The names of the methods of which this is true, with their default settings. Messages name methods by it, so that
    /// a new one is in them.
    #[must_use]
    pub fn names_where(is_one: impl Fn(&MethodDescription) -> bool) -> Vec<&'static str> {
        let default =
            |entry: &Entry| (entry.read)(&RawAgreement::default(), &mut Faults::default());
        let all = ENTRIES.into_iter().map(|entry| default(entry).describe());
        all.filter(|description| is_one(description)).map(|description| description.name).collect()
    }

    /// What the account asks of the method.
    pub(crate) fn account(&self) -> &dyn Account {
        match self {
            Method::Algorithm1(method) => method,
            Method::Shielded(method) => method,
            Method::Dsgd => &dsgd::Dsgd,
            Method::Dola => &dola::Dola,
            Method::Pdop(method) => method,
            Method::Local => &local::Local,
        }
    }

    /// The method's part of a learner with this many parameters.
    pub(crate) fn update<M: Memory>(&self, dimension: usize) -> Box<dyn Update<M>> {
        match self {
            Method::Algorithm1(_) => algorithm1::update(dimension),
            Method::Shielded(method) => shielded::update(method, dimension),
            Method::Dsgd => dsgd::update(dimension),
            Method::Dola => dola::update(dimension),
            Method::Pdop(_) => pdop::update(dimension),
            Method::Local => local::update(dimension),
        }
    }

    /// What a reader of a config or a report must know of it.
    #[must_use]
    pub fn describe(&self) -> MethodDescription {
        self.account().describe()
    }

    /// The same method with another interval, if it has one.
    #[must_use]
    pub fn with_interval(self, interval: u64) -> Method {
        self.account().with_interval(interval).unwrap_or(self)
    }

    /// Writes the method and all its settings into a config, those left to their defaults too.
    pub fn write(&self, raw: &mut RawAgreement) {
        raw.method = Some(self.describe().name.into());
        self.account().write(raw);
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
    /// What a reader of a config or a report must know of it.
    fn describe(&self) -> MethodDescription;

    /// What the step of a round does to the distance of two histories that differ in one record.
    fn step_effect(
        &self,
        facts: &Mechanism,
        terms: &RoundTerms,
        scales: &RoundScales,
    ) -> StepEffect;

    /// A bound on everything the learner will ever pay.
    fn lifetime(&self, facts: &Mechanism) -> Result<Lifetime, NoCertificate>;

    /// The same from the present state of a learner, once a round has departed from the plan behind `planned`.
    fn lifetime_from(
        &self,
        _facts: &Mechanism,
        _planned: &Lifetime,
        _from: &Standing<'_>,
    ) -> Result<Lifetime, NoCertificate> {
        Err(NoCertificate::DepartedFromPlan)
    }

    /// Whether a missing neighbour makes records cost more than planned.
    fn attendance_counts(&self) -> bool {
        true
    }

    /// Adds the settings to a hash, so that two methods that differ have different hashes.
    fn encode(&self, encoder: &mut Encoder);

    /// Writes the settings into a config, under the method's own keys.
    fn write(&self, _raw: &mut RawAgreement) {}

    /// The same method with another interval, where it has one.
    fn with_interval(&self, _interval: u64) -> Option<Method> {
        None
    }

    /// Whether the release of a round contains a gradient that was not in the one before.
    fn releases_gradient(&self, round: Round) -> bool {
        round > Round::ZERO
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

    /// What the planner expects of a round; `base` is t + 1.
    fn expected(&self, schedule: &Schedule, base: f64) -> Expected {
        let expected = Expected::of(schedule, base);
        match self.describe().gradients {
            Gradients::History => expected,
            // Learners continue from the noisy copy that they sent.
            Gradients::NewestAtOwn | Gradients::NewestAtMixed => {
                Expected { noise: 1.0, ..expected }
            }
        }
    }

    /// An estimate of the cost of the releases of rounds 0 to `last`, for comparing schedules.
    /// Never reported.
    fn estimated_cost(&self, facts: &Mechanism, last: u64) -> Cost {
        match self.describe().gradients {
            Gradients::History => estimate_by_recursion(facts, last),
            Gradients::NewestAtOwn | Gradients::NewestAtMixed => estimate_by_lifetime(facts),
        }
    }

    /// The schedules that the planner's search starts from.
    fn schedule_shapes(&self) -> [ScheduleShape; 4] {
        match self.describe().gradients {
            Gradients::History => ScheduleShape::DECAYING,
            Gradients::NewestAtOwn | Gradients::NewestAtMixed => ScheduleShape::CONSTANT_COUPLING,
        }
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

/// A method's part of one learner: what is released, and how the parameters move.
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
