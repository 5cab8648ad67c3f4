//! Loading the records of an experiment.

use super::distribute::{OrderedSource, distribute};
use super::source::{DataSource, EMBEDDED, find_source, is_image_folder};
use super::{PublicParts, Stream, StreamError, Streams};
use crate::catalogue::recipe::{Layout, Recipe};
use crate::catalogue::{self, Cache};
use crate::data::{self, Bounded, DataError, Format, LoadOptions, check_shape};
use crate::experiment::Experiment;
use std::path::Path;
use undertone::agreement::Agreement;
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
            // Images come class by class: their order follows from their labels.
            let by_label = is_image_folder(data, &path);
            if by_label {
                refuse_column_keys(agreement)?;
            }
            let dataset = data::load(&path, &options)?;
            let found = dataset.classes.is_some() && options.classes.is_none();
            let schema = found || !dataset.one_hot.is_empty();
            let public = PublicParts { labels: by_label, schema };
            OrderedSource { dataset, test_rows: 0, in_time_order: false, public }
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
                // The schema of a known set is published with it.
                public: PublicParts::default(),
            }
        }
    };
    check_shape(agreement, &source.dataset)?;
    if agreement.records.centre {
        source.dataset.centre();
    }
    distribute(experiment, source, seed)
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
    let checker = RecordChecker::of(agreement).map_err(DataError::from)?;
    let (mut scaled, mut refused) = (0, 0);
    let mut bounded = |records: Vec<Record>| {
        let Bounded { records, scaled: more, refused: fewer } = Bounded::new(&checker, records)?;
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
    let (public, order) = (PublicParts::default(), PublicRandom::new(seed));
    Ok(Streams { name, classes, learners, test, scaled, refused, public, order })
}

fn load_options(agreement: &Agreement, format: Option<&str>) -> Result<LoadOptions, StreamError> {
    let named = |name: &str| {
        Format::from_name(name).ok_or_else(|| StreamError::Format { name: name.into() })
    };
    Ok(LoadOptions::of(agreement, format.map(named).transpose()?))
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
