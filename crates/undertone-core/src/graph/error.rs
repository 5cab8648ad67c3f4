//! Why a graph cannot be built.

use crate::LearnerId;
use thiserror::Error;

/// Why a graph cannot be built.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum GraphError {
    /// Too few learners, or more than one process can hold.
    #[error("this topology needs {least} to {most} learners, not {learners}")]
    Learners {
        /// The number of learners requested.
        learners: usize,
        /// The smallest number allowed.
        least: usize,
        /// The largest number allowed.
        most: usize,
    },
    /// The learners do not fill the rows of the torus.
    #[error(
        "a torus with rows of {columns} needs at least 3 columns and 3 full rows; {learners} learners do not fill it"
    )]
    Torus {
        /// The length of a row.
        columns: usize,
        /// How many learners there are.
        learners: usize,
    },
    /// There is no such regular graph.
    #[error(
        "no regular graph has degree {degree} on {learners} learners: needs 2 ≤ degree < learners and an even product"
    )]
    Regular {
        /// The degree requested.
        degree: usize,
        /// How many learners there are.
        learners: usize,
    },
    /// No draw gave a connected graph.
    #[error("none of {attempts} random graphs with this probability or degree was connected")]
    NotConnected {
        /// The number of draws.
        attempts: u32,
    },
    /// The probability is not in (0, 1].
    #[error("edge probability {probability} is not in (0, 1]")]
    Probability {
        /// The probability requested.
        probability: f64,
    },
    /// An edge names a learner that does not exist, or joins a learner to itself.
    #[error("edge {from}-{to} is not between two different learners below {learners}")]
    Edge {
        /// One end.
        from: u32,
        /// The other end.
        to: u32,
        /// How many learners there are.
        learners: usize,
    },
    /// An edge is listed twice.
    #[error("edge {from}-{to} is listed twice")]
    RepeatedEdge {
        /// One end.
        from: u32,
        /// The other end.
        to: u32,
    },
    /// A weight is not a positive finite number.
    #[error("edge {from}-{to} has weight {weight}: must be finite and above 0")]
    Weight {
        /// One end.
        from: u32,
        /// The other end.
        to: u32,
        /// The weight.
        weight: f64,
    },
    /// An edge has no weight.
    #[error("edge {from}-{to} has no weight")]
    NoWeight {
        /// One end.
        from: u32,
        /// The other end.
        to: u32,
    },
    /// A weight is given for an edge that does not exist, or is listed twice.
    #[error("weight for {from}-{to}, which is not an edge or is listed twice")]
    SurplusWeight {
        /// One end.
        from: u32,
        /// The other end.
        to: u32,
    },
    /// Some learners cannot reach others.
    #[error(
        "the graph is not connected: learner {unreached} cannot be reached from learner 0 ({reached} of {learners} can)"
    )]
    Disconnected {
        /// The first learner that cannot be reached.
        unreached: LearnerId,
        /// How many learners can be reached.
        reached: usize,
        /// How many learners there are.
        learners: usize,
    },
}
