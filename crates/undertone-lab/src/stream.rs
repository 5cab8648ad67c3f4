//! The private stream of each learner: loaded, bounded, dealt out, and drawn in order.

use crate::catalogue::recipe::{Layout, Recipe};
use crate::catalogue::{self, Cache, GetError, LoadError};
use crate::data::partition::{self, PartitionError};
use crate::data::{self, DataError, Dataset, Format, LoadOptions, Task};
use crate::entropy::Shuffle;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use thiserror::Error;
use undertone::config::{Config, RecordOrder};
use undertone::neural::Shape;
use undertone_models::Record;
use undertone_models::bounds::{BoundFault, Bounds};

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
    /// The images have another shape than the network's input.
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
    /// A data set cannot be read from the cache.
    #[error("data.source: {0}")]
    Catalogue(#[from] LoadError),
    /// There is no cache.
    #[error("data.source: {0}")]
    Cache(#[from] GetError),
    /// A key says what the data set says itself.
    #[error("data.{key}: has no meaning with the data set {name}; remove it")]
    UnusedKey {
        /// Which key.
        key: &'static str,
        /// Which set.
        name: &'static str,
    },
    /// A key is about columns, and images have none.
    #[error("data.{key}: has no meaning with a folder of images; remove it")]
    UnusedByImages {
        /// Which key.
        key: &'static str,
    },
    /// Classes would follow from one learner's own records.
    #[error("data.classes: must name the classes, in the order that all learners use")]
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

impl Stream {
    /// A stream over records in the order given.
    #[must_use]
    pub fn new(records: Vec<Record>, repeat: bool) -> Stream {
        Stream { records, drawn: 0, repeat }
    }

    /// Forgets all but the first records, where no more will be drawn; says how many there are.
    pub(crate) fn shorten(&mut self, count: u64) -> u64 {
        self.records.truncate(usize::try_from(count).unwrap_or(usize::MAX));
        if self.repeat { count } else { self.records.len() as u64 }
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

    /// Adds records to the end.
    pub(crate) fn append(&mut self, mut records: Vec<Record>) {
        self.records.append(&mut records);
    }

    /// How many records are left, where none is drawn twice.
    pub(crate) fn left(&self) -> u64 {
        (self.records.len() as u64).saturating_sub(self.drawn)
    }

    /// Passes over records, as if they had been drawn.
    pub fn skip(&mut self, count: u64) {
        self.drawn = self.drawn.saturating_add(count);
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

/// Loads, bounds and deals out the records of a config; data sets come from the usual cache.
///
/// # Errors
/// When the data cannot be read, do not fit the config or cannot be dealt out.
pub fn load(config: &Config, folder: &Path, seed: u64) -> Result<Streams, StreamError> {
    let mut source = match find_source(config, folder)? {
        DataSource::File(path) => {
            let options = load_options(config)?;
            if is_image_folder(config, &path) {
                refuse_column_keys(config)?;
            }
            Source::unordered(data::load(&path, &options)?)
        }
        DataSource::Known(recipe) => {
            refuse_unused_keys(config, recipe)?;
            // The built-in set needs no cache, so that it needs no home folder either.
            let dataset = if recipe.name == EMBEDDED {
                data::mushrooms::dataset()
            } else {
                catalogue::load(recipe, &Cache::from_environment()?, &load_options(config)?)?
            };
            Source { dataset, test_rows: recipe.test_rows, in_time_order: recipe.in_time_order }
        }
    };
    check_shape(config, &source.dataset)?;
    if config.data.centre {
        source.dataset.centre();
    }
    deal(config, source, seed)
}

/// Loads and bounds the records of one learner's own file, in the file's order.
///
/// # Errors
/// When the file cannot be read, or does not fit the config.
pub fn load_own(config: &Config, path: &Path) -> Result<Stream, StreamError> {
    // What one site's own file makes of a text would be another thing at another site, and would depend on
    // single records: then one record could change what all others mean.
    if !is_regression(config) && config.data.classes.is_none() {
        return Err(StreamError::OwnClasses);
    }
    let mut dataset = data::load(path, &load_options(config)?)?;
    if let Some(block) = dataset.one_hot.first() {
        let name = dataset.feature_names.get(block.start).map_or("", String::as_str);
        let column = name.split('=').next().unwrap_or_default().to_string();
        return Err(StreamError::OwnCategories { column });
    }
    check_shape(config, &dataset)?;
    if config.data.centre {
        dataset.centre();
    }
    let records = std::mem::take(&mut dataset.records);
    Ok(Stream::new(keep_to_bounds(config, records)?.records, false))
}

/// Bounds records that are at hand: those of each learner, in the order they arrive, and test records.
///
/// # Errors
/// When a record does not fit the config.
pub fn given(
    config: &Config,
    learners: Vec<Vec<Record>>,
    test: Vec<Record>,
    seed: u64,
) -> Result<Streams, StreamError> {
    let (mut scaled, mut refused) = (0, 0);
    let mut bounded = |records: Vec<Record>| {
        let Bounded { records, scaled: more, refused: fewer } = keep_to_bounds(config, records)?;
        scaled += more;
        refused += fewer;
        Ok::<_, StreamError>(records)
    };
    let test = bounded(test)?;
    let learners: Result<Vec<Stream>, StreamError> = learners
        .into_iter()
        .map(|records| Ok(Stream::new(bounded(records)?, config.data.repeat)))
        .collect();
    let learners = learners?;
    let name = config.data.source.clone();
    let classes = config.data.classes.clone();
    Ok(Streams { name, classes, learners, test, scaled, refused, order: Shuffle::new(seed) })
}

/// Where a config's records are.
pub(crate) enum DataSource {
    /// In a file, or in a folder of images.
    File(PathBuf),
    /// In the cache, or built in.
    Known(&'static Recipe),
}

/// A name with a separator, or of a file that exists, is a path; then come the known data sets, and
/// then folders, so that a folder called `mnist` that happens to be there does not stand in for it.
pub(crate) fn find_source(config: &Config, folder: &Path) -> Result<DataSource, StreamError> {
    let name = config.data.source.as_str();
    let path = folder.join(name);
    if name == EMBEDDED || !(name.contains(['/', MAIN_SEPARATOR]) || path.is_file()) {
        if let Some(recipe) = catalogue::find(name) {
            return Ok(DataSource::Known(recipe));
        }
        // With the ending of a file it was meant as one, and loading it says what is missing.
        if Format::detect(&path).is_none() && config.data.format.is_none() {
            return Err(StreamError::UnknownSource { name: name.to_string() });
        }
    }
    Ok(DataSource::File(path))
}

/// Whether what is at the path is read as a folder of images.
pub(crate) fn is_image_folder(config: &Config, path: &Path) -> bool {
    let format = match &config.data.format {
        Some(name) => Format::from_name(name),
        None => Format::detect(path),
    };
    format == Some(Format::ImageFolder)
}

/// Records with what is known about their order.
struct Source {
    dataset: Dataset,
    /// How many of the last records are for testing.
    test_rows: usize,
    in_time_order: bool,
}

impl Source {
    /// Records about whose order nothing is known.
    fn unordered(dataset: Dataset) -> Source {
        Source { dataset, test_rows: 0, in_time_order: false }
    }
}

/// The order in which records arrive: the config's, else the data set's own.
pub(crate) fn record_order(config: &Config, in_time_order: bool) -> RecordOrder {
    let own = if in_time_order { RecordOrder::File } else { RecordOrder::Shuffled };
    config.data.order.unwrap_or(own)
}

/// Bounds the records and deals them out.
fn deal(config: &Config, source: Source, seed: u64) -> Result<Streams, StreamError> {
    let Source { mut dataset, test_rows, in_time_order } = source;
    let mut records = std::mem::take(&mut dataset.records);
    let own_test = records.split_off(records.len() - test_rows.min(records.len()));
    let mut bounded = keep_to_bounds(config, records)?;
    let train_count = bounded.records.len();
    let own_test = keep_to_bounds(config, own_test)?;
    bounded.records.extend(own_test.records);
    bounded.scaled += own_test.scaled;
    bounded.refused += own_test.refused;

    let file_order = record_order(config, in_time_order) == RecordOrder::File;
    let mut order = Shuffle::new(seed);
    let count = bounded.records.len();
    let (train, test) = match config.data.test_fraction {
        None if test_rows > 0 => ((0..train_count).collect(), (train_count..count).collect()),
        Some(fraction) if file_order => partition::train_then_test(count, fraction),
        fraction => {
            let fraction = fraction.unwrap_or(0.0);
            partition::train_test_split(count, fraction, &mut || order.next_u64())
        }
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
pub(crate) struct Bounded {
    pub(crate) records: Vec<Record>,
    pub(crate) scaled: u64,
    pub(crate) refused: u64,
}

pub(crate) fn keep_to_bounds(
    config: &Config,
    records: Vec<Record>,
) -> Result<Bounded, StreamError> {
    let limits = Bounds::of(config);
    let mut bounded = Bounded { records: Vec::with_capacity(records.len()), scaled: 0, refused: 0 };
    for (place, mut record) in records.into_iter().enumerate() {
        match limits.apply(&mut record) {
            Ok(changed) => {
                // With `normalise` every row is scaled, which says nothing about the bounds.
                bounded.scaled += u64::from(changed && !limits.normalise);
                bounded.records.push(record);
            }
            Err(BoundFault::Norm { .. } | BoundFault::Label { .. }) => bounded.refused += 1,
            Err(fault) => return Err(StreamError::Bounds { record: place + 1, fault }),
        }
    }
    Ok(bounded)
}

/// Whether labels are numbers rather than classes.
#[must_use]
pub fn is_regression(config: &Config) -> bool {
    config.model.loss.classes().is_none()
}

fn load_options(config: &Config) -> Result<LoadOptions, StreamError> {
    let task = if is_regression(config) { Task::Regression } else { Task::Classification };
    let format = match &config.data.format {
        None => None,
        Some(name) => Some(
            Format::from_name(name).ok_or_else(|| StreamError::Format { name: name.clone() })?,
        ),
    };
    Ok(LoadOptions {
        format,
        label: config.data.label.clone(),
        classes: config.data.classes.clone(),
        categorical: config.data.categorical.clone(),
        drop: config.data.drop.clone(),
        dimension: None,
        intercept: config.data.intercept,
        ..LoadOptions::new(task)
    })
}

/// A key that is not used must not look as if it were.
fn refuse_unused_keys(config: &Config, recipe: &Recipe) -> Result<(), StreamError> {
    let data = &config.data;
    let is_table = matches!(recipe.layout, Layout::Table(_));
    let unused = [
        ("format", data.format.is_some()),
        ("label", data.label.is_some()),
        ("classes", data.classes.is_some() && !is_table),
        ("categorical", data.categorical.is_some() && !is_table),
        ("drop", !data.drop.is_empty() && !is_table),
    ];
    match unused.into_iter().find(|&(_, given)| given) {
        Some((key, _)) => Err(StreamError::UnusedKey { key, name: recipe.name }),
        None => Ok(()),
    }
}

/// The same for keys about the columns of a table.
fn refuse_column_keys(config: &Config) -> Result<(), StreamError> {
    let data = &config.data;
    let unused = [
        ("label", data.label.is_some()),
        ("categorical", data.categorical.is_some()),
        ("drop", !data.drop.is_empty()),
    ];
    match unused.into_iter().find(|&(_, given)| given) {
        Some((key, _)) => Err(StreamError::UnusedByImages { key }),
        None => Ok(()),
    }
}

fn check_shape(config: &Config, dataset: &Dataset) -> Result<(), StreamError> {
    if let (Some(network), Some(found)) = (&config.network, dataset.image_shape) {
        let expected = network.input;
        // A network without convolutions takes any image of the right size, as a vector.
        if expected != Shape::vector(expected.count()) && expected != found {
            return Err(StreamError::ImageShape { expected, found });
        }
    }
    if dataset.dimension != config.model.features {
        let expected = config.model.features;
        return Err(StreamError::Features { expected, found: dataset.dimension });
    }
    let Some(classes) = config.model.loss.classes() else { return Ok(()) };
    let expected = classes as usize;
    let found = dataset.classes.as_ref().map_or(0, Vec::len);
    if found == expected { Ok(()) } else { Err(StreamError::Classes { expected, found }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config_file::load_preset_with;
    use undertone_models::Features;

    /// Twenty records, numbered, the last five of which are for testing.
    fn source(in_time_order: bool) -> Source {
        let record = |number: u8| Record {
            features: Features::Dense([f64::from(number) / 20.0].into()),
            label: f64::from(number % 2),
        };
        let dataset = Dataset {
            name: "numbered".into(),
            dimension: 1,
            image_shape: None,
            classes: Some(vec!["even".into(), "odd".into()]),
            records: (0..20).map(record).collect(),
            feature_names: vec!["number".into()],
            one_hot: Vec::new(),
        };
        Source { dataset, test_rows: 5, in_time_order }
    }

    fn numbers(records: &[Record]) -> Vec<f64> {
        records.iter().map(|record| (20.0 * record.features.norm()).round()).collect()
    }

    fn dealt(in_time_order: bool, test_fraction: Option<f64>) -> Streams {
        let loaded = load_preset_with("mushrooms", |raw| {
            raw.data.partition = Some("iid".into());
            raw.data.test_fraction = test_fraction;
            raw.data.warmup = Some(0);
            raw.data.normalise = None;
            raw.model.features = Some(1);
        });
        deal(&loaded.unwrap().config, source(in_time_order), 3).unwrap()
    }

    #[test]
    fn records_set_apart_by_the_makers_of_a_set_are_the_test_records() {
        let streams = dealt(false, None);
        assert_eq!(numbers(&streams.test), [15.0, 16.0, 17.0, 18.0, 19.0]);
        assert_eq!(streams.learners.iter().map(Stream::len).sum::<usize>(), 15);
        // A fraction says otherwise: then all records are one pool.
        let streams = dealt(false, Some(0.1));
        assert_eq!(streams.test.len(), 2);
        assert_eq!(streams.learners.iter().map(Stream::len).sum::<usize>(), 18);
    }

    #[test]
    fn a_set_in_order_of_time_keeps_it_without_being_told() {
        let mut streams = dealt(true, Some(0.1));
        assert_eq!(numbers(&streams.test), [18.0, 19.0]);
        for stream in &mut streams.learners {
            assert!(numbers(&stream.next(20)).is_sorted());
        }
        let mut shuffled = dealt(false, Some(0.1));
        let sorted = |stream: &mut Stream| numbers(&stream.next(20)).is_sorted();
        assert!(!shuffled.learners.iter_mut().all(sorted));
    }
}
