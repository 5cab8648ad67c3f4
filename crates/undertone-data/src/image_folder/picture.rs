//! One image from a file with arbitrary contents.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use undertone::neural::Shape;

use super::super::{DIMENSION_MAX, DataError, FileFault};
use super::{jpeg, png};

/// The largest file that is read.
///
/// An image of [`DIMENSION_MAX`] values takes a sixteenth of it; the rest allows for camera metadata.
const FILE_BYTES_MAX: u64 = 1 << 26;

const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
const JPEG_SIGNATURE: &[u8] = b"\xff\xd8\xff";

/// An image of 8-bit values, greyscale or RGB.
pub(super) struct Picture {
    pub(super) shape: Shape,
    /// Channel by channel, each row by row.
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
    /// A picture from its pixels, row by row. A pixel has `samples` values, the first of which are its
    /// channels.
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
        return Err(DataError::file(path, FileFault::TooLarge { limit: FILE_BYTES_MAX }));
    }
    decode(&bytes).map_err(|fault| DataError::file(path, fault))
}

/// Decodes the bytes of a file. The first bytes decide the format, because extensions are often wrong.
pub(super) fn decode(bytes: &[u8]) -> Result<Picture, FileFault> {
    let (format, decoder): (&str, Decoder) = if bytes.starts_with(PNG_SIGNATURE) {
        ("PNG", png::decode)
    } else if bytes.starts_with(JPEG_SIGNATURE) {
        ("JPEG", jpeg::decode)
    } else {
        return Err(FileFault::UnknownContent);
    };
    // Neither decoder is known to panic; if one does, the program must not end. Only the result leaves
    // the closure, so no inconsistent state can be observed.
    catch_unwind(AssertUnwindSafe(|| decoder(bytes))).unwrap_or(Err(FileFault::Damaged { format }))
}

/// The shape of an image, if it has few enough values to be loaded.
///
/// A few bytes can claim an image that fills all memory, so this is checked before any pixel is unpacked.
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
