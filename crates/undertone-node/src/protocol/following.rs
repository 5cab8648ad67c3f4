//! Following neighbours that are ahead, and how far a learner may follow them (ADR 0017).
//!
//! Rounds cannot go back, so a learner that is behind follows its neighbours. It skips at once to a round that most
//! neighbours have reached. It follows a single neighbour no faster than a network can run.

use super::KEPT_ROUNDS;
use super::action::Action;
use super::neighbour::{Neighbour, Presence};
use super::node::Node;
use std::time::Duration;
use undertone::{LearnerId, Round};

/// How many rounds a second one neighbour alone may move a learner, unless its owner says otherwise.
///
/// Ten times the pace of a wide-area network (`docs/scale.md`). At this pace a neighbour needs 2.7 years to take a
/// learner to [`Round::LIMIT`](undertone::Round::LIMIT).
pub const FOLLOW_RATE: u32 = 50;

/// What a learner has done since it was started, and how fast one neighbour alone may move it.
pub(super) struct Following {
    rate: u32,
    /// Rounds skipped.
    skipped: u64,
    /// Rounds ended.
    ended: u64,
}

/// When a neighbour was first too far ahead to be heard, and what the learner had done by then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    at: Duration,
    skipped: u64,
    ended: u64,
}

impl Following {
    pub(super) fn new(rate: u32) -> Following {
        Following { rate, skipped: 0, ended: 0 }
    }

    /// A mark for a neighbour that is too far ahead from now on.
    pub(super) fn mark(&self, now: Duration) -> Mark {
        Mark { at: now, skipped: self.skipped, ended: self.ended }
    }

    /// Notes that a round has ended, and how many were skipped then.
    pub(super) fn note_end(&mut self, skipped: u64) {
        self.ended += 1;
        self.skipped += skipped;
    }

    /// How many rounds a neighbour alone may move the learner at the end of this round.
    ///
    /// # Guarantee
    /// Since the mark, all rounds skipped, these included, are at most `rate` for each second and [`KEPT_ROUNDS`] for
    /// each round ended, this one included.
    pub(super) fn allowance(&self, mark: &Mark, now: Duration) -> u64 {
        let seconds = now.saturating_sub(mark.at);
        let by_time = u128::from(self.rate) * seconds.as_nanos() / 1_000_000_000;
        let by_time = u64::try_from(by_time).unwrap_or(u64::MAX);
        let by_rounds = KEPT_ROUNDS * (self.ended - mark.ended + 1);
        by_time.saturating_add(by_rounds).saturating_sub(self.skipped - mark.skipped)
    }
}

impl<E, S> Node<E, S> {
    /// The round to skip to, if neighbours that are present are too far ahead to be heard in this one.
    ///
    /// A learner that has timed out follows a neighbour that is one round ahead. Others follow only a neighbour whose
    /// release of this round may be gone.
    pub(super) fn round_to_follow(&self, timed_out_waiting: bool, now: Duration) -> Option<Round> {
        let least = self.learner.round().0 + if timed_out_waiting { 1 } else { KEPT_ROUNDS };
        let is_ahead = |one: &&Neighbour| {
            let newest = one.newest.is_some_and(|newest| newest.0 >= least);
            one.presence == Presence::Present && newest
        };
        let ahead = self.neighbours.iter().filter(is_ahead);
        let rounds = ahead.filter_map(|one| self.reachable_round(one, now));
        rounds.max().filter(|round| round.0 >= least)
    }

    /// The round to which a neighbour that is ahead can be followed: its own, if one neighbour alone may move the learner
    /// that far; else the round that most neighbours have reached.
    fn reachable_round(&self, ahead: &Neighbour, now: Duration) -> Option<Round> {
        let newest = ahead.newest?;
        let distance = newest.0.saturating_sub(self.learner.round().0);
        let is_far = |mark: &Mark| distance > self.following.allowance(mark, now);
        if ahead.ahead.as_ref().is_some_and(is_far) {
            self.neighbours.supported_round().map(|supported| supported.min(newest))
        } else {
            Some(newest)
        }
    }

    /// Marks a neighbour whose release is of a round too far ahead to be heard, and counts it if it is not followed.
    pub(super) fn note_claim(&mut self, from: LearnerId, claimed: Round, now: Duration) {
        if claimed.0 < self.learner.round().0 + KEPT_ROUNDS {
            return;
        }
        let mark = self.following.mark(now);
        if let Some(one) = self.neighbours.get_mut(from) {
            one.ahead.get_or_insert(mark);
        }
        let one = self.neighbours.get(from);
        if one.is_some_and(|one| self.is_not_followed(one, now)) {
            self.counters.not_followed += 1;
        }
    }

    fn is_not_followed(&self, one: &Neighbour, now: Duration) -> bool {
        one.ahead.is_some() && self.reachable_round(one, now) < one.newest
    }

    /// Reports neighbours that are not followed, each once, after a deadline's time in which others could say the same.
    pub(super) fn report_not_followed(&mut self, now: Duration, actions: &mut Vec<Action>) {
        let deadline = self.round.deadline();
        let is_due = |one: &&Neighbour| {
            let waited = one.ahead.as_ref().is_some_and(|mark| now >= mark.at + deadline);
            waited && !one.reported && one.may_be_heard() && self.is_not_followed(one, now)
        };
        let due: Vec<LearnerId> = self.neighbours.iter().filter(is_due).map(|one| one.id).collect();
        for id in due {
            let Some(one) = self.neighbours.get_mut(id) else { continue };
            one.reported = true;
            actions
                .extend(one.newest.map(|claimed| Action::NotFollowed { neighbour: id, claimed }));
        }
    }
}
