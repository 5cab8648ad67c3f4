//! Tests of the sampler's internals: coarse grids, single lanes, forced slow paths.
//!
//! Tests of the public interface are in `tests/it/`. Each statistical test has a fixed
//! key and a control that must fail. The long versions are ignored; run them with
//! `cargo test --profile bench -p undertone-core --lib noise -- --ignored --nocapture --test-threads=1`.

mod certificate;
mod same_bits;
mod statistics;
mod timing;

use super::entropy::{Cipher, Entropy, StreamKey};
use super::exact::SlowPath;
use super::grid::Grid;
use super::kernel::{LaneConstants, Magnitude};
use super::keystream::Keystream;
use super::perturb::{NoiseError, NoiseKind, Perturbation, Sampler};
use crate::units::{LearnerId, Round};
use undertone_simd::InstructionSet;

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

fn key(label: u64) -> StreamKey {
    let mut entropy = FixedEntropy { cipher: Cipher::Aes256Ctr, label };
    entropy.key(LearnerId(0), Round::ZERO).unwrap()
}

/// Random words for tests.
fn words(label: u64) -> impl FnMut() -> u64 {
    let mut stream = Keystream::new(key(label));
    move || stream.next_word()
}

/// The settings of a draw that tests vary.
#[derive(Clone, Copy)]
struct Setting {
    scale: f64,
    bits: i32,
    margin: Option<f64>,
    instruction_set: InstructionSet,
    label: u64,
}

impl Setting {
    fn new(bits: i32, label: u64) -> Setting {
        let instruction_set = InstructionSet::best();
        Setting { scale: 0.731_234_567, bits, margin: None, instruction_set, label }
    }

    fn grid(&self) -> Grid {
        Grid::with_bits(self.scale, self.bits).unwrap()
    }

    fn constants(&self) -> LaneConstants {
        // The kind is not used below `perturb`.
        let bound = 100.0 * self.scale;
        let perturbation = Perturbation { kind: NoiseKind::Laplace, scale: self.scale, bound };
        let mut constants = LaneConstants::new(&self.grid(), &perturbation);
        if let Some(margin) = self.margin {
            constants.set_margin(margin);
        }
        constants
    }

    /// The released vector and the number of slow lanes.
    fn draw<D: Magnitude + SlowPath>(&self, values: &[f64]) -> (Vec<f64>, u64) {
        let mut sampler = Sampler::new(self.constants(), key(self.label), self.instruction_set);
        let mut out = vec![0.0; values.len()];
        sampler.release::<D>(values, &mut out);
        (out, sampler.slow_lanes())
    }
}

/// Values of ordinary size at no special place of the grid.
fn ordinary_values(count: usize) -> Vec<f64> {
    (0..count).map(|i| (i as f64 * 0.37).sin() * 3.0).collect()
}
