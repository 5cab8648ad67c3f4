//! Small types that keep two numbers of different meaning from being swapped.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The number of a learner in its network, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LearnerId(pub u32);

impl fmt::Display for LearnerId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

/// A round t = 0, 1, 2, …
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Round(pub u64);

impl Round {
    /// The first round. Its release does not depend on data.
    pub const ZERO: Round = Round(0);

    /// How many rounds one learner may ever take part in: 2³².
    ///
    /// One round a second for 136 years. The charge for machine arithmetic does not shrink with t;
    /// this limit keeps it finite in a lifetime certificate (`docs/adr/0006-f64-state.md`).
    pub const LIMIT: Round = Round(1 << 32);

    /// The round after this one.
    #[must_use]
    pub fn next(self) -> Round {
        Round(self.0 + 1)
    }
}

impl fmt::Display for Round {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}
