//! Tables of named columns, shared by the CSV, NDJSON and Parquet loaders.
//!
//! A column is numeric or categorical. When the options do not say, a column is numeric if every value that
//! is not missing parses as a number; then a missing value, a NaN or an infinity is an error rather than a
//! reason to treat the column as categorical. Values of a column that may still be categorical are kept as
//! numbered texts; with more than [`CATEGORIES_DETECTED_MAX`] distinct values it is numeric.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use undertone_models::{PersonKey, Record};

use super::labels::{Cell, Interner, Labels};
use super::{DIMENSION_MAX, DataError, Dataset, FileFault, INTERCEPT, LoadOptions, RecordFault};

/// The most categories of a column that is not listed as categorical.
pub(super) const CATEGORIES_DETECTED_MAX: usize = 1000;

/// A table being filled, column by column or row by row.
pub(super) struct Table {
    source: PathBuf,
    slots: Vec<Slot>,
    columns: Vec<Column>,
    labels: Labels,
    /// The name of the column that says whose a record is, and whose each is.
    persons: Option<(String, Vec<PersonKey>)>,
    dimension: Option<usize>,
    intercept: bool,
}

/// What a column of the file is used for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot {
    Label,
    Person,
    Feature(usize),
    Dropped,
}

struct Column {
    name: String,
    cells: Cells,
}

enum Cells {
    Numeric(Vec<f64>),
    Categorical { interner: Interner, ids: Vec<u32> },
    Undecided { interner: Interner, ids: Vec<u32>, seen: Seen },
}

/// The first line of an undecided column that has …
#[derive(Default)]
struct Seen {
    number: Option<usize>,
    not_a_number: Option<usize>,
    missing: Option<usize>,
    not_finite: Option<usize>,
}

impl Table {
    /// An empty table with these columns.
    pub(super) fn new(
        source: &Path,
        names: &[String],
        options: &LoadOptions,
    ) -> Result<Self, DataError> {
        let label = options.label_column();
        let categorical: Option<BTreeSet<&str>> =
            options.categorical.as_ref().map(|names| names.iter().map(String::as_str).collect());
        let drop: BTreeSet<&str> = options.drop.iter().map(String::as_str).collect();
        let person = options.person.as_deref();
        check_names(names, label, person, &drop, categorical.as_ref())
            .map_err(|fault| DataError::file(source, fault))?;

        let mut columns = Vec::new();
        let slots = names.iter().map(|name| {
            if name == label {
                return Slot::Label;
            }
            if Some(name.as_str()) == person {
                return Slot::Person;
            }
            if drop.contains(name.as_str()) {
                return Slot::Dropped;
            }
            let kind = categorical.as_ref().map(|names| names.contains(name.as_str()));
            columns.push(Column { name: name.clone(), cells: Cells::new(kind) });
            Slot::Feature(columns.len() - 1)
        });
        let slots = slots.collect();
        if columns.is_empty() {
            return Err(DataError::file(source, FileFault::NoFeatures));
        }
        Ok(Table {
            source: source.to_path_buf(),
            slots,
            columns,
            labels: Labels::new(source, label, options)?,
            persons: person.map(|name| (name.to_string(), Vec::new())),
            dimension: options.dimension,
            intercept: options.intercept,
        })
    }

    /// Whether a column is dropped, so that its values need not be read.
    pub(super) fn is_dropped(&self, position: usize) -> bool {
        self.slots[position] == Slot::Dropped
    }

    /// Adds the next value of the column at this position.
    pub(super) fn push(
        &mut self,
        position: usize,
        cell: Cell<'_>,
        line: usize,
    ) -> Result<(), DataError> {
        match self.slots[position] {
            Slot::Dropped => Ok(()),
            Slot::Label => self.labels.push(cell, line),
            Slot::Person => self.push_person(cell, line),
            Slot::Feature(index) => {
                let column = &mut self.columns[index];
                let pushed = column.cells.push(cell, line);
                pushed.map_err(|(line, fault)| {
                    DataError::cell(&self.source, line, &column.name, fault)
                })
            }
        }
    }

    /// Only the hash of a key is kept.
    fn push_person(&mut self, cell: Cell<'_>, line: usize) -> Result<(), DataError> {
        let Some((name, persons)) = &mut self.persons else { return Ok(()) };
        let person = match cell {
            Cell::Missing => Err(RecordFault::NoPerson),
            Cell::Text(text) => PersonKey::of_text(text).ok_or(RecordFault::NoPerson),
            Cell::Integer(number) => Ok(PersonKey::of_number(number)),
            Cell::Number(_) | Cell::Boolean(_) => Err(RecordFault::PersonKey),
        };
        persons.push(person.map_err(|fault| DataError::cell(&self.source, line, name, fault))?);
        Ok(())
    }

    /// The number of records, if all columns agree on it.
    pub(super) fn rows(&self) -> Option<usize> {
        let rows = self.labels.len();
        let persons = self.persons.iter().map(|(_, persons)| persons.len());
        let mut lengths = persons.chain(self.columns.iter().map(|column| column.cells.len()));
        lengths.all(|length| length == rows).then_some(rows)
    }

    /// Decides the undecided columns and converts rows to records.
    ///
    /// # Panics
    /// When the columns differ in length: a bug in the loader.
    pub(super) fn finish(self) -> Result<Dataset, DataError> {
        let rows = self.rows().expect("the loader pushes one value to each column per record");
        if rows == 0 {
            return Err(DataError::file(&self.source, FileFault::Empty));
        }
        let mut encoded = Vec::with_capacity(self.columns.len());
        let mut feature_names = Vec::new();
        let mut one_hot = Vec::new();
        for column in self.columns {
            let decided = column.cells.decide();
            let cells = decided.map_err(|(line, fault)| {
                DataError::cell(&self.source, line, &column.name, fault)
            })?;
            let first = feature_names.len();
            let column = Encoded::new(&column.name, cells, &mut feature_names);
            if let Encoded::Categorical { .. } = column {
                one_hot.push(first..feature_names.len());
            }
            encoded.push(column);
            if feature_names.len() > DIMENSION_MAX {
                let fault = FileFault::TooManyFeatures { limit: DIMENSION_MAX };
                return Err(DataError::file(&self.source, fault));
            }
        }
        let found = feature_names.len();
        if let Some(expected) = self.dimension.filter(|&expected| expected != found) {
            let fault = FileFault::WrongDimension { found, expected };
            return Err(DataError::file(&self.source, fault));
        }
        if self.intercept {
            feature_names.push(INTERCEPT.to_string());
        }
        let dimension = feature_names.len();
        let (labels, classes) = self.labels.finish()?;
        let intercept = self.intercept.then_some((found as u32, 1.0));
        // A sparse entry takes one and a half times the memory of a dense one.
        let sparse = 3 * (encoded.len() + usize::from(self.intercept)) < 2 * dimension;
        let persons = self.persons.map(|(_, persons)| persons);
        let record = |(row, label)| {
            let entries = encoded.iter().map(|column| column.entry(row)).chain(intercept);
            let person = persons.as_ref().map(|persons| persons[row]);
            Record { person, ..Record::new(super::features(dimension, sparse, entries), label) }
        };
        let records = labels.into_iter().enumerate().map(record).collect();
        let name = super::name_of(&self.source);
        let image_shape = None;
        Ok(Dataset { name, dimension, image_shape, classes, records, feature_names, one_hot })
    }
}

fn check_names(
    names: &[String],
    label: &str,
    person: Option<&str>,
    drop: &BTreeSet<&str>,
    categorical: Option<&BTreeSet<&str>>,
) -> Result<(), FileFault> {
    let mut positions = BTreeMap::new();
    for (position, name) in names.iter().enumerate() {
        if positions.insert(name.as_str(), position).is_some() {
            return Err(FileFault::DuplicateColumn { column: name.clone() });
        }
        if name.is_empty() && !drop.contains("") {
            return Err(FileFault::UnnamedColumn { position: position + 1 });
        }
    }
    if !positions.contains_key(label) {
        return Err(FileFault::MissingLabelColumn { column: label.to_string() });
    }
    if drop.contains(label) {
        return Err(FileFault::LabelDropped { column: label.to_string() });
    }
    if let Some(person) = person {
        let column = person.to_string();
        if !positions.contains_key(person) {
            return Err(FileFault::UnknownColumn { option: "person", column });
        }
        let listed = categorical.is_some_and(|names| names.contains(person));
        if person == label || drop.contains(person) || listed {
            return Err(FileFault::PersonUsedOtherwise { column });
        }
    }
    for (option, listed) in [("drop", Some(drop)), ("categorical", categorical)] {
        let mut listed = listed.into_iter().flatten();
        if let Some(unknown) = listed.find(|name| !positions.contains_key(*name)) {
            return Err(FileFault::UnknownColumn { option, column: unknown.to_string() });
        }
    }
    Ok(())
}

impl Cells {
    fn new(categorical: Option<bool>) -> Self {
        let (interner, ids) = (Interner::default(), Vec::new());
        match categorical {
            Some(true) => Cells::Categorical { interner, ids },
            Some(false) => Cells::Numeric(Vec::new()),
            None => Cells::Undecided { interner, ids, seen: Seen::default() },
        }
    }

    fn len(&self) -> usize {
        match self {
            Cells::Numeric(numbers) => numbers.len(),
            Cells::Categorical { ids, .. } | Cells::Undecided { ids, .. } => ids.len(),
        }
    }

    fn push(&mut self, cell: Cell<'_>, line: usize) -> Result<(), (usize, RecordFault)> {
        match self {
            Cells::Numeric(numbers) => numbers.push(cell.number().map_err(|fault| (line, fault))?),
            Cells::Categorical { interner, ids } => {
                ids.push(cell.with_text(|text| interner.id(text)));
            }
            Cells::Undecided { interner, ids, seen } => {
                let slot = match cell.number() {
                    Ok(_) => &mut seen.number,
                    Err(RecordFault::Missing) => &mut seen.missing,
                    Err(RecordFault::NotFinite) => &mut seen.not_finite,
                    Err(_) => &mut seen.not_a_number,
                };
                slot.get_or_insert(line);
                // A boolean kept as text would become a category.
                let cell = match cell {
                    Cell::Boolean(boolean) => Cell::Integer(i128::from(boolean)),
                    Cell::Missing | Cell::Text(_) | Cell::Number(_) | Cell::Integer(_) => cell,
                };
                ids.push(cell.with_text(|text| interner.id(text)));
                if interner.texts().len() > CATEGORIES_DETECTED_MAX {
                    if let Some(line) = seen.not_a_number {
                        let limit = CATEGORIES_DETECTED_MAX;
                        return Err((line, RecordFault::TooManyCategories { limit }));
                    }
                    *self = Cells::Numeric(seen.numbers(interner, ids)?);
                }
            }
        }
        Ok(())
    }

    /// Decides whether an undecided column is numeric.
    fn decide(self) -> Result<Self, (usize, RecordFault)> {
        match self {
            Cells::Undecided { interner, ids, seen } => {
                let numeric = seen.not_a_number.is_none()
                    && (seen.number.is_some() || seen.not_finite.is_some());
                if numeric {
                    seen.numbers(&interner, &ids).map(Cells::Numeric)
                } else {
                    Ok(Cells::Categorical { interner, ids })
                }
            }
            decided @ (Cells::Numeric(_) | Cells::Categorical { .. }) => Ok(decided),
        }
    }
}

impl Seen {
    /// The values of a column as numbers.
    fn numbers(&self, interner: &Interner, ids: &[u32]) -> Result<Vec<f64>, (usize, RecordFault)> {
        let missing = self.missing.map(|line| (line, RecordFault::Missing));
        let not_finite = self.not_finite.map(|line| (line, RecordFault::NotFinite));
        if let Some(first) = missing.into_iter().chain(not_finite).min_by_key(|&(line, _)| line) {
            return Err(first);
        }
        let parse = |text: &str| Cell::Text(text).number();
        let numbers: Result<Vec<f64>, _> =
            interner.texts().iter().map(|text| parse(text)).collect();
        let numbers = numbers.map_err(|fault| (self.number.unwrap_or(1), fault))?;
        Ok(ids.iter().map(|&id| numbers[id as usize]).collect())
    }
}

/// A column and its first index in the feature vector.
enum Encoded {
    Numeric { index: u32, numbers: Vec<f64> },
    Categorical { index_of: Vec<u32>, ids: Vec<u32> },
}

impl Encoded {
    /// Appends a column to the features, and names its features.
    fn new(name: &str, cells: Cells, feature_names: &mut Vec<String>) -> Self {
        let first = u32::try_from(feature_names.len()).expect("at most DIMENSION_MAX names");
        match cells {
            Cells::Numeric(numbers) => {
                feature_names.push(name.to_string());
                Encoded::Numeric { index: first, numbers }
            }
            Cells::Categorical { interner, ids } | Cells::Undecided { interner, ids, .. } => {
                let texts = interner.texts();
                let mut order: Vec<usize> = (0..texts.len()).collect();
                order.sort_by(|&left, &right| texts[left].cmp(&texts[right]));
                let mut index_of = vec![0; texts.len()];
                for (index, text) in (first..).zip(order) {
                    index_of[text] = index;
                    feature_names.push(format!("{name}={}", texts[text]));
                }
                Encoded::Categorical { index_of, ids }
            }
        }
    }

    fn entry(&self, row: usize) -> (u32, f64) {
        match self {
            Encoded::Numeric { index, numbers } => (*index, numbers[row]),
            Encoded::Categorical { index_of, ids } => (index_of[ids[row] as usize], 1.0),
        }
    }
}
