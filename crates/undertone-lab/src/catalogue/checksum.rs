//! Hashing files, and refusing those that are not the ones known.

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

/// Refuses a file of another hash than the one known.
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

/// Whether a file is there with the size known, which says nothing about what is in it.
pub(super) fn has_size(path: &Path, known: Checksum) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == known.bytes)
}
