//! Encoded releases: this learner's own, and those received from neighbours.

use super::HEADER;
use std::fmt;
use std::sync::Arc;
use undertone::persist::Fields;
use undertone::{LearnerId, ReleaseView, Round};

/// The bytes of a release, own or received. Clones share the bytes, because releases may be large.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct EncodedRelease(Arc<Vec<u8>>);

impl EncodedRelease {
    pub(crate) fn from_bytes(bytes: Vec<u8>) -> EncodedRelease {
        EncodedRelease(Arc::new(bytes))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The round in the header; nothing if the bytes are too few.
    pub(crate) fn round(&self) -> Option<Round> {
        let bytes = self.0.get(HEADER - 8..HEADER)?;
        bytes.try_into().ok().map(|bytes| Round(u64::from_le_bytes(bytes)))
    }

    /// The learner in the header; nothing if the bytes are too few.
    pub(crate) fn learner(&self) -> Option<LearnerId> {
        let bytes = self.0.get(HEADER - 16..HEADER - 12)?;
        bytes.try_into().ok().map(|bytes| LearnerId(u32::from_le_bytes(bytes)))
    }

    /// The bytes as a field of a stored value. They are copied only if they are shared.
    pub(crate) fn visit(&mut self, fields: &mut dyn Fields) {
        let length = fields.length(self.0.len(), 1);
        let bytes = Arc::make_mut(&mut self.0);
        bytes.resize(length, 0);
        fields.bytes(bytes);
    }
}

/// A release of this learner, encoded as it is sent.
///
/// [`Wire::encode`](super::Wire::encode) makes it from a core [`Release`](undertone::Release); after a restart it is
/// read back from the learner's own store. There is no conversion from a neighbour's bytes, so only this learner's own
/// releases can be published.
#[derive(Clone, PartialEq, Eq)]
pub struct OwnRelease(pub(super) EncodedRelease);

impl OwnRelease {
    /// The bytes to send.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    /// The round in its header.
    pub(crate) fn round(&self) -> Option<Round> {
        self.0.round()
    }

    /// Reads a release back from the learner's own store.
    pub(crate) fn from_store(bytes: Vec<u8>) -> OwnRelease {
        OwnRelease(EncodedRelease::from_bytes(bytes))
    }

    /// The bytes as a field of a stored value.
    pub(crate) fn visit(&mut self, fields: &mut dyn Fields) {
        self.0.visit(fields);
    }
}

/// A release that a neighbour sent, decoded and checked by [`Wire::decode`](super::Wire::decode).
#[derive(Clone, PartialEq)]
pub struct ReceivedRelease {
    pub(super) content: ReleaseContent,
    pub(super) encoded: EncodedRelease,
}

impl ReceivedRelease {
    /// The sender.
    #[must_use]
    pub fn learner(&self) -> LearnerId {
        self.content.learner
    }

    /// The round it is of.
    #[must_use]
    pub fn round(&self) -> Round {
        self.content.round
    }

    /// Whose releases the sender used: one mask for each of its neighbours, in the order of their numbers.
    #[must_use]
    pub fn used(&self) -> &[u64] {
        &self.content.used
    }

    /// The released values.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.content.values
    }

    /// What the learner absorbs.
    #[must_use]
    pub fn heard(&self) -> ReleaseView<'_> {
        self.content.heard()
    }

    /// The bytes it was decoded from.
    pub(crate) fn encoded(&self) -> &EncodedRelease {
        &self.encoded
    }
}

/// The content of an encoded release.
#[derive(Clone, PartialEq)]
pub(crate) struct ReleaseContent {
    pub(crate) learner: LearnerId,
    pub(crate) round: Round,
    pub(crate) used: Box<[u64]>,
    pub(crate) values: Box<[f64]>,
}

impl ReleaseContent {
    pub(crate) fn heard(&self) -> ReleaseView<'_> {
        ReleaseView { learner: self.learner, round: self.round, values: &self.values }
    }
}

impl fmt::Debug for OwnRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnRelease({} bytes)", self.bytes().len())
    }
}

impl fmt::Debug for ReceivedRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (learner, round, dim) = (self.learner(), self.round(), self.values().len());
        write!(f, "ReceivedRelease(learner={learner}, round={round}, dim={dim})")
    }
}
