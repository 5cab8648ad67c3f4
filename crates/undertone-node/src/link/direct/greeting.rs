//! The beginning of a connection: certificates, where there are any, and a hello of each side.
//!
//! Nobody is known yet, so everything has a deadline.

use super::super::Identity;
use super::buffers::{Inbox, Outbox};
use super::connection::{Connection, LEASE, Parts, is_full};
use super::frame::{Decoder, Frame, Hello, Outgoing};
use super::keys::neighbour_in;
use super::tls::{Tls, TlsFault};
use std::io::{self, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use thiserror::Error;
use undertone::LearnerId;
use undertone::agreement::NetworkId;

/// For so long a stranger may take to say who it is.
const GREETING: Duration = Duration::from_secs(5);

/// Why somebody is not let in.
#[derive(Debug, Error)]
pub(super) enum Refused {
    #[error(transparent)]
    Socket(#[from] io::Error),
    #[error(transparent)]
    Fault(#[from] TlsFault),
    #[error("nothing was said for too long")]
    Silent,
    #[error("the connection was ended")]
    Ended,
    #[error("the name in the certificate is no neighbour's")]
    NoNeighbour,
    #[error("a certificate has expired")]
    Expired,
    #[error("learner {found} answers where learner {expected} was called")]
    Another { expected: LearnerId, found: LearnerId },
    #[error("it says that it is learner {said}, and is not")]
    Name { said: LearnerId },
    #[error("it is of the network {0}, or of another config")]
    Network(NetworkId),
    #[error("the address cannot be used")]
    Address,
}

/// A neighbour that has said who it is, and what else it has said by then.
pub(super) struct Greeted {
    pub(super) connection: Arc<Connection>,
    pub(super) inbox: Inbox,
    pub(super) decoder: Decoder,
    pub(super) frames: Vec<Frame>,
}

/// Finds out who is there. When a neighbour was called it has to be that one, else any of them.
pub(super) fn greet(
    socket: Arc<TcpStream>,
    tls: Option<Tls>,
    identity: &Identity,
    called: Option<LearnerId>,
    own_end: Option<SystemTime>,
) -> Result<Greeted, Refused> {
    socket.set_nodelay(true)?;
    let mut greeting = Greeting {
        socket,
        tls,
        deadline: Instant::now() + GREETING,
        inbox: Inbox::new(),
        out: Outbox::default(),
        decoder: Decoder::new(identity.message_bytes),
        frames: Vec::new(),
    };
    greeting.certificates()?;
    // Said to strangers too: who is refused finds out by it that the networks differ.
    greeting.say(&Outgoing::Hello(Hello { network: identity.network, sender: identity.own }))?;
    let hello = greeting.hear_hello()?;
    if hello.network != identity.network {
        return Err(Refused::Network(hello.network));
    }
    let peer = hello.sender;
    let certified = greeting.certified(identity)?;
    let known = certified.map_or_else(|| identity.neighbours.contains(&peer), |(id, _)| id == peer);
    if !known {
        return Err(Refused::Name { said: peer });
    }
    if let Some(expected) = called.filter(|&expected| expected != peer) {
        return Err(Refused::Another { expected, found: peer });
    }
    let end = certified.map(|(_, end)| own_end.map_or(end, |own| own.min(end)));
    // In its last second TLS still takes a certificate, and the link would end at once.
    if end.is_some_and(|end| SystemTime::now() >= end) {
        return Err(Refused::Expired);
    }
    let Greeting { socket, tls, inbox, decoder, frames, .. } = greeting;
    socket.set_read_timeout(Some(LEASE))?;
    let connection = Arc::new(Connection::new(Parts { peer, socket, tls, end }));
    Ok(Greeted { connection, inbox, decoder, frames })
}

struct Greeting {
    socket: Arc<TcpStream>,
    tls: Option<Tls>,
    deadline: Instant,
    inbox: Inbox,
    out: Outbox,
    decoder: Decoder,
    frames: Vec<Frame>,
}

impl Greeting {
    /// Exchanges certificates, if there are any.
    fn certificates(&mut self) -> Result<(), Refused> {
        if self.tls.is_none() {
            return Ok(());
        }
        // The caller begins, though nothing has come.
        self.work_through()?;
        while self.tls.as_ref().is_some_and(Tls::is_handshaking) {
            self.read()?;
        }
        Ok(())
    }

    /// Whose the other's certificate is, and until when, if there are any.
    fn certified(&self, identity: &Identity) -> Result<Option<(LearnerId, SystemTime)>, Refused> {
        let Some(tls) = &self.tls else { return Ok(None) };
        let shown = tls.peer_certificate();
        let certified = shown.and_then(|shown| neighbour_in(shown, &identity.neighbours));
        certified.map(Some).ok_or(Refused::NoNeighbour)
    }

    fn say(&mut self, frame: &Outgoing) -> Result<(), Refused> {
        let mut bytes = Vec::new();
        frame.head(&mut bytes);
        match &mut self.tls {
            Some(tls) => tls.encrypt(&bytes, &mut self.out)?,
            None => self.out.add_plain(&bytes),
        }
        self.flush()
    }

    fn hear_hello(&mut self) -> Result<Hello, Refused> {
        while self.frames.is_empty() {
            self.read()?;
        }
        match self.frames.remove(0) {
            Frame::Hello(hello) => Ok(hello),
            _ => Err(Refused::Ended),
        }
    }

    /// Waits for more, but not past the deadline.
    fn read(&mut self) -> Result<(), Refused> {
        self.socket.set_read_timeout(Some(self.remaining()?))?;
        match self.inbox.read(&self.socket) {
            Ok(0) => Err(Refused::Ended),
            Ok(_) => self.work_through(),
            Err(error) if is_full(&error) => Err(Refused::Silent),
            Err(error) => Err(error.into()),
        }
    }

    fn work_through(&mut self) -> Result<(), Refused> {
        let Greeting { tls, inbox, out, decoder, frames, .. } = self;
        let worked = match tls {
            Some(tls) => tls.receive(inbox, out, &mut |plain| decoder.take(plain, frames)),
            None => decoder.take(inbox.bytes(), frames).map_err(TlsFault::from),
        };
        // Even when it failed: the other side is told why.
        let flushed = self.flush();
        worked?;
        flushed
    }

    fn flush(&mut self) -> Result<(), Refused> {
        self.socket.set_write_timeout(Some(self.remaining()?))?;
        let rest = self.out.rest();
        (&*self.socket).write_all(rest)?;
        let count = rest.len();
        self.out.sent(count);
        Ok(())
    }

    fn remaining(&self) -> Result<Duration, Refused> {
        let remaining = self.deadline.saturating_duration_since(Instant::now());
        if remaining.is_zero() { Err(Refused::Silent) } else { Ok(remaining) }
    }
}
