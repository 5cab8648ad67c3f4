//! From what was kept to the learner it was, bit for bit.

use super::KEPT_ROUNDS;
use super::entry::{Closing, Entry};
use super::neighbour::Standing;
use super::node::{Node, Parts, Settings};
use crate::store::{Storage, StorageError};
use crate::wire::{Message, Rejection, Sealed};
use std::sync::Arc;
use thiserror::Error;
use undertone::noise::Entropy;
use undertone::persist::{Damaged, load};
use undertone::privacy::Refusal;
use undertone::{LatePull, LearnerId, RecordError};
use undertone_models::{MemoryError, Plan};

/// Why a learner cannot be opened. Nothing was changed.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StorageError),
    /// What it holds was not written by this learner with this config.
    #[error("{0}")]
    Damaged(#[from] Damaged),
    /// A release in it is not one of this network.
    #[error("a release in the store is not of this network: {0}")]
    Release(#[from] Rejection),
    /// A record in it is out of the config's bounds.
    #[error("a record in the store is out of bounds: {0}")]
    Record(#[from] RecordError),
    /// A charge that was made then is refused now.
    #[error("the account of the store does not come out again: {0}")]
    Refused(#[from] Refusal),
    /// What was charged comes out differently.
    #[error("the account of the store does not come out again: the last receipt is another one")]
    Receipt,
    /// The memory does not fit the loss.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

impl<E: Entropy, S: Storage> Node<E, S> {
    /// Opens a learner with what its store holds; with nothing, before round 0.
    ///
    /// # Errors
    /// When the store does not hold what this learner with this config has put there.
    ///
    /// # Panics
    /// When the plan has no such learner: a bug in the caller.
    pub fn open(
        plan: Arc<Plan>,
        id: LearnerId,
        settings: Settings,
        entropy: E,
        mut store: S,
    ) -> Result<Node<E, S>, OpenError> {
        let stored = store.load()?;
        let learner = plan.learner(id)?;
        let mut node = Node::new(Parts { plan, settings, learner, entropy, store });
        if let Some(snapshot) = &stored.snapshot {
            load(&mut node, snapshot)?;
            node.snapshot_bytes = snapshot.len();
        }
        for bytes in &stored.entries {
            let mut entry = Entry::empty();
            load(&mut entry, bytes)?;
            node.repeat(&entry)?;
            node.log_bytes += bytes.len();
            node.log_rounds += 1;
        }
        // A snapshot has no receipt, but every round after it computes its own.
        if !stored.entries.is_empty() && node.learner.receipt() != stored.receipt.as_ref() {
            return Err(OpenError::Receipt);
        }
        node.inbox = stored.waiting;
        for neighbour in &mut node.neighbours {
            if stored.cut_off.contains(&neighbour.id) {
                neighbour.standing = Standing::CutOff;
            }
        }
        Ok(node)
    }

    /// Computes a round again: ends the one before, observes, and takes the release that was drawn then.
    fn repeat(&mut self, entry: &Entry) -> Result<(), OpenError> {
        if let Some(closing) = &entry.closing {
            self.close_again(closing)?;
        }
        if entry.round < self.learner.round() {
            return Err(Damaged.into());
        }
        if self.learner.sit_out(entry.round) != entry.round {
            return Err(Damaged.into());
        }
        self.learner.observe(&entry.records)?;
        let own = self.wire.decode(self.learner.id(), entry.message.bytes())?;
        if own.round != entry.round {
            return Err(Damaged.into());
        }
        self.learner.release_again(own.heard())?;
        self.public.include(own.heard());
        self.remember_sent(entry.message.clone());
        Ok(())
    }

    fn close_again(&mut self, closing: &Closing) -> Result<(), OpenError> {
        let round = self.learner.round();
        let heard: Vec<Message> =
            closing.heard.iter().map(|sealed| self.read(sealed)).collect::<Result<_, _>>()?;
        let mut late = Vec::new();
        for (own, theirs) in &closing.late {
            late.push((self.wire.decode(self.learner.id(), own.bytes())?, self.read(theirs)?));
        }
        let fits = heard.iter().all(|message| message.round == round)
            && late.iter().all(|(own, theirs)| {
                own.round == theirs.round
                    && own.round < round
                    && own.round.0 + KEPT_ROUNDS >= round.0
            });
        if !fits {
            return Err(Damaged.into());
        }
        for message in heard.iter().chain(late.iter().map(|(_, theirs)| theirs)) {
            for neighbour in &mut self.neighbours {
                if neighbour.id == message.learner {
                    neighbour.used.mark(message.round);
                }
            }
        }
        let pulls: Vec<LatePull<'_>> = late
            .iter()
            .map(|(own, theirs)| LatePull { own: own.heard(), theirs: theirs.heard() })
            .collect();
        let releases: Vec<_> = heard.iter().map(Message::heard).collect();
        self.learner.absorb_heard(&releases, &pulls);
        releases.iter().for_each(|&release| self.public.include(release));
        Ok(())
    }

    /// Reads a neighbour's release.
    fn read(&self, sealed: &Sealed) -> Result<Message, OpenError> {
        let from = self.wire.learner_of(sealed).ok_or(Rejection::Size)?;
        if !self.neighbours.iter().any(|neighbour| neighbour.id == from) {
            return Err(Rejection::Sender.into());
        }
        Ok(self.wire.decode(from, sealed.bytes())?)
    }
}
