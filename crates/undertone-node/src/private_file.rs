//! Files that only their owner may read.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

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
    // The file's name must outlast a power failure as well as what is in it.
    #[cfg(unix)]
    {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(file)
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
