//! Where data sets are kept between runs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::recipe::Recipe;
use super::{CatalogueError, checksum};

/// A folder with one subfolder for each data set that has been got.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache in a folder, which need not exist yet.
    #[must_use]
    pub fn new(folder: PathBuf) -> Cache {
        Cache { folder }
    }

    /// `$UNDERTONE_CACHE`, else `$XDG_CACHE_HOME/undertone`, else `~/.cache/undertone`.
    ///
    /// # Errors
    /// When none of these is set.
    pub fn from_environment() -> Result<Cache, CatalogueError> {
        choose(|name| std::env::var_os(name)).map(Cache::new).ok_or(CatalogueError::NoCache)
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// The folder of a data set, whether it is there or not.
    #[must_use]
    pub fn folder(&self, recipe: &Recipe) -> PathBuf {
        self.folder.join(recipe.name)
    }

    /// Whether every file of a data set is there with the right size. Hashes are not computed:
    /// [`verify`](Cache::verify) does that.
    #[must_use]
    pub fn holds(&self, recipe: &Recipe) -> bool {
        let folder = self.folder(recipe);
        let mut files = recipe.files().iter();
        files.all(|file| checksum::has_size(&folder.join(file.name), file.checksum()))
    }

    /// Computes the hash of every file of a data set.
    ///
    /// # Errors
    /// When a file is missing or is not the one known.
    pub fn verify(&self, recipe: &Recipe) -> Result<(), CatalogueError> {
        let folder = self.folder(recipe);
        let mut files = recipe.files().iter();
        files.try_for_each(|file| {
            checksum::check(&folder.join(file.name), file.name, file.checksum())
        })
    }
}

fn choose(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder =
        |name: &str| variable(name).map(PathBuf::from).filter(|path| path != Path::new(""));
    // The XDG specification says that a relative path is to be ignored.
    let xdg = || folder("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    folder("UNDERTONE_CACHE")
        .or_else(|| xdg().map(|path| path.join("undertone")))
        .or_else(|| folder("HOME").map(|path| path.join(".cache").join("undertone")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_names_a_folder_is_taken() {
        let chosen = |set: &[(&str, &str)]| {
            let find = |name: &str| set.iter().find(|(known, _)| *known == name);
            choose(|name| find(name).map(|(_, value)| OsString::from(value)))
        };
        let all = [("UNDERTONE_CACHE", "own"), ("XDG_CACHE_HOME", "/xdg"), ("HOME", "/home/me")];
        assert_eq!(chosen(&all), Some("own".into()));
        assert_eq!(chosen(&all[1..]), Some("/xdg/undertone".into()));
        assert_eq!(chosen(&all[2..]), Some("/home/me/.cache/undertone".into()));
        assert_eq!(chosen(&[]), None);
        let empty = [("UNDERTONE_CACHE", ""), ("XDG_CACHE_HOME", "relative"), ("HOME", "/h")];
        assert_eq!(chosen(&empty), Some("/h/.cache/undertone".into()));
    }
}
