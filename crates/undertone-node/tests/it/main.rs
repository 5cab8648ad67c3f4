//! The node, without sockets: the wire, the store and the protocol under faults.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![allow(clippy::print_stderr, reason = "a failing run names its seed")]

mod certificates;
mod direct;
mod feed;
mod fuzz;
mod http;
mod network;
mod peer;
mod protocol;
mod sockets;
mod store;
mod support;
mod wire;
