//! Learners of one network: their setup, their records, their noise, and stores that outlive them.

use super::Scenario;
use crate::configs;
use std::sync::Arc;
use std::time::Duration;
use undertone::noise::{Cipher, Entropy, NoiseError, StreamKey};
use undertone::{LearnerId, Round};
use undertone_models::{BoundedRecord, Features, Record, RecordChecker, Setup};
use undertone_node::protocol::{FOLLOW_RATE, Settings};
use undertone_node::store::{Commit, Position, RECEIPTS_SHOWN, Storage, StorageError, Stored};

/// The network of a scenario: shielded ridge regression from widely spread starting points, with
/// coupling 1.
///
/// Weights are half of one over the degree: no eigenvalue of W is then below −1, and a graph that is not bipartite has
/// none at −1, as Assumption 2 asks.
pub(super) fn setup(scenario: &Scenario) -> Arc<Setup> {
    let Scenario { learners, degree, dimension, step, noise, .. } = scenario;
    let (shape, degree) = match scenario.topology.as_str() {
        "ring" => ("topology = \"ring\"".to_string(), 2),
        "torus" => {
            let columns = (*learners as f64).sqrt().round();
            (format!("topology = \"torus\"\ncolumns = {columns}"), 4)
        }
        _ => {
            let seed = scenario.seed;
            (format!("topology = \"random-regular\"\ndegree = {degree}\nseed = {seed}"), *degree)
        }
    };
    let weight = 0.5 / degree as f64;
    configs::spread_out(*learners, &shape, weight, *dimension, [*step, *noise])
}

pub(super) fn settings(scenario: &Scenario) -> Settings {
    let deadline = Duration::from_secs_f64(scenario.deadline_seconds);
    Settings {
        deadline,
        request_after: Duration::from_secs_f64(scenario.ask_after_seconds),
        records_wait: deadline / 2,
        heard_min: scenario.heard_min,
        follow_rate: FOLLOW_RATE,
        end: Round(scenario.rounds),
        inbox_max: 16,
    }
}

/// SplitMix64, for everything except the noise.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// In (0, 1].
    pub(super) fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// A standard normal number, by Box and Muller.
    pub(super) fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Exponentially distributed, with this mean.
    pub(super) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }
}

/// A learner's record with a number; always the same for the same number.
pub(super) fn record(
    scenario: &Scenario,
    checker: &RecordChecker,
    learner: usize,
    number: u64,
) -> BoundedRecord {
    let mut dice = Dice(scenario.seed ^ (learner as u64) << 32 ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let scale = 1.7 / (scenario.dimension as f64).sqrt();
    let values: Vec<f64> = (0..scenario.dimension).map(|_| (dice.unit() - 0.5) * scale).collect();
    let score: f64 = values.iter().sum();
    let record = Record::new(Features::Dense(values.into()), score.clamp(-1.0, 1.0));
    checker.check(record).expect("a record within the bounds")
}

/// Noise that follows from a seed. NOT PRIVATE.
#[derive(Clone, Copy)]
pub(super) struct SeededEntropy(pub(super) u64);

impl Entropy for SeededEntropy {
    fn key(&mut self, learner: LearnerId, round: Round) -> Result<StreamKey, NoiseError> {
        let mut bytes = [0; 32];
        for (slot, part) in bytes.chunks_exact_mut(8).zip([self.0, u64::from(learner.0), round.0]) {
            slot.copy_from_slice(&part.to_le_bytes());
        }
        Ok(StreamKey::new(Cipher::Aes256Ctr, bytes))
    }
}

/// A disk that never fails. It is taken from a learner that goes away, and given back to it when it
/// returns.
#[derive(Default)]
pub(super) struct Disk(Stored);

impl Storage for Disk {
    fn load(&mut self) -> Result<Stored, StorageError> {
        Ok(self.0.clone())
    }

    fn accept(&mut self, records: &[BoundedRecord], _: Option<&Position>) -> Result<(), StorageError> {
        self.0.waiting.extend(records.iter().map(|record| record.as_record().clone()));
        Ok(())
    }

    fn commit(&mut self, commit: Commit<'_>) -> Result<(), StorageError> {
        self.0.waiting.drain(..commit.records_used);
        self.0.releases += 1;
        if self.0.receipts.len() == RECEIPTS_SHOWN {
            self.0.receipts.pop_front();
        }
        self.0.receipts.push_back(*commit.receipt);
        match commit.snapshot {
            Some(snapshot) => {
                self.0.snapshot = Some(snapshot.to_vec());
                self.0.entries.clear();
            }
            None => self.0.entries.push(commit.entry.to_vec()),
        }
        Ok(())
    }

    fn cut_off(&mut self, neighbour: LearnerId) -> Result<(), StorageError> {
        self.0.cut_off.push(neighbour);
        Ok(())
    }
}
