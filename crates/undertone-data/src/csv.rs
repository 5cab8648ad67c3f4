//! Comma-separated values with a header row.

use std::cell::RefCell;
use std::io::Read;
use std::path::Path;
use std::rc::Rc;

use ::csv::{ByteRecord, Error, ErrorKind, Position, ReaderBuilder, Trim};

use super::labels::Cell;
use super::table::Table;
use super::{DataError, Dataset, FileFault, LoadOptions, RecordFault};

/// Loads CSV text; `source` is the name used in messages.
///
/// Spaces around values are ignored; an empty value and `?` are missing. A numeric column becomes
/// one feature and a categorical column one feature for each category. Features follow the order of the
/// columns and, within a column, the sorted categories; missing values are a category of their own.
///
/// A column not listed by the options is numeric if all its values that are not missing are
/// numbers; a missing value there is an error. So is a text column of more than a thousand
/// different values, unless it is listed as categorical.
///
/// # Errors
/// When the text cannot be read or does not fit the options.
pub fn load(reader: impl Read, source: &Path, options: &LoadOptions) -> Result<Dataset, DataError> {
    let recent = Rc::new(RefCell::new(Recent::default()));
    let reader = Keeping { reader, recent: Rc::clone(&recent) };
    let mut reader = ReaderBuilder::new().trim(Trim::All).has_headers(false).from_reader(reader);
    let line = |position: Option<&Position>| position.map_or(1, |at| recent.borrow_mut().line(at));
    let failed = |error: Error| {
        let line = line(error.position());
        from_csv(source, line, error)
    };
    let mut record = ByteRecord::new();
    if !reader.read_byte_record(&mut record).map_err(failed)? {
        return Err(DataError::file(source, FileFault::Empty));
    }
    let not_utf8 = |_| DataError::line(source, line(record.position()), RecordFault::NotUtf8);
    let names: Result<Vec<&str>, _> = record.iter().map(std::str::from_utf8).collect();
    let names: Vec<String> = names.map_err(not_utf8)?.into_iter().map(str::to_string).collect();
    let mut table = Table::new(source, &names, options)?;
    while reader.read_byte_record(&mut record).map_err(failed)? {
        let line = line(record.position());
        for (position, bytes) in record.iter().enumerate() {
            if table.is_dropped(position) {
                continue;
            }
            let text = std::str::from_utf8(bytes).map_err(|_| {
                DataError::cell(source, line, &names[position], RecordFault::NotUtf8)
            })?;
            table.push(position, Cell::text(text), line)?;
        }
    }
    table.finish()
}

/// Keeps only what may be shown: kinds, positions and counts.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the kinds of another crate, which may become more"
)]
fn from_csv(source: &Path, line: usize, error: Error) -> DataError {
    match error.into_kind() {
        ErrorKind::Io(error) => DataError::io(source, error),
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            let count = |length| usize::try_from(length).unwrap_or(usize::MAX);
            let fault =
                RecordFault::WrongFieldCount { found: count(len), expected: count(expected_len) };
            DataError::line(source, line, fault)
        }
        // The other kinds are about text and typed records, which are not used here.
        _ => DataError::line(source, line, RecordFault::NotUtf8),
    }
}

/// Remembers the bytes read from the start of the last record on.
///
/// The crate reports as a record's position the end of the record before; the line breaks between the two
/// must be counted to find the line.
#[derive(Default)]
struct Recent {
    bytes: Vec<u8>,
    /// How many bytes of the text precede those kept.
    before: u64,
}

impl Recent {
    /// The line of the record that begins at or after a position; positions must not decrease.
    fn line(&mut self, position: &Position) -> usize {
        let skip = usize::try_from(position.byte().saturating_sub(self.before));
        let skip = skip.unwrap_or(usize::MAX).min(self.bytes.len());
        let breaks = self.bytes[skip..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
        let breaks = breaks.filter(|&&byte| byte == b'\n').count();
        if skip > 1 << 16 {
            self.bytes.drain(..skip);
            self.before += skip as u64;
        }
        usize::try_from(position.line()).unwrap_or(usize::MAX).saturating_add(breaks)
    }
}

/// A reader that copies what it reads to [`Recent`].
struct Keeping<R> {
    reader: R,
    recent: Rc<RefCell<Recent>>,
}

impl<R: Read> Read for Keeping<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.recent.borrow_mut().bytes.extend_from_slice(&buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Task;
    use super::super::table::CATEGORIES_DETECTED_MAX;
    use super::*;

    fn read(text: &[u8], options: &LoadOptions) -> Result<Dataset, DataError> {
        load(text, Path::new("dir/d.csv"), options)
    }

    fn strings(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    fn rows(dataset: &Dataset) -> Vec<Vec<f64>> {
        let dense = |record: &undertone_models::Record| {
            let mut row = vec![0.0; dataset.dimension];
            record.features.add_scaled_to(1.0, &mut row);
            row
        };
        dataset.records.iter().map(dense).collect()
    }

    const PEOPLE: &[u8] = b"\xef\xbb\xbfage,job,label,zip\n\
        41, nurse ,>50K,01\n\
        3.5e1,?,<=50K,2\n\
        -7,,<=50K,01\n\
        0,\"cook, head\",>50K,3\n";

    #[test]
    fn columns_are_detected_and_categories_sorted_with_missing_as_one_of_them() {
        let dataset = read(PEOPLE, &LoadOptions::new(Task::Classification)).unwrap();
        assert_eq!(dataset.name, "d");
        assert_eq!(dataset.feature_names, ["age", "job=?", "job=cook, head", "job=nurse", "zip"]);
        assert_eq!(dataset.classes, Some(strings(&["<=50K", ">50K"])));
        assert_eq!(dataset.labels(), [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(
            rows(&dataset),
            [
                [41.0, 0.0, 0.0, 1.0, 1.0],
                [35.0, 1.0, 0.0, 0.0, 2.0],
                [-7.0, 1.0, 0.0, 0.0, 1.0],
                [0.0, 0.0, 1.0, 0.0, 3.0]
            ]
        );
    }

    #[test]
    fn options_choose_categorical_columns_dropped_ones_and_the_intercept() {
        let mut options = LoadOptions::new(Task::Classification);
        options.categorical = Some(strings(&["zip"]));
        options.drop = strings(&["job"]);
        options.intercept = true;
        options.dimension = Some(4);
        let dataset = read(PEOPLE, &options).unwrap();
        assert_eq!(dataset.feature_names, ["age", "zip=01", "zip=2", "zip=3", "intercept"]);
        assert_eq!(rows(&dataset)[1], [35.0, 0.0, 1.0, 0.0, 1.0]);
        options.dimension = Some(5);
        let message = read(PEOPLE, &options).unwrap_err().to_string();
        assert_eq!(message, "dir/d.csv: 4 features, but the dimension asked for is 5");
    }

    #[test]
    fn regression_reads_labels_as_numbers() {
        let mut options = LoadOptions::new(Task::Regression);
        options.label = Some("y".to_string());
        let dataset = read(b"y,a\n1.5,2\n1.5,3\n", &options).unwrap();
        assert_eq!((dataset.labels(), dataset.classes), (vec![1.5, 1.5], None));
    }

    #[test]
    fn malformed_text_is_an_error_with_its_location_and_without_its_values() {
        let cases: [(&[u8], &str); 20] = [
            (b"", "d: no records"),
            (b"a,label\n", "d: no records"),
            (b"a,a,label\n1,2,x\n", "d: column `a` appears more than once"),
            (b"a,b\n1,2\n", "d: no label column `label`"),
            (b"label\nx\ny\n", "d: no feature columns besides the label"),
            (b",label\n1,x\n", "d: column 1 has no name: name it, or drop the column \"\""),
            (b"a,label\n777,x\n777\n", "d:3: 1 fields where 2 are needed"),
            (b"a,label\n777,x\n\n777,x,777\n", "d:4: 3 fields where 2 are needed"),
            (b"a,label\n777,x\n?,y\n", "d:3, column `a`: value is missing"),
            (b"a,label\n777,x\n,y\n", "d:3, column `a`: value is missing"),
            (b"a,label\n777,x\n1,y\nNaN,y\n", "d:4, column `a`: value is not finite"),
            (b"a,label\n-inf,x\n777,y\n,y\n", "d:2, column `a`: value is not finite"),
            (b"a,label\n1e999,x\n", "d:2, column `a`: value is not finite"),
            (b"a,label\n777,\n", "d:2, column `label`: value is missing"),
            (b"a,label\n777,777\n1,777\n", "d: every record has the same label"),
            (b"a,label\n777,x\n\xff777,y\n", "d:3, column `a`: text is not UTF-8"),
            (b"\xff777,label\n777,x\n", "d:1: text is not UTF-8"),
            (b"a,label\n777,x\n1,\xff777\n", "d:3, column `label`: text is not UTF-8"),
            (b"a,label\n\"777,x\n1,y\n", "d:2: 1 fields where 2 are needed"),
            (b"\xff\xfe\x00\x00777", "d:1: text is not UTF-8"),
        ];
        for (text, start) in cases {
            let error = read(text, &LoadOptions::new(Task::Classification)).unwrap_err();
            let message = error.to_string().replace("dir/d.csv", "d");
            assert!(message.starts_with(start), "{message} instead of {start}");
            assert!(!format!("{message} {error:?}").contains("777"), "{message} {error:?}");
        }
    }

    #[test]
    fn options_that_do_not_fit_are_named() {
        let options = LoadOptions::new(Task::Classification);
        let drop = |names| LoadOptions { drop: strings(names), ..options.clone() };
        let categorical =
            |names| LoadOptions { categorical: Some(strings(names)), ..options.clone() };
        let cases = [
            (drop(&["b"]), "d: `drop` names the column `b`, which is not in the file"),
            (drop(&["label"]), "d: label column `label` is listed to be dropped"),
            (drop(&["a"]), "d: no feature columns besides the label"),
            (
                categorical(&["b"]),
                "d: `categorical` names the column `b`, which is not in the file",
            ),
            (categorical(&[]), "d:3, column `a`: value is not a number"),
            (LoadOptions::new(Task::Regression), "d:2, column `label`: value is not a number"),
        ];
        for (options, expected) in cases {
            let error = read(b"a,label\n777,x\nred777,y\n", &options).unwrap_err();
            assert_eq!(error.to_string().replace("dir/d.csv", "d"), expected);
        }
    }

    #[test]
    fn line_numbers_count_empty_lines_quoted_breaks_and_both_line_endings() {
        for ending in ["\n", "\r\n"] {
            let options = LoadOptions::new(Task::Classification);
            let head = format!("\na,label\n\n\n1,\"x\ny\"\n{}", "2,z\n".repeat(40_000));
            for (gap, line) in [("", 40_007), ("\n\n", 40_009)] {
                let text = format!("{head}{gap}?,z\n1,z").replace('\n', ending);
                let message = read(text.as_bytes(), &options).unwrap_err().to_string();
                assert!(message.starts_with(&format!("dir/d.csv:{line}, column `a`")), "{message}");
                let text = format!("{head}{gap}3").replace('\n', ending);
                let message = read(text.as_bytes(), &options).unwrap_err().to_string();
                assert_eq!(message, format!("dir/d.csv:{line}: 1 fields where 2 are needed"));
            }
        }
    }

    fn column(values: impl Iterator<Item = String>) -> Vec<u8> {
        let rows = values.enumerate().map(|(row, value)| format!("{value},{}\n", row % 2));
        format!("a,label\n{}", rows.collect::<String>()).into_bytes()
    }

    #[test]
    fn a_slip_in_a_long_numeric_column_does_not_make_it_categorical() {
        let options = LoadOptions::new(Task::Classification);
        let count = 2 * CATEGORIES_DETECTED_MAX;
        let number = |row: usize| format!("{row}.25");
        let dataset = read(&column((0..count).map(number)), &options).unwrap();
        assert_eq!(dataset.dimension, 1);
        assert_eq!(rows(&dataset)[count - 1], [count as f64 - 0.75]);
        for (slip, reason) in [("x", "not a number"), ("?", "missing"), ("nan", "not finite")] {
            for at in [0, 500, count - 1] {
                let value = |row| if row == at { slip.to_string() } else { number(row) };
                let text = column((0..count).map(value));
                let message = read(&text, &options).unwrap_err().to_string();
                let expected = format!("d.csv:{}, column `a`: value is {reason}", at + 2);
                assert!(message.contains(&expected), "{message} instead of {expected}");
            }
        }
    }

    #[test]
    fn many_categories_are_fine_when_the_column_is_listed() {
        let mut options = LoadOptions::new(Task::Classification);
        let text = column((0..2000).map(|row| format!("user{row:04}")));
        assert!(read(&text, &options).is_err());
        options.categorical = Some(strings(&["a"]));
        let dataset = read(&text, &options).unwrap();
        assert_eq!(dataset.dimension, 2000);
        assert_eq!(dataset.records[7].features.entries().collect::<Vec<_>>(), [(7, 1.0)]);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_loader_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            text in "[a-c,\"\n?.0-9 e-]{0,80}",
        ) {
            for task in [Task::Classification, Task::Regression] {
                let options = LoadOptions::new(task);
                let _ = read(&bytes, &options);
                let _ = read(format!("a,label,b\n{text}").as_bytes(), &options);
            }
        }
    }
}
