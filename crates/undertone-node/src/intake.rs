//! The owner's records: JSON, one object for each record. This is where records enter: each is checked here, once.
//!
//! ```json
//! {"features": [0.1, 0, 2.5], "label": "nurse"}
//! {"features": {"indices": [0, 2], "values": [0.1, 2.5]}, "label": 1}
//! ```
//!
//! There are as many features as a record has before any transform: the agreement's `model.features`, or the values of
//! `model.input`, or `model.raw_features`. The intercept is not counted, and is added here.
//! A label is a number, or one of `records.classes`, or without these the number of a class, from 0.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;
use thiserror::Error;
use undertone_models::{BoundedRecord, Features, Record, RecordChecker, RecordError, Setup};

/// Why text is not a record. The message names what is wrong and where, and never a value.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum JsonFault {
    /// Not JSON.
    #[error("not JSON from character {character} on")]
    NotJson {
        /// Where it stops being JSON, from 1.
        character: usize,
    },
    /// JSON, but not a record.
    #[error(
        "must be an object with \"features\" (numbers, or \"indices\" and \"values\"){}",
        if *.labelled { " and \"label\", and nothing else" } else { ", and nothing else" }
    )]
    NotARecord {
        /// Whether a label was expected.
        labelled: bool,
    },
    /// Too many or too few features.
    #[error("{found} features: the model takes {expected}")]
    Dimension {
        /// How many were given.
        found: usize,
        /// How many the model takes.
        expected: usize,
    },
    /// The indices do not increase, are too large, or are not as many as the values.
    #[error("indices must increase and be below {limit}, one for each value")]
    Indices {
        /// What they must be below.
        limit: usize,
    },
    /// The label is not a class.
    #[error("label: must be one of the classes {classes}")]
    Class {
        /// The classes.
        classes: String,
    },
    /// The label is not a number.
    #[error("label: must be a number")]
    Label,
    /// Out of bounds, or not fit for the memory.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// One of many records in a text is wrong.
    #[error("record {line}: {fault}")]
    InText {
        /// The line, or the index in an array, from 1.
        line: usize,
        /// What is wrong with it.
        fault: Box<JsonFault>,
    },
}

impl JsonFault {
    /// The same fault, of the record with this line or index of a text.
    pub(crate) fn in_line(self, line: usize) -> JsonFault {
        JsonFault::InText { line, fault: Box::new(self) }
    }

    /// The line or index, if the fault is of one of many records.
    pub(crate) fn line(&self) -> Option<usize> {
        match self {
            JsonFault::InText { line, .. } => Some(*line),
            JsonFault::NotJson { .. }
            | JsonFault::NotARecord { .. }
            | JsonFault::Dimension { .. }
            | JsonFault::Indices { .. }
            | JsonFault::Class { .. }
            | JsonFault::Label
            | JsonFault::Record(_) => None,
        }
    }
}

/// Parses and checks records for one network.
#[derive(Clone)]
pub struct Intake {
    setup: Arc<Setup>,
    checker: RecordChecker,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelledJson {
    features: FeaturesJson,
    label: LabelJson,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UnlabelledJson {
    features: FeaturesJson,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum FeaturesJson {
    Dense(Vec<f64>),
    Sparse(SparseJson),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SparseJson {
    indices: Vec<u32>,
    values: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum LabelJson {
    Number(f64),
    Text(String),
}

impl Intake {
    /// For the network of a setup.
    #[must_use]
    pub fn new(setup: Arc<Setup>) -> Intake {
        let checker = setup.record_checker();
        Intake { setup, checker }
    }

    /// Parses and checks one record.
    ///
    /// # Errors
    /// When the text is not a record of this network.
    pub fn record(&self, text: &str) -> Result<BoundedRecord, JsonFault> {
        let LabelledJson { features, label } = parse(text, true)?;
        let record = Record { features: self.features(features)?, label: self.label(label)? };
        Ok(self.checker.check(record)?)
    }

    /// Parses features without a label.
    ///
    /// # Errors
    /// When the text is not a record of this network.
    pub fn unlabelled(&self, text: &str) -> Result<Features, JsonFault> {
        let UnlabelledJson { features } = parse(text, false)?;
        Ok(self.checker.check_features(self.features(features)?)?)
    }

    /// Parses lines with one record each. Empty lines are skipped.
    ///
    /// # Errors
    /// When a line is not a record. The error names the first.
    pub fn lines(&self, text: &str) -> Result<Vec<BoundedRecord>, JsonFault> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        lines
            .map(|(index, line)| self.record(line).map_err(|fault| fault.in_line(index + 1)))
            .collect()
    }

    /// The name of a class, if classes have names.
    pub(crate) fn class_name(&self, class: usize) -> Option<&str> {
        self.setup.agreement.records.classes.as_ref()?.get(class).map(String::as_str)
    }

    fn features(&self, json: FeaturesJson) -> Result<Features, JsonFault> {
        let whole = self.setup.agreement.record_features();
        let intercept = self.setup.agreement.records.intercept;
        let expected = whole - usize::from(intercept);
        match json {
            FeaturesJson::Dense(mut values) => {
                if values.len() != expected {
                    return Err(JsonFault::Dimension { found: values.len(), expected });
                }
                values.extend(intercept.then_some(1.0));
                Ok(Features::Dense(values.into()))
            }
            FeaturesJson::Sparse(SparseJson { mut indices, mut values }) => {
                let increasing = indices.windows(2).all(|two| two[0] < two[1]);
                let below = indices.last().is_none_or(|&last| (last as usize) < expected);
                if !increasing || !below || indices.len() != values.len() {
                    return Err(JsonFault::Indices { limit: expected });
                }
                let dimension = u32::try_from(whole).unwrap_or(u32::MAX);
                if intercept {
                    indices.push(dimension - 1);
                    values.push(1.0);
                }
                Ok(Features::Sparse { dimension, indices: indices.into(), values: values.into() })
            }
        }
    }

    fn label(&self, json: LabelJson) -> Result<f64, JsonFault> {
        let agreement = &self.setup.agreement;
        let Some(count) = agreement.model.loss.classes() else {
            return match json {
                LabelJson::Number(number) => Ok(number),
                LabelJson::Text(_) => Err(JsonFault::Label),
            };
        };
        let class = match (&agreement.records.classes, json) {
            (Some(names), LabelJson::Text(text)) => names.iter().position(|name| *name == text),
            // A class with the name "7" may be written as a number.
            (Some(names), LabelJson::Number(number)) => names.iter().position(|name| {
                name.parse::<f64>().is_ok_and(|name| (name - number).abs() <= 0.0)
            }),
            (None, LabelJson::Number(number)) => {
                (0..count).position(|class| (f64::from(class) - number).abs() <= 0.0)
            }
            (None, LabelJson::Text(_)) => None,
        };
        let class = class.and_then(|class| u32::try_from(class).ok()).map(f64::from);
        class.ok_or_else(|| JsonFault::Class {
            classes: match &agreement.records.classes {
                Some(names) => names.join(", "),
                None => format!("0 to {}", count - 1),
            },
        })
    }
}

/// Splits a text that is one JSON object or an array of them into the objects.
///
/// # Errors
/// When it is neither.
pub fn objects(text: &str) -> Result<Vec<&str>, JsonFault> {
    if !text.trim_start().starts_with('[') {
        return Ok(vec![text]);
    }
    let parts: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| not_json(&error))?;
    Ok(parts.into_iter().map(RawValue::get).collect())
}

/// The parser's own messages contain values, so they are not passed on.
fn parse<'a, T: Deserialize<'a>>(text: &'a str, labelled: bool) -> Result<T, JsonFault> {
    serde_json::from_str(text).map_err(|error| {
        if error.is_data() { JsonFault::NotARecord { labelled } } else { not_json(&error) }
    })
}

fn not_json(error: &serde_json::Error) -> JsonFault {
    JsonFault::NotJson { character: error.column().max(1) }
}
