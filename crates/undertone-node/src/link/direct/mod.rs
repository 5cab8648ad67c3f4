//! Direct links: one TCP connection for each pair of neighbours, plain on one machine and under mutual TLS 1.3 between
//! machines (ADR 0022).
//!
//! Of two neighbours, the one that knows the other's address connects, and reconnects for ever; the other listens. Read
//! next: `handshake`, how a connection begins; `connection`, how frames are sent and received.

mod active;
mod buffers;
mod connection;
mod credentials;
mod error;
pub mod frame;
mod handshake;
mod pending;
mod socket;
mod tls;

use super::{Deliver, Identity, Incoming, Reply, Route, Security};
use crate::LOCK_POISONED;
use crate::StartError;
use crate::wire::OwnRelease;
use active::ActiveConnections;
use connection::Connection;
use credentials::{Credentials, host_name};
use error::ConnectionError;
use frame::{Frame, Outgoing};
use handshake::{Established, handshake};
use pending::PendingConnections;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tls::Tls;
use undertone::{LearnerId, Round};

/// The first pause before reconnecting. Each further pause is half as long again, up to the maximum.
const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(2);
/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);
/// The pause after a connection could not be accepted, for example because there are no more file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Connections to all neighbours.
pub(super) struct Direct {
    shared: Arc<Shared>,
    address: SocketAddr,
    listener: Option<JoinHandle<()>>,
}

struct Shared {
    identity: Identity,
    /// `None` without certificates, on one machine.
    credentials: Option<Credentials>,
    incoming: Deliver,
    active: ActiveConnections,
    pending: PendingConnections,
    closed: Mutex<bool>,
    closing: Condvar,
}

impl Direct {
    pub(super) fn open(
        identity: &Identity,
        listen: &str,
        connect: &[(LearnerId, String)],
        security: &Security,
        incoming: Deliver,
    ) -> Result<Direct, StartError> {
        let credentials = match security {
            Security::Loopback => None,
            Security::MutualTls(files) => Some(Credentials::read(files, identity)?),
        };
        let unusable = |error: &dyn std::fmt::Display| {
            StartError::Network(format!("cannot listen on {listen}: {error}"))
        };
        let addresses = resolve(listen, credentials.is_some()).map_err(|error| unusable(&error))?;
        let listener = bind(&addresses).map_err(|error| unusable(&error))?;
        let address = listener.local_addr().map_err(|error| unusable(&error))?;
        let shared = Arc::new(Shared {
            identity: identity.clone(),
            credentials,
            incoming,
            active: ActiveConnections::default(),
            pending: PendingConnections::default(),
            closed: Mutex::new(false),
            closing: Condvar::new(),
        });
        let accepting = Arc::clone(&shared);
        let listener = Some(thread::spawn(move || accepting.accept_loop(&listener)));
        for (neighbour, address) in connect.iter().cloned() {
            let connecting = Arc::clone(&shared);
            thread::spawn(move || connecting.connect_loop(neighbour, &address));
        }
        Ok(Direct { shared, address, listener })
    }

    pub(super) fn publish(&self, release: &OwnRelease) {
        self.send_to_all(&Outgoing::Release(release.clone()));
    }

    pub(super) fn send_farewell(&self) {
        self.send_to_all(&Outgoing::Farewell);
    }

    fn send_to_all(&self, frame: &Outgoing) {
        self.shared.active.for_each(|connection| connection.send(frame.clone()));
    }

    /// Sends a request to a neighbour, if it is connected. Otherwise the node repeats it later.
    pub(super) fn request(&self, neighbour: LearnerId, round: Round) {
        if let Some(connection) = self.shared.active.get(neighbour) {
            connection.send(Outgoing::Request(round));
        }
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        *self.shared.closed.lock().expect(LOCK_POISONED) = true;
        self.shared.closing.notify_all();
        self.shared.pending.close_all();
        self.shared.active.close_all();
        // A connection of our own wakes the accepting thread. When it has returned the port is free again.
        let mut own = self.address;
        if own.ip().is_unspecified() {
            own.set_ip(match own {
                SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
            });
        }
        if TcpStream::connect_timeout(&own, RETRY_MAX).is_ok()
            && let Some(listener) = self.listener.take()
        {
            let _ = listener.join();
        }
    }
}

impl Shared {
    /// Accepts connections. Each has its own thread from the start, so that a slow handshake delays no other peer.
    fn accept_loop(self: &Arc<Shared>, listener: &TcpListener) {
        for socket in listener.incoming() {
            if self.is_closed() {
                return;
            }
            let Ok(socket) = socket.map(Arc::new) else {
                self.pause(ACCEPT_PAUSE);
                continue;
            };
            self.pending.add(&socket);
            let shared = Arc::clone(self);
            let spawned = thread::Builder::new().spawn({
                let socket = Arc::clone(&socket);
                move || shared.serve(&socket)
            });
            if spawned.is_err() {
                self.pending.remove(&socket);
            }
        }
    }

    fn serve(self: &Arc<Shared>, socket: &Arc<TcpStream>) {
        let established = self.accept(socket);
        self.pending.remove(socket);
        match established {
            Ok(established) => self.run_connection(established),
            Err(error) => tracing::warn!("an incoming connection was refused: {error}"),
        }
    }

    fn accept(&self, socket: &Arc<TcpStream>) -> Result<Established, ConnectionError> {
        let credentials = self.credentials.as_ref();
        let tls = credentials.map(|credentials| Tls::server(&credentials.server)).transpose()?;
        handshake(Arc::clone(socket), tls, &self.identity, None, self.own_expiry())
    }

    /// Connects to a neighbour, and reconnects whenever the connection has ended.
    fn connect_loop(self: &Arc<Shared>, neighbour: LearnerId, address: &str) {
        let mut pause = RETRY_FIRST;
        while !self.is_closed() {
            let begin = Instant::now();
            match self.connect(neighbour, address) {
                Ok(established) => self.run_connection(established),
                Err(ConnectionError::Socket(error)) => {
                    tracing::debug!("cannot connect to learner {neighbour} at {address}: {error}");
                }
                Err(error) => {
                    tracing::warn!("learner {neighbour} at {address} was refused: {error}");
                }
            }
            // A connection that ends at once counts as a failure.
            pause = if begin.elapsed() > RETRY_MAX { RETRY_FIRST } else { pause };
            self.pause(pause);
            pause = (pause * 3 / 2).min(RETRY_MAX);
        }
    }

    fn connect(&self, neighbour: LearnerId, address: &str) -> Result<Established, ConnectionError> {
        let resolved = resolve(address, self.credentials.is_some())?;
        self.connect_to_any(neighbour, address, &resolved)
    }

    /// Tries one socket address after another: a host name may resolve to hosts that are not the neighbour's.
    fn connect_to_any(
        &self,
        neighbour: LearnerId,
        address: &str,
        resolved: &[SocketAddr],
    ) -> Result<Established, ConnectionError> {
        let mut reported = ConnectionError::Address;
        for &socket_address in resolved {
            match self.connect_to(neighbour, address, socket_address) {
                Ok(established) => return Ok(established),
                // A refused peer is worth reporting more than an address that does not answer.
                Err(ConnectionError::Socket(_))
                    if !matches!(
                        reported,
                        ConnectionError::Address | ConnectionError::Socket(_)
                    ) => {}
                Err(error) => reported = error,
            }
        }
        Err(reported)
    }

    fn connect_to(
        &self,
        neighbour: LearnerId,
        address: &str,
        socket_address: SocketAddr,
    ) -> Result<Established, ConnectionError> {
        let tls = match &self.credentials {
            Some(credentials) => {
                let host = host_name(address).ok_or(ConnectionError::Address)?;
                Some(Tls::client(&credentials.client, host)?)
            }
            None => None,
        };
        let socket = TcpStream::connect_timeout(&socket_address, CONNECT_TIMEOUT)?;
        // Where no process listens, a socket may connect to itself.
        if socket.local_addr()? == socket_address {
            return Err(ConnectionError::Closed);
        }
        handshake(Arc::new(socket), tls, &self.identity, Some(neighbour), self.own_expiry())
    }

    /// Runs a connection to a neighbour, once its previous connection has ended.
    fn run_connection(self: &Arc<Shared>, established: Established) {
        let connection = Arc::clone(&established.connection);
        // The writer starts first: its pings keep the connection alive while it waits to become active.
        let writer = thread::Builder::new().spawn({
            let connection = Arc::clone(&connection);
            move || connection.write_loop()
        });
        // If there are no more threads the neighbour reconnects later.
        let Ok(writer) = writer else { return connection.close() };
        if self.active.activate(&connection) {
            self.read_loop(established);
            self.active.deactivate(connection.peer);
        }
        connection.close();
        let _ = writer.join();
    }

    /// Delivers what a neighbour sends until the connection ends.
    fn read_loop(self: &Arc<Shared>, established: Established) {
        let Established { connection, mut buffer, mut decoder, frames } = established;
        let peer = connection.peer;
        tracing::info!("learner {peer} connected");
        // The link may have been closed before this connection became active.
        if self.is_closed() {
            connection.close();
        }
        (self.incoming)(Incoming::Connected { neighbour: peer, reply: Reply::direct(&connection) });
        let ended = connection.receive(&mut buffer, &mut decoder, frames, |frame| {
            self.deliver(&connection, frame);
        });
        match ended {
            ConnectionError::Closed => tracing::info!("learner {peer} disconnected"),
            ConnectionError::TimedOut => {
                tracing::info!("the connection to learner {peer} timed out");
            }
            error @ (ConnectionError::Socket(_)
            | ConnectionError::Tls(_)
            | ConnectionError::Kind(_)
            | ConnectionError::Length(_)
            | ConnectionError::Version
            | ConnectionError::BufferTooSmall
            | ConnectionError::NotANeighbour
            | ConnectionError::Expired
            | ConnectionError::OtherLearner { .. }
            | ConnectionError::FalseName { .. }
            | ConnectionError::OtherNetwork(_)
            | ConnectionError::Address) => {
                tracing::warn!("the connection to learner {peer} failed: {error}");
            }
        }
    }

    fn deliver(&self, connection: &Arc<Connection>, frame: Frame) {
        let from = connection.peer;
        (self.incoming)(match frame {
            Frame::Release(bytes) => Incoming::Release { from, bytes },
            Frame::Request(round) => {
                Incoming::Request { from, round, reply: Reply::direct(connection) }
            }
            Frame::Farewell => Incoming::Left(from),
            Frame::Ping | Frame::Hello(_) => return,
        });
    }

    fn own_expiry(&self) -> Option<std::time::SystemTime> {
        self.credentials.as_ref().map(|credentials| credentials.expiry)
    }

    fn is_closed(&self) -> bool {
        *self.closed.lock().expect(LOCK_POISONED)
    }

    /// Sleeps, at most until the link is closed.
    fn pause(&self, time: Duration) {
        let closed = self.closed.lock().expect(LOCK_POISONED);
        drop(self.closing.wait_timeout_while(closed, time, |closed| !*closed));
    }
}

/// Replies over one connection. It does not keep the connection open, because a request may wait
/// for a long time.
pub(super) struct ReplyTo(Weak<Connection>);

impl ReplyTo {
    pub(super) fn send(&self, release: &OwnRelease) {
        if let Some(connection) = self.0.upgrade() {
            connection.send(Outgoing::Release(release.clone()));
        }
    }
}

impl Reply {
    fn direct(connection: &Arc<Connection>) -> Reply {
        Reply(Route::Direct(ReplyTo(Arc::downgrade(connection))))
    }
}

/// Binds the listening socket. While the learner was not running the system may have given its port to an outgoing
/// connection for a moment, so this waits and tries again.
fn bind(addresses: &[SocketAddr]) -> std::io::Result<TcpListener> {
    let begin = Instant::now();
    loop {
        match TcpListener::bind(addresses) {
            Err(error)
                if error.kind() == std::io::ErrorKind::AddrInUse
                    && begin.elapsed() < CONNECT_TIMEOUT =>
            {
                thread::sleep(ACCEPT_PAUSE);
            }
            bound => return bound,
        }
    }
}

/// Resolves an address. Without certificates only loopback addresses are returned: a host name may resolve to any host.
fn resolve(address: &str, anywhere: bool) -> std::io::Result<Vec<SocketAddr>> {
    let found = address.to_socket_addrs()?;
    Ok(found.filter(|found| anywhere || found.ip().is_loopback()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::Hello;
    use std::io::Write as _;
    use undertone::agreement::NetworkId;

    /// A host that listens, and claims to be this learner.
    fn host(network: NetworkId, sender: LearnerId) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut bytes = Vec::new();
            Outgoing::Hello(Hello { network, sender }).header(&mut bytes);
            socket.write_all(&bytes).unwrap();
            let _ = std::io::copy(&mut socket, &mut std::io::sink());
        });
        address
    }

    #[test]
    fn after_a_refusal_the_other_addresses_of_a_host_name_are_tried() {
        let network = NetworkId::from_bytes([7; 16]);
        let neighbours = vec![LearnerId(1), LearnerId(4)];
        let shared = Shared {
            identity: Identity { network, own: LearnerId(0), neighbours, message_bytes: 100 },
            credentials: None,
            incoming: Arc::new(|_| ()),
            active: ActiveConnections::default(),
            pending: PendingConnections::default(),
            closed: Mutex::new(false),
            closing: Condvar::new(),
        };
        let connect =
            |addresses: &[SocketAddr]| shared.connect_to_any(LearnerId(1), "name:1", addresses);
        let (other, right) = (host(network, LearnerId(4)), host(network, LearnerId(1)));
        let established = connect(&[other, right]).map(|established| established.connection.peer);
        assert_eq!(established.ok(), Some(LearnerId(1)), "the second is the neighbour");
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let refused = connect(&[host(network, LearnerId(4)), closed]).err();
        assert!(
            matches!(refused, Some(ConnectionError::OtherLearner { .. })),
            "the refused peer is reported"
        );
    }
}
