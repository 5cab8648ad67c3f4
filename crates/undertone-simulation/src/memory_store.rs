//! Stores in memory that outlive their learners, and fail on demand.

use std::cell::RefCell;
use std::rc::Rc;
use undertone::LearnerId;
use undertone_models::BoundedRecord;
use undertone_node::store::{Commit, Position, RECEIPTS_SHOWN, Storage, StorageError, Stored};

/// The contents of a disk, and how its next operations fail.
#[derive(Default)]
pub struct Disk {
    /// What is on it.
    pub stored: Stored,
    /// After how many more operations one fails, and whether it takes effect all the same.
    pub fails_after: Option<(u64, bool)>,
    /// A planted bug: reports success without storing anything.
    pub lies: bool,
    /// How many operations there were.
    pub operations: u64,
}

impl Disk {
    fn operate(&mut self, operation: impl FnOnce(&mut Stored)) -> Result<(), StorageError> {
        self.operations += 1;
        let failed = || Err(StorageError::Unavailable("injected".into()));
        match &mut self.fails_after {
            Some((0, takes_effect)) => {
                let takes_effect = *takes_effect;
                self.fails_after = None;
                if takes_effect {
                    operation(&mut self.stored);
                }
                failed()
            }
            Some((left, _)) => {
                *left -= 1;
                operation(&mut self.stored);
                Ok(())
            }
            None if self.lies => Ok(()),
            None => {
                operation(&mut self.stored);
                Ok(())
            }
        }
    }
}

/// A store on a disk. Its clones share the disk, so one of them can be opened after another is gone.
#[derive(Clone, Default)]
pub struct MemoryStore(pub Rc<RefCell<Disk>>);

impl Storage for MemoryStore {
    fn load(&mut self) -> Result<Stored, StorageError> {
        Ok(self.0.borrow().stored.clone())
    }

    fn accept(
        &mut self,
        records: &[BoundedRecord],
        position: Option<&Position>,
    ) -> Result<(), StorageError> {
        self.0.borrow_mut().operate(|stored| {
            stored.waiting.extend(records.iter().map(|record| record.as_record().clone()));
            if let Some(Position { source, reached }) = position {
                stored.positions.insert(source.clone(), *reached);
            }
        })
    }

    fn commit(&mut self, commit: Commit<'_>) -> Result<(), StorageError> {
        self.0.borrow_mut().operate(|stored| {
            stored.waiting.drain(..commit.records_used);
            stored.releases += 1;
            if stored.receipts.len() == RECEIPTS_SHOWN {
                stored.receipts.pop_front();
            }
            stored.receipts.push_back(*commit.receipt);
            match commit.snapshot {
                Some(snapshot) => {
                    stored.snapshot = Some(snapshot.to_vec());
                    stored.entries.clear();
                }
                None => stored.entries.push(commit.entry.to_vec()),
            }
        })
    }

    fn cut_off(&mut self, neighbour: LearnerId) -> Result<(), StorageError> {
        self.0.borrow_mut().operate(|stored| stored.cut_off.push(neighbour))
    }
}
