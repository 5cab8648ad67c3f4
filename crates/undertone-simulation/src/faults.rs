//! The conditions of tests: messages are lost, machines crash, disks fail, until all is mended.

use crate::conditions::{Arrivals, Conditions, Connection, Message};
use crate::dice::Dice;
use crate::entropy::RepeatableEntropy;
use crate::memory_store::MemoryStore;
use crate::observer::Observer;
use crate::simulation::Simulation;
use std::collections::BTreeSet;
use std::time::Duration;
use undertone::{LearnerId, Round};
use undertone_models::BoundedRecord;

/// Learners are started within this time.
const STARTS_WITHIN: Duration = Duration::from_secs(1);
/// Records come after at most this time.
const RECORDS_WITHIN: Duration = Duration::from_millis(400);
/// At most so many records come at once.
const RECORDS_AT_ONCE: u64 = 8;

/// What goes wrong, until a time at which everything is mended.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// One message in so many is lost; 0 loses none.
    pub loss: u64,
    /// One in so many comes twice.
    pub repeats: u64,
    /// Messages take up to so long.
    pub delay: Duration,
    /// A learner crashes about this often.
    pub crash_every: Option<Duration>,
    /// And stays down up to so long.
    pub down: Duration,
    /// An operation of a disk fails about one in so many times; 0 never.
    pub disk: u64,
    /// Edges are cut about this often, for up to `down`.
    pub cut_every: Option<Duration>,
    /// When all of it ends.
    pub until: Duration,
}

impl Faults {
    /// Messages take a while, and nothing goes wrong.
    pub const NONE: Faults = Faults {
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

/// What a liar claims, given the time and the round of the learner that it lies to.
pub type Claim = fn(Duration, Round) -> Round;

/// What these conditions schedule.
#[derive(Clone, Copy, Debug)]
pub enum FaultEvent {
    /// A learner gets records.
    Records(LearnerId),
    /// A learner's machine crashes, if faults have not ended.
    Crash(LearnerId),
    /// The edge of two learners is cut, if faults have not ended.
    Cut(LearnerId, LearnerId),
    /// An edge is mended.
    Mend(LearnerId, LearnerId),
    /// A learner that does not run claims rounds.
    FalseClaims {
        /// Who claims.
        from: LearnerId,
        /// How often.
        every: Duration,
        /// What it says to each neighbour.
        claim: Claim,
    },
}

/// Faults by chance, and a few records every now and then.
pub struct FaultyConditions {
    faults: Faults,
    dice: Dice,
    record_dice: Vec<Dice>,
    record: fn(&mut Dice) -> BoundedRecord,
    /// Edges that are cut, the smaller number first.
    cut: BTreeSet<(LearnerId, LearnerId)>,
}

impl FaultyConditions {
    /// The conditions that belong to a seed. Each learner's records are drawn from its own dice.
    #[must_use]
    pub fn new(
        faults: Faults,
        learners: usize,
        seed: u64,
        record: fn(&mut Dice) -> BoundedRecord,
    ) -> FaultyConditions {
        let record_dice = (0..learners as u64).map(|id| Dice::new(seed ^ (id << 40))).collect();
        FaultyConditions {
            faults,
            dice: Dice::new(seed),
            record_dice,
            record,
            cut: BTreeSet::new(),
        }
    }

    fn jitter(&mut self, most: Duration) -> Duration {
        let nanoseconds = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX).max(1);
        Duration::from_nanos(self.dice.below(nanoseconds))
    }

    fn one_in(&mut self, count: u64, now: Duration) -> bool {
        now < self.faults.until && count > 0 && self.dice.below(count) == 0
    }

    fn records(&mut self, learner: LearnerId) -> Vec<BoundedRecord> {
        let dice = &mut self.record_dice[learner.0 as usize];
        let count = 1 + dice.below(RECORDS_AT_ONCE);
        (0..count).map(|_| (self.record)(dice)).collect()
    }
}

impl Conditions for FaultyConditions {
    type Event = FaultEvent;

    fn send(&mut self, message: &Message, now: Duration) -> Arrivals {
        if self.one_in(self.faults.loss, now) {
            return [None; 2];
        }
        let is_repeated = self.one_in(self.faults.repeats, now);
        if self.cut.contains(&edge(message.from, message.to)) {
            return [None; 2];
        }
        let first = self.jitter(self.faults.delay);
        [Some(first), is_repeated.then(|| self.jitter(self.faults.delay))]
    }

    fn connect(&mut self, starting: LearnerId, neighbour: LearnerId) -> Option<Connection> {
        Some(Connection { caller: starting, called: neighbour, wait: Duration::ZERO })
    }

    fn time_up(&mut self, _: LearnerId) -> Option<Duration> {
        None
    }

    fn time_down(&mut self, _: LearnerId) -> Duration {
        self.jitter(self.faults.down)
    }

    fn before_call(&mut self, disk: &MemoryStore, now: Duration) {
        if self.one_in(self.faults.disk, now) {
            let takes_effect = self.dice.below(2) == 0;
            disk.0.borrow_mut().fails_after.get_or_insert((0, takes_effect));
        }
    }

    fn happen<O: Observer>(simulation: &mut Simulation<FaultyConditions, O>, event: FaultEvent) {
        match event {
            FaultEvent::Records(learner) => simulation.bring_records(learner),
            FaultEvent::Crash(learner) => simulation.crash(learner),
            FaultEvent::Cut(left, right) => simulation.cut(left, right),
            FaultEvent::Mend(left, right) => {
                simulation.conditions.cut.remove(&edge(left, right));
                simulation.connect(left, right);
            }
            FaultEvent::FalseClaims { from, every, claim } => {
                simulation.send_false_claims(from, claim);
                simulation.happen_after(every, event);
            }
        }
    }
}

impl<O: Observer> Simulation<FaultyConditions, O> {
    /// Schedules the starts of all learners, their records, and what goes wrong.
    pub fn start_all(&mut self) {
        let ids: Vec<LearnerId> = self.ids().collect();
        for (index, &learner) in ids.iter().enumerate() {
            let wait = self.conditions.jitter(STARTS_WITHIN);
            self.start_after(wait, learner);
            self.happen_after(Duration::ZERO, FaultEvent::Records(learner));
            if let Some(every) = self.conditions.faults.crash_every {
                let wait = self.conditions.jitter(2 * every);
                self.happen_after(wait, FaultEvent::Crash(learner));
            }
            if let Some(every) = self.conditions.faults.cut_every {
                let wait = self.conditions.jitter(2 * every);
                let next = ids[(index + 1) % ids.len()];
                self.happen_after(wait, FaultEvent::Cut(learner, next));
            }
        }
    }

    /// Cuts edges until a time.
    pub fn cut_until(&mut self, until: Duration, edges: &[(LearnerId, LearnerId)]) {
        for &(left, right) in edges {
            self.conditions.cut.insert(edge(left, right));
            self.happen_after(until.saturating_sub(self.now()), FaultEvent::Mend(left, right));
        }
    }

    /// A few records for a learner; less often than rounds would like them.
    fn bring_records(&mut self, learner: LearnerId) {
        let records = self.conditions.records(learner);
        self.give_records(learner, records);
        let wait = self.conditions.jitter(RECORDS_WITHIN);
        self.happen_after(wait, FaultEvent::Records(learner));
    }

    fn crash(&mut self, learner: LearnerId) {
        let Some(every) = self.conditions.faults.crash_every else { return };
        if self.now() < self.conditions.faults.until {
            self.stop(learner);
            let wait = self.conditions.jitter(2 * every);
            self.happen_after(wait, FaultEvent::Crash(learner));
        }
    }

    fn cut(&mut self, left: LearnerId, right: LearnerId) {
        let Some(every) = self.conditions.faults.cut_every else { return };
        if self.now() < self.conditions.faults.until {
            self.conditions.cut.insert(edge(left, right));
            let wait = self.conditions.jitter(self.conditions.faults.down);
            self.happen_after(wait, FaultEvent::Mend(left, right));
            let wait = self.conditions.jitter(2 * every);
            self.happen_after(wait, FaultEvent::Cut(left, right));
        }
    }

    /// A learner that does not run sends each neighbour a release of the round that it claims.
    fn send_false_claims(&mut self, from: LearnerId, claim: Claim) {
        for to in self.neighbours(from) {
            let Some(node) = self.node(to) else { continue };
            let claimed = claim(self.now(), node.learner().round());
            let mut learner = self.setup().learner(from).expect("it is of this network");
            learner.skip_to(Round(claimed.0.min(Round::LIMIT.0 - 1)));
            let release = learner.release(&mut RepeatableEntropy::counting(9));
            let release = self.wire().encode(&release.expect("nothing was spent"), &[]);
            self.deliver(from, to, &release);
        }
    }
}

fn edge(one: LearnerId, other: LearnerId) -> (LearnerId, LearnerId) {
    (one.min(other), one.max(other))
}
