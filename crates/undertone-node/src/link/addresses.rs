//! Where a learner is found, whom it calls, and what protects the way.

use super::LinkError;
use crate::mailbox::Full;
use std::path::PathBuf;
use undertone::LearnerId;

/// How a learner and its neighbours reach each other.
#[derive(Clone, Debug)]
pub enum Addresses {
    /// By themselves.
    Direct {
        /// `host:port` to listen on.
        listen: String,
        /// Neighbours to call, and at which `host:port`. Of two neighbours one has to call the other.
        calls: Vec<(LearnerId, String)>,
    },
    /// Through the router at this `host:port`, which passes on what they say.
    Router(String),
}

impl Addresses {
    /// What happens to messages that come faster than a learner takes them in. Neighbours who reach each other have a thread
    /// each, which may wait; through a router all come by one.
    #[must_use]
    pub fn when_full(&self) -> Full {
        match self {
            Addresses::Direct { .. } => Full::Wait,
            Addresses::Router(_) => Full::Drop,
        }
    }
}

/// What protects the way.
#[derive(Clone, Debug)]
pub enum Security {
    /// Nothing: only between processes on one machine.
    Loopback,
    /// TLS with certificates on both sides, and access by the names in them.
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
    /// Without certificates every address has to be of this machine.
    pub(super) fn check(&self, security: &Security) -> Result<(), LinkError> {
        if let Security::MutualTls(_) = security {
            return Ok(());
        }
        match self {
            Addresses::Direct { listen, calls } => {
                check_loopback(listen)?;
                calls.iter().try_for_each(|(_, address)| check_loopback(address))
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
        reason: "without certificates learners talk within one machine only (127.0.0.1); \
                 `undertone cert` makes them"
            .into(),
    })
}
