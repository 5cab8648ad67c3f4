//! Every learner learns alone: no release depends on a record, and neighbours' releases are
//! ignored.

use super::{Account, Attendance, Expected, Gradients, Method, Perturbs, State, Update};
use crate::agreement::{Faults, RawAgreement};
use crate::encoding::Encoder;
use crate::learner::ReleaseError;
use crate::memory::Memory;
use crate::noise::{Entropy, Grid};
use crate::persist::Fields;
use crate::privacy::{
    Cost, Lifetime, Mechanism, NoCertificate, RoundScales, RoundTerms, StepEffect,
};
use crate::release::{LatePull, Release, ReleaseView};
use crate::{Round, Schedule};

/// Learning alone, for comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local;

/// Learning alone at work in one learner.
pub(super) struct LocalUpdate {
    /// Scratch, kept to avoid an allocation in every round.
    change: Vec<f64>,
}

impl LocalUpdate {
    pub(super) fn new(dimension: usize) -> LocalUpdate {
        LocalUpdate { change: vec![0.0; dimension] }
    }
}

impl<M: Memory> Update<M> for LocalUpdate {
    /// Zeros, which depend on no record.
    fn release(
        &mut self,
        state: &mut State<M>,
        _entropy: &mut dyn Entropy,
    ) -> Result<Release, ReleaseError> {
        let grid = Grid::new(state.mechanism().radius)?;
        let values = vec![0.0; state.theta.len()].into_boxed_slice();
        Ok(Release::new(state.id, state.round(), grid, values))
    }

    fn restore(&mut self, _state: &mut State<M>, _drawn: ReleaseView<'_>) {}

    /// A step along the learner's own gradient.
    fn absorb(
        &mut self,
        state: &mut State<M>,
        heard: &[ReleaseView<'_>],
        late: &[LatePull<'_>],
    ) -> Attendance {
        assert!(late.is_empty(), "a learner that listens to nobody has no late pulls");
        let (round, lambda) = (state.round(), state.scales().step);
        state.memory.gradient(round, &state.theta, &mut self.change);
        for change in &mut self.change {
            *change *= -lambda;
        }
        state.add_to_theta(&self.change);
        state.finish_step(lambda);
        Attendance { weight: 0.0, count: heard.len() }
    }

    fn visit(&mut self, _fields: &mut dyn Fields, _released: bool) {}
}

impl Local {
    pub(super) fn read(raw: &RawAgreement, faults: &mut Faults) -> Method {
        faults.only_for_algorithm1(raw);
        faults.only_for_shielded(raw);
        faults.only_for_pdop(raw);
        Method::Local(Local)
    }
}

impl Account for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    fn summary(&self) -> &'static str {
        "nothing leaves a learner"
    }

    fn perturbs(&self) -> Perturbs {
        Perturbs::Nothing
    }

    fn gradients(&self) -> Gradients {
        Gradients::History
    }

    fn encode(&self, _encoder: &mut Encoder) {
        let Local = self;
    }

    fn expected(&self, schedule: &Schedule, base: f64) -> Expected {
        Expected { coupling: 0.0, noise: 0.0, ..Expected::of(schedule, base) }
    }

    fn releases_gradient(&self, _round: Round) -> bool {
        false
    }

    fn step_effect(
        &self,
        _facts: &Mechanism,
        _terms: &RoundTerms,
        _scales: &RoundScales,
    ) -> StepEffect {
        StepEffect {
            contraction: 0.0,
            idle: 0.0,
            reach: 0.0,
            approximation: 0.0,
            drive_is_whole: false,
        }
    }

    fn lifetime(&self, _facts: &Mechanism) -> Result<Lifetime, NoCertificate> {
        let (total, tail) = (Cost::default(), Cost::default());
        Ok(Lifetime { total, summed_to: Round::ZERO, tail, worst: Round::ZERO })
    }
}
