//! Large networks in one process.

use crate::learning::bounded_rows;
use crate::network::Network;
use crate::{configs, noise};
use std::time::Instant;
use undertone::LearnerId;
use undertone::privacy::Accountant;
use undertone_models::BoundedRecord;

/// Rounds before anything is measured: statistics take rows in eights, and all of a learner's state has to be touched.
const WARM_UP_ROUNDS: usize = 9;
/// Different records; learners take them in different orders.
const RECORDS: usize = 16;

struct Large {
    network: Network,
    records: Vec<BoundedRecord>,
    round: usize,
}

impl Large {
    /// A ring with statistics of constant size if they fit, and only the newest batch for long
    /// vectors.
    fn new(learners: usize, dimension: usize) -> Large {
        let memory = configs::memory(configs::fitting_memory(dimension));
        let setup = configs::ring(learners, dimension, "ridge", memory);
        let records = bounded_rows(&setup, RECORDS);
        Large { network: Network::new(setup, true), records, round: 0 }
    }

    fn round(&mut self) {
        let (t, records) = (self.round, &self.records);
        self.network.round(|id: LearnerId| std::slice::from_ref(&records[(id.0 as usize * 7 + t) % RECORDS]));
        self.round += 1;
    }

    fn warm_up(&mut self) {
        (0..WARM_UP_ROUNDS).for_each(|_| self.round());
    }
}

/// Rounds a second on this many threads.
pub(crate) fn rounds(learners: usize, dimension: usize, threads: usize) -> f64 {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| {
        let mut network = Large::new(learners, dimension);
        network.warm_up();
        let begin = Instant::now();
        let mut done = 0;
        while done < 3 || begin.elapsed().as_secs_f64() < 3.0 {
            network.round();
            done += 1;
        }
        f64::from(done) / begin.elapsed().as_secs_f64()
    })
}

/// Resident bytes a learner over the bytes of its state: parameters, update, and statistics where it has them.
pub(crate) fn memory(learners: usize, dimension: usize) -> f64 {
    let before = resident();
    let mut network = Large::new(learners, dimension);
    network.warm_up();
    let moments = if dimension <= 1000 { dimension * (dimension + 1) / 2 + dimension } else { 0 };
    let needed = 8 * (2 * dimension + moments);
    (resident() - before) / (learners * needed) as f64
}

fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    text.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok()).expect("pages") * 4096.0
}

/// What one learner spends in this many rounds and for ever, with the config of docs/node.md and
/// this many learners.
pub(crate) fn budget(learners: usize, rounds: u64) -> String {
    let begin = Instant::now();
    let setup = configs::readmission(learners);
    let planned = begin.elapsed().as_secs_f64();
    let mut account = Accountant::new(setup.mechanisms[0], None);
    (0..rounds).for_each(|_| noise::pay_a_round(&mut account));
    serde_json::json!({
        "learners": learners, "rounds": rounds, "delta": setup.agreement.delta,
        "epsilon_after_rounds": account.epsilon(setup.agreement.delta),
        "epsilon_for_ever": setup.lifetime_epsilon_max(),
        "plan_seconds": planned,
    })
    .to_string()
}
