//! One active connection for each neighbour.

use super::connection::Connection;
use crate::LOCK_POISONED;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use undertone::LearnerId;

/// The active connection of each neighbour, and the one that replaces it.
///
/// A reader may wait for the learner for long, even after its connection was closed. If every new connection were
/// admitted beside it, a neighbour that reconnects again and again would create threads without limit. So a new
/// connection waits until the reader of the old one has returned. At most one connection waits: a newer one closes it.
#[derive(Default)]
pub(super) struct ActiveConnections {
    slots: Mutex<BTreeMap<LearnerId, Slot>>,
    changed: Condvar,
}

#[derive(Default)]
struct Slot {
    active: Option<Arc<Connection>>,
    next: Option<Arc<Connection>>,
}

impl Slot {
    fn is_next(&self, connection: &Arc<Connection>) -> bool {
        self.next.as_ref().is_some_and(|next| Arc::ptr_eq(next, connection))
    }
}

impl ActiveConnections {
    /// Closes the neighbour's previous connection, waits until its reader has returned, and makes this one active.
    /// Returns false if a newer connection has replaced it meanwhile, or all were closed.
    pub(super) fn activate(&self, connection: &Arc<Connection>) -> bool {
        let peer = connection.peer;
        let mut slots = self.slots();
        let slot = slots.entry(peer).or_default();
        // The neighbour has reconnected. This side may not have noticed yet that the old connection is dead.
        let replaced = slot.next.replace(Arc::clone(connection));
        replaced.iter().chain(&slot.active).for_each(|old| old.close());
        self.changed.notify_all();
        let must_wait = |slots: &mut BTreeMap<LearnerId, Slot>| {
            slots.get(&peer).is_some_and(|slot| slot.active.is_some() && slot.is_next(connection))
        };
        let mut slots = self.changed.wait_while(slots, must_wait).expect(LOCK_POISONED);
        let Some(slot) = slots.get_mut(&peer).filter(|slot| slot.is_next(connection)) else {
            return false;
        };
        slot.active = slot.next.take();
        true
    }

    /// Notes that the reader of the neighbour's connection has returned.
    pub(super) fn deactivate(&self, peer: LearnerId) {
        if let Some(slot) = self.slots().get_mut(&peer) {
            slot.active = None;
        }
        self.changed.notify_all();
    }

    /// The neighbour's active connection, if there is one.
    pub(super) fn get(&self, peer: LearnerId) -> Option<Arc<Connection>> {
        self.slots().get(&peer)?.active.clone()
    }

    /// Calls a function with every active connection.
    pub(super) fn for_each(&self, call: impl Fn(&Connection)) {
        self.slots().values().filter_map(|slot| slot.active.as_deref()).for_each(call);
    }

    pub(super) fn close_all(&self) {
        for slot in self.slots().values_mut() {
            let next = slot.next.take();
            next.iter().chain(&slot.active).for_each(|connection| connection.close());
        }
        self.changed.notify_all();
    }

    fn slots(&self) -> MutexGuard<'_, BTreeMap<LearnerId, Slot>> {
        self.slots.lock().expect(LOCK_POISONED)
    }
}
