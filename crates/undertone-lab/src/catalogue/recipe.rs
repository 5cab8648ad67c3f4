//! What a data set consists of and how its files are made from a package.

/// A data set that can be asked for by name.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// What it is called, here and in a config.
    pub name: &'static str,
    /// Records to learn from.
    pub train_rows: usize,
    /// Records that the makers of the set have set apart for testing; they come last.
    pub test_rows: usize,
    /// Features of a record as loaded, one-hot ones included.
    pub features: usize,
    /// How many classes there are.
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
    /// It is inside a package that an ordinary client gets by name.
    Package {
        /// The package.
        package: Package,
        /// What is made of it.
        files: &'static [FileRecipe],
    },
}

/// A package and the client that gets it.
#[derive(Clone, Copy, Debug)]
pub struct Package {
    /// The client.
    pub client: Client,
    /// What the client is asked, the package last.
    pub arguments: &'static [&'static str],
}

/// A package client found on ordinary machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// Of Node.js.
    Npm,
    /// Of Python.
    Pip,
    /// Of Debian and its relatives.
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
    /// The published files it is made of, one after the other.
    pub parts: &'static [Part],
    /// What becomes of them.
    pub shape: Shape,
}

/// A file as its makers published it.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The name it was published under; `--from` accepts it.
    pub published_as: &'static str,
    /// What it is in the package.
    pub origin: Origin,
    /// Its size and hash.
    pub checksum: Checksum,
    /// Lines at its top that are no records, where a table is made of it.
    pub skipped_lines: usize,
}

/// What a published file is in the package.
#[derive(Clone, Copy, Debug)]
pub enum Origin {
    /// The member itself.
    Plain(&'static str),
    /// The member, compressed with gzip.
    Gzip(&'static str),
    /// The member, to which the packagers added a header line.
    Headed(&'static str),
    /// A batch of CIFAR images, one a row of a picture, with its labels in a list.
    CifarPicture {
        /// The picture.
        picture: &'static str,
        /// The list of all labels, in JSON.
        labels: &'static str,
        /// Where the labels of this batch begin.
        first_label: usize,
    },
}

/// What becomes of published files.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// The one part, byte for byte.
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
/// Numbers are divided by constants taken from their meaning, never from the records, so that no
/// column drowns the others when rows are scaled into the bounds.
#[derive(Clone, Copy, Debug)]
pub enum Column {
    /// Numbers, divided by a constant.
    Number(&'static str, f64),
    /// Numbers used as they are.
    Plain(&'static str),
    /// Categories, even where they look like numbers.
    Category(&'static str),
    /// This many columns of zeros and ones, called by this name and a number from 1.
    Flags(&'static str, usize),
    /// What is to be predicted; a full stop at its end is left out.
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
    /// The package by name, with its version if that is fixed.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.arguments.last().copied().unwrap_or_default()
    }

    /// The whole command, to be read by people.
    #[must_use]
    pub fn command(&self) -> String {
        format!("{} {}", self.client.programs()[0], self.arguments.join(" "))
    }
}

impl Client {
    /// The names it may be installed under, the usual one first.
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
    /// The size and hash it must have in the cache.
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

/// Each column's name and, where it is divided, by what.
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
