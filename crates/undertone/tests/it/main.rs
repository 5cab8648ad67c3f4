//! Tests of the crate as its users see it.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod audit_bundle;
mod defaults;
mod learner_file;
mod own_loss;

use undertone::noise::{Cipher, Entropy, NoiseError, StreamKey};
use undertone::{LearnerId, Round};

/// Test-only entropy: the key is the learner and the round. NOT PRIVATE.
struct FixedEntropy;

impl Entropy for FixedEntropy {
    fn key(&mut self, learner: LearnerId, round: Round) -> Result<StreamKey, NoiseError> {
        let mut bytes = [9; 32];
        bytes[8..12].copy_from_slice(&learner.0.to_le_bytes());
        bytes[12..20].copy_from_slice(&round.0.to_le_bytes());
        Ok(StreamKey::new(Cipher::ChaCha20, bytes))
    }
}

/// Records that can be learnt: two features and a number.
fn records(count: usize) -> Vec<([f64; 2], f64)> {
    let angle = |k: usize| (k as f64 * 0.7).sin();
    let record = |k: usize| {
        let features = [0.6 * angle(k), 0.5 * angle(3 * k + 1)];
        (features, 0.8 * features[0] - 0.3 * features[1])
    };
    (0..count).map(record).collect()
}
