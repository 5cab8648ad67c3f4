//! A learner's state as bytes, for a durable store.
//!
//! Each type names its fields once, in [`Persist::visit`], for saving and loading alike: the two cannot
//! drift apart. Numbers keep their bits. What follows from the agreement is not saved; loading starts from a
//! learner that was built from the same agreement.

use thiserror::Error;

/// Something whose state can be saved and loaded.
pub trait Persist {
    /// Passes every field that changes over time to `fields`, in a fixed order.
    fn visit(&mut self, fields: &mut dyn Fields);
}

/// Where fields go to, or come from.
pub trait Fields {
    /// One whole number.
    fn count(&mut self, value: &mut u64);
    /// One number.
    fn number(&mut self, value: &mut f64);
    /// As many numbers as the agreement says.
    fn numbers(&mut self, values: &mut [f64]);
    /// As many bytes as the agreement says.
    fn bytes(&mut self, values: &mut [u8]);
    /// The length of a list whose entries take at least `entry_bytes`. Returns the length it must
    /// have.
    fn length(&mut self, length: usize, entry_bytes: usize) -> usize;
    /// What was loaded cannot have been saved: the state is damaged. Does nothing while saving.
    fn reject(&mut self);
}

impl dyn Fields + '_ {
    /// A boolean.
    pub fn flag(&mut self, value: &mut bool) {
        let mut count = u64::from(*value);
        self.count(&mut count);
        *value = count != 0;
    }

    /// A list of numbers that may have any length.
    pub fn list(&mut self, values: &mut Vec<f64>) {
        let length = self.length(values.len(), 8);
        values.resize(length, 0.0);
        self.numbers(values);
    }

    /// A list of whole numbers that may have any length.
    pub fn whole_numbers<T>(&mut self, values: &mut Vec<T>)
    where
        T: Copy + Default + TryFrom<u64> + TryInto<u64>,
    {
        let length = self.length(values.len(), 8);
        values.resize(length, T::default());
        for value in values {
            let mut count = (*value).try_into().unwrap_or(u64::MAX);
            self.count(&mut count);
            *value = T::try_from(count).unwrap_or_default();
        }
    }
}

/// The saved state is not one of this learner.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the saved state is damaged, or belongs to another agreement")]
pub struct Damaged;

/// The state of a learner or a memory, as bytes. Private: they hold parameters and records.
pub fn save(state: &mut impl Persist) -> Vec<u8> {
    // Allocated once: if the vector grew step by step, a large state would be copied several times.
    let mut size = Size(0);
    state.visit(&mut size);
    let mut saver = Saver(Vec::with_capacity(size.0));
    state.visit(&mut saver);
    saver.0
}

/// Loads what [`save`] returned.
///
/// # Errors
/// When there are too few or too many bytes, or they hold what cannot have been saved. The state must
/// not be used then.
pub fn load(state: &mut impl Persist, bytes: &[u8]) -> Result<(), Damaged> {
    let mut loader = Loader { rest: bytes, damaged: false };
    state.visit(&mut loader);
    if loader.damaged || !loader.rest.is_empty() { Err(Damaged) } else { Ok(()) }
}

/// How many bytes there will be.
struct Size(usize);

impl Fields for Size {
    fn count(&mut self, _value: &mut u64) {
        self.0 += 8;
    }

    fn number(&mut self, _value: &mut f64) {
        self.0 += 8;
    }

    fn numbers(&mut self, values: &mut [f64]) {
        self.0 += 8 * values.len();
    }

    fn bytes(&mut self, values: &mut [u8]) {
        self.0 += values.len();
    }

    fn length(&mut self, length: usize, _entry_bytes: usize) -> usize {
        self.0 += 8;
        length
    }

    fn reject(&mut self) {}
}

struct Saver(Vec<u8>);

impl Fields for Saver {
    fn count(&mut self, value: &mut u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn number(&mut self, value: &mut f64) {
        self.0.extend_from_slice(&value.to_bits().to_le_bytes());
    }

    fn numbers(&mut self, values: &mut [f64]) {
        for value in values {
            self.number(value);
        }
    }

    fn bytes(&mut self, values: &mut [u8]) {
        self.0.extend_from_slice(values);
    }

    fn length(&mut self, length: usize, _entry_bytes: usize) -> usize {
        self.0.extend_from_slice(&(length as u64).to_le_bytes());
        length
    }

    fn reject(&mut self) {}
}

struct Loader<'a> {
    rest: &'a [u8],
    damaged: bool,
}

impl Loader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = match self.rest.split_first_chunk::<N>() {
            Some((first, rest)) => (Some(*first), rest),
            None => (None, self.rest),
        };
        self.rest = rest;
        self.damaged |= first.is_none();
        first
    }
}

impl Fields for Loader<'_> {
    fn count(&mut self, value: &mut u64) {
        if let Some(bytes) = self.take() {
            *value = u64::from_le_bytes(bytes);
        }
    }

    fn number(&mut self, value: &mut f64) {
        if let Some(bytes) = self.take() {
            *value = f64::from_bits(u64::from_le_bytes(bytes));
        }
    }

    fn numbers(&mut self, values: &mut [f64]) {
        for value in values {
            self.number(value);
        }
    }

    fn bytes(&mut self, values: &mut [u8]) {
        match self.rest.split_at_checked(values.len()) {
            Some((first, rest)) => {
                values.copy_from_slice(first);
                self.rest = rest;
            }
            None => self.damaged = true,
        }
    }

    /// A length that does not fit into the remaining bytes means damage, and nothing is allocated.
    fn length(&mut self, _length: usize, entry_bytes: usize) -> usize {
        let mut length = 0;
        self.count(&mut length);
        let room = (self.rest.len() / entry_bytes.max(1)) as u64;
        if length > room {
            self.damaged = true;
            return 0;
        }
        usize::try_from(length).unwrap_or(0)
    }

    fn reject(&mut self) {
        self.damaged = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Both {
        whole: u64,
        values: Vec<f64>,
        sure: bool,
    }

    impl Persist for Both {
        fn visit(&mut self, fields: &mut dyn Fields) {
            fields.count(&mut self.whole);
            fields.list(&mut self.values);
            fields.flag(&mut self.sure);
        }
    }

    #[test]
    fn what_was_saved_is_loaded_bit_for_bit() {
        let values = vec![0.1, -0.0, f64::INFINITY, f64::from_bits(0x7ff8_0000_0000_1234)];
        let bits: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
        let bytes = save(&mut Both { whole: 7, values, sure: true });
        assert_eq!(bytes.capacity(), bytes.len(), "room for all of it was made at once");
        let mut other = Both { whole: 0, values: vec![9.0; 9], sure: false };
        load(&mut other, &bytes).unwrap();
        let loaded: Vec<u64> = other.values.iter().map(|value| value.to_bits()).collect();
        assert_eq!((other.whole, loaded, other.sure), (7, bits, true));
    }

    #[test]
    fn bytes_missing_added_or_absurd_are_damage() {
        let bytes = save(&mut Both { whole: 7, values: vec![1.0; 3], sure: true });
        let mut other = Both { whole: 0, values: Vec::new(), sure: false };
        for cut in 0..bytes.len() {
            assert_eq!(load(&mut other, &bytes[..cut]), Err(Damaged), "{cut} bytes");
        }
        assert_eq!(load(&mut other, &[&bytes[..], &[0]].concat()), Err(Damaged));
        let mut absurd = bytes;
        absurd[8..16].fill(0xff);
        assert_eq!(load(&mut other, &absurd), Err(Damaged));
        assert!(other.values.len() < 4, "no room was made");
    }
}
