//! What a learner knows about one neighbour.

use super::KEPT_ROUNDS;
use super::following::Mark;
use super::round_set::RoundSet;
use crate::wire::{EncodedRelease, ReceivedRelease};
use serde::Serialize;
use std::collections::BTreeMap;
use undertone::{LearnerId, Round};

/// Whether a neighbour is waited for, and why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// It is waited for.
    Present,
    /// It missed a deadline. It is not waited for until it is heard again.
    Away,
    /// It sent a farewell: it will not come back.
    Left,
    /// It sent two different releases of one round. It is ignored.
    CutOff,
}

/// One neighbour.
pub(super) struct Neighbour {
    pub(super) id: LearnerId,
    /// This learner's index among the neighbour's own neighbours.
    own_index: usize,
    pub(super) presence: Presence,
    /// The latest round it was heard in.
    pub(super) newest: Option<Round>,
    /// Set while it says that it is too far ahead to be heard.
    pub(super) ahead: Option<Mark>,
    /// Whether it was reported that it is not followed.
    pub(super) reported: bool,
    /// Releases that are not used yet: of this round and later ones, and of rounds that ended without them.
    pub(super) unused: BTreeMap<Round, ReceivedRelease>,
    /// The bytes of all recent releases, to detect a second, different release of a round.
    seen: BTreeMap<Round, EncodedRelease>,
    /// The rounds whose release was used here, in time or late.
    pub(super) used: RoundSet,
    /// The rounds in which it reports that it used this learner's release.
    used_by_neighbour: RoundSet,
}

/// What a release turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// The first of its round.
    New,
    /// The same bytes as before.
    Duplicate,
    /// Other bytes than the release of that round that came before.
    Conflicting,
}

impl Neighbour {
    pub(super) fn new(id: LearnerId, own_index: usize) -> Neighbour {
        Neighbour {
            id,
            own_index,
            presence: Presence::Present,
            newest: None,
            ahead: None,
            reported: false,
            unused: BTreeMap::new(),
            seen: BTreeMap::new(),
            used: RoundSet::EMPTY,
            used_by_neighbour: RoundSet::EMPTY,
        }
    }

    /// Takes a release of this neighbour, while the learner is in round `now`.
    pub(super) fn receive(&mut self, release: ReceivedRelease, now: Round) -> Arrival {
        let round = release.round();
        let is_recent = round.0 + KEPT_ROUNDS >= now.0 && round.0 <= now.0 + KEPT_ROUNDS;
        if is_recent {
            match self.seen.get(&round) {
                Some(seen) if seen == release.encoded() => return Arrival::Duplicate,
                Some(_) => return Arrival::Conflicting,
                None => self.seen.insert(round, release.encoded().clone()),
            };
        }
        if self.newest.is_none_or(|newest| round > newest) {
            self.newest = Some(round);
            let mask = release.used().get(self.own_index).copied().unwrap_or(0);
            self.used_by_neighbour = RoundSet::new(round, mask);
        }
        // A neighbour that is one round behind is about to reach this round.
        if self.presence != Presence::CutOff && round.next() >= now {
            self.presence = Presence::Present;
        }
        if is_recent && !self.used.contains(round) {
            self.unused.insert(round, release);
        }
        Arrival::New
    }

    /// Whether it may be heard in a later round.
    pub(super) fn may_be_heard(&self) -> bool {
        matches!(self.presence, Presence::Present | Presence::Away)
    }

    /// Whether it says that it is too far ahead for its releases to be of use in a round.
    pub(super) fn is_far_ahead(&self, round: Round) -> bool {
        self.newest.is_some_and(|newest| newest.0 >= round.0 + KEPT_ROUNDS)
    }

    /// Whether its release of a round is waited for: it is present, and not so far ahead that the release is gone.
    pub(super) fn is_expected(&self, round: Round) -> bool {
        let is_gone = self.newest.is_some_and(|newest| newest.0 > round.0 + KEPT_ROUNDS);
        self.presence == Presence::Present && !is_gone
    }

    /// Notes a release that was used before a restart.
    pub(super) fn restore_used(&mut self, release: &ReceivedRelease) {
        let round = release.round();
        self.used.insert(round);
        self.seen.insert(round, release.encoded().clone());
        self.newest = self.newest.max(Some(round));
    }

    /// The oldest recent round that is one-sided: the neighbour used this learner's release, and this learner did not
    /// use the neighbour's.
    pub(super) fn one_sided_round(&self, now: Round) -> Option<Round> {
        let first = Round(now.0.saturating_sub(KEPT_ROUNDS));
        self.used_by_neighbour.between(first, now).find(|&round| !self.used.contains(round))
    }

    /// Takes out the release of a round, to use it.
    pub(super) fn use_release(&mut self, round: Round) -> Option<ReceivedRelease> {
        let release = self.unused.remove(&round)?;
        self.used.insert(round);
        Some(release)
    }

    /// Drops releases that are too old to be used, and the mark of a neighbour that was caught up with.
    pub(super) fn drop_old(&mut self, now: Round) {
        let first = Round(now.0.saturating_sub(KEPT_ROUNDS));
        self.unused = self.unused.split_off(&first);
        self.seen = self.seen.split_off(&first);
        self.ahead = self.ahead.filter(|_| self.is_far_ahead(now));
    }
}
