//! What one step does to the distance of two learners whose histories differ in one unit.

use super::cost::larger;
use super::mechanism::{Mechanism, RoundScales, RoundTerms};
use crate::RecordWeights;

/// What one step does to ‖θ − θ'‖: times `contraction`, plus the changed record's weight times
/// `reach`, plus `approximation`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepEffect {
    /// c_t.
    pub(crate) contraction: f64,
    /// |1 − a_t|: the contraction if no record has any weight, so that there is no gradient.
    pub(crate) idle: f64,
    /// λ_t C.
    pub(crate) reach: f64,
    /// 2λ_t e_t.
    pub(crate) approximation: f64,
    /// Whether a record moves the step by all of `reach`, whatever its weight, as in Theorem 5(i).
    pub(crate) drive_is_whole: bool,
}

impl StepEffect {
    /// Nothing is released that depends on a record.
    pub(crate) const NONE: StepEffect = StepEffect {
        contraction: 0.0,
        idle: 0.0,
        reach: 0.0,
        approximation: 0.0,
        drive_is_whole: false,
    };

    /// Nothing is known: every cost is infinite.
    pub(crate) const UNKNOWN: StepEffect = StepEffect {
        contraction: f64::INFINITY,
        idle: f64::INFINITY,
        reach: f64::INFINITY,
        approximation: f64::INFINITY,
        drive_is_whole: true,
    };

    /// The effect of a step of this length along a gradient, apart from what it carries over: all there is at a
    /// public point.
    pub(crate) fn along_gradient(
        length: f64,
        facts: &Mechanism,
        scales: &RoundScales,
    ) -> StepEffect {
        StepEffect {
            // No step at all moves nothing, however far a gradient may reach.
            reach: if length > 0.0 { length * facts.constants.gradient_spread } else { 0.0 },
            approximation: 2.0 * length * scales.memory_error * facts.hops(),
            ..StepEffect::NONE
        }
    }

    /// The effect of a step in a memory that forgets.
    ///
    /// Without any record there is no gradient, not even the ridge's, and only the coupling
    /// contracts.
    pub(super) fn of(
        mechanism: &Mechanism,
        terms: &RoundTerms,
        weights: &RecordWeights,
    ) -> StepEffect {
        let mut step = mechanism.step_effect(terms);
        if weights.is_empty() {
            step.contraction = larger(step.contraction, step.idle);
        }
        step
    }

    /// How far a record with this weight moves the step.
    pub(super) fn drive(&self, weight: f64) -> f64 {
        if !self.drive_is_whole {
            return self.reach * weight;
        }
        if weight > 0.0 { self.reach } else { 0.0 }
    }

    /// Φ_{t+1}, when the changed record moves the step by at most `drive`.
    pub(crate) fn next(&self, sensitivity: f64, drive: f64) -> f64 {
        // Without a known L the contraction is infinite, but a sensitivity of 0 stays 0.
        let carried = if sensitivity <= 0.0 { 0.0 } else { self.contraction * sensitivity };
        let next = carried + drive + self.approximation;
        // Zero needs no rounding up.
        if next > 0.0 { next.next_up() } else { next }
    }
}
