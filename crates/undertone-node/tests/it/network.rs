//! A network of nodes in one process, with a clock, a network and disks that can fail.
//!
//! Everything follows from a seed. After every step the invariants of the architecture are checked.

use crate::support::{CountedEntropy, Dice, MemoryStore, record, settings};
use sha2::{Digest as _, Sha256};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use undertone::persist::save;
use undertone::privacy::verify;
use undertone::{LearnerId, Round};
use undertone_models::Setup;
use undertone_node::protocol::{AcceptError, Action, FOLLOW_RATE, Halt, Node, RoundEnd, Settings};
use undertone_node::wire::{OwnRelease, Wire};

type TestNode = Node<CountedEntropy, MemoryStore>;

/// What goes wrong, until a time at which everything is mended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Faults {
    /// One message in so many is lost; 0 loses none.
    pub(crate) loss: u64,
    /// One in so many comes twice.
    pub(crate) repeats: u64,
    /// Messages take up to so long.
    pub(crate) delay: Duration,
    /// A learner crashes about this often.
    pub(crate) crash_every: Option<Duration>,
    /// And stays down up to so long.
    pub(crate) down: Duration,
    /// An operation of a disk fails about one in so many times; 0 never.
    pub(crate) disk: u64,
    /// Edges are cut about this often, for up to `down`.
    pub(crate) cut_every: Option<Duration>,
    /// When all of it ends.
    pub(crate) until: Duration,
}

impl Faults {
    pub(crate) const NONE: Faults = Faults {
        loss: 0,
        repeats: 0,
        delay: Duration::from_millis(20),
        crash_every: None,
        down: Duration::ZERO,
        disk: 0,
        cut_every: None,
        until: Duration::ZERO,
    };
}

/// What a liar says, given the time and the round of the learner that it says it to.
pub(crate) type Claim = fn(Duration, u64) -> u64;

enum Event {
    Lie { from: usize, every: Duration, claim: Claim },
    Deliver { to: usize, from: LearnerId, bytes: Vec<u8> },
    Asked { of: usize, by: LearnerId, round: Round },
    Wake(usize),
    Records(usize),
    Crash(usize),
    Restart(usize),
    Cut(usize, usize),
    Mend(usize, usize),
}

/// The network.
pub(crate) struct Sim {
    setup: Arc<Setup>,
    wire: Wire,
    end: u64,
    pub(crate) follow_rate: u32,
    faults: Faults,
    dice: Dice,
    record_dice: Vec<Dice>,
    pub(crate) now: Duration,
    sequence: u64,
    queue: BTreeMap<(Duration, u64), Event>,
    pub(crate) nodes: Vec<Option<TestNode>>,
    pub(crate) disks: Vec<MemoryStore>,
    entropy: CountedEntropy,
    cut: BTreeSet<(usize, usize)>,
    /// Learners that never come.
    buried: BTreeSet<usize>,
    /// When each learner is to be woken.
    wakes: Vec<Option<Duration>>,
    /// Every release that was ever sent.
    sent: BTreeMap<(usize, u64), Vec<u8>>,
    /// The round and budget that each learner had at least.
    reached: Vec<(Round, f64)>,
    /// How the last round of each learner ended, until that is kept.
    unkept: Vec<Option<RoundEnd>>,
    /// Which edge was used in which round, by whom.
    pub(crate) used: BTreeSet<(usize, usize, u64)>,
    pub(crate) made_up: usize,
    pub(crate) crashes: usize,
    /// How often a learner reported a neighbour that it did not follow.
    pub(crate) not_followed: usize,
    trace: Sha256,
}

impl Sim {
    pub(crate) fn new(setup: &Arc<Setup>, end: u64, faults: Faults, seed: u64) -> Sim {
        let learners = setup.mechanisms.len();
        let entropy = CountedEntropy { seed, drawn: Rc::new(RefCell::new(BTreeMap::new())) };
        let mut sim = Sim {
            setup: Arc::clone(setup),
            wire: Wire::new(Arc::clone(setup)),
            end,
            follow_rate: FOLLOW_RATE,
            faults,
            dice: Dice(seed),
            record_dice: (0..learners as u64).map(|id| Dice(seed ^ (id << 40))).collect(),
            now: Duration::ZERO,
            sequence: 0,
            queue: BTreeMap::new(),
            nodes: (0..learners).map(|_| None).collect(),
            disks: (0..learners).map(|_| MemoryStore::default()).collect(),
            entropy,
            cut: BTreeSet::new(),
            buried: BTreeSet::new(),
            wakes: vec![None; learners],
            sent: BTreeMap::new(),
            reached: vec![(Round::ZERO, 0.0); learners],
            unkept: (0..learners).map(|_| None).collect(),
            used: BTreeSet::new(),
            made_up: 0,
            crashes: 0,
            not_followed: 0,
            trace: Sha256::new(),
        };
        for place in 0..learners {
            let wait = sim.jitter(Duration::from_secs(1));
            sim.schedule(wait, Event::Restart(place));
            sim.schedule(Duration::ZERO, Event::Records(place));
            if let Some(every) = faults.crash_every {
                let wait = sim.jitter(2 * every);
                sim.schedule(wait, Event::Crash(place));
            }
            if let Some(every) = faults.cut_every {
                let wait = sim.jitter(2 * every);
                sim.schedule(wait, Event::Cut(place, (place + 1) % learners));
            }
        }
        sim
    }

    /// Two groups that cannot hear each other for a while, with a learner in the first held back as well.
    pub(crate) fn part(&mut self, edges: &[(usize, usize)], until: Duration) {
        for &(left, right) in edges {
            self.cut.insert((left, right));
            self.schedule(until, Event::Mend(left, right));
        }
    }

    /// Never starts a learner.
    pub(crate) fn bury(&mut self, place: usize) {
        let own = |event: &Event| matches!(event, Event::Restart(one) if *one == place);
        self.queue.retain(|_, event| !own(event));
        self.buried.insert(place);
    }

    /// Starts a learner only after a while.
    pub(crate) fn keep_down(&mut self, place: usize, until: Duration) {
        let early = |event: &Event| matches!(event, Event::Restart(one) if *one == place);
        self.queue.retain(|_, event| !early(event));
        self.schedule(until, Event::Restart(place));
    }

    /// A learner that does not run claims rounds, to each neighbour what the claim says.
    pub(crate) fn lie(&mut self, from: usize, every: Duration, claim: Claim) {
        self.schedule(every, Event::Lie { from, every, claim });
    }

    fn tell_lies(&mut self, from: usize, claim: Claim) {
        let own = LearnerId(u32::try_from(from).unwrap());
        let neighbours = self.setup.agreement.graph.neighbours(own).to_vec();
        for (neighbour, _) in neighbours {
            let to = neighbour.0 as usize;
            let Some(node) = &self.nodes[to] else { continue };
            let claimed = claim(self.now, node.learner().round().0).min(Round::LIMIT.0 - 1);
            let mut learner = self.setup.learner(own).unwrap();
            learner.skip_to(Round(claimed));
            let mut entropy = CountedEntropy { seed: 9, drawn: Rc::default() };
            let release = learner.release(&mut entropy).unwrap();
            let bytes = self.wire.encode(&release, &[]).bytes().to_vec();
            self.transmit(from, to, |to| Event::Deliver { to, from: own, bytes });
        }
    }

    fn jitter(&mut self, most: Duration) -> Duration {
        let nanoseconds = u64::try_from(most.as_nanos()).unwrap().max(1);
        Duration::from_nanos(self.dice.below(nanoseconds))
    }

    fn schedule(&mut self, after: Duration, event: Event) {
        self.sequence += 1;
        self.queue.insert((self.now + after, self.sequence), event);
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.now < self.faults.until && count > 0 && self.dice.below(count) == 0
    }

    /// Runs until every learner has done its rounds, and says whether they all have.
    pub(crate) fn run(&mut self, most: Duration) -> bool {
        while let Some(((at, _), event)) = self.queue.pop_first() {
            if at > most {
                return false;
            }
            self.now = at;
            self.step(event);
            let done = |node: &Option<TestNode>| {
                node.as_ref().is_some_and(|node| node.learner().round() >= Round(self.end))
            };
            let mut nodes = self.nodes.iter().enumerate();
            if nodes.all(|(place, node)| self.buried.contains(&place) || done(node)) {
                return true;
            }
        }
        false
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Deliver { to, from, bytes } => {
                let now = self.now;
                self.with_node(to, |node| node.receive(from, &bytes[..], now));
            }
            Event::Asked { of, by, round } => {
                let answer = self.nodes[of].as_ref().and_then(|node| node.release_for(by, round));
                if let Some(answer) = answer {
                    self.check_sent(of, &answer);
                    let from = LearnerId(u32::try_from(of).unwrap());
                    self.transmit(of, by.0 as usize, |to| Event::Deliver {
                        to,
                        from,
                        bytes: answer.bytes().to_vec(),
                    });
                }
            }
            Event::Wake(place) => {
                let now = self.now;
                if self.wakes[place] != Some(now) {
                    return;
                }
                self.wakes[place] = None;
                self.with_node(place, |node| node.tick(now));
            }
            Event::Records(place) => self.give_records(place),
            Event::Lie { from, every, claim } => {
                self.tell_lies(from, claim);
                self.lie(from, every, claim);
            }
            Event::Crash(place) => self.crash_by_chance(place),
            Event::Restart(place) => self.restart(place),
            Event::Cut(left, right) => self.cut_by_chance(left, right),
            Event::Mend(left, right) => {
                self.cut.remove(&(left, right));
                self.meet(left, right);
            }
        }
    }

    /// A connection of two comes up: each sends its newest release, and asks for what it misses.
    fn meet(&mut self, left: usize, right: usize) {
        if self.nodes[left].is_none() || self.nodes[right].is_none() {
            return;
        }
        for (own, other) in [(left, right), (right, left)] {
            let [from, who] = [own, other].map(|place| LearnerId(u32::try_from(place).unwrap()));
            let newest = self.nodes[own].as_ref().and_then(|node| node.newest_release_for(who));
            if let Some(newest) = newest {
                self.check_sent(own, &newest);
                let bytes = newest.bytes().to_vec();
                self.transmit(own, other, |to| Event::Deliver { to, from, bytes });
            }
            self.with_node(own, |node| Ok(node.on_connected(who)));
        }
    }

    /// A few records every now and then; less often than rounds would like them.
    fn give_records(&mut self, place: usize) {
        let count = 1 + self.record_dice[place].below(8);
        let records = (0..count).map(|_| record(&mut self.record_dice[place])).collect::<Vec<_>>();
        let now = self.now;
        self.with_node(place, |node| match node.accept_records(records, None) {
            // An owner whose records are refused because too many wait sends others later.
            Ok(()) | Err(AcceptError::Over | AcceptError::Full { .. }) => node.tick(now),
            Err(AcceptError::Halt(halt)) => Err(halt),
            Err(other) => panic!("{other}"),
        });
        let wait = self.jitter(Duration::from_millis(400));
        self.schedule(wait, Event::Records(place));
    }

    fn crash_by_chance(&mut self, place: usize) {
        let Some(every) = self.faults.crash_every else { return };
        if self.now < self.faults.until {
            self.crash(place);
            let wait = self.jitter(2 * every);
            self.schedule(wait, Event::Crash(place));
        }
    }

    fn cut_by_chance(&mut self, left: usize, right: usize) {
        let Some(every) = self.faults.cut_every else { return };
        if self.now < self.faults.until {
            self.cut.insert((left, right));
            let wait = self.jitter(self.faults.down);
            self.schedule(wait, Event::Mend(left, right));
            let wait = self.jitter(2 * every);
            self.schedule(wait, Event::Cut(left, right));
        }
    }

    fn crash(&mut self, place: usize) {
        let Some(mut node) = self.nodes[place].take() else { return };
        self.crashes += 1;
        let between = self.unkept[place].take().is_some();
        let before = save(&mut node);
        drop(node);
        // Nothing has happened since the last commit: what is opened again must be the same, bit for bit.
        let again = self.open(place);
        if let (Some(mut again), false) = (again, between) {
            let rounds = (again.learner().round(), self.reached[place].0);
            assert_eq!(rounds.0, rounds.1, "learner {place}: no round is lost");
            assert!(save(&mut again) == before, "learner {place} comes back as it was");
        }
        let wait = self.jitter(self.faults.down);
        self.schedule(wait, Event::Restart(place));
    }

    fn open(&mut self, place: usize) -> Option<TestNode> {
        let id = LearnerId(u32::try_from(place).unwrap());
        let (entropy, store) = (self.entropy.clone(), self.disks[place].clone());
        let settings = Settings { follow_rate: self.follow_rate, ..settings(self.end) };
        let node = Node::open(Arc::clone(&self.setup), id, settings, entropy, store);
        Some(node.unwrap_or_else(|error| panic!("learner {place}: {error}")))
    }

    fn restart(&mut self, place: usize) {
        if self.nodes[place].is_some() {
            return;
        }
        let node = self.open(place);
        self.nodes[place] = node;
        let now = self.now;
        self.with_node(place, |node| node.start(now));
        let own = LearnerId(u32::try_from(place).unwrap());
        let neighbours = self.setup.agreement.graph.neighbours(own).to_vec();
        neighbours.iter().for_each(|(other, _)| self.meet(place, other.0 as usize));
    }

    /// Calls a node, does what it asks for, and checks it.
    fn with_node(
        &mut self,
        place: usize,
        call: impl FnOnce(&mut TestNode) -> Result<Vec<Action>, Halt>,
    ) {
        if self.one_in(self.faults.disk) {
            let was_done = self.dice.below(2) == 0;
            self.disks[place].0.borrow_mut().fails_after.get_or_insert((0, was_done));
        }
        let Some(node) = &mut self.nodes[place] else { return };
        match call(node) {
            Ok(actions) => {
                self.act(place, actions);
                self.check(place);
            }
            Err(_) => {
                // A process that halts is started again.
                self.nodes[place] = None;
                self.unkept[place] = None;
                self.crashes += 1;
                let wait = self.jitter(self.faults.down);
                self.schedule(wait, Event::Restart(place));
                return;
            }
        }
        if let Some(at) = self.nodes[place].as_ref().and_then(|node| node.wake_at()) {
            assert!(at > self.now, "learner {place} is not woken again and again");
            let after = at - self.now;
            if self.wakes[place].is_none_or(|wake| at < wake) {
                self.wakes[place] = Some(at);
                self.schedule(after, Event::Wake(place));
            }
        }
    }

    fn act(&mut self, place: usize, actions: Vec<Action>) {
        let own = LearnerId(u32::try_from(place).unwrap());
        for action in actions {
            match action {
                Action::Publish(sealed) => {
                    self.check_sent(place, &sealed);
                    self.note_used(place);
                    let neighbours = self.setup.agreement.graph.neighbours(own).to_vec();
                    for (neighbour, _) in neighbours {
                        let bytes = sealed.bytes().to_vec();
                        self.transmit(place, neighbour.0 as usize, |to| Event::Deliver {
                            to,
                            from: own,
                            bytes,
                        });
                    }
                }
                Action::Request { neighbour, round } => {
                    self.transmit(place, neighbour.0 as usize, |of| Event::Asked {
                        of,
                        by: own,
                        round,
                    });
                }
                Action::Ended(end) => self.unkept[place] = Some(end),
                Action::NotFollowed { .. } => self.not_followed += 1,
                Action::CutOff(id) => panic!("learner {place} cut off {id}, who was honest"),
                Action::Exhausted(refusal) => panic!("learner {place}: {refusal}"),
            }
        }
    }

    /// What a round ended with counts from when it is kept, which is before the next release.
    fn note_used(&mut self, place: usize) {
        let Some(end) = self.unkept[place].take() else { return };
        for id in &end.heard {
            self.used.insert((place, id.0 as usize, end.report.round.0));
        }
        for (id, round) in &end.late {
            let new = self.used.insert((place, id.0 as usize, round.0));
            assert!(new, "nothing is made up for that was used");
            self.made_up += 1;
        }
    }

    fn transmit(&mut self, from: usize, to: usize, event: impl FnOnce(usize) -> Event) {
        let copies = if self.one_in(self.faults.loss) {
            0
        } else {
            1 + usize::from(self.one_in(self.faults.repeats))
        };
        let count = self.nodes.len();
        let edge = if (from + 1) % count == to { (from, to) } else { (to, from) };
        if copies == 0 || self.cut.contains(&edge) {
            return;
        }
        let event = event(to);
        for copy in 1..=copies {
            let wait = self.jitter(self.faults.delay);
            if copy == copies {
                self.schedule(wait, event);
                return;
            }
            let again = match &event {
                Event::Deliver { to, from, bytes } => {
                    Event::Deliver { to: *to, from: *from, bytes: bytes.clone() }
                }
                Event::Asked { of, by, round } => Event::Asked { of: *of, by: *by, round: *round },
                Event::Wake(_)
                | Event::Records(_)
                | Event::Lie { .. }
                | Event::Crash(_)
                | Event::Restart(_)
                | Event::Cut(..)
                | Event::Mend(..) => return,
            };
            self.schedule(wait, again);
        }
    }

    /// Invariants 3 and 4: at most one release of a round is ever sent, and it is on the disk before.
    fn check_sent(&mut self, place: usize, sealed: &OwnRelease) {
        let bytes = sealed.bytes();
        let round = u64::from_le_bytes(bytes[32..40].try_into().unwrap());
        let first = self.sent.entry((place, round)).or_insert_with(|| bytes.to_vec());
        assert_eq!(first, bytes, "learner {place} sends one release of round {round}");
        let disk = self.disks[place].0.borrow();
        let holds = |kept: &Vec<u8>| kept.windows(bytes.len()).any(|part| part == bytes);
        let durable =
            disk.stored.entries.iter().any(holds) || disk.stored.snapshot.iter().any(holds);
        assert!(durable, "learner {place} keeps the release of round {round} before it is sent");
        self.trace.update(self.now.as_nanos().to_le_bytes());
        self.trace.update(bytes);
    }

    /// Invariants 2 and 5: rounds and budgets only grow, receipts cover them, and θ is finite and in Θ.
    fn check(&mut self, place: usize) {
        let Some(node) = &self.nodes[place] else { return };
        let learner = node.learner();
        let receipts = &self.disks[place].0.borrow().receipts;
        // A round that has ended is not kept before the next begins: it may be lost, and end otherwise.
        let round = receipts.last().map_or(Round::ZERO, |receipt| receipt.round);
        let spent = learner.accountant().spent().zcdp;
        let (round_before, spent_before) = self.reached[place];
        assert!(round >= round_before && spent >= spent_before, "learner {place} only grows");
        self.reached[place] = (round, spent);
        let paid = receipts.last().map_or(0.0, |receipt| receipt.zcdp_total);
        assert!(paid.to_bits() == spent.to_bits(), "learner {place}: what is spent is on record");
        let theta = learner.private_parameters().for_owner();
        let norm = theta.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!(norm <= self.setup.agreement.domain.radius(theta.len()) * (1.0 + 1e-12));
    }

    /// The ledgers of all learners, computed again from public facts.
    pub(crate) fn check_ledgers(&self) {
        for (place, disk) in self.disks.iter().enumerate() {
            let id = LearnerId(u32::try_from(place).unwrap());
            let disk = disk.0.borrow();
            verify(id, &self.setup.mechanisms[place], None, &disk.receipts).unwrap();
        }
    }

    /// Edges and rounds that one end has used and the other has not, up to a round.
    pub(crate) fn one_sided(&self, before: u64) -> usize {
        let other = |&(left, right, round): &(usize, usize, u64)| (right, left, round);
        self.used.iter().filter(|edge| edge.2 < before && !self.used.contains(&other(edge))).count()
    }

    /// A hash of everything that was sent, and when.
    pub(crate) fn trace(&self) -> Vec<u8> {
        self.trace.clone().finalize().to_vec()
    }
}
