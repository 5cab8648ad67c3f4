//! Connections whose handshake is not complete.

use crate::LOCK_POISONED;
use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

/// How many connections may be pending at once.
const PENDING_MAX: usize = 128;

/// A bounded number of pending connections. When there are too many the oldest is closed, so that silent peers cannot
/// keep neighbours out.
#[derive(Default)]
pub(super) struct PendingConnections(Mutex<VecDeque<Arc<TcpStream>>>);

impl PendingConnections {
    pub(super) fn add(&self, socket: &Arc<TcpStream>) {
        let mut pending = self.pending();
        if pending.len() >= PENDING_MAX
            && let Some(oldest) = pending.pop_front()
        {
            let _ = oldest.shutdown(Shutdown::Both);
        }
        pending.push_back(Arc::clone(socket));
    }

    pub(super) fn remove(&self, socket: &Arc<TcpStream>) {
        self.pending().retain(|one| !Arc::ptr_eq(one, socket));
    }

    pub(super) fn close_all(&self) {
        for socket in self.pending().drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    fn pending(&self) -> MutexGuard<'_, VecDeque<Arc<TcpStream>>> {
        self.0.lock().expect(LOCK_POISONED)
    }
}
