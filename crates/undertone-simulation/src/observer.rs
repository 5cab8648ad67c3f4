//! What sees a simulation and changes nothing in it.

use crate::memory_store::MemoryStore;
use crate::simulation::SimulatedNode;
use std::time::Duration;
use undertone::LearnerId;
use undertone_node::protocol::{Halt, RoundEnd};
use undertone_node::wire::OwnRelease;

/// Checks invariants or measures. Each function is called as something happens; by default it does nothing.
pub trait Observer {
    /// A learner sends a release: once for all neighbours that it publishes it to.
    fn sent(&mut self, _sent: &Sent<'_>) {}

    /// A learner asks a neighbour for a release.
    fn requested(&mut self, _by: LearnerId) {}

    /// A learner has ended a round. `is_last`: it has not ended another in the same call since.
    fn ended(&mut self, _node: &SimulatedNode, _end: RoundEnd, _is_last: bool, _now: Duration) {}

    /// A learner reports that it does not follow a neighbour.
    fn not_followed(&mut self, _by: LearnerId) {}

    /// A learner was called without error, and its actions are done.
    fn called(&mut self, _node: &SimulatedNode, _disk: &MemoryStore) {}

    /// A learner halts with its machine.
    fn halted(&mut self, learner: LearnerId, halt: &Halt);

    /// A learner's machine stops between two calls. `open_again` opens its store as a restart will.
    fn stopping(&mut self, _node: &mut SimulatedNode, _open_again: impl FnOnce() -> SimulatedNode) {
    }
}

/// A release on its way out.
#[derive(Clone, Copy)]
pub struct Sent<'a> {
    /// The learner that sends it.
    pub by: LearnerId,
    /// What it sends.
    pub release: &'a OwnRelease,
    /// Why now.
    pub occasion: Occasion,
    /// Its disk.
    pub disk: &'a MemoryStore,
    /// The time.
    pub now: Duration,
}

/// Why a release is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// It is new, or its learner has just started.
    Published,
    /// A neighbour requested it.
    Requested,
    /// A neighbour has connected.
    Connected,
}
