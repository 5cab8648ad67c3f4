//! One learner as a daemon.
//!
//! [`wire`] encodes releases, [`protocol`] decides when they are sent, and [`store`] keeps what a learner must not
//! forget. None of them uses a socket or a clock: the driver of a [`Node`](protocol::Node) tells it what has arrived and
//! what time it is, and does the actions it returns. On a real network the driver is the [`Daemon`], with a [`link`] to
//! the neighbours, which identify themselves by [`certificates`]. The [`owner`] sends records ([`intake`], [`feed`]) and
//! sees the learner's state over [`http`]. A store whose learner does not run is read by
//! [`Node::inspect`](protocol::Node::inspect).

pub mod certificates;
pub mod daemon;
pub mod feed;
pub mod http;
pub mod intake;
pub mod link;
pub mod loss_history;
pub mod mailbox;
pub mod owner;
mod private_file;
pub mod protocol;
mod start_error;
pub mod store;
pub mod wire;

pub use daemon::{Daemon, DaemonSettings};
pub use start_error::StartError;

/// The panic message when a lock is poisoned: a bug, because no code panics while it holds one.
pub(crate) const LOCK_POISONED: &str = "a thread panicked while it held this lock";
