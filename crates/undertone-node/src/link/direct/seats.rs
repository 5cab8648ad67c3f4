//! One connection at a time for each neighbour.

use super::connection::Connection;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use undertone::LearnerId;

/// Which connection each neighbour has, and which takes its place.
///
/// A reader may wait for the learner for long, also when its connection is closed. If every new connection were let in
/// beside it, a neighbour that connects again and again would make threads without end. So a new one waits until the
/// one before it is gone, and at most one waits: a newer one sends it away.
#[derive(Default)]
pub(super) struct Seats {
    seats: Mutex<BTreeMap<LearnerId, Seat>>,
    changed: Condvar,
}

#[derive(Default)]
struct Seat {
    taken: Option<Arc<Connection>>,
    next: Option<Arc<Connection>>,
}

impl Seat {
    fn awaits(&self, connection: &Arc<Connection>) -> bool {
        self.next.as_ref().is_some_and(|next| Arc::ptr_eq(next, connection))
    }
}

impl Seats {
    /// Ends the connection that the neighbour had, and waits until nobody reads from it any more. False when a newer
    /// one has come meanwhile, or all are sent away.
    pub(super) fn take(&self, connection: &Arc<Connection>) -> bool {
        let peer = connection.peer;
        let mut seats = self.seats();
        let seat = seats.entry(peer).or_default();
        // It has begun anew, and may not have noticed yet that the old connection is dead.
        let before = seat.next.replace(Arc::clone(connection));
        before.iter().chain(&seat.taken).for_each(|old| old.close());
        self.changed.notify_all();
        let in_line = |seats: &mut BTreeMap<LearnerId, Seat>| {
            seats.get(&peer).is_some_and(|seat| seat.taken.is_some() && seat.awaits(connection))
        };
        let mut seats = self.changed.wait_while(seats, in_line).expect(UNHURT);
        let Some(seat) = seats.get_mut(&peer).filter(|seat| seat.awaits(connection)) else {
            return false;
        };
        seat.taken = seat.next.take();
        true
    }

    /// Nobody reads from the neighbour's connection any more.
    pub(super) fn leave(&self, peer: LearnerId) {
        if let Some(seat) = self.seats().get_mut(&peer) {
            seat.taken = None;
        }
        self.changed.notify_all();
    }

    /// The neighbour's connection, if there is one.
    pub(super) fn of(&self, peer: LearnerId) -> Option<Arc<Connection>> {
        self.seats().get(&peer)?.taken.clone()
    }

    /// Does something with every connection that is in use.
    pub(super) fn for_each(&self, act: impl Fn(&Connection)) {
        self.seats().values().filter_map(|seat| seat.taken.as_deref()).for_each(act);
    }

    /// Sends all away.
    pub(super) fn clear(&self) {
        for seat in self.seats().values_mut() {
            let next = seat.next.take();
            next.iter().chain(&seat.taken).for_each(|connection| connection.close());
        }
        self.changed.notify_all();
    }

    fn seats(&self) -> MutexGuard<'_, BTreeMap<LearnerId, Seat>> {
        self.seats.lock().expect(UNHURT)
    }
}

const UNHURT: &str = "nobody panics while holding it";
