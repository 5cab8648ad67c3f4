//! The binary batches of CIFAR-10: a label and three planes of 32 × 32 bytes for each image.

use std::io::Read;
use std::path::Path;

use undertone::neural::Shape;

use super::{DataError, Dataset, FileFault, LoadOptions, images};

/// Three colour channels of 32 × 32 pixels.
const SHAPE: Shape = Shape { channels: 3, height: 32, width: 32 };
/// Bytes of one channel of an image.
const PLANE: usize = SHAPE.height * SHAPE.width;

/// The classes in the order of their labels.
const CLASSES: [&str; 10] =
    ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

/// Loads one batch; `source` is the name used in messages.
///
/// Values are divided by 255 and form dense rows of 3072 features: red, then green, then blue. Of the
/// options, only the task and the intercept are used.
///
/// # Errors
/// When the batch cannot be read or does not follow the format.
pub fn load(
    mut reader: impl Read,
    source: &Path,
    options: &LoadOptions,
) -> Result<Dataset, DataError> {
    let damaged = |reason| DataError::file(source, FileFault::DamagedCifar { reason });
    let mut records = Vec::new();
    let mut image = Vec::with_capacity(1 + 3 * PLANE);
    loop {
        image.clear();
        let read = reader.by_ref().take(1 + 3 * PLANE as u64).read_to_end(&mut image);
        match read.map_err(|error| DataError::io(source, error))? {
            0 => break,
            count if count < 1 + 3 * PLANE => return Err(damaged("its last image is cut off")),
            _ => {}
        }
        if usize::from(image[0]) >= CLASSES.len() {
            return Err(damaged("a label is not one of ten"));
        }
        records.push(images::record(&image[1..], image[0].into(), options.intercept));
    }
    if records.is_empty() {
        return Err(DataError::file(source, FileFault::Empty));
    }
    let classes = CLASSES.map(str::to_string).to_vec();
    Ok(images::dataset(source, options, SHAPE, records, classes))
}

#[cfg(test)]
mod tests {
    use super::super::Task;
    use super::*;

    fn read(bytes: &[u8]) -> Result<Dataset, DataError> {
        load(bytes, Path::new("batch"), &LoadOptions::new(Task::Classification))
    }

    #[test]
    fn images_keep_their_planes_and_labels() {
        let mut bytes = vec![0; 2 * (1 + 3 * PLANE)];
        (bytes[0], bytes[1], bytes[1 + PLANE]) = (9, 255, 51);
        let dataset = read(&bytes).unwrap();
        assert_eq!((dataset.dimension, dataset.records.len()), (3072, 2));
        assert_eq!(dataset.image_shape, Some(SHAPE));
        let first: Vec<f64> = dataset.records[0].features.entries().map(|(_, v)| v).collect();
        assert!((first[0] - 1.0).abs() < 1e-15 && (first[PLANE] - 0.2).abs() < 1e-15);
        assert_eq!(dataset.feature_names[PLANE], "green1");
        assert_eq!(dataset.classes.unwrap()[9], "truck");
    }

    #[test]
    fn bytes_that_are_no_batch_are_refused() {
        let whole = vec![1; 1 + 3 * PLANE];
        assert!(read(&whole).is_ok());
        assert!(read(&[]).is_err());
        assert!(read(&whole[1..]).unwrap_err().to_string().contains("cut off"));
        assert!(read(&[&whole[..], &[1]].concat()).unwrap_err().to_string().contains("cut off"));
        let mut bad = whole;
        bad[0] = 10;
        assert!(read(&bad).unwrap_err().to_string().contains("not one of ten"));
    }
}
