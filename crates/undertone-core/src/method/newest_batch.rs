//! What DSGD, DOLA and PDOP share. A learner sends perturbed parameters y = x + ζ and continues
//! from its own perturbed copy, and the step uses the newest batch only.
//!
//! b = y_i + γ_t Σ_j w_ij (y_j − y_i), then x ← P[b − λ_t ∇l(x, newest batch)] for DSGD and
//! x ← P[b − λ_t ∇l(b, newest batch)] for DOLA and PDOP.

use super::{Attendance, Gradients, State, Update};
use crate::learner::ReleaseError;
use crate::memory::Memory;
use crate::noise::Entropy;
use crate::persist::Fields;
use crate::release::{LatePull, Release, ReleaseView};

/// The part of one learner that these three methods share.
pub(super) struct NewestBatchUpdate {
    /// What was sent in this round.
    sent: Vec<f64>,
    /// −λ_t ∇l, and what the neighbours pull by. Kept only to avoid allocations in every round.
    step: Vec<f64>,
    pulls: Vec<f64>,
    /// Where gradients are taken.
    gradients: Gradients,
}

impl NewestBatchUpdate {
    pub(super) fn new(dimension: usize, gradients: Gradients) -> NewestBatchUpdate {
        let zeros = vec![0.0; dimension];
        NewestBatchUpdate { sent: zeros.clone(), step: zeros.clone(), pulls: zeros, gradients }
    }
}

impl<M: Memory> Update<M> for NewestBatchUpdate {
    fn release(
        &mut self,
        state: &mut State<M>,
        entropy: &mut dyn Entropy,
    ) -> Result<Release, ReleaseError> {
        let release = state.release_parameters(entropy)?;
        self.sent.copy_from_slice(release.values());
        Ok(release)
    }

    fn restore(&mut self, _state: &mut State<M>, drawn: ReleaseView<'_>) {
        self.sent.copy_from_slice(drawn.values);
    }

    fn absorb(
        &mut self,
        state: &mut State<M>,
        heard: &[ReleaseView<'_>],
        late: &[LatePull<'_>],
    ) -> Attendance {
        assert!(late.is_empty(), "methods to compare with know no late pulls");
        let at_own = match self.gradients {
            Gradients::NewestAtOwn => true,
            Gradients::NewestAtMixed | Gradients::History => false,
        };
        if at_own {
            state.gradient_step(&mut self.step);
        }
        state.theta.copy_from_slice(&self.sent);
        self.pulls.fill(0.0);
        let attendance = state.add_pulls(heard, &mut self.pulls);
        state.add_to_theta(&self.pulls);
        // DIFFERENCE: DOLA and PDOP take gradients at the mixed point itself. A point outside Θ would have
        // gradients beyond their bound, so it is projected first; for all three, to keep them alike.
        state.domain.project(&mut state.theta);
        if !at_own {
            state.gradient_step(&mut self.step);
        }
        state.finish_step(&self.step);
        attendance
    }

    fn visit(&mut self, fields: &mut dyn Fields, _released: bool) {
        fields.numbers(&mut self.sent);
    }
}
