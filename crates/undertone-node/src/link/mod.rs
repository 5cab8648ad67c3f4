//! Releases over a real network, by Eclipse Zenoh, embedded in the process.
//!
//! Under `undertone/<network>/` each learner has three keys: `release/<id>`, where it publishes; `ask/<id>/<by>`,
//! where a neighbour asks it for a release it missed; and `farewell/<id>`. Who may use which key is decided by
//! the name in a certificate, and everything else is denied (ADR 0019).

mod access;
mod settings;

use access::Keys;
pub(crate) use access::ROUTER;
pub use settings::{Addresses, Certificates, Security, certificate_name, router_settings};

use crate::wire::{NetworkId, Sealed};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tracing_subscriber::EnvFilter;
use undertone::{LearnerId, Round};
use zenoh::Wait as _;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::CongestionControl;
use zenoh::query::{Query, Queryable};

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
    // The engine says where in its source an error arose, which helps nobody here.
    let text = error.to_string();
    let said: Vec<&str> = text.split(" at ").filter(|part| !part.contains(".rs:")).collect();
    LinkError::Network(said.join(" at "))
}

/// A learner's connection to its neighbours.
pub struct Link {
    session: zenoh::Session,
    keys: Keys,
    own: LearnerId,
    message_bytes: usize,
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
        let config = settings::learner_settings(identity, addresses, security)?;
        let session = zenoh::open(config).wait().map_err(network)?;
        let keys = Keys::of(identity.network);
        let mut subscribers = Vec::new();
        for &from in &identity.neighbours {
            let (heard, left) = (Arc::clone(&incoming), Arc::clone(&incoming));
            let size = identity.message_bytes;
            let key = keys.release(from);
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
            let key = keys.farewell(from);
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
            .declare_queryable(keys.asked_by_anyone(own))
            .callback(move |query| {
                if let Some((by, round)) = question(&query) {
                    asked(Incoming::Asked { by, round, answer: Answer(query) });
                }
            })
            .wait()
            .map_err(network)?;
        let publisher = session
            .declare_publisher(keys.release(own))
            .congestion_control(CongestionControl::Block)
            .express(true)
            .wait()
            .map_err(network)?;
        Ok(Link {
            session,
            keys,
            own,
            message_bytes: identity.message_bytes,
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
        let (heard, size) = (Arc::clone(&self.incoming), self.message_bytes);
        let key = self.keys.ask(of, self.own);
        let _ = self
            .session
            .get(key)
            .payload(round.0.to_le_bytes())
            .timeout(ASK_TIMEOUT)
            .callback(move |reply| {
                if let Ok(sample) = reply.result()
                    && sample.payload().len() <= size
                {
                    let bytes = sample.payload().to_bytes().into_owned();
                    heard(Incoming::Heard { from: of, bytes });
                }
            })
            .wait();
    }

    /// Says that this learner will not come back.
    pub fn say_farewell(&self) {
        let key = self.keys.farewell(self.own);
        let _ = self.session.put(key, [].as_slice()).wait();
    }

    /// Ends the connection.
    pub fn close(self) {
        let _ = self.session.close().wait();
    }
}

/// Lets the engine write what it does to stderr: nothing, or at this level and above.
///
/// Only the engine: others see the owner's token.
pub fn log_engine(level: &str) {
    if let Ok(filter) = EnvFilter::try_new(format!("off,zenoh={level}")) {
        // Whoever has set up a log of its own keeps it.
        let _ = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .with_ansi(false)
            .try_init();
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
