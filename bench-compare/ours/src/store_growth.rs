//! How large a learner's store is after a number of rounds, and how long a round takes with and
//! without it.

use crate::learning::bounded_rows;
use crate::nodes::NoStore;
use crate::{configs, folder_beside_the_build};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use undertone::noise::OsEntropy;
use undertone::{LearnerId, Round};
use undertone_models::BoundedRecord;
use undertone_node::protocol::{Action, FOLLOW_RATE, Node, Settings};
use undertone_node::store::{DiskStore, Storage};
use undertone_node::wire::{OwnRelease, Wire};

/// Every learner has six neighbours.
const LEARNERS: u32 = 7;

/// One learner with its clock: the seconds it took, and the number of rounds.
struct Timed<S> {
    node: Node<OsEntropy, S>,
    seconds: f64,
}

impl<S: Storage> Timed<S> {
    fn new(wire: &Wire, id: u32, end: u64, store: S) -> Timed<S> {
        let hour = Duration::from_secs(3600);
        let settings = Settings {
            deadline: hour,
            request_after: hour,
            records_wait: hour,
            heard_min: LEARNERS as usize - 1,
            follow_rate: FOLLOW_RATE,
            end: Round(end),
            inbox_max: 16,
        };
        let node = Node::open_on(wire.clone(), LearnerId(id), settings, OsEntropy, store).expect("a learner");
        Timed { node, seconds: 0.0 }
    }

    /// Records, noise, and the round on disk.
    fn release(&mut self, record: BoundedRecord, now: Duration) -> OwnRelease {
        let begin = Instant::now();
        self.node.accept_records(vec![record], None).expect("records");
        let actions = self.node.tick(now).expect("a round");
        self.seconds += begin.elapsed().as_secs_f64();
        let published = actions.into_iter().find_map(|action| match action {
            Action::Publish(release) => Some(release),
            _ => None,
        });
        published.expect("a release")
    }

    fn hear_all(&mut self, releases: &[OwnRelease], now: Duration) {
        let own = self.node.learner().id();
        let begin = Instant::now();
        for (from, release) in (0..LEARNERS).map(LearnerId).zip(releases) {
            if from != own {
                self.node.receive(from, release.bytes(), now).expect("a message");
            }
        }
        self.seconds += begin.elapsed().as_secs_f64();
    }
}

/// `ours store-growth DIMENSION ROUNDS`: learner 0 keeps its rounds on disk, the others do not.
pub(crate) fn command(dimension: usize, rounds: u64) -> String {
    let setup = configs::everybody(LEARNERS, dimension);
    let wire = Wire::new(Arc::clone(&setup));
    let folder = folder_beside_the_build();
    let path = folder.path().join("learner-0.redb");
    let store = DiskStore::create(&path, wire.network(), LearnerId(0)).expect("a store");
    let mut kept = Timed::new(&wire, 0, rounds, store);
    let mut others: Vec<_> = (1..LEARNERS).map(|id| Timed::new(&wire, id, rounds, NoStore)).collect();
    let records = bounded_rows(&setup, 64);
    // The file grows in steps. It is full just before a step, so its size at these moments shows
    // how much is stored.
    let (mut full, mut size) = (Vec::new(), file_bytes(&path));
    for round in 0..rounds {
        let now = Duration::from_millis(round);
        let record = || records[round as usize % records.len()].clone();
        let mut releases = vec![kept.release(record(), now)];
        releases.extend(others.iter_mut().map(|other| other.release(record(), now)));
        kept.hear_all(&releases, now);
        others.iter_mut().for_each(|other| other.hear_all(&releases, now));
        let now_bytes = file_bytes(&path);
        if now_bytes > size {
            full.push(json!({"rounds": round, "file_bytes": size}));
        }
        size = now_bytes;
    }
    let others_seconds: f64 = others.iter().map(|other| other.seconds).sum();
    json!({
        "dimension": dimension,
        "rounds": rounds,
        "message_bytes": wire.message_bytes(),
        "file_bytes": size,
        "full": full,
        "microseconds_per_round_on_disk": 1e6 * kept.seconds / rounds as f64,
        "microseconds_per_round_in_memory": 1e6 * others_seconds / (rounds as f64 * f64::from(LEARNERS - 1)),
    })
    .to_string()
}

fn file_bytes(path: &Path) -> u64 {
    std::fs::metadata(path).expect("a file").len()
}
