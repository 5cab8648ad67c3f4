//! Finding the records of an experiment, and their order.

use super::StreamError;
use crate::catalogue;
use crate::catalogue::recipe::Recipe;
use crate::data::Format;
use crate::experiment::{Data, RecordOrder};
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

/// The name of the built-in data set.
pub const EMBEDDED: &str = "mushrooms";

/// Where the records are.
pub(crate) enum DataSource {
    /// A file or a folder of images.
    File(PathBuf),
    /// A data set from the cache, or the built-in one.
    Known(&'static Recipe),
}

/// Finds the source by its name. A name with a separator, or the name of an existing file, is a path; next
/// come known data sets, then folders, so that a folder called `mnist` does not hide the data set.
pub(crate) fn find_source(data: &Data, folder: &Path) -> Result<DataSource, StreamError> {
    let name = data.source.as_str();
    let path = folder.join(name);
    if name == EMBEDDED || !(name.contains(['/', MAIN_SEPARATOR]) || path.is_file()) {
        if let Some(recipe) = catalogue::find(name) {
            return Ok(DataSource::Known(recipe));
        }
        // A name with a known extension is a missing file; loading it reports that.
        if Format::detect(&path).is_none() && data.format.is_none() {
            return Err(StreamError::UnknownSource { name: name.to_string() });
        }
    }
    Ok(DataSource::File(path))
}

/// Whether the path is read as a folder of images.
pub(crate) fn is_image_folder(data: &Data, path: &Path) -> bool {
    let format = match &data.format {
        Some(name) => Format::from_name(name),
        None => Format::detect(path),
    };
    format == Some(Format::ImageFolder)
}

/// The order in which records arrive: the experiment's, else the data set's own.
pub(crate) fn record_order(data: &Data, in_time_order: bool) -> RecordOrder {
    let own = if in_time_order { RecordOrder::File } else { RecordOrder::Shuffled };
    data.order.unwrap_or(own)
}
