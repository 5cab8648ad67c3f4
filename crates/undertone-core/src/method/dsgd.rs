//! DSGD, for comparison. A learner mixes the perturbed parameters of all, its own included. The
//! step uses the gradient of the newest batch only, at the unperturbed parameters.

use super::newest_batch::one_step;
use super::{Account, Expected, Gradients, Method, Perturbs};
use crate::Schedule;
use crate::agreement::{Faults, RawAgreement};
use crate::encoding::Encoder;
use crate::planner::{ScheduleShape, estimate_by_lifetime};
use crate::privacy::one_use_lifetime::{OneUse, lifetime};
use crate::privacy::{
    Cost, Lifetime, Mechanism, NoCertificate, RoundScales, RoundTerms, StepEffect,
};

/// Distributed stochastic gradient descent. Its update is in `newest_batch.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dsgd;

impl Dsgd {
    pub(super) fn read(raw: &RawAgreement, faults: &mut Faults) -> Method {
        faults.only_for_algorithm1(raw);
        faults.only_for_shielded(raw);
        faults.only_for_pdop(raw);
        Method::Dsgd(Dsgd)
    }
}

impl Account for Dsgd {
    fn name(&self) -> &'static str {
        "dsgd"
    }

    fn summary(&self) -> &'static str {
        "DSGD: newest batch at own parameters"
    }

    fn perturbs(&self) -> Perturbs {
        Perturbs::Parameters
    }

    fn gradients(&self) -> Gradients {
        Gradients::NewestAtOwn
    }

    fn encode(&self, _encoder: &mut Encoder) {
        let Dsgd = self;
    }

    fn expected(&self, schedule: &Schedule, base: f64) -> Expected {
        Expected { noise: 1.0, ..Expected::of(schedule, base) }
    }

    /// A learner's own parameters enter only through the gradient, because everything that is mixed
    /// was sent.
    fn step_effect(
        &self,
        facts: &Mechanism,
        _terms: &RoundTerms,
        scales: &RoundScales,
    ) -> StepEffect {
        StepEffect {
            contraction: scales.step * facts.constants.smoothness,
            ..one_step(facts, scales)
        }
    }

    fn noise_may_shrink(&self) -> bool {
        true
    }

    fn estimated_cost(&self, facts: &Mechanism, _last: u64) -> Cost {
        estimate_by_lifetime(facts)
    }

    fn schedule_shapes(&self) -> [ScheduleShape; 4] {
        ScheduleShape::CONSTANT_COUPLING
    }

    fn lifetime(&self, facts: &Mechanism) -> Result<Lifetime, NoCertificate> {
        lifetime(facts, &OneUse { step_ratio: 1.0, noise_ratio: 1.0, carries_over: true })
    }
}
