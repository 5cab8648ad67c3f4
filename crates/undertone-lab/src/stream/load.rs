//! Loading the records of an experiment, or of one learner's own file.

use super::bound::Bounded;
use super::distribute::{OrderedSource, distribute};
use super::source::{DataSource, EMBEDDED, find_source, is_image_folder};
use super::{Stream, StreamError, Streams, is_regression, keep_to_bounds};
use crate::catalogue::recipe::{Layout, Recipe};
use crate::catalogue::{self, Cache};
use crate::data::{self, Dataset, Format, LoadOptions, Task};
use crate::experiment::Experiment;
use std::path::Path;
use undertone::agreement::Agreement;
use undertone::neural::Shape;
use undertone_models::{PublicRandom, Record, RecordChecker};

/// Loads, bounds and distributes the records of an experiment; data sets come from the default cache.
///
/// # Errors
/// When the data cannot be read, do not fit the agreement or cannot be distributed.
pub fn load(experiment: &Experiment, folder: &Path, seed: u64) -> Result<Streams, StreamError> {
    let (agreement, data) = (&experiment.agreement, &experiment.data);
    let mut source = match find_source(data, folder)? {
        DataSource::File(path) => {
            let options = load_options(agreement, data.format.as_deref())?;
            if is_image_folder(data, &path) {
                refuse_column_keys(agreement)?;
            }
            OrderedSource::unordered(data::load(&path, &options)?)
        }
        DataSource::Known(recipe) => {
            refuse_unused_keys(experiment, recipe)?;
            // The built-in set needs neither a cache nor a home folder.
            let dataset = if recipe.name == EMBEDDED {
                data::mushrooms::dataset()
            } else {
                catalogue::load(
                    recipe,
                    &Cache::from_environment()?,
                    &load_options(agreement, data.format.as_deref())?,
                )?
            };
            OrderedSource {
                dataset,
                test_rows: recipe.test_rows,
                in_time_order: recipe.in_time_order,
            }
        }
    };
    check_shape(agreement, &source.dataset)?;
    if agreement.records.centre {
        source.dataset.centre();
    }
    distribute(experiment, source, seed)
}

/// Loads and bounds the records of one learner's own file, in the file's order.
///
/// # Errors
/// When the file cannot be read, or does not fit the agreement.
pub fn load_own(agreement: &Agreement, path: &Path) -> Result<Stream, StreamError> {
    // An encoding of text that is derived from one learner's file differs between learners and depends on
    // single records: one record could change the meaning of all others.
    if !is_regression(agreement) && agreement.records.classes.is_none() {
        return Err(StreamError::OwnClasses);
    }
    let mut dataset = data::load(path, &load_options(agreement, None)?)?;
    if let Some(block) = dataset.one_hot.first() {
        let name = dataset.feature_names.get(block.start).map_or("", String::as_str);
        let column = name.split('=').next().unwrap_or_default().to_string();
        return Err(StreamError::OwnCategories { column });
    }
    check_shape(agreement, &dataset)?;
    if agreement.records.centre {
        dataset.centre();
    }
    let records = std::mem::take(&mut dataset.records);
    Ok(Stream::new(keep_to_bounds(&RecordChecker::of(agreement)?, records)?.records, false))
}

/// Bounds records in memory: those of each learner, in order of arrival, and test records.
///
/// # Errors
/// When a record does not fit the agreement.
pub fn from_records(
    experiment: &Experiment,
    learners: Vec<Vec<Record>>,
    test: Vec<Record>,
    seed: u64,
) -> Result<Streams, StreamError> {
    let agreement = &experiment.agreement;
    let checker = RecordChecker::of(agreement)?;
    let (mut scaled, mut refused) = (0, 0);
    let mut bounded = |records: Vec<Record>| {
        let Bounded { records, scaled: more, refused: fewer } = keep_to_bounds(&checker, records)?;
        scaled += more;
        refused += fewer;
        Ok::<_, StreamError>(records)
    };
    let test = bounded(test)?;
    let learners: Result<Vec<Stream>, StreamError> = learners
        .into_iter()
        .map(|records| Ok(Stream::new(bounded(records)?, experiment.data.repeat)))
        .collect();
    let learners = learners?;
    let name = experiment.data.source.clone();
    let classes = agreement.records.classes.clone();
    Ok(Streams { name, classes, learners, test, scaled, refused, order: PublicRandom::new(seed) })
}

fn load_options(agreement: &Agreement, format: Option<&str>) -> Result<LoadOptions, StreamError> {
    let task = if is_regression(agreement) { Task::Regression } else { Task::Classification };
    let format = match format {
        None => None,
        Some(name) => {
            Some(Format::from_name(name).ok_or_else(|| StreamError::Format { name: name.into() })?)
        }
    };
    Ok(LoadOptions {
        format,
        label: agreement.records.label.clone(),
        classes: agreement.records.classes.clone(),
        categorical: agreement.records.categorical.clone(),
        drop: agreement.records.drop.clone(),
        dimension: None,
        intercept: agreement.records.intercept,
        ..LoadOptions::new(task)
    })
}

/// Refuses keys that a known data set does not use.
fn refuse_unused_keys(experiment: &Experiment, recipe: &Recipe) -> Result<(), StreamError> {
    let form = &experiment.agreement.records;
    let is_table = matches!(recipe.layout, Layout::Table(_));
    let unused = [
        ("data.format", experiment.data.format.is_some()),
        ("records.label", form.label.is_some()),
        ("records.classes", form.classes.is_some() && !is_table),
        ("records.categorical", form.categorical.is_some() && !is_table),
        ("records.drop", !form.drop.is_empty() && !is_table),
    ];
    match unused.into_iter().find(|&(_, given)| given) {
        Some((key, _)) => Err(StreamError::UnusedKey { key, name: recipe.name }),
        None => Ok(()),
    }
}

/// Refuses keys about columns, which a folder of images does not have.
fn refuse_column_keys(agreement: &Agreement) -> Result<(), StreamError> {
    let form = &agreement.records;
    let unused = [
        ("records.label", form.label.is_some()),
        ("records.categorical", form.categorical.is_some()),
        ("records.drop", !form.drop.is_empty()),
    ];
    match unused.into_iter().find(|&(_, given)| given) {
        Some((key, _)) => Err(StreamError::UnusedByImages { key }),
        None => Ok(()),
    }
}

fn check_shape(agreement: &Agreement, dataset: &Dataset) -> Result<(), StreamError> {
    if let (Some(neural), Some(found)) = (&agreement.neural, dataset.image_shape) {
        let expected = neural.input;
        // A neural network without convolutions takes any image of the right size, as a vector.
        if expected != Shape::vector(expected.count()) && expected != found {
            return Err(StreamError::ImageShape { expected, found });
        }
    }
    if dataset.dimension != agreement.model.features {
        let expected = agreement.model.features;
        return Err(StreamError::Features { expected, found: dataset.dimension });
    }
    let Some(classes) = agreement.model.loss.classes() else { return Ok(()) };
    let expected = classes as usize;
    let found = dataset.classes.as_ref().map_or(0, Vec::len);
    if found == expected { Ok(()) } else { Err(StreamError::Classes { expected, found }) }
}
