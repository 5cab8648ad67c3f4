//! Repeatable keys for experiments. NOT PRIVATE: anyone who knows the seed can subtract the noise.

use sha2::{Digest, Sha256};
use undertone::noise::{Cipher, Entropy, NoiseError, OsEntropy, StreamKey};
use undertone::{LearnerId, Round};

/// Where the noise of a simulation comes from.
#[derive(Clone, Copy, Debug)]
pub enum RunEntropy {
    /// The operating system: private, not repeatable.
    System(OsEntropy),
    /// A seed: repeatable, NOT PRIVATE.
    Seeded(SeededEntropy),
}

impl RunEntropy {
    /// Seeded when a seed is given, otherwise from the operating system.
    #[must_use]
    pub fn new(seed: Option<u64>) -> RunEntropy {
        match seed {
            Some(seed) => RunEntropy::Seeded(SeededEntropy::new(seed)),
            None => RunEntropy::System(OsEntropy),
        }
    }
}

impl Entropy for RunEntropy {
    fn key(&mut self, learner: LearnerId, round: Round) -> Result<StreamKey, NoiseError> {
        match self {
            RunEntropy::System(entropy) => entropy.key(learner, round),
            RunEntropy::Seeded(entropy) => entropy.key(learner, round),
        }
    }
}

/// Keys derived from a seed, the learner and the round. NOT PRIVATE.
///
/// The cipher is always AES-256, so that a seed gives the same run on every processor.
#[derive(Clone, Copy, Debug)]
pub struct SeededEntropy {
    seed: u64,
}

impl SeededEntropy {
    /// The keys of a seed. NOT PRIVATE.
    #[must_use]
    pub fn new(seed: u64) -> SeededEntropy {
        SeededEntropy { seed }
    }
}

impl Entropy for SeededEntropy {
    fn key(&mut self, learner: LearnerId, round: Round) -> Result<StreamKey, NoiseError> {
        let mut hash = Sha256::new();
        hash.update(b"undertone NOT PRIVATE seeded key");
        hash.update(self.seed.to_le_bytes());
        hash.update(learner.0.to_le_bytes());
        hash.update(round.0.to_le_bytes());
        Ok(StreamKey::new(Cipher::Aes256Ctr, hash.finalize().into()))
    }
}
