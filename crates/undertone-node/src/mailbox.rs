//! The way to the learner's thread: a bounded queue with many senders and one receiver.
//!
//! The standard library's wakes its receiver while it holds a lock that the receiver needs first. With small messages
//! a learner does little else than being woken, so here the lock is given back before, and nobody is woken who does
//! not wait. Errors are the standard library's.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TrySendError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// A queue for at most so many.
///
/// # Panics
/// When there is room for none.
#[must_use]
pub fn mailbox<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(capacity > 0, "room for one at least");
    let state = State {
        queue: VecDeque::new(),
        lanes: BTreeMap::new(),
        capacity,
        senders: 1,
        senders_waiting: 0,
        receiver_waits: false,
        receiver_is_gone: false,
    };
    let shared = Arc::new(Shared {
        state: Mutex::new(state),
        filled: Condvar::new(),
        emptied: Condvar::new(),
    });
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

/// What happens to something for which there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// It waits.
    Wait,
    /// It is dropped: whoever brings it serves others too, and must not wait.
    Drop,
}

/// Where things are put in.
pub struct Sender<T>(Arc<Shared<T>>);

/// Where they are taken out, in order.
pub struct Receiver<T>(Arc<Shared<T>>);

struct Shared<T> {
    state: Mutex<State<T>>,
    filled: Condvar,
    emptied: Condvar,
}

struct State<T> {
    /// Each with the lane that it came by, if any.
    queue: VecDeque<(Option<u32>, T)>,
    /// How many are in the queue by each lane.
    lanes: BTreeMap<u32, usize>,
    capacity: usize,
    senders: usize,
    senders_waiting: usize,
    receiver_waits: bool,
    receiver_is_gone: bool,
}

impl<T> State<T> {
    /// One less by this lane. Lanes without any are not kept: who makes up numbers fills nothing.
    fn leave(&mut self, lane: u32) {
        if let Some(waiting) = self.lanes.get_mut(&lane) {
            *waiting -= 1;
            if *waiting == 0 {
                self.lanes.remove(&lane);
            }
        }
    }
}

const UNHURT: &str = "nobody panics while holding it";

impl<T> Shared<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().expect(UNHURT)
    }

    fn wait_for_room<'a>(&self, mut state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        state.senders_waiting += 1;
        state = self.emptied.wait(state).expect(UNHURT);
        state.senders_waiting -= 1;
        state
    }

    fn wait_for_more<'a>(
        &self,
        mut state: MutexGuard<'a, State<T>>,
        time: Duration,
    ) -> MutexGuard<'a, State<T>> {
        state.receiver_waits = true;
        (state, _) = self.filled.wait_timeout(state, time).expect(UNHURT);
        state.receiver_waits = false;
        state
    }

    fn put(&self, mut state: MutexGuard<'_, State<T>>, lane: Option<u32>, item: T) {
        if let Some(lane) = lane {
            *state.lanes.entry(lane).or_default() += 1;
        }
        state.queue.push_back((lane, item));
        let wakes = std::mem::take(&mut state.receiver_waits);
        drop(state);
        if wakes {
            self.filled.notify_one();
        }
    }
}

impl<T> Sender<T> {
    /// Puts something in, and waits until there is room.
    ///
    /// # Errors
    /// When nobody will take it out.
    pub fn send(&self, item: T) -> Result<(), SendError<T>> {
        self.send_when(|state| state.queue.len() < state.capacity, None, Full::Wait, item)
    }

    /// Puts something in by a lane, if there is room and fewer than `most` are in by the same lane: who sends without end
    /// keeps nobody else out.
    ///
    /// # Errors
    /// When nobody will take it out.
    pub fn send_by(&self, lane: u32, most: usize, full: Full, item: T) -> Result<(), SendError<T>> {
        let fits = |state: &State<T>| {
            let waiting = state.lanes.get(&lane).copied().unwrap_or(0);
            state.queue.len() < state.capacity && waiting < most
        };
        self.send_when(fits, Some(lane), full, item)
    }

    fn send_when(
        &self,
        fits: impl Fn(&State<T>) -> bool,
        lane: Option<u32>,
        full: Full,
        item: T,
    ) -> Result<(), SendError<T>> {
        let mut state = self.0.state();
        while !fits(&state) && !state.receiver_is_gone {
            if full == Full::Drop {
                return Ok(());
            }
            state = self.0.wait_for_room(state);
        }
        if state.receiver_is_gone {
            return Err(SendError(item));
        }
        self.0.put(state, lane, item);
        Ok(())
    }

    /// Puts something in if there is room.
    ///
    /// # Errors
    /// When there is none, or nobody will take it out.
    pub fn try_send(&self, item: T) -> Result<(), TrySendError<T>> {
        let state = self.0.state();
        if state.receiver_is_gone {
            return Err(TrySendError::Disconnected(item));
        }
        if state.queue.len() >= state.capacity {
            return Err(TrySendError::Full(item));
        }
        self.0.put(state, None, item);
        Ok(())
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        self.0.state().senders += 1;
        Sender(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.state().senders -= 1;
        self.0.filled.notify_one();
    }
}

impl<T> Receiver<T> {
    /// Waits for the next.
    ///
    /// # Errors
    /// When all senders are gone.
    pub fn recv(&self) -> Result<T, RecvError> {
        loop {
            match self.recv_timeout(Duration::MAX) {
                Ok(item) => return Ok(item),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(RecvError),
            }
        }
    }

    /// Waits for the next, but not for longer than this.
    ///
    /// # Errors
    /// When nothing came, or all senders are gone.
    pub fn recv_timeout(&self, time: Duration) -> Result<T, RecvTimeoutError> {
        let mut end = None;
        let mut state = self.0.state();
        loop {
            if let Some((lane, item)) = state.queue.pop_front() {
                if let Some(lane) = lane {
                    state.leave(lane);
                }
                let room_is_wanted = state.senders_waiting > 0;
                drop(state);
                if room_is_wanted {
                    // It may be room for one of them only, of the lane that this was of.
                    self.0.emptied.notify_all();
                }
                return Ok(item);
            }
            if state.senders == 0 {
                return Err(RecvTimeoutError::Disconnected);
            }
            // The clock is asked only by who has to wait.
            let now = Instant::now();
            let end = *end.get_or_insert_with(|| now.checked_add(time).unwrap_or(now + FOR_EVER));
            let remaining = end.saturating_duration_since(now);
            if remaining.is_zero() {
                return Err(RecvTimeoutError::Timeout);
            }
            state = self.0.wait_for_more(state, remaining);
        }
    }
}

/// As long as nobody waits.
const FOR_EVER: Duration = Duration::from_secs(3600);

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.receiver_is_gone = true;
        // What is in it may have senders in it.
        let left = std::mem::take(&mut state.queue);
        drop(state);
        self.0.emptied.notify_all();
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn all_that_many_send_arrives_once_and_in_each_senders_order() {
        let (sender, receiver) = mailbox(3);
        thread::scope(|scope| {
            for who in 0..4 {
                let sender = sender.clone();
                scope.spawn(move || (0..2000).for_each(|n| sender.send((who, n)).unwrap()));
            }
            drop(sender);
            let mut next = [0; 4];
            while let Ok((who, n)) = receiver.recv() {
                assert_eq!(n, next[who], "of sender {who}");
                next[who] += 1;
            }
            assert_eq!(next, [2000; 4]);
        });
    }

    #[test]
    fn who_sends_without_end_keeps_nobody_else_out() {
        let (sender, receiver) = mailbox(100);
        thread::scope(|scope| {
            let flood = sender.clone();
            scope.spawn(move || while flood.send_by(7, 4, Full::Wait, "flood").is_ok() {});
            while sender.0.state().senders_waiting == 0 {
                thread::yield_now();
            }
            sender.send_by(7, 4, Full::Drop, "dropped").unwrap();
            sender.send_by(8, 4, Full::Drop, "neighbour").unwrap();
            sender.try_send("owner").unwrap();
            let first: Vec<_> = (0..6).map(|_| receiver.recv().unwrap()).collect();
            assert_eq!(first[..4], ["flood"; 4]);
            assert_eq!(first[4..], ["neighbour", "owner"], "they wait behind four");
            assert_eq!(receiver.recv(), Ok("flood"), "which goes on when there is room");
            assert!(!sender.0.state().lanes.contains_key(&8), "a lane that is empty is forgotten");
            drop(receiver);
        });
    }

    #[test]
    fn who_is_full_empty_or_alone_is_told() {
        let (sender, receiver) = mailbox(1);
        assert_eq!(receiver.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout));
        sender.try_send(1).unwrap();
        assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| sender.send(3));
            assert_eq!(receiver.recv(), Ok(1));
            assert_eq!(receiver.recv(), Ok(3));
            waiting.join().unwrap().unwrap();
        });
        sender.send(4).unwrap();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| sender.send(5));
            drop(receiver);
            assert_eq!(waiting.join().unwrap(), Err(SendError(5)), "nobody waits for ever");
        });
        assert_eq!(sender.try_send(6), Err(TrySendError::Disconnected(6)));
    }
}
