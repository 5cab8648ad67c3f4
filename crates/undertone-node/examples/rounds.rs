//! Rounds a second of five learners in a ring, against five threads that only send the same bytes over raw sockets
//! in lock-step, in one run: `cargo run --release -p undertone-node --example rounds`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for developers")]

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};
use undertone::config::{Config, RawConfig};
use undertone::noise::OsEntropy;
use undertone::{LearnerId, Round};
use undertone_models::{Features, Plan, Record};
use undertone_node::certificates::{self, Holder, Validity};
use undertone_node::daemon::{Event, Until, run};
use undertone_node::link::{Addresses, Identity, Link, Security};
use undertone_node::protocol::{Node, Settings};
use undertone_node::store::{Commit, DiskStore, Position, Storage, StorageError, Stored};
use undertone_node::wire::Wire;

const LEARNERS: usize = 5;

fn plan(features: usize) -> Arc<Plan> {
    let text = format!(
        r#"
name = "bench"
rounds = 100000
[network]
learners = {LEARNERS}
topology = "ring"
weight = 0.24
[data]
source = "own"
format = "ndjson"
partition = "iid"
[bounds]
feature_norm = 1.0
out_of_bounds = "refuse"
[model]
loss = "logistic"
features = {features}
ridge = 0.01
[memory]
kind = "window"
window = 1
[parameters]
set = "ball"
radius = 5.0
[schedule]
step = 1.0
step_exponent = 0.8
coupling = 1.0
coupling_exponent = 0.65
[noise]
kind = "laplace"
scale = 0.5
exponent = 0.1
[privacy]
delta = 1e-6
"#
    );
    let raw: RawConfig = toml::from_str(&text).unwrap();
    let mut config = match Config::unchecked_by_theorems(&raw) {
        Ok(config) => config,
        Err(faults) => panic!("{faults}"),
    };
    config.unproven = true;
    Arc::new(Plan::new(config).unwrap())
}

fn ports() -> Vec<u16> {
    let held: Vec<_> = (0..LEARNERS).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    held.iter().map(|held| held.local_addr().unwrap().port()).collect()
}

/// Forgets everything: what is measured is the rest.
struct NoStore;

impl Storage for NoStore {
    fn load(&mut self) -> Result<Stored, StorageError> {
        Ok(Stored { waiting: VecDeque::new(), ..Stored::default() })
    }
    fn accept(&mut self, _: &[Record], _: Option<&Position>) -> Result<(), StorageError> {
        Ok(())
    }
    fn commit(&mut self, _: Commit<'_>) -> Result<(), StorageError> {
        Ok(())
    }
    fn cut_off(&mut self, _: LearnerId) -> Result<(), StorageError> {
        Ok(())
    }
}

/// Rounds a second of raw sockets, each thread with its two neighbours.
fn raw(bytes: usize, rounds: u64) -> f64 {
    let listeners: Vec<_> =
        (0..LEARNERS).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let ports: Vec<u16> = listeners.iter().map(|one| one.local_addr().unwrap().port()).collect();
    let barrier = Barrier::new(LEARNERS + 1);
    thread::scope(|scope| {
        for (id, listener) in listeners.into_iter().enumerate() {
            let (barrier, ports) = (&barrier, &ports);
            scope.spawn(move || {
                let right = ports[(id + 1) % LEARNERS];
                let right = TcpStream::connect(("127.0.0.1", right)).unwrap();
                let (left, _) = listener.accept().unwrap();
                let mut sides = [left, right];
                sides.iter().for_each(|side| side.set_nodelay(true).unwrap());
                let (message, mut heard) = (vec![7; bytes], vec![0; bytes]);
                barrier.wait();
                for _ in 0..rounds {
                    // Both ways at once: large messages do not fit into the system's buffers.
                    thread::scope(|scope| {
                        if bytes > 60_000 {
                            for side in &sides {
                                let (mut side, message) = (side.try_clone().unwrap(), &message);
                                scope.spawn(move || side.write_all(message).unwrap());
                            }
                        } else {
                            sides.iter_mut().for_each(|side| side.write_all(&message).unwrap());
                        }
                        for side in &mut sides.each_ref().map(|side| side.try_clone().unwrap()) {
                            side.read_exact(&mut heard).unwrap();
                        }
                    });
                }
                barrier.wait();
            });
        }
        barrier.wait();
        let begin = Instant::now();
        barrier.wait();
        per_second(rounds, begin)
    })
}

#[expect(clippy::cast_precision_loss, reason = "few rounds")]
fn per_second(rounds: u64, begin: Instant) -> f64 {
    rounds as f64 / begin.elapsed().as_secs_f64()
}

/// Rounds a second of learners.
fn learners(features: usize, rounds: u64, tls: Option<&Path>, disk: Option<&Path>) -> f64 {
    let (plan, ports, barrier) = (plan(features), ports(), Barrier::new(LEARNERS));
    thread::scope(|scope| {
        let handles: Vec<_> = (0..5)
            .map(|id| {
                let (plan, ports, barrier) = (&plan, &ports, &barrier);
                scope.spawn(move || {
                    let network = Wire::new(Arc::clone(plan)).network();
                    match disk {
                        Some(folder) => {
                            let path = folder.join(format!("{id}-{features}-{}", tls.is_some()));
                            let store = DiskStore::create(&path, network, LearnerId(id)).unwrap();
                            learner(plan, id, ports, (rounds, tls), store, barrier)
                        }
                        None => learner(plan, id, ports, (rounds, tls), NoStore, barrier),
                    }
                })
            })
            .collect();
        let each = handles.into_iter().map(|handle| handle.join().unwrap());
        each.fold(f64::MAX, f64::min)
    })
}

fn learner<S: Storage>(
    plan: &Arc<Plan>,
    id: u32,
    ports: &[u16],
    (rounds, tls): (u64, Option<&Path>),
    store: S,
    barrier: &Barrier,
) -> f64 {
    let own = LearnerId(id);
    let wire = Wire::new(Arc::clone(plan));
    let settings = Settings {
        deadline: Duration::from_secs(60),
        ask_after: Duration::from_secs(10),
        records_wait: Duration::ZERO,
        heard_least: 2,
        end: Round(rounds),
        inbox_max: usize::MAX,
    };
    let mut node = Node::open(Arc::clone(plan), own, settings, OsEntropy, store).unwrap();
    let neighbours: Vec<LearnerId> =
        plan.config.graph.neighbours(own).iter().map(|&(id, _)| id).collect();
    let address = |id: u32| format!("127.0.0.1:{}", ports[id as usize]);
    let addresses = Addresses {
        listen: vec![address(id)],
        connect: neighbours.iter().filter(|one| one.0 > id).map(|one| address(one.0)).collect(),
        through_router: false,
    };
    let security = tls.map_or(Security::Loopback, |folder| {
        Security::MutualTls(certificates::files(folder, Holder::Learner(own)))
    });
    let message_bytes = wire.message_bytes();
    let identity = Identity { network: wire.network(), own, neighbours, message_bytes };
    let (sender, events) = sync_channel(1000);
    let network = sender.clone();
    let deliver = Arc::new(move |incoming| {
        let _ = network.send(Event::Network(incoming));
    });
    let link = Link::open(&identity, &addresses, &security, deliver).unwrap();
    barrier.wait();
    thread::sleep(Duration::from_secs(2)); // Until all have found each other.
    let dimension = u32::try_from(plan.config.model.features).unwrap();
    let features = Features::Sparse { dimension, indices: [1].into(), values: [0.5].into() };
    let (answer, _taken) = tokio::sync::oneshot::channel();
    let records = vec![Record { features, label: 1.0 }];
    sender.send(Event::Records { records, position: None, answer }).unwrap();
    let until = Until { end: Round(rounds), linger: Duration::from_secs(1) };
    let (mut begin, mut speed) = (Instant::now(), 0.0);
    run(&mut node, &link, &events, until, &mut |_, node| {
        let round = node.learner().round().0;
        // The first rounds wait for whoever came last.
        if round == rounds / 10 {
            begin = Instant::now();
        }
        if round == rounds {
            speed = per_second(rounds - rounds / 10, begin);
        }
    })
    .unwrap();
    link.close();
    speed
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    certificates::new_network(folder.path(), Validity::days(1)).unwrap();
    for id in 0..5 {
        let holder = Holder::Learner(LearnerId(id));
        let hosts = ["127.0.0.1".to_string()];
        certificates::add(folder.path(), holder, &hosts, Validity::days(1)).unwrap();
    }
    println!("rounds a second, five learners in a ring; in brackets the share of raw sockets");
    for (features, rounds) in [(117, 2000), (50_000, 200)] {
        let bytes = Wire::new(plan(features)).message_bytes();
        let limit = raw(bytes, rounds);
        println!("{bytes} bytes a message");
        println!("  raw sockets, nothing else  {limit:9.1}");
        let tls = Some(folder.path());
        for (name, tls, disk) in [
            ("learners, TCP, no store ", None, None),
            ("learners, QUIC, no store", tls, None),
            ("learners, TCP, on disk  ", None, tls),
            ("learners, QUIC, on disk ", tls, tls),
        ] {
            let found = learners(features, rounds, tls, disk);
            println!("  {name}   {found:9.1}  ({:.2})", found / limit);
        }
    }
}
