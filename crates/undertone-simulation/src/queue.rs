//! Events in the order of simulated time.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::time::Duration;
use undertone::{LearnerId, Round};
use undertone_node::wire::OwnRelease;

/// What happens.
pub(crate) enum EventKind<E> {
    Deliver { to: LearnerId, from: LearnerId, release: OwnRelease },
    Request { of: LearnerId, by: LearnerId, round: Round },
    Connect { caller: LearnerId, called: LearnerId },
    Wake(LearnerId),
    Start(LearnerId),
    Stop(LearnerId),
    Other(E),
}

struct Event<E> {
    at: Duration,
    /// Of two events at the same time, the one that was scheduled first comes first.
    sequence: u64,
    kind: EventKind<E>,
}

/// The events to come.
pub(crate) struct Queue<E> {
    events: BinaryHeap<Reverse<Event<E>>>,
    scheduled: u64,
}

impl<E> Queue<E> {
    pub(crate) fn new() -> Queue<E> {
        Queue { events: BinaryHeap::new(), scheduled: 0 }
    }

    pub(crate) fn schedule(&mut self, at: Duration, kind: EventKind<E>) {
        self.scheduled += 1;
        self.events.push(Reverse(Event { at, sequence: self.scheduled, kind }));
    }

    /// The next event, and its time.
    pub(crate) fn pop(&mut self) -> Option<(Duration, EventKind<E>)> {
        self.events.pop().map(|Reverse(event)| (event.at, event.kind))
    }

    /// Forgets the planned starts of a learner.
    pub(crate) fn cancel_starts(&mut self, learner: LearnerId) {
        let is_start =
            |kind: &EventKind<E>| matches!(kind, EventKind::Start(one) if *one == learner);
        self.events.retain(|Reverse(event)| !is_start(&event.kind));
    }

    /// How many events were ever scheduled.
    pub(crate) fn scheduled(&self) -> u64 {
        self.scheduled
    }
}

impl<E> PartialEq for Event<E> {
    fn eq(&self, other: &Event<E>) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Event<E> {}

impl<E> PartialOrd for Event<E> {
    fn partial_cmp(&self, other: &Event<E>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Event<E> {
    fn cmp(&self, other: &Event<E>) -> Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}

#[cfg(test)]
mod tests {
    use super::{EventKind, Queue};
    use std::time::Duration;
    use undertone::LearnerId;

    fn wakes(queue: &mut Queue<()>) -> Vec<u32> {
        let mut found = Vec::new();
        while let Some((_, kind)) = queue.pop() {
            if let EventKind::Wake(LearnerId(id)) | EventKind::Start(LearnerId(id)) = kind {
                found.push(id);
            }
        }
        found
    }

    #[test]
    fn events_come_in_order_of_time_and_then_of_planning() {
        let mut queue = Queue::new();
        for (id, seconds) in [(0, 2), (1, 1), (2, 2), (3, 1), (4, 0)] {
            queue.schedule(Duration::from_secs(seconds), EventKind::Wake(LearnerId(id)));
        }
        assert_eq!(wakes(&mut queue), [4, 1, 3, 0, 2]);
    }

    #[test]
    fn only_the_starts_of_one_learner_are_cancelled() {
        let mut queue = Queue::new();
        for id in [0, 1, 0] {
            queue.schedule(Duration::ZERO, EventKind::Start(LearnerId(id)));
        }
        queue.schedule(Duration::ZERO, EventKind::Wake(LearnerId(0)));
        queue.cancel_starts(LearnerId(0));
        assert_eq!(wakes(&mut queue), [1, 0]);
    }
}
