//! Why a connection was refused or has ended.

use std::io;
use thiserror::Error;
use undertone::LearnerId;
use undertone::agreement::NetworkId;

/// Why a connection was refused or has ended.
#[derive(Debug, Error)]
pub enum ConnectionError {
    #[error(transparent)]
    Socket(#[from] io::Error),
    #[error(transparent)]
    Tls(#[from] rustls::Error),
    /// A frame of an unknown kind, or of one that is not allowed here. Nothing after it can be decoded.
    #[error("a frame of kind {0} is not allowed here")]
    Kind(u8),
    /// A length that no frame of its kind has. Nothing after it can be decoded.
    #[error("no frame of its kind has {0} bytes")]
    Length(u32),
    #[error("another protocol, or another version of it")]
    Version,
    #[error("the connection was closed")]
    Closed,
    #[error("timed out")]
    TimedOut,
    #[error("the buffer is too small for a TLS record")]
    BufferTooSmall,
    #[error("the name in the certificate is not a neighbour's")]
    NotANeighbour,
    #[error("a certificate has expired")]
    Expired,
    #[error("learner {found} answered instead of learner {expected}")]
    OtherLearner { expected: LearnerId, found: LearnerId },
    #[error("the peer claims to be learner {claimed}, which it is not")]
    FalseName { claimed: LearnerId },
    #[error("the peer belongs to network {0}: another network, or another agreement")]
    OtherNetwork(NetworkId),
    #[error("the address cannot be used")]
    Address,
}
