//! A network of nodes in one process, in simulated time: the real protocol, not a model of it.
//!
//! Every learner is an [`undertone_node::protocol::Node`] that speaks the real wire format and keeps its rounds in a store.
//! Only its surroundings are simulated. A [`Simulation`] has three parts that differ from use to use:
//!
//! - [`Conditions`] decide how long messages take, which are lost, when machines stop and where records come from.
//!   [`FaultyConditions`] are those of tests.
//! - an [`Observer`] sees what happens and changes nothing: it checks invariants, or measures.
//! - a `done` closure, given to [`Simulation::run`], says when a run is over.
//!
//! Everything follows from a seed, the noise included. NOT PRIVATE: only tests and measurements depend on this crate.

mod conditions;
mod dice;
mod entropy;
mod faults;
mod memory_store;
mod observer;
mod queue;
mod simulation;

pub use conditions::{Arrivals, Conditions, Connection, Content, Message};
pub use dice::Dice;
pub use entropy::RepeatableEntropy;
pub use faults::{Claim, FaultEvent, Faults, FaultyConditions};
pub use memory_store::{Disk, MemoryStore};
pub use observer::{Observer, Occasion, Sent};
pub use simulation::{SimulatedNode, Simulation};
