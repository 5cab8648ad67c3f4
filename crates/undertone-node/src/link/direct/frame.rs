//! What is said on a direct link: frames of a kind, a length and a body.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | the kind: 0 hello, 1 release, 2 question, 3 farewell, 4 ping |
//! | 4 | the length of the body, little-endian |
//! | length | the body |
//!
//! The first frame of each side is a hello, and no other is. How long a body may be follows from its kind and from the
//! one size that releases of the network have, and is checked before there is room made for it.

use crate::wire::OwnRelease;
use thiserror::Error;
use undertone::agreement::NetworkId;
use undertone::{LearnerId, Round};

const MAGIC: [u8; 4] = *b"UNDL";
const VERSION: u32 = 1;
/// Kind and length.
pub(super) const HEADER: usize = 5;
const HELLO: usize = 4 + 4 + 16 + 4;

const KIND_HELLO: u8 = 0;
const KIND_RELEASE: u8 = 1;
const KIND_QUESTION: u8 = 2;
const KIND_FAREWELL: u8 = 3;
const KIND_PING: u8 = 4;

/// Who speaks, and of which network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The network.
    pub network: NetworkId,
    /// The learner.
    pub sender: LearnerId,
}

/// A frame to send.
#[derive(Clone)]
pub(super) enum Outgoing {
    Hello(Hello),
    Release(OwnRelease),
    Question(Round),
    Farewell,
    Ping,
}

impl Outgoing {
    /// All of a frame but a release's bytes, which are not copied.
    pub(super) fn head(&self, bytes: &mut Vec<u8>) {
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
            Outgoing::Question(round) => {
                start(KIND_QUESTION, 8);
                bytes.extend_from_slice(&round.0.to_le_bytes());
            }
            Outgoing::Farewell => start(KIND_FAREWELL, 0),
            Outgoing::Ping => start(KIND_PING, 0),
        }
    }

    /// Whether the neighbour would learn nothing from one of the two that it does not from the other.
    pub(super) fn says_the_same(&self, other: &Outgoing) -> bool {
        match (self, other) {
            // Of two rounds the first bytes differ, and one release is mostly the same in the same place.
            (Outgoing::Release(one), Outgoing::Release(other)) => one == other,
            (Outgoing::Question(one), Outgoing::Question(other)) => one == other,
            (Outgoing::Farewell, Outgoing::Farewell) | (Outgoing::Ping, Outgoing::Ping) => true,
            _ => false,
        }
    }

    /// The rest of it.
    pub(super) fn body(&self) -> &[u8] {
        match self {
            Outgoing::Release(release) => release.bytes(),
            _ => &[],
        }
    }
}

/// A frame that came in.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// Who the other one says that it is.
    Hello(Hello),
    /// Bytes that should be a release.
    Release(Vec<u8>),
    /// It asks for the release of a round.
    Question(Round),
    /// It will not come back.
    Farewell,
    /// It is there.
    Ping,
}

/// What came in is no frame. Nothing that follows can be understood.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Garbage {
    /// A kind that there is not, or not at this place.
    #[error("a frame of kind {0} where there is none")]
    Kind(u8),
    /// A length that a frame of the kind does not have.
    #[error("a frame of {0} bytes, which none of its kind has")]
    Length(u32),
    /// Another protocol, or another version of it.
    #[error("not the protocol of this version")]
    Version,
}

/// Takes bytes as they come, in pieces of any size, and makes frames of them.
pub struct Decoder {
    message_bytes: usize,
    greeted: bool,
    header: [u8; HEADER],
    header_filled: usize,
    /// Of the frame whose header is complete.
    body: Vec<u8>,
}

impl Decoder {
    /// For a network whose releases have this size.
    #[must_use]
    pub fn new(message_bytes: usize) -> Decoder {
        let header = [0; HEADER];
        Decoder { message_bytes, greeted: false, header, header_filled: 0, body: Vec::new() }
    }

    /// Takes what came, and adds the frames that are complete now.
    ///
    /// # Errors
    /// When it is no frame. Then the decoder is of no use any more.
    pub fn take(&mut self, mut bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), Garbage> {
        while !bytes.is_empty() {
            if self.header_filled < HEADER {
                let part = bytes.len().min(HEADER - self.header_filled);
                self.header[self.header_filled..][..part].copy_from_slice(&bytes[..part]);
                self.header_filled += part;
                bytes = &bytes[part..];
                if self.header_filled < HEADER {
                    break;
                }
                // Checked before there is room made.
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

    /// The length that the header says, if a frame of its kind can have it.
    fn length(&self) -> Result<usize, Garbage> {
        let [kind, length @ ..] = self.header;
        let length = u32::from_le_bytes(length);
        if (kind == KIND_HELLO) == self.greeted {
            return Err(Garbage::Kind(kind));
        }
        let size = length as usize;
        let fits = match kind {
            KIND_HELLO => size == HELLO,
            KIND_RELEASE => size <= self.message_bytes,
            KIND_QUESTION => size == 8,
            KIND_FAREWELL | KIND_PING => size == 0,
            _ => return Err(Garbage::Kind(kind)),
        };
        if fits { Ok(size) } else { Err(Garbage::Length(length)) }
    }

    fn complete(&mut self) -> Result<Frame, Garbage> {
        let body = std::mem::take(&mut self.body);
        self.header_filled = 0;
        let kind = self.header[0];
        match kind {
            KIND_HELLO => {
                self.greeted = true;
                hello(&body).map(Frame::Hello).ok_or(Garbage::Version)
            }
            KIND_RELEASE => Ok(Frame::Release(body)),
            KIND_QUESTION => {
                let round = body.try_into().map_err(|_| Garbage::Kind(kind))?;
                Ok(Frame::Question(Round(u64::from_le_bytes(round))))
            }
            KIND_FAREWELL => Ok(Frame::Farewell),
            KIND_PING => Ok(Frame::Ping),
            _ => Err(Garbage::Kind(kind)),
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
