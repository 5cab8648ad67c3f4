//! Options about a learner's neighbours: their addresses, and the certificates for connections to them.

use anyhow::Context;
use clap::Args;
use std::path::PathBuf;
use undertone::LearnerId;
use undertone_node::link::Peers;

#[derive(Args)]
#[group(skip)]
pub(crate) struct Arguments {
    /// Where to listen for neighbours; without --certificates only 127.0.0.1 is allowed
    #[arg(long, value_name = "HOST:PORT", required_unless_present = "router")]
    listen: Option<String>,
    /// The address of a neighbour; repeat for each. Of two neighbours, the one with the smaller number connects
    #[arg(long = "peer", value_name = "NUMBER=HOST:PORT", value_parser = peer)]
    peers: Vec<(LearnerId, String)>,
    /// Reach all neighbours through the router at this address instead (docs/node.md)
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["listen", "peers"], requires = "certificates")]
    router: Option<String>,
    /// Folder with authority.pem, learner-N.pem and learner-N.key, as `undertone cert` makes them
    #[arg(long, value_name = "FOLDER")]
    pub(crate) certificates: Option<PathBuf>,
}

fn peer(text: &str) -> Result<(LearnerId, String), String> {
    let bad = || "expected NUMBER=HOST:PORT, such as 1=127.0.0.1:7441".to_string();
    let (number, address) = text.split_once('=').ok_or_else(bad)?;
    address.rsplit_once(':').ok_or_else(bad)?;
    Ok((LearnerId(number.parse().map_err(|_| bad())?), address.to_string()))
}

impl Arguments {
    pub(crate) fn peers(&self) -> anyhow::Result<Peers> {
        if let Some(router) = &self.router {
            return Ok(Peers::Router(router.clone()));
        }
        let listen = self.listen.clone().context("--listen HOST:PORT is missing")?;
        Ok(Peers::Direct { listen, neighbours: self.peers.clone() })
    }
}
