//! One learner in its network: when it releases, which neighbours it waits for, and when it stops waiting.
//!
//! A node has no sockets and no clock. Its driver tells it what has arrived and what time it is,
//! and does the [`Action`]s it returns. Read next: `round` (deadlines), `journal` (what is stored),
//! `catch_up`.

use super::action::{Action, RoundEnd};
use super::catch_up::{self, CatchUp, LateReleases};
use super::distance::root_mean_square;
use super::entry::{Closing, Entry};
use super::error::{AcceptError, Halt};
use super::following::Following;
use super::inbox::Inbox;
use super::journal::Journal;
use super::neighbour::{Arrival, Neighbour, Presence};
use super::neighbours::Neighbours;
use super::round::{Phase, RoundState};
use super::settings::Settings;
use super::snapshot::Snapshot;
use super::view::{Counters, NodeState};
use crate::store::{Commit, Position, Storage};
use crate::wire::{OwnRelease, ReceivedRelease, Wire};
use std::time::Duration;
use undertone::noise::Entropy;
use undertone::persist::save;
use undertone::{Learner, LearnerId, Memory as _, PublicModel, Round, RoundReport, Score};
use undertone_models::{AnyMemory, BoundedRecord, RecordChecker};

/// One learner with its neighbours and its store.
pub struct Node<E, S> {
    pub(super) wire: Wire,
    /// Checks records that were read from the store.
    pub(super) checker: RecordChecker,
    pub(super) learner: Learner<AnyMemory>,
    /// The average of this learner's releases and those it used.
    pub(super) public_model: PublicModel,
    entropy: E,
    pub(super) neighbours: Neighbours,
    pub(super) round: RoundState,
    pub(super) inbox: Inbox,
    pub(super) journal: Journal<S>,
    catch_up: CatchUp,
    pub(super) following: Following,
    pub(super) counters: Counters,
}

/// Parts of a node that are made when it is opened.
pub(super) struct Parts<E, S> {
    pub(super) wire: Wire,
    pub(super) settings: Settings,
    pub(super) learner: Learner<AnyMemory>,
    pub(super) entropy: E,
    pub(super) store: S,
}

impl<E, S> Node<E, S> {
    pub(super) fn new(parts: Parts<E, S>) -> Node<E, S> {
        let Parts { wire, settings, learner, entropy, store } = parts;
        let setup = wire.setup();
        Node {
            checker: setup.record_checker(),
            public_model: PublicModel::new(setup.model.parameters()),
            neighbours: Neighbours::of(&setup.agreement.graph, learner.id()),
            round: RoundState::new(settings),
            inbox: Inbox::new(settings.inbox_max),
            journal: Journal::new(store),
            catch_up: CatchUp::new(settings.request_after),
            following: Following::new(settings.follow_rate),
            counters: Counters::default(),
            wire,
            learner,
            entropy,
        }
    }

    /// The state that a snapshot holds.
    pub(super) fn snapshot(&mut self) -> Snapshot<'_> {
        Snapshot {
            network: self.wire.network().bytes(),
            learner: &mut self.learner,
            public_model: &mut self.public_model,
            own_releases: self.journal.own_releases_mut(),
            neighbours: &mut self.neighbours,
        }
    }
}

impl<E: Entropy, S: Storage> Node<E, S> {
    /// Starts the node. After a restart, sends the newest release again.
    ///
    /// # Errors
    /// When the node has halted.
    pub fn start(&mut self, now: Duration) -> Result<Vec<Action>, Halt> {
        let mut actions = Vec::new();
        match (self.round.phase(), self.journal.newest_release()) {
            (Phase::Waiting, Some(newest)) => {
                actions.push(Action::Publish(newest.clone()));
                self.round.enter(Phase::Waiting, now);
                self.catch_up.request_now(now);
            }
            (Phase::Waiting, None) | (Phase::Gathering, _) => {
                self.round.enter(Phase::Gathering, now);
            }
        }
        actions.extend(self.tick(now)?);
        Ok(actions)
    }

    /// Receives bytes that a neighbour sent.
    ///
    /// Bytes that are no release of that neighbour are counted and dropped.
    ///
    /// # Errors
    /// When the node has halted.
    pub fn receive(
        &mut self,
        from: LearnerId,
        bytes: impl Into<Vec<u8>>,
        now: Duration,
    ) -> Result<Vec<Action>, Halt> {
        let mut actions = Vec::new();
        let round = self.learner.round();
        let neighbour = self.neighbours.get_mut(from);
        let Some(neighbour) = neighbour.filter(|one| one.presence != Presence::CutOff) else {
            self.counters.unknown_senders += 1;
            return Ok(actions);
        };
        let release = match self.wire.decode(from, bytes) {
            Ok(release) => release,
            Err(rejection) => {
                *self.counters.rejected.entry(rejection).or_default() += 1;
                return Ok(actions);
            }
        };
        let claimed = release.round();
        match neighbour.receive(release, round) {
            Arrival::New => {
                self.note_claim(from, claimed, now);
                self.advance(now, &mut actions)?;
            }
            Arrival::Duplicate => self.counters.duplicates += 1,
            Arrival::Conflicting => {
                neighbour.presence = Presence::CutOff;
                neighbour.unused.clear();
                actions.push(Action::CutOff(from));
                let stored = self.journal.cut_off(from);
                self.or_halt(stored.map_err(Halt::from))?;
                self.advance(now, &mut actions)?;
            }
        }
        Ok(actions)
    }

    /// The release to send a neighbour that requests one: that of the round, or the newest if that one is gone.
    #[must_use]
    pub fn release_for(&self, neighbour: LearnerId, round: Round) -> Option<OwnRelease> {
        let newest = self.newest_release_for(neighbour)?;
        let is_later = newest.round()? > round;
        let wanted = self.journal.release_of(round).cloned();
        wanted.or_else(|| is_later.then_some(newest))
    }

    /// The release to send a neighbour that has connected: the newest, which it may have missed. It is stored
    /// already, and its bytes are the same as before.
    #[must_use]
    pub fn newest_release_for(&self, neighbour: LearnerId) -> Option<OwnRelease> {
        let neighbour = self.neighbours.get(neighbour)?;
        if neighbour.presence == Presence::CutOff || self.round.is_halted() {
            return None;
        }
        self.journal.newest_release().cloned()
    }

    /// A neighbour has connected: releases that have not arrived are requested at once.
    #[must_use]
    pub fn on_connected(&self, neighbour: LearnerId) -> Vec<Action> {
        if self.round.phase() != Phase::Waiting || self.round.is_halted() {
            return Vec::new();
        }
        let round = self.learner.round();
        let connected = self.neighbours.get(neighbour);
        connected.into_iter().flat_map(|one| catch_up::requests(one, round)).collect()
    }

    /// A neighbour has sent a farewell.
    ///
    /// # Errors
    /// When the node has halted.
    pub fn on_left(&mut self, neighbour: LearnerId, now: Duration) -> Result<Vec<Action>, Halt> {
        let mut actions = Vec::new();
        let known = self.neighbours.get_mut(neighbour);
        if let Some(one) = known.filter(|one| one.presence != Presence::CutOff) {
            one.presence = Presence::Left;
        }
        self.advance(now, &mut actions)?;
        Ok(actions)
    }

    /// Stores records and accepts them, and notes how far their source was read. The next `tick` uses them.
    ///
    /// # Errors
    /// When too many are waiting: then none is accepted. When they could not be stored: the node has
    /// then halted, and whether they were stored is known only after it is opened again.
    ///
    /// # Panics
    /// When a record was checked for another network: a bug in the caller.
    pub fn accept_records(
        &mut self,
        records: Vec<BoundedRecord>,
        position: Option<Position>,
    ) -> Result<(), AcceptError> {
        if self.round.is_halted() {
            return Err(Halt::AlreadyHalted.into());
        }
        let fit = records.iter().all(|record| self.checker.has_checked(record));
        assert!(fit, "records are accepted that were checked for this network");
        if matches!(self.state(), NodeState::Finished | NodeState::Exhausted) {
            return Err(AcceptError::Over);
        }
        self.inbox.check_room(records.len())?;
        let stored = self.journal.accept(&records, position.as_ref());
        self.or_halt(stored.map_err(Halt::from))?;
        self.inbox.add(records, position);
        Ok(())
    }

    /// Does what is due by now.
    ///
    /// # Errors
    /// When the node has halted.
    pub fn tick(&mut self, now: Duration) -> Result<Vec<Action>, Halt> {
        let mut actions = Vec::new();
        self.advance(now, &mut actions)?;
        self.report_not_followed(now, &mut actions);
        if self.round.phase() == Phase::Waiting && self.catch_up.is_due(now) {
            let round = self.learner.round();
            actions.extend(self.neighbours.iter().flat_map(|one| catch_up::requests(one, round)));
        }
        Ok(actions)
    }

    /// When `tick` has something to do next, if nothing else happens.
    #[must_use]
    pub fn wake_at(&self) -> Option<Duration> {
        if self.round.is_halted() {
            return None;
        }
        match self.round.phase() {
            Phase::Gathering => {
                (self.may_begin() && self.has_begun()).then(|| self.round.records_due())
            }
            Phase::Waiting => Some(self.round.neighbours_due(self.catch_up.request_at())),
        }
    }

    /// Ends and begins rounds while it can.
    fn advance(&mut self, now: Duration, actions: &mut Vec<Action>) -> Result<(), Halt> {
        if self.round.is_halted() {
            return Err(Halt::AlreadyHalted);
        }
        self.round.note_check(now);
        loop {
            let moved = match self.round.phase() {
                Phase::Gathering => {
                    let moved = self.begin_round(now, actions);
                    self.or_halt(moved)?
                }
                Phase::Waiting => self.end_round(now, actions),
            };
            if !moved {
                return Ok(());
            }
        }
    }

    fn or_halt<T>(&mut self, result: Result<T, Halt>) -> Result<T, Halt> {
        if result.is_err() {
            self.round.halt();
        }
        result
    }

    fn has_begun(&self) -> bool {
        self.learner.memory().records() > 0
    }

    /// Whether there is a neighbour to release for, a round to run, and budget left.
    fn may_begin(&self) -> bool {
        self.round.refusal().is_none()
            && !self.round.is_past_end(self.learner.round())
            && self.neighbours.iter().any(Neighbour::may_be_heard)
    }

    /// Releases, if there are records for the round: observe, pay, draw, store, send.
    fn begin_round(&mut self, now: Duration, actions: &mut Vec<Action>) -> Result<bool, Halt> {
        let data = &self.wire.setup().agreement.records;
        let warmup = if self.has_begun() { 0 } else { data.warmup };
        let needed = usize::try_from(data.batch + warmup).unwrap_or(usize::MAX);
        let overdue = self.has_begun() && self.round.records_overdue(now);
        if !self.may_begin() || (self.inbox.len() < needed && !overdue) {
            return Ok(false);
        }
        if self.learner.accountant().would_exceed() {
            // Checked first, so that no record is taken for a round that will not run.
            self.stop_exhausted(actions);
            return Ok(false);
        }
        let records = self.inbox.take(needed);
        let score = self.learner.observe(&records);
        // Warm-up records are learnt from before anything was predicted, so they have no score.
        self.round.set_score(if warmup > 0 { Score::default() } else { score });
        let release = self.learner.release(&mut self.entropy).map_err(Halt::Release)?;
        let round = self.learner.round();
        let used: Vec<u64> =
            self.neighbours.iter().map(|one| one.used.mask_before(round)).collect();
        let encoded = self.wire.encode(&release, &used);
        self.public_model.include(&release);
        let closing = self.journal.take_closing();
        self.store_round(Entry { round, closing, records, release: encoded.clone() })?;
        actions.push(Action::Publish(encoded));
        self.round.enter(Phase::Waiting, now);
        self.catch_up.request_later(now);
        Ok(true)
    }

    fn stop_exhausted(&mut self, actions: &mut Vec<Action>) {
        let mut account = self.learner.accountant().clone();
        if let Err(refusal) = account.pay() {
            self.round.set_refusal(refusal);
            actions.push(Action::Exhausted(refusal));
        }
    }

    /// Stores a round, and the whole state if that is due.
    fn store_round(&mut self, mut entry: Entry) -> Result<(), Halt> {
        self.journal.add_release(entry.release.clone());
        let records_used = entry.records.len();
        let pieces = entry.pieces();
        self.journal.add_entry_bytes(pieces.bytes());
        let snapshot = self.journal.snapshot_is_due().then(|| save(self));
        let receipt = self.learner.receipt().ok_or(Halt::Receipt)?;
        let snapshot = snapshot.as_deref();
        self.journal.commit(Commit { entry: &pieces, records_used, receipt, snapshot })?;
        Ok(())
    }

    /// Ends the round if all expected neighbours were heard, the deadline is over, or neighbours
    /// are far ahead.
    fn end_round(&mut self, now: Duration, actions: &mut Vec<Action>) -> bool {
        let round = self.learner.round();
        let heard = self.neighbours.count_heard(round);
        let timed_out = self.round.timed_out_waiting(&heard, now);
        let ahead = self.round_to_follow(timed_out, now);
        if ahead.is_none() && !self.round.can_end(&heard, now) {
            return false;
        }
        actions.push(Action::Ended(self.close_round()));
        let next = self.learner.round();
        let round = ahead.map_or(next, |ahead| self.skip_to(ahead));
        self.following.note_end(round.0 - next.0);
        self.neighbours.iter_mut().for_each(|one| one.drop_old(round));
        self.round.enter(Phase::Gathering, now);
        true
    }

    /// Skips rounds: no release, no step, no charge. Returns the round that the learner is in now.
    pub(super) fn skip_to(&mut self, round: Round) -> Round {
        self.learner.skip_to(round)
    }

    /// Absorbs the releases of the round, with one late pull for each neighbour that used a release of this learner in
    /// an earlier round that was one-sided.
    fn close_round(&mut self) -> RoundEnd {
        let heard = self.use_releases();
        let late = self.use_late_releases();
        let theta = self.learner.private_parameters().for_owner();
        let distance = root_mean_square(theta, heard.iter().map(ReceivedRelease::values));
        let report = self.absorb(&heard, &late);
        let end = RoundEnd {
            report,
            score: self.round.score(),
            distance,
            heard: heard.iter().map(ReceivedRelease::learner).collect(),
            late: late.iter().map(|late| (late.theirs.learner(), late.theirs.round())).collect(),
        };
        self.journal.set_closing(Closing {
            heard: heard.iter().map(|release| release.encoded().clone()).collect(),
            late: late.into_iter().map(|late| (late.own, late.theirs.encoded().clone())).collect(),
        });
        end
    }

    /// Takes the neighbours' releases of this round. A neighbour without one is not waited for until it is heard again.
    fn use_releases(&mut self) -> Vec<ReceivedRelease> {
        let round = self.learner.round();
        let mut heard = Vec::new();
        for neighbour in self.neighbours.iter_mut() {
            match neighbour.use_release(round) {
                Some(release) => heard.push(release),
                None if neighbour.presence == Presence::Present => {
                    neighbour.presence = Presence::Away;
                }
                None => {}
            }
        }
        heard
    }

    /// Takes the releases of late pulls, at most one of each neighbour.
    fn use_late_releases(&mut self) -> Vec<LateReleases> {
        let (id, round) = (self.learner.id(), self.learner.round());
        let mut late = Vec::new();
        for neighbour in self.neighbours.iter_mut() {
            if let Some(missed) = neighbour.one_sided_round(round)
                && let Some(own) = self.journal.release_of(missed)
                && let Ok(content) = self.wire.decode_own(id, own)
                && let Some(theirs) = neighbour.use_release(missed)
            {
                late.push(LateReleases { own: own.clone(), content, theirs });
            }
        }
        late
    }

    /// Hands the learner the releases that end a round: those of the round, and those of late pulls.
    pub(super) fn absorb(
        &mut self,
        heard: &[ReceivedRelease],
        late: &[LateReleases],
    ) -> RoundReport {
        let releases: Vec<_> = heard.iter().map(ReceivedRelease::heard).collect();
        let pulls: Vec<_> = late.iter().map(LateReleases::pull).collect();
        let report = self.learner.absorb_received(&releases, &pulls);
        releases.iter().for_each(|&release| self.public_model.include(release));
        report
    }
}
