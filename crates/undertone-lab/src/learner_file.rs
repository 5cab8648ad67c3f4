//! A learner saved to a file. It is moved there and back, never copied.
//!
//! Two learners that continue from one state release the same rounds twice, with different noise, and each
//! pays once. A process that loads a learner therefore claims its file first, by renaming it: of two
//! processes that try, one finds no file.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The first bytes of the file; the last of them is the version.
const MAGIC: &[u8; 8] = b"undtlrn\x02";

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
}

/// What is stored before the state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The learner's settings, as text.
    pub settings: String,
    /// Whether any of the learner's noise came from a seed.
    pub seeded: bool,
    /// What records have paid for the model that the learner started from, as ε at the agreement's δ.
    pub start_epsilon: f64,
    /// Whether that model came from an experiment whose labels are public.
    #[serde(default)]
    pub start_labels_public: bool,
}

/// A claimed learner: its file has been renamed, so no other process finds it.
#[derive(Debug)]
pub struct Claimed {
    /// The header that was written.
    pub header: Header,
    /// The state. Private.
    pub state: State,
    path: PathBuf,
    claimed: PathBuf,
}

/// A learner's state. Its `Debug` output is redacted.
pub struct State(Vec<u8>);

impl State {
    /// The bytes that the learner is restored from.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "State({} bytes, <redacted>)", self.0.len())
    }
}

/// Writes a learner to a new file that only its owner may read, and waits until it is on disk.
///
/// # Errors
/// When the file exists already or cannot be written. No file is left behind, except with
/// [`LearnerFileError::Left`].
pub fn write(path: &Path, header: &Header, state: &[u8]) -> Result<(), LearnerFileError> {
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

/// Claims the learner of a file, so that no other process can. The file is kept under another name until
/// [`Claimed::remove`] or [`Claimed::give_back`].
///
/// # Errors
/// When there is no such file, it is damaged, or an earlier claim was never ended.
pub fn claim(path: &Path) -> Result<Claimed, LearnerFileError> {
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
        let _ = fs::rename(&claimed, path);
        return Err(LearnerFileError::Damaged { path: path.clone() });
    };
    Ok(Claimed { header, state: State(state), path: path.clone(), claimed })
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

impl Claimed {
    /// Removes the file, after the learner has been restored.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(self) -> Result<(), LearnerFileError> {
        let removed = fs::remove_file(&self.claimed);
        removed.map_err(|error| LearnerFileError::Io { path: self.claimed, error })
    }

    /// Restores the file's name: the learner was not restored.
    pub fn give_back(self) {
        // If the rename fails, the file stays under the claimed name, where its owner finds it.
        let _ = fs::rename(&self.claimed, &self.path);
    }
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
        Header {
            settings: "settings".into(),
            seeded: true,
            start_epsilon: 0.5,
            start_labels_public: true,
        }
    }

    #[test]
    fn a_learner_is_claimed_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("learner");
        write(&path, &header(), b"state").unwrap();
        let again = write(&path, &header(), b"");
        assert!(matches!(again, Err(LearnerFileError::Exists { .. })));
        let claimed = claim(&path).unwrap();
        assert_eq!((&claimed.header, claimed.state.as_slice()), (&header(), &b"state"[..]));
        assert!(claim(&path).is_err(), "a second claim finds no file");
        write(&path, &header(), b"another").unwrap();
        assert!(claim(&path).is_err(), "the first claim is not ended, and not overwritten");
        fs::remove_file(&path).unwrap();
        claimed.give_back();
        claim(&path).unwrap().remove().unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
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
        claimed.remove().unwrap();
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
