//! The beginning of a connection: a TLS handshake, where there are certificates, and a hello from each side.
//!
//! The peer is not known yet, so every step has a deadline.

use super::super::Identity;
use super::buffers::{ReadBuffer, WriteBuffer};
use super::connection::{Connection, Parts, RECEIVE_TIMEOUT, would_block};
use super::credentials::certified_neighbour;
use super::error::ConnectionError;
use super::frame::{Decoder, Frame, Hello, Outgoing};
use super::tls::Tls;
use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use undertone::LearnerId;

/// How long a handshake may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection to a known neighbour, and what it has sent so far.
pub(super) struct Established {
    pub(super) connection: Arc<Connection>,
    pub(super) buffer: ReadBuffer,
    pub(super) decoder: Decoder,
    pub(super) frames: Vec<Frame>,
}

/// Finds out which neighbour the peer is. If `expected` is given it has to be that one.
pub(super) fn handshake(
    socket: Arc<TcpStream>,
    tls: Option<Tls>,
    identity: &Identity,
    expected: Option<LearnerId>,
    own_expiry: Option<SystemTime>,
) -> Result<Established, ConnectionError> {
    socket.set_nodelay(true)?;
    let mut handshake = Handshake {
        socket,
        tls,
        deadline: Instant::now() + HANDSHAKE_TIMEOUT,
        buffer: ReadBuffer::new(),
        out: WriteBuffer::default(),
        decoder: Decoder::new(identity.message_bytes),
        frames: Vec::new(),
    };
    handshake.exchange_certificates()?;
    // Sent before the peer is known: a peer that is refused can log that the networks differ.
    handshake.send(&Outgoing::Hello(Hello { network: identity.network, sender: identity.own }))?;
    let hello = handshake.receive_hello()?;
    if hello.network != identity.network {
        return Err(ConnectionError::OtherNetwork(hello.network));
    }
    let peer = hello.sender;
    let certified = handshake.certified(identity)?;
    let is_known =
        certified.map_or_else(|| identity.neighbours.contains(&peer), |(id, _)| id == peer);
    if !is_known {
        return Err(ConnectionError::FalseName { claimed: peer });
    }
    if let Some(expected) = expected.filter(|&expected| expected != peer) {
        return Err(ConnectionError::OtherLearner { expected, found: peer });
    }
    let expiry = certified.map(|(_, end)| own_expiry.map_or(end, |own| own.min(end)));
    // TLS accepts a certificate in its last second. The connection would be closed at once.
    if expiry.is_some_and(|expiry| SystemTime::now() >= expiry) {
        return Err(ConnectionError::Expired);
    }
    let Handshake { socket, tls, buffer, decoder, frames, .. } = handshake;
    socket.set_read_timeout(Some(RECEIVE_TIMEOUT))?;
    let connection = Arc::new(Connection::new(Parts { peer, socket, tls, expiry }));
    Ok(Established { connection, buffer, decoder, frames })
}

struct Handshake {
    socket: Arc<TcpStream>,
    tls: Option<Tls>,
    deadline: Instant,
    buffer: ReadBuffer,
    out: WriteBuffer,
    decoder: Decoder,
    frames: Vec<Frame>,
}

impl Handshake {
    fn exchange_certificates(&mut self) -> Result<(), ConnectionError> {
        if self.tls.is_none() {
            return Ok(());
        }
        // The client sends first, before anything has arrived.
        self.process()?;
        while self.tls.as_ref().is_some_and(Tls::is_handshaking) {
            self.read()?;
        }
        Ok(())
    }

    /// The neighbour in the peer's certificate and when that ends; nothing without TLS.
    fn certified(
        &self,
        identity: &Identity,
    ) -> Result<Option<(LearnerId, SystemTime)>, ConnectionError> {
        let Some(tls) = &self.tls else { return Ok(None) };
        let certificate = tls.peer_certificate();
        let certified = certificate.and_then(|one| certified_neighbour(one, &identity.neighbours));
        certified.map(Some).ok_or(ConnectionError::NotANeighbour)
    }

    fn send(&mut self, frame: &Outgoing) -> Result<(), ConnectionError> {
        let mut bytes = Vec::new();
        frame.header(&mut bytes);
        match &mut self.tls {
            Some(tls) => tls.encrypt(&bytes, &mut self.out)?,
            None => self.out.add_plain(&bytes),
        }
        self.flush()
    }

    fn receive_hello(&mut self) -> Result<Hello, ConnectionError> {
        while self.frames.is_empty() {
            self.read()?;
        }
        match self.frames.remove(0) {
            Frame::Hello(hello) => Ok(hello),
            Frame::Release(_) | Frame::Request(_) | Frame::Farewell | Frame::Ping => {
                Err(ConnectionError::Closed)
            }
        }
    }

    /// Waits for more bytes, at most until the deadline.
    fn read(&mut self) -> Result<(), ConnectionError> {
        self.socket.set_read_timeout(Some(self.remaining()?))?;
        match self.buffer.read(&self.socket) {
            Ok(0) => Err(ConnectionError::Closed),
            Ok(_) => self.process(),
            Err(error) if would_block(&error) => Err(ConnectionError::TimedOut),
            Err(error) => Err(error.into()),
        }
    }

    fn process(&mut self) -> Result<(), ConnectionError> {
        let Handshake { tls, buffer, out, decoder, frames, .. } = self;
        let processed = match tls {
            Some(tls) => tls.receive(buffer, out, &mut |plain| decoder.take(plain, frames)),
            None => decoder.take(buffer.bytes(), frames),
        };
        // After an error too: the alert tells the peer what is wrong.
        let flushed = self.flush();
        processed?;
        flushed
    }

    fn flush(&mut self) -> Result<(), ConnectionError> {
        self.socket.set_write_timeout(Some(self.remaining()?))?;
        let rest = self.out.rest();
        (&*self.socket).write_all(rest)?;
        let count = rest.len();
        self.out.sent(count);
        Ok(())
    }

    fn remaining(&self) -> Result<Duration, ConnectionError> {
        let remaining = self.deadline.saturating_duration_since(Instant::now());
        if remaining.is_zero() { Err(ConnectionError::TimedOut) } else { Ok(remaining) }
    }
}
