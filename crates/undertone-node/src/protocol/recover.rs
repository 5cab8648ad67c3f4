//! From what was kept to the learner it was, bit for bit.

use super::KEPT_ROUNDS;
use super::entry::{Closing, Entry};
use super::neighbour::Standing;
use super::node::{Node, Parts, Settings};
use crate::store::{Storage, StorageError, Stored};
use crate::wire::{Message, NetworkId, Rejection, Sealed, Wire};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use thiserror::Error;
use undertone::noise::Entropy;
use undertone::persist::{Damaged, load};
use undertone::privacy::{Refusal, Rule};
use undertone::{Learner, LearnerId, RecordError};
use undertone_models::{AnyMemory, AnyModel, MemoryError, Setup};

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
    /// Only Algorithm 1 and `shielded` run on a network.
    #[error(
        "this method is for comparisons in `simulate`; on a network use algorithm1 or shielded"
    )]
    Method,
    /// Records would be used again and again, and be charged for once.
    #[error("data.repeat: is for `simulate`; on a network a record is used once")]
    Repeat,
    /// There is nobody to talk to.
    #[error(
        "network.topology = \"alone\": there is nobody to talk to; use `simulate`, or Learner from Python"
    )]
    Alone,
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

    /// The same with a wire format that is there already.
    ///
    /// The id of a network is a hash over all its learners. Whoever opens many learners of one network makes
    /// the wire format once and clones it, or the cost of opening grows with the square of their number.
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
        let learner = first_state(&wire, id)?;
        let mut node = Node::new(Parts { wire, settings, learner, entropy, store });
        // What is in a store has its hash, so that damage was found by now. Of values that somebody made up and
        // hashed rightly, some are found only where an assertion stops them.
        let read = catch_unwind(AssertUnwindSafe(|| node.compute_again(&stored)));
        read.unwrap_or_else(|_| Err(Damaged.into()))?;
        node.inbox = stored.waiting;
        node.releases = stored.releases;
        (node.receipts, node.positions) = (stored.receipts, stored.positions);
        node.resume();
        for neighbour in &mut node.neighbours {
            if stored.cut_off.contains(&neighbour.id) {
                neighbour.standing = Standing::CutOff;
            }
        }
        Ok(node)
    }

    /// The newest snapshot, and the rounds after it.
    fn compute_again(&mut self, stored: &Stored) -> Result<(), OpenError> {
        if let Some(snapshot) = &stored.snapshot {
            load(self, snapshot)?;
            if self.foreign {
                return Err(Damaged.into());
            }
            self.snapshot_bytes = snapshot.len();
        }
        for bytes in &stored.entries {
            let mut entry = Entry::empty();
            load(&mut entry, bytes)?;
            self.repeat(&entry)?;
            self.log_bytes += bytes.len();
        }
        // A snapshot has no receipt, but every round after it computes its own.
        if !stored.entries.is_empty() && self.learner.receipt() != stored.receipts.back() {
            return Err(OpenError::Receipt);
        }
        Ok(())
    }

    /// Computes a round again: ends the one before, observes, and takes the release that was drawn then.
    fn repeat(&mut self, entry: &Entry) -> Result<(), OpenError> {
        // Every round but a learner's first ends the one before.
        match &entry.closing {
            Some(closing) if !self.sent.is_empty() => self.close_again(closing)?,
            None if self.sent.is_empty() => {}
            _ => return Err(Damaged.into()),
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
        let by = |message: &Message| message.learner;
        let fits = distinct(heard.iter().map(by))
            && distinct(late.iter().map(|(_, theirs)| theirs.learner))
            && heard.iter().all(|message| message.round == round)
            && late.iter().all(|(own, theirs)| {
                own.round == theirs.round
                    && own.round < round
                    && own.round.0 + KEPT_ROUNDS >= round.0
            });
        if !fits {
            return Err(Damaged.into());
        }
        let sealed = closing.heard.iter().chain(closing.late.iter().map(|(_, theirs)| theirs));
        let messages = heard.iter().chain(late.iter().map(|(_, theirs)| theirs));
        for (message, sealed) in messages.zip(sealed) {
            for neighbour in &mut self.neighbours {
                if neighbour.id == message.learner {
                    neighbour.used_before(message.round, sealed);
                }
            }
        }
        self.absorb(&heard, &late);
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

/// Whether a config is for networks: its method exchanges releases, and uses each record once.
///
/// # Errors
/// When it is not.
pub fn check_method(setup: &Setup) -> Result<(), OpenError> {
    let rule = setup.config.rule;
    if rule.is_baseline() || rule == Rule::Local {
        return Err(OpenError::Method);
    }
    if setup.config.data.repeat {
        return Err(OpenError::Repeat);
    }
    if setup.config.graph.learners() < 2 {
        return Err(OpenError::Alone);
    }
    Ok(())
}

/// A learner before round 0, at the public start of its network.
///
/// Everyone finds it for itself, from the network's id: a neural network learns nothing from zeros, and its
/// learners must start at one point.
fn first_state(wire: &Wire, id: LearnerId) -> Result<Learner<AnyMemory>, MemoryError> {
    let (setup, network) = (wire.setup(), wire.network());
    let learner = setup.learner(id)?;
    Ok(match &setup.model {
        AnyModel::Neural(model) => {
            let mut chance = PublicChance::new(network, None);
            let start = model.neural().initial_parameters(|| Ok::<_, Infallible>(chance.unit()));
            start.map_or_else(|never| match never {}, |start| learner.starting_at(&start))
        }
        AnyModel::Linear(_) if setup.config.start_spread > 0.0 => {
            let mut chance = PublicChance::new(network, Some(id));
            let spread = setup.config.start_spread;
            let start: Vec<f64> = (0..setup.model.parameters())
                .map(|_| spread * (2.0 * chance.unit() - 1.0))
                .collect();
            learner.starting_at(&start)
        }
        AnyModel::Linear(_) => learner,
    })
}

/// Numbers that everybody can compute. NOT for noise.
struct PublicChance {
    network: NetworkId,
    learner: u32,
    drawn: u64,
}

impl PublicChance {
    fn new(network: NetworkId, learner: Option<LearnerId>) -> PublicChance {
        PublicChance { network, learner: learner.map_or(u32::MAX, |id| id.0), drawn: 0 }
    }

    /// The next number, in [0, 1).
    fn unit(&mut self) -> f64 {
        self.drawn += 1;
        let mut hash = Sha256::new();
        hash.update(b"undertone public start");
        hash.update(self.network.bytes());
        hash.update(self.learner.to_le_bytes());
        hash.update(self.drawn.to_le_bytes());
        let digest: [u8; 32] = hash.finalize().into();
        let (first, _) = digest.split_first_chunk::<8>().unwrap_or((&[0; 8], &[]));
        #[expect(clippy::cast_precision_loss, reason = "53 bits")]
        let unit = (u64::from_le_bytes(*first) >> 11) as f64 / (1_u64 << 53) as f64;
        unit
    }
}

fn distinct(ids: impl Iterator<Item = LearnerId>) -> bool {
    let mut seen = BTreeSet::new();
    let mut ids = ids;
    ids.all(|id| seen.insert(id))
}
