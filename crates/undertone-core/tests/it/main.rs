//! Integration tests of the core, through its public interface only.
#![allow(clippy::unwrap_used, reason = "helpers of tests may unwrap")]

mod baselines;
mod noise_attack;
mod noise_coordinates;
mod noise_golden;
mod round;
mod shielded;

use undertone_core::noise::{
    Cipher, Entropy, NoiseError, NoiseKind, Perturbation, StreamKey, perturb,
};
use undertone_core::{LearnerId, Round};

/// Test-only entropy: the key is the learner, the round and a label. NOT PRIVATE.
struct FixedEntropy {
    cipher: Cipher,
    label: u64,
}

impl Entropy for FixedEntropy {
    fn key(&mut self, learner: LearnerId, round: Round) -> Result<StreamKey, NoiseError> {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.label.to_le_bytes());
        bytes[8..12].copy_from_slice(&learner.0.to_le_bytes());
        bytes[12..20].copy_from_slice(&round.0.to_le_bytes());
        Ok(StreamKey::new(self.cipher, bytes))
    }
}

/// What a learner would release in a round.
fn release(kind: NoiseKind, values: &[f64], learner: u32, round: u64) -> Vec<f64> {
    let mechanism = Perturbation { kind, scale: 1.0, bound: 100.0 };
    let mut entropy = FixedEntropy { cipher: Cipher::Aes256Ctr, label: 1 };
    let key = entropy.key(LearnerId(learner), Round(round)).unwrap();
    let mut out = vec![f64::NAN; values.len()];
    perturb(&mechanism, values, key, &mut out).unwrap();
    out
}
