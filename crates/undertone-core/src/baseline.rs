//! Methods to compare with: DSGD, DOLA and PDOP.
//!
//! All three send perturbed parameters y = x + ζ and go on from what was sent, their own included:
//! b = y_i + γ_t Σ_j w_ij (y_j − y_i), then x ← P[b − λ_t ∇l(x, newest batch)] for DSGD and
//! x ← P[b − λ_t ∇l(b, newest batch)] for DOLA and PDOP.

use crate::learner::Learner;
use crate::memory::Memory;
use crate::privacy::Rule;
use crate::release::Heard;

impl<M: Memory> Learner<M> {
    /// Gives the weight and number of neighbours heard.
    pub(crate) fn mix_what_was_sent_and_step(&mut self, heard: &[Heard<'_>]) -> (f64, usize) {
        let own = std::mem::replace(&mut self.theta, self.sent.clone());
        self.update.fill(0.0);
        let (weight_heard, heard_count) = self.add_pulls(heard);
        for (value, pull) in self.theta.iter_mut().zip(&self.update) {
            *value += pull;
        }
        // DIFFERENCE: DOLA and PDOP take gradients at the mixed point itself. A point outside Θ would have
        // gradients beyond their bound, so it is projected first; for all three, to keep them alike.
        self.project();
        let at_own = self.accountant.mechanism().rule == Rule::Dsgd;
        let point = if at_own { own } else { self.theta.clone() };
        let lambda = self.begin_step_at(&point);
        self.apply_update(lambda);
        (weight_heard, heard_count)
    }
}
