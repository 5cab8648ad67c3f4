//! Where a learner listens, which neighbours it connects to, and with which certificates.

use anyhow::{Context, bail, ensure};
use clap::Args;
use std::path::PathBuf;
use undertone::LearnerId;
use undertone_models::Setup;
use undertone_node::certificates::{Holder, files};
use undertone_node::link::{Addresses, Identity, Security};
use undertone_node::wire::Wire;

#[derive(Args)]
#[group(skip)]
pub(crate) struct Arguments {
    /// Where to listen for neighbours; without certificates on this machine only
    #[arg(long, value_name = "HOST:PORT", required_unless_present = "router")]
    listen: Option<String>,
    /// Where a neighbour listens; once for each. Of two neighbours the smaller number calls
    #[arg(long = "peer", value_name = "NUMBER=HOST:PORT", value_parser = peer)]
    peers: Vec<(u32, String)>,
    /// Reach all neighbours through a router here instead (docs/node.md)
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["listen", "peers"], requires = "certificates")]
    router: Option<String>,
    /// Folder with authority.pem, learner-N.pem and learner-N.key, as `undertone cert` makes them
    #[arg(long, value_name = "FOLDER")]
    certificates: Option<PathBuf>,
}

/// A learner's identity and addresses.
pub(crate) struct Place {
    pub(crate) identity: Identity,
    pub(crate) addresses: Addresses,
    pub(crate) security: Security,
}

fn peer(text: &str) -> Result<(u32, String), String> {
    let bad = || "expected NUMBER=HOST:PORT, such as 1=127.0.0.1:7441".to_string();
    let (number, address) = text.split_once('=').ok_or_else(bad)?;
    address.rsplit_once(':').ok_or_else(bad)?;
    Ok((number.parse().map_err(|_| bad())?, address.to_string()))
}

impl Arguments {
    pub(crate) fn check(
        &self,
        setup: &Setup,
        wire: &Wire,
        own: LearnerId,
    ) -> anyhow::Result<Place> {
        let neighbours: Vec<LearnerId> =
            setup.agreement.graph.neighbours(own).iter().map(|&(id, _)| id).collect();
        let addresses = match &self.router {
            Some(router) => Addresses::Router(router.clone()),
            None => self.direct(own, &neighbours)?,
        };
        let security = match &self.certificates {
            Some(folder) => {
                // The router engine gets these paths, and may resolve relative ones from another
                // folder.
                let folder = folder.canonicalize().with_context(|| folder.display().to_string())?;
                Security::MutualTls(files(&folder, Holder::Learner(own)))
            }
            None => Security::Loopback,
        };
        let identity = Identity {
            network: wire.network(),
            own,
            neighbours,
            message_bytes: wire.message_bytes(),
        };
        Ok(Place { identity, addresses, security })
    }

    fn direct(&self, own: LearnerId, neighbours: &[LearnerId]) -> anyhow::Result<Addresses> {
        for (number, _) in &self.peers {
            ensure!(
                neighbours.contains(&LearnerId(*number)),
                "--peer {number}: not a neighbour of learner {own}, which has {:?}",
                neighbours.iter().map(|id| id.0).collect::<Vec<_>>()
            );
        }
        let mut connect = Vec::new();
        for neighbour in neighbours.iter().filter(|neighbour| **neighbour > own) {
            match self.peers.iter().find(|(number, _)| *number == neighbour.0) {
                Some((_, address)) => connect.push((*neighbour, address.clone())),
                None => bail!("--peer {neighbour}=HOST:PORT is missing: learner {own} calls it"),
            }
        }
        let listen = self.listen.clone().context("--listen HOST:PORT is missing")?;
        Ok(Addresses::Direct { listen, connect })
    }
}
