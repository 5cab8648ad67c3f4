//! The shielded learner: noise on the history gradient instead of the parameters.
//!
//! x_{t+1} = P[x_t + γ_t Σ_j w_ij (x_j − x_t) − λ_t (∇_t(x_t) + ν_t)], with ν_t drawn when round t + 1
//! releases x_{t+1}. Everything sent follows from perturbed gradients taken at points that follow
//! from them too, so x is public, and a record pays only for its share C / h_t of each gradient: no
//! convexity, no smoothness and no contraction is needed (ADR 0012).

use crate::learner::{Learner, ReleaseError};
use crate::memory::Memory;
use crate::noise::{Entropy, perturb};
use crate::release::{Heard, LatePull, Release};
use crate::{Forgetting, Round};

impl<M: Memory> Learner<M> {
    /// Ends the step that the last `absorb` began, with noise, and gives the new x.
    pub(crate) fn step_along_perturbed_gradient(
        &mut self,
        entropy: &mut impl Entropy,
    ) -> Result<Release, ReleaseError> {
        let round = self.round();
        let mechanism = *self.accountant.mechanism();
        if mechanism.gradient_is_released(round) {
            let lambda = mechanism.step(Round(round.0 - 1));
            let key = entropy.key(self.id(), round)?;
            let mut noisy = vec![0.0; self.update.len()];
            let perturbation = mechanism.perturbation_of_scale(self.accountant.scales().noise);
            perturb(&perturbation, &self.update, key, &mut noisy)?;
            self.update = noisy;
            self.update_is_perturbed = true;
            for (value, change) in self.theta.iter_mut().zip(&self.update) {
                *value -= lambda * change;
            }
            self.settle(lambda);
        }
        let grid = mechanism.release_grid(round)?;
        for value in &mut self.theta {
            // Towards zero, so that x stays within the radius; and never −0, which the wire does not know.
            *value = (*value / grid.step()).trunc() * grid.step() + 0.0;
        }
        Ok(Release::new(self.id(), round, grid, self.theta.as_slice().into()))
    }

    /// Moves x towards the neighbours and takes the gradient at x_t, to be perturbed in the next round.
    pub(crate) fn mix_and_take_gradient(
        &mut self,
        heard: &[Heard<'_>],
        late: &[LatePull<'_>],
    ) -> (f64, usize) {
        let round = self.round();
        let before = self.theta.clone();
        self.update.fill(0.0);
        let (weight_heard, heard_count) = self.add_pulls(heard);
        self.add_late_pulls(late);
        self.apply_update(0.0);
        // A memory that forgets learns in which round its records arrived by being asked in every round,
        // and the account relies on it.
        let forgets = self.memory.forgetting() != Forgetting::Never;
        if forgets || self.accountant.mechanism().gradient_is_released(round.next()) {
            self.memory.gradient(round, &before, &mut self.update);
        }
        (weight_heard, heard_count)
    }
}
