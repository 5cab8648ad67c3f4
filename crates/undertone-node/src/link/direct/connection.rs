//! One connection to one neighbour: sending never waits, and receiving has a thread of its own.
//!
//! Whoever sends writes at once what the system takes. What it does not take is left to the connection's writer, which
//! waits until it does. The lock is never held while anybody waits for the socket: two neighbours may send each other
//! whatever they like at the same time.

use super::buffers::{Inbox, Outbox, READY};
use super::frame::{Decoder, Frame, Outgoing};
use super::socket::{send_now, wait_until_writable};
use super::tls::{RECORD, Tls, TlsFault};
use std::collections::VecDeque;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};
use undertone::LearnerId;

/// A neighbour that has not been heard for so long, not even a ping, is gone.
pub(super) const LEASE: Duration = Duration::from_secs(4);
/// So often a ping is sent.
const PING: Duration = Duration::from_secs(1);
/// So many frames wait for a neighbour that does not read. The oldest make room: it asks for what it missed.
const QUEUE_MAX: usize = 8;

/// A neighbour that is known, and how it can be reached.
pub(super) struct Connection {
    pub(super) peer: LearnerId,
    socket: Arc<TcpStream>,
    /// When a certificate on it ends.
    end: Option<SystemTime>,
    sending: Mutex<Sending>,
    /// Something was left to the writer, or the connection is closed.
    left_over: Condvar,
    /// Nothing more can be sent.
    closed: AtomicBool,
    /// Somebody has closed it.
    dismissed: AtomicBool,
}

/// What is on its way out.
struct Sending {
    tls: Option<Tls>,
    queue: VecDeque<Outgoing>,
    /// A frame that is begun, and how much of its body is taken.
    begun: Option<(Outgoing, usize)>,
    out: Outbox,
    /// Where the beginning of a frame is put together.
    start: Vec<u8>,
    /// The system takes nothing more for now: the writer goes on.
    full: bool,
}

/// What a connection is made of.
pub(super) struct Parts {
    pub(super) peer: LearnerId,
    pub(super) socket: Arc<TcpStream>,
    pub(super) tls: Option<Tls>,
    pub(super) end: Option<SystemTime>,
}

impl Connection {
    pub(super) fn new(parts: Parts) -> Connection {
        let Parts { peer, socket, tls, end } = parts;
        let sending = Sending {
            tls,
            queue: VecDeque::new(),
            begun: None,
            out: Outbox::default(),
            start: Vec::new(),
            full: false,
        };
        Connection {
            peer,
            socket,
            end,
            sending: Mutex::new(sending),
            left_over: Condvar::new(),
            closed: AtomicBool::new(false),
            dismissed: AtomicBool::new(false),
        }
    }

    /// Sends a frame, or leaves it to the writer. Never waits for the neighbour.
    pub(super) fn send(&self, frame: Outgoing) {
        let mut sending = self.sending();
        sending.enqueue(frame);
        if !sending.full {
            self.go_on(&mut sending);
        }
    }

    /// Ends the connection, and with it its reader and its writer.
    pub(super) fn close(&self) {
        self.dismissed.store(true, Ordering::Relaxed);
        self.closed.store(true, Ordering::Relaxed);
        let _ = self.socket.shutdown(Shutdown::Both);
        // Who is about to wait has seen it, or is woken.
        drop(self.sending());
        self.left_over.notify_all();
    }

    /// Hands over what comes, until the connection ends; says why it did.
    pub(super) fn receive(
        &self,
        inbox: &mut Inbox,
        decoder: &mut Decoder,
        mut frames: Vec<Frame>,
        deliver: impl Fn(Frame),
    ) -> Ended {
        loop {
            for frame in frames.drain(..) {
                // Delivering may wait for long, and meanwhile a newer connection may want this one's place. What came before
                // a mere fault is heard: it may be a farewell.
                if self.dismissed.load(Ordering::Relaxed) {
                    return Ended::Closed;
                }
                deliver(frame);
            }
            match inbox.read(&self.socket) {
                Ok(0) => return Ended::Closed,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if is_full(&error) => return Ended::Silent,
                Err(_) => return Ended::Closed,
            }
            if let Err(fault) = self.decode(inbox, decoder, &mut frames) {
                return Ended::Fault(fault);
            }
        }
    }

    fn decode(
        &self,
        inbox: &mut Inbox,
        decoder: &mut Decoder,
        frames: &mut Vec<Frame>,
    ) -> Result<(), TlsFault> {
        let mut sending = self.sending();
        let Sending { tls, out, full, .. } = &mut *sending;
        let Some(tls) = tls else {
            drop(sending);
            return Ok(decoder.take(inbox.bytes(), frames)?);
        };
        let worked = tls.receive(inbox, out, &mut |plain| decoder.take(plain, frames));
        // TLS itself may have had to answer. If it failed it says why.
        if !*full && !out.rest().is_empty() {
            self.go_on(&mut sending);
        }
        worked
    }

    /// What the writer does: goes on where senders could not, shows now and then that this side is there, and ends
    /// the connection when a certificate ends.
    pub(super) fn write(&self) {
        while !self.closed.load(Ordering::Relaxed) {
            if self.end.is_some_and(|end| SystemTime::now() >= end) {
                tracing::warn!("a certificate on the link to learner {} has expired", self.peer);
                return self.close();
            }
            let idle =
                |sending: &mut Sending| !sending.full && !self.closed.load(Ordering::Relaxed);
            let waited = self.left_over.wait_timeout_while(self.sending(), PING, idle);
            let (mut sending, _) = waited.expect(UNHURT);
            if sending.full {
                drop(sending);
                wait_until_writable(&self.socket, PING);
                sending = self.sending();
                sending.full = false;
            } else {
                sending.enqueue(Outgoing::Ping);
            }
            self.go_on(&mut sending);
        }
    }

    /// Sends as much as can be sent now.
    fn go_on(&self, sending: &mut Sending) {
        match sending.push(&self.socket) {
            Ok(()) if sending.full => self.left_over.notify_one(),
            Ok(()) => {}
            Err(()) => {
                self.closed.store(true, Ordering::Relaxed);
                let _ = self.socket.shutdown(Shutdown::Both);
                self.left_over.notify_one();
            }
        }
    }

    fn sending(&self) -> MutexGuard<'_, Sending> {
        self.sending.lock().expect(UNHURT)
    }
}

const UNHURT: &str = "nobody panics while holding it";

/// Why a connection ended.
pub(super) enum Ended {
    /// The other side ended it, or this one.
    Closed,
    /// Nothing came for too long.
    Silent,
    /// What came is not understood.
    Fault(TlsFault),
}

impl Sending {
    /// What waits already is not said twice: on a slow way every question would else be answered once more, and the
    /// answers would never end. A farewell is not dropped: nobody would ask for it.
    fn enqueue(&mut self, frame: Outgoing) {
        let begun = self.begun.iter().map(|(frame, _)| frame);
        // A question that is begun may be too old to be answered: the same may be asked again.
        let mut begun = begun.filter(|begun| matches!(begun, Outgoing::Release(_)));
        if begun.any(|one| one.says_the_same(&frame))
            || self.queue.iter().any(|one| one.says_the_same(&frame))
        {
            return;
        }
        if self.queue.len() >= QUEUE_MAX {
            // Questions are asked again before anybody asks for a release again.
            let small = |one: &Outgoing| matches!(one, Outgoing::Question(_) | Outgoing::Ping);
            let lasts = |one: &Outgoing| matches!(one, Outgoing::Farewell);
            let oldest = self.queue.iter().position(small);
            if oldest.is_none() && small(&frame) {
                return;
            }
            let oldest = oldest.or_else(|| self.queue.iter().position(|one| !lasts(one)));
            oldest.map(|oldest| self.queue.remove(oldest));
        }
        self.queue.push_back(frame);
    }

    /// Sends until there is nothing more or the system is full. An error when the connection is of no use any more.
    fn push(&mut self, socket: &TcpStream) -> Result<(), ()> {
        loop {
            if self.out.rest().is_empty() {
                self.prepare().map_err(|_| ())?;
            }
            let body = match (&self.tls, &self.begun) {
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
                    if let Some((_, taken)) = &mut self.begun {
                        *taken += count.saturating_sub(ready_bytes);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_full(&error) => {
                    self.full = true;
                    return Ok(());
                }
                Err(_) => return Err(()),
            }
        }
    }

    /// Makes more ready to be sent: of the frame that is begun, or of the next.
    fn prepare(&mut self) -> Result<(), TlsFault> {
        if self.begun.as_ref().is_some_and(|(frame, taken)| *taken >= frame.body().len()) {
            self.begun = None;
        }
        self.start.clear();
        if self.begun.is_none() {
            let Some(frame) = self.queue.pop_front() else { return Ok(()) };
            frame.head(&mut self.start);
            self.begun = Some((frame, 0));
        }
        let Some((frame, taken)) = &mut self.begun else { return Ok(()) };
        let Some(tls) = &mut self.tls else {
            // The body is sent from where it is.
            self.out.add_plain(&self.start);
            return Ok(());
        };
        let body = frame.body();
        if !self.start.is_empty() {
            // Head and body in one record: a small message is encrypted once.
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

/// How the system says that it would have to wait, or that it has waited long enough.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::OwnRelease;
    use undertone::Round;

    fn nothing_sent() -> Sending {
        Sending {
            tls: None,
            queue: VecDeque::new(),
            begun: None,
            out: Outbox::default(),
            start: Vec::new(),
            full: true,
        }
    }

    #[test]
    fn what_waits_for_a_slow_neighbour_is_not_queued_twice() {
        let mut sending = nothing_sent();
        let (begun, waits) =
            (OwnRelease::from_store(vec![1; 9]), OwnRelease::from_store(vec![2; 9]));
        sending.begun = Some((Outgoing::Release(begun.clone()), 4));
        for _ in 0..5 {
            sending.enqueue(Outgoing::Release(begun.clone()));
            sending.enqueue(Outgoing::Release(waits.clone()));
            sending.enqueue(Outgoing::Question(Round(3)));
            sending.enqueue(Outgoing::Question(Round(4)));
            sending.enqueue(Outgoing::Ping);
        }
        assert_eq!(sending.queue.len(), 4, "one release, two questions, one ping");
    }

    #[test]
    fn questions_make_room_before_releases_and_a_farewell_never_does() {
        let mut sending = nothing_sent();
        let releases: Vec<OwnRelease> =
            (0..20).map(|one| OwnRelease::from_store(vec![one])).collect();
        sending.enqueue(Outgoing::Farewell);
        sending.enqueue(Outgoing::Release(releases[0].clone()));
        for round in 0..20 {
            sending.enqueue(Outgoing::Question(Round(round)));
        }
        let first = |sending: &Sending| sending.queue.get(1).map(|frame| frame.body().to_vec());
        assert_eq!(first(&sending), Some(vec![0]), "the release waits still");
        releases.iter().skip(1).for_each(|one| sending.enqueue(Outgoing::Release(one.clone())));
        assert_eq!(sending.queue.len(), QUEUE_MAX);
        assert!(matches!(sending.queue[0], Outgoing::Farewell));
        assert_eq!(first(&sending), Some(vec![13]), "then the oldest releases go");
        sending.enqueue(Outgoing::Question(Round(7)));
        assert_eq!(first(&sending), Some(vec![13]), "but not for a question");
    }
}
