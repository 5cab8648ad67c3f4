//! A learner in a file: moved there and back, never copied.
//!
//! Two learners that continue from one state release the same rounds twice, with different noise, and each
//! pays once. So [`OnlineLearner::save`] takes the learner, and a process that loads one claims its file
//! first, by renaming it: of two processes that try, one finds no file. A copy of the file made by other
//! means is beyond this guard (docs/threat-model.md).

use crate::online::{OnlineError, OnlineLearner};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;
use undertone_core::noise::Entropy;
use undertone_models::Setup;

/// The first bytes of the file; the last of them is the version.
const MAGIC: &[u8; 8] = b"undtlrn\x04";

/// Why a learner cannot be saved to a file or loaded from it.
#[derive(Debug, Error)]
pub enum LearnerFileError {
    /// The file cannot be read, written or moved.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file exists already and may hold another learner.
    #[error("{}: exists already and is not overwritten", path.display())]
    Exists {
        /// Which file.
        path: PathBuf,
    },
    /// The file was written, but could neither be synced to disk nor removed.
    #[error("{}: could neither be synced to disk ({error}) nor removed: the learner is in this file now and can no longer be used here", path.display())]
    Left {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file is not a saved learner, or is damaged.
    #[error("{}: is not a saved learner, or is damaged; do not replace it with an older copy, which would release rounds twice", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
    },
    /// The learner was saved under another agreement, or with other noise scales.
    #[error("{}: holds a learner of network {found}, and these settings are of network {expected}", path.display())]
    OtherNetwork {
        /// Which file.
        path: PathBuf,
        /// The network of the file.
        found: String,
        /// The network of the settings at hand.
        expected: String,
    },
    /// The learner may not be saved, or cannot continue from the saved state.
    #[error(transparent)]
    Learner(#[from] OnlineError),
}

/// A learner that could not be saved, and why.
pub struct NotSaved<E> {
    /// Why.
    pub error: LearnerFileError,
    /// The learner, for further use; `None` if the file may hold it ([`LearnerFileError::Left`]).
    pub learner: Option<Box<OnlineLearner<E>>>,
}

impl<E> fmt::Debug for NotSaved<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "NotSaved({:?})", self.error)
    }
}

impl<E> fmt::Display for NotSaved<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(formatter)
    }
}

impl<E> std::error::Error for NotSaved<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

/// What is stored before the state.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    /// The id of the network that the learner is alone in.
    network: String,
    /// Notes that the caller gets back with the learner.
    notes: String,
}

impl<E: Entropy> OnlineLearner<E> {
    /// Moves the learner into a new file that only its owner may read, its account included, and waits until
    /// it is on disk. The file holds records and parameters: it is private.
    ///
    /// ```
    /// use undertone::LearnerBuilder;
    ///
    /// let builder = LearnerBuilder::new(2, 4.0, 1e-6).classes(2);
    /// let mut learner = builder.build()?;
    /// learner.learn(&[0.3, 0.1], 1.0)?;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("learner");
    /// learner.save(&path)?;                    // the learner is moved: it can no longer be used here
    /// let mut learner = builder.load(&path)?;  // and it continues where it was
    /// assert_eq!(learner.waiting(), 1);
    /// assert!(builder.load(&path).is_err(), "it is loaded once");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the file exists already or cannot be written, or the learner's loss failed in the middle of a
    /// round. The error gives the learner back, and no file is left behind, except with
    /// [`LearnerFileError::Left`].
    pub fn save(self, path: &Path) -> Result<(), NotSaved<E>> {
        self.save_with_notes(path, "")
    }

    /// The same with a text that [`SavedLearner::notes`] gives back.
    ///
    /// # Errors
    /// As [`save`](Self::save).
    pub fn save_with_notes(mut self, path: &Path, notes: &str) -> Result<(), NotSaved<E>> {
        let network = self.setup().network_id().to_string();
        let header = Header { network, notes: notes.into() };
        let state = self.state().map_err(LearnerFileError::from);
        state.and_then(|state| write(path, &header, &state)).map_err(|error| {
            let left = matches!(error, LearnerFileError::Left { .. });
            NotSaved { error, learner: (!left).then(|| Box::new(self)) }
        })
    }
}

/// A learner claimed out of its file: the file has been renamed, so that no other process finds it.
///
/// [`restore`](Self::restore) makes a learner of it and removes the file. Dropped without that, it gives the
/// file its name back.
pub struct SavedLearner {
    header: Header,
    state: Vec<u8>,
    path: PathBuf,
    claimed: PathBuf,
    /// Whether the file is gone.
    removed: bool,
}

impl fmt::Debug for SavedLearner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, bytes) = (self.path.display(), self.state.len());
        write!(formatter, "SavedLearner({path}, {bytes} bytes, <redacted>)")
    }
}

impl SavedLearner {
    /// Claims the learner of a file, so that no other process can.
    ///
    /// # Errors
    /// When there is no such file, it is damaged, or an earlier claim was never ended.
    pub fn claim(path: &Path) -> Result<SavedLearner, LearnerFileError> {
        let io = |error| LearnerFileError::Io { path: path.into(), error };
        // Renaming a symbolic link would leave the file under its own name.
        let path = &fs::canonicalize(path).map_err(io)?;
        let io = |error| LearnerFileError::Io { path: path.clone(), error };
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(".claimed");
        let claimed = path.with_file_name(name);
        // When two processes claim at once, one finds the name taken: unlike a rename, a hard link never
        // replaces a file.
        match fs::hard_link(path, &claimed) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(LearnerFileError::Exists { path: claimed });
            }
            Err(error) => return Err(io(error)),
        }
        fs::remove_file(path).and_then(|()| sync_folder(path)).map_err(io)?;
        // From here on the file belongs to this caller alone.
        let bytes = fs::read(&claimed).map_err(io)?;
        let Some((header, state)) = split(&bytes) else {
            let _ = give_back(&claimed, path);
            return Err(LearnerFileError::Damaged { path: path.clone() });
        };
        Ok(SavedLearner { header, state, path: path.clone(), claimed, removed: false })
    }

    /// What was given to [`OnlineLearner::save_with_notes`].
    #[must_use]
    pub fn notes(&self) -> &str {
        &self.header.notes
    }

    /// The learner, in the state in which it was saved. The file is removed.
    ///
    /// # Errors
    /// When the setup is of another agreement or noise, or the state does not fit it, or the file cannot be
    /// removed. The file then gets its name back.
    pub fn restore<E: Entropy>(
        mut self,
        setup: Arc<Setup>,
        entropy: E,
    ) -> Result<OnlineLearner<E>, LearnerFileError> {
        let expected = setup.network_id().to_string();
        if self.header.network != expected {
            let (path, found) = (self.path.clone(), self.header.network.clone());
            return Err(LearnerFileError::OtherNetwork { path, found, expected });
        }
        let learner = OnlineLearner::from_state(setup, entropy, &self.state)?;
        fs::remove_file(&self.claimed)
            .map_err(|error| LearnerFileError::Io { path: self.claimed.clone(), error })?;
        self.removed = true;
        Ok(learner)
    }
}

impl Drop for SavedLearner {
    fn drop(&mut self) {
        if !self.removed {
            // If that fails, the file stays under the claimed name, where its owner finds it.
            let _ = give_back(&self.claimed, &self.path);
        }
    }
}

/// Writes a learner to a new file that only its owner may read, and waits until it is on disk.
fn write(path: &Path, header: &Header, state: &[u8]) -> Result<(), LearnerFileError> {
    let io = |error| LearnerFileError::Io { path: path.into(), error };
    let header = serde_json::to_vec(header).map_err(|error| io(error.into()))?;
    let mut bytes = MAGIC.to_vec();
    bytes.extend((header.len() as u64).to_le_bytes());
    bytes.extend(header);
    bytes.extend(state);
    let sum = Sha256::digest(&bytes);
    bytes.extend(sum);
    let mut file = match create_private(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(LearnerFileError::Exists { path: path.into() });
        }
        Err(error) => return Err(io(error)),
    };
    let written = file.write_all(&bytes).and_then(|()| file.sync_all());
    written.and_then(|()| sync_folder(path)).map_err(|error| match fs::remove_file(path) {
        // The learner is still in memory, so no copy may stay on disk.
        Ok(()) => io(error),
        Err(_) => LearnerFileError::Left { path: path.into(), error },
    })
}

fn split(bytes: &[u8]) -> Option<(Header, Vec<u8>)> {
    let (content, sum) = bytes.split_at_checked(bytes.len().checked_sub(32)?)?;
    if Sha256::digest(content).as_slice() != sum {
        return None;
    }
    let rest = content.strip_prefix(MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let (header, state) =
        rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    Some((serde_json::from_slice(header).ok()?, state.to_vec()))
}

/// Gives a claimed file its name back, unless another file has taken it.
fn give_back(claimed: &Path, path: &Path) -> io::Result<()> {
    fs::hard_link(claimed, path)?;
    fs::remove_file(claimed)
}

fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A file's new name is on disk once its folder is synced.
fn sync_folder(path: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header { network: "network".into(), notes: "notes".into() }
    }

    fn claim(path: &Path) -> Result<SavedLearner, LearnerFileError> {
        SavedLearner::claim(path)
    }

    #[test]
    fn a_learner_is_claimed_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("learner");
        write(&path, &header(), b"state").unwrap();
        let again = write(&path, &header(), b"");
        assert!(matches!(again, Err(LearnerFileError::Exists { .. })));
        let claimed = claim(&path).unwrap();
        assert_eq!((claimed.notes(), &claimed.state[..]), ("notes", &b"state"[..]));
        assert!(claim(&path).is_err(), "a second claim finds no file");
        write(&path, &header(), b"another").unwrap();
        assert!(claim(&path).is_err(), "the first claim is not ended, and not overwritten");
        fs::remove_file(&path).unwrap();
        drop(claimed);
        assert_eq!(claim(&path).unwrap().state, b"state", "the name was given back");
    }

    #[test]
    fn a_name_that_was_taken_in_the_meantime_is_not_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("learner");
        write(&path, &header(), b"first").unwrap();
        let claimed = claim(&path).unwrap();
        write(&path, &header(), b"second").unwrap();
        drop(claimed);
        let whole = fs::read(&path).unwrap();
        assert_eq!(split(&whole).unwrap().1, b"second", "no learner is written over");
        let left = fs::read(folder.path().join("learner.claimed")).unwrap();
        assert_eq!(split(&left).unwrap().1, b"first", "and none is lost");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_learner_is_not_a_second_one() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("learner"), folder.path().join("link"));
        write(&path, &header(), b"state").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let claimed = claim(&link).unwrap();
        assert!(claim(&path).is_err() && claim(&link).is_err());
        drop(claimed);
        assert!(claim(&link).is_ok(), "the control");
    }

    #[test]
    fn damage_anywhere_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("learner");
        write(&path, &header(), b"the state of a learner").unwrap();
        let whole = fs::read(&path).unwrap();
        for index in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[index] ^= 1;
            assert!(split(&bytes).is_none(), "a changed byte {index}");
            assert!(split(&whole[..index]).is_none(), "cut at {index}");
        }
        assert!(split(&whole).is_some(), "the control");
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert!(matches!(claim(&path), Err(LearnerFileError::Damaged { .. })));
        assert!(path.exists(), "the file is left where it was");
    }

    #[cfg(unix)]
    #[test]
    fn only_its_owner_may_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("learner");
        write(&path, &header(), b"state").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
