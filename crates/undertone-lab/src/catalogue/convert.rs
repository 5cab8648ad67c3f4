//! From members of a package to published files, and from those to the files of the cache.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::CatalogueError;
use super::recipe::{Column, Origin, Part, column_names};

/// Pixels of a CIFAR image, and values of each of its three colours.
const CIFAR_PIXELS: usize = 1024;

/// Longest header line that is looked for.
const HEADER_BYTES_MAX: u64 = 1 << 16;

/// Makes a published file from the members of its [`Origin`], in their order.
pub(super) fn publish(part: &Part, members: &[&Path], to: &Path) -> Result<(), CatalogueError> {
    let wrong = |reason: &str| wrong_form(part.published_as, reason);
    let member = members[0];
    let mut reader = BufReader::new(File::open(member).map_err(CatalogueError::io(member))?);
    let mut writer = BufWriter::new(File::create(to).map_err(CatalogueError::io(to))?);
    match part.origin {
        Origin::Plain(_) => {
            io::copy(&mut reader, &mut writer).map_err(CatalogueError::io(to))?;
        }
        Origin::Gzip(_) => {
            // One byte too many is enough for the hash to differ, and keeps the disk from filling.
            let mut plain = MultiGzDecoder::new(reader).take(part.checksum.bytes + 1);
            io::copy(&mut plain, &mut writer).map_err(|_| wrong("its gzip stream is damaged"))?;
        }
        Origin::Headed(_) => {
            let mut header = Vec::new();
            let mut top = Read::by_ref(&mut reader).take(HEADER_BYTES_MAX);
            top.read_until(b'\n', &mut header).map_err(CatalogueError::io(member))?;
            io::copy(&mut reader, &mut writer).map_err(CatalogueError::io(to))?;
        }
        Origin::CifarPicture { first_label, .. } => {
            let labels = File::open(members[1]).map_err(CatalogueError::io(members[1]))?;
            let labels: Vec<u8> = serde_json::from_reader(BufReader::new(labels))
                .map_err(|_| wrong("its labels are no list of small numbers"))?;
            let labels = labels.get(first_label..).unwrap_or_default();
            cifar_batch(part, reader, labels, &mut writer, to)?;
        }
    }
    writer.flush().map_err(CatalogueError::io(to))
}

/// Writes a picture whose rows are images as a label and three planes of colour for each.
fn cifar_batch(
    part: &Part,
    picture: BufReader<File>,
    labels: &[u8],
    writer: &mut impl Write,
    to: &Path,
) -> Result<(), CatalogueError> {
    let wrong = |reason: &str| wrong_form(part.published_as, reason);
    let mut picture =
        png::Decoder::new(picture).read_info().map_err(|_| wrong("its picture is no PNG"))?;
    let form = (picture.info().width as usize, picture.output_color_type());
    if form != (CIFAR_PIXELS, (png::ColorType::Rgb, png::BitDepth::Eight)) {
        return Err(wrong("its picture is not 1024 pixels wide in three colours of 8 bits"));
    }
    if picture.info().interlaced {
        return Err(wrong("its picture is interlaced"));
    }
    if picture.info().height as usize > labels.len() {
        return Err(wrong("it has more images than labels"));
    }
    let mut image = Vec::with_capacity(1 + 3 * CIFAR_PIXELS);
    for &label in &labels[..picture.info().height as usize] {
        let row = picture.next_row().map_err(|_| wrong("its picture is damaged"))?;
        let row = row.ok_or_else(|| wrong("its picture is cut off"))?;
        image.clear();
        image.push(label);
        for colour in 0..3 {
            image.extend(row.data().iter().skip(colour).step_by(3));
        }
        writer.write_all(&image).map_err(CatalogueError::io(to))?;
    }
    Ok(())
}

/// Makes a CSV file with a header from published files, which have none of their own.
pub(super) fn tabulate(
    parts: &[(&Part, &Path)],
    columns: &[Column],
    to: &Path,
) -> Result<(), CatalogueError> {
    let columns = column_names(columns);
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let mut writer = BufWriter::new(File::create(to).map_err(CatalogueError::io(to))?);
    writeln!(writer, "{}", names.join(",")).map_err(CatalogueError::io(to))?;
    for (part, path) in parts {
        let reader = BufReader::new(File::open(path).map_err(CatalogueError::io(path))?);
        for (place, line) in reader.lines().enumerate().skip(part.skipped_lines) {
            let line = line.map_err(CatalogueError::io(path))?;
            if line.trim().is_empty() {
                continue;
            }
            let row = table_row(&line, &columns).map_err(|reason| {
                wrong_form(part.published_as, &format!("line {}: {reason}", place + 1))
            })?;
            writeln!(writer, "{row}").map_err(CatalogueError::io(to))?;
        }
    }
    writer.flush().map_err(CatalogueError::io(to))
}

/// A row without spaces around its values, numbers divided as their columns say.
fn table_row(line: &str, columns: &[(String, Option<f64>)]) -> Result<String, String> {
    let values: Vec<&str> = line.split(',').map(str::trim).collect();
    if values.len() != columns.len() {
        return Err(format!("{} fields where {} are needed", values.len(), columns.len()));
    }
    let mut row = String::with_capacity(line.len());
    for (place, (value, (name, divisor))) in values.iter().zip(columns).enumerate() {
        if place > 0 {
            row.push(',');
        }
        match divisor {
            None if name == "label" => row.push_str(value.trim_end_matches('.')),
            None => row.push_str(value),
            Some(divisor) => {
                let number: f64 =
                    value.parse().map_err(|_| format!("column `{name}`: value is not a number"))?;
                row.push_str(&(number / divisor).to_string());
            }
        }
    }
    Ok(row)
}

fn wrong_form(file: &str, reason: &str) -> CatalogueError {
    CatalogueError::WrongForm { file: file.to_string(), reason: reason.to_string() }
}
