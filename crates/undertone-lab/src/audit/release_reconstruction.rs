//! Checks that a shielded learner's releases follow from perturbed gradients and from what it
//! heard.
//!
//! The other checks of its noise examine the perturbed gradient; this one connects the gradient to
//! the release.

use super::audited_learner::Facts;
use undertone::{Release, Round};

/// The point of a shielded learner, computed from public values only.
pub(super) struct PublicPoint<'a> {
    facts: &'a Facts,
    point: Vec<f64>,
    /// The last step, for momentum: from the mixed point to what was sent.
    step: Vec<f64>,
    /// The largest distance of a sent value from the computed one.
    pub(super) worst: f64,
}

impl<'a> PublicPoint<'a> {
    pub(super) fn new(facts: &'a Facts) -> PublicPoint<'a> {
        PublicPoint { facts, point: Vec::new(), step: Vec::new(), worst: 0.0 }
    }

    /// How far a sent value may be from the computed one: values are sent on a grid of 2⁻³² of the
    /// radius.
    pub(super) fn tolerance(&self) -> f64 {
        self.facts.mechanism.radius * (-30f64).exp2()
    }

    /// Takes the step along a perturbed gradient and compares. The starting point is taken from the
    /// first release.
    pub(super) fn follow(&mut self, round: Round, perturbed: &[f64], sent: &[f64]) {
        if !perturbed.is_empty() && round > Round::ZERO {
            let lambda = self.facts.mechanism.step(Round(round.0 - 1));
            let lasso = lambda * self.facts.model.spec().lasso;
            let momentum = self.facts.mechanism.method.describe().momentum.unwrap_or(0.0);
            let mixed = self.point.clone();
            self.step.resize(mixed.len(), 0.0);
            for ((x, y), step) in self.point.iter_mut().zip(perturbed).zip(&self.step) {
                *x += momentum * step - lambda * y;
                *x = (x.abs() - lasso).max(0.0).copysign(*x);
            }
            self.facts.domain.project(&mut self.point);
            let moved = sent.iter().zip(&mixed);
            self.step.iter_mut().zip(moved).for_each(|(step, (y, x))| *step = y - x);
        }
        if round > Round::ZERO {
            for (x, y) in self.point.iter().zip(sent) {
                let off = (x - y).abs();
                self.worst = self.worst.max(if off.is_nan() { f64::INFINITY } else { off });
            }
        }
        self.point.clear();
        self.point.extend_from_slice(sent);
    }

    /// Moves towards the releases heard.
    pub(super) fn mix(&mut self, round: Round, heard: &[Release]) {
        let mechanism = &self.facts.mechanism;
        let (gamma, bound) =
            (mechanism.schedule.coupling.at(round), mechanism.message_bound(round));
        let mut pull = vec![0.0; self.point.len()];
        for &(neighbour, weight) in &self.facts.neighbours {
            let Some(release) = heard.iter().find(|release| release.learner() == neighbour) else {
                continue;
            };
            for ((slot, x), y) in pull.iter_mut().zip(&self.point).zip(release.values()) {
                *slot += gamma * weight * (y.clamp(-bound, bound) - x);
            }
        }
        self.point.iter_mut().zip(pull).for_each(|(x, pull)| *x += pull);
        self.facts.domain.project(&mut self.point);
    }
}
