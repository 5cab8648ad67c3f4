//! Where the records of an experiment are, and in which order they arrive.

use super::StreamError;
use crate::catalogue;
use crate::catalogue::recipe::Recipe;
use crate::data::Format;
use crate::experiment::{Data, RecordOrder};
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

/// The name of the data that come with the program.
pub const EMBEDDED: &str = "mushrooms";

/// Where records are.
pub(crate) enum DataSource {
    /// In a file, or in a folder of images.
    File(PathBuf),
    /// In the cache, or built in.
    Known(&'static Recipe),
}

/// A name with a separator, or of a file that exists, is a path; then come the known data sets, and
/// then folders, so that a folder called `mnist` that happens to be there does not stand in for it.
pub(crate) fn find_source(data: &Data, folder: &Path) -> Result<DataSource, StreamError> {
    let name = data.source.as_str();
    let path = folder.join(name);
    if name == EMBEDDED || !(name.contains(['/', MAIN_SEPARATOR]) || path.is_file()) {
        if let Some(recipe) = catalogue::find(name) {
            return Ok(DataSource::Known(recipe));
        }
        // With the ending of a file it was meant as one, and loading it says what is missing.
        if Format::detect(&path).is_none() && data.format.is_none() {
            return Err(StreamError::UnknownSource { name: name.to_string() });
        }
    }
    Ok(DataSource::File(path))
}

/// Whether what is at the path is read as a folder of images.
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
