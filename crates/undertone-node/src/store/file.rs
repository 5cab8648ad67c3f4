//! The file of a learner's store, and whether it must exist.

use super::{DiskStore, StorageError};
use std::path::{Path, PathBuf};
use undertone::LearnerId;
use undertone::agreement::NetworkId;

/// The file of a learner's store, as its owner names it. The owner says whether the learner has run before: a missing store
/// must not become a new learner, which would release rounds a second time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreFile {
    /// The learner has never run. The file must not exist.
    New(PathBuf),
    /// The learner has run before. The file must exist.
    Existing(PathBuf),
}

impl StoreFile {
    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            StoreFile::New(path) | StoreFile::Existing(path) => path,
        }
    }

    /// Checks whether the file exists, without opening it.
    ///
    /// # Errors
    /// When it exists and must not, or the reverse.
    pub fn check(&self) -> Result<(), StorageError> {
        match (self, self.path().exists()) {
            (StoreFile::New(_), true) => Err(StorageError::Exists),
            (StoreFile::Existing(_), false) => Err(StorageError::Missing),
            (StoreFile::New(_), false) | (StoreFile::Existing(_), true) => Ok(()),
        }
    }

    /// Makes or opens the store.
    ///
    /// # Errors
    /// As [`StoreFile::check`], [`DiskStore::create`] and [`DiskStore::open`].
    pub fn open(&self, network: NetworkId, learner: LearnerId) -> Result<DiskStore, StorageError> {
        self.check()?;
        match self {
            StoreFile::New(path) => DiskStore::create(path, network, learner),
            StoreFile::Existing(path) => DiskStore::open(path, network, learner),
        }
    }
}
