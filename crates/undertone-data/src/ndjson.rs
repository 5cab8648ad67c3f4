//! One JSON object per line.

use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::labels::Cell;
use super::lines::Lines;
use super::table::Table;
use super::{DataError, Dataset, FileFault, LoadOptions, RecordFault};

/// The field that holds the features of a record written in two parts.
const FEATURES: &str = "features";

/// Loads NDJSON text; `source` is the name used in messages.
///
/// A line is a flat object, `{"age": 41, "job": "nurse", "label": 0}`, or has its features in a field,
/// `{"features": {"age": 41, "job": "nurse"}, "label": 0}` or `{"features": [41, 2.5], "label": 0}`;
/// array elements are called `x1`, `x2` …. The fields of the first line are the columns, in that
/// order. Later lines may order them differently; an absent field or `null` is a missing value.
/// Columns are treated as in [`csv`](super::csv::load), with booleans as the numbers 0 and 1.
///
/// # Errors
/// When the text cannot be read or does not fit the options.
pub fn load(reader: impl Read, source: &Path, options: &LoadOptions) -> Result<Dataset, DataError> {
    let mut lines = Lines::new(reader, source);
    let mut filling: Option<Filling> = None;
    while let Some((line, text)) = lines.next()? {
        if text.trim().is_empty() {
            continue;
        }
        let fields = parse(text).map_err(|fault| DataError::line(source, line, fault))?;
        let filling = match &mut filling {
            Some(filling) => filling,
            empty => empty.insert(Filling::new(&fields, source, line, options)?),
        };
        filling.push(fields, source, line)?;
    }
    match filling {
        Some(filling) => filling.table.finish(),
        None => Err(DataError::file(source, FileFault::Empty)),
    }
}

/// A table, and the column of each field.
struct Filling {
    table: Table,
    shape: Shape,
    names: Vec<String>,
    positions: HashMap<String, usize>,
    seen: Vec<bool>,
}

/// How a line holds its features.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Flat,
    Array(usize),
    Object,
}

type Fields = Vec<(String, Json)>;

impl Filling {
    /// Takes the columns from the first line.
    fn new(
        fields: &Fields,
        source: &Path,
        line: usize,
        options: &LoadOptions,
    ) -> Result<Self, DataError> {
        let apart = fields.iter().find(|(name, _)| name == FEATURES).map(|(_, value)| value);
        let (shape, mut names): (Shape, Vec<String>) = match apart {
            Some(Json::Array(items)) => {
                let names = (1..=items.len()).map(|index| format!("x{index}")).collect();
                (Shape::Array(items.len()), names)
            }
            Some(Json::Object(inner)) => {
                (Shape::Object, inner.iter().map(|(name, _)| name.clone()).collect())
            }
            _ => (Shape::Flat, Vec::new()),
        };
        for (name, _) in fields {
            if shape == Shape::Flat {
                names.push(name.clone());
            } else if name == options.label_column()
                || Some(name) == options.person.as_ref()
                || options.drop.contains(name)
            {
                names.push(name.clone()); // The table refuses a name that is in both parts.
            } else if name != FEATURES {
                return Err(DataError::cell(source, line, name, RecordFault::UnknownField));
            }
        }
        for name in &options.drop {
            if !names.contains(name) {
                names.push(name.clone()); // Dropped from every later line that has it.
            }
        }
        let table = Table::new(source, &names, options)?;
        let positions = names.iter().cloned().zip(0..).collect();
        let seen = vec![false; names.len()];
        Ok(Filling { table, shape, names, positions, seen })
    }

    fn push(&mut self, fields: Fields, source: &Path, line: usize) -> Result<(), DataError> {
        self.seen.fill(false);
        let bad_features = || DataError::line(source, line, RecordFault::BadFeatures);
        let mut has_features = self.shape == Shape::Flat;
        for (name, value) in fields {
            if self.shape == Shape::Flat || name != FEATURES {
                self.push_field(&name, &value, source, line)?;
                continue;
            }
            if has_features {
                return Err(DataError::cell(source, line, FEATURES, RecordFault::DuplicateField));
            }
            has_features = true;
            match (self.shape, value) {
                (Shape::Array(expected), Json::Array(items)) => {
                    if items.len() != expected {
                        let found = items.len();
                        let fault = RecordFault::WrongFieldCount { found, expected };
                        return Err(DataError::cell(source, line, FEATURES, fault));
                    }
                    for (position, item) in items.iter().enumerate() {
                        self.push_at(position, item, source, line)?;
                    }
                }
                (Shape::Object, Json::Object(inner)) => {
                    for (name, value) in inner {
                        self.push_field(&name, &value, source, line)?;
                    }
                }
                (Shape::Flat | Shape::Array(_) | Shape::Object, _) => return Err(bad_features()),
            }
        }
        if !has_features {
            return Err(bad_features());
        }
        for position in 0..self.seen.len() {
            if !self.seen[position] {
                self.table.push(position, Cell::Missing, line)?;
            }
        }
        Ok(())
    }

    fn push_field(
        &mut self,
        name: &str,
        value: &Json,
        source: &Path,
        line: usize,
    ) -> Result<(), DataError> {
        match self.positions.get(name) {
            Some(&position) => self.push_at(position, value, source, line),
            None => Err(DataError::cell(source, line, name, RecordFault::UnknownField)),
        }
    }

    fn push_at(
        &mut self,
        position: usize,
        value: &Json,
        source: &Path,
        line: usize,
    ) -> Result<(), DataError> {
        let failed = |fault| DataError::cell(source, line, &self.names[position], fault);
        if std::mem::replace(&mut self.seen[position], true) {
            return Err(failed(RecordFault::DuplicateField));
        }
        if self.table.is_dropped(position) {
            return Ok(());
        }
        let cell = match value {
            Json::Null => Cell::Missing,
            Json::Boolean(boolean) => Cell::Boolean(*boolean),
            Json::Integer(integer) => Cell::Integer(*integer),
            Json::Number(number) => Cell::Number(*number),
            Json::Text(text) => Cell::text(text),
            Json::Array(_) | Json::Object(_) => return Err(failed(RecordFault::Nested)),
        };
        self.table.push(position, cell, line)
    }
}

fn parse(text: &str) -> Result<Fields, RecordFault> {
    match serde_json::from_str(text) {
        Ok(Json::Object(fields)) => Ok(fields),
        Ok(_) => Err(RecordFault::NotAnObject),
        // The parser has no kind for this error, and only its position may be shown.
        Err(error) if error.to_string().starts_with("number out of range") => {
            Err(RecordFault::NotFinite)
        }
        Err(error) => Err(RecordFault::NotJson { character: error.column().max(1) }),
    }
}

/// A JSON value whose objects keep the order of their fields, and repeated fields.
enum Json {
    Null,
    Boolean(bool),
    Integer(i128),
    Number(f64),
    Text(String),
    Array(Vec<Json>),
    Object(Fields),
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, boolean: bool) -> Result<Json, E> {
        Ok(Json::Boolean(boolean))
    }

    fn visit_i64<E>(self, integer: i64) -> Result<Json, E> {
        Ok(Json::Integer(integer.into()))
    }

    fn visit_u64<E>(self, integer: u64) -> Result<Json, E> {
        Ok(Json::Integer(integer.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json, E> {
        Ok(Json::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_string()))
    }

    fn visit_string<E>(self, text: String) -> Result<Json, E> {
        Ok(Json::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element()? {
            array.push(item);
        }
        Ok(Json::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Json, A::Error> {
        let mut object = Vec::new();
        while let Some(field) = fields.next_entry()? {
            object.push(field);
        }
        Ok(Json::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Task;
    use super::*;

    fn read(text: &str, options: &LoadOptions) -> Result<Dataset, DataError> {
        load(text.as_bytes(), Path::new("d.ndjson"), options)
    }

    fn rows(dataset: &Dataset) -> Vec<Vec<f64>> {
        let dense = |record: &undertone_models::Record| {
            let mut row = vec![0.0; dataset.dimension];
            record.features.add_scaled_to(1.0, &mut row);
            row
        };
        dataset.records.iter().map(dense).collect()
    }

    #[test]
    fn the_three_shapes_of_a_line_make_the_same_records() {
        let options = LoadOptions::new(Task::Classification);
        let texts = [
            r#"{"x1": 1.5, "x2": "red", "x3": true, "label": 1}

               {"label": 0, "x3": false, "x2": null, "x1": -2}"#,
            r#"{"features": {"x1": 1.5, "x2": "red", "x3": true}, "label": 1}
               {"label": 0, "features": {"x3": false, "x1": -2}}"#,
            r#"{"features": [1.5, "red", true], "label": 1}
               {"label": 0.0, "features": [-2, "?", false]}"#,
        ];
        for text in texts {
            let dataset = read(text, &options).unwrap();
            assert_eq!(dataset.feature_names, ["x1", "x2=?", "x2=red", "x3"]);
            assert_eq!(rows(&dataset), [[1.5, 0.0, 1.0, 1.0], [-2.0, 1.0, 0.0, 0.0]]);
            assert_eq!(dataset.labels(), [1.0, 0.0]);
            assert_eq!(dataset.classes.unwrap(), ["0", "1"]);
        }
    }

    #[test]
    fn dropped_fields_may_come_and_go_and_hold_anything() {
        let mut options = LoadOptions::new(Task::Classification);
        options.drop = vec!["id".to_string()];
        options.label = Some("spam".to_string());
        let flat = "{\"a\":1,\"spam\":true}\n{\"a\":2,\"spam\":false,\"id\":[7]}\n";
        let dataset = read(flat, &options).unwrap();
        assert_eq!(dataset.classes.as_ref().unwrap(), &["false", "true"]);
        assert_eq!(rows(&dataset), [[1.0], [2.0]]);
        let apart = "{\"id\":{},\"features\":[1],\"spam\":1}\n{\"features\":[2],\"spam\":0}\n";
        assert_eq!(rows(&read(apart, &options).unwrap()), [[1.0], [2.0]]);
    }

    #[test]
    fn a_boolean_column_listed_as_categorical_has_two_categories() {
        let mut options = LoadOptions::new(Task::Regression);
        options.categorical = Some(vec!["a".to_string()]);
        let dataset = read("{\"a\":true,\"label\":1}\n{\"a\":false,\"label\":2}\n", &options);
        assert_eq!(dataset.unwrap().feature_names, ["a=false", "a=true"]);
    }

    #[test]
    fn malformed_text_is_an_error_with_its_location_and_without_its_values() {
        let good = r#"{"a": 1, "label": "x"}"#;
        let cases = [
            (String::new(), "d.ndjson: no records"),
            ("\n \n".to_string(), "d.ndjson: no records"),
            (r#"{"a": 777}"#.to_string(), "d.ndjson: no label column `label`"),
            (r#"{"label": 777}"#.to_string(), "d.ndjson: no feature columns"),
            (good.to_string(), "d.ndjson: every record has the same label"),
            (format!("{good}\n777"), "d.ndjson:2: not a JSON object"),
            (format!("{good}\n[777]"), "d.ndjson:2: not a JSON object"),
            (format!("{good}\n{{\"a\": s777"), "d.ndjson:2: not valid JSON (character 7)"),
            (format!("{good}\n{good}{good}"), "d.ndjson:2: not valid JSON"),
            (format!("{good}\n{{\"a\": NaN}}"), "d.ndjson:2: not valid JSON"),
            (format!("{good}\n{{\"a\": 1e777}}"), "d.ndjson:2: value is not finite"),
            (format!("{good}\n{{\"label\": 1}}"), "d.ndjson:2, column `a`: value is missing"),
            (format!("{good}\n{{\"a\": 777}}"), "d.ndjson:2, column `label`: value is missing"),
            (format!("{good}\n{{\"b\": 777}}"), "d.ndjson:2, column `b`: field is not in the"),
            (format!("{good}\n{{\"a\": [777]}}"), "d.ndjson:2, column `a`: value is an array"),
            (r#"{"a": 777, "a": 1, "label": 1}"#.to_string(), "d.ndjson: column `a` appears more"),
            (
                format!("{good}\n{{\"a\": 777, \"a\": 1}}"),
                "d.ndjson:2, column `a`: field appears more than once",
            ),
            (
                r#"{"features": [777], "label": 1, "id": 777}"#.to_string(),
                "d.ndjson:1, column `id`: field is not in the first record",
            ),
            (
                r#"{"features": {"label": 777}, "label": 1}"#.to_string(),
                "d.ndjson: column `label` appears more than once",
            ),
        ];
        for (text, start) in cases {
            let error = read(&text, &LoadOptions::new(Task::Classification)).unwrap_err();
            assert!(error.to_string().starts_with(start), "{error} instead of {start}");
            assert!(!format!("{error} {error:?}").contains("777"), "{error} {error:?}");
        }
    }

    #[test]
    fn features_must_keep_the_shape_of_the_first_line() {
        let first = r#"{"features": [1, 2], "label": 1}"#;
        let cases = [
            (r#"{"features": [777], "label": 1}"#, "column `features`: 1 fields where 2 are"),
            (r#"{"features": {"x1": 777}, "label": 1}"#, "`features` must be an array"),
            (r#"{"features": 777, "label": 1}"#, "`features` must be an array"),
            (r#"{"label": 777}"#, "`features` must be an array"),
            (
                r#"{"features": [1, 2], "features": [777, 2], "label": 1}"#,
                "column `features`: field appears more than once",
            ),
        ];
        for (second, reason) in cases {
            let text = format!("{first}\n{second}\n");
            let error = read(&text, &LoadOptions::new(Task::Classification)).unwrap_err();
            let message = error.to_string();
            assert!(message.starts_with("d.ndjson:2"), "{message}");
            assert!(message.contains(reason) && !message.contains("777"), "{message}");
        }
    }

    #[test]
    fn deep_nesting_is_an_error_and_not_a_stack_overflow() {
        let text = format!("{{\"a\": {}", "[".repeat(100_000));
        assert!(read(&text, &LoadOptions::new(Task::Regression)).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_loader_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            rest in r#"[\[\]{}:,"a0-9elfn \n-]{0,60}"#,
        ) {
            let first = r#"{"features": [1], "label": 1}"#;
            for task in [Task::Classification, Task::Regression] {
                let options = LoadOptions::new(task);
                let _ = load(bytes.as_slice(), Path::new("d"), &options);
                let _ = read(&rest, &options);
                let _ = read(&format!("{first}\n{{\"features\": {rest}"), &options);
            }
        }
    }
}
