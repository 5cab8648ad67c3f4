//! What the learner's thread handles, and what it reports.

use crate::feed::Refused;
use crate::link::Incoming;
use crate::owner::{Budget, Status};
use crate::protocol::{AcceptError, RoundEnd};
use crate::store::Position;
use std::io;
use tokio::sync::oneshot;
use undertone::privacy::{Accountant, Refusal};
use undertone::{LearnerId, Round};
use undertone_models::{BoundedRecord, ExportError, Features, Prediction, RecordError};

/// What the learner's thread handles.
pub enum Event {
    /// Something has arrived from a neighbour.
    Network(Incoming),
    /// The owner has records.
    Records {
        /// The records.
        records: Vec<BoundedRecord>,
        /// How far their source was read.
        position: Option<Position>,
        /// Receives whether they were accepted.
        answer: oneshot::Sender<Result<Accepted, AcceptError>>,
    },
    /// The owner has a query.
    Query(Query),
    /// The owner stops the learner. It can be started again.
    Stop,
}

/// Records were accepted and stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// How many.
    pub count: usize,
    /// How many wait for a round now.
    pub waiting: usize,
}

/// The owner's queries, each with the channel for its answer.
pub enum Query {
    /// What the learner is doing.
    Status(oneshot::Sender<Status>),
    /// What was spent.
    Budget(oneshot::Sender<Budget>),
    /// Predictions.
    Predict(Vec<Features>, oneshot::Sender<Result<Vec<Prediction>, RecordError>>),
    /// The model that may be published.
    PublicModel(oneshot::Sender<Result<Vec<u8>, ExportError>>),
}

/// Why a learner has ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// It was stopped.
    Stopped,
    /// All rounds were run.
    Finished,
    /// The budget is spent.
    Exhausted(Refusal),
}

/// What happens while a daemon runs.
pub enum News<'a> {
    /// A round has ended.
    Round {
        /// How. Private: there are losses in it.
        end: &'a RoundEnd,
        /// The account after it.
        accountant: &'a Accountant,
    },
    /// These neighbours were not heard for a while after the start. Reported once.
    Unheard(&'a [LearnerId]),
    /// A neighbour sent two different releases of one round and is ignored from now on.
    CutOff(LearnerId),
    /// A neighbour says that it is far ahead. No other neighbour confirms it, so it is not followed yet. Reported once for
    /// each neighbour.
    NotFollowed {
        /// The neighbour.
        neighbour: LearnerId,
        /// The round that this learner is in.
        round: Round,
        /// The round that the neighbour says it is in.
        claimed: Round,
    },
    /// A record of the daemon's source was not accepted.
    Refused(&'a Refused<'a>),
    /// There are no more records from the daemon's source.
    SourceEnded {
        /// Its name.
        source: &'a str,
        /// Why it cannot be read any more, if so.
        error: Option<io::Error>,
    },
}
