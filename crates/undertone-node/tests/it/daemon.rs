//! Starting a daemon: what its owner may choose, and what is refused before anything is made.

use crate::sockets::{direct, identity, ports};
use crate::support::{Fixed, record, settings, setup};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use undertone::LearnerId;
use undertone::noise::OsEntropy;
use undertone_models::Setup;
use undertone_node::StartError;
use undertone_node::daemon::{Daemon, DaemonSettings, Ending, HttpSettings, RecordSource};
use undertone_node::link::{Addresses, Peers};
use undertone_node::loss_history::History;
use undertone_node::owner;
use undertone_node::protocol::{Node, OpenError};
use undertone_node::store::{DiskStore, Position, Storage as _, StorageError, StoreFile};
use undertone_simulation::{Dice, MemoryStore};

fn some_records() -> RecordSource {
    let mut dice = Dice::new(1);
    RecordSource::replay("some".into(), (0..9).map(|_| record(&mut dice)).collect())
}

fn chosen(setup: &Setup, id: u32, source: Option<RecordSource>) -> DaemonSettings {
    let ports = ports(5);
    DaemonSettings {
        source,
        ..DaemonSettings::new(LearnerId(id), direct(setup, 0, (&ports, &ports)))
    }
}

/// Why learner 0 does not start, if it does not; the store is what it has read before.
fn refusal(setup: &Arc<Setup>, settings: DaemonSettings, store: MemoryStore) -> Option<StartError> {
    Daemon::open_on_store(setup, settings, store, Fixed).err()
}

#[test]
fn a_file_that_the_learner_does_not_know_is_refused_unless_its_owner_says_that_it_is_new() {
    let setup = setup(5, "algorithm1", "");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("own.csv"), "").unwrap();
    std::fs::copy(path("own.csv"), path("copy.csv")).unwrap();
    let known = format!("records {}", path("own.csv").canonicalize().unwrap().display());
    let read_before = || {
        let mut store = MemoryStore::default();
        let position = Position { source: known.clone(), reached: 3 };
        store.accept(&[], Some(&position)).unwrap();
        store
    };
    let file = |name: &str| Some(RecordSource::file(&path(name), Vec::new()).unwrap());
    let choose = |source| chosen(&setup, 0, source);
    let refused = |settings, store| refusal(&setup, settings, store).map(|error| error.to_string());
    let said = refused(choose(file("copy.csv")), read_before()).unwrap();
    assert!(said.contains("used twice"), "{said}");
    let followed = RecordSource::follow(&path("own.csv")).unwrap();
    assert!(refused(choose(Some(followed)), read_before()).is_some(), "followed, not replayed");
    assert!(refused(choose(Some(some_records())), read_before()).is_some());
    // The controls: the same file by another name, a learner that has read nothing, and the owner's word.
    assert_eq!(refused(choose(file("./own.csv")), read_before()), None);
    assert_eq!(refused(choose(file("copy.csv")), MemoryStore::default()), None);
    let vouched = DaemonSettings { new_source: true, ..choose(file("copy.csv")) };
    assert_eq!(refused(vouched, read_before()), None);
    assert_eq!(refused(choose(Some(RecordSource::stdin())), read_before()), None);
}

#[test]
fn of_two_neighbours_the_one_with_the_smaller_number_calls() {
    let setup = setup(5, "algorithm1", "");
    let connects = |own: u32, known: &[u32]| -> Result<Vec<u32>, String> {
        let neighbours = known.iter().map(|&id| (LearnerId(id), format!("host-{id}:7440")));
        let peers = Peers::Direct { listen: "host:7440".into(), neighbours: neighbours.collect() };
        match peers.addresses(&identity(&setup, own)) {
            Ok(Addresses::Direct { connect, .. }) => {
                assert!(connect.iter().all(|(id, address)| *address == format!("host-{id}:7440")));
                Ok(connect.iter().map(|(id, _)| id.0).collect())
            }
            Ok(Addresses::Router(_)) => panic!("there is no router"),
            Err(error) => Err(error.to_string()),
        }
    };
    assert_eq!(connects(0, &[4, 1]), Ok(vec![1, 4]));
    assert_eq!(connects(1, &[0, 2]), Ok(vec![2]));
    assert_eq!(connects(1, &[2]), Ok(vec![2]), "learner 0 calls, and needs no address");
    assert_eq!(connects(4, &[]), Ok(vec![]));
    assert!(connects(1, &[0]).unwrap_err().contains("learner 1 calls it"));
    assert!(connects(1, &[0, 2, 3]).unwrap_err().contains("not a neighbour"));
}

#[test]
fn what_cannot_be_is_refused_and_no_store_is_made() {
    let setup = setup(5, "algorithm1", "");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let open = |settings: DaemonSettings| {
        let store = StoreFile::New(path.clone());
        Daemon::open(&setup, settings, &store, OsEntropy).map(|_| ()).map_err(|e| e.to_string())
    };
    let good = || chosen(&setup, 0, Some(some_records()));
    let exposed = HttpSettings { address: "0.0.0.0:0".parse().unwrap(), token: None };
    let wrong = [
        (DaemonSettings { learner: LearnerId(5), ..good() }, "has learners 0 to 4"),
        (DaemonSettings { deadline: Duration::ZERO, ..good() }, "deadline"),
        (DaemonSettings { deadline: Duration::from_secs(1_000_001), ..good() }, "deadline"),
        (DaemonSettings { heard_min: 0, ..good() }, "has 2 neighbours"),
        (DaemonSettings { heard_min: 3, ..good() }, "has 2 neighbours"),
        (DaemonSettings { rounds: Some(0), ..good() }, "rounds"),
        (DaemonSettings { rounds: Some(u64::MAX), ..good() }, "rounds"),
        (DaemonSettings { source: None, ..good() }, "no records could arrive"),
        (DaemonSettings { http: Some(exposed), ..good() }, "--token-file"),
        (DaemonSettings { certificates: Some("nowhere".into()), ..good() }, "nowhere"),
        (DaemonSettings { learner: LearnerId(1), ..good() }, "not a neighbour"),
    ];
    for (settings, reason) in wrong {
        let said = open(settings).unwrap_err();
        assert!(said.contains(reason), "{said}");
        assert!(!path.exists(), "{reason}");
    }
    for rate in [0.0, -1.0, 1e10, f64::NAN] {
        assert!(matches!(some_records().at_rate(rate), Err(StartError::Rate)));
    }
    assert!(matches!(RecordSource::stdin().at_rate(3.0), Err(StartError::RateOfLines)));
    assert!(RecordSource::follow(Path::new("nowhere")).is_err());
    let missing = StoreFile::Existing(path.clone());
    let missing = Daemon::open(&setup, good(), &missing, OsEntropy).map(|_| ());
    assert!(matches!(missing, Err(StartError::Store { error: StorageError::Missing, .. })));
    // The control: with good settings a store is made, and not a second time.
    open(good()).unwrap();
    assert!(path.exists());
    assert!(open(good()).unwrap_err().contains("exists already"));
}

#[test]
fn a_daemon_that_is_stopped_ends_and_its_store_can_be_inspected() {
    let setup = setup(5, "algorithm1", "");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    // It learns from the records of its first round, releases, and waits for neighbours that never come.
    let mut node = {
        let store = DiskStore::create(&path, identity(&setup, 0).network, LearnerId(0)).unwrap();
        Node::open(Arc::clone(&setup), LearnerId(0), settings(10), Fixed, store).unwrap()
    };
    let mut dice = Dice::new(2);
    node.accept_records((0..7).map(|_| record(&mut dice)).collect(), None).unwrap();
    node.start(Duration::ZERO).unwrap();
    let in_use = Node::inspect(&path, &setup).map(|_| ());
    assert!(matches!(in_use, Err(OpenError::Store(StorageError::InUse))));
    let shown = |node: &serde_json::Value| {
        ["round", "records", "waiting_records", "learner"].map(|key| node[key].clone())
    };
    let running = serde_json::to_value(owner::status(&node, &History::default())).unwrap();
    let theta = node.learner().private_parameters().for_owner().to_vec();
    drop(node);

    let settings = DaemonSettings { rounds: Some(10), ..chosen(&setup, 0, Some(some_records())) };
    let store = StoreFile::Existing(path.clone());
    let daemon = Daemon::open(&setup, settings, &store, Fixed).unwrap();
    daemon.handle().stop();
    assert_eq!(daemon.run(|_| ()).unwrap().ending, Ending::Stopped);

    let stored = Node::inspect(&path, &setup).unwrap();
    let status = serde_json::to_value(owner::status(&*stored, &History::default())).unwrap();
    assert_eq!(status["learner"], 0);
    assert_eq!(status["records"], 5, "{status}");
    assert!(status["waiting_records"].as_u64() >= Some(2));
    assert_eq!(shown(&running)[..2], shown(&status)[..2]);
    let bits = |theta: &[f64]| theta.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(stored.learner().private_parameters().for_owner()), bits(&theta));
    assert_eq!(owner::budget(&*stored).releases, 1);
    drop(stored);
    // To look changes nothing: the second look shows the same.
    let again = Node::inspect(&path, &setup).unwrap();
    let again = serde_json::to_value(owner::status(&*again, &History::default())).unwrap();
    assert_eq!(again, status);
}
