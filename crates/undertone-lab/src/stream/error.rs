//! Errors about records.

use crate::catalogue::{self, CatalogueError};
use crate::data::DataError;
use thiserror::Error;
use undertone::neural::Shape;
use undertone_models::bounds::BoundFault;

/// Why the records cannot be used.
#[derive(Debug, Error)]
pub enum StreamError {
    /// A file or record is bad.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A record cannot be bounded.
    #[error("record {record}: {fault}")]
    Bounds {
        /// Which record, from 1.
        record: usize,
        /// Why.
        fault: BoundFault,
    },
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
    /// The number of features differs from the agreement's.
    #[error("model.features = {expected}: the data have {found} features")]
    Features {
        /// In the agreement.
        expected: usize,
        /// In the data.
        found: usize,
    },
    /// The images' shape differs from the neural network's input.
    #[error("model.input is {expected}: the images are {found} (channels × height × width)")]
    ImageShape {
        /// In the agreement.
        expected: Shape,
        /// In the data.
        found: Shape,
    },
    /// The number of classes differs from the loss's.
    #[error("the loss needs {expected} classes, but the data have {found}")]
    Classes {
        /// Of the loss.
        expected: usize,
        /// In the data.
        found: usize,
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
    /// Classes would depend on one learner's own records.
    #[error("records.classes: must name the classes, in the order that all learners use")]
    OwnClasses,
    /// The encoding of a text column would depend on one learner's own records.
    #[error(
        "column {column} holds text, whose encoding would depend on this learner's own records: \
    encode it as numbers, in the same way at all learners"
    )]
    OwnCategories {
        /// Which column.
        column: String,
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
