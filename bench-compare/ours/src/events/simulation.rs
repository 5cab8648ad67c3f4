//! Events in the order of simulated time.

use super::Scenario;
use super::learners::{self, Dice, Disk, SeededEntropy};
use super::measures::{Ended, Measures};
use super::wide_area::{ASK_BYTES, WideArea};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use undertone::{LearnerId, Round};
use undertone_models::Setup;
use undertone_node::protocol::{Action, Halt, Node, Settings, State};
use undertone_node::wire::{OwnRelease, Wire};

pub(super) type SimulatedNode = Node<SeededEntropy, Disk>;

/// A run that takes longer than this has stalled.
const SIMULATED_SECONDS_MOST: f64 = 20_000.0;
/// The longest time until a neighbour that connects tries again.
const CALLED_WITHIN_SECONDS: f64 = 2.0;
/// Learners are started within this time.
const STARTS_WITHIN_SECONDS: f64 = 1.0;

enum What {
    Deliver { to: u32, from: u32, release: OwnRelease },
    Asked { of: u32, by: u32, round: u64 },
    Wake(u32),
    GoAway(u32),
    ComeBack(u32),
    Meet { caller: u32, called: u32 },
}

struct Event {
    at: u64,
    /// Of two events at the same time, the one that was planned first comes first.
    sequence: u64,
    what: What,
}

/// A machine that is up, or the disk of a machine that is down.
enum Machine {
    Up(Box<SimulatedNode>),
    Down(Disk),
}

/// All learners, the network between them, and the events to come.
pub(super) struct Simulation {
    scenario: Scenario,
    setup: Arc<Setup>,
    wire: Wire,
    /// How long it took to make the wire format, which includes a hash over all learners.
    pub(super) wire_seconds: f64,
    settings: Settings,
    machines: Vec<Machine>,
    starts: Vec<Vec<f64>>,
    records_given: Vec<u64>,
    /// When each learner is to be woken.
    wakes: Vec<u64>,
    network: WideArea,
    churn: Dice,
    queue: BinaryHeap<Reverse<Event>>,
    sequence: u64,
    now: u64,
    measures: Measures,
}

const NEVER: u64 = u64::MAX;

impl Simulation {
    pub(super) fn new(scenario: &Scenario) -> Simulation {
        let setup = learners::setup(scenario);
        let learners = scenario.learners;
        let begin = Instant::now();
        let wire = Wire::new(Arc::clone(&setup));
        let mut simulation = Simulation {
            scenario: scenario.clone(),
            wire_seconds: begin.elapsed().as_secs_f64(),
            wire,
            setup,
            settings: learners::settings(scenario),
            machines: (0..learners).map(|_| Machine::Down(Disk::default())).collect(),
            starts: Vec::with_capacity(learners),
            records_given: vec![0; learners],
            wakes: vec![NEVER; learners],
            network: WideArea::new(scenario),
            churn: Dice(scenario.seed ^ 0xc4),
            queue: BinaryHeap::new(),
            sequence: 0,
            now: 0,
            measures: Measures::new(scenario),
        };
        for place in 0..learners {
            simulation.plan_start(place);
        }
        simulation
    }

    /// Plans a learner's start. With churn some learners are away at the start, as many as at any
    /// other time.
    fn plan_start(&mut self, place: usize) {
        let node = self.open(place, Disk::default());
        let start = node.learner().private_parameters().for_owner().to_vec();
        let faults = self.scenario.faults;
        let mut wait = STARTS_WITHIN_SECONDS * self.churn.unit();
        let share_away = faults.down_seconds / (faults.up_seconds + faults.down_seconds);
        let is_away = faults.up_seconds > 0.0 && self.churn.unit() < share_away;
        if is_away {
            wait += self.churn.exponential(faults.down_seconds);
        }
        self.measures.start(place, &start, !is_away);
        self.starts.push(start);
        self.schedule(nanoseconds(wait), What::ComeBack(place as u32));
    }

    fn open(&self, place: usize, disk: Disk) -> SimulatedNode {
        let entropy = SeededEntropy(self.scenario.seed);
        let id = LearnerId(place as u32);
        let node = Node::open_on(self.wire.clone(), id, self.settings, entropy, disk);
        node.unwrap_or_else(|error| panic!("learner {place}: {error}"))
    }

    /// Runs until every learner has run its rounds, or the run has stalled.
    pub(super) fn run(&mut self) {
        while let Some(Reverse(event)) = self.queue.pop() {
            self.now = event.at;
            if self.now_seconds() > SIMULATED_SECONDS_MOST {
                return;
            }
            self.step(event.what);
            if self.measures.unfinished() == 0 {
                break;
            }
        }
        self.measures.bytes = self.network.bytes_sent;
    }

    fn step(&mut self, what: What) {
        match what {
            What::Deliver { to, from, release } => {
                let now = self.clock();
                self.with_node(to as usize, |node| node.receive(LearnerId(from), release.bytes(), now));
            }
            What::Asked { of, by, round } => self.answer(of as usize, by as usize, round),
            What::Wake(place) => {
                let place = place as usize;
                if self.wakes[place] == self.now {
                    self.wakes[place] = NEVER;
                    self.tick(place);
                }
            }
            What::GoAway(place) => self.go_away(place as usize),
            What::ComeBack(place) => self.come_back(place as usize),
            What::Meet { caller, called } => self.meet(caller as usize, called as usize),
        }
    }

    fn answer(&mut self, of: usize, by: usize, round: u64) {
        let Machine::Up(node) = &self.machines[of] else { return };
        if let Some(release) = node.release_for(LearnerId(by as u32), Round(round)) {
            self.measures.answers += 1;
            self.deliver(of, by, release);
        }
    }

    fn go_away(&mut self, place: usize) {
        let machine = std::mem::replace(&mut self.machines[place], Machine::Down(Disk::default()));
        let disk = match machine {
            Machine::Up(node) => node.into_store(),
            Machine::Down(disk) => disk,
        };
        self.machines[place] = Machine::Down(disk);
        self.wakes[place] = NEVER;
        self.network.forget(place);
        self.measures.away(place);
        let wait = self.churn.exponential(self.scenario.faults.down_seconds);
        self.schedule(nanoseconds(wait), What::ComeBack(place as u32));
    }

    fn come_back(&mut self, place: usize) {
        let machine = std::mem::replace(&mut self.machines[place], Machine::Down(Disk::default()));
        let Machine::Down(disk) = machine else { unreachable!("only who is away comes back") };
        self.machines[place] = Machine::Up(Box::new(self.open(place, disk)));
        let now = self.clock();
        self.hand_records(place);
        self.with_node(place, |node| node.start(now));
        if !self.scenario.router {
            self.call_neighbours(place);
        }
        if self.scenario.faults.up_seconds > 0.0 {
            let wait = self.churn.exponential(self.scenario.faults.up_seconds);
            self.schedule(nanoseconds(wait), What::GoAway(place as u32));
        }
    }

    /// Of two neighbours, the one with the smaller number connects: at once when it comes back, and
    /// then at least every two seconds. A connection is ready after two round trips.
    fn call_neighbours(&mut self, place: usize) {
        let setup = Arc::clone(&self.setup);
        for &(neighbour, _) in setup.agreement.graph.neighbours(LearnerId(place as u32)) {
            let other = neighbour.0 as usize;
            let pause = if place < other { 0.0 } else { CALLED_WITHIN_SECONDS * self.churn.unit() };
            let trips = 2 * self.network.round_trip(place, other);
            let (caller, called) = (place.min(other) as u32, place.max(other) as u32);
            self.schedule(nanoseconds(pause) + trips, What::Meet { caller, called });
        }
    }

    /// Two neighbours are connected: each sends the other its newest release, and requests what it
    /// has missed.
    fn meet(&mut self, one: usize, other: usize) {
        let up = |place: usize| matches!(self.machines[place], Machine::Up(_));
        if !up(one) || !up(other) {
            return;
        }
        for (own, who) in [(one, other), (other, one)] {
            let id = LearnerId(who as u32);
            let Machine::Up(node) = &self.machines[own] else { continue };
            if let Some(newest) = node.newest_release_for(id) {
                self.deliver(own, who, newest);
            }
            self.with_node(own, |node| Ok(node.on_connected(id)));
        }
    }

    /// Gives a learner a record for its next round, because only the network is measured. Returns
    /// whether it waited only for that.
    fn hand_records(&mut self, place: usize) -> bool {
        let Machine::Up(node) = &mut self.machines[place] else { return false };
        if node.waiting_records() > 0 || node.learner().round() >= self.settings.end {
            return false;
        }
        let (checker, number) = (self.setup.record_checker(), self.records_given[place]);
        let record = learners::record(&self.scenario, &checker, place, number);
        self.records_given[place] += 1;
        node.accept_records(vec![record], None).expect("there is room");
        node.state() == State::Gathering
    }

    fn tick(&mut self, place: usize) {
        let now = self.clock();
        self.with_node(place, |node| node.tick(now));
    }

    /// Calls a learner that is up, and performs its actions.
    fn with_node(
        &mut self,
        place: usize,
        call: impl FnOnce(&mut SimulatedNode) -> Result<Vec<Action>, Halt>,
    ) {
        let Machine::Up(node) = &mut self.machines[place] else { return };
        let actions = call(node).unwrap_or_else(|halt| panic!("learner {place}: {halt}"));
        let wake = node.wake_at().map_or(NEVER, |at| at.as_nanos() as u64);
        self.act(place, actions);
        if self.hand_records(place) {
            // The learner ended two rounds at once.
            return self.tick(place);
        }
        if wake < self.wakes[place] {
            self.wakes[place] = wake;
            self.schedule(wake.saturating_sub(self.now), What::Wake(place as u32));
        }
    }

    fn act(&mut self, place: usize, actions: Vec<Action>) {
        let last_end = actions.iter().rposition(|action| matches!(action, Action::Ended(_)));
        for (number, action) in actions.into_iter().enumerate() {
            match action {
                Action::Publish(release) => self.publish(place, &release),
                Action::Request { neighbour, round } => self.ask(place, neighbour.0 as usize, round),
                Action::Ended(end) => {
                    let (round, heard, made_up) = (end.report.round.0, end.heard.len(), end.late.len());
                    self.note_end(place, round, [heard, made_up], Some(number) == last_end);
                }
                // Counted in what is sat out.
                Action::NotFollowed { .. } => {}
                Action::CutOff(neighbour) => panic!("learner {place} cut off {neighbour}, who was honest"),
                Action::Exhausted(refusal) => panic!("learner {place}: {refusal}"),
            }
        }
    }

    fn note_end(&mut self, place: usize, round: u64, [heard, made_up]: [usize; 2], newest: bool) {
        let Machine::Up(node) = &self.machines[place] else { return };
        let learner = node.learner();
        let neighbours = self.setup.agreement.graph.neighbours(learner.id()).len();
        let (at, now_in) = (self.now, learner.round().0);
        let parameters = newest.then(|| learner.private_parameters().for_owner());
        self.measures.ended(&Ended { learner: place, round, now_in, heard, neighbours, made_up, at, parameters });
        if now_in >= self.scenario.rounds {
            self.measures.finish(place, at);
        }
    }

    fn publish(&mut self, place: usize, release: &OwnRelease) {
        let setup = Arc::clone(&self.setup);
        for &(neighbour, _) in setup.agreement.graph.neighbours(LearnerId(place as u32)) {
            self.deliver(place, neighbour.0 as usize, release.clone());
        }
    }

    fn deliver(&mut self, from: usize, to: usize, release: OwnRelease) {
        let loss = self.scenario.faults.loss;
        let arrives = self.network.send(from, to, release.bytes().len(), loss, self.now);
        if let Some(at) = arrives {
            self.schedule(at - self.now, What::Deliver { to: to as u32, from: from as u32, release });
        }
    }

    fn ask(&mut self, by: usize, of: usize, round: Round) {
        self.measures.asks += 1;
        let loss = self.scenario.faults.loss_of_asks;
        if let Some(at) = self.network.send(by, of, ASK_BYTES, loss, self.now) {
            self.schedule(at - self.now, What::Asked { of: of as u32, by: by as u32, round: round.0 });
        }
    }

    fn schedule(&mut self, after: u64, what: What) {
        self.sequence += 1;
        self.queue.push(Reverse(Event { at: self.now + after, sequence: self.sequence, what }));
    }

    fn clock(&self) -> Duration {
        Duration::from_nanos(self.now)
    }

    pub(super) fn now_seconds(&self) -> f64 {
        self.now as f64 * 1e-9
    }

    pub(super) fn setup(&self) -> &Setup {
        &self.setup
    }

    pub(super) fn starts(&self) -> &[Vec<f64>] {
        &self.starts
    }

    pub(super) fn measures(&self) -> &Measures {
        &self.measures
    }

    pub(super) fn message_bytes(&self) -> usize {
        self.wire.message_bytes()
    }

    /// How many events were planned.
    pub(super) fn events(&self) -> u64 {
        self.sequence
    }

    /// A learner, if it is up.
    #[cfg(test)]
    pub(super) fn node(&self, place: usize) -> Option<&SimulatedNode> {
        match &self.machines[place] {
            Machine::Up(node) => Some(node),
            Machine::Down(_) => None,
        }
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Event) -> Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}
