//! IDX files of small greyscale images and their labels, the format of MNIST.

use std::io::{ErrorKind, Read};
use std::path::Path;

use undertone::neural::Shape;

use super::{DIMENSION_MAX, DataError, Dataset, FileFault, LoadOptions, images};

/// Bytes in three dimensions: images, rows, columns.
const IMAGES_MAGIC: u32 = 0x0803;
/// Bytes in one dimension.
const LABELS_MAGIC: u32 = 0x0801;

/// Loads images and their labels; `source` is the name used in messages.
///
/// Pixels are divided by 255 and form dense rows. Labels are classes 0 to 9, or up to the largest
/// label if that is above 9. Of the options, only the task and the intercept are used.
///
/// # Errors
/// When a file cannot be read or does not follow the format.
pub fn load(
    mut image_file: impl Read,
    mut label_file: impl Read,
    source: &Path,
    options: &LoadOptions,
) -> Result<Dataset, DataError> {
    let damaged = |reason| DataError::file(source, FileFault::DamagedIdx { reason });
    let [image_count, rows, columns] = header(&mut image_file, IMAGES_MAGIC, source)?;
    let [label_count] = header(&mut label_file, LABELS_MAGIC, source)?;
    if image_count != label_count {
        return Err(damaged("the numbers of labels and images differ"));
    }
    let pixels = u64::from(rows) * u64::from(columns);
    let pixels = usize::try_from(pixels).ok().filter(|&pixels| pixels <= DIMENSION_MAX);
    let Some(pixels) = pixels else {
        let fault = FileFault::TooManyFeatures { limit: DIMENSION_MAX };
        return Err(DataError::file(source, fault));
    };
    match (image_count, pixels) {
        (0, _) => return Err(DataError::file(source, FileFault::Empty)),
        (_, 0) => return Err(DataError::file(source, FileFault::NoFeatures)),
        _ => {}
    }
    let mut image = vec![0; pixels];
    let mut records = Vec::new();
    let mut largest = 9;
    for _ in 0..image_count {
        let mut label = [0];
        fill(&mut image_file, &mut image, source)?;
        fill(&mut label_file, &mut label, source)?;
        largest = largest.max(label[0]);
        records.push(images::record(&image, label[0].into(), options.intercept));
    }
    for rest in [&mut image_file as &mut dyn Read, &mut label_file] {
        if rest.read(&mut [0]).map_err(|error| DataError::io(source, error))? > 0 {
            return Err(damaged("there are bytes after the last image or label"));
        }
    }
    let shape = Shape { channels: 1, height: rows as usize, width: columns as usize };
    let classes = (0..=largest).map(|class| class.to_string()).collect();
    Ok(images::dataset(source, options, shape, records, classes))
}

/// Reads a header and returns the sizes in it.
fn header<const SIZES: usize>(
    reader: &mut impl Read,
    magic: u32,
    source: &Path,
) -> Result<[u32; SIZES], DataError> {
    let mut word = [0; 4];
    fill(reader, &mut word, source)?;
    if u32::from_be_bytes(word) != magic {
        let reason = "it does not begin as a file of images, or of labels, does";
        return Err(DataError::file(source, FileFault::DamagedIdx { reason }));
    }
    let mut sizes = [0; SIZES];
    for size in &mut sizes {
        fill(reader, &mut word, source)?;
        *size = u32::from_be_bytes(word);
    }
    Ok(sizes)
}

fn fill(reader: &mut impl Read, bytes: &mut [u8], source: &Path) -> Result<(), DataError> {
    reader.read_exact(bytes).map_err(|error| {
        if error.kind() == ErrorKind::UnexpectedEof {
            let reason = "it ends before the last image or label";
            return DataError::file(source, FileFault::DamagedIdx { reason });
        }
        DataError::io(source, error)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Task;
    use super::*;

    /// Two images of 1 × 2 pixels, and their labels.
    const IMAGES: [u8; 20] = [0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 255, 51, 0];
    const LABELS: [u8; 10] = [0, 0, 8, 1, 0, 0, 0, 2, 3, 9];

    fn read(images: &[u8], labels: &[u8]) -> Result<Dataset, DataError> {
        let options = LoadOptions { intercept: true, ..LoadOptions::new(Task::Classification) };
        load(images, labels, Path::new("train"), &options)
    }

    #[test]
    fn pixels_are_divided_by_255_and_labels_kept() {
        let dataset = read(&IMAGES, &LABELS).unwrap();
        assert_eq!((dataset.dimension, dataset.classes.unwrap().len()), (3, 10));
        let second: Vec<f64> = dataset.records[1].features.entries().map(|(_, v)| v).collect();
        assert!(second.iter().zip([0.2, 0.0, 1.0]).all(|(a, b)| (a - b).abs() < 1e-15));
        assert!((dataset.records[0].label - 3.0).abs() < 1e-15);
        assert_eq!(dataset.feature_names, ["pixel1", "pixel2", "intercept"]);
        assert_eq!(dataset.image_shape, Some(Shape { channels: 1, height: 1, width: 2 }));
    }

    #[test]
    fn every_cut_and_every_surplus_byte_is_refused() {
        for length in 0..IMAGES.len() {
            assert!(read(&IMAGES[..length], &LABELS).is_err(), "{length}");
        }
        for length in 0..LABELS.len() {
            assert!(read(&IMAGES, &LABELS[..length]).is_err(), "{length}");
        }
        assert!(read(&[&IMAGES[..], &[0]].concat(), &LABELS).is_err());
        assert!(read(&IMAGES, &[&LABELS[..], &[0]].concat()).is_err());
    }

    #[test]
    fn huge_sizes_are_refused_without_asking_for_memory() {
        let mut huge = IMAGES;
        huge[8..16].fill(255);
        assert!(read(&huge, &LABELS).unwrap_err().to_string().contains("more than 4194304"));
        let (mut many, mut labels) = (IMAGES, LABELS);
        many[4..8].fill(255);
        labels[4..8].fill(255);
        assert!(read(&many, &labels).unwrap_err().to_string().contains("ends before"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            images in prop::collection::vec(any::<u8>(), 0..40),
            labels in prop::collection::vec(any::<u8>(), 0..20),
            start in any::<bool>(),
        ) {
            let (mut images, mut labels) = (images, labels);
            if start {
                images.splice(0..0, IMAGES[..4].iter().copied());
                labels.splice(0..0, LABELS[..4].iter().copied());
            }
            let _ = read(&images, &labels);
        }
    }
}
