//! Apache Parquet files of flat columns.
//!
//! Columns are read one at a time: the crate's row reader asserts on damaged files, while its column readers
//! return errors. The column readers still panic on some damaged pages and footers; such a panic is caught
//! and the file reported as damaged. The crate's panic message then appears on standard error; the messages
//! seen so far show lengths and states, not values.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ::parquet::basic::{Compression, ConvertedType, LogicalType, Type};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::DataType;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use super::labels::Cell;
use super::table::Table;
use super::{DataError, Dataset, FileFault, LoadOptions, RecordFault};

/// Values per batch.
const BATCH: usize = 1024;

/// Loads a Parquet file; `source` is the name used in messages.
///
/// Columns must be flat, of integers, floating-point numbers, booleans or text; others can be
/// dropped. They are treated as in [`csv`](super::csv::load), with booleans as the numbers 0 and 1
/// and nulls as missing values. Messages count rows from 1.
///
/// # Errors
/// When the file cannot be read or does not fit the options.
pub fn load(file: File, source: &Path, options: &LoadOptions) -> Result<Dataset, DataError> {
    // Only the result leaves the closure, so no inconsistent state can be observed.
    catch_unwind(AssertUnwindSafe(|| read(file, source, options)))
        .unwrap_or_else(|_| Err(damaged(source)))
}

fn read(file: File, source: &Path, options: &LoadOptions) -> Result<Dataset, DataError> {
    let failed = |error: ParquetError| from_parquet(source, error);
    let reader = SerializedFileReader::new(file).map_err(failed)?;
    let metadata = reader.metadata();
    let schema = metadata.file_metadata().schema_descr();
    let roots = schema.root_schema().get_fields();
    let names: Vec<String> = roots.iter().map(|root| root.name().to_string()).collect();
    let mut table = Table::new(source, &names, options)?;
    let leaves = leaves(schema, &names, &table).map_err(|fault| DataError::file(source, fault))?;

    let mut rows = 0;
    for (index, group_metadata) in metadata.row_groups().iter().enumerate() {
        let group = reader.get_row_group(index).map_err(failed)?;
        let first_row = rows + 1;
        for leaf in &leaves {
            let chunk = group_metadata.columns().get(leaf.column).ok_or_else(|| damaged(source))?;
            if let Compression::LZO | Compression::BROTLI(_) = chunk.compression() {
                let fault = FileFault::UnsupportedCodec { column: leaf.name.to_string() };
                return Err(DataError::file(source, fault));
            }
            let values = group.get_column_reader(leaf.column).map_err(failed)?;
            let mut sink = Sink { table: &mut table, leaf, source, row: first_row };
            sink.fill(values)?;
        }
        rows = table.rows().ok_or_else(|| damaged(source))?;
        if usize::try_from(group_metadata.num_rows()) != Ok(rows + 1 - first_row) {
            return Err(damaged(source));
        }
    }
    table.finish()
}

/// A column that is read.
struct Leaf<'a> {
    /// Its index among the file's leaf columns.
    column: usize,
    /// Its index in the table.
    position: usize,
    name: &'a str,
    optional: bool,
    unsigned: bool,
}

/// The columns that are not dropped; all must have a readable type.
fn leaves<'a>(
    schema: &SchemaDescriptor,
    names: &'a [String],
    table: &Table,
) -> Result<Vec<Leaf<'a>>, FileFault> {
    let mut leaves = Vec::new();
    let mut seen = vec![false; names.len()];
    for column in 0..schema.num_columns() {
        let descriptor = schema.column(column);
        let position = schema.get_column_root_idx(column);
        let name = &names[position];
        if table.is_dropped(position) {
            continue;
        }
        seen[position] = true;
        if !is_supported(&descriptor) {
            return Err(FileFault::UnsupportedColumn { column: name.clone() });
        }
        leaves.push(Leaf {
            column,
            position,
            name,
            optional: descriptor.max_def_level() > 0,
            unsigned: matches!(
                descriptor.converted_type(),
                ConvertedType::UINT_8
                    | ConvertedType::UINT_16
                    | ConvertedType::UINT_32
                    | ConvertedType::UINT_64
            ),
        });
    }
    // A group without columns has no leaf.
    match (0..names.len()).find(|&position| !seen[position] && !table.is_dropped(position)) {
        Some(position) => Err(FileFault::UnsupportedColumn { column: names[position].clone() }),
        None => Ok(leaves),
    }
}

fn is_supported(column: &ColumnDescriptor) -> bool {
    let flat = column.max_rep_level() == 0 && column.path().parts().len() == 1;
    let logical = column.logical_type_ref();
    flat && match column.physical_type() {
        Type::BOOLEAN | Type::FLOAT | Type::DOUBLE => logical.is_none(),
        Type::INT32 | Type::INT64 => {
            matches!(logical, None | Some(LogicalType::Integer { .. }))
                && matches!(
                    column.converted_type(),
                    ConvertedType::NONE
                        | ConvertedType::INT_8
                        | ConvertedType::INT_16
                        | ConvertedType::INT_32
                        | ConvertedType::INT_64
                        | ConvertedType::UINT_8
                        | ConvertedType::UINT_16
                        | ConvertedType::UINT_32
                        | ConvertedType::UINT_64
                )
        }
        Type::BYTE_ARRAY => matches!(
            column.converted_type(),
            ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON
        ),
        Type::INT96 | Type::FIXED_LEN_BYTE_ARRAY => false,
    }
}

/// Moves one column of a row group into the table.
struct Sink<'a> {
    table: &'a mut Table,
    leaf: &'a Leaf<'a>,
    source: &'a Path,
    row: usize,
}

impl Sink<'_> {
    fn fill(&mut self, reader: ColumnReader) -> Result<(), DataError> {
        let unsigned = self.leaf.unsigned;
        match reader {
            ColumnReader::BoolColumnReader(reader) => {
                self.drain(reader, |&value| Ok(Cell::Boolean(value)))
            }
            ColumnReader::Int32ColumnReader(reader) => self.drain(reader, |&value| {
                Ok(Cell::Integer(if unsigned { (value as u32).into() } else { value.into() }))
            }),
            ColumnReader::Int64ColumnReader(reader) => self.drain(reader, |&value| {
                Ok(Cell::Integer(if unsigned { (value as u64).into() } else { value.into() }))
            }),
            ColumnReader::FloatColumnReader(reader) => {
                self.drain(reader, |&value| Ok(Cell::Number(value.into())))
            }
            ColumnReader::DoubleColumnReader(reader) => {
                self.drain(reader, |&value| Ok(Cell::Number(value)))
            }
            ColumnReader::ByteArrayColumnReader(reader) => self.drain(reader, |value| {
                let text = std::str::from_utf8(value.data()).map_err(|_| RecordFault::NotUtf8)?;
                Ok(Cell::text(text))
            }),
            ColumnReader::Int96ColumnReader(_) | ColumnReader::FixedLenByteArrayColumnReader(_) => {
                let fault = FileFault::UnsupportedColumn { column: self.leaf.name.to_string() };
                Err(DataError::file(self.source, fault))
            }
        }
    }

    fn drain<T: DataType>(
        &mut self,
        mut reader: ColumnReaderImpl<T>,
        cell: impl Fn(&T::T) -> Result<Cell<'_>, RecordFault>,
    ) -> Result<(), DataError> {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        loop {
            levels.clear();
            values.clear();
            let read = reader.read_records(BATCH, Some(&mut levels), None, &mut values);
            let (records, _, _) = read.map_err(|error| from_parquet(self.source, error))?;
            if records == 0 {
                return Ok(());
            }
            let mut values = values.iter();
            for record in 0..records {
                let present = !self.leaf.optional || levels.get(record).is_some_and(|&l| l > 0);
                let cell = if present {
                    let value = values.next().ok_or_else(|| damaged(self.source))?;
                    cell(value).map_err(|fault| {
                        DataError::cell(self.source, self.row, self.leaf.name, fault)
                    })?
                } else {
                    Cell::Missing
                };
                self.table.push(self.leaf.position, cell, self.row)?;
                self.row += 1;
            }
        }
    }
}

fn damaged(source: &Path) -> DataError {
    DataError::file(source, FileFault::DamagedParquet)
}

/// Keeps only the kind of an error: the crate's messages may quote values.
fn from_parquet(source: &Path, error: ParquetError) -> DataError {
    let ParquetError::External(inner) = error else { return damaged(source) };
    match inner.downcast::<std::io::Error>() {
        Ok(inner) => DataError::io(source, *inner),
        Err(_) => damaged(source),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use ::parquet::data_type::{
        BoolType, ByteArray, ByteArrayType, DoubleType, FloatType, Int32Type, Int64Type,
    };
    use ::parquet::file::properties::WriterProperties;
    use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
    use ::parquet::schema::parser::parse_message_type;
    use tempfile::TempDir;

    use super::super::{Format, Task, load as load_path};
    use super::*;

    type Group = Vec<Box<dyn Fn(&mut SerializedColumnWriter<'_>)>>;

    /// Writes row groups, column by column.
    fn write(path: &Path, schema: &str, codec: Compression, groups: &[Group]) {
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let properties = Arc::new(WriterProperties::builder().set_compression(codec).build());
        let file = File::create(path).unwrap();
        let mut writer = SerializedFileWriter::new(file, schema, properties).unwrap();
        for group in groups {
            let mut group_writer = writer.next_row_group().unwrap();
            for column in group {
                let mut column_writer = group_writer.next_column().unwrap().unwrap();
                column(&mut column_writer);
                column_writer.close().unwrap();
            }
            group_writer.close().unwrap();
        }
        writer.close().unwrap();
    }

    fn required<T: DataType>(values: Vec<T::T>) -> Box<dyn Fn(&mut SerializedColumnWriter<'_>)> {
        Box::new(move |writer| {
            writer.typed::<T>().write_batch(&values, None, None).unwrap();
        })
    }

    fn optional<T: DataType>(
        values: Vec<Option<T::T>>,
    ) -> Box<dyn Fn(&mut SerializedColumnWriter<'_>)> {
        Box::new(move |writer| {
            let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
            let present: Vec<T::T> = values.iter().flatten().cloned().collect();
            writer.typed::<T>().write_batch(&present, Some(&levels), None).unwrap();
        })
    }

    fn texts(texts: &[&str]) -> Vec<ByteArray> {
        texts.iter().map(|text| ByteArray::from(*text)).collect()
    }

    const SCHEMA: &str = "message m {
        REQUIRED DOUBLE a; REQUIRED FLOAT b; REQUIRED INT32 c (UINT_8); REQUIRED INT64 d;
        REQUIRED BOOLEAN e; OPTIONAL BYTE_ARRAY f (UTF8); REQUIRED BYTE_ARRAY label (UTF8); }";

    fn good(path: &Path, codec: Compression) {
        let group = |a: f64, f: Option<&str>, labels: &[&str]| -> Group {
            vec![
                required::<DoubleType>(vec![a, -a]),
                required::<FloatType>(vec![0.5, 0.25]),
                required::<Int32Type>(vec![200, 7]),
                required::<Int64Type>(vec![-3, 0]),
                required::<BoolType>(vec![true, false]),
                optional::<ByteArrayType>(vec![f.map(ByteArray::from), Some("blue".into())]),
                required::<ByteArrayType>(texts(labels)),
            ]
        };
        let groups = [group(1.5, Some("red"), &["no", "yes"]), group(2.5, None, &["yes", "no"])];
        write(path, SCHEMA, codec, &groups);
    }

    #[test]
    fn every_column_type_loads_over_several_row_groups_and_codecs() {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("d.parquet");
        for codec in [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(Default::default()),
            Compression::ZSTD(Default::default()),
            Compression::LZ4_RAW,
        ] {
            good(&path, codec);
            let dataset = load_path(&path, &LoadOptions::new(Task::Classification)).unwrap();
            let names = ["a", "b", "c", "d", "e", "f=?", "f=blue", "f=red"];
            assert_eq!(dataset.feature_names, names);
            assert_eq!(dataset.classes, Some(vec!["no".to_string(), "yes".to_string()]));
            assert_eq!(dataset.labels(), [0.0, 1.0, 1.0, 0.0]);
            let rows: Vec<Vec<f64>> = dataset.records.iter().map(dense).collect();
            assert_eq!(rows[0], [1.5, 0.5, 200.0, -3.0, 1.0, 0.0, 0.0, 1.0]);
            assert_eq!(rows[1], [-1.5, 0.25, 7.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
            assert_eq!(rows[2], [2.5, 0.5, 200.0, -3.0, 1.0, 1.0, 0.0, 0.0]);
        }
    }

    fn dense(record: &undertone_models::Record) -> Vec<f64> {
        let mut row = vec![0.0; record.features.dimension()];
        record.features.add_scaled_to(1.0, &mut row);
        row
    }

    /// The error of a file with one feature column `a` and the label classes 0 and 1.
    fn error_of(feature: &str, column: Box<dyn Fn(&mut SerializedColumnWriter<'_>)>) -> String {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("d.parquet");
        let schema = format!("message m {{ REQUIRED INT32 label; {feature} }}");
        let groups = [vec![required::<Int32Type>(vec![0, 1, 1]), column]];
        write(&path, &schema, Compression::UNCOMPRESSED, &groups);
        let error = load_path(&path, &LoadOptions::new(Task::Classification)).unwrap_err();
        error.to_string().replace(&path.display().to_string(), "d")
    }

    #[test]
    fn bad_values_and_columns_are_named_by_row_and_column() {
        let nan = required::<DoubleType>(vec![31.25, 1.0, f64::NAN]);
        assert_eq!(error_of("REQUIRED DOUBLE a;", nan), "d:3, column `a`: value is not finite");
        let null = optional::<Int64Type>(vec![Some(3125), None, Some(1)]);
        let message = error_of("OPTIONAL INT64 a;", null);
        assert!(message.starts_with("d:2, column `a`: value is missing"), "{message}");
        let bytes = [b"ok".to_vec(), b"\xffsecret".to_vec(), b"ok".to_vec()];
        let bytes = required::<ByteArrayType>(bytes.into_iter().map(ByteArray::from).collect());
        let message = error_of("REQUIRED BYTE_ARRAY a (UTF8);", bytes);
        assert_eq!(message, "d:2, column `a`: text is not UTF-8");
        let unsupported =
            "d: column `a` is not a flat column of numbers, booleans or text: drop it";
        let date = required::<Int32Type>(vec![1, 2, 3]);
        assert_eq!(error_of("REQUIRED INT32 a (DATE);", date), unsupported);
        let bytes = required::<ByteArrayType>(texts(&["x", "y", "z"]));
        assert_eq!(error_of("REQUIRED BYTE_ARRAY a;", bytes), unsupported);
        let nested = required::<DoubleType>(vec![1.0, 2.0, 3.0]);
        let group = "REQUIRED GROUP a { REQUIRED DOUBLE inner; }";
        assert_eq!(error_of(group, nested), unsupported);
    }

    #[test]
    fn a_file_without_rows_is_empty() {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("d.parquet");
        write(&path, SCHEMA, Compression::UNCOMPRESSED, &[]);
        let error = load_path(&path, &LoadOptions::new(Task::Classification)).unwrap_err();
        assert!(matches!(error, DataError::File { fault: FileFault::Empty, .. }));
    }

    #[test]
    fn an_unsupported_column_can_be_dropped() {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("d.parquet");
        let schema = "message m { REQUIRED INT32 label; REQUIRED INT32 day (DATE);
            REQUIRED DOUBLE a; }";
        let group: Group = vec![
            required::<Int32Type>(vec![5, -1]),
            required::<Int32Type>(vec![1, 2]),
            required::<DoubleType>(vec![0.5, 1.5]),
        ];
        write(&path, schema, Compression::UNCOMPRESSED, &[group]);
        let mut options = LoadOptions::new(Task::Regression);
        options.drop = vec!["day".to_string()];
        let dataset = load_path(&path, &options).unwrap();
        assert_eq!((dataset.feature_names, dataset.classes), (vec!["a".to_string()], None));
        assert_eq!(dataset.records[0].label.to_bits(), 5_f64.to_bits());
    }

    #[test]
    fn damage_anywhere_in_the_file_never_panics_out_of_the_loader() {
        let directory = TempDir::new().unwrap();
        let path: PathBuf = directory.path().join("d.parquet");
        good(&path, Compression::UNCOMPRESSED);
        let whole = std::fs::read(&path).unwrap();
        let mut options = LoadOptions::new(Task::Classification);
        options.format = Some(Format::Parquet);
        let mut failures = 0;
        for position in (0..whole.len()).step_by(7) {
            let mut damaged = whole.clone();
            damaged[position] ^= 0x15;
            std::fs::write(&path, &damaged).unwrap();
            failures += usize::from(load_path(&path, &options).is_err());
            std::fs::write(&path, &whole[..position]).unwrap();
            assert!(load_path(&path, &options).is_err(), "cut at {position}");
        }
        assert!(failures > 0);
        std::fs::write(&path, "a,label\n1,2\n").unwrap();
        let error = load_path(&path, &options).unwrap_err();
        assert!(matches!(error, DataError::File { fault: FileFault::DamagedParquet, .. }));
    }
}
