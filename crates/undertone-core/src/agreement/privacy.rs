//! Checking `[privacy]`, apart from the bound, which Algorithm 1 reads.

use super::{Faults, Range, RawPrivacy};
use crate::privacy::Cap;

/// Each learner's cap, and δ.
pub(super) fn privacy(
    raw: &RawPrivacy,
    learners: usize,
    faults: &mut Faults,
) -> (Vec<Option<Cap>>, f64) {
    let delta = faults.number("privacy.delta", raw.delta, Range::Probability);
    let caps = match (&raw.epsilon, &raw.pure_epsilon) {
        (None, None) => vec![None; learners],
        (Some(epsilon), None) => faults
            .each("privacy.epsilon", Some(epsilon), learners, Range::Positive)
            .into_iter()
            .map(|epsilon| Some(Cap::Approximate { epsilon, delta }))
            .collect(),
        (None, Some(epsilon)) => faults
            .each("privacy.pure_epsilon", Some(epsilon), learners, Range::Positive)
            .into_iter()
            .map(|epsilon| Some(Cap::Pure { epsilon }))
            .collect(),
        (Some(_), Some(_)) => {
            faults.push("privacy.epsilon", "", "give either epsilon or pure_epsilon, not both");
            vec![None; learners]
        }
    };
    (caps, delta)
}
