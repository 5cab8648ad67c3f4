//! Neighbours who meet at a router, by Eclipse Zenoh, embedded in the process (ADR 0019).
//!
//! Under `undertone/<network>/` each learner has three keys: `release/<id>`, where it publishes; `ask/<id>/<by>`,
//! where a neighbour asks it for a release it missed; and `farewell/<id>`. Who may use which key is decided by
//! the name in a certificate, and everything else is denied.

mod access;
mod settings;

use super::{Answer, Deliver, Identity, Incoming, LinkError, Security, Way};
use crate::wire::OwnRelease;
use access::Keys;
pub(crate) use access::ROUTER;
pub use settings::router_settings;
use std::sync::Arc;
use std::time::Duration;
use undertone::{LearnerId, Round};
use zenoh::Wait as _;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::CongestionControl;
use zenoh::query::{Query, Queryable};

fn network(error: impl std::fmt::Display) -> LinkError {
    // The engine says where in its source an error arose, which helps nobody here.
    let text = error.to_string();
    let said: Vec<&str> = text.split(" at ").filter(|part| !part.contains(".rs:")).collect();
    LinkError::Network(said.join(" at "))
}

/// A learner's connection to a router.
pub(super) struct Routed {
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

impl Routed {
    pub(super) fn open(
        identity: &Identity,
        router: &str,
        security: &Security,
        incoming: Deliver,
    ) -> Result<Routed, LinkError> {
        let config = settings::learner_settings(identity, router, security)?;
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
        let neighbours = identity.neighbours.clone();
        let queryable = session
            .declare_queryable(keys.asked_by_anyone(own))
            .callback(move |query| {
                if let Some((by, round)) = question(&query)
                    && neighbours.contains(&by)
                {
                    asked(Incoming::Asked {
                        by,
                        round,
                        answer: Answer(Way::Routed(WayBack(query))),
                    });
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
        Ok(Routed {
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

    pub(super) fn publish(&self, release: &OwnRelease) {
        let _ = self.publisher.put(release.bytes()).wait();
    }

    pub(super) fn ask(&self, of: LearnerId, round: Round) {
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

    pub(super) fn say_farewell(&self) {
        let key = self.keys.farewell(self.own);
        let _ = self.session.put(key, [].as_slice()).wait();
    }

    pub(super) fn close(self) {
        let _ = self.session.close().wait();
    }
}

/// The way back to one who asked.
pub(super) struct WayBack(Query);

impl WayBack {
    pub(super) fn send(self, release: &OwnRelease) {
        let key = self.0.key_expr().clone();
        // Who does not get it asks again.
        let _ = self.0.reply(key, release.bytes()).wait();
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
