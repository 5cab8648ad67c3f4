//! A learner of one's own in a file: moved there and back, never copied.
//!
//! Two learners that go on from one state release the same rounds twice, with different noise, and each pays
//! once. So whoever takes a learner out of its file claims it first, by renaming it: of two that try, one
//! finds nothing.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The first bytes of such a file, its version in the last.
const MAGIC: &[u8; 8] = b"undtlrn\x01";

/// Why a learner cannot be written to a file or taken from it.
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
    /// There is a file already, which may be another learner.
    #[error("{}: is there already, and is not overwritten", path.display())]
    Exists {
        /// Which file.
        path: PathBuf,
    },
    /// It is no such file, or damaged.
    #[error("{}: is not a learner, or is damaged; an older copy must not take its place: it would release rounds twice", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
    },
}

/// What is in front of the state.
#[derive(Serialize, Deserialize)]
struct Header {
    settings: String,
}

/// A learner that was claimed: its file has another name, and nobody else finds it.
#[derive(Debug)]
pub struct Claimed {
    /// What `write` was given.
    pub settings: String,
    /// The state. Private.
    pub state: State,
    path: PathBuf,
}

/// Bytes that show nothing of themselves.
pub struct State(Vec<u8>);

impl State {
    /// The bytes, for whoever restores the learner.
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

/// Writes settings and state to a new file that its owner alone may read, and waits until it is on disk.
///
/// # Errors
/// When there is a file already, or it cannot be written.
pub fn write(path: &Path, settings: &str, state: &[u8]) -> Result<(), LearnerFileError> {
    let io = |error| LearnerFileError::Io { path: path.into(), error };
    let header = serde_json::to_vec(&Header { settings: settings.into() });
    let header = header.map_err(|error| io(error.into()))?;
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
    if let Err(error) = written {
        // Half a learner is of no use to anybody, and the whole one is still in memory.
        let _ = fs::remove_file(path);
        return Err(io(error));
    }
    sync_folder(path).map_err(io)
}

/// Takes the learner of a file, so that nobody else can. The file stays, under another name, until
/// [`Claimed::remove`]: what cannot be restored can then still be looked into.
///
/// # Errors
/// When there is no such file, or it is damaged.
pub fn claim(path: &Path) -> Result<Claimed, LearnerFileError> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".claimed");
    let claimed = path.with_file_name(name);
    let io = |error| LearnerFileError::Io { path: path.into(), error };
    let damaged = || LearnerFileError::Damaged { path: path.into() };
    let bytes = fs::read(path).map_err(io)?;
    let (settings, state) = split(&bytes).ok_or_else(damaged)?;
    fs::rename(path, &claimed).map_err(io)?;
    sync_folder(path).map_err(io)?;
    Ok(Claimed { settings, state: State(state), path: claimed })
}

fn split(bytes: &[u8]) -> Option<(String, Vec<u8>)> {
    let (content, sum) = bytes.split_at_checked(bytes.len().checked_sub(32)?)?;
    if Sha256::digest(content).as_slice() != sum {
        return None;
    }
    let rest = content.strip_prefix(MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let (header, state) =
        rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let header: Header = serde_json::from_slice(header).ok()?;
    Some((header.settings, state.to_vec()))
}

impl Claimed {
    /// Removes the file, once the learner goes on elsewhere.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(self) -> Result<(), LearnerFileError> {
        fs::remove_file(&self.path).map_err(|error| LearnerFileError::Io { path: self.path, error })
    }
}

fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A new name of a file is on disk when its folder is.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_learner_is_claimed_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("learner");
        write(&path, "settings", b"state").unwrap();
        assert!(matches!(write(&path, "", b""), Err(LearnerFileError::Exists { .. })));
        let claimed = claim(&path).unwrap();
        assert_eq!(
            (claimed.settings.as_str(), claimed.state.as_slice()),
            ("settings", &b"state"[..])
        );
        assert!(claim(&path).is_err(), "a second one finds nothing");
        claimed.remove().unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn damage_anywhere_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("learner");
        write(&path, "settings", b"the state of a learner").unwrap();
        let whole = fs::read(&path).unwrap();
        for place in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 1;
            assert!(split(&bytes).is_none(), "a changed byte {place}");
            assert!(split(&whole[..place]).is_none(), "cut at {place}");
        }
        assert!(split(&whole).is_some(), "the control");
    }

    #[cfg(unix)]
    #[test]
    fn only_its_owner_may_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("learner");
        write(&path, "settings", b"state").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
