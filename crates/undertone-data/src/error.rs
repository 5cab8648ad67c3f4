//! Errors in data files.
//!
//! Messages name the file, the line and the column, which are schema, and never a row's value,
//! which is private.

use std::fmt;
use std::path::{Path, PathBuf};

use thiserror::Error;
use undertone::neural::Shape;
use undertone_models::{RecordError, SetupError};

/// Why a data set cannot be loaded or a record cannot be accepted.
#[derive(Debug, Error)]
pub enum DataError {
    /// Nothing exists at the path.
    #[error("{}: no such file", path.display())]
    NotFound {
        /// The path as given.
        path: PathBuf,
    },
    /// The path leads to a directory.
    #[error("{}: is a directory, not a file", path.display())]
    Directory {
        /// The path as given.
        path: PathBuf,
    },
    /// The operating system or the decompressor failed while reading.
    #[error("{}: cannot be read: {source}", path.display())]
    Io {
        /// The file being read.
        path: PathBuf,
        /// The error of the operating system or the decompressor.
        source: std::io::Error,
    },
    /// The file as a whole does not fit the options.
    #[error("{}: {fault}", path.display())]
    File {
        /// The file being read.
        path: PathBuf,
        /// What is wrong with it.
        fault: FileFault,
    },
    /// One record cannot be accepted.
    #[error("{location}: {fault}")]
    Record {
        /// Where the record is.
        location: Location,
        /// What is wrong with it.
        fault: RecordFault,
    },
    /// A record does not fit the model, and not because it is above a bound.
    #[error("record {record}: {error}")]
    Unfit {
        /// Which record, from 1.
        record: usize,
        /// Why.
        error: RecordError,
    },
    /// A bound on records is outside its range.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The number of features differs from the agreement's.
    #[error("model.features = {expected}: the data have {found} features")]
    Features {
        /// In the agreement.
        expected: usize,
        /// In the data.
        found: usize,
    },
    /// The images' shape differs from the neural network's input.
    #[error("model.input is {expected}: the images are {found} (channels × height × width)")]
    ImageShape {
        /// In the agreement.
        expected: Shape,
        /// In the data.
        found: Shape,
    },
    /// The number of classes differs from the loss's.
    #[error("the loss needs {expected} classes, but the data have {found}")]
    Classes {
        /// Of the loss.
        expected: usize,
        /// In the data.
        found: usize,
    },
    /// Classes would depend on one learner's own records.
    #[error("records.classes: must name the classes, in the order that all learners use")]
    OwnClasses,
    /// The encoding of a text column would depend on one learner's own records.
    #[error(
        "column {column} holds text, whose encoding would depend on this learner's own records: \
    encode it as numbers, in the same way at all learners"
    )]
    OwnCategories {
        /// Which column.
        column: String,
    },
}

/// The location of a record or of one of its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The file, if the record comes from one.
    pub path: Option<PathBuf>,
    /// The line of the file, from 1; in a Parquet file the row, from 1.
    pub line: usize,
    /// The column, if one is at fault.
    pub column: Option<String>,
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(formatter, "{}:{}", path.display(), self.line)?,
            None => write!(formatter, "line {}", self.line)?,
        }
        match &self.column {
            Some(column) => write!(formatter, ", column `{column}`"),
            None => Ok(()),
        }
    }
}

/// What is wrong with a file as a whole, or with a folder of images or something in it.
///
/// Columns, shapes and names of files and folders are schema and are shown; values and pixels are not.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FileFault {
    /// The extension is unknown and no format was given.
    #[error(
        "unknown extension (known: .libsvm .svm .csv .ndjson .jsonl .parquet, all but \
        the last also with .gz): name the format"
    )]
    UnknownFormat,
    /// There are no records.
    #[error("no records")]
    Empty,
    /// Two columns have the same name.
    #[error("column `{column}` appears more than once")]
    DuplicateColumn {
        /// The name.
        column: String,
    },
    /// A column has no name and is not dropped.
    #[error("column {position} has no name: name it, or drop the column \"\"")]
    UnnamedColumn {
        /// Which column, from 1.
        position: usize,
    },
    /// There is no column with the label's name.
    #[error("no label column `{column}`")]
    MissingLabelColumn {
        /// The name looked for.
        column: String,
    },
    /// The label column is also listed to be dropped.
    #[error("label column `{column}` is listed to be dropped")]
    LabelDropped {
        /// The label column.
        column: String,
    },
    /// An option names a column that is not there.
    #[error("`{option}` names the column `{column}`, which is not in the file")]
    UnknownColumn {
        /// Which option.
        option: &'static str,
        /// The name looked for.
        column: String,
    },
    /// There are no columns besides the label.
    #[error("no feature columns besides the label")]
    NoFeatures,
    /// The number of features is not the one asked for.
    #[error("{found} features, but the dimension asked for is {expected}")]
    WrongDimension {
        /// How many the file has.
        found: usize,
        /// How many were asked for.
        expected: usize,
    },
    /// More features than this program handles.
    #[error("more than {limit} features")]
    TooManyFeatures {
        /// The limit.
        limit: usize,
    },
    /// The classes given by the caller are fewer than two or name one class twice.
    #[error("the classes given must be two or more, all different")]
    BadClasses,
    /// Classification needs two classes.
    #[error("every record has the same label: classification needs two classes or a class list")]
    OneClass,
    /// A Parquet column is nested, repeated or of a type without a numeric or text meaning.
    #[error("column `{column}` is not a flat column of numbers, booleans or text: drop it")]
    UnsupportedColumn {
        /// Its name.
        column: String,
    },
    /// The Parquet file is compressed in a way this build cannot read.
    #[error("column `{column}` is compressed with an unsupported codec")]
    UnsupportedCodec {
        /// The column.
        column: String,
    },
    /// The Parquet file does not follow its format.
    #[error("not a Parquet file, or damaged")]
    DamagedParquet,
    /// The IDX file does not follow its format.
    #[error("not an IDX file of images or labels, or damaged: {reason}")]
    DamagedIdx {
        /// What is wrong.
        reason: &'static str,
    },
    /// The batch does not follow the format of CIFAR-10.
    #[error("not a CIFAR-10 batch, or damaged: {reason}")]
    DamagedCifar {
        /// What is wrong.
        reason: &'static str,
    },
    /// The path, which must be that of a folder of images, is that of a file.
    #[error("is not a folder with a subfolder of images for each class")]
    NotAFolder,
    /// There are no subfolders.
    #[error("has no subfolders: a folder of images has one for each class")]
    NoClasses,
    /// There are more subfolders than the program handles.
    #[error("more than {limit} subfolders, one for each class")]
    TooManyClasses {
        /// How many there may be.
        limit: usize,
    },
    /// A file is next to the subfolders.
    #[error(
        "is a file next to the subfolders of the classes: remove it, or move it into one of them"
    )]
    OutsideClasses,
    /// A class has no images.
    #[error("no images in the subfolder of this class")]
    EmptyClass,
    /// The name of a class is not text.
    #[error("the name of this class is not UTF-8")]
    ClassNameNotUtf8,
    /// A class is not among those given by the caller.
    #[error("is not one of the classes given")]
    UnknownClass,
    /// The task is regression, and a folder of images has classes.
    #[error("a folder of images has classes, but a regression needs numbers")]
    Regression,
    /// The subfolder of a class contains a folder.
    #[error(
        "is a folder inside the subfolder of a class, where only images may be: \
         is the path that of the folder with the classes?"
    )]
    NestedFolder,
    /// A file does not have the extension of an image, or is not a regular file.
    #[error("is not a PNG or JPEG file (.png .jpg .jpeg): remove it")]
    NotAnImage,
    /// A file has the extension of an image but not its content.
    #[error("does not begin like a PNG or JPEG file")]
    UnknownContent,
    /// A file is larger than any image that can be loaded.
    #[error("is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// The file does not follow its format.
    #[error("is a damaged {format} file, or of a kind that is not supported")]
    Damaged {
        /// Which format.
        format: &'static str,
    },
    /// Values have more than 8 bits.
    #[error("has 16 bits per value, but only 8 are supported: convert it")]
    SixteenBits,
    /// Some pixels are transparent.
    #[error("has transparent pixels: flatten it")]
    Transparent,
    /// There is more than one image in the file.
    #[error("is animated")]
    Animated,
    /// The image is neither greyscale nor RGB.
    #[error("is neither greyscale nor RGB (CMYK?): convert it")]
    OtherColours,
    /// The images have different shapes.
    #[error(
    "has shape {found}, but {} has {expected} (channels × height × width); all images must have one shape",
    first.display()
    )]
    OtherShape {
        /// The first image.
        first: PathBuf,
        /// The shape of the first image.
        expected: Shape,
        /// The shape of this image.
        found: Shape,
    },
}

/// What is wrong with one record.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum RecordFault {
    /// The bytes are not UTF-8.
    #[error("text is not UTF-8")]
    NotUtf8,
    /// A number was needed.
    #[error("value is not a number")]
    NotANumber,
    /// A number is NaN, infinite or too large.
    #[error("value is not finite")]
    NotFinite,
    /// A value is missing where one is needed.
    #[error("value is missing (only a categorical column may have missing values)")]
    Missing,
    /// A text column has too many different values to be detected as categorical.
    #[error(
        "value is not a number, and the column has more than {limit} distinct values: list it as \
         categorical or drop it"
    )]
    TooManyCategories {
        /// How many a detected column may have.
        limit: usize,
    },
    /// The labels have too many different values to be classes.
    #[error("more than {limit} distinct labels: is this a regression?")]
    TooManyClasses {
        /// How many there may be.
        limit: usize,
    },
    /// The label is not among the classes given by the caller.
    #[error("label is not one of the classes given")]
    UnknownClass,
    /// The line has more or fewer fields than the header or the first record.
    #[error("{found} fields where {expected} are needed")]
    WrongFieldCount {
        /// How many it has.
        found: usize,
        /// How many it needs.
        expected: usize,
    },
    /// An entry is not of the form `index:value`.
    #[error("entry {entry} is not of the form index:value")]
    NotAnEntry {
        /// Which entry of the line, from 1.
        entry: usize,
    },
    /// Indices start at 1.
    #[error("entry {entry} has index 0, but indices start at 1")]
    IndexZero {
        /// Which entry of the line, from 1.
        entry: usize,
    },
    /// Indices must increase.
    #[error("entry {entry} does not have a larger index than the one before")]
    IndexNotIncreasing {
        /// Which entry of the line, from 1.
        entry: usize,
    },
    /// An index is above the dimension.
    #[error("entry {entry} has an index above the dimension {dimension}")]
    IndexAboveDimension {
        /// Which entry of the line, from 1.
        entry: usize,
        /// The dimension asked for, or the largest handled.
        dimension: usize,
    },
    /// The line is not one JSON value.
    #[error("not valid JSON (character {character})")]
    NotJson {
        /// Where in the line the fault was seen, from 1.
        character: usize,
    },
    /// The line is JSON, but not an object.
    #[error("not a JSON object")]
    NotAnObject,
    /// `features` is neither an array nor an object, or differs in kind from the first line's.
    #[error("`features` must be an array on every line, or an object on every line")]
    BadFeatures,
    /// A field holds an array or an object.
    #[error("value is an array or an object, not a number, boolean or text")]
    Nested,
    /// An object has a field twice.
    #[error("field appears more than once")]
    DuplicateField,
    /// A field is not in the first line's record.
    #[error("field is not in the first record: drop it, or add it there as null")]
    UnknownField,
}

impl DataError {
    pub(super) fn file(path: &Path, fault: FileFault) -> Self {
        DataError::File { path: path.to_path_buf(), fault }
    }

    pub(super) fn io(path: &Path, source: std::io::Error) -> Self {
        DataError::Io { path: path.to_path_buf(), source }
    }

    pub(super) fn line(path: &Path, line: usize, fault: RecordFault) -> Self {
        let location = Location { path: Some(path.to_path_buf()), line, column: None };
        DataError::Record { location, fault }
    }

    pub(super) fn cell(path: &Path, line: usize, column: &str, fault: RecordFault) -> Self {
        let location =
            Location { path: Some(path.to_path_buf()), line, column: Some(column.to_string()) };
        DataError::Record { location, fault }
    }
}
