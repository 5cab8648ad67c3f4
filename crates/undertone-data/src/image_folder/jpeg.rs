//! JPEG files.

use std::io::Cursor;

use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::super::FileFault;
use super::picture::{Picture, shape_within_limits};

/// The last two bytes of an image.
const END_OF_IMAGE: &[u8] = b"\xff\xd9";

/// Decodes a JPEG file, baseline or progressive; lossless and arithmetic-coded files count as damaged.
///
/// Orientation tags and colour profiles are ignored.
pub(super) fn decode(bytes: &[u8]) -> Result<Picture, FileFault> {
    // Our limit is on the number of values, so an image may be long and thin.
    let side_max = usize::from(u16::MAX);
    // Without `strict` the rest of a damaged image would be grey, and would pass as a record.
    let options = DecoderOptions::new_safe()
        .set_strict_mode(true)
        .set_max_width(side_max)
        .set_max_height(side_max);

    let mut stream = Cursor::new(bytes);
    let mut header = JpegDecoder::new_with_options(&mut stream, options);
    // The decoder's messages are left out: they may show bytes of the file.
    header.decode_headers().map_err(|_| damaged())?;
    let (Some(info), Some(colours)) = (header.info(), header.input_colorspace()) else {
        return Err(damaged());
    };
    #[expect(clippy::wildcard_enum_match_arm, reason = "all that the decoder may ever know")]
    let (channels, colours) = match colours {
        ColorSpace::Luma => (1, ColorSpace::Luma),
        ColorSpace::YCbCr | ColorSpace::RGB => (3, ColorSpace::RGB),
        _ => return Err(FileFault::OtherColours),
    };
    let shape = shape_within_limits(channels, info.height.into(), info.width.into())?;
    // Even in strict mode the decoder invents the end of a file that is truncated in its last row.
    let scans = usize::try_from(stream.position()).ok().and_then(|index| bytes.get(index..));
    if !scans.is_some_and(|scans| scans.windows(2).any(|pair| pair == END_OF_IMAGE)) {
        return Err(damaged());
    }

    let options = options.jpeg_set_out_colorspace(colours);
    let mut decoder = JpegDecoder::new_with_options(Cursor::new(bytes), options);
    let pixels = decoder.decode().map_err(|_| damaged())?;
    if pixels.len() != shape.count() {
        return Err(damaged());
    }
    Ok(Picture::from_pixels(shape, &pixels, channels))
}

fn damaged() -> FileFault {
    FileFault::Damaged { format: "JPEG" }
}
