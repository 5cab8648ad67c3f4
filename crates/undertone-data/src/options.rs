//! How to read a file.

use std::path::Path;

/// The formats that can be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `label index:value …` lines.
    Libsvm,
    /// Comma-separated values with a header row.
    Csv,
    /// One JSON object per line.
    Ndjson,
    /// Apache Parquet, flat columns.
    Parquet,
    /// A folder with a subfolder of PNG and JPEG files for each class.
    ImageFolder,
}

impl Format {
    /// The format with a name, as used in a config.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "libsvm" => Some(Format::Libsvm),
            "csv" => Some(Format::Csv),
            "ndjson" => Some(Format::Ndjson),
            "parquet" => Some(Format::Parquet),
            "image-folder" => Some(Format::ImageFolder),
            _ => None,
        }
    }

    /// The format of a file's extension; text formats may have `.gz` appended.
    #[must_use]
    pub fn from_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let (stem, compressed) = match name.strip_suffix(".gz") {
            Some(stem) => (stem, true),
            None => (name.as_str(), false),
        };
        match stem.rsplit_once('.')?.1 {
            "libsvm" | "svm" => Some(Format::Libsvm),
            "csv" => Some(Format::Csv),
            "ndjson" | "jsonl" => Some(Format::Ndjson),
            "parquet" if !compressed => Some(Format::Parquet),
            _ => None,
        }
    }

    /// The format of the extension, or else that of a folder.
    ///
    /// The extension takes precedence: other programs write tables as folders called `table.parquet`, and
    /// reading such a folder as images would give a misleading error.
    #[must_use]
    pub fn detect(path: &Path) -> Option<Self> {
        Self::from_path(path).or_else(|| path.is_dir().then_some(Format::ImageFolder))
    }
}

/// What is to be predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// One of a few classes.
    Classification,
    /// A number.
    Regression,
}

/// How to read a file. Start from [`LoadOptions::new`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadOptions {
    /// The format; if absent, from the extension.
    pub format: Option<Format>,
    /// The label's column; if absent, `label`. LIBSVM files have no column names.
    pub label: Option<String>,
    /// The column that says whose a record is, of a file with columns.
    pub person: Option<String>,
    /// What is to be predicted.
    pub task: Task,
    /// The labels of classes 0, 1, 2 …; if absent, from the file.
    ///
    /// Learners that read different files must all use the same list: a file that lacks a class would number the
    /// others differently.
    pub classes: Option<Vec<String>>,
    /// The columns to encode one-hot, with all others numeric; if absent, detected.
    pub categorical: Option<Vec<String>>,
    /// Columns to leave out.
    pub drop: Vec<String>,
    /// The number of features, intercept excluded. It sets the dimension of LIBSVM files, which leave zeros out;
    /// for other formats it is checked.
    pub dimension: Option<usize>,
    /// Whether to append a feature that is always 1.
    pub intercept: bool,
}

impl LoadOptions {
    /// Options that detect everything, drop nothing and add no intercept.
    #[must_use]
    pub fn new(task: Task) -> Self {
        LoadOptions {
            format: None,
            label: None,
            person: None,
            task,
            classes: None,
            categorical: None,
            drop: Vec::new(),
            dimension: None,
            intercept: false,
        }
    }

    pub(super) fn label_column(&self) -> &str {
        self.label.as_deref().unwrap_or("label")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_name_formats() {
        let cases = [
            ("a.libsvm", Some(Format::Libsvm)),
            ("a.SVM", Some(Format::Libsvm)),
            ("dir/a.csv", Some(Format::Csv)),
            ("a.csv.gz", Some(Format::Csv)),
            ("a.ndjson", Some(Format::Ndjson)),
            ("a.jsonl.gz", Some(Format::Ndjson)),
            ("a.parquet", Some(Format::Parquet)),
            ("a.parquet.gz", None),
            ("a.txt", None),
            ("csv", None),
            ("", None),
        ];
        for (path, format) in cases {
            assert_eq!(Format::from_path(Path::new(path)), format, "{path}");
        }
    }
}
