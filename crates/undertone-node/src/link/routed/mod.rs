//! Links through a router, by Eclipse Zenoh embedded in the process (ADR 0019).
//!
//! Under `undertone/<network>/` each learner has three keys: `release/<id>`, where it publishes; `ask/<id>/<by>`,
//! where a neighbour requests a release that it missed; and `farewell/<id>`. The name in a certificate decides which
//! keys its holder may use. Everything else is denied.

mod access;
mod settings;

use super::{Deliver, Identity, Incoming, Reply, Route, Security};
use crate::StartError;
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

fn network(error: impl std::fmt::Display) -> StartError {
    // Zenoh's messages name places in its source code, which are left out here.
    let text = error.to_string();
    let parts: Vec<&str> = text.split(" at ").filter(|part| !part.contains(".rs:")).collect();
    StartError::Network(parts.join(" at "))
}

/// A learner's connection to a router.
pub(super) struct Routed {
    session: zenoh::Session,
    keys: Keys,
    own: LearnerId,
    message_bytes: usize,
    publisher: Publisher<'static>,
    incoming: Deliver,
    /// Dropping them would end the subscriptions.
    _subscribers: Vec<Subscriber<()>>,
    _queryable: Queryable<()>,
}

impl Routed {
    pub(super) fn open(
        identity: &Identity,
        router: &str,
        security: &Security,
        incoming: Deliver,
    ) -> Result<Routed, StartError> {
        let config = settings::learner_settings(identity, router, security)?;
        let session = zenoh::open(config).wait().map_err(network)?;
        let keys = Keys::of(identity.network);
        let mut subscribers = Vec::new();
        for &from in &identity.neighbours {
            let (released, left) = (Arc::clone(&incoming), Arc::clone(&incoming));
            let size = identity.message_bytes;
            let key = keys.release(from);
            subscribers.push(
                session
                    .declare_subscriber(key)
                    .callback(move |sample| {
                        // A payload that is larger than a message is not even copied.
                        if sample.payload().len() <= size {
                            let bytes = sample.payload().to_bytes().into_owned();
                            released(Incoming::Release { from, bytes });
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
        let requested = Arc::clone(&incoming);
        let own = identity.own;
        let neighbours = identity.neighbours.clone();
        let queryable = session
            .declare_queryable(keys.request_by_anyone(own))
            .callback(move |query| {
                if let Some((from, round)) = parse_request(&query)
                    && neighbours.contains(&from)
                {
                    let reply = Reply(Route::Routed(ReplyTo(query)));
                    requested(Incoming::Request { from, round, reply });
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

    pub(super) fn request(&self, neighbour: LearnerId, round: Round) {
        let (released, size) = (Arc::clone(&self.incoming), self.message_bytes);
        let key = self.keys.request(neighbour, self.own);
        let _ = self
            .session
            .get(key)
            .payload(round.0.to_le_bytes())
            .timeout(REQUEST_TIMEOUT)
            .callback(move |reply| {
                if let Ok(sample) = reply.result()
                    && sample.payload().len() <= size
                {
                    let bytes = sample.payload().to_bytes().into_owned();
                    released(Incoming::Release { from: neighbour, bytes });
                }
            })
            .wait();
    }

    pub(super) fn send_farewell(&self) {
        let key = self.keys.farewell(self.own);
        let _ = self.session.put(key, [].as_slice()).wait();
    }

    pub(super) fn close(self) {
        let _ = self.session.close().wait();
    }
}

/// Replies to one query.
pub(super) struct ReplyTo(Query);

impl ReplyTo {
    pub(super) fn send(self, release: &OwnRelease) {
        let key = self.0.key_expr().clone();
        // A neighbour that does not receive it repeats its request.
        let _ = self.0.reply(key, release.bytes()).wait();
    }
}

/// How long an answer is waited for.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// The neighbour that sent a request, and the round.
fn parse_request(query: &Query) -> Option<(LearnerId, Round)> {
    let from = query.key_expr().as_str().rsplit('/').next()?.parse().ok()?;
    let payload = query.payload()?.to_bytes();
    let round = u64::from_le_bytes(payload.as_ref().try_into().ok()?);
    Some((LearnerId(from), Round(round)))
}
