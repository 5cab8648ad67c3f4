//! Real learners over real sockets, and sockets that only carry the same bytes in lock-step.

use crate::{configs, folder_beside_the_build};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use undertone::noise::OsEntropy;
use undertone::LearnerId;
use undertone_models::{BoundedRecord, Features, Record, Setup};
use undertone_node::certificates::{self, Holder, Validity};
use undertone_node::daemon::{Daemon, DaemonSettings, News, RecordSource};
use undertone_node::link::Peers;
use undertone_node::store::{Commit, Position, Storage, StorageError, StoreFile, Stored};
use undertone_node::wire::Wire;

const LEARNERS: usize = 5;
/// Both sides write this much before they read, which fits into the system's buffers.
const CHUNK: usize = 32 << 10;

fn setup(features: usize) -> Arc<Setup> {
    configs::over_sockets(LEARNERS, features)
}

/// The number of features whose messages have about this many bytes: eight for each parameter.
fn features_of(bytes: usize) -> usize {
    (bytes / 8).max(8)
}

fn rounds_of(bytes: usize) -> u64 {
    (40_000_000 / bytes.max(20_000) as u64).clamp(40, 2000)
}

fn ports() -> Vec<u16> {
    let held: Vec<_> = (0..LEARNERS).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    held.iter().map(|held| held.local_addr().unwrap().port()).collect()
}

fn network_certificates() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    certificates::new_network(folder.path(), Validity::days(1)).unwrap();
    for id in 0..LEARNERS as u32 {
        let hosts = ["127.0.0.1".to_string()];
        certificates::add(folder.path(), Holder::Learner(LearnerId(id)), &hosts, Validity::days(1)).unwrap();
    }
    folder
}

/// Rounds a second of five threads in a ring that send the bytes of a learner's message and nothing else.
pub(crate) fn sockets(tls: bool, bytes: usize) -> f64 {
    let bytes = Wire::new(setup(features_of(bytes))).message_bytes();
    let rounds = rounds_of(bytes) * 2;
    let folder = tls.then(network_certificates);
    let listeners: Vec<_> = (0..LEARNERS).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let ports: Vec<u16> = listeners.iter().map(|one| one.local_addr().unwrap().port()).collect();
    let barrier = Barrier::new(LEARNERS + 1);
    thread::scope(|scope| {
        for (id, listener) in listeners.into_iter().enumerate() {
            let (barrier, ports, folder) = (&barrier, &ports, &folder);
            scope.spawn(move || {
                let right = TcpStream::connect(("127.0.0.1", ports[(id + 1) % LEARNERS])).unwrap();
                let (left, _) = listener.accept().unwrap();
                [&left, &right].iter().for_each(|side| side.set_nodelay(true).unwrap());
                match folder {
                    None => lock_step([Box::new(left), Box::new(right)], bytes, rounds, barrier),
                    Some(folder) => {
                        let (server, client) = secured(folder.path(), id as u32, left, right);
                        lock_step([server, client], bytes, rounds, barrier);
                    }
                }
            });
        }
        barrier.wait();
        let begin = Instant::now();
        barrier.wait();
        per_second(rounds, begin)
    })
}

trait Side: Read + Write {}
impl<T: Read + Write> Side for T {}

fn lock_step(mut sides: [Box<dyn Side>; 2], bytes: usize, rounds: u64, barrier: &Barrier) {
    let (message, mut heard) = (vec![7; bytes], vec![0; bytes]);
    let exchange = |sides: &mut [Box<dyn Side>; 2], heard: &mut [u8]| {
        for (said, heard) in message.chunks(CHUNK).zip(heard.chunks_mut(CHUNK)) {
            for side in sides.iter_mut() {
                side.write_all(said).unwrap();
                side.flush().unwrap();
            }
            sides.iter_mut().for_each(|side| side.read_exact(heard).unwrap());
        }
    };
    // Handshakes first.
    exchange(&mut sides, &mut heard);
    barrier.wait();
    (0..rounds).for_each(|_| exchange(&mut sides, &mut heard));
    barrier.wait();
}

/// Mutual TLS 1.3 on both sides: called from the left, calling to the right.
fn secured(folder: &Path, id: u32, left: TcpStream, right: TcpStream) -> (Box<dyn Side>, Box<dyn Side>) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let files = certificates::files(folder, Holder::Learner(LearnerId(id)));
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&files.authority).unwrap()).unwrap();
    let roots = Arc::new(roots);
    let chain = vec![CertificateDer::from_pem_file(&files.certificate).unwrap()];
    let key = || PrivateKeyDer::from_pem_file(&files.key).unwrap();
    let known = rustls::server::WebPkiClientVerifier::builder(Arc::clone(&roots)).build().unwrap();
    let server = ServerConfig::builder().with_client_cert_verifier(known).with_single_cert(chain.clone(), key()).unwrap();
    let client = ClientConfig::builder().with_root_certificates(roots).with_client_auth_cert(chain, key()).unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let mut server = ServerConnection::new(Arc::new(server)).unwrap();
    let mut client = ClientConnection::new(Arc::new(client), name).unwrap();
    let (mut left, mut right) = (left, right);
    // One side has to begin: otherwise both would wait.
    let mut answer = |left: &mut TcpStream| while server.is_handshaking() {
        server.complete_io(left).unwrap();
    };
    let mut call = |right: &mut TcpStream| while client.is_handshaking() {
        client.complete_io(right).unwrap();
    };
    if id == 0 {
        call(&mut right);
        answer(&mut left);
    } else {
        answer(&mut left);
        call(&mut right);
    }
    (Box::new(StreamOwned::new(server, left)), Box::new(StreamOwned::new(client, right)))
}

fn per_second(rounds: u64, begin: Instant) -> f64 {
    rounds as f64 / begin.elapsed().as_secs_f64()
}

/// Rounds a second of five learners, with a store on disk or none.
pub(crate) fn nodes(tls: bool, disk: bool, bytes: usize) -> f64 {
    let folder = network_certificates();
    let stores = folder_beside_the_build();
    let (tls, disk) = (tls.then_some(folder.path()), disk.then_some(stores.path()));
    learners(features_of(bytes), rounds_of(bytes), tls, disk)
}

/// Stores nothing, so that everything else is measured.
pub(crate) struct NoStore;

impl Storage for NoStore {
    fn load(&mut self) -> Result<Stored, StorageError> {
        Ok(Stored { waiting: VecDeque::new(), ..Stored::default() })
    }
    fn accept(&mut self, _: &[BoundedRecord], _: Option<&Position>) -> Result<(), StorageError> {
        Ok(())
    }
    fn commit(&mut self, _: Commit<'_>) -> Result<(), StorageError> {
        Ok(())
    }
    fn cut_off(&mut self, _: LearnerId) -> Result<(), StorageError> {
        Ok(())
    }
}

/// Rounds a second of learners.
fn learners(features: usize, rounds: u64, tls: Option<&Path>, disk: Option<&Path>) -> f64 {
    let (setup, ports, barrier) = (setup(features), ports(), Barrier::new(LEARNERS));
    thread::scope(|scope| {
        let handles: Vec<_> = (0..LEARNERS as u32)
            .map(|id| {
                let (setup, ports, barrier) = (&setup, &ports, &barrier);
                scope.spawn(move || {
                    let settings = settings(setup, id, ports, (rounds, tls));
                    match disk {
                        Some(folder) => {
                            let path = folder.join(format!("{id}-{features}-{}", tls.is_some()));
                            let store = StoreFile::New(path);
                            run(Daemon::open(setup, settings, &store, OsEntropy).unwrap(), rounds, barrier)
                        }
                        None => {
                            let daemon = Daemon::open_on_store(setup, settings, NoStore, OsEntropy);
                            run(daemon.unwrap(), rounds, barrier)
                        }
                    }
                })
            })
            .collect();
        let each = handles.into_iter().map(|handle| handle.join().unwrap());
        each.fold(f64::MAX, f64::min)
    })
}

/// Two neighbours, one record, and no time spent on waiting for more.
fn settings(setup: &Setup, id: u32, ports: &[u16], (rounds, tls): (u64, Option<&Path>)) -> DaemonSettings {
    let own = LearnerId(id);
    let address = |id: u32| format!("127.0.0.1:{}", ports[id as usize]);
    let neighbours = setup.agreement.graph.neighbours(own).iter();
    let peers = Peers::Direct {
        listen: address(id),
        neighbours: neighbours.map(|&(one, _)| (one, address(one.0))).collect(),
    };
    let dimension = u32::try_from(setup.agreement.model.features).unwrap();
    let features = Features::Sparse { dimension, indices: [1].into(), values: [0.5].into() };
    let record = Record::new(features, 1.0);
    let records = vec![setup.record_checker().check(record).unwrap()];
    DaemonSettings {
        certificates: tls.map(Path::to_path_buf),
        source: Some(RecordSource::replay("one".into(), records)),
        rounds: Some(rounds),
        deadline: Duration::from_secs(60),
        request_after: Some(Duration::from_secs(10)),
        records_wait: Some(Duration::ZERO),
        heard_min: 2,
        linger: Duration::from_secs(1),
        ..DaemonSettings::new(own, peers)
    }
}

fn run<S: Storage>(daemon: Daemon<OsEntropy, S>, rounds: u64, barrier: &Barrier) -> f64 {
    barrier.wait();
    thread::sleep(Duration::from_secs(2)); // Until all have found each other.
    let timed = Arc::new(Mutex::new((Instant::now(), 0.0)));
    let times = Arc::clone(&timed);
    let watch = move |news: News<'_>| {
        let News::Round { end, .. } = news else { return };
        let (begin, speed) = &mut *times.lock().unwrap();
        let round = end.report.round.0 + 1;
        // The first rounds wait for whoever came last.
        if round == rounds / 10 {
            *begin = Instant::now();
        }
        if round == rounds {
            *speed = per_second(rounds - rounds / 10, *begin);
        }
    };
    daemon.run(watch).unwrap();
    let (_, speed) = *timed.lock().unwrap();
    speed
}
