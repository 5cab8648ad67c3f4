//! Files that only their owner may read.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use tempfile::NamedTempFile;

/// Creates a file that only its owner may read.
///
/// # Errors
/// When the file exists, or it cannot be created.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let file = options.open(path)?;
    sync_folder(path)?;
    Ok(file)
}

/// Creates a temporary file that only its owner may read, in the folder of `path`. It is deleted unless [`persist`]
/// renames it. If the process is killed before, a file with the prefix stays behind, and can be deleted.
///
/// # Errors
/// When it cannot be created.
pub(crate) fn create_temporary(path: &Path, prefix: &str) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(prefix).tempfile_in(folder_of(path))
}

/// Renames a temporary file to `path`.
///
/// # Errors
/// When a file of that name exists, or it cannot be renamed.
pub(crate) fn persist(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.persist_noclobber(path)?;
    sync_folder(path)
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Syncs the folder of a new file, so that its name survives a power failure too.
fn sync_folder(path: &Path) -> io::Result<()> {
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
