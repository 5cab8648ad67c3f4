//! Images of records inside a page.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use undertone::neural::Shape;

/// An `<img>` of greyscale or RGB values, channel by channel, from `black` to one above it; `None` for other
/// shapes.
pub(super) fn picture(shape: Shape, values: &[f64], black: f64, title: &str) -> Option<String> {
    let (color, channels) = match shape.channels {
        1 => (png::ColorType::Grayscale, 1),
        3 => (png::ColorType::Rgb, 3),
        _ => return None,
    };
    let area = shape.height * shape.width;
    // A single pixel is not a picture but a record of some numbers.
    if area < 2 || values.len() != channels * area {
        return None;
    }
    let mut bytes = Vec::with_capacity(values.len());
    for pixel in 0..area {
        for channel in 0..channels {
            let value = (values[channel * area + pixel] - black).clamp(0.0, 1.0);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 0 and 255"
            )]
            bytes.push((255.0 * value).round() as u8);
        }
    }
    let mut file = Vec::new();
    let (width, height) = (u32::try_from(shape.width).ok()?, u32::try_from(shape.height).ok()?);
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(color);
    encoder.write_header().ok()?.write_image_data(&bytes).ok()?;
    Some(format!(
        "<img class=\"record\" alt=\"{title}\" src=\"data:image/png;base64,{}\">",
        BASE64_STANDARD.encode(file)
    ))
}
