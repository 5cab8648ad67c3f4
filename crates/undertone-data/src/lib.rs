//! Records from files, checked against the bounds of an agreement. The node's command and the laboratory share this crate.
//! Nothing in it is random.
//!
//! | for | look at |
//! |---|---|
//! | one learner's own records, checked | [`load_own`] |
//! | any file, as a [`Dataset`] | [`load()`], with [`LoadOptions`] |
//! | a format | [`csv`], [`ndjson`], [`parquet`], [`libsvm`]; for images [`image_folder`], [`idx`], [`cifar`] |
//! | the built-in data set | [`mushrooms`] |
//! | records in memory, checked and counted | [`Bounded`] |
//! | whether data fit a model | [`check_shape`] |
//!
//! Records are private: no error message, `Debug` output or panic shows a record's value. Names of columns,
//! categories and classes are schema and do appear.
//!
//! One-hot categories and classes are taken from the file unless given. Learners that read different files
//! must agree on them beforehand: give [`classes`](LoadOptions::classes) and check with
//! [`dimension`](LoadOptions::dimension).
//!
//! ```
//! let mushrooms = undertone_data::mushrooms::dataset();
//! assert_eq!((mushrooms.records.len(), mushrooms.dimension), (8124, 112));
//! ```

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use undertone::neural::Shape;
use undertone_models::{Features, Record};

mod check_records;
pub mod cifar;
pub mod csv;
mod error;
pub mod idx;
pub mod image_folder;
mod images;
mod labels;
pub mod libsvm;
mod line_guard;
mod lines;
pub mod mushrooms;
pub mod ndjson;
mod options;
mod own_records;
pub mod parquet;
mod table;

use line_guard::LineGuard;

pub use check_records::{Bounded, InPlace};
pub use error::{DataError, FileFault, Location, RecordFault};
pub use options::{Format, LoadOptions, Task};
pub use own_records::{check_shape, load_own, task};

/// The largest dimension that is loaded, the intercept not counted.
///
/// A damaged index must not make the program allocate all memory.
pub const DIMENSION_MAX: usize = 1 << 22;

/// What centring subtracts from pixels, which lie between 0 and 1.
pub const MIDDLE_GREY: f64 = 0.5;

/// The name of the feature that is always 1.
pub const INTERCEPT: &str = "intercept";

/// Records with their schema.
#[derive(Clone, PartialEq)]
pub struct Dataset {
    /// Its name.
    pub name: String,
    /// The dimension of every record.
    pub dimension: usize,
    /// The shape of every record's features, intercept excluded, if they are images.
    pub image_shape: Option<Shape>,
    /// The names of classes 0, 1, 2 …, for classification.
    pub classes: Option<Vec<String>>,
    /// The records, in the file's order.
    pub records: Vec<Record>,
    /// One name for each feature.
    pub feature_names: Vec<String>,
    /// The features of each categorical column: one of them is 1, the others 0.
    pub one_hot: Vec<Range<usize>>,
}

impl Dataset {
    /// The label of every record, in order.
    #[must_use]
    pub fn labels(&self) -> Vec<f64> {
        self.records.iter().map(|record| record.label).collect()
    }

    /// Subtracts ½ from the pixels of images and 1/k from the k features of every categorical column.
    ///
    /// An offset that all records share slows gradient methods down and carries no information. Only the schema
    /// is used, never a record's value, so this costs no privacy.
    pub fn centre(&mut self) {
        let mut offset = vec![0.0; self.dimension];
        if let Some(shape) = self.image_shape {
            offset[..shape.count()].fill(MIDDLE_GREY);
        }
        for block in &self.one_hot {
            #[expect(clippy::cast_precision_loss, reason = "a column has few categories")]
            let share = 1.0 / block.len() as f64;
            offset[block.clone()].fill(share);
        }
        for record in &mut self.records {
            let mut centred: Box<[f64]> = offset.iter().map(|share| -share).collect();
            record.features.add_scaled_to(1.0, &mut centred);
            record.features = Features::Dense(centred);
        }
    }
}

/// Prints the shape only: records are private.
impl fmt::Debug for Dataset {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "Dataset({}, records={}, dim={}, classes={}, <redacted>)",
            self.name,
            self.records.len(),
            self.dimension,
            self.classes.as_ref().map_or(0, Vec::len),
        )
    }
}

/// Loads a file, or a folder of images.
///
/// The format is the one in the options, or else found by [`Format::detect`]. Text formats may be
/// compressed with gzip if the name ends in `.gz`.
///
/// # Errors
/// When the file or folder cannot be read, does not follow its format, or does not fit the options.
pub fn load(path: &Path, options: &LoadOptions) -> Result<Dataset, DataError> {
    let Some(format) = options.format.or_else(|| Format::detect(path)) else {
        open(path)?; // Report a missing file rather than an unknown format.
        return Err(DataError::file(path, FileFault::UnknownFormat));
    };
    match format {
        Format::Libsvm => libsvm::load(open_text(path)?, path, options),
        Format::Csv => csv::load(open_text(path)?, path, options),
        Format::Ndjson => ndjson::load(open_text(path)?, path, options),
        Format::Parquet => parquet::load(open(path)?, path, options),
        Format::ImageFolder => image_folder::load(path, options),
    }
}

fn open_text(path: &Path) -> Result<Box<dyn Read>, DataError> {
    let file = open(path)?;
    let compressed = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz"));
    Ok(if compressed {
        Box::new(LineGuard::new(MultiGzDecoder::new(file)))
    } else {
        Box::new(LineGuard::new(file))
    })
}

fn open(path: &Path) -> Result<File, DataError> {
    if std::fs::metadata(path).map_err(|error| not_opened(path, error))?.is_dir() {
        return Err(DataError::Directory { path: path.to_path_buf() });
    }
    File::open(path).map_err(|error| not_opened(path, error))
}

fn not_opened(path: &Path, source: std::io::Error) -> DataError {
    if source.kind() == ErrorKind::NotFound {
        return DataError::NotFound { path: path.to_path_buf() };
    }
    DataError::io(path, source)
}

/// The name of the data set in a file: the file's name up to its first dot.
fn name_of(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match name.split_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem.to_string(),
        _ => name,
    }
}

/// A feature vector from its entries by increasing index; a sparse one leaves zeros out.
fn features(dimension: usize, sparse: bool, entries: impl Iterator<Item = (u32, f64)>) -> Features {
    if sparse {
        let (indices, values): (Vec<u32>, Vec<f64>) =
            entries.filter(|&(_, value)| value.abs() > 0.0).unzip();
        let dimension = u32::try_from(dimension).expect("dimensions are at most DIMENSION_MAX + 1");
        Features::Sparse { dimension, indices: indices.into(), values: values.into() }
    } else {
        let mut values = vec![0.0; dimension];
        for (index, value) in entries {
            values[index as usize] = value;
        }
        Features::Dense(values.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn every_path_that_is_not_a_file_has_its_own_error() {
        let directory = tempfile::tempdir().unwrap();
        let options = LoadOptions::new(Task::Classification);
        let missing = directory.path().join("missing.csv");
        assert!(matches!(load(&missing, &options), Err(DataError::NotFound { .. })));
        let missing = directory.path().join("missing.xyz");
        assert!(matches!(load(&missing, &options), Err(DataError::NotFound { .. })));
        let inner = directory.path().join("inner.csv");
        std::fs::create_dir(&inner).unwrap();
        assert!(matches!(load(&inner, &options), Err(DataError::Directory { .. })));
        // A folder holds images unless its name or the options say otherwise.
        let images = directory.path().join("images");
        std::fs::create_dir(&images).unwrap();
        let no_classes = |path: &Path, options: &LoadOptions| match load(path, options) {
            Err(DataError::File { fault, .. }) => fault == FileFault::NoClasses,
            _ => false,
        };
        assert!(no_classes(&images, &options));
        let given = LoadOptions { format: Some(Format::Csv), ..options.clone() };
        assert!(matches!(load(&images, &given), Err(DataError::Directory { .. })));
        let given = LoadOptions { format: Some(Format::ImageFolder), ..options.clone() };
        assert!(no_classes(&inner, &given));
        let unknown = directory.path().join("data.xyz");
        std::fs::write(&unknown, "1 1:2\n").unwrap();
        assert!(matches!(
            load(&unknown, &options),
            Err(DataError::File { fault: FileFault::UnknownFormat, .. })
        ));
        let given = LoadOptions { format: Some(Format::Libsvm), ..options };
        assert!(matches!(
            load(&unknown, &given),
            Err(DataError::File { fault: FileFault::OneClass, .. })
        ));
    }

    #[test]
    fn a_compressed_file_loads_like_the_plain_one() {
        let directory = tempfile::tempdir().unwrap();
        let options = LoadOptions::new(Task::Classification);
        let text = "a,label\n1,x\n2,y\n";
        let (plain, packed) = (directory.path().join("d.csv"), directory.path().join("d.csv.gz"));
        std::fs::write(&plain, text).unwrap();
        let file = File::create(&packed).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap();
        let loaded = load(&plain, &options).unwrap();
        assert_eq!(loaded.name, "d");
        assert!(loaded == load(&packed, &options).unwrap());

        std::fs::write(&packed, b"\x1f\x8b\x08 this is no gzip stream").unwrap();
        assert!(matches!(load(&packed, &options), Err(DataError::Io { .. })));
    }

    #[test]
    fn debug_output_shows_the_shape_only() {
        let dataset = Dataset {
            name: "d".into(),
            dimension: 1,
            image_shape: None,
            classes: None,
            records: vec![Record { features: Features::Dense([31.25].into()), label: 7.5 }],
            feature_names: vec!["a".into()],
            one_hot: Vec::new(),
        };
        assert_eq!(format!("{dataset:?}"), "Dataset(d, records=1, dim=1, classes=0, <redacted>)");
    }
}
