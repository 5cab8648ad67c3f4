//! One learner as a daemon.
//!
//! [`wire`] is what learners say to each other, [`protocol`] when they say it, and [`store`] what a learner
//! never forgets. None of them knows a socket or a clock: whoever drives a [`Node`](protocol::Node) hands it
//! messages and the time, and does what it asks for. On a real network that is the [`daemon`], with its
//! [`link`] to the neighbours, whose [`certificates`] say who is who. Its [`owner`] brings records ([`intake`]) and
//! looks at it over [`http`].

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
