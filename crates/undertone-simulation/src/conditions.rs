//! What the surroundings of the learners do: network, machines, disks and sources of records.

use crate::memory_store::MemoryStore;
use crate::observer::Observer;
use crate::simulation::Simulation;
use std::time::Duration;
use undertone::LearnerId;
use undertone_models::BoundedRecord;

/// The surroundings of a simulation.
pub trait Conditions: Sized {
    /// What these conditions schedule for themselves, beyond starts, stops, messages and connections.
    type Event;

    /// A message is sent: after how long each copy of it arrives.
    fn send(&mut self, message: &Message, now: Duration) -> Arrivals;

    /// A learner has started: how it is connected with a neighbour. `None`: neither notices.
    fn connect(&mut self, starting: LearnerId, neighbour: LearnerId) -> Option<Connection>;

    /// A learner has started: after how long its machine stops, if that is known.
    fn time_up(&mut self, learner: LearnerId) -> Option<Duration>;

    /// A learner's machine has stopped: after how long it starts again.
    fn time_down(&mut self, learner: LearnerId) -> Duration;

    /// A learner is about to be called, if it is up: its disk may be told to fail.
    fn before_call(&mut self, _disk: &MemoryStore, _now: Duration) {}

    /// A learner has no records left. With `None` it waits until it is given some.
    fn record_for(&mut self, _learner: LearnerId) -> Option<BoundedRecord> {
        None
    }

    /// The time of an event has come.
    fn happen<O: Observer>(simulation: &mut Simulation<Self, O>, event: Self::Event);
}

/// After how long each copy of a message arrives. Without any it is lost.
pub type Arrivals = [Option<Duration>; 2];

/// A message between two learners.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Who sends it.
    pub from: LearnerId,
    /// To whom.
    pub to: LearnerId,
    /// What it is.
    pub content: Content,
}

/// What a message is.
#[derive(Clone, Copy, Debug)]
pub enum Content {
    /// A release of so many bytes.
    Release {
        /// Its length.
        bytes: usize,
    },
    /// A request for a release.
    Request,
}

/// A connection of two learners that comes up.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    /// The learner that connects, which sends first.
    pub caller: LearnerId,
    /// The other.
    pub called: LearnerId,
    /// After how long it is ready; with zero it is ready at once.
    pub wait: Duration,
}
