//! Why a data set cannot be installed or loaded.

use std::path::{Path, PathBuf};

use crate::data::DataError;
use thiserror::Error;

/// Why a data set cannot be installed or loaded. An installation that fails leaves nothing behind.
#[derive(Debug, Error)]
pub enum CatalogueError {
    /// No set has this name.
    #[error("no data set is called \"{name}\"; there are: {}", known.join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
        /// All names there are.
        known: Vec<&'static str>,
    },
    /// The set is part of the program.
    #[error("{name} is built in: there is nothing to install")]
    BuiltIn {
        /// Which set.
        name: &'static str,
    },
    /// The machine gives no place for a cache.
    #[error("no folder for the cache: give --cache DIR, or set UNDERTONE_CACHE or HOME")]
    NoCache,
    /// The client is not installed.
    #[error(
        "`{client}` is not installed, which gets the package {package}. Install it; or get the \
         package elsewhere and give it with `undertone data get {name} --from FILE` (a folder with \
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
    /// The client ended with an error.
    #[error(
        "`{command}` failed{}. It said:\n{said}\nThe package can also be fetched elsewhere and \
         given with `undertone data get {name} --from FILE`",
        if *offline { ": the network cannot be reached" } else { "" }
    )]
    ClientFailed {
        /// What was run.
        command: String,
        /// The set.
        name: &'static str,
        /// Whether its words are those of a machine without a network.
        offline: bool,
        /// Its last words.
        said: String,
    },
    /// The client said nothing was wrong, but left no package.
    #[error("`{command}` ended well but left {found} files where one package was expected")]
    NotOnePackage {
        /// What was run.
        command: String,
        /// How many files it left.
        found: usize,
    },
    /// A file is no package of a known kind.
    #[error("{}: not a package (.tgz, .tar.gz, .whl, .zip or .deb)", path.display())]
    NotAPackage {
        /// Which file.
        path: PathBuf,
    },
    /// A package cannot be unpacked.
    #[error("{}: damaged, or not what it seems: {reason}", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What the unpacker said.
        reason: String,
    },
    /// A member is far larger than any that is known.
    #[error("{}: `{member}` is larger than {limit} bytes", path.display())]
    TooLarge {
        /// Which package.
        path: PathBuf,
        /// Which member.
        member: String,
        /// The most that is unpacked.
        limit: u64,
    },
    /// A file that is needed is not there.
    #[error("{}: has no `{member}`", path.display())]
    MissingMember {
        /// The package or folder.
        path: PathBuf,
        /// What was looked for.
        member: String,
    },
    /// A file is not the one that is known.
    #[error("{file} has the sha256 {found}, not {expected}: refused, nothing was installed")]
    WrongHash {
        /// Which file.
        file: &'static str,
        /// The hash that is known.
        expected: &'static str,
        /// The hash it has.
        found: String,
    },
    /// A picture or table does not have the form that is known.
    #[error("{file}: {reason}: refused, nothing was installed")]
    WrongForm {
        /// Which file.
        file: String,
        /// What is wrong, without a value.
        reason: String,
    },
    /// Another process is getting the same set.
    #[error("{name} is being installed by another process: wait for it to end")]
    Busy {
        /// Which set.
        name: &'static str,
    },
    /// There is something else where the set would go.
    #[error("{}: holds other files than the set's own, and is left alone: move it away, or use another cache", path.display())]
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
    /// The disk failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
}

impl CatalogueError {
    /// Names the file or folder that the operating system failed on.
    pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> CatalogueError + '_ {
        |source| CatalogueError::Io { path: path.to_path_buf(), source }
    }
}
