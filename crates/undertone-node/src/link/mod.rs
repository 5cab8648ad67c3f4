//! Releases over a real network.
//!
//! Neighbours connect to each other directly ([`direct`], ADR 0022), or through a router where neither can open a port
//! (`routed`, ADR 0019). The messages are the same: releases, requests for a release that was missed, and a farewell.

mod addresses;
pub mod direct;
mod routed;

pub(crate) use addresses::certificate_name;
pub use addresses::{Addresses, Certificates, Peers, Security};
pub(crate) use routed::ROUTER;
pub use routed::router_settings;

use crate::StartError;
use crate::wire::{OwnRelease, Wire};
use direct::Direct;
use routed::Routed;
use std::sync::Arc;
use tracing_subscriber::EnvFilter;
use undertone::agreement::NetworkId;
use undertone::{LearnerId, Round};

/// What arrives from neighbours.
pub enum Incoming {
    /// A neighbour has connected or reconnected.
    Connected {
        /// The neighbour.
        neighbour: LearnerId,
        /// Sends a release that it may have missed.
        reply: Reply,
    },
    /// Bytes that should be a release. They are not checked yet.
    Release {
        /// The sender.
        from: LearnerId,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A neighbour requests a release.
    Request {
        /// The neighbour.
        from: LearnerId,
        /// The round.
        round: Round,
        /// Sends the release.
        reply: Reply,
    },
    /// A neighbour has sent a farewell: it will not come back.
    Left(LearnerId),
}

impl Incoming {
    /// The neighbour it is from.
    #[must_use]
    pub fn neighbour(&self) -> LearnerId {
        match self {
            Incoming::Connected { neighbour, .. }
            | Incoming::Release { from: neighbour, .. }
            | Incoming::Request { from: neighbour, .. }
            | Incoming::Left(neighbour) => *neighbour,
        }
    }
}

/// Called with what arrives. If it blocks, the connection waits too.
pub type Deliver = Arc<dyn Fn(Incoming) + Send + Sync>;

/// Sends a release to one neighbour.
pub struct Reply(Route);

enum Route {
    Direct(direct::ReplyTo),
    Routed(routed::ReplyTo),
}

impl Reply {
    /// Sends the release.
    pub fn send(self, release: &OwnRelease) {
        match self.0 {
            Route::Direct(reply) => reply.send(release),
            Route::Routed(reply) => reply.send(release),
        }
    }
}

/// The learner that a link belongs to.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Its network.
    pub network: NetworkId,
    /// The learner.
    pub own: LearnerId,
    /// Its neighbours.
    pub neighbours: Vec<LearnerId>,
    /// The size of the network's messages.
    pub message_bytes: usize,
}

impl Identity {
    /// A learner of a network.
    ///
    /// # Panics
    /// When the network has no such learner: a bug in the caller.
    #[must_use]
    pub fn of(wire: &Wire, own: LearnerId) -> Identity {
        let graph = &wire.setup().agreement.graph;
        Identity {
            network: wire.network(),
            own,
            neighbours: graph.neighbours(own).iter().map(|&(id, _)| id).collect(),
            message_bytes: wire.message_bytes(),
        }
    }
}

/// A learner's connections to its neighbours.
pub struct Link(Kind);

enum Kind {
    Direct(Direct),
    Routed(Box<Routed>),
}

impl Link {
    /// Opens the link. Neighbours may start later and in any order.
    ///
    /// # Errors
    /// When an address, a file or a port cannot be used.
    pub fn open(
        identity: &Identity,
        addresses: &Addresses,
        security: &Security,
        incoming: Deliver,
    ) -> Result<Link, StartError> {
        addresses.check(security)?;
        Ok(Link(match addresses {
            Addresses::Direct { listen, connect } => {
                Kind::Direct(Direct::open(identity, listen, connect, security, incoming)?)
            }
            Addresses::Router(router) => {
                Kind::Routed(Box::new(Routed::open(identity, router, security, incoming)?))
            }
        }))
    }

    /// Sends a release to all neighbours that are connected. Others request it later.
    pub fn publish(&self, release: &OwnRelease) {
        match &self.0 {
            Kind::Direct(link) => link.publish(release),
            Kind::Routed(link) => link.publish(release),
        }
    }

    /// Requests a release from a neighbour. The answer arrives as [`Incoming::Release`].
    pub fn request(&self, neighbour: LearnerId, round: Round) {
        match &self.0 {
            Kind::Direct(link) => link.request(neighbour, round),
            Kind::Routed(link) => link.request(neighbour, round),
        }
    }

    /// Tells all neighbours that this learner will not come back.
    pub fn send_farewell(&self) {
        match &self.0 {
            Kind::Direct(link) => link.send_farewell(),
            Kind::Routed(link) => link.send_farewell(),
        }
    }

    /// Closes all connections.
    pub fn close(self) {
        match self.0 {
            Kind::Direct(link) => drop(link),
            Kind::Routed(link) => link.close(),
        }
    }
}

/// Logs what the link does to stderr, from this level on.
///
/// Only the link is logged: other modules handle the owner's token.
pub fn log_link(level: &str) {
    if let Ok(filter) =
        EnvFilter::try_new(format!("off,zenoh={level},undertone_node::link={level}"))
    {
        // A log that the program has set up already is kept.
        let _ = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .with_ansi(false)
            .try_init();
    }
}
