//! Catching up: requests for releases that have not arrived, and late pulls. Following neighbours that are far ahead is
//! in `following`.

use super::action::Action;
use super::neighbour::Neighbour;
use crate::wire::{OwnRelease, ReceivedRelease, ReleaseContent};
use std::time::Duration;
use undertone::{LatePull, Round};

/// When releases that have not arrived are requested.
pub(super) struct CatchUp {
    request_after: Duration,
    request_at: Duration,
}

impl CatchUp {
    pub(super) fn new(request_after: Duration) -> CatchUp {
        CatchUp { request_after, request_at: Duration::ZERO }
    }

    /// When the next requests are due.
    pub(super) fn request_at(&self) -> Duration {
        self.request_at
    }

    /// Requests after the usual time: this learner has just released.
    pub(super) fn request_later(&mut self, now: Duration) {
        self.request_at = now + self.request_after;
    }

    /// Requests at once: what arrived before a restart is lost.
    pub(super) fn request_now(&mut self, now: Duration) {
        self.request_at = now;
    }

    /// Whether requests are due. If so, the next time is set.
    pub(super) fn is_due(&mut self, now: Duration) -> bool {
        let due = now >= self.request_at;
        if due {
            self.request_later(now);
        }
        due
    }
}

/// The two releases of a late pull, both of one earlier round that only the neighbour has used.
pub(super) struct LateReleases {
    /// This learner's.
    pub(super) own: OwnRelease,
    /// Its content.
    pub(super) content: ReleaseContent,
    /// The neighbour's.
    pub(super) theirs: ReceivedRelease,
}

impl LateReleases {
    pub(super) fn pull(&self) -> LatePull<'_> {
        LatePull { own: self.content.heard(), theirs: self.theirs.heard() }
    }
}

/// What to request from a neighbour: its release of the round, and one that a late pull needs.
pub(super) fn requests(neighbour: &Neighbour, round: Round) -> impl Iterator<Item = Action> {
    let wanted = [Some(round), neighbour.one_sided_round(round)].into_iter().flatten();
    let missing =
        wanted.filter(|wanted| neighbour.may_be_heard() && !neighbour.unused.contains_key(wanted));
    missing.map(|round| Action::Request { neighbour: neighbour.id, round })
}
