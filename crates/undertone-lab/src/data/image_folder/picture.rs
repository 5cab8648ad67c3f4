//! One image out of a file that may hold anything.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use undertone::neural::Shape;

use super::super::{DIMENSION_MAX, DataError, FileFault};
use super::{ImageFault, jpeg, png};

/// The largest file that is read.
///
/// An image of [`DIMENSION_MAX`] values takes a sixteenth of it; the rest is for what cameras add.
const FILE_BYTES_MAX: u64 = 1 << 26;

const PNG_BEGINNING: &[u8] = b"\x89PNG\r\n\x1a\n";
const JPEG_BEGINNING: &[u8] = b"\xff\xd8\xff";

/// An image of 8-bit values, grey or of red, green and blue.
pub(super) struct Picture {
    pub(super) shape: Shape,
    /// Channel after channel, each row after row.
    pub(super) values: Vec<u8>,
}

type Decoder = fn(&[u8]) -> Result<Picture, FileFault>;

/// Prints the shape only: pixels are private.
impl fmt::Debug for Picture {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Picture({}, <redacted>)", self.shape)
    }
}

impl Picture {
    /// A picture from its pixels row after row, each of `samples` values, of which the first
    /// are its channels.
    pub(super) fn from_pixels(shape: Shape, pixels: &[u8], samples: usize) -> Picture {
        let mut values = Vec::with_capacity(shape.count());
        for channel in 0..shape.channels {
            values.extend(pixels.iter().skip(channel).step_by(samples));
        }
        Picture { shape, values }
    }
}

/// Reads the image in a file.
pub(super) fn read(path: &Path) -> Result<Picture, DataError> {
    let failed = |error| DataError::io(path, error);
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(DataError::file(path, ImageFault::TooLarge { limit: FILE_BYTES_MAX }.into()));
    }
    decode(&bytes).map_err(|fault| DataError::file(path, fault))
}

/// The image in the bytes of a file: what they are is told by how they begin, since files are
/// often called by the other format's ending.
pub(super) fn decode(bytes: &[u8]) -> Result<Picture, FileFault> {
    let (format, decoder): (&str, Decoder) = if bytes.starts_with(PNG_BEGINNING) {
        ("PNG", png::decode)
    } else if bytes.starts_with(JPEG_BEGINNING) {
        ("JPEG", jpeg::decode)
    } else {
        return Err(ImageFault::UnknownContent.into());
    };
    // No panic of either decoder is known; one that is found must not end the program. Nothing
    // outlives the closure but its result, so that no half-made state can be seen.
    catch_unwind(AssertUnwindSafe(|| decoder(bytes)))
        .unwrap_or_else(|_| Err(ImageFault::Damaged { format }.into()))
}

/// The shape of an image, if it has few enough values to be loaded.
///
/// A few bytes can claim to be an image that fills all memory, so this is asked before any pixel
/// is unpacked.
pub(super) fn shape_within_limits(
    channels: usize,
    height: u32,
    width: u32,
) -> Result<Shape, FileFault> {
    let too_many = FileFault::TooManyFeatures { limit: DIMENSION_MAX };
    let (Ok(height), Ok(width)) = (usize::try_from(height), usize::try_from(width)) else {
        return Err(too_many);
    };
    let shape = Shape { channels, height, width };
    match shape.checked_len() {
        Some(0) => Err(FileFault::NoFeatures),
        Some(1..=DIMENSION_MAX) => Ok(shape),
        _ => Err(too_many),
    }
}
