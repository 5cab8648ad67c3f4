//! Sockets that are read by waiting and written without.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use std::io::{self, IoSlice};
use std::net::TcpStream;
use std::time::Duration;

/// Without waiting, and without a signal where there is one.
#[cfg(not(target_vendor = "apple"))]
const NOW: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);
#[cfg(target_vendor = "apple")]
const NOW: SendFlags = SendFlags::DONTWAIT;

/// Sends as much as the system takes at once of two pieces that follow each other.
///
/// # Errors
/// `WouldBlock` when it takes nothing now; anything else when the connection is gone.
pub(super) fn send_now(socket: &TcpStream, first: &[u8], second: &[u8]) -> io::Result<usize> {
    let pieces = [IoSlice::new(first), IoSlice::new(second)];
    let mut none = SendAncillaryBuffer::default();
    Ok(sendmsg(socket, &pieces, &mut none, NOW)?)
}

/// Waits until the system takes something again, the connection is gone, or the time is up.
pub(super) fn wait_until_writable(socket: &TcpStream, time: Duration) {
    let mut wanted = [PollFd::new(socket, PollFlags::OUT)];
    if let Ok(time) = Timespec::try_from(time) {
        // Whatever is wrong shows when it is written to.
        let _ = poll(&mut wanted, Some(&time));
    }
}
