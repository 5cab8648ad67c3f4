//! Releases over a real network, by Eclipse Zenoh, embedded in the process.
//!
//! Under `undertone/<network>/` each learner has three keys: `release/<id>`, where it publishes; `ask/<id>/<by>`,
//! where a neighbour asks it for a release it missed; and `farewell/<id>`. Who may use which key is decided by
//! the name in a certificate, and everything else is denied (ADR 0019).

use crate::wire::{NetworkId, Sealed};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use undertone::{LearnerId, Round};
use zenoh::Wait as _;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::CongestionControl;
use zenoh::query::{Query, Queryable};

/// Where a learner listens, and whom it calls.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// `host:port` to listen on.
    pub listen: Vec<String>,
    /// `host:port` of neighbours or routers to call. Of two neighbours one has to call the other.
    pub connect: Vec<String>,
}

/// What protects the way.
#[derive(Clone, Debug)]
pub enum Security {
    /// Nothing: only between processes on one machine.
    Loopback,
    /// TLS with certificates on both sides.
    MutualTls(Certificates),
}

/// The files of a learner's certificate.
#[derive(Clone, Debug)]
pub struct Certificates {
    /// The certificate of the network's authority.
    pub authority: PathBuf,
    /// The learner's own certificate.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// What comes in.
pub enum Incoming {
    /// Bytes on a neighbour's key.
    Heard {
        /// Whose key.
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

/// Where what comes in is taken. It may wait: then the network waits too.
pub type Deliver = Arc<dyn Fn(Incoming) + Send + Sync>;

/// The way back to one who asked.
pub struct Answer(Query);

impl Answer {
    /// Sends a release back.
    pub fn send(self, release: &Sealed) {
        let key = self.0.key_expr().clone();
        // Who does not get it asks again.
        let _ = self.0.reply(key, release.bytes()).wait();
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
    /// The network engine refuses.
    #[error("the network cannot be used: {0}")]
    Network(String),
}

fn network(error: impl std::fmt::Display) -> LinkError {
    LinkError::Network(error.to_string())
}

/// A learner's connection to its neighbours.
pub struct Link {
    session: zenoh::Session,
    prefix: String,
    own: LearnerId,
    publisher: Publisher<'static>,
    incoming: Deliver,
    /// Kept, because they end when they are dropped.
    _subscribers: Vec<Subscriber<()>>,
    _queryable: Queryable<()>,
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
        let config = configuration(identity, addresses, security)?;
        let session = zenoh::open(config).wait().map_err(network)?;
        let prefix = format!("undertone/{}", identity.network);
        let mut subscribers = Vec::new();
        for &from in &identity.neighbours {
            let (heard, left) = (Arc::clone(&incoming), Arc::clone(&incoming));
            let size = identity.message_bytes;
            let key = format!("{prefix}/release/{from}");
            subscribers.push(
                session
                    .declare_subscriber(key)
                    .callback(move |sample| {
                        // What is larger than any message is not even copied.
                        if sample.payload().len() <= size {
                            let bytes = sample.payload().to_bytes().into_owned();
                            heard(Incoming::Heard { from, bytes });
                        }
                    })
                    .wait()
                    .map_err(network)?,
            );
            let key = format!("{prefix}/farewell/{from}");
            subscribers.push(
                session
                    .declare_subscriber(key)
                    .callback(move |_| {
                        left(Incoming::Left(from));
                    })
                    .wait()
                    .map_err(network)?,
            );
        }
        let asked = Arc::clone(&incoming);
        let own = identity.own;
        let queryable = session
            .declare_queryable(format!("{prefix}/ask/{own}/*"))
            .callback(move |query| {
                if let Some((by, round)) = question(&query) {
                    asked(Incoming::Asked { by, round, answer: Answer(query) });
                }
            })
            .wait()
            .map_err(network)?;
        let publisher = session
            .declare_publisher(format!("{prefix}/release/{own}"))
            .congestion_control(CongestionControl::Block)
            .express(true)
            .wait()
            .map_err(network)?;
        Ok(Link {
            session,
            prefix,
            own,
            publisher,
            incoming,
            _subscribers: subscribers,
            _queryable: queryable,
        })
    }

    /// Sends a release to all neighbours that can be reached. Others ask for it later.
    pub fn publish(&self, release: &Sealed) {
        let _ = self.publisher.put(release.bytes()).wait();
    }

    /// Asks a neighbour for a release. The answer comes in as if it had been published.
    pub fn ask(&self, of: LearnerId, round: Round) {
        let heard = Arc::clone(&self.incoming);
        let key = format!("{}/ask/{of}/{}", self.prefix, self.own);
        let _ = self
            .session
            .get(key)
            .payload(round.0.to_le_bytes())
            .timeout(ASK_TIMEOUT)
            .callback(move |reply| {
                if let Ok(sample) = reply.result() {
                    let bytes = sample.payload().to_bytes().into_owned();
                    heard(Incoming::Heard { from: of, bytes });
                }
            })
            .wait();
    }

    /// Says that this learner will not come back.
    pub fn say_farewell(&self) {
        let key = format!("{}/farewell/{}", self.prefix, self.own);
        let _ = self.session.put(key, [].as_slice()).wait();
    }

    /// Ends the connection.
    pub fn close(self) {
        let _ = self.session.close().wait();
    }
}

/// After this time an answer is not waited for any more.
const ASK_TIMEOUT: Duration = Duration::from_secs(5);

/// Who asks for which round.
fn question(query: &Query) -> Option<(LearnerId, Round)> {
    let by = query.key_expr().as_str().rsplit('/').next()?.parse().ok()?;
    let payload = query.payload()?.to_bytes();
    let round = u64::from_le_bytes(payload.as_ref().try_into().ok()?);
    Some((LearnerId(by), Round(round)))
}

/// The engine's settings: no scouting, calls that are repeated for ever, TLS and access control.
fn configuration(
    identity: &Identity,
    addresses: &Addresses,
    security: &Security,
) -> Result<zenoh::Config, LinkError> {
    let protocol = match security {
        Security::Loopback => "tcp",
        Security::MutualTls(_) => "tls",
    };
    if let Security::Loopback = security {
        for address in addresses.listen.iter().chain(&addresses.connect) {
            check_loopback(address)?;
        }
    }
    let endpoints = |list: &[String]| -> Vec<String> {
        list.iter().map(|address| format!("{protocol}/{address}")).collect()
    };
    let mut config = zenoh::Config::default();
    let mut set = |key: &str, value: serde_json::Value| {
        config.insert_json5(key, &value.to_string()).map_err(|error| LinkError::Setting {
            what: key.to_string(),
            reason: error.to_string(),
        })
    };
    set("mode", json!("peer"))?;
    set("scouting/multicast/enabled", json!(false))?;
    set("scouting/gossip/enabled", json!(false))?;
    set("listen/endpoints", json!(endpoints(&addresses.listen)))?;
    set("connect/endpoints", json!(endpoints(&addresses.connect)))?;
    // Neighbours may start in any order, and come back at any time.
    set("connect/timeout_ms", json!(-1))?;
    set("connect/exit_on_failure", json!(false))?;
    set(
        "connect/retry",
        json!({ "period_init_ms": 200, "period_max_ms": 2000, "period_increase_factor": 1.5 }),
    )?;
    set("transport/link/protocols", json!([protocol]))?;
    // A neighbour whose cable was cut is given up after this time.
    set("transport/link/tx/lease", json!(4000))?;
    if identity.message_bytes > 65_536 {
        set("transport/link/rx/buffer_size", json!(4_194_304))?;
    }
    if let Security::MutualTls(files) = security {
        set("transport/link/tls", tls(files)?)?;
        set("access_control", access_control(identity))?;
    }
    Ok(config)
}

fn tls(files: &Certificates) -> Result<serde_json::Value, LinkError> {
    let text = |path: &Path| -> Result<String, LinkError> {
        if !path.is_file() {
            return Err(LinkError::Setting {
                what: path.display().to_string(),
                reason: "there is no such file; `undertone cert` makes one".into(),
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

/// The name in a learner's certificate.
#[must_use]
pub fn certificate_name(network: NetworkId, learner: LearnerId) -> String {
    format!("learner-{learner}.{network}.undertone")
}

/// Default deny: each neighbour, by the name in its certificate, may publish on its own keys and ask on its own.
fn access_control(identity: &Identity) -> serde_json::Value {
    let prefix = format!("undertone/{}", identity.network);
    let own = identity.own;
    let mut rules = vec![
        json!({
            "id": "own-out", "permission": "allow", "flows": ["egress"],
            "messages": ["put", "reply", "declare_queryable"],
            "key_exprs": [format!("{prefix}/release/{own}"), format!("{prefix}/farewell/{own}"),
                          format!("{prefix}/ask/{own}/*")],
        }),
        json!({
            "id": "own-wanted", "permission": "allow", "flows": ["ingress"],
            "messages": ["declare_subscriber"],
            "key_exprs": [format!("{prefix}/release/{own}"), format!("{prefix}/farewell/{own}")],
        }),
    ];
    let mut policies = Vec::new();
    let mut subjects = Vec::new();
    for &neighbour in &identity.neighbours {
        let name = certificate_name(identity.network, neighbour);
        rules.push(json!({
            "id": format!("in-{neighbour}"), "permission": "allow", "flows": ["ingress"],
            "messages": ["put", "reply", "declare_queryable"],
            "key_exprs": [format!("{prefix}/release/{neighbour}"),
                          format!("{prefix}/farewell/{neighbour}"),
                          format!("{prefix}/ask/{neighbour}/{own}"),
                          format!("{prefix}/ask/{neighbour}/*")],
        }));
        rules.push(json!({
            "id": format!("asked-{neighbour}"), "permission": "allow", "flows": ["ingress"],
            "messages": ["query"],
            "key_exprs": [format!("{prefix}/ask/{own}/{neighbour}")],
        }));
        rules.push(json!({
            "id": format!("out-{neighbour}"), "permission": "allow", "flows": ["egress"],
            "messages": ["declare_subscriber", "query"],
            "key_exprs": [format!("{prefix}/release/{neighbour}"),
                          format!("{prefix}/farewell/{neighbour}"),
                          format!("{prefix}/ask/{neighbour}/{own}")],
        }));
        subjects.push(json!({ "id": format!("s{neighbour}"), "cert_common_names": [name] }));
        policies.push(json!({
            "rules": ["own-out", "own-wanted", format!("in-{neighbour}"),
                      format!("asked-{neighbour}"), format!("out-{neighbour}")],
            "subjects": [format!("s{neighbour}")],
        }));
    }
    json!({
        "enabled": true,
        "default_permission": "deny",
        "rules": rules,
        "subjects": subjects,
        "policies": policies,
    })
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
        reason: "without certificates learners talk on this machine only (127.0.0.1); see `undertone cert`"
            .into(),
    })
}
