//! Large networks in one process.

use crate::configs;
use crate::network::Network;
use std::time::Instant;
use undertone::LearnerId;
use undertone_models::{Features, Record};

struct Large {
    network: Network,
    dimension: u32,
    round: u64,
}

impl Large {
    /// A ring with statistics of constant size where they fit, and the newest batch alone for long vectors.
    fn new(learners: usize, dimension: usize) -> Large {
        let memory = if dimension <= 1000 { "moments" } else { "newest" };
        let plan = configs::ring(learners, dimension, 1_000_000, "ridge", configs::memory(memory));
        Large { network: Network::new(plan, true), dimension: dimension as u32, round: 0 }
    }

    fn round(&mut self) {
        let (t, dimension) = (self.round, self.dimension);
        self.network.round(|id: LearnerId| {
            let place = (u64::from(id.0) * 31 + t * 17) % u64::from(dimension);
            let features =
                Features::Sparse { dimension, indices: [place as u32].into(), values: [0.9].into() };
            [Record { features, label: 0.5 }]
        });
        self.round += 1;
    }
}

/// Rounds a second on so many threads.
pub(crate) fn rounds(learners: usize, dimension: usize, threads: usize) -> f64 {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| {
        let mut network = Large::new(learners, dimension);
        network.round();
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
    network.round();
    let moments = if dimension <= 1000 { dimension * (dimension + 1) / 2 + dimension } else { 0 };
    let needed = 8 * (2 * dimension + moments);
    (resident() - before) / (learners * needed) as f64
}

fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    text.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok()).expect("pages") * 4096.0
}
