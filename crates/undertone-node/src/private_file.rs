//! Files that only their owner may read.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use tempfile::NamedTempFile;

/// Makes a file that only its owner may read, where there is none.
///
/// # Errors
/// When there is one, or it cannot be made.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let file = options.open(path)?;
    keep_name(path)?;
    Ok(file)
}

/// Makes a file that only its owner may read, in the folder of `path`. It is gone again unless it gets that name, or
/// the process is killed: then an empty store with such a prefix stays, which nobody needs.
///
/// # Errors
/// When it cannot be made.
pub(crate) fn unnamed(path: &Path, prefix: &str) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(prefix).tempfile_in(folder_of(path))
}

/// Gives such a file its name, where there is no other of that name.
///
/// # Errors
/// When there is one, or it cannot be named.
pub(crate) fn give_name(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.persist_noclobber(path)?;
    keep_name(path)
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// The file's name must outlast a power failure as well as what is in it.
fn keep_name(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder_of(path))?.sync_all()?;
    }
    Ok(())
}

/// Whether only the owner may read a file.
#[cfg(unix)]
pub(crate) fn is_private(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(file.metadata()?.permissions().mode() & 0o077 == 0)
}

#[cfg(not(unix))]
pub(crate) fn is_private(_file: &File) -> io::Result<bool> {
    Ok(true)
}
