//! Collects every fault of a config, so that all can be fixed at once.

use super::raw::{OneOrEach, RawAgreement};
use std::fmt;

/// One fault: the key, its value, and what is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The key, as `section.key`.
    pub path: String,
    /// The value, or `missing`.
    pub value: String,
    /// What is needed.
    pub needed: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value.as_str() {
            "" => write!(formatter, "{}: {}", self.path, self.needed),
            value => write!(formatter, "{} = {value}: {}", self.path, self.needed),
        }
    }
}

/// Every fault of a config.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

impl std::error::Error for Faults {}

impl fmt::Display for Faults {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(Fault::to_string).collect();
        formatter.write_str(&lines.join("\n"))
    }
}

impl Faults {
    /// Notes a fault.
    pub fn push(&mut self, path: &str, value: impl fmt::Display, needed: impl Into<String>) {
        self.0.push(Fault { path: path.into(), value: value.to_string(), needed: needed.into() });
    }

    /// Two checks may report the same key.
    pub fn remove_repeated(&mut self) {
        let mut seen: Vec<Fault> = Vec::new();
        self.0.retain(|fault| {
            let new = !seen.contains(fault);
            seen.push(fault.clone());
            new
        });
    }

    /// Notes a missing key.
    pub fn missing(&mut self, path: &str, needed: impl Into<String>) {
        self.push(path, "", format!("missing; {}", needed.into()));
    }

    /// Takes a number that must pass a test. If it does not, notes a fault and returns a harmless
    /// stand-in.
    pub fn number(&mut self, path: &str, value: Option<f64>, range: &Range) -> f64 {
        match value {
            None => self.missing(path, range.text),
            Some(value) if !(value.is_finite() && (range.holds)(value)) => {
                self.push(path, value, range.text);
            }
            Some(value) => return value,
        }
        range.stand_in
    }

    /// Takes one number for each learner.
    pub(crate) fn each(
        &mut self,
        path: &str,
        value: Option<&OneOrEach>,
        learners: usize,
        range: &Range,
    ) -> Vec<f64> {
        match value {
            None => {
                self.missing(path, range.text);
                vec![range.stand_in; learners]
            }
            Some(OneOrEach::One(value)) => vec![self.number(path, Some(*value), range); learners],
            Some(OneOrEach::Each(values)) if values.len() != learners => {
                let needed = format!("must be one number, or one for each of {learners} learners");
                self.push(path, format!("[{} numbers]", values.len()), needed);
                vec![range.stand_in; learners]
            }
            Some(OneOrEach::Each(values)) => values
                .iter()
                .enumerate()
                .map(|(place, &value)| self.number(&format!("{path}[{place}]"), Some(value), range))
                .collect(),
        }
    }

    /// Takes one of several words. If it is another word, notes a fault that lists them.
    pub fn word<T: Copy>(&mut self, path: &str, value: Option<&str>, choices: &[(&str, T)]) -> T {
        let names: Vec<&str> = choices.iter().map(|&(name, _)| name).collect();
        let needed = format!("must be one of {}", names.join(", "));
        match value {
            None => self.missing(path, needed),
            Some(value) => match choices.iter().find(|&&(name, _)| name == value) {
                Some(&(_, choice)) => return choice,
                None => self.push(path, format!("\"{value}\""), needed),
            },
        }
        choices[0].1
    }

    /// Notes a key that has no meaning with the other settings.
    pub fn unused<T>(&mut self, path: &str, value: Option<&T>, only_with: &str) {
        if value.is_some() {
            self.push(path, "", format!("has a meaning only with {only_with}; remove it"));
        }
    }
}

impl Faults {
    /// Notes the settings of Algorithm 1 in an agreement of another method.
    pub(crate) fn only_for_algorithm1(&mut self, raw: &RawAgreement) {
        self.unused("privacy.bound", raw.privacy.bound.as_ref(), "method = \"algorithm1\"");
    }

    /// Notes the settings of `shielded` in an agreement of another method.
    pub(crate) fn only_for_shielded(&mut self, raw: &RawAgreement) {
        self.unused("schedule.interval", raw.schedule.interval.as_ref(), "method = \"shielded\"");
    }

    /// Notes the settings of PDOP in an agreement of another method.
    pub(crate) fn only_for_pdop(&mut self, raw: &RawAgreement) {
        let only = "method = \"pdop\"";
        self.unused("schedule.step_ratio", raw.schedule.step_ratio.as_ref(), only);
        self.unused("noise.ratio", raw.noise.ratio.as_ref(), only);
    }
}

/// What a number must satisfy, in code and in words. NaN and infinity never pass.
pub struct Range {
    /// In words.
    pub text: &'static str,
    /// In code.
    pub holds: fn(f64) -> bool,
    /// What is used after a fault was noted.
    pub stand_in: f64,
}

/// Numbers beyond this serve no purpose and would overflow when multiplied.
const LARGEST: f64 = 1e12;
/// A range of numbers.
pub const POSITIVE: Range = Range {
    text: "must be above 0 and at most 1e12",
    holds: |x| x > 0.0 && x <= LARGEST,
    stand_in: 1.0,
};
pub(super) const NON_NEGATIVE: Range = Range {
    text: "must be at least 0 and at most 1e12",
    holds: |x| (0.0..=LARGEST).contains(&x),
    stand_in: 0.0,
};
pub(super) const FINITE: Range =
    Range { text: "must lie within ±1e12", holds: |x| x.abs() <= LARGEST, stand_in: 0.0 };
/// A range of numbers.
pub const PROBABILITY: Range = Range {
    text: "must lie strictly between 0 and 1",
    holds: |x| x > 0.0 && x < 1.0,
    stand_in: 0.5,
};
/// A range of numbers.
pub const FRACTION: Range = Range {
    text: "must be at least 0 and below 1",
    holds: |x| (0.0..1.0).contains(&x),
    stand_in: 0.0,
};
pub(crate) const SHARE: Range =
    Range { text: "must be above 0 and at most 1", holds: |x| x > 0.0 && x <= 1.0, stand_in: 0.5 };
/// Baselines may have noise that shrinks.
pub(super) const SIGNED_EXPONENT: Range = Range {
    text: "must lie between -2 and 2",
    holds: |x| (-2.0..=2.0).contains(&x),
    stand_in: 0.5,
};
pub(super) const EXPONENT: Range = Range {
    text: "must be at least 0 and at most 2",
    holds: |x| (0.0..=2.0).contains(&x),
    stand_in: 0.5,
};
