//! What surrounds the learners of a scenario: a wide-area network, machines that go away, and as many records as they use.

use super::Scenario;
use super::learners;
use super::measures::Measures;
use super::wide_area::{REQUEST_BYTES, WideArea};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};
use undertone::LearnerId;
use undertone_models::{BoundedRecord, RecordChecker, Setup};
use undertone_node::wire::Wire;
use undertone_simulation::{
    Arrivals, Conditions, Connection, Content, Dice, Message, Observer, RepeatableEntropy, Simulation,
};

/// A run that takes longer than this has stalled.
const SIMULATED_MOST: Duration = Duration::from_secs(20_000);
/// The longest time until a neighbour that connects tries again.
const CALLED_WITHIN_SECONDS: f64 = 2.0;
/// Learners are started within this time.
const STARTS_WITHIN_SECONDS: f64 = 1.0;

/// A scenario that is run.
pub(super) struct Run {
    pub(super) simulation: Simulation<Surroundings, Measures>,
    /// Where each learner started.
    pub(super) starts: Vec<Vec<f64>>,
    /// How long it took to make the wire format, which includes a hash over all learners.
    pub(super) wire_seconds: f64,
}

impl Run {
    pub(super) fn new(scenario: &Scenario) -> Run {
        let setup = learners::setup(scenario);
        let begin = Instant::now();
        let wire = Wire::new(Arc::clone(&setup));
        let wire_seconds = begin.elapsed().as_secs_f64();
        let (settings, entropy) = (learners::settings(scenario), RepeatableEntropy::new(scenario.seed));
        let (surroundings, measures) = (Surroundings::new(scenario, &setup), Measures::new(scenario));
        let mut simulation = Simulation::new(wire, settings, entropy, surroundings, measures);
        let starts = setup.agreement.graph.ids().map(|id| plan_start(&mut simulation, id)).collect();
        Run { simulation, starts, wire_seconds }
    }

    /// Runs until every learner has run its rounds, or the run has stalled.
    pub(super) fn run(&mut self) {
        self.simulation.run(SIMULATED_MOST, |simulation| simulation.observer.unfinished() == 0);
        self.simulation.observer.bytes = self.simulation.conditions.network.bytes_sent;
    }

    pub(super) fn measures(&self) -> &Measures {
        &self.simulation.observer
    }
}

/// Plans a learner's start, and returns where it starts. With churn some learners are away at first, as many as at any other
/// time.
fn plan_start(simulation: &mut Simulation<Surroundings, Measures>, learner: LearnerId) -> Vec<f64> {
    let start = simulation.open(learner).learner().private_parameters().for_owner().to_vec();
    let (wait, is_away) = simulation.conditions.first_start();
    simulation.observer.start(learner, &start, !is_away);
    simulation.start_after(wait, learner);
    start
}

pub(super) struct Surroundings {
    scenario: Scenario,
    network: WideArea,
    churn: Dice,
    checker: RecordChecker,
    records_given: Vec<u64>,
}

impl Surroundings {
    fn new(scenario: &Scenario, setup: &Setup) -> Surroundings {
        Surroundings {
            network: WideArea::new(scenario),
            churn: Dice::new(scenario.seed ^ 0xc4),
            checker: setup.record_checker(),
            records_given: vec![0; scenario.learners],
            scenario: scenario.clone(),
        }
    }

    /// When a learner starts, and whether it is away until then.
    fn first_start(&mut self) -> (Duration, bool) {
        let faults = self.scenario.faults;
        let mut wait = STARTS_WITHIN_SECONDS * self.churn.positive_unit();
        let share_away = faults.down_seconds / (faults.up_seconds + faults.down_seconds);
        let is_away = faults.up_seconds > 0.0 && self.churn.positive_unit() < share_away;
        if is_away {
            wait += self.churn.exponential(faults.down_seconds);
        }
        (duration(wait), is_away)
    }
}

impl Conditions for Surroundings {
    type Event = Infallible;

    fn send(&mut self, message: &Message, now: Duration) -> Arrivals {
        let faults = self.scenario.faults;
        let (bytes, loss) = match message.content {
            Content::Release { bytes } => (bytes, faults.loss),
            Content::Request => (REQUEST_BYTES, faults.loss_of_requests),
        };
        [self.network.send(message.from, message.to, bytes, loss, now), None]
    }

    /// Of two neighbours, the one with the smaller number connects: at once when it comes back, and then at least every two
    /// seconds. A connection is ready after two round trips. A router does not announce arrivals.
    fn connect(&mut self, starting: LearnerId, neighbour: LearnerId) -> Option<Connection> {
        if self.scenario.router {
            return None;
        }
        let pause =
            if starting < neighbour { 0.0 } else { CALLED_WITHIN_SECONDS * self.churn.positive_unit() };
        let trips = 2 * self.network.round_trip(starting, neighbour);
        let (caller, called) = (starting.min(neighbour), starting.max(neighbour));
        Some(Connection { caller, called, wait: duration(pause) + trips })
    }

    fn time_up(&mut self, _: LearnerId) -> Option<Duration> {
        let mean = self.scenario.faults.up_seconds;
        (mean > 0.0).then(|| duration(self.churn.exponential(mean)))
    }

    fn time_down(&mut self, learner: LearnerId) -> Duration {
        self.network.forget(learner);
        duration(self.churn.exponential(self.scenario.faults.down_seconds))
    }

    /// Always one, because only the network is measured.
    fn record_for(&mut self, learner: LearnerId) -> Option<BoundedRecord> {
        let given = &mut self.records_given[learner.0 as usize];
        let record = learners::record(&self.scenario, &self.checker, learner, *given);
        *given += 1;
        Some(record)
    }

    fn happen<O: Observer>(_: &mut Simulation<Surroundings, O>, event: Infallible) {
        match event {}
    }
}

fn duration(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e9) as u64)
}
