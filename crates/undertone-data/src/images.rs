//! Images as records: one feature for each pixel of each channel.

use std::path::Path;

use undertone::neural::Shape;
use undertone_models::{Features, Record};

use super::{Dataset, INTERCEPT, LoadOptions, Task};

/// A record of byte values, scaled to numbers from 0 to 1.
pub(super) fn record(bytes: &[u8], label: u32, intercept: bool) -> Record {
    let values = bytes.iter().map(|&byte| f64::from(byte) / 255.0);
    let values = values.chain(intercept.then_some(1.0));
    Record::new(Features::Dense(values.collect()), f64::from(label))
}

/// Images as a data set; the records already include the constant feature, if asked for.
pub(super) fn dataset(
    source: &Path,
    options: &LoadOptions,
    shape: Shape,
    records: Vec<Record>,
    classes: Vec<String>,
) -> Dataset {
    let mut feature_names = feature_names(shape);
    if options.intercept {
        feature_names.push(INTERCEPT.to_string());
    }
    Dataset {
        name: super::name_of(source),
        dimension: feature_names.len(),
        image_shape: Some(shape),
        classes: (options.task == Task::Classification).then_some(classes),
        records,
        feature_names,
        one_hot: Vec::new(),
    }
}

/// Pixels are numbered from 1, row by row, in each channel.
fn feature_names(shape: Shape) -> Vec<String> {
    // Loaders produce images of one or three channels.
    let channels: &[&str] =
        if shape.channels == 3 { &["red", "green", "blue"] } else { &["pixel"] };
    let pixels = shape.height * shape.width;
    let names = |channel| (1..=pixels).map(move |pixel| format!("{channel}{pixel}"));
    channels.iter().flat_map(names).collect()
}
