//! What the owner may see of a node.

use super::neighbour::Presence;
use super::node::Node;
use super::round::Phase;
use crate::wire::{Rejection, Wire};
use serde::Serialize;
use std::collections::BTreeMap;
use undertone::privacy::{Receipt, Refusal};
use undertone::{Learner, LearnerId, PublicModel, Round};
use undertone_models::{AnyMemory, Setup};

/// Messages that were dropped, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes that are no release of the sender.
    pub rejected: BTreeMap<Rejection, u64>,
    /// Messages of learners that are no neighbours or are cut off.
    pub unknown_senders: u64,
    /// Releases that had arrived before.
    pub duplicates: u64,
    /// Releases of rounds so far ahead that their sender alone was not followed there.
    pub not_followed: u64,
}

/// What is known of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighbourView {
    /// The neighbour.
    pub id: LearnerId,
    /// Whether it is waited for.
    pub presence: Presence,
    /// The latest round it was heard in.
    pub newest: Option<Round>,
}

/// What a learner is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeState {
    /// Waiting for records.
    Gathering,
    /// Waiting for neighbours.
    Waiting,
    /// All rounds were run.
    Finished,
    /// The budget is spent.
    Exhausted,
}

impl<E, S> Node<E, S> {
    /// The learner.
    #[must_use]
    pub fn learner(&self) -> &Learner<AnyMemory> {
        &self.learner
    }

    /// How many rounds the owner wants to run; `None` runs on for ever.
    pub(crate) fn rounds_to_run(&self) -> Option<u64> {
        self.round.rounds_to_run()
    }

    /// The model that may be published: the average of this learner's releases and those it used.
    #[must_use]
    pub fn public_model(&self) -> &PublicModel {
        &self.public_model
    }

    /// Messages that were dropped.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What is known of each neighbour.
    pub fn neighbours(&self) -> impl Iterator<Item = NeighbourView> + '_ {
        self.neighbours.iter().map(|one| NeighbourView {
            id: one.id,
            presence: one.presence,
            newest: one.newest,
        })
    }

    /// Why nothing more is released, if so.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        self.round.refusal()
    }

    /// How many releases were made.
    #[must_use]
    pub fn releases(&self) -> u64 {
        self.journal.releases()
    }

    /// The newest receipts, oldest first.
    pub fn receipts(&self) -> impl Iterator<Item = &Receipt> {
        self.journal.receipts().iter()
    }

    /// How far each source of records was read.
    #[must_use]
    pub fn positions(&self) -> &BTreeMap<String, u64> {
        self.inbox.positions()
    }

    /// What follows from the agreement.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        self.wire.setup()
    }

    /// What it is doing.
    #[must_use]
    pub fn state(&self) -> NodeState {
        if self.round.refusal().is_some() {
            return NodeState::Exhausted;
        }
        if self.round.is_past_end(self.learner.round()) {
            return NodeState::Finished;
        }
        match self.round.phase() {
            Phase::Gathering => NodeState::Gathering,
            Phase::Waiting => NodeState::Waiting,
        }
    }

    /// How many more records there is room for.
    #[must_use]
    pub fn room(&self) -> usize {
        self.inbox.room()
    }

    /// How many records wait for a round.
    #[must_use]
    pub fn waiting_records(&self) -> usize {
        self.inbox.len()
    }

    /// The wire format of its network.
    #[must_use]
    pub fn wire(&self) -> &Wire {
        &self.wire
    }

    /// Ends the node and returns its store.
    #[must_use]
    pub fn into_store(self) -> S {
        self.journal.into_store()
    }
}
