//! Folders as people have them, and as they should not.

use std::fs;
use std::path::Path;

use ::png::{BitDepth, ColorType};
use jpeg_encoder::ColorType as JpegColours;
use proptest::prelude::*;
use undertone::neural::Shape;

use super::super::{DIMENSION_MAX, DataError, Dataset, FileFault, LoadOptions, Task};
use super::picture::decode;

/// A PNG file; `more` sets what else there is to set.
fn png_file(
    (width, height): (u32, u32),
    (colours, depth): (ColorType, BitDepth),
    data: &[u8],
    more: impl FnOnce(&mut ::png::Encoder<'_, &mut Vec<u8>>),
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(colours);
    encoder.set_depth(depth);
    more(&mut encoder);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(data).unwrap();
    writer.finish().unwrap();
    bytes
}

fn grey_png(width: u32, height: u32, data: &[u8]) -> Vec<u8> {
    png_file((width, height), (ColorType::Grayscale, BitDepth::Eight), data, |_| ())
}

fn jpeg_file(
    (width, height): (u16, u16),
    colours: JpegColours,
    data: &[u8],
    progressive: bool,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = jpeg_encoder::Encoder::new(&mut bytes, 100);
    encoder.set_progressive(progressive);
    encoder.encode(data, width, height, colours).unwrap();
    bytes
}

/// A name and what is in the file.
type File<'a> = (&'a str, &'a [u8]);

/// A folder that holds these files, and folders where a name ends in a slash.
fn folder(files: &[File<'_>]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        if name.ends_with('/') {
            fs::create_dir_all(path).unwrap();
        } else {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }
    folder
}

fn options() -> LoadOptions {
    LoadOptions::new(Task::Classification)
}

fn read(path: &Path) -> Result<Dataset, DataError> {
    super::super::load(path, &options())
}

/// The file or folder that is to blame, below `folder`, and what is wrong with it.
fn refusal(folder: &Path, options: &LoadOptions) -> (String, FileFault) {
    match super::super::load(folder, options) {
        Err(DataError::File { path, fault }) => {
            (path.strip_prefix(folder).unwrap().display().to_string(), fault)
        }
        other => panic!("{other:?}"),
    }
}

fn values(dataset: &Dataset, record: usize) -> Vec<u8> {
    let entries = dataset.records[record].features.entries();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 255")]
    entries.map(|(_, value)| (255.0 * value).round() as u8).collect()
}

#[test]
fn classes_and_images_come_sorted_by_name_and_values_are_divided_by_255() {
    let folder = folder(&[
        ("dog/b.png", &grey_png(2, 1, &[4, 5])),
        ("dog/a.PNG", &grey_png(2, 1, &[51, 255])),
        ("ant/10.png", &grey_png(2, 1, &[0, 1])),
        ("ant/9.png", &grey_png(2, 1, &[2, 3])),
        ("ant/.thumbnail", b"hidden"),
        (".cache/x.txt", b"hidden"),
    ]);
    let dataset = read(folder.path()).unwrap();
    assert_eq!(dataset.classes.as_deref().unwrap(), ["ant", "dog"]);
    let labels: Vec<bool> = dataset.labels().iter().map(|&label| label > 0.5).collect();
    assert_eq!(labels, [false, false, true, true]);
    let all: Vec<Vec<u8>> = (0..4).map(|record| values(&dataset, record)).collect();
    assert_eq!(all, [[0, 1], [2, 3], [51, 255], [4, 5]]);
    let third: Vec<f64> = dataset.records[2].features.entries().map(|(_, value)| value).collect();
    assert_eq!(third, [51.0 / 255.0, 1.0]);
    assert_eq!(dataset.image_shape, Some(Shape { channels: 1, height: 1, width: 2 }));
    assert_eq!(dataset.feature_names, ["pixel1", "pixel2"]);

    let widened = LoadOptions { intercept: true, dimension: Some(2), ..options() };
    let dataset = super::load(folder.path(), &widened).unwrap();
    assert_eq!((dataset.dimension, values(&dataset, 2)), (3, vec![51, 255, 255]));

    let mut centred = dataset;
    centred.centre();
    let third: Vec<f64> = centred.records[2].features.entries().map(|(_, value)| value).collect();
    assert_eq!(third, [51.0 / 255.0 - 0.5, 0.5, 1.0], "pixels only");
}

#[test]
fn colours_lie_one_after_another_whatever_the_format() {
    let rgb = (ColorType::Rgb, BitDepth::Eight);
    let pixels = [1, 2, 3, 4, 5, 6];
    let png = png_file((2, 1), rgb, &pixels, |_| ());
    // A palette is spelt out; an alpha channel that is opaque throughout says nothing.
    let palette = png_file((2, 1), (ColorType::Indexed, BitDepth::Eight), &[1, 0], |encoder| {
        encoder.set_palette(&[4, 5, 6, 1, 2, 3][..]);
        encoder.set_trns(&[255, 255][..]);
    });
    let rgba = (ColorType::Rgba, BitDepth::Eight);
    let opaque = png_file((2, 1), rgba, &[1, 2, 3, 255, 4, 5, 6, 255], |_| ());
    let folder = folder(&[("a/1.png", &png[..]), ("b/2.png", &palette), ("b/3.png", &opaque)]);
    let dataset = read(folder.path()).unwrap();
    for record in 0..3 {
        assert_eq!(values(&dataset, record), [1, 4, 2, 5, 3, 6], "{record}");
    }
    assert_eq!(dataset.image_shape, Some(Shape { channels: 3, height: 1, width: 2 }));
    assert_eq!(dataset.feature_names, ["red1", "red2", "green1", "green2", "blue1", "blue2"]);
}

#[test]
fn grey_values_of_fewer_bits_are_spread_from_0_to_255() {
    let one_bit = png_file((3, 1), (ColorType::Grayscale, BitDepth::One), &[0b1010_0000], |_| ());
    assert_eq!(decode(&one_bit).unwrap().values, [255, 0, 255]);
    let with_alpha = (ColorType::GrayscaleAlpha, BitDepth::Eight);
    let opaque = png_file((2, 1), with_alpha, &[7, 255, 8, 255], |_| ());
    assert_eq!(decode(&opaque).unwrap().values, [7, 8]);
}

/// Sixteen rows of eight pixels, which get brighter downwards, in each of some channels.
fn ramp(channels: usize) -> Vec<u8> {
    let rows = (0..16u8).flat_map(|row| vec![15 * row; 8]);
    rows.flat_map(|value| (0..channels).map(move |channel| value / (channel as u8 + 1))).collect()
}

#[test]
fn jpeg_files_are_read_whatever_they_are_called() {
    for progressive in [false, true] {
        let grey = jpeg_file((8, 16), JpegColours::Luma, &ramp(1), progressive);
        let colour = jpeg_file((8, 16), JpegColours::Rgb, &ramp(3), progressive);
        for (name, bytes, channels) in
            [("a/1.jpg", &grey, 1), ("a/1.JPEG", &colour, 3), ("a/1.png", &colour, 3)]
        {
            let folder = folder(&[(name, bytes), ("b/2.jpeg", bytes)]);
            let dataset = read(folder.path()).unwrap();
            assert_eq!(dataset.image_shape, Some(Shape { channels, height: 16, width: 8 }));
            let found = values(&dataset, 1);
            for (index, &value) in found.iter().enumerate() {
                let (channel, row) = (index / 128, index % 128 / 8);
                let expected = 15 * row / (channel + 1);
                // What JPEG loses, here with colours at half the resolution.
                assert!(expected.abs_diff(value.into()) <= 9, "{name}: {index}");
            }
        }
    }
}

#[test]
fn images_that_are_not_of_eight_bits_in_grey_or_colour_are_refused_by_name() {
    let rgba = (ColorType::Rgba, BitDepth::Eight);
    let deep = (ColorType::Grayscale, BitDepth::Sixteen);
    let indexed = (ColorType::Indexed, BitDepth::Eight);
    let see_through = png_file((2, 1), rgba, &[1, 2, 3, 255, 4, 5, 6, 254], |_| ());
    let palette = png_file((1, 1), indexed, &[0], |encoder| {
        encoder.set_palette(&[4, 5, 6][..]);
        encoder.set_trns(&[0][..]);
    });
    let animated = {
        let mut bytes = Vec::new();
        let mut encoder = ::png::Encoder::new(&mut bytes, 1, 1);
        encoder.set_animated(2, 0).unwrap();
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&[1]).unwrap();
        writer.write_image_data(&[2]).unwrap();
        writer.finish().unwrap();
        bytes
    };
    let cmyk = jpeg_file((8, 8), JpegColours::Cmyk, &[9; 256], false);
    let mut lossless = jpeg_file((8, 8), JpegColours::Luma, &[9; 64], false);
    let frame = lossless.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
    lossless[frame + 1] = 0xc3;
    let cases = [
        (see_through, FileFault::Transparent),
        (palette, FileFault::Transparent),
        (png_file((1, 1), deep, &[1, 2], |_| ()), FileFault::SixteenBits),
        (animated, FileFault::Animated),
        (cmyk, FileFault::OtherColours),
        (lossless, FileFault::Damaged { format: "JPEG" }),
        (b"GIF89a".to_vec(), FileFault::UnknownContent),
        (Vec::new(), FileFault::UnknownContent),
        (b"\x89PNG\r\n\x1a\nnothing".to_vec(), FileFault::Damaged { format: "PNG" }),
        (b"\xff\xd8\xffnothing".to_vec(), FileFault::Damaged { format: "JPEG" }),
    ];
    for (bytes, fault) in cases {
        let folder = folder(&[("a/1.png", &bytes[..]), ("b/2.png", &bytes)]);
        assert_eq!(refusal(folder.path(), &options()), ("a/1.png".into(), fault));
    }
}

#[test]
fn an_image_of_another_shape_is_refused_with_both_shapes_and_no_pixel() {
    let (wide, high) = (grey_png(2, 1, &[201, 202]), grey_png(1, 2, &[203, 204]));
    let colour = png_file((2, 1), (ColorType::Rgb, BitDepth::Eight), &[205; 6], |_| ());
    for (other, shape) in [(&high, "1×2×1"), (&colour, "3×1×2")] {
        let folder = folder(&[("a/1.png", &wide[..]), ("b/2.png", &wide), ("b/3.png", other)]);
        let message = read(folder.path()).unwrap_err().to_string();
        assert!(message.contains("b/3.png: has shape"), "{message}");
        assert!(message.contains("a/1.png"), "{message}");
        assert!(message.contains(shape) && message.contains("1×1×2"), "{message}");
        assert!((201..206).all(|value| !message.contains(&value.to_string())), "{message}");
    }
    assert_eq!(format!("{:?}", decode(&wide).unwrap()), "Picture(1×1×2, <redacted>)");
}

#[test]
fn an_image_cut_off_anywhere_is_refused() {
    let colour = (ColorType::Rgb, BitDepth::Eight);
    let files = [
        png_file((8, 16), colour, &ramp(3), |_| ()),
        jpeg_file((8, 16), JpegColours::Luma, &ramp(1), false),
        jpeg_file((8, 16), JpegColours::Rgb, &ramp(3), false),
        jpeg_file((8, 16), JpegColours::Rgb, &ramp(3), true),
    ];
    for (file, bytes) in files.iter().enumerate() {
        assert!(decode(bytes).is_ok(), "{file}");
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length]).is_err(), "{file}: {length} of {}", bytes.len());
        }
    }
}

#[test]
fn an_image_that_claims_to_be_huge_is_refused_before_it_is_unpacked() {
    // The sides follow the 8 bytes that begin the file and the 8 that begin the header.
    let mut png = grey_png(1, 1, &[0]);
    png[16..24].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
    let sum = chunk_checksum(&png[12..29]);
    png[29..33].copy_from_slice(&sum.to_be_bytes());
    let mut jpeg = jpeg_file((8, 8), JpegColours::Luma, &[9; 64], false);
    let frame = jpeg.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].fill(0xff);
    // A little too large, and too large for its colours only.
    let grey = grey_png(2049, 2048, &vec![0; 2049 * 2048]);
    let rgb = (ColorType::Rgb, BitDepth::Eight);
    let colour = png_file((1200, 1200), rgb, &vec![0; 3 * 1200 * 1200], |_| ());
    for (index, bytes) in [png, jpeg, grey, colour].iter().enumerate() {
        let fault = FileFault::TooManyFeatures { limit: DIMENSION_MAX };
        assert_eq!(decode(bytes).unwrap_err(), fault, "{index}");
    }
    assert!(decode(&grey_png(2048, 2048, &vec![0; 2048 * 2048])).is_ok());
    assert_eq!(decode(&grey_png_of_no_width()).unwrap_err(), damaged_png());
}

/// The checksum of a PNG chunk.
fn chunk_checksum(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

fn grey_png_of_no_width() -> Vec<u8> {
    let mut png = grey_png(1, 1, &[0]);
    png[16..20].fill(0);
    let sum = chunk_checksum(&png[12..29]);
    png[29..33].copy_from_slice(&sum.to_be_bytes());
    png
}

fn damaged_png() -> FileFault {
    FileFault::Damaged { format: "PNG" }
}

#[test]
fn a_folder_of_another_layout_is_refused_with_what_is_wrong_where() {
    let image = &grey_png(1, 1, &[7])[..];
    let (a, b) = (("a/1.png", image), ("b/1.png", image));
    let cases: [(&[File<'_>], &str, FileFault); 10] = [
        (&[], "", FileFault::NoClasses),
        (&[(".hidden/1.png", image)], "", FileFault::NoClasses),
        (&[a], "", FileFault::OneClass),
        (&[a, b, ("1.png", image)], "1.png", FileFault::OutsideClasses),
        (&[a, b, ("labels.csv", b"")], "labels.csv", FileFault::OutsideClasses),
        (&[a, ("b/", b"")], "b", FileFault::EmptyClass),
        (&[a, ("b/.1.png", image)], "b", FileFault::EmptyClass),
        (&[("train/a/1.png", image), b], "train/a", FileFault::NestedFolder),
        (&[a, b, ("b/notes.txt", b"")], "b/notes.txt", FileFault::NotAnImage),
        (&[a, b, ("b/png", image)], "b/png", FileFault::NotAnImage),
    ];
    for (files, location, fault) in cases {
        let folder = folder(files);
        // The layout counts before the number of classes.
        let (found, reason) = refusal(folder.path(), &options());
        let found = found.replace(std::path::MAIN_SEPARATOR, "/");
        assert_eq!((found.as_str(), reason), (location, fault), "{files:?}");
    }
    let folder = folder(&[a, b]);
    let missing = folder.path().join("c");
    assert!(matches!(super::load(&missing, &options()), Err(DataError::NotFound { .. })));
    let file = super::load(&folder.path().join("a/1.png"), &options()).unwrap_err().to_string();
    assert!(file.contains("is not a folder"), "{file}");
}

#[test]
fn options_that_do_not_fit_the_folder_are_refused() {
    let image = &grey_png(1, 1, &[7])[..];
    let folder = folder(&[("a/1.png", image), ("b/1.png", image)]);
    let given = |names: &[&str]| {
        let names = names.iter().map(|name| name.to_string()).collect();
        LoadOptions { classes: Some(names), ..options() }
    };
    let cases = [
        (LoadOptions::new(Task::Regression), "", FileFault::Regression),
        (given(&["b", "c"]), "a", FileFault::UnknownClass),
        (given(&["a"]), "", FileFault::BadClasses),
        (given(&["a", "b", "a"]), "", FileFault::BadClasses),
        (
            LoadOptions { dimension: Some(2), ..options() },
            "a/1.png",
            FileFault::WrongDimension { found: 1, expected: 2 },
        ),
    ];
    for (options, location, fault) in cases {
        assert_eq!(refusal(folder.path(), &options), (location.into(), fault));
    }
    // Given classes fix the numbers, and a class may then be missing.
    let dataset = super::load(folder.path(), &given(&["b", "c", "a"])).unwrap();
    assert!(dataset.labels().iter().zip([2.0, 0.0]).all(|(a, b)| (a - b).abs() < 1e-15));
    assert_eq!(dataset.classes.unwrap(), ["b", "c", "a"]);
}

#[test]
fn a_file_far_larger_than_an_image_is_not_read() {
    let image = &grey_png(1, 1, &[7])[..];
    let folder = folder(&[("a/1.png", image), ("b/1.png", image)]);
    let file = fs::OpenOptions::new().write(true).open(folder.path().join("b/1.png")).unwrap();
    file.set_len((1 << 26) + 1).unwrap();
    let fault = FileFault::TooLarge { limit: 1 << 26 };
    assert_eq!(refusal(folder.path(), &options()), ("b/1.png".into(), fault));
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_what_is_no_file_is_never_opened() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    let image = &grey_png(1, 1, &[7])[..];
    let folder = folder(&[("a/1.png", image), ("b/1.png", image)]);
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("2.png"), image).unwrap();
    symlink(elsewhere.path(), folder.path().join("c")).unwrap();
    symlink(elsewhere.path().join("2.png"), folder.path().join("b/3.png")).unwrap();
    assert_eq!(read(folder.path()).unwrap().records.len(), 4);

    let broken = folder.path().join("b/4.png");
    symlink("nowhere.png", &broken).unwrap();
    let message = read(folder.path()).unwrap_err().to_string();
    assert!(message.contains("b/4.png: cannot be read"), "{message}");
    fs::remove_file(&broken).unwrap();

    let _socket = std::os::unix::net::UnixListener::bind(&broken).unwrap();
    let refused = refusal(folder.path(), &options());
    assert_eq!(refused, ("b/4.png".into(), FileFault::NotAnImage));
    fs::remove_file(&broken).unwrap();

    let nameless = folder.path().join(std::ffi::OsStr::from_bytes(b"z\xff"));
    // Some file systems take names of text only.
    if fs::create_dir(nameless).is_ok() {
        let (_, fault) = refusal(folder.path(), &options());
        assert_eq!(fault, FileFault::ClassNameNotUtf8);
    }
}

proptest! {
    #[test]
    fn no_bytes_make_a_decoder_panic(
        kind in 0..4usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let rgb = (ColorType::Rgb, BitDepth::Eight);
        let mut bytes = match kind {
            0 => png_file((8, 16), rgb, &ramp(3), |_| ()),
            1 => jpeg_file((8, 16), JpegColours::Luma, &ramp(1), false),
            2 => jpeg_file((8, 16), JpegColours::Rgb, &ramp(3), false),
            _ => jpeg_file((8, 16), JpegColours::Rgb, &ramp(3), true),
        };
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        if let Ok(picture) = decode(&bytes) {
            prop_assert_eq!(picture.values.len(), picture.shape.count());
        }
    }
}
