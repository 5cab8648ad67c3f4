//! PNG files.

use std::io::Cursor;

use ::png::{BitDepth, ColorType, Decoder, Limits, Transformations};

use super::super::FileFault;
use super::picture::{Picture, shape_within_limits};

/// The memory that the decoder may allocate besides the pixels.
const MEMORY_MAX: Limits = Limits { bytes: 1 << 26 };

/// Decodes a PNG file.
///
/// Palettes become RGB; grey values of fewer bits are scaled to 0 to 255. An alpha channel is dropped if all
/// pixels are opaque. Colour profiles and gamma are ignored.
pub(super) fn decode(bytes: &[u8]) -> Result<Picture, FileFault> {
    let damaged = |_| FileFault::Damaged { format: "PNG" };
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), MEMORY_MAX);
    decoder.set_transformations(Transformations::EXPAND);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let header = decoder.read_header_info().map_err(damaged)?;
    if header.bit_depth == BitDepth::Sixteen {
        return Err(FileFault::SixteenBits);
    }
    let (width, height) = header.size();
    // The number of channels is not known yet: check the smallest possible image, a greyscale one.
    shape_within_limits(1, height, width)?;

    let mut reader = decoder.read_info().map_err(damaged)?;
    if reader.info().is_animated() {
        return Err(FileFault::Animated);
    }
    let (channels, has_alpha) = match reader.output_color_type().0 {
        ColorType::Grayscale => (1, false),
        ColorType::GrayscaleAlpha => (1, true),
        ColorType::Rgb => (3, false),
        ColorType::Rgba => (3, true),
        ColorType::Indexed => return Err(FileFault::Damaged { format: "PNG" }),
    };
    let shape = shape_within_limits(channels, height, width)?;
    let samples = channels + usize::from(has_alpha);
    let mut pixels = vec![0; shape.height * shape.width * samples];
    reader.next_frame(&mut pixels).map_err(damaged)?;
    // A file that is truncated after its last pixel is damaged too.
    reader.finish().map_err(damaged)?;
    if has_alpha && pixels.chunks_exact(samples).any(|pixel| pixel[channels] != u8::MAX) {
        return Err(FileFault::Transparent);
    }
    Ok(Picture::from_pixels(shape, &pixels, samples))
}
