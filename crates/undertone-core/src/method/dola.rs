//! DOLA (Li et al., 2018), for comparison. It is DSGD with gradients taken at the mixed point,
//! which is public.

use super::entry::{Entry, MethodDescription};
use super::newest_batch::NewestBatchUpdate;
use super::{Account, Gradients, Method, Update};
use crate::Memory;
use crate::encoding::Encoder;
use crate::privacy::one_use_lifetime::{OneUse, lifetime};
use crate::privacy::{Lifetime, Mechanism, NoCertificate, RoundScales, RoundTerms, StepEffect};

/// DOLA. It has no settings.
pub(super) struct Dola;

pub(super) const ENTRY: Entry =
    Entry { name: DESCRIPTION.name, keys: &[], read: |_, _| Method::Dola };

const DESCRIPTION: MethodDescription = MethodDescription::to_compare(
    "dola",
    "DOLA: newest batch at mixed parameters",
    Gradients::NewestAtMixed,
);

pub(super) fn update<M: Memory>(dimension: usize) -> Box<dyn Update<M>> {
    Box::new(NewestBatchUpdate::new(dimension, DESCRIPTION.gradients))
}

impl Account for Dola {
    fn describe(&self) -> MethodDescription {
        DESCRIPTION
    }

    fn encode(&self, _encoder: &mut Encoder) {
        let Dola = self;
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

    fn lifetime(&self, facts: &Mechanism) -> Result<Lifetime, NoCertificate> {
        lifetime(facts, &OneUse { step_ratio: 1.0, noise_ratio: 1.0, carries_over: false })
    }
}
