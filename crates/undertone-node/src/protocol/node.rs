//! One learner in its network: when it releases, whom it waits for, and when it goes on without.

use super::entry::{Closing, Entry};
use super::neighbour::{Arrival, Neighbour, Standing};
use super::{KEPT_ROUNDS, entry};
use crate::store::{Commit, Position, RECEIPTS_SHOWN, Storage, StorageError};
use crate::wire::{Message, Rejection, Sealed, Wire};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use undertone::noise::Entropy;
use undertone::persist::{Fields, Persist, save};
use undertone::privacy::{Receipt, Refusal};
use undertone::{
    LatePull, Learner, LearnerId, Memory, PublicModel, RecordError, ReleaseError, Round,
    RoundReport, Score,
};
use undertone_models::{AnyMemory, Record, Setup};

/// How patient a learner is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a round waits for neighbours who are present.
    pub deadline: Duration,
    /// After this time a release that has not come is asked for, and again.
    pub ask_after: Duration,
    /// How long a round waits for its records before it goes on with those that are there.
    pub records_wait: Duration,
    /// Without so many neighbours heard a round does not end.
    pub heard_least: usize,
    /// The first round that is not run any more.
    pub end: Round,
    /// How many records may wait for a round.
    pub inbox_max: usize,
}

/// What a node wants done.
#[derive(Clone, Debug)]
pub enum Action {
    /// Send this to all neighbours.
    Publish(Sealed),
    /// Ask a neighbour for its release of a round.
    Ask {
        /// Whom.
        neighbour: LearnerId,
        /// Of which round.
        round: Round,
    },
    /// Nothing: a round has ended.
    Ended(RoundEnd),
    /// Nothing: a neighbour sent two different releases of one round, and is not heard any more.
    CutOff(LearnerId),
    /// Say goodbye: the budget is spent, and nothing will be released any more.
    Retired(Refusal),
}

/// A round that has ended.
#[derive(Clone, Debug)]
pub struct RoundEnd {
    /// What is public about it.
    pub report: RoundReport,
    /// How well the records of the round were predicted. Private.
    pub score: Score,
    /// Whose release was used.
    pub heard: Vec<LearnerId>,
    /// The root mean square distance from the learner to what it heard, noise and all. Private.
    pub distance: Option<f64>,
    /// Earlier rounds of which a release was used now, because the neighbour had used this learner's.
    pub made_up: Vec<(LearnerId, Round)>,
}

/// What came that was of no use, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes that were no message.
    pub rejected: BTreeMap<Rejection, u64>,
    /// Messages of learners that are no neighbours, or are cut off.
    pub strangers: u64,
    /// Messages that had come before.
    pub repeated: u64,
}

/// What is known of a neighbour, to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighbourView {
    /// Who.
    pub id: LearnerId,
    /// How it stands.
    pub standing: Standing,
    /// The latest round it was heard in.
    pub newest: Option<Round>,
}

/// Why a node cannot go on. What it has kept is safe; start it again.
#[derive(Debug, Error)]
pub enum Halt {
    /// The store failed: what it holds is known only after it was opened again.
    #[error(transparent)]
    Store(#[from] StorageError),
    /// There is no noise to be had.
    #[error(transparent)]
    Release(ReleaseError),
    /// A record that was kept is out of bounds: the config is not the one it was kept under.
    #[error("a record in the store is out of bounds: {0}")]
    Record(RecordError),
    /// There is no receipt for a release.
    #[error("a release without a receipt")]
    Receipt,
    /// It halted before.
    #[error("the learner has halted before")]
    Before,
}

/// Why records were not taken.
#[derive(Debug, Error)]
pub enum TakeInError {
    /// One of them is out of bounds; none was taken.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Too many are waiting.
    #[error(
        "{waiting} records are waiting for a round, and there is room for {room}: try again later"
    )]
    Full {
        /// How many are waiting.
        waiting: usize,
        /// How many more there is room for.
        room: usize,
    },
    /// More than there is ever room for.
    #[error(
        "{count} records at once, and there is never room for more than {limit}: send them in parts"
    )]
    TooMany {
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
    /// No round will come that could use them.
    #[error("all rounds were run, or the budget is spent: no more records are taken")]
    Over,
    /// They could not be kept.
    #[error(transparent)]
    Halt(#[from] Halt),
}

/// What a learner is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Waiting for records.
    Gathering,
    /// Waiting for neighbours.
    Waiting,
    /// All rounds were run.
    Finished,
    /// The budget is spent.
    Exhausted,
}

/// A snapshot is made when the rounds since the last one take so many times its room: a store has to be read again in
/// reasonable time, and large models should not be written for ever.
const SNAPSHOT_SHARE: usize = 4;

/// Where in a round the learner is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Before its release, since when.
    Gathering(Duration),
    /// After its release, since when, and when to ask again.
    Waiting { since: Duration, ask_at: Duration },
}

/// One learner with its neighbours and its store.
pub struct Node<E, S> {
    pub(super) setup: Arc<Setup>,
    pub(super) wire: Wire,
    pub(super) settings: Settings,
    pub(super) learner: Learner<AnyMemory>,
    pub(super) neighbours: Vec<Neighbour>,
    pub(super) entropy: E,
    pub(super) store: S,
    /// The average of all releases that were made here and used here.
    pub(super) public: PublicModel,
    /// Records that no round has used yet.
    pub(super) inbox: VecDeque<Record>,
    /// Its own last releases, newest last.
    pub(super) sent: Vec<Sealed>,
    /// How many releases there were.
    pub(super) releases: u64,
    /// The last receipts, oldest first.
    pub(super) receipts: VecDeque<Receipt>,
    /// How far each source of records was read.
    pub(super) positions: BTreeMap<String, u64>,
    /// How the last round ended, which is kept with the next.
    pub(super) closing: Option<Closing>,
    /// Bytes kept since the last snapshot, and its size.
    pub(super) log_bytes: usize,
    pub(super) snapshot_bytes: usize,
    phase: Phase,
    /// When it was last looked at.
    looked_at: Duration,
    score: Score,
    counters: Counters,
    refusal: Option<Refusal>,
    halted: bool,
    /// Whether a snapshot of another network was loaded.
    pub(super) foreign: bool,
}

/// Parts of a node that are made when it is opened.
pub(super) struct Parts<E, S> {
    pub(super) wire: Wire,
    pub(super) settings: Settings,
    pub(super) learner: Learner<AnyMemory>,
    pub(super) entropy: E,
    pub(super) store: S,
}

impl<E: Entropy, S: Storage> Node<E, S> {
    pub(super) fn new(parts: Parts<E, S>) -> Node<E, S> {
        let Parts { wire, settings, learner, entropy, store } = parts;
        let setup = Arc::clone(wire.setup());
        let graph = &setup.config.graph;
        let own = learner.id();
        let place_of_own = |id: LearnerId| {
            let others = graph.neighbours(id).iter();
            others.map(|&(id, _)| id).filter(|&id| id < own).count()
        };
        let neighbours = graph.neighbours(own).iter();
        let mut neighbours: Vec<Neighbour> =
            neighbours.map(|&(id, _)| Neighbour::new(id, place_of_own(id))).collect();
        neighbours.sort_by_key(|neighbour| neighbour.id);
        Node {
            public: PublicModel::new(setup.model.parameters()),
            wire,
            setup,
            settings,
            learner,
            neighbours,
            entropy,
            store,
            inbox: VecDeque::new(),
            sent: Vec::new(),
            releases: 0,
            receipts: VecDeque::new(),
            positions: BTreeMap::new(),
            closing: None,
            log_bytes: 0,
            snapshot_bytes: 0,
            phase: Phase::Gathering(Duration::ZERO),
            looked_at: Duration::ZERO,
            score: Score::default(),
            counters: Counters::default(),
            refusal: None,
            halted: false,
            foreign: false,
        }
    }

    /// A learner that was opened again has released in its round, and waits for the others.
    pub(super) fn resume(&mut self) {
        if !self.sent.is_empty() {
            self.phase = Phase::Waiting { since: Duration::ZERO, ask_at: Duration::ZERO };
        }
    }

    /// Begins, or goes on where it stopped: what was released last is sent again.
    ///
    /// # Errors
    /// When it cannot go on.
    pub fn start(&mut self, now: Duration) -> Result<Vec<Action>, Halt> {
        let mut actions = Vec::new();
        match (self.phase, self.sent.last()) {
            (Phase::Waiting { .. }, Some(last)) => {
                actions.push(Action::Publish(last.clone()));
                // Whatever came before the crash is gone: it is asked for at once.
                self.phase = Phase::Waiting { since: now, ask_at: now };
            }
            _ => self.phase = Phase::Gathering(now),
        }
        actions.extend(self.tick(now)?);
        Ok(actions)
    }

    /// Takes in bytes that a neighbour sent.
    ///
    /// Bytes that are no release of that neighbour are counted and dropped.
    ///
    /// # Errors
    /// When it cannot go on.
    pub fn hear(
        &mut self,
        from: LearnerId,
        bytes: impl Into<Vec<u8>>,
        now: Duration,
    ) -> Result<Vec<Action>, Halt> {
        let mut actions = Vec::new();
        let round = self.learner.round();
        let neighbour = self.neighbours.iter_mut().find(|neighbour| neighbour.id == from);
        let Some(neighbour) = neighbour.filter(|one| one.standing != Standing::CutOff) else {
            self.counters.strangers += 1;
            return Ok(actions);
        };
        let sealed = Sealed::again(bytes.into());
        let message = match self.wire.decode(from, sealed.bytes()) {
            Ok(message) => message,
            Err(rejection) => {
                *self.counters.rejected.entry(rejection).or_default() += 1;
                return Ok(actions);
            }
        };
        match neighbour.take(message, sealed, round) {
            Arrival::New => self.go_on(now, &mut actions)?,
            Arrival::Again => self.counters.repeated += 1,
            Arrival::Different => {
                neighbour.standing = Standing::CutOff;
                neighbour.unused.clear();
                actions.push(Action::CutOff(from));
                let kept = self.store.cut_off(from);
                self.or_halt(kept.map_err(Halt::from))?;
                self.go_on(now, &mut actions)?;
            }
        }
        Ok(actions)
    }

    /// What to answer a neighbour who asks for a release: that of the round, or the newest if that is gone.
    #[must_use]
    pub fn asked(&self, by: LearnerId, round: Round) -> Option<Sealed> {
        let newest = self.newest_for(by)?;
        let gone_on = self.wire.round_of(&newest)? > round;
        self.sent_in(round).or_else(|| gone_on.then_some(newest))
    }

    /// What to send a neighbour to whom there is a connection now: the newest release, which it may have missed. It is
    /// kept already, and the same bytes as before.
    #[must_use]
    pub fn newest_for(&self, neighbour: LearnerId) -> Option<Sealed> {
        let heard = |one: &Neighbour| one.id == neighbour && one.standing != Standing::CutOff;
        let known = self.neighbours.iter().any(heard);
        self.sent.last().filter(|_| known && !self.halted).cloned()
    }

    /// There is a connection to a neighbour now: it is asked at once for what has not come.
    #[must_use]
    pub fn came(&self, neighbour: LearnerId) -> Vec<Action> {
        let mut actions = Vec::new();
        if matches!(self.phase, Phase::Waiting { .. }) && !self.halted {
            let came = self.neighbours.iter().filter(|one| one.id == neighbour);
            came.for_each(|one| self.ask_one(one, &mut actions));
        }
        actions
    }

    /// A neighbour has said that it will not come back.
    ///
    /// # Errors
    /// When it cannot go on.
    pub fn left(&mut self, neighbour: LearnerId, now: Duration) -> Result<Vec<Action>, Halt> {
        let mut actions = Vec::new();
        for one in &mut self.neighbours {
            if one.id == neighbour && one.standing != Standing::CutOff {
                one.standing = Standing::Left;
            }
        }
        self.go_on(now, &mut actions)?;
        Ok(actions)
    }

    /// Takes in records, once they are kept safely, and notes how far their source was read. The next `tick`
    /// uses them.
    ///
    /// # Errors
    /// When one is out of bounds or too many are waiting, and then none is taken. When they could not be kept
    /// the node has halted, and whether they were taken shows when it is opened again.
    pub fn take_in(
        &mut self,
        records: Vec<Record>,
        position: Option<Position>,
    ) -> Result<(), TakeInError> {
        if self.halted {
            return Err(Halt::Before.into());
        }
        for (position, record) in records.iter().enumerate() {
            self.learner.memory().check(&self.setup.model, record, position)?;
        }
        if matches!(self.state(), State::Finished | State::Exhausted) {
            return Err(TakeInError::Over);
        }
        let (count, limit) = (records.len(), self.settings.inbox_max);
        if count > limit {
            return Err(TakeInError::TooMany { count, limit });
        }
        let waiting = self.inbox.len();
        let room = self.room();
        if records.len() > room {
            return Err(TakeInError::Full { waiting, room });
        }
        let kept = self.store.accept(&records, position.as_ref());
        self.or_halt(kept.map_err(Halt::from))?;
        self.inbox.extend(records);
        if let Some(Position { source, reached }) = position {
            self.positions.insert(source, reached);
        }
        Ok(())
    }

    /// Does what is due by now.
    ///
    /// # Errors
    /// When it cannot go on.
    pub fn tick(&mut self, now: Duration) -> Result<Vec<Action>, Halt> {
        let mut actions = Vec::new();
        self.go_on(now, &mut actions)?;
        if let Phase::Waiting { since, ask_at } = self.phase
            && now >= ask_at
        {
            self.ask(&mut actions);
            self.phase = Phase::Waiting { since, ask_at: now + self.settings.ask_after };
        }
        Ok(actions)
    }

    /// When `tick` has something to do next, if nothing else happens.
    #[must_use]
    pub fn wake_at(&self) -> Option<Duration> {
        match self.phase {
            _ if self.halted => None,
            Phase::Gathering(since) => {
                let due = since + self.settings.records_wait;
                (self.may_begin() && self.has_begun()).then_some(due)
            }
            // Once the deadline is over a message ends the round, or the tick after asking in vain for another.
            Phase::Waiting { since, ask_at } => {
                let deadline = since + self.settings.deadline;
                Some(if self.looked_at < deadline { ask_at.min(deadline) } else { ask_at })
            }
        }
    }

    /// Ends and begins rounds as long as it can.
    fn go_on(&mut self, now: Duration, actions: &mut Vec<Action>) -> Result<(), Halt> {
        if self.halted {
            return Err(Halt::Before);
        }
        self.looked_at = now;
        loop {
            let moved = match self.phase {
                Phase::Gathering(since) => {
                    let moved = self.begin(since, now, actions);
                    self.or_halt(moved)?
                }
                Phase::Waiting { since, .. } => self.end(since, now, actions),
            };
            if !moved {
                return Ok(());
            }
        }
    }

    /// After a failure nothing may be sent any more: what was kept is not known.
    fn or_halt<T>(&mut self, result: Result<T, Halt>) -> Result<T, Halt> {
        self.halted |= result.is_err();
        result
    }

    fn has_begun(&self) -> bool {
        self.learner.memory().records() > 0
    }

    /// Whether there is anybody to release for, a round to do it in, and a budget.
    fn may_begin(&self) -> bool {
        self.refusal.is_none()
            && self.learner.round() < self.settings.end
            && self.neighbours.iter().any(Neighbour::could_come)
    }

    /// Releases, if there are records for the round: observe, pay, draw, keep, send.
    fn begin(
        &mut self,
        since: Duration,
        now: Duration,
        actions: &mut Vec<Action>,
    ) -> Result<bool, Halt> {
        let data = &self.setup.config.data;
        let warmup = if self.has_begun() { 0 } else { data.warmup };
        let needed = usize::try_from(data.batch + warmup).unwrap_or(usize::MAX);
        let out_of_patience = self.has_begun() && now >= since + self.settings.records_wait;
        if !self.may_begin() || (self.inbox.len() < needed && !out_of_patience) {
            return Ok(false);
        }
        if self.learner.accountant().would_exceed() {
            // Before any record is used that would then have no round.
            return Ok(self.retire(actions));
        }
        let count = needed.min(self.inbox.len());
        let records: Vec<Record> = self.inbox.drain(..count).collect();
        self.score = self.learner.observe(&records).map_err(Halt::Record)?;
        if warmup > 0 {
            // Before anything was learnt nothing was predicted either.
            self.score = Score::default();
        }
        let release = match self.learner.release(&mut self.entropy) {
            Ok(release) => release,
            Err(error) => return Err(Halt::Release(error)),
        };
        let round = self.learner.round();
        let used: Vec<u64> =
            self.neighbours.iter().map(|one| one.used.mask_before(round)).collect();
        let message = self.wire.encode(&release, &used);
        self.public.include(&release);
        let closing = self.closing.take();
        self.keep(Entry { round, closing, records, message: message.clone() })?;
        actions.push(Action::Publish(message));
        self.phase = Phase::Waiting { since: now, ask_at: now + self.settings.ask_after };
        Ok(true)
    }

    fn retire(&mut self, actions: &mut Vec<Action>) -> bool {
        let mut account = self.learner.accountant().clone();
        if let Err(refusal) = account.pay() {
            self.refusal = Some(refusal);
            actions.push(Action::Retired(refusal));
        }
        false
    }

    /// Keeps a round, and now and then the whole state.
    fn keep(&mut self, mut entry: Entry) -> Result<(), Halt> {
        self.remember_sent(entry.message.clone());
        let records_used = entry.records.len();
        let pieces = entry.pieces();
        self.log_bytes += pieces.bytes();
        // What is written for snapshots is then a quarter of what is written for rounds.
        let due = self.log_bytes / SNAPSHOT_SHARE > self.snapshot_bytes;
        let snapshot = due.then(|| save(self));
        let receipt = self.learner.receipt().ok_or(Halt::Receipt)?;
        let snapshot_bytes = snapshot.as_ref().map(Vec::len);
        self.store.commit(Commit {
            entry: &pieces,
            records_used,
            receipt,
            snapshot: snapshot.as_deref(),
        })?;
        if self.receipts.len() >= RECEIPTS_SHOWN {
            self.receipts.pop_front();
        }
        self.receipts.push_back(*receipt);
        self.releases += 1;
        if let Some(size) = snapshot_bytes {
            (self.log_bytes, self.snapshot_bytes) = (0, size);
        }
        Ok(())
    }

    pub(super) fn remember_sent(&mut self, message: Sealed) {
        let kept = usize::try_from(KEPT_ROUNDS).unwrap_or(usize::MAX);
        if self.sent.len() > kept {
            self.sent.remove(0);
        }
        self.sent.push(message);
    }

    /// Ends the round, if everyone who is waited for was heard or the time is up.
    fn end(&mut self, since: Duration, now: Duration, actions: &mut Vec<Action>) -> bool {
        let round = self.learner.round();
        let has = |one: &Neighbour| one.unused.contains_key(&round);
        let heard = self.neighbours.iter().filter(|one| has(one)).count();
        let missing = self.neighbours.iter().any(|one| one.is_waited_for(round) && !has(one));
        let could_come = self.neighbours.iter().filter(|one| one.could_come()).count();
        let least = self.settings.heard_least.min(could_come);
        let over = now >= since + self.settings.deadline;
        // Neighbours who sat this round out have no release of it, and never will: whoever was asked for two
        // deadlines and is further on is followed.
        let in_vain = heard < least && now >= since + 2 * self.settings.deadline;
        let gone = if in_vain { round.0 + 1 } else { round.0 + KEPT_ROUNDS };
        let ahead = self.ahead().filter(|ahead| ahead.0 >= gone);
        if ahead.is_none() && (heard < least || (missing && !over)) {
            return false;
        }
        self.close(actions);
        if let Some(ahead) = ahead {
            self.learner.sit_out(ahead);
        }
        let round = self.learner.round();
        self.neighbours.iter_mut().for_each(|one| one.forget_before(round));
        self.phase = Phase::Gathering(now);
        true
    }

    /// Absorbs what was heard, and makes up for one earlier round of each edge that only the other end used.
    fn close(&mut self, actions: &mut Vec<Action>) {
        let round = self.learner.round();
        let mut heard: Vec<(Message, Sealed)> = Vec::new();
        let mut late: Vec<((Message, Sealed), (Message, Sealed))> = Vec::new();
        for place in 0..self.neighbours.len() {
            let owed = self.neighbours[place].owed(round);
            let own = owed.and_then(|owed| self.sent_in(owed));
            let neighbour = &mut self.neighbours[place];
            match neighbour.use_release(round) {
                Some(release) => heard.push(release),
                None if neighbour.standing == Standing::Present => {
                    neighbour.standing = Standing::Away;
                }
                None => {}
            }
            if let (Some(owed), Some(own)) = (owed, own)
                && let Ok(message) = self.wire.decode(self.learner.id(), own.bytes())
                && let Some(theirs) = neighbour.use_release(owed)
            {
                late.push(((message, own), theirs));
            }
        }
        let (heard, heard_sealed): (Vec<_>, Vec<_>) = heard.into_iter().unzip();
        let (late, late_sealed): (Vec<_>, Vec<_>) =
            late.into_iter().map(|(own, theirs)| ((own.0, theirs.0), (own.1, theirs.1))).unzip();
        let distance = self.distance(&heard);
        let report = self.absorb(&heard, &late);
        actions.push(Action::Ended(RoundEnd {
            report,
            score: self.score,
            distance,
            heard: heard.iter().map(|message| message.learner).collect(),
            made_up: late.iter().map(|(_, theirs)| (theirs.learner, theirs.round)).collect(),
        }));
        self.closing = Some(Closing { heard: heard_sealed, late: late_sealed });
    }

    fn distance(&self, heard: &[Message]) -> Option<f64> {
        let theta = self.learner.private_parameters().for_owner();
        let squares = |message: &Message| squared_distance(theta, &message.values);
        #[expect(clippy::cast_precision_loss, reason = "a learner has few neighbours")]
        let count = heard.len() as f64;
        (!heard.is_empty()).then(|| (heard.iter().map(squares).sum::<f64>() / count).sqrt())
    }

    /// Hands the learner what a round ended with: releases of the round, and pairs of an earlier one.
    pub(super) fn absorb(&mut self, heard: &[Message], late: &[(Message, Message)]) -> RoundReport {
        let releases: Vec<_> = heard.iter().map(Message::heard).collect();
        let pulls: Vec<_> = late
            .iter()
            .map(|(own, theirs)| LatePull { own: own.heard(), theirs: theirs.heard() })
            .collect();
        let report = self.learner.absorb_heard(&releases, &pulls);
        releases.iter().for_each(|&release| self.public.include(release));
        report
    }

    /// Asks for what is missing: this round's releases, and those of rounds to be made up for.
    fn ask(&self, actions: &mut Vec<Action>) {
        self.neighbours.iter().for_each(|one| self.ask_one(one, actions));
    }

    fn ask_one(&self, one: &Neighbour, actions: &mut Vec<Action>) {
        if !one.could_come() {
            return;
        }
        let round = self.learner.round();
        for wanted in [Some(round), one.owed(round)].into_iter().flatten() {
            if !one.unused.contains_key(&wanted) {
                actions.push(Action::Ask { neighbour: one.id, round: wanted });
            }
        }
    }

    /// The latest round of a neighbour that is present: rounds cannot go back, so who is behind follows.
    ///
    /// A neighbour who lies can make a learner sit rounds out. That costs it learning and no privacy.
    fn ahead(&self) -> Option<Round> {
        let present = self.neighbours.iter().filter(|one| one.standing == Standing::Present);
        present.filter_map(|one| one.newest).max()
    }

    /// Its own release of a round, if it is still kept.
    fn sent_in(&self, round: Round) -> Option<Sealed> {
        self.sent.iter().find(|sealed| self.wire.round_of(sealed) == Some(round)).cloned()
    }

    /// The learner.
    #[must_use]
    pub fn learner(&self) -> &Learner<AnyMemory> {
        &self.learner
    }

    /// The model that may be published: the average of the releases made here and used here.
    #[must_use]
    pub fn public_model(&self) -> &PublicModel {
        &self.public
    }

    /// What came that was of no use.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What is known of each neighbour.
    pub fn neighbours(&self) -> impl Iterator<Item = NeighbourView> + '_ {
        self.neighbours.iter().map(|one| NeighbourView {
            id: one.id,
            standing: one.standing,
            newest: one.newest,
        })
    }

    /// Why nothing is released any more, if so.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_ref()
    }

    /// How many releases were made.
    #[must_use]
    pub fn releases(&self) -> u64 {
        self.releases
    }

    /// The last receipts, oldest first.
    pub fn receipts(&self) -> impl Iterator<Item = &Receipt> {
        self.receipts.iter()
    }

    /// How far each source of records was read.
    #[must_use]
    pub fn positions(&self) -> &BTreeMap<String, u64> {
        &self.positions
    }

    /// What follows from the config.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// What it is doing.
    #[must_use]
    pub fn state(&self) -> State {
        match self.phase {
            _ if self.refusal.is_some() => State::Exhausted,
            _ if self.learner.round() >= self.settings.end => State::Finished,
            Phase::Gathering(_) => State::Gathering,
            Phase::Waiting { .. } => State::Waiting,
        }
    }

    /// How many more records there is room for.
    #[must_use]
    pub fn room(&self) -> usize {
        self.settings.inbox_max.saturating_sub(self.inbox.len())
    }

    /// How many records wait for a round.
    #[must_use]
    pub fn waiting_records(&self) -> usize {
        self.inbox.len()
    }

    /// The wire format it speaks.
    #[must_use]
    pub fn wire(&self) -> &Wire {
        &self.wire
    }

    /// Gives the store back, of a node that is not to be used any more.
    #[must_use]
    pub fn into_store(self) -> S {
        self.store
    }
}

/// Summed in eight lanes: one sum would wait for itself at every term.
fn squared_distance(one: &[f64], other: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (ones, one_rest) = one.as_chunks::<8>();
    let (others, other_rest) = other.as_chunks::<8>();
    for (one, other) in ones.iter().zip(others) {
        for ((lane, one), other) in lanes.iter_mut().zip(one).zip(other) {
            *lane += (one - other) * (one - other);
        }
    }
    let rest = one_rest.iter().zip(other_rest).map(|(one, other)| (one - other).powi(2));
    lanes.iter().sum::<f64>() + rest.sum::<f64>()
}

/// What is in a snapshot: whose it is, the learner, its last releases and whose it used.
impl<E, S> Persist for Node<E, S> {
    fn visit(&mut self, fields: &mut dyn Fields) {
        let mut network = self.wire.network().bytes();
        fields.bytes(&mut network);
        self.foreign |= network != self.wire.network().bytes();
        self.learner.visit(fields);
        self.public.visit(fields);
        entry::visit_list(fields, &mut self.sent);
        for neighbour in &mut self.neighbours {
            neighbour.used.visit(fields);
        }
    }
}
