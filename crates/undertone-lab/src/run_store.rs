//! What was measured so far, in a file that grows by a line with every run.
//!
//! A line is written whole and flushed, so an interrupted experiment loses at most the run it was in; a
//! torn last line is dropped.

use crate::catalogue::hex;
use crate::error::FileError;
use crate::experiment::RawExperiment;
use crate::summary::NOT_PRIVATE;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const NAME: &str = "runs.ndjson";

#[derive(Serialize, Deserialize)]
struct Header {
    format: String,
    schema_version: u32,
    warning: String,
    fingerprint: String,
}

/// What an experiment is: runs of another are not mixed with its own.
#[derive(Clone, Debug)]
pub struct Identity {
    /// What kind of experiment.
    pub format: &'static str,
    /// The version of its lines.
    pub schema_version: u32,
    /// A digest of what all its runs share.
    pub fingerprint: String,
}

/// The runs of one experiment.
#[derive(Debug)]
pub struct RunStore<R> {
    path: PathBuf,
    file: File,
    /// What was measured, in the order it was written.
    pub runs: Vec<R>,
}

impl<R: Serialize + DeserializeOwned> RunStore<R> {
    /// Opens the folder of an experiment, or makes it.
    ///
    /// # Errors
    /// When it belongs to another, or cannot be read or written.
    pub fn open_as(folder: &Path, identity: Identity) -> Result<RunStore<R>, FileError> {
        make_private_folder(folder).map_err(FileError::write(folder))?;
        let path = folder.join(NAME);
        let header = Header {
            format: identity.format.into(),
            schema_version: identity.schema_version,
            warning: NOT_PRIVATE.into(),
            fingerprint: identity.fingerprint,
        };
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(FileError::write(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(FileError::InUse { path: folder.into() }),
            Err(TryLockError::Error(error)) => return Err(FileError::write(&path)(error)),
        }
        let text = fs::read_to_string(&path).map_err(FileError::read(&path))?;
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let runs = read(&path, whole, &header)?;
        if whole.is_empty() {
            let line = serde_json::to_string(&header)? + "\n";
            file.set_len(0)
                .and_then(|()| file.write_all(line.as_bytes()))
                .map_err(FileError::write(&path))?;
        } else {
            file.set_len(whole.len() as u64).map_err(FileError::write(&path))?;
        }
        Ok(RunStore { path, file, runs })
    }

    /// Adds a run, and sees to it that it is on disk.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, run: R) -> Result<(), FileError> {
        let line = serde_json::to_string(&run)? + "\n";
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(FileError::write(&self.path))?;
        self.runs.push(run);
        Ok(())
    }
}

fn read<R: DeserializeOwned>(
    path: &Path,
    text: &str,
    header: &Header,
) -> Result<Vec<R>, FileError> {
    let mut lines = text.lines();
    let Some(first) = lines.next() else { return Ok(Vec::new()) };
    let other = || FileError::OtherRuns { path: path.parent().unwrap_or(path).into() };
    let found: Header = serde_json::from_str(first).map_err(|_| other())?;
    if found.format != header.format
        || found.schema_version != header.schema_version
        || found.fingerprint != header.fingerprint
    {
        return Err(other());
    }
    let parse = |(place, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|_| FileError::Line {
            path: path.into(),
            line: place + 2,
            reason: "not a measurement".into(),
        })
    };
    lines.enumerate().map(parse).collect()
}

/// A digest of a config and of the program's version: runs of another are not the same experiment.
///
/// # Errors
/// When the config has no form in TOML.
pub fn config_digest(raw: &RawExperiment) -> Result<String, FileError> {
    let mut hash = Sha256::new();
    hash.update(env!("CARGO_PKG_VERSION"));
    hash.update(toml::to_string(raw)?);
    Ok(hex(hash))
}

/// Makes a folder that is its owner's alone: accuracies and pictures come from private records.
///
/// # Errors
/// When the system says no.
pub fn make_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
