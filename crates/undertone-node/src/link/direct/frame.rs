//! The frames of a direct link: a kind, a length and a body.
//!
//! | bytes | content |
//! |---|---|
//! | 1 | the kind: 0 hello, 1 release, 2 request, 3 farewell, 4 ping |
//! | 4 | the length of the body, little-endian |
//! | length | the body |
//!
//! The first frame of each side is a hello, and no other frame is. The length of a body is limited by its kind and by the
//! size of the network's releases. It is checked before memory is allocated.

use super::error::ConnectionError;
use crate::wire::OwnRelease;
use undertone::agreement::NetworkId;
use undertone::{LearnerId, Round};

const MAGIC: [u8; 4] = *b"UNDL";
const VERSION: u32 = 1;
/// Kind and length.
pub(super) const HEADER: usize = 5;
const HELLO: usize = 4 + 4 + 16 + 4;

const KIND_HELLO: u8 = 0;
const KIND_RELEASE: u8 = 1;
const KIND_REQUEST: u8 = 2;
const KIND_FAREWELL: u8 = 3;
const KIND_PING: u8 = 4;

/// The sender and its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The network.
    pub network: NetworkId,
    /// The sender.
    pub sender: LearnerId,
}

/// A frame to send.
#[derive(Clone)]
pub(super) enum Outgoing {
    Hello(Hello),
    Release(OwnRelease),
    Request(Round),
    Farewell,
    Ping,
}

impl Outgoing {
    /// Appends the frame without a release's bytes, which are not copied.
    pub(super) fn header(&self, bytes: &mut Vec<u8>) {
        let mut start = |kind: u8, length: usize| {
            bytes.push(kind);
            bytes.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        };
        match self {
            Outgoing::Hello(hello) => {
                start(KIND_HELLO, HELLO);
                bytes.extend_from_slice(&MAGIC);
                bytes.extend_from_slice(&VERSION.to_le_bytes());
                bytes.extend_from_slice(&hello.network.bytes());
                bytes.extend_from_slice(&hello.sender.0.to_le_bytes());
            }
            Outgoing::Release(release) => start(KIND_RELEASE, release.bytes().len()),
            Outgoing::Request(round) => {
                start(KIND_REQUEST, 8);
                bytes.extend_from_slice(&round.0.to_le_bytes());
            }
            Outgoing::Farewell => start(KIND_FAREWELL, 0),
            Outgoing::Ping => start(KIND_PING, 0),
        }
    }

    /// Whether sending both frames is no use.
    pub(super) fn is_duplicate_of(&self, other: &Outgoing) -> bool {
        match (self, other) {
            // Cheap: releases of different rounds differ in their headers, and equal ones mostly share their bytes.
            (Outgoing::Release(one), Outgoing::Release(other)) => one == other,
            (Outgoing::Request(one), Outgoing::Request(other)) => one == other,
            (Outgoing::Farewell, Outgoing::Farewell) | (Outgoing::Ping, Outgoing::Ping) => true,
            (
                Outgoing::Hello(_)
                | Outgoing::Release(_)
                | Outgoing::Request(_)
                | Outgoing::Farewell
                | Outgoing::Ping,
                _,
            ) => false,
        }
    }

    /// The bytes that follow the header.
    pub(super) fn body(&self) -> &[u8] {
        match self {
            Outgoing::Release(release) => release.bytes(),
            Outgoing::Hello(_) | Outgoing::Request(_) | Outgoing::Farewell | Outgoing::Ping => &[],
        }
    }
}

/// A received frame.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// The peer's claim of who it is.
    Hello(Hello),
    /// Bytes that should be a release. They are not checked yet.
    Release(Vec<u8>),
    /// A request for the release of a round.
    Request(Round),
    /// The peer will not come back.
    Farewell,
    /// The peer is alive.
    Ping,
}

/// Decodes frames from pieces of any size.
pub struct Decoder {
    message_bytes: usize,
    hello_received: bool,
    header: [u8; HEADER],
    header_filled: usize,
    /// The body so far, once the header is complete.
    body: Vec<u8>,
}

impl Decoder {
    /// For a network whose releases have this size.
    #[must_use]
    pub fn new(message_bytes: usize) -> Decoder {
        let header = [0; HEADER];
        Decoder { message_bytes, hello_received: false, header, header_filled: 0, body: Vec::new() }
    }

    /// Takes bytes, and adds the frames that are complete now.
    ///
    /// # Errors
    /// When the bytes are not a frame. The decoder must not be used after that.
    pub fn take(
        &mut self,
        mut bytes: &[u8],
        frames: &mut Vec<Frame>,
    ) -> Result<(), ConnectionError> {
        while !bytes.is_empty() {
            if self.header_filled < HEADER {
                let part = bytes.len().min(HEADER - self.header_filled);
                self.header[self.header_filled..][..part].copy_from_slice(&bytes[..part]);
                self.header_filled += part;
                bytes = &bytes[part..];
                if self.header_filled < HEADER {
                    break;
                }
                // Checked before memory is allocated.
                let length = self.length()?;
                self.body.reserve_exact(length);
            }
            let part = bytes.len().min(self.length()? - self.body.len());
            self.body.extend_from_slice(&bytes[..part]);
            bytes = &bytes[part..];
            if self.body.len() == self.length()? {
                frames.push(self.complete()?);
            }
        }
        Ok(())
    }

    /// The length in the header, if a frame of its kind may have it.
    fn length(&self) -> Result<usize, ConnectionError> {
        let [kind, length @ ..] = self.header;
        let length = u32::from_le_bytes(length);
        if (kind == KIND_HELLO) == self.hello_received {
            return Err(ConnectionError::Kind(kind));
        }
        let size = length as usize;
        let fits = match kind {
            KIND_HELLO => size == HELLO,
            KIND_RELEASE => size <= self.message_bytes,
            KIND_REQUEST => size == 8,
            KIND_FAREWELL | KIND_PING => size == 0,
            _ => return Err(ConnectionError::Kind(kind)),
        };
        if fits { Ok(size) } else { Err(ConnectionError::Length(length)) }
    }

    fn complete(&mut self) -> Result<Frame, ConnectionError> {
        let body = std::mem::take(&mut self.body);
        self.header_filled = 0;
        let kind = self.header[0];
        match kind {
            KIND_HELLO => {
                self.hello_received = true;
                hello(&body).map(Frame::Hello).ok_or(ConnectionError::Version)
            }
            KIND_RELEASE => Ok(Frame::Release(body)),
            KIND_REQUEST => {
                let round = body.try_into().map_err(|_| ConnectionError::Kind(kind))?;
                Ok(Frame::Request(Round(u64::from_le_bytes(round))))
            }
            KIND_FAREWELL => Ok(Frame::Farewell),
            KIND_PING => Ok(Frame::Ping),
            _ => Err(ConnectionError::Kind(kind)),
        }
    }
}

fn hello(body: &[u8]) -> Option<Hello> {
    let (magic, rest) = body.split_first_chunk::<4>()?;
    let (version, rest) = rest.split_first_chunk::<4>()?;
    let (network, rest) = rest.split_first_chunk::<16>()?;
    let sender: [u8; 4] = rest.try_into().ok()?;
    let same = *magic == MAGIC && u32::from_le_bytes(*version) == VERSION;
    let sender = LearnerId(u32::from_le_bytes(sender));
    same.then_some(Hello { network: NetworkId::from_bytes(*network), sender })
}
