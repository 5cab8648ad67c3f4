//! The engine's settings: whom to call, what protects the way, and who may say what.

use super::access::{learner_access, router_access};
use super::{Identity, LinkError};
use crate::wire::Wire;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use undertone::LearnerId;
use undertone::graph::Graph;

/// Where a learner listens, and whom it calls.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// `host:port` to listen on.
    pub listen: Vec<String>,
    /// `host:port` of neighbours or routers to call. Of two neighbours one has to call the other.
    pub connect: Vec<String>,
    /// Whether those called are routers, which pass on what the neighbours say.
    pub through_router: bool,
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

/// The settings of a learner's session: no scouting, and calls that are repeated for ever.
pub(super) fn learner_settings(
    identity: &Identity,
    addresses: &Addresses,
    security: &Security,
) -> Result<zenoh::Config, LinkError> {
    if let Security::Loopback = security {
        for address in addresses.listen.iter().chain(&addresses.connect) {
            check_loopback(address)?;
        }
    }
    // A router passes on between clients; peers it takes to be in touch already.
    let mode = if addresses.through_router { "client" } else { "peer" };
    let mut settings = common_settings(mode, addresses, security)?;
    settings.extend(sizes(identity.message_bytes));
    if let Security::MutualTls(_) = security {
        settings.push(("access_control", learner_access(identity, addresses.through_router)));
    }
    configuration(&settings)
}

/// The settings of a router between the learners of a network, for `zenohd`: one JSON object.
///
/// # Errors
/// When a certificate's file is not there.
pub fn router_settings(
    wire: &Wire,
    graph: &Graph,
    listen: &str,
    files: &Certificates,
) -> Result<Value, LinkError> {
    let listen = vec![listen.to_string()];
    let addresses = Addresses { listen, connect: Vec::new(), through_router: false };
    let security = Security::MutualTls(files.clone());
    let mut settings = common_settings("router", &addresses, &security)?;
    settings.push(("access_control", router_access(wire.network(), graph)));
    settings.extend(sizes(wire.message_bytes()));
    let mut whole = json!({});
    for (path, value) in settings {
        let mut place = &mut whole;
        for part in path.split('/') {
            place = &mut place[part];
        }
        *place = value;
    }
    Ok(whole)
}

fn common_settings(
    mode: &str,
    addresses: &Addresses,
    security: &Security,
) -> Result<Vec<(&'static str, Value)>, LinkError> {
    let protocol = match security {
        Security::Loopback => "tcp",
        Security::MutualTls(_) => "quic",
    };
    let endpoints = |list: &[String]| -> Vec<String> {
        list.iter().map(|address| format!("{protocol}/{address}")).collect()
    };
    let mut settings = vec![
        ("mode", json!(mode)),
        ("scouting/multicast/enabled", json!(false)),
        ("scouting/gossip/enabled", json!(false)),
        ("listen/endpoints", json!(endpoints(&addresses.listen))),
        ("connect/endpoints", json!(endpoints(&addresses.connect))),
        // Neighbours may start in any order, and come back at any time.
        ("connect/timeout_ms", json!(-1)),
        ("connect/exit_on_failure", json!(false)),
        (
            "connect/retry",
            json!({ "period_init_ms": 200, "period_max_ms": 2000, "period_increase_factor": 1.5 }),
        ),
        ("transport/link/protocols", json!([protocol])),
        // A neighbour whose cable was cut is given up after this time.
        ("transport/link/tx/lease", json!(4000)),
    ];
    if let Security::MutualTls(files) = security {
        settings.push(("transport/link/tls", tls(files)?));
    }
    Ok(settings)
}

/// Room for one message and no more, whatever a peer says that it will send.
fn sizes(message_bytes: usize) -> Vec<(&'static str, Value)> {
    let mut sizes = vec![("transport/link/rx/max_message_size", json!(message_bytes + 65_536))];
    if message_bytes > 65_536 {
        sizes.push(("transport/link/rx/buffer_size", json!(4_194_304)));
    }
    sizes
}

fn configuration(settings: &[(&str, Value)]) -> Result<zenoh::Config, LinkError> {
    let mut config = zenoh::Config::default();
    for (key, value) in settings {
        config.insert_json5(key, &value.to_string()).map_err(|error| LinkError::Setting {
            what: (*key).to_string(),
            reason: error.to_string(),
        })?;
    }
    Ok(config)
}

fn tls(files: &Certificates) -> Result<Value, LinkError> {
    let text = |path: &Path| -> Result<String, LinkError> {
        if !path.is_file() {
            return Err(LinkError::Setting {
                what: path.display().to_string(),
                reason: "there is no such file; `undertone cert` makes it".into(),
            });
        }
        Ok(path.display().to_string())
    };
    let (key, certificate) = (text(&files.key)?, text(&files.certificate)?);
    Ok(json!({
        "root_ca_certificate": text(&files.authority)?,
        "listen_private_key": key,
        "listen_certificate": certificate,
        "connect_private_key": key,
        "connect_certificate": certificate,
        "enable_mtls": true,
        "verify_name_on_connect": true,
        "close_link_on_expiration": true,
    }))
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
