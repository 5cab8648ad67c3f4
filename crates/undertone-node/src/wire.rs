//! Releases as bytes.
//!
//! All numbers are little-endian, and every message of a network has the same size:
//!
//! | bytes | what |
//! |---|---|
//! | 4 | `UNDT` |
//! | 4 | the version of the format |
//! | 16 | the network's id |
//! | 4 | the learner |
//! | 4 | n, the number of values |
//! | 8 | the round t |
//! | 8 for each neighbour, up to the most that any learner has | whose releases the sender used: bit k is for round t − 1 − k |
//! | 8 for each value | the value, as a whole number of steps of the sender's public grid |
//! | 4 | CRC-32 of all before |
//!
//! There are no floating-point numbers, so none is infinite or not a number. Decoding makes room for one
//! message of the size that the config says, and for no other.

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::sync::Arc;
use thiserror::Error;
use undertone::noise::Grid;
use undertone::persist::Fields;
use undertone::privacy::{Mechanism, genesis};
use undertone::{Heard, LearnerId, Release, Round};
use undertone_models::Setup;

const MAGIC: [u8; 4] = *b"UNDT";
const VERSION: u32 = 1;
const HEADER: usize = 4 + 4 + 16 + 4 + 4 + 8;
const CHECKSUM: usize = 4;

/// Beyond this a whole number of steps is no f64.
const STEPS_MAX: u64 = 1 << 53;

/// What tells one network from all others: a hash of the public facts that its learners share.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct NetworkId([u8; 16]);

impl NetworkId {
    /// The id of the network that a setup describes.
    ///
    /// Learners whose configs differ in anything that matters to the others have different ids, and do not
    /// talk to each other.
    #[must_use]
    pub fn of(setup: &Setup) -> NetworkId {
        let config = &setup.config;
        let mut hash = Sha256::new();
        hash.update(b"undertone network 1");
        hash.update((config.name.len() as u64).to_le_bytes());
        hash.update(config.name.as_bytes());
        for (id, mechanism) in config.graph.ids().zip(&setup.mechanisms) {
            hash.update(genesis(id, mechanism).bytes());
            for (neighbour, weight) in config.graph.neighbours(id) {
                hash.update(neighbour.0.to_le_bytes());
                hash.update(weight.to_bits().to_le_bytes());
            }
        }
        let data = &config.data;
        hash.update(format!("{:?} {:?} {:?}", config.domain, config.model, config.network));
        hash.update(format!("{:?} {:?} {:?}", config.memory, config.bounds, config.start_spread));
        let columns = (&data.classes, data.intercept, data.centre, data.normalise);
        hash.update(format!("{columns:?}"));
        let digest: [u8; 32] = hash.finalize().into();
        let mut id = [0; 16];
        id.copy_from_slice(&digest[..16]);
        NetworkId(id)
    }

    pub(crate) fn from_bytes(bytes: [u8; 16]) -> NetworkId {
        NetworkId(bytes)
    }

    /// The sixteen bytes.
    #[must_use]
    pub fn bytes(&self) -> [u8; 16] {
        self.0
    }
}

impl fmt::Display for NetworkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for NetworkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NetworkId({self})")
    }
}

/// The wire format of one network.
#[derive(Clone, Debug)]
pub struct Wire {
    setup: Arc<Setup>,
    network: NetworkId,
    dimension: usize,
    degree_max: usize,
}

/// A release as it is sent, again and again if need be.
///
/// It is made from a [`Release`], or read back from the store where one made so was put.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed(Arc<Vec<u8>>);

impl Sealed {
    /// The bytes to send.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// As they were sealed, here or elsewhere. They are not copied: releases may be large.
    pub(crate) fn again(bytes: Vec<u8>) -> Sealed {
        Sealed(Arc::new(bytes))
    }

    /// The bytes as a field of what is saved. They are copied only if somebody else holds them too.
    pub(crate) fn visit(&mut self, fields: &mut dyn Fields) {
        let length = fields.length(self.0.len(), 1);
        let bytes = Arc::make_mut(&mut self.0);
        bytes.resize(length, 0);
        fields.bytes(bytes);
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealed({} bytes)", self.0.len())
    }
}

/// A release that was read from bytes.
#[derive(Clone, PartialEq)]
pub struct Message {
    /// Who sent it.
    pub learner: LearnerId,
    /// Of which round it is.
    pub round: Round,
    /// Whose releases the sender used: one mask for each of its neighbours, in the order of their numbers.
    pub used: Box<[u64]>,
    /// The values.
    pub values: Box<[f64]>,
}

impl Message {
    /// What a learner reads of it.
    #[must_use]
    pub fn heard(&self) -> Heard<'_> {
        Heard { learner: self.learner, round: self.round, values: &self.values }
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (learner, round, dim) = (self.learner, self.round, self.values.len());
        write!(f, "Message(learner={learner}, round={round}, dim={dim})")
    }
}

/// Why bytes are not a message of this network.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rejection {
    /// Not of the size that every message of the network has.
    #[error("not of the size of a message")]
    Size,
    /// Not a message at all, or of another version.
    #[error("not a message of this version")]
    Format,
    /// Damaged on the way.
    #[error("the checksum is wrong")]
    Checksum,
    /// Of another network, or of one with another config.
    #[error("of another network, or of another config")]
    Network,
    /// Not by the learner it came from.
    #[error("not by the learner it came from")]
    Sender,
    /// Past the last round that any learner may take part in.
    #[error("of a round that cannot be")]
    Round,
    /// Of another number of values.
    #[error("of another dimension")]
    Dimension,
    /// A value that no honest learner sends.
    #[error("a value is out of range")]
    Value,
}

impl Wire {
    /// The format of a setup's network.
    #[must_use]
    pub fn new(setup: Arc<Setup>) -> Wire {
        let graph = &setup.config.graph;
        let degree_max = graph.ids().map(|id| graph.neighbours(id).len()).max().unwrap_or(0);
        Wire {
            network: NetworkId::of(&setup),
            dimension: setup.model.parameters(),
            degree_max,
            setup,
        }
    }

    /// The setup that it follows from.
    pub(crate) fn setup(&self) -> &Arc<Setup> {
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

    /// A release as bytes, with what its learner used of its neighbours.
    ///
    /// # Panics
    /// When the release is not of this network: a bug in the caller.
    #[must_use]
    pub fn encode(&self, release: &Release, used: &[u64]) -> Sealed {
        assert_eq!(release.values().len(), self.dimension, "a release of this network");
        assert!(used.len() <= self.degree_max, "a mask for each neighbour");
        let mut bytes = Vec::with_capacity(self.message_bytes());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&self.network.0);
        bytes.extend_from_slice(&release.learner().0.to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(self.dimension).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend_from_slice(&release.round().0.to_le_bytes());
        for place in 0..self.degree_max {
            let mask = used.get(place).copied().unwrap_or(0);
            bytes.extend_from_slice(&mask.to_le_bytes());
        }
        // A step is a power of two, so that its inverse is exact, and so is the product.
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
        Sealed::again(bytes)
    }

    /// Reads what came from a learner.
    ///
    /// # Errors
    /// When the bytes are not a message of this network by that learner. Nothing is said of the values.
    pub fn decode(&self, from: LearnerId, bytes: &[u8]) -> Result<Message, Rejection> {
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
        if reader.take() != Some(self.network.0) {
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
        Ok(Message { learner: from, round, used, values })
    }

    /// Of which round a release that was sealed here is.
    pub(crate) fn round_of(&self, sealed: &Sealed) -> Option<Round> {
        let bytes = sealed.0.get(HEADER - 8..HEADER)?;
        bytes.try_into().ok().map(|bytes| Round(u64::from_le_bytes(bytes)))
    }

    /// By whom it is.
    pub(crate) fn learner_of(&self, sealed: &Sealed) -> Option<LearnerId> {
        let bytes = sealed.0.get(HEADER - 16..HEADER - 12)?;
        bytes.try_into().ok().map(|bytes| LearnerId(u32::from_le_bytes(bytes)))
    }
}

fn read_values(
    bytes: &[u8],
    mechanism: &Mechanism,
    grid: &Grid,
    round: Round,
) -> Result<Box<[f64]>, Rejection> {
    // Honest noise passes it with probability e⁻⁶⁴.
    let bound = mechanism.message_bound(round);
    let (steps, _) = bytes.as_chunks();
    let mut fits = true;
    let values = steps.iter().map(|steps| {
        let steps = i64::from_le_bytes(*steps);
        #[expect(clippy::cast_precision_loss, reason = "at most 2⁵³ in size")]
        let value = steps as f64 * grid.step();
        // All are read before any is refused: a branch for each would take longer than the rest.
        fits &= (steps.unsigned_abs() <= STEPS_MAX) & (value.abs() <= bound);
        value
    });
    let values: Box<[f64]> = values.collect();
    if fits { Ok(values) } else { Err(Rejection::Value) }
}

/// Reads from the front. The size was checked, so nothing is ever missing.
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
