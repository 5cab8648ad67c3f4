//! Records of persons in a node: what is accepted, what is left out, and that it stays so after a restart.

use crate::support::{CountedEntropy, MEMORY, changed_setup, settings, setup};
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use undertone::persist::save;
use undertone::privacy::verify;
use undertone::{LearnerId, Memory as _, Round};
use undertone_models::{BoundedRecord, Setup};
use undertone_node::history::History;
use undertone_node::intake::Intake;
use undertone_node::owner;
use undertone_node::protocol::{Node, Settings};
use undertone_node::store::DiskStore;

const ONE: LearnerId = LearnerId(1);
/// A word that is in every key.
const SECRET: &str = "XYZZY";

/// At most two records of a person.
fn limited() -> Arc<Setup> {
    let unit = ("delta = 1e-6", "delta = 1e-6\nunit = \"person\"\nrecords_per_person = 2");
    changed_setup(3, "algorithm1", "", &[unit])
}

/// Gradients that are cut by person.
fn grouped(memory: &str) -> Arc<Setup> {
    let unit = "delta = 1e-6\nunit = \"person\"\npersons_per_round = 1\npersons_warmup = 2";
    changed_setup(3, "shielded", "", &[("delta = 1e-6", unit), (MEMORY, memory)])
}

type OnDisk = Node<CountedEntropy, DiskStore>;

fn open(setup: &Arc<Setup>, path: &Path) -> OnDisk {
    let network = setup.network_id();
    let store = if path.exists() {
        DiskStore::open(path, network, ONE).unwrap()
    } else {
        DiskStore::create(path, network, ONE).unwrap()
    };
    let settings = Settings { heard_min: 0, deadline: Duration::from_millis(500), ..settings(500) };
    let entropy = CountedEntropy { seed: 9, drawn: Rc::default() };
    Node::open(Arc::clone(setup), ONE, settings, entropy, store).unwrap()
}

fn record(intake: &Intake, person: &str, number: u64) -> BoundedRecord {
    let x = (number % 7) as f64 / 10.0;
    let text = format!(
        r#"{{"features": [{x}, 0.1, -0.2, 0.0, 0.3], "label": {}, "person": "{SECRET}-{person}"}}"#,
        number % 2
    );
    intake.record(&text).unwrap()
}

/// Runs rounds in each of which a new person comes and an old one comes back.
fn run(node: &mut OnDisk, intake: &Intake, now: &mut Duration, rounds: u64) {
    node.start(*now).unwrap();
    let end = node.learner().round().0 + rounds;
    while node.learner().round() < Round(end) {
        let number = node.learner().round().0;
        let records = [number, number, number / 2, number / 2]
            .map(|k| record(intake, &k.to_string(), number));
        node.accept_records(records.into(), None).unwrap();
        node.tick(*now).unwrap();
        *now += Duration::from_secs(3);
        node.tick(*now).unwrap();
    }
}

#[test]
fn a_learner_of_persons_is_restored_exactly_with_whom_it_knows() {
    let folder = tempfile::tempdir().unwrap();
    let window = "kind = \"window\"\nwindow = 4";
    for (name, setup) in [
        ("limited", limited()),
        ("grouped", grouped("kind = \"exact\"")),
        ("window", grouped(window)),
    ] {
        let path = folder.path().join(name);
        let intake = Intake::new(Arc::clone(&setup));
        let mut node = open(&setup, &path);
        let mut now = Duration::ZERO;
        run(&mut node, &intake, &mut now, 60);
        // Some wait when it is stopped.
        node.accept_records(vec![record(&intake, "late", 1)], None).unwrap();
        let (before, waiting) = (save(&mut node), node.waiting_records());
        let (persons, records) =
            (node.learner().memory().persons(), node.learner().memory().records());
        drop(node);
        let mut again = open(&setup, &path);
        assert_eq!((save(&mut again), again.waiting_records()), (before, waiting), "{name}");
        assert_eq!(again.learner().memory().persons(), persons);
        assert_eq!(again.learner().memory().records(), records);
        // Whoever had all records used has no more of them accepted; with one waiting there is room for another.
        let accepted = |node: &mut OnDisk, person: &str| {
            node.accept_records(vec![record(&intake, person, 2)], None).unwrap()
        };
        let room =
            [accepted(&mut again, "0"), accepted(&mut again, "late"), accepted(&mut again, "late")];
        let expected = if name == "limited" { [0, 1, 0] } else { [1, 1, 1] };
        assert_eq!(room, expected, "{name}");
        assert_eq!(
            again.counters().left_out,
            expected.iter().filter(|&&one| one == 0).count() as u64
        );
        run(&mut again, &intake, &mut now, 20);
        let shown = [
            serde_json::to_string(&owner::status(&again, &History::default())).unwrap(),
            serde_json::to_string(&owner::budget(&again)).unwrap(),
            format!("{:?} {:?}", again.learner(), again.learner().memory()),
            String::from_utf8_lossy(&owner::public_model(&again).unwrap()).into_owned(),
        ];
        assert!(shown.iter().all(|text| !text.contains(SECRET)));
        assert!(shown[1].contains("all records of one person"), "{}", shown[1]);
        let receipts = again.into_store().receipts().unwrap();
        verify(ONE, &setup.mechanisms[1], None, &receipts).unwrap();
        let stored = fs::read(&path).unwrap();
        assert!(!String::from_utf8_lossy(&stored).contains(SECRET), "only hashes are stored");
    }
}

#[test]
fn a_record_must_say_whose_it_is_or_must_not_and_no_fault_shows_a_key() {
    let with = |person: &str| format!(r#"{{"features": [0.1, 0, 0, 0, 0], "label": 1{person}}}"#);
    let (persons, records) = (Intake::new(limited()), Intake::new(setup(3, "algorithm1", "")));
    let key = |text: &str| persons.record(&with(&format!(", \"person\": {text}")));
    let named = key(&format!("\"{SECRET}\"")).unwrap();
    assert!(named.person().is_some() && !format!("{named:?}").contains(SECRET));
    // The same number, as a number and as a text, and the largest there are.
    assert_eq!(key("17").unwrap().person(), key("\" 17 \"").unwrap().person());
    assert_ne!(key("-17").unwrap().person(), key("17").unwrap().person());
    assert!(key("18446744073709551615").is_ok());
    for bad in ["17.0", "true", "[1]", "\"\"", "\"  \"", "null", "1e400"] {
        let fault = key(bad).unwrap_err().to_string();
        assert!(fault.contains("person") || fault.contains("JSON"), "{bad}: {fault}");
    }
    let fault = persons.record(&with("")).unwrap_err().to_string();
    assert!(fault.contains("no person key"), "{fault}");
    let fault = records.record(&with(&format!(", \"person\": \"{SECRET}\""))).unwrap_err();
    assert!(fault.to_string().contains("privacy.unit is \"record\""), "{fault}");
    assert!(!format!("{fault} {fault:?}").contains(SECRET));
    assert!(records.record(&with("")).unwrap().person().is_none(), "the control");
}
