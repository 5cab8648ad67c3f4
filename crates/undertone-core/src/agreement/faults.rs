//! Collecting everything that is wrong with an agreement or experiment, so that it can be corrected at once.

use super::Range;
use super::raw::OneOrEach;
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

/// Everything that is wrong with an agreement or experiment.
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

    /// Two sections may stumble over the same key.
    pub(crate) fn remove_repeated(&mut self) {
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

    /// Takes a number that must pass a test, or notes why not and gives a harmless stand-in.
    pub fn number(&mut self, path: &str, value: Option<f64>, range: Range) -> f64 {
        match value {
            None => self.missing(path, range.text()),
            Some(value) if !range.holds(value) => self.push(path, value, range.text()),
            Some(value) => return value,
        }
        range.stand_in()
    }

    /// Takes one number for each learner.
    pub(crate) fn each(
        &mut self,
        path: &str,
        value: Option<&OneOrEach>,
        learners: usize,
        range: Range,
    ) -> Vec<f64> {
        match value {
            None => {
                self.missing(path, range.text());
                vec![range.stand_in(); learners]
            }
            Some(OneOrEach::One(value)) => vec![self.number(path, Some(*value), range); learners],
            Some(OneOrEach::Each(values)) if values.len() != learners => {
                let needed = format!("must be one number, or one for each of {learners} learners");
                self.push(path, format!("[{} numbers]", values.len()), needed);
                vec![range.stand_in(); learners]
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
