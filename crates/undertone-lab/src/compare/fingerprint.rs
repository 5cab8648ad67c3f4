//! What a comparison is of, as one digest.

use crate::catalogue::{hex, sha256};
use crate::data::image_folder;
use crate::error::{ExperimentError, FileError};
use crate::experiment::LoadedExperiment;
use crate::stream::StreamError;
use crate::stream::source::{DataSource, find_source, is_image_folder};
use sha2::{Digest, Sha256};
use std::path::Path;

/// A digest of the config, its data and the program's version: runs of others are not compared.
pub(super) fn fingerprint(base: &LoadedExperiment) -> Result<String, ExperimentError> {
    let mut hash = Sha256::new();
    hash.update(env!("CARGO_PKG_VERSION"));
    hash.update(toml::to_string(&base.raw).map_err(FileError::from)?);
    // A known data set has a digest of its own, which is checked whenever it is loaded.
    if let Ok(DataSource::File(path)) = find_source(&base.checked.data, &base.folder) {
        hash.update(if is_image_folder(&base.checked.data, &path) {
            folder_digest(&path)?
        } else {
            file_digest(&path)?
        });
    }
    Ok(hex(hash))
}

fn file_digest(path: &Path) -> Result<String, FileError> {
    sha256(path).map_err(FileError::read(path))
}

/// A digest of the names and contents of all images, in the order in which they are loaded.
fn folder_digest(folder: &Path) -> Result<String, ExperimentError> {
    let mut hash = Sha256::new();
    // Lengths go before names, so that no two folders are spelt alike.
    let mut add = |text: &[u8]| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    };
    for class in image_folder::list(folder).map_err(StreamError::from)? {
        add(class.name.as_bytes());
        add(&(class.images.len() as u64).to_le_bytes());
        for image in &class.images {
            add(image.file_name().unwrap_or_default().as_encoded_bytes());
            add(file_digest(image)?.as_bytes());
        }
    }
    Ok(hex(hash))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn digest(files: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        folder_digest(folder.path()).unwrap()
    }

    #[test]
    fn a_folder_has_another_digest_if_any_name_or_content_is_another() {
        let own = digest(&[("a/1.png", "x"), ("a/2.png", "y"), ("b/3.png", "z")]);
        // Neither the order of writing nor what is hidden counts.
        let same =
            [("b/3.png", "z"), ("a/.notes", "?"), ("a/2.png", "y"), ("a/1.png", "x"), (".x", "")];
        assert_eq!(own, digest(&same));
        let others: [&[(&str, &str)]; 6] = [
            &[("a/1.png", "x"), ("a/2.png", "y"), ("b/3.png", "Z")],
            &[("a/1.png", "y"), ("a/2.png", "x"), ("b/3.png", "z")],
            &[("a/1.png", "x"), ("a/2.png", "y"), ("b/4.png", "z")],
            &[("a/1.png", "x"), ("a/2.png", "y"), ("c/3.png", "z")],
            &[("a/1.png", "x"), ("b/2.png", "y"), ("b/3.png", "z")],
            &[("a/1.png", "x"), ("a/2.png", "y"), ("b/3.png", "z"), ("b/4.png", "")],
        ];
        for other in others {
            assert_ne!(own, digest(other), "{other:?}");
        }
    }

    #[test]
    fn a_folder_that_is_none_of_images_has_no_digest() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(
            folder_digest(folder.path()),
            Err(ExperimentError::Stream(StreamError::Data(_)))
        ));
    }
}
