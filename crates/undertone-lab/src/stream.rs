//! The private stream of each learner: loaded, bounded, dealt out, and drawn in order.

use crate::data::bounds::{self, Bounds};
use crate::data::partition::{self, PartitionError};
use crate::data::{self, DataError, Dataset, LoadOptions, Task};
use crate::entropy::Shuffle;
use std::path::Path;
use thiserror::Error;
use undertone::Loss;
use undertone::config::{Config, RecordOrder};
use undertone_models::Record;

/// The name of the data that come with the program.
pub const EMBEDDED: &str = "mushrooms";

/// All records of a simulation, dealt out.
#[derive(Clone, Debug)]
pub struct Streams {
    /// What the data are called.
    pub name: String,
    /// The texts of the classes, for classification.
    pub classes: Option<Vec<String>>,
    /// One stream for each learner.
    pub learners: Vec<Stream>,
    /// Records that no learner sees.
    pub test: Vec<Record>,
    /// How many records were scaled into the bounds.
    pub scaled: u64,
    /// How many records were left out because they lie outside the bounds.
    pub refused: u64,
    /// Goes on where dealing out stopped, for other public randomness of the run.
    pub(crate) order: Shuffle,
}

/// The records of one learner, in the order they arrive.
#[derive(Clone, Debug)]
pub struct Stream {
    records: Vec<Record>,
    drawn: u64,
    repeat: bool,
}

/// Why the records cannot be used.
#[derive(Debug, Error)]
pub enum StreamError {
    /// A file or record is bad.
    #[error(transparent)]
    Data(#[from] DataError),
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
    /// The data have another number of classes than the loss.
    #[error("the loss needs {expected} classes, and the data have {found}")]
    Classes {
        /// Of the loss.
        expected: usize,
        /// In the data.
        found: usize,
    },
    /// A format that is not known.
    #[error("data.format = \"{name}\": must be one of libsvm, csv, ndjson, parquet")]
    Format {
        /// What the config says.
        name: String,
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

impl Stream {
    /// A stream over records in the order given.
    #[must_use]
    pub fn new(records: Vec<Record>, repeat: bool) -> Stream {
        Stream { records, drawn: 0, repeat }
    }

    /// The next records, fewer when the stream runs dry and does not repeat.
    pub fn next(&mut self, count: u64) -> Vec<Record> {
        let available = self.records.len() as u64;
        let mut batch = Vec::new();
        for _ in 0..count {
            if available == 0 || (!self.repeat && self.drawn >= available) {
                break;
            }
            let place = usize::try_from(self.drawn % available).unwrap_or(0);
            batch.push(self.records[place].clone());
            self.drawn += 1;
        }
        batch
    }

    /// How many different records there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// How many records were drawn, repeats included.
    #[must_use]
    pub fn drawn(&self) -> u64 {
        self.drawn
    }

    /// How often the record drawn most often was drawn.
    #[must_use]
    pub fn draws_max(&self) -> u64 {
        if self.records.is_empty() { 0 } else { self.drawn.div_ceil(self.records.len() as u64) }
    }
}

/// Loads, bounds and deals out the records of a config.
///
/// # Errors
/// When the data cannot be read, do not fit the config or cannot be dealt out.
pub fn load(config: &Config, folder: &Path, seed: u64) -> Result<Streams, StreamError> {
    let mut dataset = load_dataset(config, folder)?;
    check_shape(config, &dataset)?;
    if config.data.centre {
        dataset.centre_one_hot();
    }
    let records = std::mem::take(&mut dataset.records);
    let bounded = keep_to_bounds(config, records)?;
    let file_order = config.data.order == Some(RecordOrder::File);
    let mut order = Shuffle::new(seed);
    let count = bounded.records.len();
    let fraction = config.data.test_fraction.unwrap_or(0.0);
    let (train, test) = if file_order {
        partition::train_then_test(count, fraction)
    } else {
        partition::train_test_split(count, fraction, &mut || order.next_u64())
    };
    let labels: Vec<f64> = train.iter().map(|&place| bounded.records[place].label).collect();
    let learners = config.graph.learners();
    let mut parts =
        partition::split(&labels, learners, config.data.partition, &mut || order.next_u64())?;
    if file_order {
        // Who holds what stays random; what each holds arrives as it happened.
        parts.iter_mut().for_each(|part| part.sort_unstable());
    }
    // Every record goes to one place, so that it can be moved there: image sets are large.
    let mut records: Vec<Option<Record>> = bounded.records.into_iter().map(Some).collect();
    let mut take = |place: usize| records[place].take().expect("no two places share a record");
    let mut learners = Vec::with_capacity(parts.len());
    for (learner, part) in parts.into_iter().enumerate() {
        let own: Vec<Record> = part.iter().map(|&place| take(train[place])).collect();
        if !config.data.repeat && config.data.warmup >= own.len() as u64 {
            let needed = config.data.warmup;
            return Err(StreamError::WarmupTooLong { learner, found: own.len(), needed });
        }
        learners.push(Stream::new(own, config.data.repeat));
    }
    let test = test.into_iter().map(take).collect();
    Ok(Streams {
        name: dataset.name,
        classes: dataset.classes,
        learners,
        test,
        scaled: bounded.scaled,
        refused: bounded.refused,
        order,
    })
}

/// Records within the bounds, and what became of the others.
struct Bounded {
    records: Vec<Record>,
    scaled: u64,
    refused: u64,
}

fn keep_to_bounds(config: &Config, records: Vec<Record>) -> Result<Bounded, StreamError> {
    let limits = Bounds {
        feature_norm: config.bounds.feature_norm,
        label: is_regression(config).then_some(config.bounds.label),
        out_of_bounds: config.out_of_bounds,
        normalise: config.data.normalise,
    };
    let mut bounded = Bounded { records: Vec::with_capacity(records.len()), scaled: 0, refused: 0 };
    for (place, mut record) in records.into_iter().enumerate() {
        match bounds::apply(&mut record, place + 1, &limits) {
            Ok(changed) => {
                // With `normalise` every row is scaled, which says nothing about the bounds.
                bounded.scaled += u64::from(changed && !limits.normalise);
                bounded.records.push(record);
            }
            Err(DataError::Record { fault, .. }) if fault.is_out_of_bounds() => {
                bounded.refused += 1;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(bounded)
}

/// Whether labels are numbers rather than classes.
#[must_use]
pub fn is_regression(config: &Config) -> bool {
    match config.model.loss {
        Loss::Squared | Loss::Power { .. } | Loss::Huber { .. } => true,
        Loss::Logistic | Loss::Softmax { .. } => false,
    }
}

fn load_dataset(config: &Config, folder: &Path) -> Result<Dataset, StreamError> {
    if config.data.source == EMBEDDED {
        return Ok(data::mushrooms::dataset());
    }
    let task = if is_regression(config) { Task::Regression } else { Task::Classification };
    let format = match &config.data.format {
        None => None,
        Some(name) => Some(
            data::Format::from_name(name)
                .ok_or_else(|| StreamError::Format { name: name.clone() })?,
        ),
    };
    let options = LoadOptions {
        format,
        label: config.data.label.clone(),
        classes: config.data.classes.clone(),
        categorical: config.data.categorical.clone(),
        drop: config.data.drop.clone(),
        dimension: None,
        intercept: config.data.intercept,
        ..LoadOptions::new(task)
    };
    Ok(data::load(&folder.join(&config.data.source), &options)?)
}

fn check_shape(config: &Config, dataset: &Dataset) -> Result<(), StreamError> {
    if dataset.dimension != config.model.features {
        let expected = config.model.features;
        return Err(StreamError::Features { expected, found: dataset.dimension });
    }
    let expected = match config.model.loss {
        Loss::Logistic => 2,
        Loss::Softmax { classes } => classes as usize,
        Loss::Squared | Loss::Power { .. } | Loss::Huber { .. } => return Ok(()),
    };
    let found = dataset.classes.as_ref().map_or(0, Vec::len);
    if found == expected { Ok(()) } else { Err(StreamError::Classes { expected, found }) }
}
