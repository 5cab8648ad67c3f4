//! What every method works on: a learner's parameters, history, neighbours and account.

use super::Attendance;
use crate::domain::{Domain, soft_threshold};
use crate::learner::ReleaseError;
use crate::memory::Memory;
use crate::noise::{Entropy, perturb};
use crate::privacy::{Accountant, Mechanism, RoundScales};
use crate::release::{LatePull, Release, ReleaseView};
use crate::{LearnerId, Round};

/// A learner without its method.
pub(crate) struct State<M> {
    pub(crate) id: LearnerId,
    /// In id order.
    pub(crate) neighbours: Vec<(LearnerId, f64)>,
    pub(crate) domain: Domain,
    pub(crate) lasso: f64,
    pub(crate) accountant: Accountant,
    pub(crate) memory: M,
    /// Private: it leaves only through `release`, with noise. (For a shielded learner it is
    /// public.)
    pub(crate) theta: Vec<f64>,
}

/// A release of a neighbour, with the weight of the edge.
pub(crate) struct Received<'a> {
    pub(crate) weight: f64,
    pub(crate) values: &'a [f64],
}

impl<M: Memory> State<M> {
    pub(crate) fn round(&self) -> Round {
        self.accountant.round()
    }

    pub(crate) fn mechanism(&self) -> &Mechanism {
        self.accountant.mechanism()
    }

    /// The schedules in this round.
    pub(crate) fn scales(&self) -> &RoundScales {
        self.accountant.scales()
    }

    /// Draws y_t = θ_t + ζ_t.
    pub(crate) fn release_parameters(
        &self,
        entropy: &mut dyn Entropy,
    ) -> Result<Release, ReleaseError> {
        let round = self.round();
        let perturbation = self.mechanism().perturbation_of_scale(self.scales().noise);
        let mut values = vec![0.0; self.theta.len()].into_boxed_slice();
        let key = entropy.key(self.id, round)?;
        let grid = perturb(&perturbation, &self.theta, key, &mut values)?;
        Ok(Release::new(self.id, round, grid, values))
    }

    /// The neighbours' releases in order of id: sums must not depend on the order of arrival.
    pub(crate) fn received<'a>(
        &'a self,
        heard: &'a [ReleaseView<'a>],
    ) -> impl Iterator<Item = Received<'a>> {
        self.neighbours.iter().filter_map(|&(neighbour, weight)| {
            let release = heard.iter().find(|release| release.learner == neighbour)?;
            assert_eq!(release.round, self.round(), "releases of this round");
            assert_eq!(release.values.len(), self.theta.len(), "releases of this dimension");
            Some(Received { weight, values: release.values })
        })
    }

    /// Adds γ_t w (y − θ_t) to `change`. Values beyond the message bound are clamped (ADR 0006).
    pub(crate) fn add_pull(&self, received: &Received<'_>, change: &mut [f64]) {
        let scales = self.scales();
        let bound = self.mechanism().message_bound_at(scales);
        let strength = scales.coupling * received.weight;
        for ((slot, &theirs), &own) in change.iter_mut().zip(received.values).zip(&self.theta) {
            *slot += strength * (theirs.clamp(-bound, bound) - own);
        }
    }

    /// Adds γ_t Σ_j w_ij (y_j − θ_t) to `change`. Returns who was heard.
    pub(crate) fn add_pulls(&self, heard: &[ReleaseView<'_>], change: &mut [f64]) -> Attendance {
        let mut attendance = Attendance::default();
        for received in self.received(heard) {
            self.add_pull(&received, change);
            attendance.weight += received.weight;
            attendance.count += 1;
        }
        attendance
    }

    /// Adds γ_s Σ w (theirs − own) of earlier rounds s to `change`. Each value is clamped to what a
    /// release heard on time could add.
    pub(crate) fn add_late_pulls(&self, late: &[LatePull<'_>], change: &mut [f64]) {
        for (place, pull) in late.iter().enumerate() {
            let LatePull { own, theirs } = pull;
            assert!(own.learner == self.id && own.round == theirs.round, "two ends of an edge");
            assert!(own.round < self.round(), "of an earlier round");
            let once = late[..place].iter().all(|other| other.theirs.learner != theirs.learner);
            assert!(once, "one late pull of each neighbour");
            let weight = self.neighbours.iter().find(|&&(id, _)| id == theirs.learner);
            let weight = weight.map(|&(_, weight)| weight).expect("a pull of a neighbour");
            let mechanism = self.mechanism();
            let strength = mechanism.schedule.coupling.at(own.round) * weight;
            let bound = mechanism.message_bound(own.round);
            let limit = mechanism.schedule.coupling.at(self.round())
                * weight
                * mechanism.message_bound(self.round());
            let pairs = own.values.iter().zip(theirs.values);
            for (slot, (own, theirs)) in change.iter_mut().zip(pairs) {
                let apart = theirs.clamp(-bound, bound) - own.clamp(-bound, bound);
                *slot += (strength * apart).clamp(-limit, limit);
            }
        }
    }

    /// Writes −λ_t d_t(θ_t) into `step`, d_t the gradient that the memory gives.
    pub(crate) fn gradient_step(&mut self, step: &mut [f64]) {
        let (round, lambda) = (self.round(), self.scales().step);
        self.memory.gradient(round, &self.theta, step);
        for value in step {
            *value *= -lambda;
        }
    }

    /// Adds a change to θ.
    pub(crate) fn add_to_theta(&mut self, change: &[f64]) {
        for (value, change) in self.theta.iter_mut().zip(change) {
            *value += change;
        }
    }

    /// Adds a change that holds a step of this round to θ, then applies the lasso and projects onto Θ.
    pub(crate) fn finish_step(&mut self, change: &[f64]) {
        self.add_to_theta(change);
        self.confine(self.scales().step);
    }

    /// The proximal step of the lasso after a step of length λ, then the projection onto Θ.
    pub(crate) fn confine(&mut self, lambda: f64) {
        if self.lasso > 0.0 {
            soft_threshold(lambda * self.lasso, &mut self.theta);
        }
        self.domain.project(&mut self.theta);
    }
}
