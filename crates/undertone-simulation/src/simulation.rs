//! Learners on machines that start and stop, and the messages between them.

use crate::conditions::{Conditions, Connection, Content, Message};
use crate::entropy::RepeatableEntropy;
use crate::memory_store::MemoryStore;
use crate::observer::{Observer, Occasion, Sent};
use crate::queue::{EventKind, Queue};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use undertone::{LearnerId, Round};
use undertone_models::{BoundedRecord, Setup};
use undertone_node::protocol::{AcceptError, Action, Halt, Node, NodeState, Settings};
use undertone_node::wire::{OwnRelease, Wire};

/// A node of a simulation.
pub type SimulatedNode = Node<RepeatableEntropy, MemoryStore>;

/// What learners are opened from.
struct Machines {
    wire: Wire,
    settings: Settings,
    entropy: RepeatableEntropy,
    disks: Vec<MemoryStore>,
}

/// All learners of a network, the machines they run on, and the events to come.
pub struct Simulation<C: Conditions, O> {
    machines: Machines,
    /// The learners whose machines are up, by their number.
    nodes: Vec<Option<Box<SimulatedNode>>>,
    /// When each learner is to be woken. A restart leaves it as it is: being woken once too often changes nothing.
    wakes: Vec<Option<Duration>>,
    /// Learners that never start.
    absent: BTreeSet<LearnerId>,
    queue: Queue<C::Event>,
    now: Duration,
    /// The surroundings of the learners.
    pub conditions: C,
    /// What sees everything.
    pub observer: O,
}

impl<C: Conditions, O: Observer> Simulation<C, O> {
    /// A network in which no learner runs yet, and no start is scheduled.
    #[must_use]
    pub fn new(
        wire: Wire,
        settings: Settings,
        entropy: RepeatableEntropy,
        conditions: C,
        observer: O,
    ) -> Simulation<C, O> {
        let learners = wire.setup().mechanisms.len();
        let disks = (0..learners).map(|_| MemoryStore::default()).collect();
        Simulation {
            machines: Machines { wire, settings, entropy, disks },
            nodes: (0..learners).map(|_| None).collect(),
            wakes: vec![None; learners],
            absent: BTreeSet::new(),
            queue: Queue::new(),
            now: Duration::ZERO,
            conditions,
            observer,
        }
    }

    /// Schedules a start of a learner. A learner that runs by then goes on.
    pub fn start_after(&mut self, wait: Duration, learner: LearnerId) {
        self.schedule(wait, EventKind::Start(learner));
    }

    /// Schedules the start of a learner, in place of those that were scheduled before.
    pub fn start_only_after(&mut self, wait: Duration, learner: LearnerId) {
        self.queue.cancel_starts(learner);
        self.start_after(wait, learner);
    }

    /// Takes a learner out of the network before it has started. Its neighbours wait for it in vain.
    pub fn never_start(&mut self, learner: LearnerId) {
        self.queue.cancel_starts(learner);
        self.absent.insert(learner);
    }

    /// Schedules an event of the conditions.
    pub fn happen_after(&mut self, wait: Duration, event: C::Event) {
        self.schedule(wait, EventKind::Other(event));
    }

    /// Runs until all is done, until a time, or until nothing happens any more. Returns whether all is done, which is
    /// asked after every event.
    pub fn run(&mut self, until: Duration, done: impl Fn(&Self) -> bool) -> bool {
        while let Some((at, event)) = self.queue.pop() {
            self.now = at;
            if at > until {
                return false;
            }
            self.step(event);
            if done(self) {
                return true;
            }
        }
        false
    }

    /// Whether all learners that are not absent run, and are past the last round.
    pub fn all_have_finished(&self) -> bool {
        self.ids().filter(|id| !self.absent.contains(id)).all(|id| {
            let end = self.machines.settings.end;
            self.node(id).is_some_and(|node| node.learner().round() >= end)
        })
    }

    /// All learners.
    pub fn ids(&self) -> impl Iterator<Item = LearnerId> + use<C, O> {
        self.setup().agreement.graph.ids()
    }

    /// A learner, if it is up.
    #[must_use]
    pub fn node(&self, learner: LearnerId) -> Option<&SimulatedNode> {
        self.nodes[place(learner)].as_deref()
    }

    /// A learner's disk.
    #[must_use]
    pub fn disk(&self, learner: LearnerId) -> &MemoryStore {
        &self.machines.disks[place(learner)]
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.now
    }

    /// What follows from the agreement.
    #[must_use]
    pub fn setup(&self) -> &Arc<Setup> {
        self.machines.wire.setup()
    }

    /// The wire format.
    #[must_use]
    pub fn wire(&self) -> &Wire {
        &self.machines.wire
    }

    /// How many events were ever scheduled.
    #[must_use]
    pub fn events_scheduled(&self) -> u64 {
        self.queue.scheduled()
    }

    /// A learner as its next start will find it.
    ///
    /// # Panics
    /// When its store cannot be opened: a learner must always be able to start again.
    #[must_use]
    pub fn open(&self, learner: LearnerId) -> SimulatedNode {
        self.machines.open(learner)
    }

    fn step(&mut self, event: EventKind<C::Event>) {
        let now = self.now;
        match event {
            EventKind::Deliver { to, from, release } => {
                self.call(to, |node| node.receive(from, release.bytes(), now));
            }
            EventKind::Request { of, by, round } => {
                if let Some(release) = self.node(of).and_then(|node| node.release_for(by, round)) {
                    self.send_again(of, by, &release, Occasion::Requested);
                }
            }
            EventKind::Connect { caller, called } => self.connect(caller, called),
            EventKind::Wake(learner) => {
                let wake = &mut self.wakes[place(learner)];
                if *wake == Some(now) {
                    *wake = None;
                    self.tick(learner);
                }
            }
            EventKind::Start(learner) => self.start(learner),
            EventKind::Stop(learner) => self.stop(learner),
            EventKind::Other(event) => C::happen(self, event),
        }
    }

    fn start(&mut self, learner: LearnerId) {
        if self.node(learner).is_some() {
            return;
        }
        self.nodes[place(learner)] = Some(Box::new(self.open(learner)));
        let now = self.now;
        self.give_record(learner);
        self.call(learner, |node| node.start(now));
        for neighbour in self.neighbours(learner) {
            let Some(connection) = self.conditions.connect(learner, neighbour) else { continue };
            let Connection { caller, called, wait } = connection;
            if wait.is_zero() {
                self.connect(caller, called);
            } else {
                self.schedule(wait, EventKind::Connect { caller, called });
            }
        }
        if let Some(wait) = self.conditions.time_up(learner) {
            self.schedule(wait, EventKind::Stop(learner));
        }
    }

    /// Stops a learner's machine between two calls. It starts again when the conditions say so.
    pub(crate) fn stop(&mut self, learner: LearnerId) {
        let Some(mut node) = self.nodes[place(learner)].take() else { return };
        let machines = &self.machines;
        self.observer.stopping(&mut node, || machines.open(learner));
        self.start_again(learner);
    }

    fn start_again(&mut self, learner: LearnerId) {
        let wait = self.conditions.time_down(learner);
        self.start_after(wait, learner);
    }

    /// A connection of two comes up: each sends the other its newest release, and requests what it has missed.
    pub(crate) fn connect(&mut self, caller: LearnerId, called: LearnerId) {
        if self.node(caller).is_none() || self.node(called).is_none() {
            return;
        }
        for (own, other) in [(caller, called), (called, caller)] {
            let newest = self.node(own).and_then(|node| node.newest_release_for(other));
            if let Some(newest) = newest {
                self.send_again(own, other, &newest, Occasion::Connected);
            }
            self.call(own, |node| Ok(node.on_connected(other)));
        }
    }

    /// Gives records to a learner that is up, as its owner does.
    pub(crate) fn give_records(&mut self, learner: LearnerId, records: Vec<BoundedRecord>) {
        let now = self.now;
        self.call(learner, |node| match node.accept_records(records, None) {
            // An owner whose records are refused because too many wait sends others later.
            Ok(()) | Err(AcceptError::Over | AcceptError::Full { .. }) => node.tick(now),
            Err(AcceptError::Halt(halt)) => Err(halt),
            Err(other) => panic!("{other}"),
        });
    }

    fn tick(&mut self, learner: LearnerId) {
        let now = self.now;
        self.call(learner, |node| node.tick(now));
    }

    /// Calls a learner that is up, and does what it asks for.
    fn call(
        &mut self,
        learner: LearnerId,
        call: impl FnOnce(&mut SimulatedNode) -> Result<Vec<Action>, Halt>,
    ) {
        let place = place(learner);
        self.conditions.before_call(&self.machines.disks[place], self.now);
        let Some(node) = &mut self.nodes[place] else { return };
        match call(node) {
            Ok(actions) => {
                self.act(learner, actions);
                if let Some(node) = &self.nodes[place] {
                    self.observer.called(node, &self.machines.disks[place]);
                }
            }
            Err(halt) => {
                // A process that halts is started again.
                self.nodes[place] = None;
                self.observer.halted(learner, &halt);
                return self.start_again(learner);
            }
        }
        if self.give_record(learner) {
            // It has ended two rounds at once.
            return self.tick(learner);
        }
        let wake = self.node(learner).and_then(SimulatedNode::wake_at);
        if let Some(at) = wake {
            assert!(at > self.now, "learner {learner} is not woken again and again");
            if self.wakes[place].is_none_or(|wake| at < wake) {
                self.wakes[place] = Some(at);
                self.queue.schedule(at, EventKind::Wake(learner));
            }
        }
    }

    /// Gives a learner a record for its next round if it has none and the conditions have one. Returns whether it has waited
    /// only for that.
    fn give_record(&mut self, learner: LearnerId) -> bool {
        let Some(node) = &mut self.nodes[place(learner)] else { return false };
        if node.waiting_records() > 0 || node.learner().round() >= self.machines.settings.end {
            return false;
        }
        let Some(record) = self.conditions.record_for(learner) else { return false };
        let accepted = node.accept_records(vec![record], None);
        accepted.unwrap_or_else(|error| panic!("learner {learner} waits for a record: {error}"));
        node.state() == NodeState::Gathering
    }

    fn act(&mut self, learner: LearnerId, actions: Vec<Action>) {
        let last_end = actions.iter().rposition(|action| matches!(action, Action::Ended(_)));
        for (index, action) in actions.into_iter().enumerate() {
            match action {
                Action::Publish(release) => {
                    self.note_sent(learner, &release, Occasion::Published);
                    for neighbour in self.neighbours(learner) {
                        self.deliver(learner, neighbour, &release);
                    }
                }
                Action::Request { neighbour, round } => self.request(learner, neighbour, round),
                Action::Ended(end) => {
                    if let Some(node) = &self.nodes[place(learner)] {
                        self.observer.ended(node, end, Some(index) == last_end, self.now);
                    }
                }
                Action::NotFollowed { .. } => self.observer.not_followed(learner),
                Action::CutOff(id) => panic!("learner {learner} cut off {id}, who was honest"),
                Action::Exhausted(refusal) => panic!("learner {learner}: {refusal}"),
            }
        }
    }

    /// Sends one neighbour a release that was published before.
    fn send_again(&mut self, by: LearnerId, to: LearnerId, release: &OwnRelease, why: Occasion) {
        self.note_sent(by, release, why);
        self.deliver(by, to, release);
    }

    fn note_sent(&mut self, by: LearnerId, release: &OwnRelease, occasion: Occasion) {
        let (disk, now) = (&self.machines.disks[place(by)], self.now);
        self.observer.sent(&Sent { by, release, occasion, disk, now });
    }

    /// Sends a release over the network, without telling the observer.
    pub(crate) fn deliver(&mut self, from: LearnerId, to: LearnerId, release: &OwnRelease) {
        let content = Content::Release { bytes: release.bytes().len() };
        let arrivals = self.conditions.send(&Message { from, to, content }, self.now);
        for wait in arrivals.into_iter().flatten() {
            let release = release.clone();
            self.schedule(wait, EventKind::Deliver { to, from, release });
        }
    }

    fn request(&mut self, by: LearnerId, of: LearnerId, round: Round) {
        self.observer.requested(by);
        let message = Message { from: by, to: of, content: Content::Request };
        let arrivals = self.conditions.send(&message, self.now);
        for wait in arrivals.into_iter().flatten() {
            self.schedule(wait, EventKind::Request { of, by, round });
        }
    }

    fn schedule(&mut self, wait: Duration, event: EventKind<C::Event>) {
        self.queue.schedule(self.now + wait, event);
    }

    pub(crate) fn neighbours(&self, learner: LearnerId) -> Vec<LearnerId> {
        let neighbours = self.setup().agreement.graph.neighbours(learner);
        neighbours.iter().map(|&(neighbour, _)| neighbour).collect()
    }
}

impl Machines {
    fn open(&self, learner: LearnerId) -> SimulatedNode {
        let (entropy, store) = (self.entropy.clone(), self.disks[place(learner)].clone());
        let node = Node::open_on(self.wire.clone(), learner, self.settings, entropy, store);
        node.unwrap_or_else(|error| panic!("learner {learner}: {error}"))
    }
}

/// Where the lists of a simulation hold a learner.
fn place(learner: LearnerId) -> usize {
    learner.0 as usize
}
