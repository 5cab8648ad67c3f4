//! The queue of the learner's thread: bounded, with many senders and one receiver.
//!
//! The standard library's channel wakes its receiver while it holds a lock that the receiver needs
//! next. With small messages, most of a learner's time would be spent on waking up. So here the
//! lock is released first, and only a waiting thread is woken. Errors are the standard library's.

use crate::LOCK_POISONED;
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TrySendError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// A queue with room for `capacity` items.
///
/// # Panics
/// When the capacity is 0.
#[must_use]
pub fn mailbox<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(capacity > 0, "the capacity is at least 1");
    let state = State {
        queue: VecDeque::new(),
        lanes: BTreeMap::new(),
        capacity,
        senders: 1,
        senders_waiting: 0,
        receiver_waits: false,
        receiver_dropped: false,
    };
    let shared = Arc::new(Shared {
        state: Mutex::new(state),
        filled: Condvar::new(),
        emptied: Condvar::new(),
    });
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

/// What happens to an item for which there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhenFull {
    /// The sender waits.
    Wait,
    /// The item is dropped: its sender serves other neighbours too, and must not wait.
    Drop,
}

/// Puts items in.
pub struct Sender<T>(Arc<Shared<T>>);

/// Takes items out, in order.
pub struct Receiver<T>(Arc<Shared<T>>);

struct Shared<T> {
    state: Mutex<State<T>>,
    filled: Condvar,
    emptied: Condvar,
}

struct State<T> {
    /// Items, each with its lane, if any.
    queue: VecDeque<(Option<u32>, T)>,
    /// How many items of each lane are in the queue.
    lanes: BTreeMap<u32, usize>,
    capacity: usize,
    senders: usize,
    senders_waiting: usize,
    receiver_waits: bool,
    receiver_dropped: bool,
}

impl<T> State<T> {
    /// Counts one item less in a lane. Empty lanes are removed, so that invented lane numbers take no memory.
    fn remove_from_lane(&mut self, lane: u32) {
        if let Some(waiting) = self.lanes.get_mut(&lane) {
            *waiting -= 1;
            if *waiting == 0 {
                self.lanes.remove(&lane);
            }
        }
    }
}

impl<T> Shared<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().expect(LOCK_POISONED)
    }

    fn wait_for_room<'a>(&self, mut state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        state.senders_waiting += 1;
        state = self.emptied.wait(state).expect(LOCK_POISONED);
        state.senders_waiting -= 1;
        state
    }

    fn wait_for_item<'a>(
        &self,
        mut state: MutexGuard<'a, State<T>>,
        time: Duration,
    ) -> MutexGuard<'a, State<T>> {
        state.receiver_waits = true;
        (state, _) = self.filled.wait_timeout(state, time).expect(LOCK_POISONED);
        state.receiver_waits = false;
        state
    }

    fn put(&self, mut state: MutexGuard<'_, State<T>>, lane: Option<u32>, item: T) {
        if let Some(lane) = lane {
            *state.lanes.entry(lane).or_default() += 1;
        }
        state.queue.push_back((lane, item));
        let must_wake = std::mem::take(&mut state.receiver_waits);
        drop(state);
        if must_wake {
            self.filled.notify_one();
        }
    }
}

impl<T> Sender<T> {
    /// Puts an item in, and waits until there is room.
    ///
    /// # Errors
    /// When the receiver was dropped.
    pub fn send(&self, item: T) -> Result<(), SendError<T>> {
        self.send_when(|state| state.queue.len() < state.capacity, None, WhenFull::Wait, item)
    }

    /// Puts an item into a lane, if the queue has room and holds fewer than `lane_max` items of that lane. A sender that
    /// floods its lane cannot keep others out.
    ///
    /// # Errors
    /// When the receiver was dropped.
    pub(crate) fn send_by(
        &self,
        lane: u32,
        lane_max: usize,
        when_full: WhenFull,
        item: T,
    ) -> Result<(), SendError<T>> {
        let fits = |state: &State<T>| {
            let waiting = state.lanes.get(&lane).copied().unwrap_or(0);
            state.queue.len() < state.capacity && waiting < lane_max
        };
        self.send_when(fits, Some(lane), when_full, item)
    }

    fn send_when(
        &self,
        fits: impl Fn(&State<T>) -> bool,
        lane: Option<u32>,
        when_full: WhenFull,
        item: T,
    ) -> Result<(), SendError<T>> {
        let mut state = self.0.state();
        while !fits(&state) && !state.receiver_dropped {
            if when_full == WhenFull::Drop {
                return Ok(());
            }
            state = self.0.wait_for_room(state);
        }
        if state.receiver_dropped {
            return Err(SendError(item));
        }
        self.0.put(state, lane, item);
        Ok(())
    }

    /// Puts an item in if there is room.
    ///
    /// # Errors
    /// When there is no room, or the receiver was dropped.
    pub(crate) fn try_send(&self, item: T) -> Result<(), TrySendError<T>> {
        let state = self.0.state();
        if state.receiver_dropped {
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
    /// Waits for the next item.
    ///
    /// # Errors
    /// When all senders were dropped.
    pub fn recv(&self) -> Result<T, RecvError> {
        loop {
            match self.recv_timeout(Duration::MAX) {
                Ok(item) => return Ok(item),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(RecvError),
            }
        }
    }

    /// Waits for the next item, at most for `time`.
    ///
    /// # Errors
    /// When no item arrived, or all senders were dropped.
    pub fn recv_timeout(&self, time: Duration) -> Result<T, RecvTimeoutError> {
        let mut end = None;
        let mut state = self.0.state();
        loop {
            if let Some((lane, item)) = state.queue.pop_front() {
                if let Some(lane) = lane {
                    state.remove_from_lane(lane);
                }
                let senders_wait = state.senders_waiting > 0;
                drop(state);
                if senders_wait {
                    // All of them: the room may be in one sender's lane only.
                    self.0.emptied.notify_all();
                }
                return Ok(item);
            }
            if state.senders == 0 {
                return Err(RecvTimeoutError::Disconnected);
            }
            // The clock is read only if there is something to wait for.
            let now = Instant::now();
            let end = *end.get_or_insert_with(|| now.checked_add(time).unwrap_or(now + LONG_WAIT));
            let remaining = end.saturating_duration_since(now);
            if remaining.is_zero() {
                return Err(RecvTimeoutError::Timeout);
            }
            state = self.0.wait_for_item(state, remaining);
        }
    }
}

/// Used instead of a time that is too long for the clock.
const LONG_WAIT: Duration = Duration::from_secs(3600);

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.receiver_dropped = true;
        // Dropped without the lock: items may hold senders of this queue.
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
    fn every_item_arrives_once_and_in_its_senders_order() {
        let (sender, receiver) = mailbox(3);
        thread::scope(|scope| {
            for id in 0..4 {
                let sender = sender.clone();
                scope.spawn(move || (0..2000).for_each(|n| sender.send((id, n)).unwrap()));
            }
            drop(sender);
            let mut next = [0; 4];
            while let Ok((id, n)) = receiver.recv() {
                assert_eq!(n, next[id], "of sender {id}");
                next[id] += 1;
            }
            assert_eq!(next, [2000; 4]);
        });
    }

    #[test]
    fn a_sender_that_floods_its_lane_keeps_nobody_else_out() {
        let (sender, receiver) = mailbox(100);
        thread::scope(|scope| {
            let flood = sender.clone();
            scope.spawn(move || while flood.send_by(7, 4, WhenFull::Wait, "flood").is_ok() {});
            while sender.0.state().senders_waiting == 0 {
                thread::yield_now();
            }
            sender.send_by(7, 4, WhenFull::Drop, "dropped").unwrap();
            sender.send_by(8, 4, WhenFull::Drop, "neighbour").unwrap();
            sender.try_send("owner").unwrap();
            let first: Vec<_> = (0..6).map(|_| receiver.recv().unwrap()).collect();
            assert_eq!(first[..4], ["flood"; 4]);
            assert_eq!(first[4..], ["neighbour", "owner"], "only four items are before them");
            assert_eq!(receiver.recv(), Ok("flood"), "the flood continues when there is room");
            assert!(!sender.0.state().lanes.contains_key(&8), "an empty lane is removed");
            drop(receiver);
        });
    }

    #[test]
    fn a_full_queue_an_empty_queue_and_a_dropped_end_are_errors() {
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
            assert_eq!(
                waiting.join().unwrap(),
                Err(SendError(5)),
                "the sender does not wait for ever"
            );
        });
        assert_eq!(sender.try_send(6), Err(TrySendError::Disconnected(6)));
    }
}
