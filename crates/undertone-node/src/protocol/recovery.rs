//! Opens a node: restores the learner from the contents of its store, bit for bit.

use super::KEPT_ROUNDS;
use super::catch_up::LateReleases;
use super::entry::{Closing, Entry};
use super::error::OpenError;
use super::neighbour::Presence;
use super::node::{Node, Parts};
use super::public_start::learner_at_start;
use super::round::Phase;
use super::settings::Settings;
use crate::store::{Storage, Stored};
use crate::wire::{EncodedRelease, ReceivedRelease, Rejection, Wire};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;
use undertone::LearnerId;
use undertone::noise::Entropy;
use undertone::persist::{Damaged, load};
use undertone_models::Setup;

impl<E: Entropy, S: Storage> Node<E, S> {
    /// Opens a learner with the contents of its store. With an empty store it is before round 0.
    ///
    /// # Errors
    /// When the store holds anything that this learner did not write under this agreement.
    ///
    /// # Panics
    /// When the setup has no such learner: a bug in the caller.
    pub fn open(
        setup: Arc<Setup>,
        id: LearnerId,
        settings: Settings,
        entropy: E,
        store: S,
    ) -> Result<Node<E, S>, OpenError> {
        Node::open_on(Wire::new(setup), id, settings, entropy, store)
    }

    /// The same with an existing wire format.
    ///
    /// The id of a network is a hash over all its learners. To open many learners of one network, make the wire
    /// format once and clone it: otherwise the cost grows with the square of their number.
    ///
    /// # Errors
    /// As [`Node::open`].
    ///
    /// # Panics
    /// As [`Node::open`].
    pub fn open_on(
        wire: Wire,
        id: LearnerId,
        settings: Settings,
        entropy: E,
        mut store: S,
    ) -> Result<Node<E, S>, OpenError> {
        check_method(wire.setup())?;
        let stored = store.load()?;
        let learner = learner_at_start(&wire, id)?;
        let mut node = Node::new(Parts { wire, settings, learner, entropy, store });
        // Every value in a store carries its hash, so accidental damage was found by now. A forged value
        // with a correct hash may still fail an assertion.
        let replayed = catch_unwind(AssertUnwindSafe(|| node.replay(&stored)));
        replayed.unwrap_or_else(|_| Err(Damaged.into()))?;
        let waiting = stored.waiting.into_iter().map(|record| node.checker.check_again(record));
        let waiting = waiting.collect::<Result<_, _>>()?;
        node.inbox.restore(waiting, stored.positions);
        node.journal.restore(stored.releases, stored.receipts);
        if node.journal.has_released() {
            // It had released in its round and waits for neighbours.
            node.round.enter(Phase::Waiting, Duration::ZERO);
        }
        for id in stored.cut_off {
            if let Some(neighbour) = node.neighbours.get_mut(id) {
                neighbour.presence = Presence::CutOff;
            }
        }
        Ok(node)
    }

    /// Loads the newest snapshot and computes the rounds after it again.
    fn replay(&mut self, stored: &Stored) -> Result<(), OpenError> {
        if let Some(bytes) = &stored.snapshot {
            let own = self.wire.network().bytes();
            let mut snapshot = self.snapshot();
            load(&mut snapshot, bytes)?;
            if snapshot.network != own {
                return Err(Damaged.into());
            }
            self.journal.set_snapshot_bytes(bytes.len());
        }
        for bytes in &stored.entries {
            let mut entry = Entry::empty();
            load(&mut entry, bytes)?;
            self.replay_round(&entry.check(&self.checker)?)?;
            self.journal.add_entry_bytes(bytes.len());
        }
        // A snapshot has no receipt, but every round after it computes its own.
        if !stored.entries.is_empty() && self.learner.receipt() != stored.receipts.back() {
            return Err(OpenError::Receipt);
        }
        Ok(())
    }

    /// Recomputes a round: ends the one before, observes, and takes the release that was drawn
    /// before the restart.
    fn replay_round(&mut self, entry: &Entry) -> Result<(), OpenError> {
        // Every round but a learner's first ends the one before.
        match (&entry.closing, self.journal.has_released()) {
            (Some(closing), true) => self.replay_closing(closing)?,
            (None, false) => {}
            (Some(_), false) | (None, true) => return Err(Damaged.into()),
        }
        if entry.round < self.learner.round() {
            return Err(Damaged.into());
        }
        if self.skip_to(entry.round) != entry.round {
            return Err(Damaged.into());
        }
        self.learner.observe(&entry.records);
        let own = self.wire.decode_own(self.learner.id(), &entry.release)?;
        if own.round != entry.round {
            return Err(Damaged.into());
        }
        self.learner.release_again(own.heard())?;
        self.public_model.include(own.heard());
        self.journal.add_release(entry.release.clone());
        Ok(())
    }

    /// Ends a round again with the releases that ended it before the restart.
    fn replay_closing(&mut self, closing: &Closing) -> Result<(), OpenError> {
        let round = self.learner.round();
        let heard: Vec<ReceivedRelease> =
            closing.heard.iter().map(|heard| self.read(heard)).collect::<Result<_, _>>()?;
        let mut late = Vec::new();
        for (own, theirs) in &closing.late {
            let content = self.wire.decode_own(self.learner.id(), own)?;
            late.push(LateReleases { own: own.clone(), content, theirs: self.read(theirs)? });
        }
        let fits = distinct(heard.iter().map(ReceivedRelease::learner))
            && distinct(late.iter().map(|late| late.theirs.learner()))
            && heard.iter().all(|release| release.round() == round)
            && late.iter().all(|late| {
                let then = late.content.round;
                then == late.theirs.round() && then < round && then.0 + KEPT_ROUNDS >= round.0
            });
        if !fits {
            return Err(Damaged.into());
        }
        for release in heard.iter().chain(late.iter().map(|late| &late.theirs)) {
            if let Some(neighbour) = self.neighbours.get_mut(release.learner()) {
                neighbour.restore_used(release);
            }
        }
        self.absorb(&heard, &late);
        Ok(())
    }

    /// Decodes and checks a neighbour's release.
    fn read(&self, encoded: &EncodedRelease) -> Result<ReceivedRelease, OpenError> {
        let from = encoded.learner().ok_or(Rejection::Size)?;
        if self.neighbours.get(from).is_none() {
            return Err(Rejection::Sender.into());
        }
        Ok(self.wire.check(from, encoded.clone())?)
    }
}

/// Checks that an agreement is for daemons: its method runs on a network, and there is one.
///
/// # Errors
/// When it is not.
pub(crate) fn check_method(setup: &Setup) -> Result<(), OpenError> {
    if !setup.agreement.method.describe().runs_on_a_network {
        return Err(OpenError::Method);
    }
    if setup.agreement.graph.learners() < 2 {
        return Err(OpenError::Alone);
    }
    Ok(())
}

fn distinct(mut ids: impl Iterator<Item = LearnerId>) -> bool {
    let mut seen = BTreeSet::new();
    ids.all(|id| seen.insert(id))
}
