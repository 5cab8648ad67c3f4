//! What DSGD, DOLA and PDOP share. A learner sends perturbed parameters y = x + ζ and continues
//! from its own perturbed copy, and the step uses the newest batch only.
//!
//! b = y_i + γ_t Σ_j w_ij (y_j − y_i), then x ← P[b − λ_t ∇l(x, newest batch)] for DSGD and
//! x ← P[b − λ_t ∇l(b, newest batch)] for DOLA and PDOP.

use super::{Attendance, State, Update};
use crate::learner::ReleaseError;
use crate::memory::Memory;
use crate::noise::Entropy;
use crate::persist::Fields;
use crate::privacy::{Mechanism, RoundScales, StepEffect};
use crate::release::{LatePull, Release, ReleaseView};

/// One of the three at work in one learner.
pub(super) struct NewestBatchUpdate {
    /// What was sent in this round.
    sent: Vec<f64>,
    /// Scratch, kept to avoid an allocation in every round.
    change: Vec<f64>,
    /// Whether gradients are taken at the learner's own parameters instead of the mixed ones.
    at_own: bool,
}

impl NewestBatchUpdate {
    pub(super) fn at_own_parameters(dimension: usize) -> NewestBatchUpdate {
        NewestBatchUpdate { sent: vec![0.0; dimension], change: vec![0.0; dimension], at_own: true }
    }

    pub(super) fn at_mixed_parameters(dimension: usize) -> NewestBatchUpdate {
        NewestBatchUpdate { at_own: false, ..NewestBatchUpdate::at_own_parameters(dimension) }
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
        let (round, lambda) = (state.round(), state.scales().step);
        let own = std::mem::replace(&mut state.theta, self.sent.clone());
        self.change.fill(0.0);
        let attendance = state.add_pulls(heard, &mut self.change);
        state.add_to_theta(&self.change);
        // DIFFERENCE: DOLA and PDOP take gradients at the mixed point itself. Gradients at a point
        // outside Θ could exceed their bound, so the point is projected first. DSGD does the same,
        // so that all three are alike.
        state.domain.project(&mut state.theta);
        let point = if self.at_own { own } else { state.theta.clone() };
        state.memory.gradient(round, &point, &mut self.change);
        for change in &mut self.change {
            *change *= -lambda;
        }
        state.add_to_theta(&self.change);
        state.finish_step(lambda);
        attendance
    }

    fn visit(&mut self, fields: &mut dyn Fields, _released: bool) {
        fields.numbers(&mut self.sent);
    }
}

/// The effect of a step along a gradient at a public point: nothing is carried over.
pub(super) fn one_step(facts: &Mechanism, scales: &RoundScales) -> StepEffect {
    let step = scales.step;
    StepEffect {
        contraction: 0.0,
        idle: 0.0,
        // A step of zero moves nothing, even if the bound on gradients is infinite.
        reach: if step > 0.0 { step * facts.constants.gradient_spread } else { 0.0 },
        approximation: 2.0 * step * scales.memory_error,
        drive_is_whole: false,
    }
}
