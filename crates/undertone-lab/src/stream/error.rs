//! Errors about records.

use crate::catalogue::{self, CatalogueError};
use crate::data::DataError;
use thiserror::Error;

/// Why the records cannot be used.
#[derive(Debug, Error)]
pub enum StreamError {
    /// A file or record is bad, or the data do not fit the agreement.
    #[error(transparent)]
    Data(#[from] DataError),
    /// There are fewer records than learners.
    #[error(
        "data.partition: {records} records are too few for {learners} learners: use fewer learners"
    )]
    TooFewRecords {
        /// How many records there are.
        records: usize,
        /// How many learners there are.
        learners: usize,
    },
    /// A label is not one of the classes 0, 1, 2 …, as in regression.
    #[error("data.partition: record {record} has no class: for regression use `iid` or `in-order`")]
    NotAClass {
        /// Which record, from 0.
        record: usize,
    },
    /// A learner would hold no record.
    #[error("data.partition: learner {learner} would hold no record: {remedy}")]
    EmptyLearner {
        /// The first such learner, from 0.
        learner: usize,
        /// What to change.
        remedy: &'static str,
    },
    /// The format is unknown.
    #[error("data.format = \"{name}\": must be one of libsvm, csv, ndjson, parquet, image-folder")]
    Format {
        /// What was given.
        name: String,
    },
    /// The source is neither a file, nor a folder, nor the name of a data set.
    #[error(
        "data.source = \"{name}\": there is no such file or folder, and no data set of that name; \
         there are: {}",
        catalogue::names().join(", ")
    )]
    UnknownSource {
        /// What was given.
        name: String,
    },
    /// A data set cannot be read from the cache, or there is no cache.
    #[error("data.source: {0}")]
    Catalogue(#[from] CatalogueError),
    /// A key is fixed by the data set.
    #[error("{key}: has no meaning with the data set {name}; remove it")]
    UnusedKey {
        /// Which key.
        key: &'static str,
        /// Which data set.
        name: &'static str,
    },
    /// A key is about columns, which images do not have.
    #[error("{key}: has no meaning with a folder of images; remove it")]
    UnusedByImages {
        /// Which key.
        key: &'static str,
    },
    /// All records of a learner are outside the bounds.
    #[error(
        "learner {learner} holds no record within the bounds: raise bounds.feature_norm, or set \
         bounds.out_of_bounds = \"scale\""
    )]
    NothingWithinBounds {
        /// Which learner.
        learner: usize,
    },
    /// A learner has too few records.
    #[error("learner {learner} has {found} records, of which the warm-up of {needed} leaves none")]
    WarmupTooLong {
        /// Which learner.
        learner: usize,
        /// How many it has.
        found: usize,
        /// How many the warm-up takes.
        needed: u64,
    },
}
