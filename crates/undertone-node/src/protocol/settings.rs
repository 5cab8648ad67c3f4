//! The owner's settings of the protocol.

use std::time::Duration;
use undertone::Round;

/// How long a learner waits, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a round waits for neighbours that are present.
    pub deadline: Duration,
    /// A release that has not arrived after this time is requested, and again after the same time.
    pub request_after: Duration,
    /// How long a round waits for its records before it starts with those it has.
    pub records_wait: Duration,
    /// A round does not end before this many neighbours were heard.
    pub heard_min: usize,
    /// How many rounds a second one neighbour alone may move this learner, besides [`KEPT_ROUNDS`](super::KEPT_ROUNDS)
    /// for each round of its own. [`FOLLOW_RATE`](super::FOLLOW_RATE) unless the network is faster.
    pub follow_rate: u32,
    /// The first round that is not run.
    pub end: Round,
    /// How many records may wait for a round.
    pub inbox_max: usize,
}

impl Settings {
    /// The settings of a node that is read and never runs: no waiting, no last round, no room for records.
    pub(super) const OF_A_STOPPED_NODE: Settings = Settings {
        deadline: Duration::ZERO,
        request_after: Duration::ZERO,
        records_wait: Duration::ZERO,
        heard_min: 1,
        follow_rate: 0,
        end: Round::LIMIT,
        inbox_max: 0,
    };
}
