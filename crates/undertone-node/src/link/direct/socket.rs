//! Sockets with blocking reads and non-blocking writes.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use std::io::{self, IoSlice};
use std::net::TcpStream;
use std::time::Duration;

/// Does not block, and raises no signal where the system could.
#[cfg(not(target_vendor = "apple"))]
const NON_BLOCKING: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);
#[cfg(target_vendor = "apple")]
const NON_BLOCKING: SendFlags = SendFlags::DONTWAIT;

/// Sends as much of two consecutive pieces as the system accepts without blocking.
///
/// # Errors
/// `WouldBlock` when it accepts nothing now; anything else when the connection is closed.
pub(super) fn send_now(socket: &TcpStream, first: &[u8], second: &[u8]) -> io::Result<usize> {
    let pieces = [IoSlice::new(first), IoSlice::new(second)];
    let mut none = SendAncillaryBuffer::default();
    Ok(sendmsg(socket, &pieces, &mut none, NON_BLOCKING)?)
}

/// Waits until the socket is writable, the connection is closed, or the time is over.
pub(super) fn wait_until_writable(socket: &TcpStream, time: Duration) {
    let mut wanted = [PollFd::new(socket, PollFlags::OUT)];
    if let Ok(time) = Timespec::try_from(time) {
        // An error shows at the next write.
        let _ = poll(&mut wanted, Some(&time));
    }
}
