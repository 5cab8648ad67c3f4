//! One connection to one neighbour: sending never blocks, and receiving has a thread of its own.
//!
//! A sender writes what the system accepts at once. The rest is left to the connection's writer thread, which waits until
//! the socket is writable. The lock is never held while a thread waits for the socket, so two neighbours that send each
//! other large releases at the same time do not block each other.

use super::buffers::{READY, ReadBuffer, WriteBuffer};
use super::error::ConnectionError;
use super::frame::{Decoder, Frame, Outgoing};
use super::socket::{send_now, wait_until_writable};
use super::tls::{RECORD, Tls};
use crate::LOCK_POISONED;
use std::collections::VecDeque;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};
use undertone::LearnerId;

/// A connection on which nothing arrived for this long, not even a ping, has timed out.
pub(super) const RECEIVE_TIMEOUT: Duration = Duration::from_secs(4);
/// How often a ping is sent.
const PING_INTERVAL: Duration = Duration::from_secs(1);
/// How many frames wait for a neighbour that does not read. The oldest are dropped: the neighbour requests what it
/// missed.
const QUEUE_MAX: usize = 8;

/// A connection to a known neighbour.
pub(super) struct Connection {
    pub(super) peer: LearnerId,
    socket: Arc<TcpStream>,
    /// When one of its certificates expires.
    expiry: Option<SystemTime>,
    sender: Mutex<SendState>,
    /// Wakes the writer: there is something to write, or the connection is closed.
    wake_writer: Condvar,
    /// Nothing more can be sent.
    closed: AtomicBool,
    /// This side has closed the connection.
    closed_here: AtomicBool,
}

/// What is being sent.
struct SendState {
    tls: Option<Tls>,
    queue: VecDeque<Outgoing>,
    /// The frame that is being sent, and how much of its body was taken.
    current: Option<(Outgoing, usize)>,
    out: WriteBuffer,
    /// Scratch space for the beginning of a frame.
    start: Vec<u8>,
    /// The socket accepts nothing now: the writer continues.
    full: bool,
}

/// The parts of a new connection.
pub(super) struct Parts {
    pub(super) peer: LearnerId,
    pub(super) socket: Arc<TcpStream>,
    pub(super) tls: Option<Tls>,
    pub(super) expiry: Option<SystemTime>,
}

impl Connection {
    pub(super) fn new(parts: Parts) -> Connection {
        let Parts { peer, socket, tls, expiry } = parts;
        let sender = SendState {
            tls,
            queue: VecDeque::new(),
            current: None,
            out: WriteBuffer::default(),
            start: Vec::new(),
            full: false,
        };
        Connection {
            peer,
            socket,
            expiry,
            sender: Mutex::new(sender),
            wake_writer: Condvar::new(),
            closed: AtomicBool::new(false),
            closed_here: AtomicBool::new(false),
        }
    }

    /// Sends a frame, or leaves it to the writer. Never blocks.
    pub(super) fn send(&self, frame: Outgoing) {
        let mut sender = self.sender();
        sender.enqueue(frame);
        if !sender.full {
            self.flush(&mut sender);
        }
    }

    /// Closes the connection. Its reader and its writer return.
    pub(super) fn close(&self) {
        self.closed_here.store(true, Ordering::Relaxed);
        self.closed.store(true, Ordering::Relaxed);
        let _ = self.socket.shutdown(Shutdown::Both);
        // With the lock taken once, a writer has seen the flag or is waiting to be woken.
        drop(self.sender());
        self.wake_writer.notify_all();
    }

    /// Delivers frames until the connection ends. Returns why it ended.
    pub(super) fn receive(
        &self,
        buffer: &mut ReadBuffer,
        decoder: &mut Decoder,
        mut frames: Vec<Frame>,
        deliver: impl Fn(Frame),
    ) -> ConnectionError {
        loop {
            for frame in frames.drain(..) {
                // Delivery may block for long, and a newer connection may wait for this reader to return. If only the peer
                // has closed the connection its last frames are delivered: there may be a farewell.
                if self.closed_here.load(Ordering::Relaxed) {
                    return ConnectionError::Closed;
                }
                deliver(frame);
            }
            match buffer.read(&self.socket) {
                Ok(0) => return ConnectionError::Closed,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if would_block(&error) => return ConnectionError::TimedOut,
                Err(_) => return ConnectionError::Closed,
            }
            if let Err(error) = self.decode(buffer, decoder, &mut frames) {
                return error;
            }
        }
    }

    fn decode(
        &self,
        buffer: &mut ReadBuffer,
        decoder: &mut Decoder,
        frames: &mut Vec<Frame>,
    ) -> Result<(), ConnectionError> {
        let mut sender = self.sender();
        let SendState { tls, out, full, .. } = &mut *sender;
        let Some(tls) = tls else {
            drop(sender);
            return decoder.take(buffer.bytes(), frames);
        };
        let received = tls.receive(buffer, out, &mut |plain| decoder.take(plain, frames));
        // TLS may have added records of its own, such as an alert.
        if !*full && !out.rest().is_empty() {
            self.flush(&mut sender);
        }
        received
    }

    /// The writer's loop: writes what senders could not, sends pings, and closes the connection when a certificate
    /// expires.
    pub(super) fn write_loop(&self) {
        while !self.closed.load(Ordering::Relaxed) {
            if self.expiry.is_some_and(|expiry| SystemTime::now() >= expiry) {
                tracing::warn!("a certificate of the link to learner {} has expired", self.peer);
                return self.close();
            }
            let idle =
                |sender: &mut SendState| !sender.full && !self.closed.load(Ordering::Relaxed);
            let waited = self.wake_writer.wait_timeout_while(self.sender(), PING_INTERVAL, idle);
            let (mut sender, _) = waited.expect(LOCK_POISONED);
            if sender.full {
                drop(sender);
                wait_until_writable(&self.socket, PING_INTERVAL);
                sender = self.sender();
                sender.full = false;
            } else {
                sender.enqueue(Outgoing::Ping);
            }
            self.flush(&mut sender);
        }
    }

    /// Sends as much as the socket accepts.
    fn flush(&self, sender: &mut SendState) {
        match sender.flush(&self.socket) {
            Ok(()) if sender.full => self.wake_writer.notify_one(),
            Ok(()) => {}
            Err(()) => {
                self.closed.store(true, Ordering::Relaxed);
                let _ = self.socket.shutdown(Shutdown::Both);
                self.wake_writer.notify_one();
            }
        }
    }

    fn sender(&self) -> MutexGuard<'_, SendState> {
        self.sender.lock().expect(LOCK_POISONED)
    }
}

impl SendState {
    /// Queues a frame, unless the same is queued already: on a slow link every repeated request would be answered again,
    /// and the answers would pile up. A farewell is never dropped, because no neighbour requests one.
    fn enqueue(&mut self, frame: Outgoing) {
        let current = self.current.iter().map(|(frame, _)| frame);
        // A request that is being sent may be too old to be answered, so the same may be queued again.
        let mut current = current.filter(|current| matches!(current, Outgoing::Release(_)));
        if current.any(|one| one.is_duplicate_of(&frame))
            || self.queue.iter().any(|one| one.is_duplicate_of(&frame))
        {
            return;
        }
        if self.queue.len() >= QUEUE_MAX {
            // Requests are repeated sooner than releases are requested again.
            let small = |one: &Outgoing| matches!(one, Outgoing::Request(_) | Outgoing::Ping);
            let is_farewell = |one: &Outgoing| matches!(one, Outgoing::Farewell);
            let oldest = self.queue.iter().position(small);
            if oldest.is_none() && small(&frame) {
                return;
            }
            let oldest = oldest.or_else(|| self.queue.iter().position(|one| !is_farewell(one)));
            oldest.map(|oldest| self.queue.remove(oldest));
        }
        self.queue.push_back(frame);
    }

    /// Sends until there is nothing left or the socket is full. Fails when the connection is broken.
    fn flush(&mut self, socket: &TcpStream) -> Result<(), ()> {
        loop {
            if self.out.rest().is_empty() {
                self.prepare().map_err(|_| ())?;
            }
            let body = match (&self.tls, &self.current) {
                (None, Some((frame, taken))) => &frame.body()[*taken..],
                _ => &[],
            };
            let ready = self.out.rest();
            if ready.is_empty() && body.is_empty() {
                return Ok(());
            }
            let ready_bytes = ready.len();
            match send_now(socket, ready, body) {
                Ok(count) => {
                    self.out.sent(count.min(ready_bytes));
                    if let Some((_, taken)) = &mut self.current {
                        *taken += count.saturating_sub(ready_bytes);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if would_block(&error) => {
                    self.full = true;
                    return Ok(());
                }
                Err(_) => return Err(()),
            }
        }
    }

    /// Makes more bytes ready to be sent: of the current frame, or of the next.
    fn prepare(&mut self) -> Result<(), ConnectionError> {
        if self.current.as_ref().is_some_and(|(frame, taken)| *taken >= frame.body().len()) {
            self.current = None;
        }
        self.start.clear();
        if self.current.is_none() {
            let Some(frame) = self.queue.pop_front() else { return Ok(()) };
            frame.header(&mut self.start);
            self.current = Some((frame, 0));
        }
        let Some((frame, taken)) = &mut self.current else { return Ok(()) };
        let Some(tls) = &mut self.tls else {
            // The body is sent without a copy.
            self.out.add_plain(&self.start);
            return Ok(());
        };
        let body = frame.body();
        if !self.start.is_empty() {
            // Header and body share a record: a small release is encrypted once.
            *taken = body.len().min(RECORD - self.start.len());
            self.start.extend_from_slice(&body[..*taken]);
            tls.encrypt(&self.start, &mut self.out)?;
        }
        while *taken < body.len() && self.out.rest().len() < READY {
            let piece = &body[*taken..body.len().min(*taken + RECORD)];
            tls.encrypt(piece, &mut self.out)?;
            *taken += piece.len();
        }
        Ok(())
    }
}

/// Whether a call would block, or its timeout is over.
pub(super) fn would_block(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::OwnRelease;
    use undertone::Round;

    fn empty() -> SendState {
        SendState {
            tls: None,
            queue: VecDeque::new(),
            current: None,
            out: WriteBuffer::default(),
            start: Vec::new(),
            full: true,
        }
    }

    #[test]
    fn a_frame_that_waits_for_a_slow_neighbour_is_not_queued_twice() {
        let mut sender = empty();
        let (current, waiting) =
            (OwnRelease::from_store(vec![1; 9]), OwnRelease::from_store(vec![2; 9]));
        sender.current = Some((Outgoing::Release(current.clone()), 4));
        for _ in 0..5 {
            sender.enqueue(Outgoing::Release(current.clone()));
            sender.enqueue(Outgoing::Release(waiting.clone()));
            sender.enqueue(Outgoing::Request(Round(3)));
            sender.enqueue(Outgoing::Request(Round(4)));
            sender.enqueue(Outgoing::Ping);
        }
        assert_eq!(sender.queue.len(), 4, "one release, two requests, one ping");
    }

    #[test]
    fn requests_are_dropped_before_releases_and_a_farewell_never_is() {
        let mut sender = empty();
        let releases: Vec<OwnRelease> =
            (0..20).map(|one| OwnRelease::from_store(vec![one])).collect();
        sender.enqueue(Outgoing::Farewell);
        sender.enqueue(Outgoing::Release(releases[0].clone()));
        for round in 0..20 {
            sender.enqueue(Outgoing::Request(Round(round)));
        }
        let first = |sender: &SendState| sender.queue.get(1).map(|frame| frame.body().to_vec());
        assert_eq!(first(&sender), Some(vec![0]), "the release is still queued");
        releases.iter().skip(1).for_each(|one| sender.enqueue(Outgoing::Release(one.clone())));
        assert_eq!(sender.queue.len(), QUEUE_MAX);
        assert!(matches!(sender.queue[0], Outgoing::Farewell));
        assert_eq!(first(&sender), Some(vec![13]), "then the oldest releases are dropped");
        sender.enqueue(Outgoing::Request(Round(7)));
        assert_eq!(first(&sender), Some(vec![13]), "but not for a request");
    }
}
