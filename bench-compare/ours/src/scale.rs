//! Large networks in one process.

use crate::configs;
use crate::network::Network;
use std::time::Instant;
use undertone::LearnerId;
use undertone::privacy::Accountant;
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

/// What one learner spends in so many rounds and for ever, in a network of so many: the config of docs/node.md with
/// more learners.
pub(crate) fn budget(learners: usize, rounds: u64) -> String {
    let begin = Instant::now();
    let plan = configs::plan(&format!(
        r#"
name = "readmission"
method = "shielded"
rounds = 500
[network]
learners = {learners}
topology = "random-regular"
degree = 6
seed = 1
weight = 0.08
[data]
source = "own-records"
partition = "iid"
classes = ["home", "readmitted"]
intercept = true
warmup = 100
batch = 1
[bounds]
feature_norm = 2.0
out_of_bounds = "scale"
[model]
loss = "logistic"
features = 5
clip = 0.5
[parameters]
set = "ball"
radius = 10.0
[schedule]
step = 5.0
step_exponent = 0.3
coupling = 0.6
coupling_exponent = 0.0
[noise]
kind = "gaussian"
exponent = 0.1
scale = 0.22
[privacy]
epsilon = 4.0
delta = 1e-6
"#
    ));
    let planned = begin.elapsed().as_secs_f64();
    let mut account = Accountant::new(plan.mechanisms[0], None);
    for _ in 0..rounds {
        account.pay().expect("no cap");
        let terms = account.mechanism().planned_terms(account.round());
        account.advance(&terms);
    }
    serde_json::json!({
        "learners": learners, "rounds": rounds, "delta": plan.config.delta,
        "epsilon_after_rounds": account.epsilon(plan.config.delta),
        "epsilon_for_ever": plan.lifetime_epsilon_max(),
        "plan_seconds": planned,
    })
    .to_string()
}
