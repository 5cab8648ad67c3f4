//! What an owner is told of ε: no certificate that is void, and no bound below what was spent.

use crate::support::{Fixed, MEMORY, changed_setup, record, settings};
use std::time::Duration;
use undertone::LearnerId;
use undertone_node::owner;
use undertone_node::protocol::{Node, Settings};
use undertone_simulation::{Dice, MemoryStore};

type Alone = Node<Fixed, MemoryStore>;

/// A learner whose neighbours never answer, and which goes on without them.
fn without_neighbours(method: &str) -> (Alone, Dice, Duration) {
    let settings = Settings { heard_min: 0, ..settings(1_000_000) };
    // An approximate memory leaves a shielded learner without a certificate.
    let setup = changed_setup(3, method, "", &[(MEMORY, "kind = \"exact\"")]);
    let mut node =
        Node::open(setup, LearnerId(0), settings, Fixed, MemoryStore::default()).unwrap();
    let mut dice = Dice::new(7);
    node.accept_records((0..7).map(|_| record(&mut dice)).collect(), None).unwrap();
    node.start(Duration::ZERO).unwrap();
    (node, dice, Duration::ZERO)
}

fn rounds((node, dice, now): &mut (Alone, Dice, Duration), count: u64) {
    for _ in 0..count {
        node.accept_records((0..2).map(|_| record(dice)).collect(), None).unwrap();
        *now += settings(1).deadline + Duration::from_secs(1);
        node.tick(*now).unwrap();
    }
}

#[test]
fn an_owner_is_shown_no_bound_below_what_was_spent_once_a_neighbour_was_missing() {
    let mut learner = without_neighbours("algorithm1");
    let planned = owner::budget(&learner.0);
    let void = planned.lifetime_epsilon.unwrap();
    assert!(!planned.lifetime_from_here && planned.for_ever.ends_with(" for ever"));
    let mut passed = false;
    for _ in 0..20 {
        rounds(&mut learner, 50);
        let shown = owner::budget(&learner.0);
        let bound = shown.lifetime_epsilon.unwrap();
        assert!(bound >= shown.epsilon, "{bound} {}", shown.epsilon);
        assert!(shown.lifetime_from_here && shown.for_ever.ends_with(" for ever from here"));
        let said = shown.statement.join(" ");
        assert!(said.starts_with("For ever from here: ε = ") && said.contains("void"), "{said}");
        passed |= shown.epsilon > void;
    }
    assert!(passed, "the control: more was spent than the certificate of the plan allows");
}

#[test]
fn a_shielded_owner_keeps_the_certificate_of_the_plan_when_neighbours_are_missing() {
    // The control: who was heard changes no cost of this method.
    let mut learner = without_neighbours("shielded");
    let planned = owner::budget(&learner.0).lifetime_epsilon;
    rounds(&mut learner, 50);
    let shown = owner::budget(&learner.0);
    assert!(learner.0.learner().round().0 >= 40);
    assert!(!shown.lifetime_from_here);
    assert_eq!(shown.lifetime_epsilon, planned);
    assert!(shown.epsilon <= planned.unwrap());
}
