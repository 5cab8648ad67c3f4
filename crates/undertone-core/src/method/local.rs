//! Every learner learns alone: no release depends on a record, and neighbours' releases are
//! ignored.

use super::entry::{Entry, MethodDescription};
use super::{Account, Attendance, Expected, Gradients, Method, Perturbs, State, Update};
use crate::encoding::Encoder;
use crate::learner::ReleaseError;
use crate::memory::Memory;
use crate::noise::{Entropy, Grid};
use crate::persist::Fields;
use crate::privacy::{
    Cost, Lifetime, Mechanism, NoCertificate, RoundScales, RoundTerms, Standing, StepEffect,
};
use crate::release::{LatePull, Release, ReleaseView};
use crate::{Round, Schedule};

/// Learning alone. It has no settings.
pub(super) struct Local;

pub(super) const ENTRY: Entry =
    Entry { name: DESCRIPTION.name, keys: &[], read: |_, _| Method::Local };

const DESCRIPTION: MethodDescription = MethodDescription {
    perturbs: Perturbs::Nothing,
    ..MethodDescription::to_compare("local", "nothing leaves a learner", Gradients::History)
};

pub(super) fn update<M: Memory>(dimension: usize) -> Box<dyn Update<M>> {
    Box::new(LocalUpdate { change: vec![0.0; dimension] })
}

/// The part of a learner that learns alone.
struct LocalUpdate {
    /// θ_{t+1} − θ_t before the projection. Kept only to avoid an allocation in every round.
    change: Vec<f64>,
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
        state.gradient_step(&mut self.change);
        state.finish_step(&self.change);
        Attendance { weight: 0.0, count: heard.len() }
    }

    fn visit(&mut self, _fields: &mut dyn Fields, _released: bool) {}
}

impl Account for Local {
    fn describe(&self) -> MethodDescription {
        DESCRIPTION
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
        StepEffect::NONE
    }

    fn attendance_counts(&self) -> bool {
        false
    }

    fn lifetime_from(
        &self,
        _facts: &Mechanism,
        planned: &Lifetime,
        _from: &Standing<'_>,
    ) -> Result<Lifetime, NoCertificate> {
        Ok(*planned)
    }

    fn lifetime(&self, _facts: &Mechanism) -> Result<Lifetime, NoCertificate> {
        let (total, tail) = (Cost::default(), Cost::default());
        Ok(Lifetime { total, summed_to: Round::ZERO, tail, worst: Round::ZERO })
    }
}
