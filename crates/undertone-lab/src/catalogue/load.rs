//! Reading a data set from the cache.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use super::recipe::{Layout, Recipe, categorical_names};
use super::{Cache, CatalogueError};
use crate::data::{self, DataError, Dataset, LoadOptions, cifar, idx, mushrooms};

/// Reads a data set, training records first, after checking every hash.
///
/// Without categorical columns in the options those of the set are taken.
///
/// # Errors
/// When it is not in the cache, is damaged there, or does not fit the options.
pub fn load(
    recipe: &Recipe,
    cache: &Cache,
    options: &LoadOptions,
) -> Result<Dataset, CatalogueError> {
    let name = recipe.name;
    let Some(first) = recipe.files().first() else { return Ok(mushrooms::dataset()) };
    let folder = cache.folder(recipe);
    if !folder.is_dir() {
        return Err(CatalogueError::NotInstalled { name, cache: cache.path().to_path_buf() });
    }
    cache
        .verify(recipe)
        .map_err(|error| CatalogueError::DamagedInCache { name, error: Box::new(error) })?;
    let paths: Vec<_> = recipe.files().iter().map(|file| folder.join(file.name)).collect();
    let mut dataset = match recipe.layout {
        Layout::Table(columns) => {
            let mut options = options.clone();
            options.categorical.get_or_insert_with(|| categorical_names(columns));
            data::load(&folder.join(first.name), &options)?
        }
        Layout::Idx => {
            let pairs = paths.chunks_exact(2).map(|pair| {
                let (images, labels) = (open(&pair[0])?, open(&pair[1])?);
                idx::load(images, labels, &pair[0], options)
            });
            joined(pairs)?
        }
        Layout::Cifar => joined(paths.iter().map(|path| cifar::load(open(path)?, path, options)))?,
    };
    dataset.name = name.to_string();
    Ok(dataset)
}

fn open(path: &Path) -> Result<BufReader<File>, DataError> {
    let not_opened = |source| DataError::Io { path: path.to_path_buf(), source };
    File::open(path).map(BufReader::new).map_err(not_opened)
}

/// Puts the records of several files after one another.
fn joined(
    mut datasets: impl Iterator<Item = Result<Dataset, DataError>>,
) -> Result<Dataset, DataError> {
    let mut whole = datasets.next().expect("every recipe has files")?;
    for dataset in datasets {
        whole.records.append(&mut dataset?.records);
    }
    Ok(whole)
}
