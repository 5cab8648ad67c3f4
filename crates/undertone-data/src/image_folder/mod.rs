//! Folders of images: one subfolder of PNG and JPEG files for each class.
//!
//! This is the layout that torchvision calls ImageFolder, except that the subfolders contain no folders, and
//! files that are not images are refused.

use std::path::Path;

use undertone::neural::Shape;

use super::labels::check_given;
use super::{DataError, Dataset, FileFault, LoadOptions, Task, images};

mod jpeg;
mod listing;
mod picture;
mod png;
#[cfg(test)]
mod tests;

pub use listing::{ClassFolder, list};

/// Loads a folder of images.
///
/// Classes are the names of the subfolders, sorted as text, unless the options give them; records
/// are sorted by class name and then by file name. All images must have one shape. Values are
/// divided by 255 and form dense rows, channel by channel. Of the options, only the task, the classes,
/// the dimension and the intercept are used.
///
/// # Errors
/// When the folder is not as described or one of its images cannot be read; the message names the
/// file.
pub fn load(folder: &Path, options: &LoadOptions) -> Result<Dataset, DataError> {
    if options.task == Task::Regression {
        return Err(DataError::file(folder, FileFault::Regression));
    }
    let folders = list(folder)?;
    let (classes, labels) = number_classes(folder, &folders, options)?;
    let mut first: Option<(&Path, Shape)> = None;
    let mut records = Vec::with_capacity(folders.iter().map(|class| class.images.len()).sum());
    for (class, label) in folders.iter().zip(labels) {
        for path in &class.images {
            let picture = picture::read(path)?;
            let found = picture.shape;
            let &mut (first, expected) = first.get_or_insert((path, found));
            if found != expected {
                let fault = FileFault::OtherShape { first: first.into(), expected, found };
                return Err(DataError::file(path, fault));
            }
            check_dimension(path, found, options)?;
            records.push(images::record(&picture.values, label, options.intercept));
        }
    }
    let Some((_, shape)) = first else {
        return Err(DataError::file(folder, FileFault::Empty));
    };
    Ok(images::dataset(folder, options, shape, records, classes))
}

/// The names of all classes, and the number of each folder's class among them.
fn number_classes(
    folder: &Path,
    folders: &[ClassFolder],
    options: &LoadOptions,
) -> Result<(Vec<String>, Vec<u32>), DataError> {
    let names = match &options.classes {
        Some(given) => {
            check_given(given).map_err(|fault| DataError::file(folder, fault))?;
            given.clone()
        }
        None if folders.len() < 2 => return Err(DataError::file(folder, FileFault::OneClass)),
        None => folders.iter().map(|class| class.name.clone()).collect(),
    };
    let number = |class: &ClassFolder| {
        let index = names.iter().position(|name| *name == class.name);
        let number = index.and_then(|index| u32::try_from(index).ok());
        number.ok_or_else(|| DataError::file(&class.path, FileFault::UnknownClass))
    };
    let numbers: Result<Vec<u32>, DataError> = folders.iter().map(number).collect();
    Ok((names, numbers?))
}

fn check_dimension(path: &Path, shape: Shape, options: &LoadOptions) -> Result<(), DataError> {
    let found = shape.count();
    match options.dimension {
        Some(expected) if expected != found => {
            Err(DataError::file(path, FileFault::WrongDimension { found, expected }))
        }
        _ => Ok(()),
    }
}
