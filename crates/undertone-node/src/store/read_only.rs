//! A store's file that is only read: what the database would write is kept in memory.
//!
//! A database that was not closed is repaired when it is opened, and one that is opened notes in its file that it is. Here
//! both happen to a copy of the pages concerned, and the file stays as it is.

use redb::backends::FileBackend;
use redb::{BackendError, DatabaseError, StorageBackend};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Bound;
use std::sync::{Mutex, PoisonError};

/// A file, and what would have been written to it.
#[derive(Debug)]
pub(super) struct ReadOnlyFile {
    file: FileBackend,
    changes: Mutex<Changes>,
}

#[derive(Debug)]
struct Changes {
    /// The length that the file would have.
    length: u64,
    /// Up to here the file itself still counts. Beyond, what is not in `blocks` is zero.
    file_length: u64,
    /// The blocks that would have been written, by number.
    blocks: BTreeMap<u64, Box<[u8; BLOCK]>>,
}

/// Bytes per block.
const BLOCK: usize = 4096;

impl ReadOnlyFile {
    /// A file that was opened for reading.
    pub(super) fn new(file: File) -> Result<ReadOnlyFile, DatabaseError> {
        let length = file.metadata()?.len();
        let changes = Changes { length, file_length: length, blocks: BTreeMap::new() };
        Ok(ReadOnlyFile { file: FileBackend::new(file)?, changes: Mutex::new(changes) })
    }

    fn with<T>(&self, change: impl FnOnce(&mut Changes) -> io::Result<T>) -> io::Result<T> {
        change(&mut self.changes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Changes {
    /// A block as it would be now.
    fn block(&self, file: &FileBackend, number: u64) -> io::Result<Box<[u8; BLOCK]>> {
        if let Some(block) = self.blocks.get(&number) {
            return Ok(block.clone());
        }
        let mut block = Box::new([0; BLOCK]);
        let begin = number * BLOCK as u64;
        let there = self.file_length.saturating_sub(begin).min(BLOCK as u64);
        let there = usize::try_from(there).map_err(io::Error::other)?;
        if there > 0 {
            file.read(begin, &mut block[..there])?;
        }
        Ok(block)
    }
}

/// The numbers of the blocks that bytes lie in, each with the place inside it and inside the bytes.
fn blocks(
    offset: u64,
    length: usize,
) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let left = length - done;
        if left == 0 {
            return None;
        }
        let at = offset + done as u64;
        let inside = usize::try_from(at % BLOCK as u64).ok()?;
        let range = done..done + left.min(BLOCK - inside);
        done = range.end;
        Some((at / BLOCK as u64, inside, range))
    })
}

impl StorageBackend for ReadOnlyFile {
    fn len(&self) -> io::Result<u64> {
        self.with(|changes| Ok(changes.length))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.with(|changes| {
            if offset.checked_add(out.len() as u64).is_none_or(|end| end > changes.length) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            for (number, inside, range) in blocks(offset, out.len()) {
                let block = changes.block(&self.file, number)?;
                let length = range.len();
                out[range].copy_from_slice(&block[inside..inside + length]);
            }
            Ok(())
        })
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.with(|changes| {
            if length < changes.length {
                // Where it grows again, it grows by zeros.
                let last = length / BLOCK as u64;
                let mut block = changes.block(&self.file, last)?;
                let kept = usize::try_from(length % BLOCK as u64).map_err(io::Error::other)?;
                block[kept..].fill(0);
                changes.blocks.split_off(&last);
                changes.blocks.insert(last, block);
                changes.file_length = changes.file_length.min(length);
            }
            changes.length = length;
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.with(|changes| {
            for (number, inside, range) in blocks(offset, data.len()) {
                let mut block = changes.block(&self.file, number)?;
                block[inside..inside + range.len()].copy_from_slice(&data[range]);
                changes.blocks.insert(number, block);
            }
            changes.length = changes.length.max(offset + data.len() as u64);
            Ok(())
        })
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    // Who only reads shares the file with others who only read, and with nobody who writes.
    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn try_lock_shared_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.query_lock_range(start, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write as _;

    /// What may happen to a file.
    #[derive(Clone, Debug)]
    enum Change {
        Write(u64, Vec<u8>),
        Length(u64),
    }

    fn change() -> impl Strategy<Value = Change> {
        let bytes = proptest::collection::vec(1_u8..=255, 1..9000);
        prop_oneof![
            (0_u64..20_000, bytes).prop_map(|(offset, bytes)| Change::Write(offset, bytes)),
            (0_u64..20_000).prop_map(Change::Length),
        ]
    }

    proptest! {
        #[test]
        fn changes_are_read_back_as_from_a_real_file_and_the_file_stays_as_it_is(
            begin in 0_usize..20_000,
            changes in proptest::collection::vec(change(), 0..12),
        ) {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            let mut expected: Vec<u8> = (0..begin).map(|k| u8::try_from(k % 251).unwrap()).collect();
            file.write_all(&expected).unwrap();
            let before = expected.clone();
            let read_only = ReadOnlyFile::new(File::open(file.path()).unwrap()).unwrap();
            for change in changes {
                match change {
                    Change::Write(offset, bytes) => {
                        read_only.write(offset, &bytes).unwrap();
                        let (begin, end) = (offset as usize, offset as usize + bytes.len());
                        expected.resize(expected.len().max(end), 0);
                        expected[begin..end].copy_from_slice(&bytes);
                    }
                    Change::Length(length) => {
                        read_only.set_len(length).unwrap();
                        expected.resize(length as usize, 0);
                    }
                }
                let mut found = vec![0; expected.len()];
                prop_assert_eq!(read_only.len().unwrap(), expected.len() as u64);
                read_only.read(0, &mut found).unwrap();
                prop_assert!(found == expected);
                prop_assert!(read_only.read(1, &mut found).is_err(), "beyond the end");
            }
            prop_assert!(std::fs::read(file.path()).unwrap() == before);
        }
    }
}
