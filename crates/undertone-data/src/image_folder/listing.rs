//! The classes of a folder of images and the files of each, in an order that does not depend on the
//! file system.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use super::super::labels::CLASSES_MAX;
use super::super::{DataError, not_opened};
use super::FileFault;

/// The extensions of images.
const EXTENSIONS: [&str; 3] = ["png", "jpg", "jpeg"];

/// The subfolder of one class.
#[derive(Clone, Debug)]
pub struct ClassFolder {
    /// Its name, which is the name of the class.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
    /// Its images, sorted by name; there is at least one.
    pub images: Vec<PathBuf>,
}

/// The classes of a folder of images, sorted by name; there is at least one.
///
/// Names that begin with a dot are hidden and skipped: file managers create such files. Links are followed.
/// Anything else that is not an image is refused, because its owner may have meant it as data.
///
/// # Errors
/// When the folder cannot be read, or holds anything else.
pub fn list(folder: &Path) -> Result<Vec<ClassFolder>, DataError> {
    let found = fs::metadata(folder).map_err(|error| not_opened(folder, error))?;
    if !found.is_dir() {
        return Err(refused(folder, FileFault::NotAFolder));
    }
    let mut classes = Vec::new();
    for (path, found) in visible(folder)? {
        if !found.is_dir() {
            return Err(refused(&path, FileFault::OutsideClasses));
        }
        if classes.len() == CLASSES_MAX {
            return Err(refused(folder, FileFault::TooManyClasses { limit: CLASSES_MAX }));
        }
        let name = path.file_name().and_then(OsStr::to_str).map(str::to_string);
        let name = name.ok_or_else(|| refused(&path, FileFault::ClassNameNotUtf8))?;
        let images = images(&path)?;
        classes.push(ClassFolder { name, path, images });
    }
    if classes.is_empty() {
        return Err(refused(folder, FileFault::NoClasses));
    }
    Ok(classes)
}

/// The images of one class.
fn images(class: &Path) -> Result<Vec<PathBuf>, DataError> {
    let mut images = Vec::new();
    for (path, found) in visible(class)? {
        if found.is_dir() {
            return Err(refused(&path, FileFault::NestedFolder));
        }
        // Opening a pipe would block.
        if !found.is_file() || !has_image_extension(&path) {
            return Err(refused(&path, FileFault::NotAnImage));
        }
        images.push(path);
    }
    if images.is_empty() {
        return Err(refused(class, FileFault::EmptyClass));
    }
    Ok(images)
}

/// The entries of a folder that are not hidden, sorted by name, with the metadata of what they link to.
fn visible(folder: &Path) -> Result<Vec<(PathBuf, Metadata)>, DataError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| DataError::io(folder, error))? {
        let name = entry.map_err(|error| DataError::io(folder, error))?.file_name();
        if !name.as_encoded_bytes().starts_with(b".") {
            names.push(name);
        }
    }
    names.sort_unstable();
    let with_metadata = |name| {
        let path = folder.join(name);
        match fs::metadata(&path) {
            Ok(found) => Ok((path, found)),
            Err(error) => Err(DataError::io(&path, error)),
        }
    };
    names.into_iter().map(with_metadata).collect()
}

fn has_image_extension(path: &Path) -> bool {
    let ending = path.extension().and_then(OsStr::to_str);
    ending.is_some_and(|ending| EXTENSIONS.iter().any(|known| ending.eq_ignore_ascii_case(known)))
}

fn refused(path: &Path, fault: FileFault) -> DataError {
    DataError::file(path, fault)
}
