//! Fixed amounts of work, for counting instructions: the difference of the counts for two amounts
//! is that of the work alone.

use crate::{configs, learning, noise};
use std::hint::black_box;
use undertone::LearnerId;
use undertone::noise::{Cipher, Entropy, NoiseError, NoiseKind, Perturbation, StreamKey, perturb};
use undertone::privacy::Accountant;
use undertone::{Learner, OnlineLearner, Round};
use undertone_models::{AnyMemory, BoundedRecord};
use undertone_node::wire::Wire;

/// The same key every time, so that counts can be repeated. NOT PRIVATE.
struct Fixed;

impl Entropy for Fixed {
    fn key(&mut self, learner: LearnerId, round: Round) -> Result<StreamKey, NoiseError> {
        let mut bytes = [7; 32];
        bytes[..8].copy_from_slice(&round.0.to_le_bytes());
        bytes[8] = learner.0.to_le_bytes()[0];
        Ok(StreamKey::new(Cipher::Aes256Ctr, bytes))
    }
}

/// Does `count` items of some work.
pub(crate) fn work(what: &str, count: u64) -> f64 {
    match what {
        "laplace-1000" | "gaussian-1000" => {
            let kind = if what.starts_with('g') { NoiseKind::Gaussian } else { NoiseKind::Laplace };
            let mechanism = Perturbation { kind, scale: 0.731_234_567, bound: 100.0 };
            let values: Vec<f64> = (0..1000).map(|i| (f64::from(i) * 0.37).sin()).collect();
            let mut out = vec![0.0; 1000];
            for round in 0..count {
                let key = Fixed.key(LearnerId(0), Round(round)).expect("a key");
                perturb(&mechanism, black_box(&values), key, black_box(&mut out)).expect("fits");
            }
        }
        "account" => {
            let setup = learning::pair("exact");
            let mut account = Accountant::new(setup.mechanisms[0], None);
            (0..count).for_each(|_| noise::pay_a_round(&mut account));
        }
        "round-moments-112" | "round-anchored-112" | "round-window-112" | "round-exact-112" => {
            let memory = what.split('-').nth(1).expect("a memory");
            let setup = learning::pair(memory);
            let mut pair = [0, 1].map(|id| setup.learner(LearnerId(id)).expect("a learner"));
            let rows = learning::bounded_rows(&setup, 64);
            for t in 0..count as usize {
                round(&mut pair, &rows[t % 64..=t % 64]);
            }
        }
        "learn-112" => {
            // A record on its way in: checked, and handed over to the memory with its batch.
            let mut learner = OnlineLearner::new(configs::alone(112), Fixed).expect("a learner");
            let rows = learning::rows(64, 112);
            for t in 0..count as usize {
                learner.learn_record(black_box(rows[t % 64].clone())).expect("within the budget");
            }
        }
        "decode-112" | "decode-50000" => {
            let features = what.split('-').nth(1).and_then(|text| text.parse().ok()).expect("a number");
            let setup = configs::ring(2, features, "logistic", configs::memory("newest"));
            let mut learner = setup.learner(LearnerId(1)).expect("a learner");
            let release = learner.release(&mut Fixed).expect("a release");
            let wire = Wire::new(setup);
            let sealed = wire.encode(&release, &[0]);
            for _ in 0..count {
                black_box(wire.decode(LearnerId(1), black_box(sealed.bytes()))).expect("a message");
            }
        }
        _ => panic!("no such work"),
    }
    count as f64
}

fn round(pair: &mut [Learner<AnyMemory>; 2], batch: &[BoundedRecord]) {
    let [left, right] = pair;
    left.observe(batch);
    right.observe(batch);
    let releases = [left, right].map(|learner| learner.release(&mut Fixed).expect("a release"));
    let [left, right] = pair;
    left.absorb(&[&releases[1]]);
    right.absorb(&[&releases[0]]);
}
