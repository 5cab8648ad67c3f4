//! Releases over a real network.
//!
//! Neighbours that reach each other talk over connections of their own ([`direct`], ADR 0022). Where nobody can open a
//! port they meet at a router (`routed`, ADR 0019). What is said is the same: releases, questions for one that was
//! missed, and a farewell.

mod addresses;
pub mod direct;
mod routed;

pub use addresses::{Addresses, Certificates, Security, certificate_name};
pub(crate) use routed::ROUTER;
pub use routed::router_settings;

use crate::wire::OwnRelease;
use direct::Direct;
use routed::Routed;
use std::sync::Arc;
use thiserror::Error;
use tracing_subscriber::EnvFilter;
use undertone::agreement::NetworkId;
use undertone::{LearnerId, Round};

/// What comes in.
pub enum Incoming {
    /// There is a connection to a neighbour, the first or another one.
    Came {
        /// Who.
        who: LearnerId,
        /// Where to send what it may have missed.
        answer: Answer,
    },
    /// Bytes of a neighbour.
    Heard {
        /// Whose.
        from: LearnerId,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A neighbour asks for a release.
    Asked {
        /// Who.
        by: LearnerId,
        /// Of which round.
        round: Round,
        /// Where to answer.
        answer: Answer,
    },
    /// A neighbour says that it will not come back.
    Left(LearnerId),
}

impl Incoming {
    /// Whose doing it is.
    #[must_use]
    pub fn neighbour(&self) -> LearnerId {
        match self {
            Incoming::Came { who: one, .. }
            | Incoming::Heard { from: one, .. }
            | Incoming::Asked { by: one, .. }
            | Incoming::Left(one) => *one,
        }
    }
}

/// Where what comes in is taken. It may wait: then the network waits too.
pub type Deliver = Arc<dyn Fn(Incoming) + Send + Sync>;

/// The way back to one who asked.
pub struct Answer(Way);

enum Way {
    Direct(direct::WayBack),
    Routed(routed::WayBack),
}

impl Answer {
    /// Sends a release back.
    pub fn send(self, release: &OwnRelease) {
        match self.0 {
            Way::Direct(way) => way.send(release),
            Way::Routed(way) => way.send(release),
        }
    }
}

/// Why there is no link.
#[derive(Debug, Error)]
pub enum LinkError {
    /// An address or a file of the settings cannot be used.
    #[error("{what}: {reason}")]
    Setting {
        /// Which.
        what: String,
        /// Why.
        reason: String,
    },
    /// A port cannot be listened on, or a router not be used.
    #[error("the network cannot be used: {0}")]
    Network(String),
}

/// Who a link belongs to.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Of which network.
    pub network: NetworkId,
    /// The learner.
    pub own: LearnerId,
    /// Its neighbours.
    pub neighbours: Vec<LearnerId>,
    /// The size of a message.
    pub message_bytes: usize,
}

/// A learner's connection to its neighbours.
pub struct Link(Kind);

enum Kind {
    Direct(Direct),
    Routed(Box<Routed>),
}

impl Link {
    /// Opens the link. Neighbours may come later and in any order.
    ///
    /// # Errors
    /// When an address, a file or a port cannot be used.
    pub fn open(
        identity: &Identity,
        addresses: &Addresses,
        security: &Security,
        incoming: Deliver,
    ) -> Result<Link, LinkError> {
        addresses.check(security)?;
        Ok(Link(match addresses {
            Addresses::Direct { listen, calls } => {
                Kind::Direct(Direct::open(identity, listen, calls, security, incoming)?)
            }
            Addresses::Router(router) => {
                Kind::Routed(Box::new(Routed::open(identity, router, security, incoming)?))
            }
        }))
    }

    /// Sends a release to all neighbours that can be reached. Others ask for it later.
    pub fn publish(&self, release: &OwnRelease) {
        match &self.0 {
            Kind::Direct(link) => link.publish(release),
            Kind::Routed(link) => link.publish(release),
        }
    }

    /// Asks a neighbour for a release. The answer comes in as if it had been published.
    pub fn ask(&self, of: LearnerId, round: Round) {
        match &self.0 {
            Kind::Direct(link) => link.ask(of, round),
            Kind::Routed(link) => link.ask(of, round),
        }
    }

    /// Says that this learner will not come back.
    pub fn say_farewell(&self) {
        match &self.0 {
            Kind::Direct(link) => link.say_farewell(),
            Kind::Routed(link) => link.say_farewell(),
        }
    }

    /// Ends all connections.
    pub fn close(self) {
        match self.0 {
            Kind::Direct(link) => drop(link),
            Kind::Routed(link) => link.close(),
        }
    }
}

/// Lets the link write what it does to stderr: nothing, or at this level and above.
///
/// Only the link: others see the owner's token.
pub fn log_link(level: &str) {
    if let Ok(filter) =
        EnvFilter::try_new(format!("off,zenoh={level},undertone_node::link={level}"))
    {
        // Whoever has set up a log of its own keeps it.
        let _ = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .with_ansi(false)
            .try_init();
    }
}
