//! What a learner knows of one neighbour.

use super::KEPT_ROUNDS;
use super::marks::Marks;
use crate::wire::{EncodedRelease, ReceivedRelease};
use serde::Serialize;
use std::collections::BTreeMap;
use undertone::{LearnerId, Round};

/// How a neighbour stands with this learner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It is waited for.
    Present,
    /// It missed a deadline, and is not waited for until it is heard again.
    Away,
    /// It has said that it will not come back.
    Left,
    /// It sent two different releases of one round, and is not listened to any more.
    CutOff,
}

/// One neighbour.
pub(super) struct Neighbour {
    pub(super) id: LearnerId,
    /// This learner's place among the neighbour's own neighbours.
    pub(super) own_place: usize,
    pub(super) standing: Standing,
    /// The latest round it was heard in.
    pub(super) newest: Option<Round>,
    /// Releases that are not used yet: of this round and later ones, and of rounds that ended without them.
    pub(super) unused: BTreeMap<Round, ReceivedRelease>,
    /// All releases of the last rounds as they came, to tell a second, different one.
    seen: BTreeMap<Round, EncodedRelease>,
    /// The rounds in which its release was used here, on time or late.
    pub(super) used: Marks,
    /// The rounds in which it says that it used this learner's.
    used_there: Marks,
}

/// What a message turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Not seen before.
    New,
    /// Seen before, byte for byte.
    Again,
    /// Another release of a round that there was one of already.
    Different,
}

impl Neighbour {
    pub(super) fn new(id: LearnerId, own_place: usize) -> Neighbour {
        Neighbour {
            id,
            own_place,
            standing: Standing::Present,
            newest: None,
            unused: BTreeMap::new(),
            seen: BTreeMap::new(),
            used: Marks::NONE,
            used_there: Marks::NONE,
        }
    }

    /// Takes a message of its own in, while the learner is in round `now`.
    pub(super) fn take(&mut self, release: ReceivedRelease, now: Round) -> Arrival {
        let round = release.round();
        let kept = self.keeps(round, now);
        if kept {
            match self.seen.get(&round) {
                Some(seen) if seen == release.encoded() => return Arrival::Again,
                Some(_) => return Arrival::Different,
                None => self.seen.insert(round, release.encoded().clone()),
            };
        }
        if self.newest.is_none_or(|newest| round > newest) {
            self.newest = Some(round);
            let mask = release.used().get(self.own_place).copied().unwrap_or(0);
            self.used_there = Marks::new(round, mask);
        }
        // One that is a round behind will be here in a moment.
        if self.standing != Standing::CutOff && round.next() >= now {
            self.standing = Standing::Present;
        }
        if kept && !self.used.has(round) {
            self.unused.insert(round, release);
        }
        Arrival::New
    }

    /// Whether it may still be heard some day.
    pub(super) fn could_come(&self) -> bool {
        matches!(self.standing, Standing::Present | Standing::Away)
    }

    /// Whether its release of a round is worth waiting for: it is there, and has not gone on for good.
    pub(super) fn is_waited_for(&self, round: Round) -> bool {
        let gone_on = self.newest.is_some_and(|newest| newest.0 > round.0 + KEPT_ROUNDS);
        self.standing == Standing::Present && !gone_on
    }

    /// Notes a release that was used before a restart.
    pub(super) fn used_before(&mut self, release: &ReceivedRelease) {
        let round = release.round();
        self.used.mark(round);
        self.seen.insert(round, release.encoded().clone());
        self.newest = self.newest.max(Some(round));
    }

    /// Whether a release of that round may still be of use.
    fn keeps(&self, round: Round, now: Round) -> bool {
        round.0 + KEPT_ROUNDS >= now.0 && round.0 <= now.0 + KEPT_ROUNDS
    }

    /// The oldest round before `now` that it used this learner's release of, and this learner not its own.
    pub(super) fn owed(&self, now: Round) -> Option<Round> {
        let first = Round(now.0.saturating_sub(KEPT_ROUNDS));
        self.used_there.between(first, now).find(|&round| !self.used.has(round))
    }

    /// Takes out the release of a round, to use it.
    pub(super) fn use_release(&mut self, round: Round) -> Option<ReceivedRelease> {
        let release = self.unused.remove(&round)?;
        self.used.mark(round);
        Some(release)
    }

    /// Forgets what is too old to be of use.
    pub(super) fn forget_before(&mut self, now: Round) {
        let first = Round(now.0.saturating_sub(KEPT_ROUNDS));
        self.unused = self.unused.split_off(&first);
        self.seen = self.seen.split_off(&first);
    }
}
