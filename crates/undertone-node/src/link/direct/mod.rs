//! Neighbours who reach each other: a TCP connection for each pair, on one machine as it is and between machines under
//! mutual TLS 1.3 (ADR 0022).
//!
//! Of two neighbours the one that was told the other's address calls, for ever; the other listens. Read next:
//! `greeting`, how a connection begins; `connection`, how frames are sent and received.

mod buffers;
mod connection;
mod doorstep;
pub mod frame;
mod greeting;
mod keys;
mod seats;
mod socket;
mod tls;

use super::{Answer, Deliver, Identity, Incoming, LinkError, Security};
use crate::wire::OwnRelease;
use connection::{Connection, Ended};
use doorstep::Doorstep;
use frame::{Frame, Outgoing};
use greeting::{Greeted, Refused, greet};
use keys::{Keys, host_name};
use seats::Seats;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tls::Tls;
use undertone::{LearnerId, Round};

/// Calls are repeated after this time, then after half as much again, and so on.
const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(2);
/// A call that is not answered by then is given up.
const CONNECT: Duration = Duration::from_secs(4);
/// When nobody can be let in, for want of file descriptors say, it is tried again after this time.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Connections to all neighbours, as they come and go.
pub(super) struct Direct {
    shared: Arc<Shared>,
    address: SocketAddr,
    listening: Option<JoinHandle<()>>,
}

struct Shared {
    identity: Identity,
    /// Nothing on one machine.
    keys: Option<Keys>,
    incoming: Deliver,
    seats: Seats,
    doorstep: Doorstep,
    closed: Mutex<bool>,
    closing: Condvar,
}

impl Direct {
    pub(super) fn open(
        identity: &Identity,
        listen: &str,
        calls: &[(LearnerId, String)],
        security: &Security,
        incoming: Deliver,
    ) -> Result<Direct, LinkError> {
        let keys = match security {
            Security::Loopback => None,
            Security::MutualTls(files) => Some(Keys::read(files, identity)?),
        };
        let unusable = |error: &dyn std::fmt::Display| {
            LinkError::Network(format!("cannot listen on {listen}: {error}"))
        };
        let places = resolve(listen, keys.is_some()).map_err(|error| unusable(&error))?;
        let listener = bind(&places).map_err(|error| unusable(&error))?;
        let address = listener.local_addr().map_err(|error| unusable(&error))?;
        let shared = Arc::new(Shared {
            identity: identity.clone(),
            keys,
            incoming,
            seats: Seats::default(),
            doorstep: Doorstep::default(),
            closed: Mutex::new(false),
            closing: Condvar::new(),
        });
        let at_the_door = Arc::clone(&shared);
        let listening = Some(thread::spawn(move || at_the_door.listen(&listener)));
        for (neighbour, address) in calls.iter().cloned() {
            let caller = Arc::clone(&shared);
            thread::spawn(move || caller.call(neighbour, &address));
        }
        Ok(Direct { shared, address, listening })
    }

    pub(super) fn publish(&self, release: &OwnRelease) {
        self.to_all(&Outgoing::Release(release.clone()));
    }

    pub(super) fn say_farewell(&self) {
        self.to_all(&Outgoing::Farewell);
    }

    fn to_all(&self, frame: &Outgoing) {
        self.shared.seats.for_each(|peer| peer.send(frame.clone()));
    }

    /// Asks a neighbour, if it is there. Else it is asked again later.
    pub(super) fn ask(&self, of: LearnerId, round: Round) {
        if let Some(peer) = self.shared.seats.of(of) {
            peer.send(Outgoing::Question(round));
        }
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        *self.shared.closed.lock().expect(UNHURT) = true;
        self.shared.closing.notify_all();
        self.shared.doorstep.clear();
        self.shared.seats.clear();
        // Who waits at the door is woken by a knock. Then the port is free again.
        let mut own = self.address;
        if own.ip().is_unspecified() {
            own.set_ip(match own {
                SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
            });
        }
        if TcpStream::connect_timeout(&own, RETRY_MAX).is_ok()
            && let Some(listening) = self.listening.take()
        {
            let _ = listening.join();
        }
    }
}

const UNHURT: &str = "nobody panics while holding it";

impl Shared {
    /// Lets neighbours in. Each has a thread of its own from the beginning, so that nobody waits for a stranger.
    fn listen(self: &Arc<Shared>, listener: &TcpListener) {
        for socket in listener.incoming() {
            if self.is_closed() {
                return;
            }
            let Ok(socket) = socket.map(Arc::new) else {
                self.rest(ACCEPT_PAUSE);
                continue;
            };
            self.doorstep.enter(&socket);
            let shared = Arc::clone(self);
            let spawned = thread::Builder::new().spawn({
                let socket = Arc::clone(&socket);
                move || shared.answer(&socket)
            });
            if spawned.is_err() {
                self.doorstep.leave(&socket);
            }
        }
    }

    fn answer(self: &Arc<Shared>, socket: &Arc<TcpStream>) {
        let greeted = self.called(socket);
        self.doorstep.leave(socket);
        match greeted {
            Ok(greeted) => self.converse(greeted),
            Err(refused) => tracing::warn!("a caller was refused: {refused}"),
        }
    }

    fn called(&self, socket: &Arc<TcpStream>) -> Result<Greeted, Refused> {
        let tls = self.keys.as_ref().map(|keys| Tls::called(&keys.called)).transpose()?;
        greet(Arc::clone(socket), tls, &self.identity, None, self.own_end())
    }

    /// Calls a neighbour, and again whenever it is gone.
    fn call(self: &Arc<Shared>, neighbour: LearnerId, address: &str) {
        let mut pause = RETRY_FIRST;
        while !self.is_closed() {
            let begin = Instant::now();
            match self.reach(neighbour, address) {
                Ok(greeted) => self.converse(greeted),
                Err(Refused::Socket(error)) => {
                    tracing::debug!("learner {neighbour} at {address} is not reached: {error}");
                }
                Err(refused) => {
                    tracing::warn!("learner {neighbour} at {address} is refused: {refused}");
                }
            }
            // One that comes and goes at once is called as rarely as one that does not come.
            pause = if begin.elapsed() > RETRY_MAX { RETRY_FIRST } else { pause };
            self.rest(pause);
            pause = (pause * 3 / 2).min(RETRY_MAX);
        }
    }

    fn reach(&self, neighbour: LearnerId, address: &str) -> Result<Greeted, Refused> {
        let places = resolve(address, self.keys.is_some())?;
        self.reach_any(neighbour, address, &places)
    }

    /// Tries one place after another: behind a name there may be hosts that are not the neighbour's.
    fn reach_any(
        &self,
        neighbour: LearnerId,
        address: &str,
        places: &[SocketAddr],
    ) -> Result<Greeted, Refused> {
        let mut why = Refused::Address;
        for &place in places {
            match self.reach_at(neighbour, address, place) {
                Ok(greeted) => return Ok(greeted),
                // That somebody answered and was refused says more than that somewhere else nobody did.
                Err(Refused::Socket(_))
                    if !matches!(why, Refused::Address | Refused::Socket(_)) => {}
                Err(refused) => why = refused,
            }
        }
        Err(why)
    }

    fn reach_at(
        &self,
        neighbour: LearnerId,
        address: &str,
        place: SocketAddr,
    ) -> Result<Greeted, Refused> {
        let tls = match &self.keys {
            Some(keys) => {
                let host = host_name(address).ok_or(Refused::Address)?;
                Some(Tls::caller(&keys.caller, host)?)
            }
            None => None,
        };
        let socket = TcpStream::connect_timeout(&place, CONNECT)?;
        // Where nobody listens a call may meet itself.
        if socket.local_addr()? == place {
            return Err(Refused::Ended);
        }
        greet(Arc::new(socket), tls, &self.identity, Some(neighbour), self.own_end())
    }

    /// Talks to a neighbour, once its connection before this one is gone.
    fn converse(self: &Arc<Shared>, greeted: Greeted) {
        let connection = Arc::clone(&greeted.connection);
        // It writes from the beginning, so that who waits for its place is not taken for dead.
        let writer = thread::Builder::new().spawn({
            let connection = Arc::clone(&connection);
            move || connection.write()
        });
        // Without one, as when the system has no more threads, it is tried again later.
        let Ok(writer) = writer else { return connection.close() };
        if self.seats.take(&connection) {
            self.hear_out(greeted);
            self.seats.leave(connection.peer);
        }
        connection.close();
        let _ = writer.join();
    }

    /// Hands over what a neighbour says until it is gone.
    fn hear_out(self: &Arc<Shared>, greeted: Greeted) {
        let Greeted { connection, mut inbox, mut decoder, frames } = greeted;
        let peer = connection.peer;
        tracing::info!("learner {peer} is connected");
        // Whoever closes all connections does not miss this one.
        if self.is_closed() {
            connection.close();
        }
        (self.incoming)(Incoming::Came { who: peer, answer: Answer::direct(&connection) });
        let ended = connection.receive(&mut inbox, &mut decoder, frames, |frame| {
            self.deliver(&connection, frame);
        });
        match ended {
            Ended::Closed => tracing::info!("learner {peer} is gone"),
            Ended::Silent => tracing::info!("learner {peer} is gone without a word"),
            Ended::Fault(fault) => tracing::warn!("the link to learner {peer} ends: {fault}"),
        }
    }

    fn deliver(&self, connection: &Arc<Connection>, frame: Frame) {
        let from = connection.peer;
        (self.incoming)(match frame {
            Frame::Release(bytes) => Incoming::Heard { from, bytes },
            Frame::Question(round) => {
                Incoming::Asked { by: from, round, answer: Answer::direct(connection) }
            }
            Frame::Farewell => Incoming::Left(from),
            Frame::Ping | Frame::Hello(_) => return,
        });
    }

    fn own_end(&self) -> Option<std::time::SystemTime> {
        self.keys.as_ref().map(|keys| keys.end)
    }

    fn is_closed(&self) -> bool {
        *self.closed.lock().expect(UNHURT)
    }

    /// Waits, but not past the end.
    fn rest(&self, time: Duration) {
        let closed = self.closed.lock().expect(UNHURT);
        drop(self.closing.wait_timeout_while(closed, time, |closed| !*closed));
    }
}

/// The way back over one connection, which does not keep it: questions may wait for long.
pub(super) struct WayBack(Weak<Connection>);

impl WayBack {
    pub(super) fn send(&self, release: &OwnRelease) {
        if let Some(connection) = self.0.upgrade() {
            connection.send(Outgoing::Release(release.clone()));
        }
    }
}

impl Answer {
    fn direct(connection: &Arc<Connection>) -> Answer {
        Answer(super::Way::Direct(WayBack(Arc::downgrade(connection))))
    }
}

/// Listens. While a learner is away the system may give its port to a connection that somebody makes, a neighbour's call
/// even, for a moment: that is waited for.
fn bind(places: &[SocketAddr]) -> std::io::Result<TcpListener> {
    let begin = Instant::now();
    loop {
        match TcpListener::bind(places) {
            Err(error)
                if error.kind() == std::io::ErrorKind::AddrInUse && begin.elapsed() < CONNECT =>
            {
                thread::sleep(ACCEPT_PAUSE);
            }
            bound => return bound,
        }
    }
}

/// The addresses of a name. Without certificates only those on this machine: names may lead anywhere.
fn resolve(address: &str, anywhere: bool) -> std::io::Result<Vec<SocketAddr>> {
    let found = address.to_socket_addrs()?;
    Ok(found.filter(|place| anywhere || place.ip().is_loopback()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::Hello;
    use std::io::Write as _;
    use undertone::agreement::NetworkId;

    /// Somebody who listens, and says that it is this learner.
    fn host(network: NetworkId, sender: LearnerId) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut bytes = Vec::new();
            Outgoing::Hello(Hello { network, sender }).head(&mut bytes);
            socket.write_all(&bytes).unwrap();
            let _ = std::io::copy(&mut socket, &mut std::io::sink());
        });
        place
    }

    #[test]
    fn after_a_refusal_the_other_places_of_a_name_are_tried() {
        let network = NetworkId::from_bytes([7; 16]);
        let neighbours = vec![LearnerId(1), LearnerId(4)];
        let shared = Shared {
            identity: Identity { network, own: LearnerId(0), neighbours, message_bytes: 100 },
            keys: None,
            incoming: Arc::new(|_| ()),
            seats: Seats::default(),
            doorstep: Doorstep::default(),
            closed: Mutex::new(false),
            closing: Condvar::new(),
        };
        let reach = |places: &[SocketAddr]| shared.reach_any(LearnerId(1), "name:1", places);
        let (another, right) = (host(network, LearnerId(4)), host(network, LearnerId(1)));
        let greeted = reach(&[another, right]).map(|greeted| greeted.connection.peer);
        assert_eq!(greeted.ok(), Some(LearnerId(1)), "the second is the neighbour");
        let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let refused = reach(&[host(network, LearnerId(4)), nobody]).err();
        assert!(matches!(refused, Some(Refused::Another { .. })), "what says most is said");
    }
}
