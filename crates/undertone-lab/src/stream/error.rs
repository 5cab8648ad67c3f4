//! Why records cannot be used.

use crate::catalogue::{self, CatalogueError};
use crate::data::DataError;
use crate::data::partition::PartitionError;
use thiserror::Error;
use undertone::neural::Shape;
use undertone_models::bounds::BoundFault;

/// Why the records cannot be used.
#[derive(Debug, Error)]
pub enum StreamError {
    /// A file or record is bad.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A record cannot be kept to the bounds.
    #[error("record {record}: {fault}")]
    Bounds {
        /// Which, from 1.
        record: usize,
        /// Why.
        fault: BoundFault,
    },
    /// The records cannot be dealt out.
    #[error("data.partition: {0}")]
    Partition(#[from] PartitionError),
    /// The data have another number of features than the config says.
    #[error("model.features = {expected}: the data have {found} features")]
    Features {
        /// In the config.
        expected: usize,
        /// In the data.
        found: usize,
    },
    /// The images have another shape than the neural network's input.
    #[error("model.input is {expected}: the images are {found} (channels × height × width)")]
    ImageShape {
        /// In the config.
        expected: Shape,
        /// In the data.
        found: Shape,
    },
    /// The data have another number of classes than the loss.
    #[error("the loss needs {expected} classes, and the data have {found}")]
    Classes {
        /// Of the loss.
        expected: usize,
        /// In the data.
        found: usize,
    },
    /// A format that is not known.
    #[error("data.format = \"{name}\": must be one of libsvm, csv, ndjson, parquet, image-folder")]
    Format {
        /// What the config says.
        name: String,
    },
    /// The source is neither a file, nor a folder, nor the name of a data set.
    #[error(
        "data.source = \"{name}\": there is no such file or folder, and no data set of that name; \
         there are: {}",
        catalogue::names().join(", ")
    )]
    UnknownSource {
        /// What the config says.
        name: String,
    },
    /// A data set cannot be read from the cache, or there is no cache.
    #[error("data.source: {0}")]
    Catalogue(#[from] CatalogueError),
    /// A key says what the data set says itself.
    #[error("{key}: has no meaning with the data set {name}; remove it")]
    UnusedKey {
        /// Which key.
        key: &'static str,
        /// Which set.
        name: &'static str,
    },
    /// A key is about columns, and images have none.
    #[error("{key}: has no meaning with a folder of images; remove it")]
    UnusedByImages {
        /// Which key.
        key: &'static str,
    },
    /// Classes would follow from one learner's own records.
    #[error("records.classes: must name the classes, in the order that all learners use")]
    OwnClasses,
    /// So would the columns that a text becomes.
    #[error(
        "a column of text ({column}): what it becomes would depend on this learner's own records; \
         write it as numbers, in the way that all learners agree on"
    )]
    OwnCategories {
        /// Which.
        column: String,
    },
    /// A learner has too few records.
    #[error("learner {learner} has {found} records, and the warm-up of {needed} leaves none")]
    WarmupTooLong {
        /// Which learner.
        learner: usize,
        /// How many it has.
        found: usize,
        /// How many the warm-up takes.
        needed: u64,
    },
}
