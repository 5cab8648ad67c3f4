//! What a learner's public model says of the records behind it.

use crate::network::{finishes, network};
use crate::support::changed_setup;
use std::sync::Arc;
use std::time::Duration;
use undertone::LearnerId;
use undertone::noise::Entropy;
use undertone::privacy::{ModelAccounts, PaidAccount, PaidBasis, planned_cost};
use undertone_models::{Setup, read_accounts};
use undertone_node::owner;
use undertone_node::protocol::Node;
use undertone_node::store::Storage;
use undertone_simulation::{Faults, MemoryStore};

const LONG: Duration = Duration::from_secs(100_000);
const DELTA: f64 = 1e-6;

/// A ring in which learner 1 adds far less noise than the others.
fn uneven(learners: usize, method: &str) -> Arc<Setup> {
    let scales: Vec<&str> = (0..learners).map(|id| if id == 1 { "0.05" } else { "2.0" }).collect();
    let scales = format!("scale = [{}]", scales.join(", "));
    let more = if method == "shielded" { "" } else { "unproven = true" };
    changed_setup(learners, method, more, &[("scale = 0.5", &scales)])
}

/// As its file has it.
fn written<E: Entropy, S: Storage>(node: &Node<E, S>) -> ModelAccounts {
    let (accounts, delta) = read_accounts(&owner::public_model(node).unwrap()).unwrap();
    assert_eq!(delta.to_bits(), DELTA.to_bits());
    accounts
}

fn of(accounts: &ModelAccounts, learner: u32) -> Option<&PaidAccount> {
    accounts.iter().find(|account| account.learner == LearnerId(learner))
}

/// 0.24 was shown where a neighbour had paid 9.80: the model held the neighbour's releases too.
#[test]
fn a_model_does_not_show_its_exporters_epsilon_where_a_neighbour_paid_more() {
    for method in ["algorithm1", "shielded"] {
        let mut sim = network(&uneven(5, method), 40, Faults::NONE, 1);
        assert!(finishes(&mut sim, LONG));
        let epsilon = |id: u32| {
            let node = sim.node(LearnerId(id)).unwrap();
            node.learner().accountant().epsilon(DELTA)
        };
        let accounts = written(sim.node(LearnerId(0)).unwrap());
        assert_eq!(accounts.iter().count(), 5, "{method}: everyone's releases are in it");
        for account in accounts.iter() {
            let paid = epsilon(account.learner.0);
            let (said, learner) = (account.epsilon(DELTA), account.learner);
            // Of a learner two steps away, the last release cannot be in it.
            let least = if account.basis == PaidBasis::OwnAccount { paid } else { 0.9 * paid };
            assert!(
                said >= least && said <= paid * 1.000_001,
                "{method} {learner}: {said} of {paid}"
            );
        }
        assert!(accounts.epsilon(DELTA) > 0.9 * epsilon(1));
        assert_eq!(accounts.worst(DELTA).unwrap().learner, LearnerId(1));
        assert!(
            epsilon(0) < 0.2 * epsilon(1),
            "{method}: the control: the exporter's own is far less"
        );
    }
}

#[test]
fn what_a_neighbour_has_paid_is_marked_as_planned_and_ones_own_as_counted() {
    let setup = uneven(3, "algorithm1");
    let mut sim = network(&setup, 30, Faults::NONE, 2);
    assert!(finishes(&mut sim, LONG));
    let node = sim.node(LearnerId(0)).unwrap();
    let accounts = written(node);
    let own = of(&accounts, 0).unwrap();
    assert_eq!(own.basis, PaidBasis::OwnAccount);
    assert_eq!(own.one_use, node.learner().accountant().spent());
    for id in [1, 2] {
        let other = of(&accounts, id).unwrap();
        assert_eq!(other.basis, PaidBasis::AsPlanned);
        assert_eq!(other.one_use, planned_cost(&setup.mechanisms[id as usize], other.through.0));
        assert_eq!(other.through.0, 29, "the newest release that was used");
    }
}

/// Of a neighbour that was not heard nothing is in the model, and no more is said of one than was heard.
#[test]
fn a_neighbour_that_was_not_heard_is_not_in_the_model() {
    let setup = uneven(2, "shielded");
    let alone = Node::open(
        Arc::clone(&setup),
        LearnerId(0),
        crate::support::settings(10),
        crate::support::Fixed,
        MemoryStore::default(),
    );
    let accounts = written(&alone.unwrap());
    assert_eq!(accounts.iter().count(), 1);
    assert!(accounts.epsilon(DELTA) <= 0.0, "no release depends on a record yet");
    // The control: it is there once it was heard.
    let mut sim = network(&setup, 10, Faults::NONE, 3);
    assert!(finishes(&mut sim, LONG));
    assert_eq!(written(sim.node(LearnerId(0)).unwrap()).iter().count(), 2);
}

/// A learner two steps away is in the model through its neighbour's releases, which were computed from its own.
#[test]
fn a_learner_beyond_the_neighbours_is_counted_too() {
    let mut sim = network(&uneven(5, "shielded"), 20, Faults::NONE, 4);
    assert!(finishes(&mut sim, LONG));
    let accounts = written(sim.node(LearnerId(3)).unwrap());
    let worst = accounts.worst(DELTA).unwrap();
    // In a ring of five, learners 3 and 1 are two steps apart.
    assert_eq!(worst.learner, LearnerId(1));
    assert_eq!(worst.through.0 + 1, of(&accounts, 2).unwrap().through.0);
}

#[test]
fn a_restarted_learner_says_the_same_of_its_model() {
    let setup = uneven(3, "shielded");
    let mut sim = network(&setup, 25, Faults::NONE, 5);
    assert!(finishes(&mut sim, LONG));
    for id in 0..3 {
        let store = sim.disk(LearnerId(id)).clone();
        let settings = crate::support::settings(25);
        let again =
            Node::open(Arc::clone(&setup), LearnerId(id), settings, crate::support::Fixed, store);
        let (again, before) = (written(&again.unwrap()), written(sim.node(LearnerId(id)).unwrap()));
        for account in before.iter() {
            let (now, then) = (of(&again, account.learner.0).unwrap(), account);
            // How the last round ended is not stored.
            assert!(
                now.through.0 + 1 >= then.through.0 && now.basis == then.basis,
                "{now:?} {then:?}"
            );
        }
    }
}
