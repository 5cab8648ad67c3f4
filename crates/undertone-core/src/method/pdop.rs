//! PDOP (Huang, Mitra & Vaidya, 2015), for comparison. It is DOLA with steps and noise that shrink
//! geometrically.

use super::newest_batch::one_step;
use super::{Account, Expected, Gradients, Method, Perturbs};
use crate::agreement::{Faults, RawAgreement, SHARE};
use crate::encoding::Encoder;
use crate::planner::{ScheduleShape, estimate_by_lifetime};
use crate::privacy::one_use_lifetime::{OneUse, lifetime};
use crate::privacy::{
    Cost, Lifetime, Mechanism, NoCertificate, RoundScales, RoundTerms, StepEffect,
};
use crate::{Round, Schedule};

/// PDOP. Its update is in `newest_batch.rs`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pdop {
    /// Steps are multiplied by this in every round.
    pub step_ratio: f64,
    /// Noise scales are multiplied by this in every round.
    pub noise_ratio: f64,
}

impl Pdop {
    pub(super) fn read(raw: &RawAgreement, faults: &mut Faults) -> Method {
        faults.only_for_algorithm1(raw);
        faults.only_for_shielded(raw);
        Method::Pdop(Pdop {
            step_ratio: faults.number("schedule.step_ratio", raw.schedule.step_ratio, &SHARE),
            noise_ratio: faults.number("noise.ratio", raw.noise.ratio, &SHARE),
        })
    }
}

impl Account for Pdop {
    fn name(&self) -> &'static str {
        "pdop"
    }

    fn summary(&self) -> &'static str {
        "PDOP: as DOLA, geometric"
    }

    fn perturbs(&self) -> Perturbs {
        Perturbs::Parameters
    }

    fn gradients(&self) -> Gradients {
        Gradients::NewestAtMixed
    }

    fn encode(&self, encoder: &mut Encoder) {
        let &Pdop { step_ratio, noise_ratio } = self;
        encoder.number(step_ratio);
        encoder.number(noise_ratio);
    }

    fn expected(&self, schedule: &Schedule, base: f64) -> Expected {
        let expected = Expected::of(schedule, base);
        Expected {
            step: expected.step * self.step_ratio.powf(base - 1.0),
            noise: self.noise_ratio.powf(2.0 * (base - 1.0)),
            ..expected
        }
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

    fn step_at(&self, step: f64, round: Round) -> f64 {
        step * power(self.step_ratio, round)
    }

    fn noise_at(&self, noise: f64, round: Round) -> f64 {
        noise * power(self.noise_ratio, round)
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

    fn exponents_are_free(&self) -> bool {
        false
    }

    fn lifetime(&self, facts: &Mechanism) -> Result<Lifetime, NoCertificate> {
        let &Pdop { step_ratio, noise_ratio } = self;
        lifetime(facts, &OneUse { step_ratio, noise_ratio, carries_over: false })
    }
}

/// ratio^t.
fn power(ratio: f64, round: Round) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "rounds stay below 2^32")]
    let rounds = round.0 as f64;
    ratio.powf(rounds)
}
