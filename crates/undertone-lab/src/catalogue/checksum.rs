//! Hashing files, and refusing those with an unexpected hash.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::CatalogueError;
use super::recipe::Checksum;

/// The SHA-256 hash of a file, in hexadecimal digits.
pub(crate) fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(hash)),
            count => hash.update(&buffer[..count]),
        }
    }
}

/// A finished hash in hexadecimal digits.
pub(crate) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Refuses a file with an unexpected hash.
pub(super) fn check(
    path: &Path,
    file: &'static str,
    known: Checksum,
) -> Result<(), CatalogueError> {
    let found = sha256(path).map_err(CatalogueError::io(path))?;
    if found == known.sha256 {
        Ok(())
    } else {
        Err(CatalogueError::WrongHash { file, expected: known.sha256, found })
    }
}

/// Whether a file exists with the expected size. Its contents are not checked.
pub(super) fn has_size(path: &Path, known: Checksum) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == known.bytes)
}
