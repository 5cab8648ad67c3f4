//! DOLA (Li et al., 2018), for comparison. It is DSGD with gradients taken at the mixed point,
//! which is public.

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

/// DOLA. Its update is in `newest_batch.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dola;

impl Dola {
    pub(super) fn read(raw: &RawAgreement, faults: &mut Faults) -> Method {
        faults.only_for_algorithm1(raw);
        faults.only_for_shielded(raw);
        faults.only_for_pdop(raw);
        Method::Dola(Dola)
    }
}

impl Account for Dola {
    fn name(&self) -> &'static str {
        "dola"
    }

    fn summary(&self) -> &'static str {
        "DOLA: newest batch at mixed parameters"
    }

    fn perturbs(&self) -> Perturbs {
        Perturbs::Parameters
    }

    fn gradients(&self) -> Gradients {
        Gradients::NewestAtMixed
    }

    fn encode(&self, _encoder: &mut Encoder) {
        let Dola = self;
    }

    fn expected(&self, schedule: &Schedule, base: f64) -> Expected {
        Expected { noise: 1.0, ..Expected::of(schedule, base) }
    }

    fn step_effect(
        &self,
        facts: &Mechanism,
        _terms: &RoundTerms,
        scales: &RoundScales,
    ) -> StepEffect {
        one_step(facts, scales)
    }

    fn rounding_carries(&self) -> bool {
        false
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
        lifetime(facts, &OneUse { step_ratio: 1.0, noise_ratio: 1.0, carries_over: false })
    }
}
