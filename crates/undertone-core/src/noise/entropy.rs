//! The source of randomness: one fresh stream key per learner and round.

use std::fmt;

use zeroize::Zeroizing;

use super::NoiseError;
use crate::units::{LearnerId, Round};

/// A source of stream keys, the only way randomness enters the core.
///
/// A trait, so that a simulation can supply a seeded source marked NOT PRIVATE. This crate contains
/// [`OsEntropy`] only and cannot be seeded by mistake.
pub trait Entropy {
    /// Returns the key for the noise of `learner` in `round`.
    ///
    /// Implementations must never return a key twice: the difference of two releases under one key reveals the
    /// difference of the private values.
    ///
    /// # Errors
    /// [`NoiseError::NoEntropy`] when no randomness is available. The caller must halt: never retry, never fall
    /// back to a weaker source.
    fn key(&mut self, learner: LearnerId, round: Round) -> Result<StreamKey, NoiseError>;
}

/// The operating system's generator: what every private run uses.
///
/// # Guarantee
/// Each call requests 256 new bits from the operating system, for every learner and round, and
/// returns an error when it gets none.
#[derive(Clone, Copy, Debug)]
pub struct OsEntropy;

impl Entropy for OsEntropy {
    fn key(&mut self, _learner: LearnerId, _round: Round) -> Result<StreamKey, NoiseError> {
        let mut bytes = Zeroizing::new([0_u8; 32]);
        getrandom::fill(bytes.as_mut_slice())?;
        Ok(StreamKey { cipher: Cipher::fastest(), bytes })
    }
}

/// The cipher that stretches a key into a keystream.
///
/// Both give the same guarantee; they differ in speed and in whether software implementations are constant-time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    /// AES-256 in counter mode: fastest where the processor has AES instructions.
    Aes256Ctr,
    /// ChaCha20: constant-time in plain software, for processors without AES instructions.
    ChaCha20,
}

impl Cipher {
    /// Picks AES if the processor has AES instructions and ChaCha20 otherwise, because AES in
    /// software is slow.
    fn fastest() -> Cipher {
        if has_hardware_aes() { Cipher::Aes256Ctr } else { Cipher::ChaCha20 }
    }
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
fn has_hardware_aes() -> bool {
    std::arch::is_x86_feature_detected!("aes")
}

#[cfg(target_arch = "aarch64")]
fn has_hardware_aes() -> bool {
    std::arch::is_aarch64_feature_detected!("aes")
}

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
fn has_hardware_aes() -> bool {
    false
}

/// A 256-bit key and its cipher, valid for one release.
///
/// It cannot be cloned and [`perturb`](super::perturb) consumes it, so one key perturbs one vector.
/// The bytes are erased on drop and never printed.
pub struct StreamKey {
    cipher: Cipher,
    bytes: Zeroizing<[u8; 32]>,
}

impl StreamKey {
    /// A key from bytes that an [`Entropy`] generated.
    #[must_use]
    pub fn new(cipher: Cipher, bytes: [u8; 32]) -> StreamKey {
        StreamKey { cipher, bytes: Zeroizing::new(bytes) }
    }

    /// The cipher this key is for.
    pub(super) fn cipher(&self) -> Cipher {
        self.cipher
    }

    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }
}

impl fmt::Debug for StreamKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "StreamKey({:?}, <redacted>)", self.cipher)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operating_system_keys_differ_for_the_same_learner_and_round() {
        let first = OsEntropy.key(LearnerId(3), Round(9)).unwrap();
        let second = OsEntropy.key(LearnerId(3), Round(9)).unwrap();
        assert_ne!(first.bytes(), second.bytes());
        assert_ne!(first.bytes(), &[0; 32]);
    }

    #[test]
    fn debug_output_of_a_key_does_not_show_its_bytes() {
        let shown = format!("{:?}", StreamKey::new(Cipher::ChaCha20, [173; 32]));
        assert_eq!(shown, "StreamKey(ChaCha20, <redacted>)");
    }
}
