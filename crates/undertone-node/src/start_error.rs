//! Why a daemon cannot start.

use crate::http::Token;
use crate::protocol::OpenError;
use crate::store::StorageError;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use thiserror::Error;
use undertone::{LearnerId, Round};

/// Why a daemon cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The network has no such learner.
    #[error("learner {learner}: the network has learners 0 to {last}")]
    Learner {
        /// Which one.
        learner: LearnerId,
        /// The last learner of the network.
        last: usize,
    },
    /// The deadline is out of range.
    #[error(
        "the deadline (--deadline) must be a number of seconds above 0, and at most {seconds_max}"
    )]
    Deadline {
        /// The longest.
        seconds_max: u64,
    },
    /// The number of neighbours to be heard is 0, or more than there are.
    #[error(
        "a round cannot wait for {heard_min} neighbours (--heard-least): learner {learner} has {neighbours} \
         neighbours, so the number must be 1 to {neighbours}"
    )]
    HeardMin {
        /// The learner.
        learner: LearnerId,
        /// How many were asked for.
        heard_min: usize,
        /// How many it has.
        neighbours: usize,
    },
    /// The number of rounds is out of range.
    #[error("the number of rounds (--rounds) must be 1 to {}", Round::LIMIT)]
    Rounds,
    /// The rate of a replay is out of range.
    #[error("the rate (--rate) must be a number of records a second, 0.001 to 1000000000")]
    Rate,
    /// Only a replay has a rate.
    #[error("a rate is only for records that are replayed")]
    RateOfLines,
    /// There is no way for records to arrive: neither HTTP nor a source.
    #[error("no records could arrive: give an address for HTTP (--http), or a source of records")]
    NoRecords,
    /// The learner has read other files, but not this one.
    #[error(
        "this learner has read other files, but not this one. If it is a copy or another name of one of them, its records \
         would be used twice. If none of its records was used before, give --new-source"
    )]
    UnknownSource,
    /// A file cannot be used.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The store cannot be used.
    #[error("{}: {error}", path.display())]
    Store {
        /// The file.
        path: PathBuf,
        /// Why.
        error: StorageError,
    },
    /// The learner cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// An address or a file of the link cannot be used.
    #[error("{what}: {reason}")]
    Setting {
        /// The address, file or setting.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A port or a router cannot be used.
    #[error("the network cannot be used: {0}")]
    Network(String),
    /// Not a token for the owner's interface.
    #[error("a token is one line of at least {} visible ASCII characters", Token::LENGTH_MIN)]
    Token,
    /// The owner's interface needs a token: without one, others could read private values.
    #[error(
        "{address}: other machines could read private losses and post records there; \
         give a token (--token-file), or listen on 127.0.0.1"
    )]
    TokenMissing {
        /// The address.
        address: SocketAddr,
    },
    /// The address of the owner's interface cannot be used.
    #[error("{address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
    /// The server of the owner's interface cannot start.
    #[error("the HTTP server cannot start: {0}")]
    Server(io::Error),
}

impl StartError {
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> StartError {
        let path = path.to_path_buf();
        move |error| StartError::File { path, error }
    }
}
