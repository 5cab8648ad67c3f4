//! The LIBSVM text format: `label index:value index:value …`, one record per line.

use std::fmt::Write;
use std::io::Read;
use std::path::Path;

use undertone_models::Record;

use super::labels::{Cell, Labels};
use super::lines::Lines;
use super::{DIMENSION_MAX, DataError, Dataset, FileFault, INTERCEPT, LoadOptions, RecordFault};

/// Loads LIBSVM text; `source` is the name used in messages.
///
/// Indices start at 1 and must increase. Empty lines and everything after a `#` are ignored.
/// Without a dimension in the options, it is the largest index. Options about columns are not
/// used, because the columns have no names. Features are called `x1`, `x2` ….
///
/// # Errors
/// When the text cannot be read or does not fit the options.
pub fn load(reader: impl Read, source: &Path, options: &LoadOptions) -> Result<Dataset, DataError> {
    let limit = options.dimension.unwrap_or(DIMENSION_MAX);
    if limit > DIMENSION_MAX {
        return Err(DataError::file(source, FileFault::TooManyFeatures { limit: DIMENSION_MAX }));
    }
    let mut lines = Lines::new(reader, source);
    let mut labels = Labels::new(source, "label", options)?;
    let mut rows: Vec<Vec<(u32, f64)>> = Vec::new();
    while let Some((line, text)) = lines.next()? {
        let text = text.split_once('#').map_or(text, |(before, _)| before);
        let mut fields = text.split_ascii_whitespace();
        let Some(label) = fields.next() else { continue };
        let row = entries(fields, limit).map_err(|fault| DataError::line(source, line, fault))?;
        // A line that begins with an entry has lost its label.
        if label.contains(':') {
            return Err(DataError::cell(source, line, "label", RecordFault::Missing));
        }
        labels.push(Cell::text(label), line)?;
        rows.push(row);
    }
    if rows.is_empty() {
        return Err(DataError::file(source, FileFault::Empty));
    }
    let largest = rows.iter().filter_map(|row| row.last()).map(|&(index, _)| index as usize + 1);
    let count = options.dimension.or(largest.max()).unwrap_or(0);
    if count == 0 {
        return Err(DataError::file(source, FileFault::NoFeatures));
    }
    let mut feature_names: Vec<String> = (1..=count).map(|index| format!("x{index}")).collect();
    if options.intercept {
        feature_names.push(INTERCEPT.to_string());
    }
    let dimension = feature_names.len();
    let intercept = options.intercept.then_some((count as u32, 1.0));
    let (labels, classes) = labels.finish()?;
    let record = |(row, label): (Vec<(u32, f64)>, f64)| {
        let entries = row.into_iter().chain(intercept);
        Record::new(super::features(dimension, true, entries), label)
    };
    let records = rows.into_iter().zip(labels).map(record).collect();
    Ok(Dataset {
        name: super::name_of(source),
        dimension,
        image_shape: None,
        classes,
        records,
        feature_names,
        one_hot: Vec::new(),
    })
}

/// Writes records as LIBSVM text that [`load`] reads back.
///
/// The label is the class's name, or the number itself where there are no classes. Zeros are left
/// out. A class whose name contains a space, a `#` or a `:` cannot be read back.
#[must_use]
pub fn print(dataset: &Dataset) -> String {
    let mut text = String::new();
    for record in &dataset.records {
        let class = dataset.classes.as_ref().and_then(|names| names.get(record.label as usize));
        match class {
            Some(name) => text.push_str(name),
            None => text.push_str(&record.label.to_string()),
        }
        for (index, value) in record.features.entries().filter(|(_, value)| value.abs() > 0.0) {
            write!(text, " {}:{value}", index + 1).expect("writing to a String cannot fail");
        }
        text.push('\n');
    }
    text
}

/// The entries of one line, with indices from 0.
fn entries<'a>(
    fields: impl Iterator<Item = &'a str>,
    dimension: usize,
) -> Result<Vec<(u32, f64)>, RecordFault> {
    let mut entries: Vec<(u32, f64)> = Vec::new();
    for (entry, field) in (1..).zip(fields) {
        let (index, value) = field.split_once(':').ok_or(RecordFault::NotAnEntry { entry })?;
        if index.is_empty() || !index.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(RecordFault::NotAnEntry { entry });
        }
        let index: usize = index.parse().unwrap_or(usize::MAX); // All digits: only overflow fails.
        if index == 0 {
            return Err(RecordFault::IndexZero { entry });
        }
        if index > dimension {
            return Err(RecordFault::IndexAboveDimension { entry, dimension });
        }
        let index = index as u32 - 1;
        if entries.last().is_some_and(|&(last, _)| last >= index) {
            return Err(RecordFault::IndexNotIncreasing { entry });
        }
        let value = Cell::text(value).number()?;
        entries.push((index, value));
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Task;
    use super::*;

    fn read(text: &[u8], options: &LoadOptions) -> Result<Dataset, DataError> {
        load(text, Path::new("d.svm"), options)
    }

    #[test]
    fn comments_and_empty_lines_are_skipped_and_the_dimension_is_the_largest_index() {
        let text = b"\xef\xbb\xbf# head\n+1 1:0.5 3:-2 # tail 9:9\n\n-1\t2:1e1\r\n1.0 1:0";
        let dataset = read(text, &LoadOptions::new(Task::Classification)).unwrap();
        assert_eq!((dataset.name.as_str(), dataset.dimension), ("d", 3));
        assert_eq!(dataset.feature_names, ["x1", "x2", "x3"]);
        assert_eq!(dataset.labels(), [1.0, 0.0, 1.0]);
        let entries: Vec<Vec<(usize, f64)>> =
            dataset.records.iter().map(|record| record.features.entries().collect()).collect();
        assert_eq!(entries, [vec![(0, 0.5), (2, -2.0)], vec![(1, 10.0)], vec![]]);
    }

    #[test]
    fn a_given_dimension_and_an_intercept_widen_the_records() {
        let mut options = LoadOptions::new(Task::Regression);
        (options.dimension, options.intercept) = (Some(5), true);
        let dataset = read(b"0.25 1:1\n", &options).unwrap();
        assert_eq!(dataset.dimension, 6);
        assert_eq!(dataset.feature_names[5], "intercept");
        let features = &dataset.records[0].features;
        assert_eq!(features.dimension(), 6);
        assert_eq!(features.entries().collect::<Vec<_>>(), [(0, 1.0), (5, 1.0)]);
    }

    #[test]
    fn malformed_text_is_an_error_with_its_location_and_without_its_values() {
        let cases: [(&[u8], &str); 19] = [
            (b"", "d.svm: no records"),
            (b"\n# only this\n", "d.svm: no records"),
            (b"1\n2\n", "d.svm: no feature columns besides the label"),
            (b"1 1:777\n1 1:1\n", "d.svm: every record has the same label"),
            (b"1 1:1\n2 777\n", "d.svm:2: entry 1 is not of the form index:value"),
            (b"1 1:1\n2 1:1 x:777\n", "d.svm:2: entry 2 is not of the form index:value"),
            (b"1 -1:777\n", "d.svm:1: entry 1 is not of the form index:value"),
            (b"1 qid:777 1:1\n", "d.svm:1: entry 1 is not of the form index:value"),
            (b"1 0:777\n", "d.svm:1: entry 1 has index 0"),
            (b"1 2:777 2:777\n", "d.svm:1: entry 2 does not have a larger index"),
            (b"1 2:777 1:777\n", "d.svm:1: entry 2 does not have a larger index"),
            (b"1 99777:1\n", "d.svm:1: entry 1 has an index above the dimension 9"),
            (b"1 99999999999999999999777:1\n", "d.svm:1: entry 1 has an index above"),
            (b"#\n1 1:x777\n", "d.svm:2: value is not a number"),
            (b"1 1:\n", "d.svm:1: value is missing"),
            (b"1 1:nan\n", "d.svm:1: value is not finite"),
            (b"1 1:1e777\n", "d.svm:1: value is not finite"),
            (b"1:777 2:777\n", "d.svm:1, column `label`: value is missing"),
            (b"1 1:777\n1 1:\xff777\n", "d.svm:2: text is not UTF-8"),
        ];
        let mut options = LoadOptions::new(Task::Classification);
        for (text, start) in cases {
            options.dimension = start.contains("dimension 9").then_some(9);
            let error = read(text, &options).unwrap_err();
            assert!(error.to_string().starts_with(start), "{error} instead of {start}");
            assert!(!format!("{error} {error:?}").contains("777"), "{error} {error:?}");
        }
        let error = read(b"x777 1:1\n", &LoadOptions::new(Task::Regression)).unwrap_err();
        assert_eq!(error.to_string(), "d.svm:1, column `label`: value is not a number");
        options.dimension = Some(usize::MAX);
        assert!(read(b"1 1:1\n", &options).is_err());
    }

    fn rows() -> impl Strategy<Value = Vec<(f64, Vec<f64>)>> {
        let value = prop_oneof![
            2 => Just(0.0),
            1 => prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL,
        ];
        let label = prop::num::f64::NORMAL;
        prop::collection::vec((label, prop::collection::vec(value, 6)), 1..20)
    }

    proptest! {
        #[test]
        fn parsing_inverts_printing(rows in rows(), intercept in any::<bool>()) {
            let records: Vec<Record> = rows
                .iter()
                .map(|(label, values)| Record::new(super::super::features(6, true, (0..).zip(values.iter().copied())), *label))
                .collect();
            let names = (1..=6).map(|index| format!("x{index}")).collect();
            let dataset = Dataset {
                name: "d".to_string(),
                dimension: 6,
                image_shape: None,
                classes: None,
                records,
                feature_names: names,
                one_hot: Vec::new(),
            };
            let mut options = LoadOptions::new(Task::Regression);
            options.dimension = Some(6);
            let text = print(&dataset);
            prop_assert!(read(text.as_bytes(), &options).unwrap() == dataset);
            options.intercept = intercept;
            let widened = read(text.as_bytes(), &options).unwrap();
            prop_assert_eq!(widened.dimension, 6 + usize::from(intercept));
        }

        #[test]
        fn no_bytes_make_the_loader_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            text in "[a0-9:#. \n+e-]{0,80}",
        ) {
            for task in [Task::Classification, Task::Regression] {
                let _ = read(&bytes, &LoadOptions::new(task));
                let _ = read(text.as_bytes(), &LoadOptions::new(task));
            }
        }
    }

    #[test]
    fn printed_classes_keep_their_names() {
        let text = "no 1:1\nyes 2:0.5\n";
        let dataset = read(text.as_bytes(), &LoadOptions::new(Task::Classification)).unwrap();
        assert_eq!(print(&dataset), text);
    }
}
