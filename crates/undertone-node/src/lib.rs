//! One learner as a daemon.
//!
//! [`wire`] encodes releases, [`protocol`] decides when they are sent, and [`store`] keeps what a
//! learner must not lose in a crash. None of them uses a socket or a clock: the driver of a
//! [`Node`](protocol::Node) tells it what has arrived and what time it is, and does the actions it
//! returns. On a real network the driver is the [`daemon`], with a [`link`] to the neighbours,
//! which identify themselves by [`certificates`]. The [`owner`] sends records ([`intake`],
//! [`feed`]) and sees the learner's state over [`http`].

pub mod certificates;
pub mod daemon;
pub mod feed;
pub mod history;
pub mod http;
pub mod intake;
pub mod link;
pub mod mailbox;
pub mod owner;
mod private_file;
pub mod protocol;
pub mod store;
pub mod wire;

/// The panic message when a lock is poisoned: a bug, because no code panics while it holds one.
pub(crate) const LOCK_POISONED: &str = "a thread panicked while it held this lock";
