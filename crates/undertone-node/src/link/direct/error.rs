//! Why a connection was refused or has ended.

use super::frame::FrameError;
use std::io;
use thiserror::Error;
use undertone::LearnerId;
use undertone::agreement::NetworkId;

/// Why a connection was refused or has ended.
#[derive(Debug, Error)]
pub(super) enum ConnectionError {
    #[error(transparent)]
    Socket(#[from] io::Error),
    #[error(transparent)]
    Tls(#[from] rustls::Error),
    #[error(transparent)]
    Frame(#[from] FrameError),
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
