//! Hashes of public facts, from an encoding that does not depend on how a type is printed.
//!
//! Every number takes eight bytes, little-endian; a text takes its length and its bytes. Types are
//! destructured exhaustively and encoded field by field, so that a new field does not compile until
//! it is encoded.

mod facts;
#[cfg(test)]
mod golden_tests;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// A SHA-256 hash, written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(pub(crate) [u8; 32]);

impl Digest {
    /// The 32 bytes.
    pub(crate) fn bytes(&self) -> [u8; 32] {
        self.0
    }
}

/// Collects public facts and hashes them.
#[derive(Clone)]
pub(crate) struct Encoder(Sha256);

/// Something that has one encoding.
pub(crate) trait Encode {
    fn encode(&self, encoder: &mut Encoder);
}

impl Encoder {
    /// Starts the encoding of one kind of thing. Equal facts of two kinds have different hashes.
    pub(crate) fn new(kind: &str) -> Encoder {
        let mut encoder = Encoder(Sha256::new());
        encoder.text(kind);
        encoder
    }

    pub(crate) fn count(&mut self, value: u64) {
        self.0.update(value.to_le_bytes());
    }

    pub(crate) fn number(&mut self, value: f64) {
        self.0.update(value.to_bits().to_le_bytes());
    }

    pub(crate) fn numbers(&mut self, values: &[f64]) {
        self.count(values.len() as u64);
        values.iter().for_each(|&value| self.number(value));
    }

    pub(crate) fn flag(&mut self, value: bool) {
        self.count(u64::from(value));
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.count(text.len() as u64);
        self.0.update(text.as_bytes());
    }

    pub(crate) fn texts(&mut self, texts: &[String]) {
        self.count(texts.len() as u64);
        texts.iter().for_each(|text| self.text(text));
    }

    pub(crate) fn optional<T>(&mut self, value: Option<T>, encode: impl FnOnce(&mut Encoder, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            encode(self, value);
        }
    }

    pub(crate) fn add(&mut self, value: &impl Encode) {
        value.encode(self);
    }

    pub(crate) fn digest(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bad = || serde::de::Error::custom("a hash has 64 hexadecimal digits");
        if text.len() != 64 || !text.is_ascii() {
            return Err(bad());
        }
        let mut bytes = [0; 32];
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).map_err(|_| bad())?;
        }
        Ok(Digest(bytes))
    }
}
