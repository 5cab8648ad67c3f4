//! Room for bytes that come and go, made once for a connection.

use super::tls::{RECORD, TlsFault};
use std::io::{self, Read};
use std::net::TcpStream;

/// So much is read at once.
const READ: usize = 16 * RECORD;
/// More than TLS ever leaves unread: a record, or the parts of a handshake message.
const PARTIAL_MAX: usize = 6 * RECORD;
/// With so much ready to be sent nothing is added to it.
pub(super) const READY: usize = 16 * RECORD;

/// What was read last, with room before it for what was left over.
pub(super) struct Inbox {
    bytes: Vec<u8>,
    filled: usize,
}

impl Inbox {
    pub(super) fn new() -> Inbox {
        Inbox { bytes: vec![0; PARTIAL_MAX + READ], filled: 0 }
    }

    /// Waits for something to read. Gives how much: nothing at the end.
    pub(super) fn read(&mut self, mut socket: &TcpStream) -> io::Result<usize> {
        self.filled = socket.read(&mut self.bytes[PARTIAL_MAX..])?;
        Ok(self.filled)
    }

    /// What was read.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[PARTIAL_MAX..PARTIAL_MAX + self.filled]
    }

    /// What was read, after what was left over from before; nothing if that is too much.
    pub(super) fn after(&mut self, partial: &[u8]) -> Option<&mut [u8]> {
        let start = PARTIAL_MAX.checked_sub(partial.len())?;
        self.bytes[start..PARTIAL_MAX].copy_from_slice(partial);
        Some(&mut self.bytes[start..PARTIAL_MAX + self.filled])
    }
}

/// What is ready to be sent.
#[derive(Default)]
pub(super) struct Outbox {
    bytes: Vec<u8>,
    filled: usize,
    sent: usize,
}

impl Outbox {
    /// What is still to be sent.
    pub(super) fn rest(&self) -> &[u8] {
        &self.bytes[self.sent..self.filled]
    }

    /// Notes that so much of it was sent.
    pub(super) fn sent(&mut self, count: usize) {
        self.sent += count;
        if self.sent >= self.filled {
            (self.sent, self.filled) = (0, 0);
        }
    }

    /// Adds what `write` puts into the room that it is given, or into as much as it says that it needs.
    pub(super) fn add(
        &mut self,
        mut write: impl FnMut(&mut [u8]) -> Result<usize, Option<usize>>,
    ) -> Result<(), TlsFault> {
        let written = match write(&mut self.bytes[self.filled..]) {
            Err(Some(needed)) => {
                // At once for all that will be ready at a time.
                self.bytes.resize(self.filled + needed.max(READY + 2 * RECORD), 0);
                write(&mut self.bytes[self.filled..])
            }
            written => written,
        };
        self.filled += written.map_err(|_| TlsFault::Room)?;
        Ok(())
    }

    /// Adds bytes as they are.
    pub(super) fn add_plain(&mut self, bytes: &[u8]) {
        self.bytes.truncate(self.filled);
        self.bytes.extend_from_slice(bytes);
        self.filled = self.bytes.len();
    }
}
