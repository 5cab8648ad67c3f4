//! What a node asks its driver to do.

use crate::wire::OwnRelease;
use undertone::privacy::Refusal;
use undertone::{LearnerId, Round, RoundReport, Score};

/// An action for the driver.
#[derive(Clone, Debug)]
pub enum Action {
    /// Send this to all neighbours.
    Publish(OwnRelease),
    /// Request a neighbour's release of a round.
    Request {
        /// The neighbour.
        neighbour: LearnerId,
        /// The round.
        round: Round,
    },
    /// Report only: a round has ended.
    Ended(RoundEnd),
    /// Report only: a neighbour sent two different releases of one round and is ignored from now on.
    CutOff(LearnerId),
    /// Report only, once for each neighbour: it says that it is far ahead. No other neighbour confirms it, so it is not
    /// followed yet.
    NotFollowed {
        /// The neighbour.
        neighbour: LearnerId,
        /// The round that it says it is in.
        claimed: Round,
    },
    /// Send a farewell: the budget is spent, and nothing more will be released.
    Exhausted(Refusal),
}

/// A round that has ended.
#[derive(Clone, Debug)]
pub struct RoundEnd {
    /// What is public about it.
    pub report: RoundReport,
    /// How well the records of the round were predicted. Private.
    pub score: Score,
    /// The neighbours whose releases were used.
    pub heard: Vec<LearnerId>,
    /// The root mean square distance from the learner to the releases it used, noise included. Private.
    pub distance: Option<f64>,
    /// Releases of earlier rounds that were used now, because the neighbour had used this learner's release.
    pub late: Vec<(LearnerId, Round)>,
}
