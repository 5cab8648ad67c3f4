//! The node: wire format, store and protocol under faults, links over real sockets, and the owner's interface.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![allow(clippy::print_stderr, reason = "a failing run names its seed")]

mod certificates;
mod daemon;
mod direct;
mod feed;
mod following;
mod fuzz;
mod http;
mod invariants;
mod model_accounts;
mod network;
mod owner;
mod peer;
mod protocol;
mod sockets;
mod store;
mod support;
mod wire;
