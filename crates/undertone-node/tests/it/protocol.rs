//! The protocol under faults: thousands of seeds, every failing operation, planted bugs.

use crate::network::{Network, finishes, network};
use crate::support::{FEATURES, MEMORY, changed_setup, record, settings, setup};
use sha2::{Digest as _, Sha256};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use undertone::persist::save;
use undertone::{LearnerId, Round};
use undertone_models::{AnyModel, Record, Setup};
use undertone_node::protocol::{Action, KEPT_ROUNDS, Node, OpenError, Presence, Settings};
use undertone_node::wire::Wire;
use undertone_simulation::{Dice, Faults, MemoryStore, RepeatableEntropy};

const LONG: Duration = Duration::from_secs(100_000);

fn rough(seed: u64) -> Faults {
    let mut dice = Dice::new(seed ^ 0xfa17);
    let some = |dice: &mut Dice, values: &[u64]| values[dice.below(values.len() as u64) as usize];
    let seconds = |count: u64| Duration::from_millis(1000 * count);
    Faults {
        loss: some(&mut dice, &[0, 50, 10, 4]),
        repeats: some(&mut dice, &[0, 20, 3]),
        delay: Duration::from_millis(some(&mut dice, &[5, 200, 3000])),
        crash_every: Some(seconds(some(&mut dice, &[5, 30, 100]))),
        down: seconds(some(&mut dice, &[1, 8, 60])),
        disk: some(&mut dice, &[0, 500, 60]),
        cut_every: Some(seconds(some(&mut dice, &[10, 60]))),
        until: seconds(120),
    }
}

/// Prints the seed of a run that panics.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}", self.0);
        }
    }
}

fn survive(seed: u64, method: &str) -> Network {
    let _seed = Seed(seed);
    let setup = setup(5, method, "");
    let mut sim = network(&setup, 60, rough(seed), seed);
    assert!(finishes(&mut sim, LONG), "seed {seed}: all reach the last round");
    sim.observer.check_ledgers();
    sim
}

#[test]
fn without_faults_every_edge_is_used_in_every_round_and_the_same_seed_gives_the_same_run() {
    let setup = setup(5, "algorithm1", "");
    let run = |seed| {
        let mut sim = network(&setup, 40, Faults::NONE, seed);
        assert!(finishes(&mut sim, LONG));
        sim.observer.check_ledgers();
        sim
    };
    let sim = run(1);
    // How the last round ended is not stored: that happens with the next.
    assert_eq!(sim.observer.used.iter().filter(|edge| edge.2 < 39).count(), 39 * 10);
    assert_eq!((sim.observer.made_up, sim.observer.crashes), (0, 0));
    assert_eq!(sim.observer.trace(), run(1).observer.trace());
    assert_ne!(sim.observer.trace(), run(2).observer.trace());
}

#[test]
fn every_seed_of_faults_is_survived() {
    let (mut crashes, mut made_up) = (0, 0);
    for seed in 0..seeds() {
        let method = if seed % 3 == 0 { "shielded" } else { "algorithm1" };
        let sim = survive(seed, method);
        crashes += sim.observer.crashes;
        made_up += sim.observer.made_up;
    }
    // The control: without faults the test would prove nothing.
    assert!(crashes > 100 && made_up > 100, "{crashes} crashes, {made_up} late pulls");
}

/// `UNDERTONE_SEEDS=5000` for a long run.
fn seeds() -> u64 {
    std::env::var("UNDERTONE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

/// Both neighbours of a learner had skipped its round, and were too close for it to follow them at once: nobody had a
/// release of that round, and it waited for ever.
#[test]
fn a_learner_whose_neighbours_skipped_its_round_follows_them() {
    survive(4307, "algorithm1");
}

#[test]
fn a_run_with_faults_is_repeatable() {
    assert_eq!(
        survive(5, "algorithm1").observer.trace(),
        survive(5, "algorithm1").observer.trace()
    );
}

/// While no learner is away for longer than releases are held, both ends of an edge agree on every round.
#[test]
fn both_ends_agree_on_every_edge_of_every_round() {
    let setup = setup(5, "algorithm1", "");
    let mut made_up = 0;
    for seed in 0..20 {
        let faults = Faults {
            loss: 6,
            repeats: 10,
            delay: Duration::from_millis(2500),
            until: Duration::from_secs(200),
            ..Faults::NONE
        };
        let mut sim = network(&setup, 80, faults, seed);
        assert!(finishes(&mut sim, LONG));
        let one_sided = sim.observer.one_sided(80 - 2 * KEPT_ROUNDS);
        assert_eq!(one_sided, 0, "seed {seed}, {} late pulls", sim.observer.made_up);
        made_up += sim.observer.made_up;
    }
    assert!(made_up > 50, "{made_up} late pulls: there was something to agree on");
}

/// Fails operation k of a disk, for every k: once without effect, and once after it took effect.
#[test]
fn every_operation_of_a_disk_may_fail() {
    let setup = setup(3, "algorithm1", "");
    let mut calm = network(&setup, 25, Faults::NONE, 3);
    assert!(finishes(&mut calm, LONG));
    let operations = calm.disk(LearnerId(1)).0.borrow().operations;
    assert!(operations > 30, "{operations}");
    for k in 0..operations {
        for takes_effect in [false, true] {
            let faults = Faults { down: Duration::from_secs(1), ..Faults::NONE };
            let mut sim = network(&setup, 25, faults, 3);
            sim.disk(LearnerId(1)).0.borrow_mut().fails_after = Some((k, takes_effect));
            assert!(finishes(&mut sim, LONG), "operation {k}");
            sim.observer.check_ledgers();
        }
    }
}

/// A planted bug: a disk that reports success without storing anything.
#[test]
#[should_panic(expected = "before it is sent")]
fn a_disk_that_lies_is_detected() {
    let setup = setup(3, "algorithm1", "");
    let mut sim = network(&setup, 12, Faults::NONE, 3);
    sim.disk(LearnerId(1)).0.borrow_mut().lies = true;
    finishes(&mut sim, LONG);
}

fn lone(place: u32, seed: u64) -> Node<RepeatableEntropy, MemoryStore> {
    let entropy = RepeatableEntropy::counting(seed);
    let setup = setup(3, "algorithm1", "");
    Node::open(Arc::clone(&setup), LearnerId(place), settings(100), entropy, MemoryStore::default())
        .unwrap()
}

fn first_release(node: &mut Node<RepeatableEntropy, MemoryStore>) -> Vec<u8> {
    let mut dice = Dice::new(7);
    node.start(Duration::ZERO).unwrap();
    node.accept_records((0..10).map(|_| record(&mut dice)).collect(), None).unwrap();
    let actions = node.tick(Duration::ZERO).unwrap();
    let Some(Action::Publish(release)) = actions.first() else { panic!("{actions:?}") };
    release.bytes().to_vec()
}

#[test]
fn a_neighbour_with_two_releases_of_a_round_is_cut_off_for_good() {
    let mut node = lone(0, 1);
    first_release(&mut node);
    let (honest, other) = (first_release(&mut lone(1, 1)), first_release(&mut lone(1, 2)));
    assert_ne!(honest, other);
    let one = LearnerId(1);
    assert!(node.receive(one, &honest[..], Duration::ZERO).unwrap().is_empty());
    assert!(
        node.receive(one, &honest[..], Duration::ZERO).unwrap().is_empty(),
        "a duplicate is harmless"
    );
    let actions = node.receive(one, &other[..], Duration::ZERO).unwrap();
    assert!(matches!(actions[..], [Action::CutOff(LearnerId(1))]), "{actions:?}");
    assert!(node.release_for(one, Round(0)).is_none() && node.newest_release_for(one).is_none());
    assert!(node.on_connected(one).is_empty(), "it gets neither replies nor requests");
    let entropy = RepeatableEntropy::counting(1);
    let setup = setup(3, "algorithm1", "");
    let node = Node::open(setup, LearnerId(0), settings(100), entropy, node.into_store()).unwrap();
    let presence: Vec<Presence> = node.neighbours().map(|view| view.presence).collect();
    assert_eq!(presence, [Presence::CutOff, Presence::Present]);
}

#[test]
fn a_round_ends_at_its_deadline_only_if_as_many_were_heard_as_the_owner_wants() {
    for (heard_min, ends) in [(1, true), (2, false)] {
        let entropy = RepeatableEntropy::counting(1);
        let settings = Settings { heard_min, ..settings(100) };
        let setup = setup(3, "algorithm1", "");
        let store = MemoryStore::default();
        let mut node = Node::open(setup, LearnerId(0), settings, entropy, store).unwrap();
        first_release(&mut node);
        let (one, two) = (first_release(&mut lone(1, 1)), first_release(&mut lone(2, 1)));
        assert!(node.receive(LearnerId(1), one, Duration::ZERO).unwrap().is_empty());
        node.tick(settings.deadline).unwrap();
        assert_eq!(node.learner().round() > Round(0), ends, "one was heard, {heard_min} wanted");
        node.receive(LearnerId(2), two, settings.deadline).unwrap();
        assert!(node.learner().round() > Round(0), "both were heard");
    }
}

#[test]
fn rejected_messages_are_counted_and_change_nothing() {
    let mut node = lone(0, 1);
    first_release(&mut node);
    let release = first_release(&mut lone(1, 1));
    let before = undertone::persist::save(&mut node);
    node.receive(LearnerId(2), &release[..], Duration::ZERO).unwrap();
    node.receive(LearnerId(1), &release[1..], Duration::ZERO).unwrap();
    node.receive(LearnerId(0), &release[..], Duration::ZERO).unwrap();
    node.receive(LearnerId(77), &release[..], Duration::ZERO).unwrap();
    assert_eq!(node.counters().rejected.values().sum::<u64>(), 2);
    assert_eq!(node.counters().unknown_senders, 2);
    assert_eq!(undertone::persist::save(&mut node), before);
}

/// The control: how many edges would be one-sided without late pulls.
#[test]
fn late_pulls_leave_no_edge_one_sided() {
    let setup = setup(3, "algorithm1", "");
    let faults = Faults {
        loss: 4,
        delay: Duration::from_millis(2500),
        until: Duration::from_secs(400),
        ..Faults::NONE
    };
    let (mut with, mut without) = (0, 0);
    for seed in 0..10 {
        let mut sim = network(&setup, 60, faults, seed);
        assert!(finishes(&mut sim, LONG));
        with += sim.observer.one_sided(40);
        without += sim.observer.one_sided(40) + sim.observer.made_up;
    }
    assert!(with == 0 && without > 20, "{with} one-sided edges, {without} without late pulls");
}

#[test]
fn a_learner_that_starts_late_skips_rounds_and_takes_part_again() {
    let setup = setup(5, "shielded", "");
    let mut sim = network(&setup, 300, Faults::NONE, 4);
    sim.start_only_after(Duration::from_secs(12), LearnerId(3));
    assert!(finishes(&mut sim, LONG));
    sim.observer.check_ledgers();
    let receipts = sim.observer.receipts(LearnerId(3));
    let gaps = receipts.windows(2).any(|two| two[1].round.0 > two[0].round.0 + 8);
    assert!(receipts.len() < 295 && gaps, "{} releases", receipts.len());
    let last_rounds =
        sim.observer.used.iter().filter(|edge| edge.0 == LearnerId(3) && edge.2 >= 280).count();
    assert!(last_rounds >= 2 * 18, "heard both neighbours again: {last_rounds}");
}

/// Replaying a store with another config gives another account, so the store is refused.
#[test]
fn a_store_of_another_config_is_refused() {
    let mut sim = network(&setup(3, "algorithm1", ""), 20, Faults::NONE, 4);
    assert!(finishes(&mut sim, LONG));
    let entropy = RepeatableEntropy::counting(1);
    let other = setup(3, "shielded", "");
    let opened =
        Node::open(other, LearnerId(0), settings(30), entropy, sim.disk(LearnerId(0)).clone());
    assert!(opened.is_err());
}

/// A learner with a dead neighbour must catch up with the other one.
#[test]
fn a_dead_neighbour_does_not_prevent_catching_up() {
    let setup = setup(5, "algorithm1", "");
    let mut sim = network(&setup, 200, Faults::NONE, 4);
    sim.never_start(LearnerId(4));
    sim.start_only_after(Duration::from_secs(12), LearnerId(3));
    assert!(finishes(&mut sim, LONG));
    let heard = sim
        .observer
        .used
        .iter()
        .filter(|edge| edge.0.0 == 3 && edge.1.0 == 2 && edge.2 >= 180)
        .count();
    assert!(heard >= 18, "{heard}");
}

/// Two parts of a ring that were separated: when the cut is repaired they are one network again.
#[test]
fn parts_that_were_separated_join_again() {
    let setup = setup(5, "algorithm1", "");
    for seed in 0..5 {
        let mut sim = network(&setup, 400, Faults::NONE, seed);
        // Learners 3 and 4 are separated, and start later.
        let edges = [(2, 3), (4, 0)].map(|(left, right)| (LearnerId(left), LearnerId(right)));
        sim.cut_until(Duration::from_secs(25), &edges);
        sim.start_only_after(Duration::from_secs(15), LearnerId(3));
        sim.start_only_after(Duration::from_secs(15), LearnerId(4));
        assert!(finishes(&mut sim, LONG));
        let across = |edge: &&(LearnerId, LearnerId, u64)| {
            edge.2 >= 380 && matches!((edge.0.0, edge.1.0), (2, 3) | (3, 2) | (4, 0) | (0, 4))
        };
        let heard = sim.observer.used.iter().filter(across).count();
        assert!(heard >= 4 * 18, "seed {seed}: {heard}");
    }
}

#[test]
fn a_comparison_method_does_not_run_on_a_network() {
    let entropy = RepeatableEntropy::counting(1);
    let setup = setup(3, "local", "");
    let opened = Node::open(setup, LearnerId(0), settings(30), entropy, MemoryStore::default());
    assert!(opened.is_err_and(|error| error.to_string().contains("simulate")));
}

/// Many learners of one network may share its wire format, which is costly to make.
#[test]
fn a_learner_opened_on_a_shared_wire_format_is_the_same() {
    let setup = setup(5, "shielded", "");
    let wire = Wire::new(Arc::clone(&setup));
    let entropy = RepeatableEntropy::counting(1);
    for id in (0..5).map(LearnerId) {
        let (settings, entropy) = (settings(9), entropy.clone());
        let own =
            Node::open(Arc::clone(&setup), id, settings, entropy.clone(), MemoryStore::default());
        let shared = Node::open_on(wire.clone(), id, settings, entropy, MemoryStore::default());
        let (mut own, mut shared) = (own.unwrap(), shared.unwrap());
        assert_eq!(own.wire().network(), shared.wire().network());
        assert!(save(&mut own) == save(&mut shared), "learner {id}");
    }
}

/// The numbers of a public start by their definition: SHA-256 of a tag, the network, the learner and a counter.
fn public_numbers(setup: &Setup, learner: u32) -> impl FnMut() -> f64 {
    let network = setup.network_id().bytes();
    let mut drawn = 0_u64;
    move || {
        drawn += 1;
        let mut text = b"undertone public start".to_vec();
        text.extend(network);
        text.extend(learner.to_le_bytes());
        text.extend(drawn.to_le_bytes());
        let digest = Sha256::digest(&text);
        let bits = u64::from_le_bytes(digest[..8].try_into().unwrap()) >> 11;
        bits as f64 / (1_u64 << 53) as f64
    }
}

fn start_of(setup: &Arc<Setup>, learner: u32) -> Vec<u64> {
    let (entropy, store) = (RepeatableEntropy::counting(1), MemoryStore::default());
    let node = Node::open(Arc::clone(setup), LearnerId(learner), settings(100), entropy, store);
    let node = node.unwrap();
    bits(node.learner().private_parameters().for_owner())
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn learners_start_where_the_id_of_their_network_says_bit_for_bit() {
    assert_eq!(start_of(&setup(3, "algorithm1", ""), 1), bits(&[0.0; FEATURES]));
    let spread = [("radius = 5.0", "radius = 5.0\nstart_spread = 0.5")];
    let spread = changed_setup(3, "algorithm1", "", &spread);
    for learner in 0..3 {
        let mut number = public_numbers(&spread, learner);
        let start: Vec<f64> = (0..FEATURES).map(|_| 0.5 * (2.0 * number() - 1.0)).collect();
        assert_eq!(start_of(&spread, learner), bits(&start));
    }
    // Control: each has a start of its own.
    assert_ne!(start_of(&spread, 0), start_of(&spread, 1));
    let neural = [
        ("loss = \"logistic\"", "loss = \"mlp\"\nclasses = 2\nhidden = [3]\nclip = 1.0"),
        ("ridge = 0.01\n", ""),
        ("radius = 5.0", "radius = 100.0"),
        (MEMORY, "kind = \"exact\""),
    ];
    let neural = changed_setup(3, "shielded", "", &neural);
    let AnyModel::Neural(model) = &neural.model else { panic!("a neural network") };
    let mut number = public_numbers(&neural, u32::MAX);
    let start = model.neural().initial_parameters(|| Ok::<_, Infallible>(number())).unwrap();
    for learner in 0..3 {
        assert_eq!(start_of(&neural, learner), bits(&start), "all start together");
    }
}

#[test]
fn a_waiting_record_that_was_damaged_is_found_when_the_store_is_opened() {
    let store = MemoryStore::default();
    let open = |store: &MemoryStore| {
        let entropy = RepeatableEntropy::counting(1);
        let setup = setup(3, "algorithm1", "");
        Node::open(setup, LearnerId(0), settings(100), entropy, store.clone())
    };
    let mut dice = Dice::new(7);
    let records = (0..2).map(|_| record(&mut dice)).collect();
    open(&store).unwrap().accept_records(records, None).unwrap();
    // Control: as they were stored, they are taken.
    assert_eq!(open(&store).unwrap().waiting_records(), 2);
    let damages: [fn(&mut Record); 4] = [
        |record| record.label = 7.0,
        |record| record.features.scale(100.0),
        |record| record.features.scale(f64::NAN),
        |record| *record = Record::dense([0.1], 1.0),
    ];
    for damage in damages {
        let sound = store.0.borrow().stored.waiting.clone();
        damage(&mut store.0.borrow_mut().stored.waiting[1]);
        assert!(matches!(open(&store), Err(OpenError::Record(_))));
        store.0.borrow_mut().stored.waiting = sound;
    }
}
