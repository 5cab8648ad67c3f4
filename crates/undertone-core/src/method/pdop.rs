//! PDOP (Huang, Mitra & Vaidya, 2015), for comparison. It is DOLA with steps and noise that shrink
//! geometrically.

use super::entry::{Entry, Key, MethodDescription};
use super::newest_batch::NewestBatchUpdate;
use super::{Account, Expected, Gradients, Method, Update};
use crate::agreement::{Faults, Range, RawAgreement};
use crate::encoding::Encoder;
use crate::privacy::one_use_lifetime::{OneUse, lifetime};
use crate::privacy::{Lifetime, Mechanism, NoCertificate, RoundScales, RoundTerms, StepEffect};
use crate::{Memory, Round, Schedule};

/// PDOP and its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pdop {
    /// Steps are multiplied by this in every round.
    pub step_ratio: f64,
    /// Noise scales are multiplied by this in every round.
    pub noise_ratio: f64,
}

pub(super) const ENTRY: Entry = Entry {
    name: DESCRIPTION.name,
    keys: &[
        Key { path: STEP_RATIO, is_set: |raw| raw.schedule.step_ratio.is_some() },
        Key { path: NOISE_RATIO, is_set: |raw| raw.noise.ratio.is_some() },
    ],
    read,
};

const STEP_RATIO: &str = "schedule.step_ratio";
const NOISE_RATIO: &str = "noise.ratio";

const DESCRIPTION: MethodDescription =
    MethodDescription::to_compare("pdop", "PDOP: as DOLA, geometric", Gradients::NewestAtMixed);

fn read(raw: &RawAgreement, faults: &mut Faults) -> Method {
    Method::Pdop(Pdop {
        step_ratio: faults.number(STEP_RATIO, raw.schedule.step_ratio, Range::Share),
        noise_ratio: faults.number(NOISE_RATIO, raw.noise.ratio, Range::Share),
    })
}

pub(super) fn update<M: Memory>(dimension: usize) -> Box<dyn Update<M>> {
    Box::new(NewestBatchUpdate::new(dimension, DESCRIPTION.gradients))
}

impl Account for Pdop {
    fn describe(&self) -> MethodDescription {
        DESCRIPTION
    }

    fn write(&self, raw: &mut RawAgreement) {
        raw.schedule.step_ratio = Some(self.step_ratio);
        raw.noise.ratio = Some(self.noise_ratio);
    }

    fn encode(&self, encoder: &mut Encoder) {
        let &Pdop { step_ratio, noise_ratio } = self;
        encoder.number(step_ratio);
        encoder.number(noise_ratio);
    }

    /// A learner continues from its own noisy copy, whose noise shrinks too.
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
        StepEffect::along_gradient(scales.step, facts, scales)
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
