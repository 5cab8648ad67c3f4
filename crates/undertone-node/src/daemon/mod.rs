//! A learner on a real network.
//!
//! [`Daemon::open`] opens a learner's store, its connections and its owner's interface, and [`Daemon::run`] learns until it is
//! stopped. One thread, the caller's, owns the learner and handles one [`Event`] after another; all others send to it.
//!
//! ```no_run
//! use std::path::PathBuf;
//! use std::sync::Arc;
//! use undertone::LearnerId;
//! use undertone::noise::OsEntropy;
//! use undertone_models::Setup;
//! use undertone_node::daemon::{Daemon, DaemonSettings, RecordSource};
//! use undertone_node::link::Peers;
//! use undertone_node::store::StoreFile;
//!
//! fn learn(setup: Arc<Setup>) -> Result<(), Box<dyn std::error::Error>> {
//!     let neighbours = vec![(LearnerId(1), "hospital-b.example:7440".into())];
//!     let peers = Peers::Direct { listen: "0.0.0.0:7440".into(), neighbours };
//!     let settings = DaemonSettings {
//!         certificates: Some(PathBuf::from("certificates")),
//!         source: Some(RecordSource::follow("records.ndjson".as_ref())?),
//!         ..DaemonSettings::new(LearnerId(0), peers)
//!     };
//!     let store = StoreFile::New(PathBuf::from("learner-0.redb"));
//!     let ended = Daemon::open(&setup, settings, &store, OsEntropy)?.run(|_| ())?;
//!     println!("{:?} in round {}", ended.ending, ended.node.learner().round());
//!     Ok(())
//! }
//! ```

mod event_loop;
mod events;
mod settings;
mod source;

pub use events::{Accepted, Ending, Event, News, Query};
pub use settings::{DEADLINE, DaemonSettings, HttpSettings, LINGER};
pub use source::RecordSource;

use crate::StartError;
use crate::http::Server;
use crate::intake::Intake;
use crate::link::{Addresses, Identity, Link, Security};
use crate::mailbox::{Receiver, Sender, mailbox};
use crate::protocol::{self, Halt, Node, check_method};
use crate::store::{DiskStore, Storage, StoreFile};
use crate::wire::Wire;
use event_loop::{Report, Until, deliver_to};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use undertone::Round;
use undertone::noise::Entropy;
use undertone_models::Setup;

/// How many events may wait for the learner.
const EVENTS_MAX: usize = 1024;

/// A learner with its store, its connections and its owner's interface. It learns once it is [run](Daemon::run).
pub struct Daemon<E, S> {
    node: Node<E, S>,
    link: Link,
    server: Option<Server>,
    source: Option<RecordSource>,
    intake: Intake,
    sender: Sender<Event>,
    events: Receiver<Event>,
    end: Round,
    linger: Duration,
}

/// A learner that has ended.
pub struct Ended<E, S> {
    /// Why.
    pub ending: Ending,
    /// The learner as it is now.
    pub node: Node<E, S>,
    /// Requests that are open are answered until this is dropped.
    _server: Option<Server>,
}

/// Stops a daemon, from any thread.
#[derive(Clone)]
pub struct Handle(Sender<Event>);

impl Handle {
    /// Stops the daemon. It can be started again. A daemon that has ended stays as it is.
    pub fn stop(&self) {
        let _ = self.0.send(Event::Stop);
    }
}

impl<E: Entropy> Daemon<E, DiskStore> {
    /// Opens a learner of a network with its store in a file.
    ///
    /// A new store is made last, so that none is made for a learner that cannot run.
    ///
    /// # Errors
    /// When the settings are not possible, the store is not this learner's, an address or a certificate cannot be used,
    /// or a source of records may have been read before.
    pub fn open(
        setup: &Arc<Setup>,
        settings: DaemonSettings,
        store: &StoreFile,
        entropy: E,
    ) -> Result<Daemon<E, DiskStore>, StartError> {
        let wrong = |error| StartError::Store { path: store.path().into(), error };
        let parts = Parts::check(setup, settings)?;
        store.check().map_err(wrong)?;
        let (wire, own) = (parts.wire.clone(), parts.settings.learner);
        let protocol = parts.protocol;
        let open_node = || {
            let file = store.open(wire.network(), own).map_err(wrong)?;
            Ok(Node::open_on(wire, own, protocol, entropy, file)?)
        };
        match store {
            StoreFile::New(_) => parts.connect(open_node),
            StoreFile::Existing(_) => {
                // Reading it may take long. Neighbours connect only after that, so that they do not wait.
                let node = open_node()?;
                parts.connect(|| Ok(node))
            }
        }
    }
}

impl<E: Entropy, S: Storage> Daemon<E, S> {
    /// Opens a learner of a network with another kind of store.
    ///
    /// # Errors
    /// As [`Daemon::open`].
    pub fn open_on_store(
        setup: &Arc<Setup>,
        settings: DaemonSettings,
        store: S,
        entropy: E,
    ) -> Result<Daemon<E, S>, StartError> {
        let parts = Parts::check(setup, settings)?;
        let (wire, own) = (parts.wire.clone(), parts.settings.learner);
        let node = Node::open_on(wire, own, parts.protocol, entropy, store)?;
        parts.connect(|| Ok(node))
    }

    /// The learner.
    #[must_use]
    pub fn node(&self) -> &Node<E, S> {
        &self.node
    }

    /// The address of the owner's interface, if there is one.
    #[must_use]
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.server.as_ref().map(Server::address)
    }

    /// A handle that stops it.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle(self.sender.clone())
    }

    /// Learns until it is stopped, has run all rounds, or has spent its budget. Calls `report` with what happens, on this
    /// thread and on that of the source.
    ///
    /// # Errors
    /// When the learner has halted. What it has stored is safe.
    pub fn run(
        self,
        report: impl Fn(News<'_>) + Send + Sync + 'static,
    ) -> Result<Ended<E, S>, Halt> {
        let Daemon { mut node, link, server, source, intake, sender, events, end, linger } = self;
        let report: Arc<Report> = Arc::new(report);
        if let Some(source) = source {
            source.feed(intake, node.positions().clone(), sender.clone(), Arc::clone(&report));
        }
        let ending = event_loop::run(&mut node, &link, &events, Until { end, linger }, &*report);
        // No event is handled any more, with or without an error. From now on senders get an error and do not wait.
        drop(events);
        link.close();
        Ok(Ended { ending: ending?, node, _server: server })
    }
}

/// A daemon whose settings were checked, before anything is opened.
struct Parts {
    settings: DaemonSettings,
    protocol: protocol::Settings,
    wire: Wire,
    identity: Identity,
    addresses: Addresses,
    security: Security,
}

impl Parts {
    fn check(setup: &Arc<Setup>, settings: DaemonSettings) -> Result<Parts, StartError> {
        let (learner, last) = (settings.learner, setup.mechanisms.len() - 1);
        if learner.0 as usize > last {
            return Err(StartError::Learner { learner, last });
        }
        check_method(setup)?;
        let wire = Wire::new(Arc::clone(setup));
        let identity = Identity::of(&wire, learner);
        let addresses = settings.peers.addresses(&identity)?;
        let security = Security::from_folder(settings.certificates.as_deref(), learner)?;
        let protocol = settings.protocol(&setup.agreement)?;
        if settings.http.is_none() && settings.source.is_none() {
            return Err(StartError::NoRecords);
        }
        Ok(Parts { settings, protocol, wire, identity, addresses, security })
    }

    /// Opens connections and the owner's interface, and then the learner.
    fn connect<E: Entropy, S: Storage>(
        self,
        open_node: impl FnOnce() -> Result<Node<E, S>, StartError>,
    ) -> Result<Daemon<E, S>, StartError> {
        let Parts { settings, protocol, wire, identity, addresses, security } = self;
        let (sender, events) = mailbox(EVENTS_MAX);
        let deliver = deliver_to(sender.clone(), addresses.when_full());
        let link = Link::open(&identity, &addresses, &security, deliver)?;
        let intake = Intake::new(Arc::clone(wire.setup()));
        let server = match settings.http {
            Some(HttpSettings { address, token }) => {
                Some(Server::start(address, token, intake.clone(), sender.clone())?)
            }
            None => None,
        };
        let node = open_node()?;
        if let Some(source) = &settings.source {
            source.check_known(node.positions(), settings.new_source)?;
        }
        let (source, linger, end) = (settings.source, settings.linger, protocol.end);
        Ok(Daemon { node, link, server, source, intake, sender, events, end, linger })
    }
}
