//! The owner's choices for one daemon.

use super::source::RecordSource;
use crate::StartError;
use crate::http::Token;
use crate::link::Peers;
use crate::protocol::{self, FOLLOW_RATE};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use undertone::agreement::Agreement;
use undertone::{LearnerId, Round};

/// How long a learner stays connected after its last round, for neighbours that have not finished.
pub const LINGER: Duration = Duration::from_secs(3);
/// How long a round waits for neighbours by default.
pub const DEADLINE: Duration = Duration::from_secs(10);
/// The longest deadline, in seconds.
const DEADLINE_SECONDS_MAX: u64 = 1_000_000;
/// How many records may wait besides those that the first round takes.
const WAITING_MAX: usize = 4096;

/// The owner's choices for one daemon. None of them is part of the agreement.
pub struct DaemonSettings {
    /// Which learner of the network it is.
    pub learner: LearnerId,
    /// How neighbours are reached.
    pub peers: Peers,
    /// The folder with the learner's certificate, as [`certificates`](crate::certificates) makes it. Without one, learners
    /// connect within one machine only.
    pub certificates: Option<PathBuf>,
    /// Where the owner is served.
    pub http: Option<HttpSettings>,
    /// Where records come from, besides HTTP.
    pub source: Option<RecordSource>,
    /// Whether a file may be read that the learner has not read before, although it has read others. The owner confirms
    /// that none of its records was used before.
    pub new_source: bool,
    /// How many rounds to run; `None` means without end.
    pub rounds: Option<u64>,
    /// How long a round waits for neighbours.
    pub deadline: Duration,
    /// After what time a release that has not arrived is requested; `None`: a tenth of the deadline.
    pub request_after: Option<Duration>,
    /// How long a round waits for its records before it begins with those it has; `None`: half of the deadline.
    pub records_wait: Option<Duration>,
    /// A round does not end before this many neighbours were heard.
    pub heard_min: usize,
    /// How many rounds a second one neighbour alone may move this learner.
    pub follow_rate: u32,
    /// How many records may wait besides those that the first round takes.
    pub waiting_max: usize,
    /// How long it stays after its last round, for requests of neighbours and of the owner.
    pub linger: Duration,
}

/// Where the owner is served.
pub struct HttpSettings {
    /// The address; with port 0 any free port.
    pub address: SocketAddr,
    /// What a request must show. Needed where other machines can connect.
    pub token: Option<Token>,
}

impl DaemonSettings {
    /// The default settings: no HTTP, no source, no last round.
    #[must_use]
    pub fn new(learner: LearnerId, peers: Peers) -> DaemonSettings {
        DaemonSettings {
            learner,
            peers,
            certificates: None,
            http: None,
            source: None,
            new_source: false,
            rounds: None,
            deadline: DEADLINE,
            request_after: None,
            records_wait: None,
            heard_min: 1,
            follow_rate: FOLLOW_RATE,
            waiting_max: WAITING_MAX,
            linger: LINGER,
        }
    }

    /// Checks the settings, and gives those of the protocol.
    pub(super) fn protocol(&self, agreement: &Agreement) -> Result<protocol::Settings, StartError> {
        let seconds_max = DEADLINE_SECONDS_MAX;
        let deadline = self.deadline;
        if deadline.is_zero() || deadline > Duration::from_secs(seconds_max) {
            return Err(StartError::Deadline { seconds_max });
        }
        let (learner, heard_min) = (self.learner, self.heard_min);
        let neighbours = agreement.graph.neighbours(learner).len();
        if !(1..=neighbours).contains(&heard_min) {
            return Err(StartError::HeardMin { learner, heard_min, neighbours });
        }
        let end = self.rounds.map_or(Round::LIMIT, Round);
        if !(end > Round::ZERO && end <= Round::LIMIT) {
            return Err(StartError::Rounds);
        }
        let first = agreement.records.warmup + agreement.records.batch;
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        Ok(protocol::Settings {
            deadline,
            request_after: self.request_after.unwrap_or(deadline / 10),
            records_wait: self.records_wait.unwrap_or(deadline / 2),
            heard_min,
            follow_rate: self.follow_rate,
            end,
            inbox_max: first.saturating_add(self.waiting_max),
        })
    }
}
