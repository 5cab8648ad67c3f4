//! Those who have connected and have not said yet who they are.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

/// So many strangers may be at the door at once.
const STRANGERS_MAX: usize = 128;

/// A bounded number of strangers: who comes last is let in, and who has waited longest is sent away, so that strangers
/// who say nothing cannot keep neighbours out.
#[derive(Default)]
pub(super) struct Doorstep(Mutex<VecDeque<Arc<TcpStream>>>);

impl Doorstep {
    pub(super) fn enter(&self, socket: &Arc<TcpStream>) {
        let mut waiting = self.waiting();
        if waiting.len() >= STRANGERS_MAX
            && let Some(oldest) = waiting.pop_front()
        {
            let _ = oldest.shutdown(Shutdown::Both);
        }
        waiting.push_back(Arc::clone(socket));
    }

    pub(super) fn leave(&self, socket: &Arc<TcpStream>) {
        self.waiting().retain(|one| !Arc::ptr_eq(one, socket));
    }

    /// Sends all away.
    pub(super) fn clear(&self) {
        for socket in self.waiting().drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Arc<TcpStream>>> {
        self.0.lock().expect("nobody panics while holding it")
    }
}
