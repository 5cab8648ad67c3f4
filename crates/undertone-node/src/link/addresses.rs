//! Where a learner listens, which neighbours it connects to, and how connections are protected.

use super::Identity;
use crate::StartError;
use crate::certificates::{Holder, files};
use crate::mailbox::WhenFull;
use std::path::{Path, PathBuf};
use undertone::LearnerId;

/// The addresses of a learner and its neighbours, as its owner gives them.
#[derive(Clone, Debug)]
pub enum Peers {
    /// Each at its own address.
    Direct {
        /// `host:port` to listen on.
        listen: String,
        /// Neighbours, each with its `host:port`.
        neighbours: Vec<(LearnerId, String)>,
    },
    /// Behind the router at this `host:port`.
    Router(String),
}

impl Peers {
    /// Decides which of two neighbours connects to the other: the one with the smaller number.
    ///
    /// # Errors
    /// When an address is that of a learner that is no neighbour, or a needed address is missing.
    pub fn addresses(&self, identity: &Identity) -> Result<Addresses, StartError> {
        let (listen, known) = match self {
            Peers::Router(router) => return Ok(Addresses::Router(router.clone())),
            Peers::Direct { listen, neighbours } => (listen.clone(), neighbours),
        };
        let (own, neighbours) = (identity.own, &identity.neighbours);
        let fault = |peer: LearnerId, reason: String| StartError::Setting {
            what: format!("the address of learner {peer} (--peer {peer}=HOST:PORT)"),
            reason,
        };
        if let Some((other, _)) = known.iter().find(|(id, _)| !neighbours.contains(id)) {
            let all: Vec<u32> = neighbours.iter().map(|id| id.0).collect();
            return Err(fault(
                *other,
                format!("not a neighbour of learner {own}, which has {all:?}"),
            ));
        }
        let mut connect = Vec::new();
        for neighbour in neighbours.iter().filter(|neighbour| **neighbour > own) {
            match known.iter().find(|(id, _)| id == neighbour) {
                Some((_, address)) => connect.push((*neighbour, address.clone())),
                None => return Err(fault(*neighbour, format!("missing: learner {own} calls it"))),
            }
        }
        Ok(Addresses::Direct { listen, connect })
    }
}

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
    pub(crate) fn when_full(&self) -> WhenFull {
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

impl Security {
    /// With the certificate in a folder, or none.
    ///
    /// # Errors
    /// When there is no such folder.
    pub(crate) fn from_folder(
        folder: Option<&Path>,
        learner: LearnerId,
    ) -> Result<Security, StartError> {
        let Some(folder) = folder else { return Ok(Security::Loopback) };
        // The router's library gets the paths of the files, and its working folder may be another one.
        let folder = folder.canonicalize().map_err(StartError::file(folder))?;
        Ok(Security::MutualTls(files(&folder, Holder::Learner(learner))))
    }
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
pub(crate) fn certificate_name(learner: LearnerId) -> String {
    format!("learner-{learner}")
}

impl Addresses {
    /// Checks that without certificates every address is a loopback address.
    pub(super) fn check(&self, security: &Security) -> Result<(), StartError> {
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

fn check_loopback(address: &str) -> Result<(), StartError> {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let local = host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    if local {
        return Ok(());
    }
    Err(StartError::Setting {
        what: address.to_string(),
        reason: "without certificates learners connect within one machine only (127.0.0.1); \
                 `undertone cert` makes certificates"
            .into(),
    })
}
