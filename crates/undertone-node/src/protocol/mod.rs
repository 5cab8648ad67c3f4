//! The protocol of a round, without sockets or clocks.
//!
//! A [`Node`] composes the round with its deadlines (`round`), the records that wait (`inbox`), what is stored
//! (`journal`), catching up with neighbours (`catch_up`) and how far that may go (`following`), and what its owner may see
//! (`view`).

mod action;
mod catch_up;
mod distance;
mod entry;
mod error;
mod following;
mod inbox;
mod inspect;
mod journal;
mod model_accounts;
mod neighbour;
mod neighbours;
mod node;
mod public_start;
mod recovery;
mod round;
mod round_set;
mod settings;
mod snapshot;
mod view;

pub use action::{Action, RoundEnd};
pub use error::{AcceptError, Halt, OpenError};
pub use following::FOLLOW_RATE;
pub use inspect::StoredNode;
pub use neighbour::Presence;
pub use node::Node;
pub(crate) use recovery::check_method;
pub use settings::Settings;
pub use view::{Counters, NeighbourView, NodeState};

/// For how many rounds a learner holds releases: its own for neighbours that request them, and theirs for late pulls.
pub const KEPT_ROUNDS: u64 = 8;
