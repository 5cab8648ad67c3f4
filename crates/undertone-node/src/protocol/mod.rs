//! When a learner says what: the protocol of a round, without sockets or clocks.

mod entry;
mod marks;
mod neighbour;
mod node;
mod recover;

pub use neighbour::Standing;
pub use node::{
    Action, Counters, Halt, NeighbourView, Node, RoundEnd, Settings, State, TakeInError,
};
pub use recover::{OpenError, check_method};

/// For how many rounds a learner can still be asked for what it released, and makes up for what was missed.
pub const KEPT_ROUNDS: u64 = 8;
