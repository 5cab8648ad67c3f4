//! What a learner writes: how large its store is after so many rounds, and what a round costs with and without it.

use crate::learning::{plan as plan_of, rows};
use crate::nodes::NoStore;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use undertone::noise::OsEntropy;
use undertone::{LearnerId, Round};
use undertone_models::{Plan, Record};
use undertone_node::protocol::{Action, Node, Settings};
use undertone_node::store::{DiskStore, Storage};
use undertone_node::wire::{Sealed, Wire};

/// Everybody has six neighbours.
const LEARNERS: u32 = 7;

fn plan(dimension: usize) -> Arc<Plan> {
    let memory = if dimension <= 1000 { "kind = \"moments\"" } else { "kind = \"window\"\nwindow = 1" };
    plan_of(&format!(
        r#"
name = "store growth"
method = "shielded"
unproven = true
rounds = 1000000
[network]
learners = {LEARNERS}
topology = "complete"
weight = 0.08
[data]
source = "own"
format = "ndjson"
partition = "iid"
[bounds]
feature_norm = 1.0
label = 1.0
out_of_bounds = "scale"
[model]
loss = "ridge"
features = {dimension}
ridge = 0.001
[memory]
{memory}
[parameters]
set = "ball"
radius = 10.0
[schedule]
step = 0.5
step_exponent = 0.3
coupling = 1.0
coupling_exponent = 0.0
[noise]
kind = "gaussian"
scale = 0.2
exponent = 0.1
[privacy]
delta = 1e-6
"#
    ))
}

/// One learner with its clock: seconds that it took, and in how many rounds.
struct Timed<S> {
    node: Node<OsEntropy, S>,
    seconds: f64,
}

impl<S: Storage> Timed<S> {
    fn new(wire: &Wire, id: u32, end: u64, store: S) -> Timed<S> {
        let hour = Duration::from_secs(3600);
        let settings = Settings {
            deadline: hour,
            ask_after: hour,
            records_wait: hour,
            heard_least: LEARNERS as usize - 1,
            end: Round(end),
            inbox_max: 16,
        };
        let node = Node::open_on(wire.clone(), LearnerId(id), settings, OsEntropy, store).expect("a learner");
        Timed { node, seconds: 0.0 }
    }

    /// Records, noise, and the round on disk.
    fn release(&mut self, record: Record, now: Duration) -> Sealed {
        let begin = Instant::now();
        self.node.take_in(vec![record], None).expect("records");
        let actions = self.node.tick(now).expect("a round");
        self.seconds += begin.elapsed().as_secs_f64();
        let published = actions.into_iter().find_map(|action| match action {
            Action::Publish(release) => Some(release),
            _ => None,
        });
        published.expect("a release")
    }

    fn hear_all(&mut self, releases: &[Sealed], now: Duration) {
        let own = self.node.learner().id();
        let begin = Instant::now();
        for (from, release) in (0..LEARNERS).map(LearnerId).zip(releases) {
            if from != own {
                self.node.hear(from, release.bytes(), now).expect("a message");
            }
        }
        self.seconds += begin.elapsed().as_secs_f64();
    }
}

/// `ours store-growth DIMENSION ROUNDS`: learner 0 keeps its rounds on disk, the others do not.
pub(crate) fn command(dimension: usize, rounds: u64) -> String {
    let plan = plan(dimension);
    let wire = Wire::new(Arc::clone(&plan));
    // Not in the folder for temporary files, which may be memory.
    let folder = tempfile::tempdir_in(".").expect("a folder");
    let path = folder.path().join("learner-0.redb");
    let store = DiskStore::create(&path, wire.network(), LearnerId(0)).expect("a store");
    let mut kept = Timed::new(&wire, 0, rounds, store);
    let mut others: Vec<_> = (1..LEARNERS).map(|id| Timed::new(&wire, id, rounds, NoStore)).collect();
    let records = rows(64, dimension);
    let mut sizes = Vec::new();
    for round in 0..rounds {
        let now = Duration::from_millis(round);
        let record = || records[round as usize % records.len()].clone();
        let mut releases = vec![kept.release(record(), now)];
        releases.extend(others.iter_mut().map(|other| other.release(record(), now)));
        kept.hear_all(&releases, now);
        others.iter_mut().for_each(|other| other.hear_all(&releases, now));
        if [8, 4, 2, 1].iter().any(|part| round + 1 == rounds / part) {
            sizes.push(json!({"rounds": round + 1, "file_bytes": file_bytes(&path)}));
        }
    }
    let others_seconds: f64 = others.iter().map(|other| other.seconds).sum();
    drop(kept.node);
    json!({
        "dimension": dimension,
        "rounds": rounds,
        "message_bytes": wire.message_bytes(),
        "sizes": sizes,
        "ledger_bytes_per_round": ledger_bytes(&path, &plan) / rounds as f64,
        "microseconds_per_round_on_disk": 1e6 * kept.seconds / rounds as f64,
        "microseconds_per_round_in_memory": 1e6 * others_seconds / (rounds as f64 * f64::from(LEARNERS - 1)),
    })
    .to_string()
}

fn file_bytes(path: &Path) -> u64 {
    std::fs::metadata(path).expect("a file").len()
}

/// Receipts are all that is kept for ever.
fn ledger_bytes(path: &Path, plan: &Plan) -> f64 {
    let (store, _) = DiskStore::open_any(path, plan).expect("a store");
    let receipts = store.receipts().expect("receipts");
    let key = size_of::<u64>();
    receipts.iter().map(|receipt| (key + serde_json::to_vec(receipt).expect("JSON").len()) as f64).sum()
}
