//! Whose a record is.

use sha2::{Digest, Sha256};
use std::fmt;
use undertone_core::persist::{Fields, Persist};

/// Who a record is about: sixteen bytes of a hash of the key that its owner's data have. The key itself is not kept.
///
/// The same text is the same person, and a whole number is its digits. The hash protects nobody, because keys can be
/// tried out: it is private like the record, and is stored where the record is and nowhere else.
///
/// ```
/// use undertone_models::PersonKey;
///
/// assert_eq!(PersonKey::of_text(" 17 "), Some(PersonKey::of_number(17)));
/// assert_eq!(PersonKey::of_text(" "), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PersonKey([u8; 16]);

impl PersonKey {
    /// The person of a key; `None` if the text is empty. Spaces around it are ignored.
    #[must_use]
    pub fn of_text(key: &str) -> Option<PersonKey> {
        let key = key.trim();
        if key.is_empty() {
            return None;
        }
        let mut hash = Sha256::new();
        hash.update(b"undertone person 1\0");
        hash.update(key.as_bytes());
        let digest: [u8; 32] = hash.finalize().into();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        Some(PersonKey(bytes))
    }

    /// The person of a key that is a whole number.
    #[must_use]
    pub fn of_number(key: i128) -> PersonKey {
        PersonKey::of_text(&key.to_string()).expect("a number has digits")
    }

    /// A key to load another one into.
    pub(crate) fn empty() -> PersonKey {
        PersonKey([0; 16])
    }
}

/// Shows nothing of it: keys are private.
impl fmt::Debug for PersonKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PersonKey(<redacted>)")
    }
}

impl Persist for PersonKey {
    fn visit(&mut self, fields: &mut dyn Fields) {
        fields.bytes(&mut self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_and_are_not_shown() {
        let keys = ["17", "017", "17.0", "Ann", "ann", "?", "-1"];
        let mut found: Vec<PersonKey> =
            keys.iter().filter_map(|key| PersonKey::of_text(key)).collect();
        assert_eq!(format!("{:?}", found[3]), "PersonKey(<redacted>)");
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), keys.len());
        assert_eq!(PersonKey::of_number(-1), PersonKey::of_text("-1").unwrap());
    }
}
