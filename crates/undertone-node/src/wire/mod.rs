//! Releases as bytes.
//!
//! All numbers are little-endian, and every message of a network has the same size:
//!
//! | bytes | content |
//! |---|---|
//! | 4 | `UNDT` |
//! | 4 | the version of the format |
//! | 16 | the network's id |
//! | 4 | the learner |
//! | 4 | n, the number of values |
//! | 8 | the round t |
//! | 8 for each neighbour, up to the largest number that any learner has | whose releases the sender used: bit k stands for round t − 1 − k |
//! | 8 for each value | the value, as a whole number of steps of the sender's public grid |
//! | 4 | CRC-32 of everything before |
//!
//! There are no floating-point numbers, so none can be infinite or NaN. Decoding allocates memory
//! for one message of the size that follows from the agreement, and rejects any other size.

mod release;

pub(crate) use release::{EncodedRelease, ReleaseContent};
pub use release::{OwnRelease, ReceivedRelease};

use serde::Serialize;
use std::sync::Arc;
use thiserror::Error;
use undertone::agreement::NetworkId;
use undertone::noise::Grid;
use undertone::privacy::Mechanism;
use undertone::{LearnerId, Release, Round};
use undertone_models::Setup;

const MAGIC: [u8; 4] = *b"UNDT";
const VERSION: u32 = 1;
const HEADER: usize = 4 + 4 + 16 + 4 + 4 + 8;
const CHECKSUM: usize = 4;

/// Above this, not every whole number is an f64.
const STEPS_MAX: u64 = 1 << 53;

/// The wire format of one network.
#[derive(Clone, Debug)]
pub struct Wire {
    setup: Arc<Setup>,
    network: NetworkId,
    dimension: usize,
    degree_max: usize,
}

/// Why bytes are not a release of this network.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rejection {
    /// Not the size that every message of the network has.
    #[error("the size is not that of a message of this network")]
    Size,
    /// Not a message, or of another version.
    #[error("an unknown format, or another version of it")]
    Format,
    /// Damaged in transit.
    #[error("the checksum is wrong")]
    Checksum,
    /// Of another network, or of one with another agreement.
    #[error("from another network, or made under another agreement")]
    Network,
    /// Not made by the learner that sent it.
    #[error("made by another learner than its sender")]
    Sender,
    /// Past the last round that any learner may take part in.
    #[error("the round is out of range")]
    Round,
    /// Of another number of values.
    #[error("the number of values is not that of this network")]
    Dimension,
    /// A value that an honest learner practically never sends.
    #[error("a value is out of range")]
    Value,
}

impl Wire {
    /// The format of a setup's network.
    #[must_use]
    pub fn new(setup: Arc<Setup>) -> Wire {
        let graph = &setup.agreement.graph;
        let degree_max = graph.ids().map(|id| graph.neighbours(id).len()).max().unwrap_or(0);
        Wire { network: setup.network_id(), dimension: setup.model.parameters(), degree_max, setup }
    }

    /// The setup of the network.
    #[must_use]
    pub fn setup(&self) -> &Arc<Setup> {
        &self.setup
    }

    /// The network's id.
    #[must_use]
    pub fn network(&self) -> NetworkId {
        self.network
    }

    /// The size of every message.
    #[must_use]
    pub fn message_bytes(&self) -> usize {
        HEADER + 8 * (self.degree_max + self.dimension) + CHECKSUM
    }

    /// Encodes a release, with the rounds in which its learner used each neighbour's release.
    ///
    /// # Panics
    /// When the release is not of this network: a bug in the caller.
    #[must_use]
    pub fn encode(&self, release: &Release, used: &[u64]) -> OwnRelease {
        assert_eq!(
            release.values().len(),
            self.dimension,
            "the release has the dimension of this network"
        );
        assert!(used.len() <= self.degree_max, "there is at most one mask for each neighbour");
        let mut bytes = Vec::with_capacity(self.message_bytes());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&self.network.bytes());
        bytes.extend_from_slice(&release.learner().0.to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(self.dimension).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend_from_slice(&release.round().0.to_le_bytes());
        for place in 0..self.degree_max {
            let mask = used.get(place).copied().unwrap_or(0);
            bytes.extend_from_slice(&mask.to_le_bytes());
        }
        // A step is a power of two, so its inverse and the product are exact.
        let steps_in = 1.0 / release.grid().step();
        let start = bytes.len();
        bytes.resize(start + 8 * self.dimension, 0);
        for (slot, value) in bytes[start..].as_chunks_mut().0.iter_mut().zip(release.values()) {
            #[expect(clippy::cast_possible_truncation, reason = "whole and below 2⁵³ in size")]
            let steps = (value * steps_in) as i64;
            *slot = steps.to_le_bytes();
        }
        let checksum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        OwnRelease(EncodedRelease::from_bytes(bytes))
    }

    /// Decodes and checks bytes that a neighbour sent.
    ///
    /// # Errors
    /// When the bytes are not a release of this network by that learner.
    pub fn decode(
        &self,
        from: LearnerId,
        bytes: impl Into<Vec<u8>>,
    ) -> Result<ReceivedRelease, Rejection> {
        self.check(from, EncodedRelease::from_bytes(bytes.into()))
    }

    /// Decodes and checks a neighbour's release whose bytes may be shared.
    pub(crate) fn check(
        &self,
        from: LearnerId,
        encoded: EncodedRelease,
    ) -> Result<ReceivedRelease, Rejection> {
        let content = self.read(from, encoded.bytes())?;
        Ok(ReceivedRelease { content, encoded })
    }

    /// The content of a release that `own` made. The store it may come from can be damaged, so it is checked too.
    pub(crate) fn decode_own(
        &self,
        own: LearnerId,
        release: &OwnRelease,
    ) -> Result<ReleaseContent, Rejection> {
        self.read(own, release.bytes())
    }

    fn read(&self, from: LearnerId, bytes: &[u8]) -> Result<ReleaseContent, Rejection> {
        if bytes.len() != self.message_bytes() {
            return Err(Rejection::Size);
        }
        let mut reader = Reader(bytes);
        if reader.take() != Some(MAGIC) || reader.u32() != VERSION {
            return Err(Rejection::Format);
        }
        let (before, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
        if crc32fast::hash(before).to_le_bytes() != checksum {
            return Err(Rejection::Checksum);
        }
        if reader.take() != Some(self.network.bytes()) {
            return Err(Rejection::Network);
        }
        if reader.u32() != from.0 {
            return Err(Rejection::Sender);
        }
        if reader.u32() as usize != self.dimension {
            return Err(Rejection::Dimension);
        }
        let round = Round(reader.u64());
        if round >= Round::LIMIT {
            return Err(Rejection::Round);
        }
        let mechanism = self.setup.mechanisms.get(from.0 as usize).ok_or(Rejection::Sender)?;
        let grid = mechanism.release_grid(round).map_err(|_| Rejection::Round)?;
        let used = (0..self.degree_max).map(|_| reader.u64()).collect();
        let values = &before[before.len() - 8 * self.dimension..];
        let values = read_values(values, mechanism, &grid, round)?;
        Ok(ReleaseContent { learner: from, round, used, values })
    }
}

fn read_values(
    bytes: &[u8],
    mechanism: &Mechanism,
    grid: &Grid,
    round: Round,
) -> Result<Box<[f64]>, Rejection> {
    // Honest noise exceeds it with probability e⁻⁶⁴.
    let bound = mechanism.message_bound(round);
    let (steps, _) = bytes.as_chunks();
    let mut fits = true;
    let values = steps.iter().map(|steps| {
        let steps = i64::from_le_bytes(*steps);
        #[expect(clippy::cast_precision_loss, reason = "at most 2⁵³ in size")]
        let value = steps as f64 * grid.step();
        // One check after the loop: a branch for each value would take longer than everything else.
        fits &= (steps.unsigned_abs() <= STEPS_MAX) & (value.abs() <= bound);
        value
    });
    let values: Box<[f64]> = values.collect();
    if fits { Ok(values) } else { Err(Rejection::Value) }
}

/// Reads from the front. The size was checked before, so bytes are never missing.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn u32(&mut self) -> u32 {
        self.take().map_or(0, u32::from_le_bytes)
    }

    fn u64(&mut self) -> u64 {
        self.take().map_or(0, u64::from_le_bytes)
    }
}
