//! DSGD, for comparison. A learner mixes the perturbed parameters of all, its own included. The
//! step uses the gradient of the newest batch only, at the unperturbed parameters.

use super::entry::{Entry, MethodDescription};
use super::newest_batch::NewestBatchUpdate;
use super::{Account, Gradients, Method, Update};
use crate::Memory;
use crate::encoding::Encoder;
use crate::privacy::one_use_lifetime::{OneUse, lifetime};
use crate::privacy::{Lifetime, Mechanism, NoCertificate, RoundScales, RoundTerms, StepEffect};

/// Distributed stochastic gradient descent. It has no settings.
pub(super) struct Dsgd;

pub(super) const ENTRY: Entry =
    Entry { name: DESCRIPTION.name, keys: &[], read: |_, _| Method::Dsgd };

const DESCRIPTION: MethodDescription = MethodDescription::to_compare(
    "dsgd",
    "DSGD: newest batch at own parameters",
    Gradients::NewestAtOwn,
);

pub(super) fn update<M: Memory>(dimension: usize) -> Box<dyn Update<M>> {
    Box::new(NewestBatchUpdate::new(dimension, DESCRIPTION.gradients))
}

impl Account for Dsgd {
    fn describe(&self) -> MethodDescription {
        DESCRIPTION
    }

    fn encode(&self, _encoder: &mut Encoder) {
        let Dsgd = self;
    }

    /// Own parameters enter through the gradient only: what is mixed was sent.
    fn step_effect(
        &self,
        facts: &Mechanism,
        _terms: &RoundTerms,
        scales: &RoundScales,
    ) -> StepEffect {
        StepEffect {
            contraction: scales.step * facts.constants.smoothness,
            ..StepEffect::along_gradient(scales.step, facts, scales)
        }
    }

    fn lifetime(&self, facts: &Mechanism) -> Result<Lifetime, NoCertificate> {
        lifetime(facts, &OneUse { step_ratio: 1.0, noise_ratio: 1.0, carries_over: true })
    }
}
