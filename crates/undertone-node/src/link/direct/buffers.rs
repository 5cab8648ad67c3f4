//! Buffers of a connection, allocated once.

use super::error::ConnectionError;
use super::tls::RECORD;
use std::io::{self, Read};
use std::net::TcpStream;

/// Bytes that are read at once.
const READ: usize = 16 * RECORD;
/// The most that TLS leaves unread: a record, or the parts of a handshake message.
const PARTIAL_MAX: usize = 6 * RECORD;
/// When this much is ready to be sent, nothing is added.
pub(super) const READY: usize = 16 * RECORD;

/// The bytes that were read last, with space before them for the rest of the previous read.
pub(super) struct ReadBuffer {
    bytes: Vec<u8>,
    filled: usize,
}

impl ReadBuffer {
    pub(super) fn new() -> ReadBuffer {
        ReadBuffer { bytes: vec![0; PARTIAL_MAX + READ], filled: 0 }
    }

    /// Blocks until there is something to read. Returns how many bytes were read: none at the end.
    pub(super) fn read(&mut self, mut socket: &TcpStream) -> io::Result<usize> {
        self.filled = socket.read(&mut self.bytes[PARTIAL_MAX..])?;
        Ok(self.filled)
    }

    /// The bytes that were read.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[PARTIAL_MAX..PARTIAL_MAX + self.filled]
    }

    /// The bytes that were read, after the rest of the previous read; nothing if that is too long.
    pub(super) fn after(&mut self, partial: &[u8]) -> Option<&mut [u8]> {
        let start = PARTIAL_MAX.checked_sub(partial.len())?;
        self.bytes[start..PARTIAL_MAX].copy_from_slice(partial);
        Some(&mut self.bytes[start..PARTIAL_MAX + self.filled])
    }
}

/// Bytes that are ready to be sent.
#[derive(Default)]
pub(super) struct WriteBuffer {
    bytes: Vec<u8>,
    filled: usize,
    sent: usize,
}

impl WriteBuffer {
    /// The bytes that are not sent yet.
    pub(super) fn rest(&self) -> &[u8] {
        &self.bytes[self.sent..self.filled]
    }

    /// Notes that `count` more bytes were sent.
    pub(super) fn sent(&mut self, count: usize) {
        self.sent += count;
        if self.sent >= self.filled {
            (self.sent, self.filled) = (0, 0);
        }
    }

    /// Adds the bytes that `write` puts into a slice. If the slice is too short `write` returns the length it needs.
    pub(super) fn add(
        &mut self,
        mut write: impl FnMut(&mut [u8]) -> Result<usize, Option<usize>>,
    ) -> Result<(), ConnectionError> {
        let written = match write(&mut self.bytes[self.filled..]) {
            Err(Some(needed)) => {
                // Grows once to the most that is ever ready.
                self.bytes.resize(self.filled + needed.max(READY + 2 * RECORD), 0);
                write(&mut self.bytes[self.filled..])
            }
            written => written,
        };
        self.filled += written.map_err(|_| ConnectionError::BufferTooSmall)?;
        Ok(())
    }

    /// Adds bytes as they are.
    pub(super) fn add_plain(&mut self, bytes: &[u8]) {
        self.bytes.truncate(self.filled);
        self.bytes.extend_from_slice(bytes);
        self.filled = self.bytes.len();
    }
}
