//! Where a learner listens, which neighbours it connects to, and how connections are protected.

use super::LinkError;
use crate::mailbox::WhenFull;
use std::path::PathBuf;
use undertone::LearnerId;

/// How a learner and its neighbours reach each other.
#[derive(Clone, Debug)]
pub enum Addresses {
    /// Over their own connections.
    Direct {
        /// `host:port` to listen on.
        listen: String,
        /// Neighbours to connect to, each with its `host:port`. Of two neighbours one has to connect to the other.
        connect: Vec<(LearnerId, String)>,
    },
    /// Through the router at this `host:port`, which forwards their messages.
    Router(String),
}

impl Addresses {
    /// What to do with messages that arrive faster than the learner processes them. A direct connection has its own
    /// thread, which may wait. A router's messages all arrive on one thread.
    #[must_use]
    pub fn when_full(&self) -> WhenFull {
        match self {
            Addresses::Direct { .. } => WhenFull::Wait,
            Addresses::Router(_) => WhenFull::Drop,
        }
    }
}

/// How connections are protected.
#[derive(Clone, Debug)]
pub enum Security {
    /// Not at all: for processes on one machine only.
    Loopback,
    /// By TLS with certificates on both sides. The names in them decide who may connect.
    MutualTls(Certificates),
}

/// The files of a certificate.
#[derive(Clone, Debug)]
pub struct Certificates {
    /// The certificate of the network's authority.
    pub authority: PathBuf,
    /// The holder's own certificate.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// The name in a learner's certificate.
#[must_use]
pub fn certificate_name(learner: LearnerId) -> String {
    format!("learner-{learner}")
}

impl Addresses {
    /// Checks that without certificates every address is a loopback address.
    pub(super) fn check(&self, security: &Security) -> Result<(), LinkError> {
        if let Security::MutualTls(_) = security {
            return Ok(());
        }
        match self {
            Addresses::Direct { listen, connect } => {
                check_loopback(listen)?;
                connect.iter().try_for_each(|(_, address)| check_loopback(address))
            }
            Addresses::Router(address) => check_loopback(address),
        }
    }
}

fn check_loopback(address: &str) -> Result<(), LinkError> {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let local = host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    if local {
        return Ok(());
    }
    Err(LinkError::Setting {
        what: address.to_string(),
        reason: "without certificates learners connect within one machine only (127.0.0.1); \
                 `undertone cert` makes certificates"
            .into(),
    })
}
