//! Zenoh's settings: where to connect, TLS, and access rules.

use super::super::{Certificates, Identity, Security};
use super::access::{learner_access, router_access};
use crate::StartError;
use crate::wire::Wire;
use serde_json::{Value, json};
use std::path::Path;
use undertone::graph::Graph;

/// The settings of a learner's session: no scouting, and reconnecting for ever.
pub(super) fn learner_settings(
    identity: &Identity,
    router: &str,
    security: &Security,
) -> Result<zenoh::Config, StartError> {
    // A router forwards between clients. It assumes that peers are connected to each other.
    let mut settings = common_settings("client", None, Some(router), security)?;
    settings.extend(sizes(identity.message_bytes));
    if let Security::MutualTls(_) = security {
        settings.push(("access_control", learner_access(identity)));
    }
    configuration(&settings)
}

/// The settings for `zenohd` as the router of a network: one JSON object.
///
/// # Errors
/// When a certificate's file is missing.
pub fn router_settings(
    wire: &Wire,
    graph: &Graph,
    listen: &str,
    files: &Certificates,
) -> Result<Value, StartError> {
    let security = Security::MutualTls(files.clone());
    let mut settings = common_settings("router", Some(listen), None, &security)?;
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
    listen: Option<&str>,
    connect: Option<&str>,
    security: &Security,
) -> Result<Vec<(&'static str, Value)>, StartError> {
    let protocol = match security {
        Security::Loopback => "tcp",
        Security::MutualTls(_) => "quic",
    };
    let endpoints = |address: Option<&str>| -> Vec<String> {
        address.iter().map(|address| format!("{protocol}/{address}")).collect()
    };
    let mut settings = vec![
        ("mode", json!(mode)),
        ("scouting/multicast/enabled", json!(false)),
        ("scouting/gossip/enabled", json!(false)),
        ("listen/endpoints", json!(endpoints(listen))),
        ("connect/endpoints", json!(endpoints(connect))),
        // Learners and router may start in any order, and restart at any time.
        ("connect/timeout_ms", json!(-1)),
        ("connect/exit_on_failure", json!(false)),
        (
            "connect/retry",
            json!({ "period_init_ms": 200, "period_max_ms": 2000, "period_increase_factor": 1.5 }),
        ),
        ("transport/link/protocols", json!([protocol])),
        // A connection that is silent for this long is closed.
        ("transport/link/tx/lease", json!(4000)),
    ];
    if let Security::MutualTls(files) = security {
        settings.push(("transport/link/tls", tls(files)?));
    }
    Ok(settings)
}

/// Limits what a peer can send to one message.
fn sizes(message_bytes: usize) -> Vec<(&'static str, Value)> {
    let mut sizes = vec![("transport/link/rx/max_message_size", json!(message_bytes + 65_536))];
    if message_bytes > 65_536 {
        sizes.push(("transport/link/rx/buffer_size", json!(4_194_304)));
    }
    sizes
}

fn configuration(settings: &[(&str, Value)]) -> Result<zenoh::Config, StartError> {
    let mut config = zenoh::Config::default();
    for (key, value) in settings {
        config.insert_json5(key, &value.to_string()).map_err(|error| StartError::Setting {
            what: (*key).to_string(),
            reason: error.to_string(),
        })?;
    }
    Ok(config)
}

fn tls(files: &Certificates) -> Result<Value, StartError> {
    let text = |path: &Path| -> Result<String, StartError> {
        if !path.is_file() {
            return Err(StartError::Setting {
                what: path.display().to_string(),
                reason: "no such file; `undertone cert` makes it".into(),
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
