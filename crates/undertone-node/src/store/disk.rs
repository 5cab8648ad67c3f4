//! A learner's store on disk: one file, one transaction for each round.
//!
//! | table | key | value |
//! |---|---|---|
//! | `about` | name | the format, the network and the learner |
//! | `rounds` | number, increasing | what a round since the last snapshot was computed from |
//! | `snapshot` | 0 | the whole state |
//! | `waiting` | number | a record that no round has used yet |
//! | `ledger` | round | the receipt, as JSON |
//! | `cut_off` | learner | nothing |
//! | `sources` | name | how far it was read |
//!
//! Values that hold state begin with a hash of the rest, so that damage is found.

use super::read_only::ReadOnlyFile;
use super::{Commit, Position, RECEIPTS_SHOWN, Storage, StorageError, Stored};
use redb::{
    AccessGuard, Database, ReadableDatabase, ReadableTable, ReadableTableMetadata as _,
    TableDefinition, TableError,
};
use sha2::{Digest as _, Sha256};
use std::fs::{File, OpenOptions};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use undertone::LearnerId;
use undertone::persist::{load, save};
use undertone::privacy::Receipt;
use undertone_models::{BoundedRecord, Record, Setup};

use crate::private_file;
use undertone::agreement::NetworkId;

const ABOUT: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("about");
const ROUNDS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("rounds");
const SNAPSHOT: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("snapshot");
const WAITING: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("waiting");
const LEDGER: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("ledger");
const CUT_OFF: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("cut_off");

const SOURCES: TableDefinition<'_, &str, u64> = TableDefinition::new("sources");

const FORMAT: &[u8] = b"undertone store 3";

/// A store in a file that only its owner may read.
///
/// The file holds private records and parameters. It is locked while it is open: two daemons on one store
/// would release twice.
pub struct DiskStore {
    database: Database,
    next_round: u64,
    next_waiting: u64,
}

impl DiskStore {
    /// Creates an empty store.
    ///
    /// It gets its name when it is complete: a process that is killed before leaves no store that cannot be opened.
    ///
    /// # Errors
    /// When the file exists, or it cannot be created.
    pub fn create(
        path: &Path,
        network: NetworkId,
        learner: LearnerId,
    ) -> Result<DiskStore, StorageError> {
        let temporary = private_file::create_temporary(path, ".new-store-")
            .map_err(|error| unavailable(&error))?;
        let file = temporary.as_file().try_clone().map_err(|error| unavailable(&error))?;
        let store = DiskStore::with_file(file, network, learner)?;
        private_file::persist(temporary, path).map_err(|error| unavailable(&error))?;
        Ok(store)
    }

    /// Opens the store of a learner that ran before.
    ///
    /// A missing or empty file is an error, not a new learner: that learner would start again, and release rounds a
    /// second time.
    ///
    /// # Errors
    /// When it is missing, in use, readable for others, damaged, or of another learner or network.
    pub fn open(
        path: &Path,
        network: NetworkId,
        learner: LearnerId,
    ) -> Result<DiskStore, StorageError> {
        let file = existing(path, OpenOptions::new().read(true).write(true))?;
        DiskStore::with_file(file, network, learner)
    }

    /// Opens the store of any learner of a network, to inspect it. The file is only read, and stays as it is to the last
    /// byte, also if its learner was killed; while it is open, its learner cannot run.
    ///
    /// # Errors
    /// As [`DiskStore::open`].
    pub fn open_any(path: &Path, setup: &Setup) -> Result<(DiskStore, LearnerId), StorageError> {
        let file = existing(path, OpenOptions::new().read(true))?;
        let mut store = DiskStore::at(|| {
            let file = ReadOnlyFile::new(file).map_err(database_error)?;
            redb::Builder::new().create_with_backend(file).map_err(database_error)
        })?;
        let learner = store.learner()?;
        store.check_owner(setup.network_id(), learner)?;
        if learner.0 as usize >= setup.mechanisms.len() {
            return Err(StorageError::Mismatch("learner"));
        }
        store.find_next_keys()?;
        Ok((store, learner))
    }

    /// The learner it belongs to.
    fn learner(&self) -> Result<LearnerId, StorageError> {
        let read = self.database.begin_read().map_err(|error| unavailable(&error))?;
        let about = read.open_table(ABOUT).map_err(table)?;
        let learner = about.get("learner").map_err(storage)?;
        let bytes: Option<[u8; 4]> = learner.and_then(|bytes| bytes.value().try_into().ok());
        let damaged = || StorageError::Damaged("the learner's number is missing".into());
        Ok(LearnerId(u32::from_le_bytes(bytes.ok_or_else(damaged)?)))
    }

    fn with_file(
        file: File,
        network: NetworkId,
        learner: LearnerId,
    ) -> Result<DiskStore, StorageError> {
        let open = || redb::Builder::new().create_file(file).map_err(database_error);
        let mut store = DiskStore::at(open)?;
        store.check_owner(network, learner)?;
        store.find_next_keys()?;
        Ok(store)
    }

    fn at(
        open: impl FnOnce() -> Result<Database, StorageError>,
    ) -> Result<DiskStore, StorageError> {
        // On some damage redb panics instead of returning an error.
        let database = catch_unwind(AssertUnwindSafe(|| checked(open()?)));
        let database = database.unwrap_or_else(|_| Err(damaged_pages()))?;
        Ok(DiskStore { database, next_round: 0, next_waiting: 0 })
    }

    /// Finds the next free keys.
    fn find_next_keys(&mut self) -> Result<(), StorageError> {
        let read = self.database.begin_read().map_err(|error| unavailable(&error))?;
        let after = |name| -> Result<u64, StorageError> {
            let table = read.open_table(name).map_err(table)?;
            let last: Option<(AccessGuard<'_, u64>, _)> = table.last().map_err(storage)?;
            Ok(last.map_or(0, |(number, _)| number.value() + 1))
        };
        (self.next_round, self.next_waiting) = (after(ROUNDS)?, after(WAITING)?);
        Ok(())
    }

    /// Begins a transaction with two-phase commit. After a crash, damage in the last commit can then be told from a
    /// commit that was never finished. With one phase redb would mistake the first for the second, and go back a round.
    fn begin_write(&self) -> Result<redb::WriteTransaction, StorageError> {
        let mut write = self.database.begin_write().map_err(|error| unavailable(&error))?;
        write.set_two_phase_commit(true);
        Ok(write)
    }

    /// Writes the owner into an empty store, and checks it in any other.
    fn check_owner(&mut self, network: NetworkId, learner: LearnerId) -> Result<(), StorageError> {
        let facts: [(&str, Vec<u8>); 3] = [
            ("format", FORMAT.to_vec()),
            ("network", network.bytes().to_vec()),
            ("learner", learner.0.to_le_bytes().to_vec()),
        ];
        let write = self.begin_write()?;
        {
            let mut about = write.open_table(ABOUT).map_err(table)?;
            let empty = about.first().map_err(storage)?.is_none();
            for (name, fact) in &facts {
                if empty {
                    about.insert(name, fact.as_slice()).map_err(storage)?;
                    continue;
                }
                let found = about.get(name).map_err(storage)?;
                if found.is_none_or(|found| found.value() != fact.as_slice()) {
                    let format = *name == "format";
                    return Err(if format {
                        StorageError::Format
                    } else {
                        StorageError::Mismatch(name)
                    });
                }
            }
            // Creates all tables, so that they can be read.
            write.open_table(ROUNDS).map_err(table)?;
            write.open_table(SNAPSHOT).map_err(table)?;
            write.open_table(WAITING).map_err(table)?;
            write.open_table(LEDGER).map_err(table)?;
            write.open_table(CUT_OFF).map_err(table)?;
            write.open_table(SOURCES).map_err(table)?;
        }
        write.commit().map_err(|error| unavailable(&error))
    }

    /// All receipts, in order.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn receipts(&self) -> Result<Vec<Receipt>, StorageError> {
        let read = self.database.begin_read().map_err(|error| unavailable(&error))?;
        let ledger = read.open_table(LEDGER).map_err(table)?;
        let mut receipts = Vec::new();
        for row in ledger.iter().map_err(storage)? {
            let (round, receipt) = row.map_err(storage)?;
            receipts.push(receipt_from(round.value(), receipt.value())?);
        }
        Ok(receipts)
    }
}

impl Storage for DiskStore {
    fn load(&mut self) -> Result<Stored, StorageError> {
        let read = self.database.begin_read().map_err(|error| unavailable(&error))?;
        let mut stored = Stored::default();
        let snapshot = read.open_table(SNAPSHOT).map_err(table)?;
        if let Some(bytes) = snapshot.get(0).map_err(storage)? {
            stored.snapshot = Some(without_hash("the snapshot", bytes.value())?);
        }
        for row in read.open_table(ROUNDS).map_err(table)?.iter().map_err(storage)? {
            let (_, bytes) = row.map_err(storage)?;
            stored.entries.push(without_hash("a round", bytes.value())?);
        }
        for row in read.open_table(WAITING).map_err(table)?.iter().map_err(storage)? {
            let (_, bytes) = row.map_err(storage)?;
            let mut record = Record::empty();
            load(&mut record, &without_hash("a record", bytes.value())?)
                .map_err(|damaged| StorageError::Damaged(damaged.to_string()))?;
            stored.waiting.push_back(record);
        }
        let ledger = read.open_table(LEDGER).map_err(table)?;
        stored.releases = ledger.len().map_err(storage)?;
        for row in ledger.iter().map_err(storage)?.rev().take(RECEIPTS_SHOWN) {
            let (round, receipt) = row.map_err(storage)?;
            stored.receipts.push_front(receipt_from(round.value(), receipt.value())?);
        }
        for row in read.open_table(SOURCES).map_err(table)?.iter().map_err(storage)? {
            let (source, reached) = row.map_err(storage)?;
            stored.positions.insert(source.value().to_string(), reached.value());
        }
        for row in read.open_table(CUT_OFF).map_err(table)?.iter().map_err(storage)? {
            let (id, _) = row.map_err(storage)?;
            stored.cut_off.push(LearnerId(id.value()));
        }
        Ok(stored)
    }

    fn accept(
        &mut self,
        records: &[BoundedRecord],
        position: Option<&Position>,
    ) -> Result<(), StorageError> {
        let write = self.begin_write()?;
        {
            if let Some(Position { source, reached }) = position {
                let mut sources = write.open_table(SOURCES).map_err(table)?;
                sources.insert(source.as_str(), reached).map_err(storage)?;
            }
            let mut waiting = write.open_table(WAITING).map_err(table)?;
            for (number, record) in (self.next_waiting..).zip(records) {
                let record = save(&mut record.as_record().clone());
                let bytes = with_hash([&*record].into_iter());
                waiting.insert(number, bytes.as_slice()).map_err(storage)?;
            }
        }
        write.commit().map_err(|error| unavailable(&error))?;
        self.next_waiting += records.len() as u64;
        Ok(())
    }

    fn commit(&mut self, commit: Commit<'_>) -> Result<(), StorageError> {
        let write = self.begin_write()?;
        {
            let mut waiting = write.open_table(WAITING).map_err(table)?;
            for _ in 0..commit.records_used {
                waiting.pop_first().map_err(storage)?;
            }
            let mut rounds = write.open_table(ROUNDS).map_err(table)?;
            match commit.snapshot {
                Some(state) => {
                    let mut snapshot = write.open_table(SNAPSHOT).map_err(table)?;
                    snapshot
                        .insert(0, with_hash([state].into_iter()).as_slice())
                        .map_err(storage)?;
                    rounds.retain(|_, _| false).map_err(storage)?;
                }
                None => {
                    let entry = with_hash(commit.entry.iter());
                    rounds.insert(self.next_round, entry.as_slice()).map_err(storage)?;
                }
            }
            let receipt = serde_json::to_vec(commit.receipt)
                .map_err(|error| StorageError::Unavailable(error.to_string()))?;
            let mut ledger = write.open_table(LEDGER).map_err(table)?;
            ledger.insert(commit.receipt.round.0, receipt.as_slice()).map_err(storage)?;
        }
        write.commit().map_err(|error| unavailable(&error))?;
        self.next_round += 1;
        Ok(())
    }

    fn cut_off(&mut self, neighbour: LearnerId) -> Result<(), StorageError> {
        let write = self.begin_write()?;
        {
            let mut cut_off = write.open_table(CUT_OFF).map_err(table)?;
            cut_off.insert(neighbour.0, [].as_slice()).map_err(storage)?;
        }
        write.commit().map_err(|error| unavailable(&error))
    }
}

/// Opens a file that exists, is not empty, and is private to its owner.
fn existing(path: &Path, options: &OpenOptions) -> Result<File, StorageError> {
    let file = options.open(path).map_err(|error| unavailable(&error))?;
    if !private_file::is_private(&file).map_err(|error| unavailable(&error))? {
        return Err(StorageError::Exposed);
    }
    if file.metadata().map_err(|error| unavailable(&error))?.len() == 0 {
        return Err(StorageError::Damaged("the file is empty".into()));
    }
    Ok(file)
}

fn checked(mut database: Database) -> Result<Database, StorageError> {
    match database.check_integrity() {
        Ok(true) => Ok(database),
        Ok(false) => Err(damaged_pages()),
        Err(error) => Err(database_error(error)),
    }
}

fn damaged_pages() -> StorageError {
    StorageError::Damaged("its pages are inconsistent".into())
}

/// Bytes with their hash in front.
fn with_hash<'a>(pieces: impl Iterator<Item = &'a [u8]> + Clone) -> Vec<u8> {
    let mut hashed = Vec::with_capacity(32 + pieces.clone().map(<[u8]>::len).sum::<usize>());
    hashed.extend_from_slice(&[0; 32]);
    pieces.for_each(|piece| hashed.extend_from_slice(piece));
    let digest = Sha256::digest(&hashed[32..]);
    hashed[..32].copy_from_slice(&digest);
    hashed
}

/// Checks the hash in front of bytes and removes it.
fn without_hash(what: &str, bytes: &[u8]) -> Result<Vec<u8>, StorageError> {
    match bytes.split_at_checked(32) {
        Some((digest, rest)) if Sha256::digest(rest)[..] == *digest => Ok(rest.to_vec()),
        _ => Err(StorageError::Damaged(format!("the hash of {what} is wrong"))),
    }
}

fn receipt_from(round: u64, bytes: &[u8]) -> Result<Receipt, StorageError> {
    serde_json::from_slice(bytes)
        .map_err(|error| StorageError::Damaged(format!("the receipt of round {round}: {error}")))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the errors of redb, which may become more")]
fn database_error(error: redb::DatabaseError) -> StorageError {
    match error {
        redb::DatabaseError::DatabaseAlreadyOpen => StorageError::InUse,
        redb::DatabaseError::Storage(error) => storage(error),
        error => unavailable(&error),
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the errors of redb, which may become more")]
fn storage(error: redb::StorageError) -> StorageError {
    match error {
        redb::StorageError::Corrupted(what) => StorageError::Damaged(what),
        error => unavailable(&error),
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the errors of redb, which may become more")]
fn table(error: TableError) -> StorageError {
    match error {
        TableError::Storage(error) => storage(error),
        error => StorageError::Damaged(error.to_string()),
    }
}

fn unavailable(error: &dyn std::fmt::Display) -> StorageError {
    StorageError::Unavailable(error.to_string())
}
