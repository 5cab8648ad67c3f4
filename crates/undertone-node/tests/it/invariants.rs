//! The invariants of the architecture, checked after every step of a simulated network.

use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use undertone::persist::save;
use undertone::privacy::{Receipt, verify};
use undertone::{LearnerId, Round};
use undertone_models::Setup;
use undertone_node::protocol::{Halt, RoundEnd};
use undertone_simulation::{MemoryStore, Observer, Occasion, Sent, SimulatedNode};

/// What is remembered of one learner.
struct Seen {
    /// The round and budget that it had at least.
    reached: (Round, f64),
    /// How its last round ended, until that is stored.
    unstored: Option<RoundEnd>,
    /// Every release that it ever sent.
    sent: BTreeMap<u64, Vec<u8>>,
    /// All receipts that were on its disk.
    receipts: Vec<Receipt>,
}

impl Seen {
    fn nothing() -> Seen {
        let reached = (Round::ZERO, 0.0);
        Seen { reached, unstored: None, sent: BTreeMap::new(), receipts: Vec::new() }
    }
}

/// Checks that releases are unique and stored first, that rounds and budgets only grow, and that nothing is lost in a crash.
pub(crate) struct Invariants {
    setup: Arc<Setup>,
    learners: Vec<Seen>,
    /// Which learner has used whose release of which round.
    pub(crate) used: BTreeSet<(LearnerId, LearnerId, u64)>,
    /// Late pulls.
    pub(crate) made_up: usize,
    pub(crate) crashes: usize,
    /// How often a learner reported a neighbour that it did not follow.
    pub(crate) not_followed: usize,
    trace: Sha256,
}

impl Invariants {
    pub(crate) fn new(setup: &Arc<Setup>) -> Invariants {
        Invariants {
            setup: Arc::clone(setup),
            learners: setup.mechanisms.iter().map(|_| Seen::nothing()).collect(),
            used: BTreeSet::new(),
            made_up: 0,
            crashes: 0,
            not_followed: 0,
            trace: Sha256::new(),
        }
    }

    fn seen(&mut self, learner: LearnerId) -> &mut Seen {
        &mut self.learners[learner.0 as usize]
    }

    /// All receipts that were on a learner's disk.
    pub(crate) fn receipts(&self, learner: LearnerId) -> &[Receipt] {
        &self.learners[learner.0 as usize].receipts
    }

    /// The ledgers of all learners, computed again from public facts.
    pub(crate) fn check_ledgers(&self) {
        for id in self.setup.agreement.graph.ids() {
            let mechanism = &self.setup.mechanisms[id.0 as usize];
            verify(id, mechanism, None, self.receipts(id)).unwrap();
        }
    }

    /// Edges and rounds that one end has used and the other has not, up to a round.
    pub(crate) fn one_sided(&self, before: u64) -> usize {
        let other = |&(own, from, round): &(LearnerId, LearnerId, u64)| (from, own, round);
        self.used.iter().filter(|edge| edge.2 < before && !self.used.contains(&other(edge))).count()
    }

    /// A hash of everything that was sent, and when.
    pub(crate) fn trace(&self) -> Vec<u8> {
        self.trace.clone().finalize().to_vec()
    }

    /// How a round ended counts from when it is stored, which is before the next release.
    fn note_used(&mut self, learner: LearnerId) {
        let Some(end) = self.seen(learner).unstored.take() else { return };
        for &id in &end.heard {
            self.used.insert((learner, id, end.report.round.0));
        }
        for &(id, round) in &end.late {
            let new = self.used.insert((learner, id, round.0));
            assert!(new, "nothing is made up for that was used");
            self.made_up += 1;
        }
    }
}

impl Observer for Invariants {
    /// Invariants 3 and 4: at most one release of a round is ever sent, and it is on the disk before.
    fn sent(&mut self, sent: &Sent<'_>) {
        let bytes = sent.release.bytes();
        let round = u64::from_le_bytes(bytes[32..40].try_into().unwrap());
        let first = self.seen(sent.by).sent.entry(round).or_insert_with(|| bytes.to_vec());
        assert_eq!(first, bytes, "learner {} sends one release of round {round}", sent.by);
        let disk = sent.disk.0.borrow();
        let holds = |stored: &Vec<u8>| stored.windows(bytes.len()).any(|part| part == bytes);
        let durable =
            disk.stored.entries.iter().any(holds) || disk.stored.snapshot.iter().any(holds);
        assert!(
            durable,
            "learner {} stores the release of round {round} before it is sent",
            sent.by
        );
        self.trace.update(sent.now.as_nanos().to_le_bytes());
        self.trace.update(bytes);
        match sent.occasion {
            Occasion::Published => self.note_used(sent.by),
            Occasion::Requested | Occasion::Connected => {}
        }
    }

    fn ended(&mut self, node: &SimulatedNode, end: RoundEnd, _is_last: bool, _now: Duration) {
        self.seen(node.learner().id()).unstored = Some(end);
    }

    fn not_followed(&mut self, _by: LearnerId) {
        self.not_followed += 1;
    }

    /// Invariants 2 and 5: rounds and budgets only grow, receipts cover them, and θ is finite and in Θ.
    fn called(&mut self, node: &SimulatedNode, disk: &MemoryStore) {
        let learner = node.learner();
        let (id, theta) = (learner.id(), learner.private_parameters().for_owner());
        let radius = self.setup.agreement.domain.radius(theta.len());
        let seen = self.seen(id);
        let stored = &disk.0.borrow().stored;
        let count = usize::try_from(stored.releases).unwrap();
        let new = count.checked_sub(seen.receipts.len()).expect("receipts stay");
        let known = stored.receipts.len().checked_sub(new).expect("few releases in one call");
        seen.receipts.extend(stored.receipts.iter().skip(known));
        // A round that has ended is not stored before the next begins: it may be lost, and end otherwise.
        let last = seen.receipts.last();
        let round = last.map_or(Round::ZERO, |receipt| receipt.round);
        let spent = learner.accountant().spent().zcdp;
        let (round_before, spent_before) = seen.reached;
        assert!(round >= round_before && spent >= spent_before, "learner {id} only grows");
        let paid = last.map_or(0.0, |receipt| receipt.zcdp_total);
        assert!(paid.to_bits() == spent.to_bits(), "learner {id}: what is spent is on record");
        seen.reached = (round, spent);
        let norm = theta.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!(norm <= radius * (1.0 + 1e-12));
    }

    fn halted(&mut self, learner: LearnerId, _halt: &Halt) {
        self.crashes += 1;
        self.seen(learner).unstored = None;
    }

    /// Nothing has happened since the last commit: what is opened again must be the same, bit for bit.
    fn stopping(&mut self, node: &mut SimulatedNode, open_again: impl FnOnce() -> SimulatedNode) {
        self.crashes += 1;
        let id = node.learner().id();
        let seen = self.seen(id);
        let is_between_rounds = seen.unstored.take().is_some();
        let mut again = open_again();
        if !is_between_rounds {
            assert_eq!(again.learner().round(), seen.reached.0, "learner {id}: no round is lost");
            assert!(save(&mut again) == save(node), "learner {id} comes back as it was");
        }
    }
}
