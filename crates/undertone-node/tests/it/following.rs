//! How far neighbours can move a learner by what they say (ADR 0017).

use crate::network::{finishes, network_with};
use crate::support::{complete_setup, record, settings, setup};
use std::sync::Arc;
use std::time::Duration;
use undertone::{LearnerId, Round};
use undertone_models::Setup;
use undertone_node::protocol::{
    AcceptError, Action, FOLLOW_RATE, KEPT_ROUNDS, Node, NodeState, Settings,
};
use undertone_node::wire::Wire;
use undertone_simulation::{Claim, Dice, FaultEvent, Faults, MemoryStore, RepeatableEntropy};

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);
const LIAR: u32 = 1;
const HONEST: u32 = 2;

/// Without the bound: one message moves a learner as far as its sender likes.
const NO_BOUND: u32 = u32::MAX;

fn endless(follow_rate: u32) -> Settings {
    Settings { follow_rate, ..settings(Round::LIMIT.0) }
}

/// A learner with a clock. Its neighbours are played by the test.
struct Stage {
    setup: Arc<Setup>,
    wire: Wire,
    node: Node<RepeatableEntropy, MemoryStore>,
    now: Duration,
    dice: Dice,
    /// Rounds that it ended.
    ended: u64,
    /// Neighbours that it reported, and the rounds they claimed.
    reported: Vec<(LearnerId, Round)>,
}

impl Stage {
    /// Learner 0 of a setup, which waits for its neighbours in round 0.
    fn new(setup: &Arc<Setup>, follow_rate: u32) -> Stage {
        let entropy = RepeatableEntropy::counting(1);
        let wire = Wire::new(Arc::clone(setup));
        let store = MemoryStore::default();
        let node = Node::open_on(wire.clone(), LearnerId(0), endless(follow_rate), entropy, store)
            .unwrap();
        let mut stage = Stage {
            setup: Arc::clone(setup),
            wire,
            node,
            now: Duration::ZERO,
            dice: Dice::new(7),
            ended: 0,
            reported: Vec::new(),
        };
        let actions = stage.node.start(stage.now).unwrap();
        stage.note(actions);
        stage.feed();
        stage
    }

    fn round(&self) -> u64 {
        self.node.learner().round().0
    }

    /// Rounds that it skipped.
    fn skipped(&self) -> u64 {
        self.round() - self.ended
    }

    /// What the bound allows to be skipped by now.
    fn bound(&self, rate: u32) -> u64 {
        u64::from(rate) * self.now.as_secs() + KEPT_ROUNDS * self.ended
    }

    fn note(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Ended(_) => self.ended += 1,
                Action::NotFollowed { neighbour, claimed } => {
                    self.reported.push((neighbour, claimed));
                }
                Action::Publish(_) | Action::Request { .. } | Action::Exhausted(_) => {}
                Action::CutOff(id) => panic!("nobody is to be cut off: {id}"),
            }
        }
    }

    /// Gives it the records of a round, if it can use any.
    fn feed(&mut self) {
        if self.node.state() == NodeState::Gathering {
            let records = (0..5).map(|_| record(&mut self.dice)).collect();
            self.node.accept_records(records, None).unwrap();
            self.tick();
        }
    }

    fn tick(&mut self) {
        let actions = self.node.tick(self.now).unwrap();
        self.note(actions);
    }

    /// A neighbour's release of a round arrives.
    fn hear(&mut self, from: u32, round: u64) {
        let mut learner = self.setup.learner(LearnerId(from)).unwrap();
        learner.skip_to(Round(round));
        let mut entropy = RepeatableEntropy::counting(u64::from(from));
        let release = learner.release(&mut entropy).unwrap();
        let used = vec![0; self.setup.agreement.graph.neighbours(LearnerId(from)).len()];
        let bytes = self.wire.encode(&release, &used).bytes().to_vec();
        let actions = self.node.receive(LearnerId(from), bytes, self.now).unwrap();
        self.note(actions);
        self.feed();
    }

    /// Time passes.
    fn wait(&mut self, time: Duration) {
        self.now += time;
        self.tick();
        self.feed();
    }
}

#[test]
fn a_neighbour_that_claims_a_round_near_the_limit_does_not_retire_a_learner() {
    let last = Round::LIMIT.0 - 1;
    // A network of two, where there is nobody else to ask, and one with an honest neighbour.
    for learners in [2, 3] {
        let setup = setup(learners, "algorithm1", "");
        let mut stage = Stage::new(&setup, FOLLOW_RATE);
        for _ in 0..30 {
            stage.hear(LIAR, last);
            let round = stage.round();
            stage.hear(if learners == 2 { LIAR } else { HONEST }, round);
            stage.wait(DAY);
        }
        assert_eq!((stage.skipped(), stage.ended), (0, 30), "{learners} learners");
        assert_eq!(stage.reported, [(LearnerId(LIAR), Round(last))], "it is reported once");
        let counters = stage.node.counters();
        assert_eq!(counters.not_followed, 30, "every such message is counted");
        assert!(!matches!(stage.node.state(), NodeState::Exhausted | NodeState::Finished));

        // The control: without the bound the first message retires it.
        let mut stage = Stage::new(&setup, NO_BOUND);
        stage.hear(LIAR, last);
        stage.wait(2 * SECOND);
        assert_eq!(stage.round(), last);
        stage.hear(LIAR, last);
        assert_eq!(stage.node.state(), NodeState::Finished);
        let refused = stage.node.accept_records(vec![record(&mut Dice::new(1))], None);
        assert!(matches!(refused, Err(AcceptError::Over)), "for ever");
    }
}

/// A liar claims whatever it likes, whenever it likes; the other neighbour is honest.
#[test]
fn one_neighbour_moves_a_learner_no_faster_than_stated() {
    let setup = setup(3, "algorithm1", "");
    let mut moved = 0;
    for seed in 0..40 {
        let mut dice = Dice::new(seed);
        let mut stage = Stage::new(&setup, FOLLOW_RATE);
        for _ in 0..150 {
            let ahead = match dice.below(4) {
                0 => dice.below(KEPT_ROUNDS),
                1 => KEPT_ROUNDS,
                2 => dice.below(3000),
                _ => 1 << dice.below(13),
            };
            let claimed = (stage.round() + ahead).min(Round::LIMIT.0 - 1);
            stage.hear(LIAR, claimed);
            if dice.below(2) == 0 {
                stage.hear(HONEST, stage.round());
            }
            stage.wait(SECOND * u32::try_from(dice.below(12)).unwrap());
            let (skipped, bound) = (stage.skipped(), stage.bound(FOLLOW_RATE));
            assert!(skipped <= bound, "seed {seed}: {skipped} rounds skipped, {bound} allowed");
        }
        moved += stage.skipped();
    }
    assert!(moved > 10_000, "{moved}: learners were moved");
}

/// The control of the bound: the fastest liar reaches it, so a smaller one would not hold.
#[test]
fn the_fastest_liar_reaches_the_bound() {
    let setup = setup(2, "algorithm1", "");
    let mut stage = Stage::new(&setup, FOLLOW_RATE);
    for _ in 0..50 {
        let step = u64::from(FOLLOW_RATE) * 600 + KEPT_ROUNDS;
        stage.hear(LIAR, stage.round() + step);
        stage.wait(300 * SECOND);
        assert!(stage.skipped() < stage.bound(FOLLOW_RATE), "half of the time is not enough");
        stage.wait(300 * SECOND);
        // Of each move one round is the learner's own.
        assert_eq!(stage.skipped() + stage.ended, stage.bound(FOLLOW_RATE));
    }
}

/// A learner comes back after 100 000 rounds. Where two say so it is there at once.
#[test]
fn a_learner_comes_back_at_once_where_most_neighbours_are() {
    let mut stage = Stage::new(&setup(3, "algorithm1", ""), FOLLOW_RATE);
    stage.hear(LIAR, 100_003);
    assert_eq!(stage.round(), 0, "on the word of one it waits");
    stage.hear(HONEST, 100_000);
    assert_eq!((stage.round(), stage.ended), (100_000, 1));
    stage.hear(HONEST, 100_000);
    stage.hear(LIAR, 100_000);
    assert_eq!((stage.round(), stage.ended), (100_001, 2), "and takes part");
    assert_eq!(stage.node.counters().not_followed, 1, "the first, before the second confirmed it");
    stage.wait(DAY);
    assert!(stage.reported.is_empty());
}

/// One neighbour is left, in a network that runs as fast as any on a wide area: no other says how far it is.
#[test]
fn a_learner_comes_back_after_a_while_where_one_neighbour_is_left() {
    const PACE: u64 = 5;
    const AWAY: u64 = 100_000;
    let expected = AWAY / (u64::from(FOLLOW_RATE) - PACE);
    for learners in [2, 3] {
        let mut stage = Stage::new(&setup(learners, "algorithm1", ""), FOLLOW_RATE);
        let mut seconds = 0;
        while stage.round() < AWAY {
            assert!(seconds <= expected + 2, "{learners} learners: back in time");
            stage.hear(LIAR, AWAY + PACE * seconds);
            stage.wait(SECOND);
            seconds += 1;
        }
        assert!(seconds >= expected - 2, "{learners} learners: {seconds} s, not before");
        assert_eq!((stage.ended, stage.node.releases()), (1, 2), "nothing is released on the way");
        for _ in 0..20 {
            stage.hear(LIAR, stage.round());
        }
        assert_eq!(stage.ended, 21, "and takes part");
    }
}

/// Of four neighbours three must say so: two liars are not enough.
#[test]
fn most_neighbours_must_say_so() {
    let mut stage = Stage::new(&complete_setup(5), FOLLOW_RATE);
    let far = 1_000_000;
    for liar in [1, 2, 1, 2] {
        stage.hear(liar, far);
        stage.wait(100 * SECOND);
    }
    assert_eq!(stage.skipped(), 0);
    stage.hear(3, far - 20);
    assert_eq!(stage.round(), far - 20, "as far as the third says");
}

/// A liar next to two honest learners of a network drives it no faster than one of them: they do not lead each other on.
#[test]
fn a_network_is_not_driven_faster_than_one_learner() {
    let setup = setup(5, "algorithm1", "");
    let run = |follow_rate, claim: Claim| {
        let settings = Settings { follow_rate, ..settings(2000) };
        let mut sim = network_with(&setup, settings, Faults::NONE, 4);
        sim.never_start(LearnerId(4));
        let every = Duration::from_millis(250);
        sim.happen_after(every, FaultEvent::FalseClaims { from: LearnerId(4), every, claim });
        assert!(finishes(&mut sim, 100 * DAY));
        sim.observer.check_ledgers();
        let round = |id| sim.node(id).map(|node| node.learner().round().0);
        let furthest = sim.ids().filter_map(round).max().unwrap();
        let own = |id: u32| sim.observer.receipts(LearnerId(id)).len() as u64;
        let most = (0..4).map(own).max().unwrap();
        // The liar's neighbours.
        let next = own(0).max(own(3));
        (sim, furthest, most, next)
    };
    let claim: Claim = |_, _| Round(Round::LIMIT.0 - 1);
    let (sim, furthest, own, next) = run(FOLLOW_RATE, claim);
    let bound = u64::from(FOLLOW_RATE) * (sim.now().as_secs() + 1) + (KEPT_ROUNDS + 1) * own;
    assert!(furthest <= bound, "round {furthest}, {bound} allowed, {own} its own");
    assert!(next >= 1999, "it is never followed: {next} rounds");
    assert_eq!(sim.observer.not_followed, 2, "both neighbours report it");
    // The control: without the bound the same claim takes the liar's neighbours to the last round at once.
    let (_, furthest, _, next) = run(NO_BOUND, claim);
    assert!(furthest == Round::LIMIT.0 - 1 && next < 100, "{furthest} after {next} rounds");
}
