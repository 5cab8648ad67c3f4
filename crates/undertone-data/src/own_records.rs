//! Reads files of records with the columns and bounds of an agreement.

use super::{Bounded, DataError, Dataset, Format, LoadOptions, Task, load};
use std::path::Path;
use undertone::FeatureTransform;
use undertone::agreement::Agreement;
use undertone::neural::Shape;
use undertone_models::{BoundedRecord, RecordChecker};

/// Loads and checks the records of one learner's own file, in the file's order.
///
/// # Errors
/// When the file cannot be read, or does not fit the agreement.
pub fn load_own(agreement: &Agreement, path: &Path) -> Result<Vec<BoundedRecord>, DataError> {
    // An encoding of text that is derived from one learner's file differs between learners and depends on
    // single records: one record could change the meaning of all others.
    if task(agreement) == Task::Classification && agreement.records.classes.is_none() {
        return Err(DataError::OwnClasses);
    }
    let mut dataset = load(path, &LoadOptions::of(agreement, None))?;
    if let Some(block) = dataset.one_hot.first() {
        let name = dataset.feature_names.get(block.start).map_or("", String::as_str);
        let column = name.split('=').next().unwrap_or_default().to_string();
        return Err(DataError::OwnCategories { column });
    }
    check_shape(agreement, &dataset)?;
    if agreement.records.centre {
        dataset.centre();
    }
    Ok(Bounded::new(&RecordChecker::of(agreement)?, dataset.records)?.records)
}

/// What an agreement's model predicts.
#[must_use]
pub fn task(agreement: &Agreement) -> Task {
    match agreement.model.loss.classes() {
        None => Task::Regression,
        Some(_) => Task::Classification,
    }
}

/// Checks that a data set has the features and classes of an agreement's model.
///
/// # Errors
/// When it has others.
pub fn check_shape(agreement: &Agreement, dataset: &Dataset) -> Result<(), DataError> {
    if let (Some(expected), Some(found)) = (expected_shape(agreement), dataset.image_shape)
        && expected != found
    {
        return Err(DataError::ImageShape { expected, found });
    }
    let expected = agreement.record_features();
    if dataset.dimension != expected {
        return Err(DataError::Features { expected, found: dataset.dimension });
    }
    let Some(classes) = agreement.model.loss.classes() else { return Ok(()) };
    let expected = classes as usize;
    let found = dataset.classes.as_ref().map_or(0, Vec::len);
    if found == expected { Ok(()) } else { Err(DataError::Classes { expected, found }) }
}

/// The shape that images must have, if it matters to the agreement.
fn expected_shape(agreement: &Agreement) -> Option<Shape> {
    if let Some(FeatureTransform::Scattering { input, .. }) = agreement.transform {
        return Some(input);
    }
    // A neural network without convolutions takes any image of the right size, as a vector.
    let input = agreement.neural.as_ref()?.input;
    (input != Shape::vector(input.count())).then_some(input)
}

impl LoadOptions {
    /// The options that follow from an agreement.
    #[must_use]
    pub fn of(agreement: &Agreement, format: Option<Format>) -> LoadOptions {
        let form = &agreement.records;
        LoadOptions {
            format,
            label: form.label.clone(),
            classes: form.classes.clone(),
            categorical: form.categorical.clone(),
            drop: form.drop.clone(),
            intercept: form.intercept,
            ..LoadOptions::new(task(agreement))
        }
    }
}
