//! Labels: numbers for regression, classes 0, 1, 2 … for classification.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::{DataError, FileFault, LoadOptions, RecordFault, Task};

/// The most classes there may be.
pub(super) const CLASSES_MAX: usize = 10_000;

/// One value of a file.
#[derive(Clone, Copy)]
pub(super) enum Cell<'a> {
    Missing,
    Text(&'a str),
    Number(f64),
    Integer(i128),
    Boolean(bool),
}

impl<'a> Cell<'a> {
    /// A text, unless it denotes a missing value.
    pub(super) fn text(text: &'a str) -> Self {
        match text.trim() {
            "" | "?" => Cell::Missing,
            text => Cell::Text(text),
        }
    }

    /// The value as a finite number.
    pub(super) fn number(self) -> Result<f64, RecordFault> {
        let number = match self {
            Cell::Missing => return Err(RecordFault::Missing),
            Cell::Text(text) => text.parse().map_err(|_| RecordFault::NotANumber)?,
            Cell::Number(number) => number,
            Cell::Integer(integer) => integer as f64,
            Cell::Boolean(boolean) => f64::from(u8::from(boolean)),
        };
        if f64::is_finite(number) { Ok(number) } else { Err(RecordFault::NotFinite) }
    }

    /// Calls `use_text` with the value as text; a missing value is `?`.
    pub(super) fn with_text<T>(self, use_text: impl FnOnce(&str) -> T) -> T {
        match self {
            Cell::Missing => use_text("?"),
            Cell::Text(text) => use_text(text),
            Cell::Number(number) => use_text(&number.to_string()),
            Cell::Integer(integer) => use_text(&integer.to_string()),
            Cell::Boolean(boolean) => use_text(if boolean { "true" } else { "false" }),
        }
    }
}

/// Gives each distinct text a number, in order of appearance.
#[derive(Default)]
pub(super) struct Interner {
    ids: HashMap<Box<str>, u32>,
    texts: Vec<Box<str>>,
}

impl Interner {
    pub(super) fn id(&mut self, text: &str) -> u32 {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let id = u32::try_from(self.texts.len()).expect("fewer than 2^32 distinct texts");
        self.ids.insert(text.into(), id);
        self.texts.push(text.into());
        id
    }

    pub(super) fn texts(&self) -> &[Box<str>] {
        &self.texts
    }
}

/// Collects the labels of a file.
///
/// Distinct labels become classes in increasing order: by number if all are numbers, in which case
/// `1`, `+1` and `1.0` are one class, else by text.
pub(super) struct Labels {
    source: PathBuf,
    column: String,
    kind: Kind,
}

enum Kind {
    Numbers(Vec<f64>),
    Detected { interner: Interner, ids: Vec<u32> },
    Given { classes: Vec<String>, ids: Vec<u32> },
}

impl Labels {
    pub(super) fn new(
        source: &Path,
        column: &str,
        options: &LoadOptions,
    ) -> Result<Self, DataError> {
        let kind = match (options.task, &options.classes) {
            (Task::Regression, _) => Kind::Numbers(Vec::new()),
            (Task::Classification, None) => {
                Kind::Detected { interner: Interner::default(), ids: Vec::new() }
            }
            (Task::Classification, Some(classes)) => {
                check_given(classes).map_err(|fault| DataError::file(source, fault))?;
                Kind::Given { classes: classes.clone(), ids: Vec::new() }
            }
        };
        Ok(Labels { source: source.to_path_buf(), column: column.to_string(), kind })
    }

    pub(super) fn push(&mut self, cell: Cell<'_>, line: usize) -> Result<(), DataError> {
        let accepted = self.accept(cell);
        accepted.map_err(|fault| DataError::cell(&self.source, line, &self.column, fault))
    }

    pub(super) fn len(&self) -> usize {
        match &self.kind {
            Kind::Numbers(numbers) => numbers.len(),
            Kind::Detected { ids, .. } | Kind::Given { ids, .. } => ids.len(),
        }
    }

    /// Every record's label, and the classes for classification.
    pub(super) fn finish(self) -> Result<(Vec<f64>, Option<Vec<String>>), DataError> {
        match self.kind {
            Kind::Numbers(numbers) => Ok((numbers, None)),
            Kind::Given { classes, ids } => {
                Ok((ids.into_iter().map(f64::from).collect(), Some(classes)))
            }
            Kind::Detected { interner, ids } => {
                let (class_of, classes) = sort_classes(interner.texts());
                if classes.len() < 2 {
                    return Err(DataError::file(&self.source, FileFault::OneClass));
                }
                let labels = ids.into_iter().map(|id| class_of[id as usize]).collect();
                Ok((labels, Some(classes)))
            }
        }
    }

    fn accept(&mut self, cell: Cell<'_>) -> Result<(), RecordFault> {
        match &mut self.kind {
            Kind::Numbers(numbers) => numbers.push(cell.number()?),
            Kind::Detected { interner, ids } => {
                refuse_non_labels(cell)?;
                ids.push(cell.with_text(|text| interner.id(text)));
                if interner.texts().len() > CLASSES_MAX {
                    return Err(RecordFault::TooManyClasses { limit: CLASSES_MAX });
                }
            }
            Kind::Given { classes, ids } => {
                refuse_non_labels(cell)?;
                let class = cell.with_text(|text| find(classes, text));
                ids.push(class.ok_or(RecordFault::UnknownClass)?);
            }
        }
        Ok(())
    }
}

/// Refuses classes given by the caller that are too few, too many, or not all different.
pub(super) fn check_given(classes: &[String]) -> Result<(), FileFault> {
    let repeated =
        (1..classes.len()).any(|index| find(&classes[..index], &classes[index]).is_some());
    if classes.len() < 2 || classes.len() > CLASSES_MAX || repeated {
        return Err(FileFault::BadClasses);
    }
    Ok(())
}

/// A missing label or NaN is not a class.
fn refuse_non_labels(cell: Cell<'_>) -> Result<(), RecordFault> {
    let is_finite = match cell {
        Cell::Missing => return Err(RecordFault::Missing),
        // A text that is no number is a name.
        Cell::Text(text) => text.parse().map_or(true, f64::is_finite),
        Cell::Number(number) => number.is_finite(),
        Cell::Integer(_) | Cell::Boolean(_) => true,
    };
    if is_finite { Ok(()) } else { Err(RecordFault::NotFinite) }
}

/// The number a label denotes, if no other label rounds to the same number.
fn label_number(text: &str) -> Option<f64> {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0; // 2^53: beyond it integers are rounded.
    let number: f64 = text.parse().ok()?;
    (number.abs() < EXACT_MAX).then_some(number + 0.0) // -0 is 0.
}

/// The class of a label: the one with the same text, or else the same number.
fn find(classes: &[String], text: &str) -> Option<u32> {
    let same_number = || {
        let number = label_number(text)?.to_bits();
        classes.iter().position(|class| label_number(class).map(f64::to_bits) == Some(number))
    };
    let position = classes.iter().position(|class| class == text).or_else(same_number)?;
    u32::try_from(position).ok()
}

/// The class of each text, and the name of each class.
fn sort_classes(texts: &[Box<str>]) -> (Vec<f64>, Vec<String>) {
    let numbers: Option<Vec<f64>> = texts.iter().map(|text| label_number(text)).collect();
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by(|&left, &right| {
        let by_text = texts[left].cmp(&texts[right]);
        match &numbers {
            Some(numbers) => numbers[left].total_cmp(&numbers[right]).then(by_text),
            None => by_text,
        }
    });
    let mut class_of = vec![0.0; texts.len()];
    let mut classes: Vec<String> = Vec::new();
    let mut last: Option<usize> = None;
    for index in order {
        let same = match (&numbers, last) {
            (Some(numbers), Some(last)) => numbers[last].to_bits() == numbers[index].to_bits(),
            _ => false,
        };
        if !same {
            classes.push(texts[index].to_string());
        }
        class_of[index] = (classes.len() - 1) as f64;
        last = Some(index);
    }
    (class_of, classes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(
        texts: &[&str],
        options: &LoadOptions,
    ) -> Result<(Vec<f64>, Option<Vec<String>>), DataError> {
        let mut labels = Labels::new(Path::new("f"), "y", options)?;
        for (index, text) in texts.iter().enumerate() {
            labels.push(Cell::text(text), index + 1)?;
        }
        labels.finish()
    }

    fn names(names: &[&str]) -> Option<Vec<String>> {
        Some(names.iter().map(|name| name.to_string()).collect())
    }

    #[test]
    fn numeric_labels_are_sorted_as_numbers_and_spellings_are_merged() {
        let options = LoadOptions::new(Task::Classification);
        let (found, classes) = labels(&["10", "9", "+9.0", "-1", "10"], &options).unwrap();
        assert_eq!(found, [2.0, 1.0, 1.0, 0.0, 2.0]);
        assert_eq!(classes, names(&["-1", "+9.0", "10"]));
    }

    #[test]
    fn one_label_that_is_not_a_number_makes_all_sort_as_texts() {
        let options = LoadOptions::new(Task::Classification);
        let (found, classes) = labels(&["10", "9", "x", "1"], &options).unwrap();
        assert_eq!(found, [1.0, 2.0, 3.0, 0.0]);
        assert_eq!(classes, names(&["1", "10", "9", "x"]));
    }

    #[test]
    fn large_identifiers_are_not_merged_by_rounding() {
        let options = LoadOptions::new(Task::Classification);
        let (_, classes) = labels(&["9007199254740993", "9007199254740992"], &options).unwrap();
        assert_eq!(classes.unwrap().len(), 2);
    }

    #[test]
    fn given_classes_fix_the_order_and_allow_a_file_with_one_class() {
        let mut options = LoadOptions::new(Task::Classification);
        options.classes = names(&["p", "e"]);
        assert_eq!(labels(&["e", "e"], &options).unwrap().0, [1.0, 1.0]);
        let message = labels(&["e", "secret"], &options).unwrap_err().to_string();
        assert_eq!(message, "f:2, column `y`: label is not one of the classes given");
        for bad in [names(&["p"]), names(&["1", "1.0"]), names(&[])] {
            options.classes = bad;
            assert!(matches!(
                labels(&["p"], &options),
                Err(DataError::File { fault: FileFault::BadClasses, .. })
            ));
        }
    }

    #[test]
    fn missing_labels_are_refused_for_both_tasks() {
        for task in [Task::Classification, Task::Regression] {
            let options = LoadOptions::new(task);
            for (hole, reason) in [("?", "missing"), ("", "missing"), ("NaN", "not finite")] {
                let message = labels(&["1", hole], &options).unwrap_err().to_string();
                assert!(message.contains("f:2") && message.contains(reason), "{message}");
            }
        }
    }

    #[test]
    fn continuous_labels_are_not_taken_for_classes() {
        let texts: Vec<String> = (0..=CLASSES_MAX).map(|index| format!("{index}.5")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let error = labels(&texts, &LoadOptions::new(Task::Classification)).unwrap_err();
        assert!(error.to_string().contains("regression"), "{error}");
        assert!(labels(&texts, &LoadOptions::new(Task::Regression)).is_ok());
    }
}
