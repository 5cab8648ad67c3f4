//! The store on disk: durable, locked, private, and refused when damaged.

use crate::support::{record, settings, setup};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use undertone::persist::save;
use undertone::privacy::verify;
use undertone::{LearnerId, Round};
use undertone_models::Setup;
use undertone_node::protocol::{Action, Node, Settings};
use undertone_node::store::{DiskStore, Storage, StorageError};
use undertone_simulation::{Dice, RepeatableEntropy};

const ONE: LearnerId = LearnerId(1);

fn open(setup: &Arc<Setup>, path: &Path) -> Node<RepeatableEntropy, DiskStore> {
    let network = setup.network_id();
    let store = if path.exists() {
        DiskStore::open(path, network, ONE).unwrap()
    } else {
        DiskStore::create(path, network, ONE).unwrap()
    };
    let entropy = RepeatableEntropy::counting(9);
    Node::open(Arc::clone(setup), ONE, alone(), entropy, store).unwrap()
}

/// Settings with which a learner runs rounds without hearing any neighbour.
fn alone() -> Settings {
    Settings { heard_min: 0, deadline: Duration::from_millis(500), ..settings(500) }
}

/// Runs a learner that hears no neighbour. Returns what it published.
fn run(node: &mut Node<RepeatableEntropy, DiskStore>, rounds: u64) -> Vec<Vec<u8>> {
    let mut dice = Dice::new(4);
    let mut published = Vec::new();
    let mut now = Duration::ZERO;
    let mut note = |actions: Vec<Action>| {
        for action in actions {
            if let Action::Publish(release) = action {
                published.push(release.bytes().to_vec());
            }
        }
    };
    note(node.start(now).unwrap());
    let end = node.learner().round().0 + rounds;
    while node.learner().round() < Round(end) {
        node.accept_records((0..3).map(|_| record(&mut dice)).collect(), None).unwrap();
        note(node.tick(now).unwrap());
        now += Duration::from_secs(1);
        note(node.tick(now).unwrap());
    }
    published
}

#[test]
fn a_learner_is_restored_exactly_and_sends_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learner.redb");
    for method in ["algorithm1", "shielded"] {
        let setup = setup(3, method, "");
        let _ = fs::remove_file(&path);
        let mut node = open(&setup, &path);
        let published = run(&mut node, 150);
        let last = published.last().unwrap().clone();
        let waiting = node.waiting_records();
        drop(node);
        let mut again = open(&setup, &path);
        assert_eq!(again.waiting_records(), waiting);
        let before = save(&mut again);
        let actions = again.start(Duration::ZERO).unwrap();
        let Some(Action::Publish(release)) = actions.first() else { panic!("{actions:?}") };
        assert_eq!(release.bytes(), last, "the same bytes are sent again");
        drop(again);
        let mut third = open(&setup, &path);
        assert_eq!(save(&mut third), before, "opening changes nothing");
        let receipts = third.into_store().receipts().unwrap();
        assert!(receipts.len() >= 150);
        verify(ONE, &setup.mechanisms[1], None, &receipts).unwrap();
    }
}

#[test]
fn a_process_killed_while_it_creates_a_store_leaves_none_or_a_complete_one() {
    let folder = tempfile::tempdir().unwrap();
    let ours = setup(3, "algorithm1", "").network_id();
    for attempt in 0..20 {
        let path = folder.path().join(format!("{attempt}.redb"));
        let copy = path.with_extension("copy");
        std::thread::scope(|scope| {
            // Copies the file as soon as it exists, as a killed process would leave it.
            let looking = scope.spawn(|| while fs::copy(&path, &copy).is_err() {});
            let store = DiskStore::create(&path, ours, ONE).unwrap();
            looking.join().unwrap();
            drop(store);
        });
        DiskStore::open(&copy, ours, ONE).unwrap().load().unwrap();
    }
    let files = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(files, 40, "no temporary files are left");
}

#[test]
fn a_store_belongs_to_one_learner_and_to_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learner.redb");
    let ours = setup(3, "algorithm1", "");
    assert!(
        DiskStore::open(&path, ours.network_id(), ONE).is_err(),
        "a missing file is not a store"
    );
    let store = DiskStore::create(&path, ours.network_id(), ONE).unwrap();
    assert!(DiskStore::create(&path, ours.network_id(), ONE).is_err(), "the file exists");
    let second = DiskStore::open(&path, ours.network_id(), ONE);
    assert!(matches!(second, Err(StorageError::InUse)));
    drop(store);
    let other = DiskStore::open(&path, ours.network_id(), LearnerId(2));
    assert!(matches!(other, Err(StorageError::Mismatch("learner"))));
    let theirs = setup(4, "algorithm1", "");
    let other = DiskStore::open(&path, theirs.network_id(), ONE);
    assert!(matches!(other, Err(StorageError::Mismatch("network"))));
    DiskStore::open(&path, ours.network_id(), ONE).unwrap().load().unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "only the owner can read private records");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let exposed = DiskStore::open(&path, ours.network_id(), ONE);
        assert!(matches!(exposed, Err(StorageError::Exposed)));
    }
}

/// After damage anywhere in the file the store is refused, or its contents are unchanged.
#[test]
fn a_damaged_store_is_refused_or_unharmed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learner.redb");
    let setup = setup(3, "algorithm1", "");
    let mut node = open(&setup, &path);
    run(&mut node, 30);
    // As a killed process leaves the file, and as one that has ended normally does.
    let killed = fs::read(&path).unwrap();
    drop(node);
    let before = save(&mut open(&setup, &path));
    let whole = fs::read(&path).unwrap();
    assert!(killed != whole);
    let mut dice = Dice::new(8);
    let (mut refused, mut unharmed) = (0, 0);
    for attempt in 0..400 {
        let whole = if attempt % 2 == 0 { &killed } else { &whole };
        let mut bytes = whole.clone();
        let start = usize::try_from(dice.below(bytes.len() as u64)).unwrap();
        let end = (start + 64).min(bytes.len());
        bytes[start..end].iter_mut().for_each(|byte| *byte ^= 0x5a);
        fs::write(&path, &bytes).unwrap();
        let opened = DiskStore::open(&path, setup.network_id(), ONE).and_then(|store| {
            let entropy = RepeatableEntropy::counting(9);
            Node::open(Arc::clone(&setup), ONE, alone(), entropy, store)
                .map_err(|error| StorageError::Damaged(error.to_string()))
        });
        match opened {
            Ok(mut node) => {
                assert!(save(&mut node) == before, "no round is lost");
                unharmed += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 0 && unharmed > 0, "{refused} refused, {unharmed} unharmed");
}
