//! One loader for config files: agreements of nodes, experiments of the laboratory, dicts of Python.
//!
//! A [`Document`] is a kind of config file. [`load`] reads one from a [`Source`], applies changes,
//! reads the edge file that it names, checks it, and reports all faults at once.

use crate::doctor::advice;
use serde::Deserializer;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use thiserror::Error;
use undertone_core::agreement::{Agreement, Fault, Faults, RawAgreement, RawEdges};

/// Where a config comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A TOML file. Paths in it start from its folder.
    File(PathBuf),
    /// TOML text.
    Text {
        /// What errors call it.
        origin: String,
        /// The text.
        text: String,
    },
    /// Values from a program.
    Values(serde_json::Value),
}

/// How strictly a config is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// For running it.
    Run,
    /// For examining it: conditions of the theorems may be broken.
    Examine,
}

/// A config as written and as checked.
#[derive(Clone, Debug)]
pub struct Loaded<D: Document> {
    /// As written, changes applied and edge file read.
    pub raw: D,
    /// As checked.
    pub checked: D::Checked,
    /// The folder that relative paths start from.
    pub folder: PathBuf,
}

/// A kind of config file.
pub trait Document: Sized {
    /// Its type after it was checked.
    type Checked;

    /// Reads a document. Also returns the paths of unknown keys.
    ///
    /// # Errors
    /// The format's own error when the text is malformed or a value has the wrong type.
    fn read<P: Parse>(parse: P) -> Result<(Self, Vec<String>), P::Error>;

    /// The message for an unknown key.
    fn unknown_key(_path: &str) -> &'static str {
        "unknown key"
    }

    /// The agreement in it.
    fn agreement_mut(&mut self) -> &mut RawAgreement;

    /// Checks it and reports every fault at once.
    ///
    /// # Errors
    /// All faults.
    fn check(&self, strictness: Strictness) -> Result<Self::Checked, Faults>;
}

/// Text or values that can be read more than once, as several types.
pub trait Parse {
    /// The format's error.
    type Error;

    /// Reads it as a type. Also returns the paths of keys that the type does not have.
    ///
    /// # Errors
    /// When the text is malformed or a value has the wrong type.
    fn parse<T: DeserializeOwned>(&self) -> Result<(T, Vec<String>), Self::Error>;
}

/// Why a config cannot be used.
#[derive(Debug, Error)]
pub enum LoadError {
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The text is not TOML, or a value has the wrong type.
    #[error("{origin} is not a valid config:\n{error}")]
    Syntax {
        /// Which file or preset.
        origin: String,
        /// What the parser says, with line and column.
        error: Box<toml::de::Error>,
    },
    /// A value has the wrong type.
    #[error("the config has a value of the wrong type: {0}")]
    Type(#[from] serde_json::Error),
    /// Values are wrong or missing.
    #[error("{origin} has {} fault{}:\n{faults}", faults.0.len(), if faults.0.len() == 1 { "" } else { "s" })]
    Faults {
        /// Which file or preset.
        origin: String,
        /// All of them.
        faults: Faults,
    },
    /// A line of an edge file is not an edge.
    #[error("{}, line {line}: must be two learner numbers and perhaps a weight", path.display())]
    EdgeLine {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
    },
}

/// Reads a config, changes it and checks the result.
///
/// # Errors
/// When it cannot be read, or has faults after the change. All faults are reported at once.
pub fn load<D: Document>(
    source: &Source,
    change: impl FnOnce(&mut D),
    strictness: Strictness,
) -> Result<Loaded<D>, LoadError> {
    match source {
        Source::File(path) => {
            let text = read_text(path)?;
            let folder = path.parent().unwrap_or(Path::new(".")).to_path_buf();
            load_text(&path.display().to_string(), &text, folder, change, strictness)
        }
        Source::Text { origin, text } => {
            load_text(origin, text, PathBuf::from("."), change, strictness)
        }
        Source::Values(values) => {
            let (raw, unknown) = D::read(Values(values))?;
            finish("the config", raw, unknown, PathBuf::from("."), change, strictness)
        }
    }
}

/// Checks a config that was read before.
///
/// # Errors
/// When anything in it is wrong.
pub fn check_again<D: Document>(raw: D, folder: &Path) -> Result<Loaded<D>, LoadError> {
    finish("the config", raw, Vec::new(), folder.into(), |_| (), Strictness::Run)
}

fn load_text<D: Document>(
    origin: &str,
    text: &str,
    folder: PathBuf,
    change: impl FnOnce(&mut D),
    strictness: Strictness,
) -> Result<Loaded<D>, LoadError> {
    let syntax = |error| LoadError::Syntax { origin: origin.into(), error: Box::new(error) };
    // A byte order mark is allowed.
    let (raw, unknown) = D::read(Text(text.trim_start_matches('\u{feff}'))).map_err(syntax)?;
    finish(origin, raw, unknown, folder, change, strictness)
}

fn finish<D: Document>(
    origin: &str,
    mut raw: D,
    unknown: Vec<String>,
    folder: PathBuf,
    change: impl FnOnce(&mut D),
    strictness: Strictness,
) -> Result<Loaded<D>, LoadError> {
    change(&mut raw);
    let network = &mut raw.agreement_mut().network;
    if let Some(RawEdges::Path(path)) = &network.edges {
        network.edges = Some(RawEdges::Inline(read_edges(&folder.join(path))?));
    }
    let mut faults = Faults::default();
    for path in unknown {
        let needed = D::unknown_key(&path).into();
        faults.0.push(Fault { path, value: String::new(), needed });
    }
    match raw.check(strictness) {
        Ok(checked) if faults.0.is_empty() => Ok(Loaded { raw, checked, folder }),
        checked => {
            faults.0.extend(checked.err().unwrap_or_default().0);
            Err(LoadError::Faults { origin: origin.into(), faults })
        }
    }
}

impl Document for RawAgreement {
    type Checked = Agreement;

    fn read<P: Parse>(parse: P) -> Result<(RawAgreement, Vec<String>), P::Error> {
        parse.parse()
    }

    fn unknown_key(path: &str) -> &'static str {
        match path {
            "rounds" | "data" => "is part of an experiment, not of an agreement; remove it",
            _ => "unknown key",
        }
    }

    fn agreement_mut(&mut self) -> &mut RawAgreement {
        self
    }

    fn check(&self, strictness: Strictness) -> Result<Agreement, Faults> {
        check_agreement(self, strictness)
    }
}

/// Checks an agreement. A broken condition of the theorems is reported with advice on what to
/// change.
///
/// # Errors
/// Every fault, all at once.
pub fn check_agreement(raw: &RawAgreement, strictness: Strictness) -> Result<Agreement, Faults> {
    match strictness {
        Strictness::Run => Agreement::check(raw, advice),
        Strictness::Examine => Agreement::unchecked_by_theorems(raw),
    }
}

struct Text<'a>(&'a str);

impl Parse for Text<'_> {
    type Error = toml::de::Error;

    fn parse<T: DeserializeOwned>(&self) -> Result<(T, Vec<String>), toml::de::Error> {
        noting_unknown(toml::Deserializer::parse(self.0)?)
    }
}

struct Values<'a>(&'a serde_json::Value);

impl Parse for Values<'_> {
    type Error = serde_json::Error;

    fn parse<T: DeserializeOwned>(&self) -> Result<(T, Vec<String>), serde_json::Error> {
        noting_unknown(self.0)
    }
}

fn noting_unknown<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<(T, Vec<String>), D::Error> {
    let mut unknown = Vec::new();
    let value = serde_ignored::deserialize(deserializer, |path| unknown.push(path.to_string()))?;
    Ok((value, unknown))
}

fn read_text(path: &Path) -> Result<String, LoadError> {
    std::fs::read_to_string(path).map_err(|error| LoadError::Read { path: path.into(), error })
}

/// Reads an edge list. Each line has two learner numbers and an optional weight; `#` starts a
/// comment.
fn read_edges(path: &Path) -> Result<Vec<Vec<f64>>, LoadError> {
    let mut edges = Vec::new();
    for (place, line) in read_text(path)?.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let numbers: Result<Vec<f64>, _> =
            line.split([',', ' ', '\t']).filter(|word| !word.is_empty()).map(str::parse).collect();
        match numbers {
            Ok(numbers) if (2..=3).contains(&numbers.len()) => edges.push(numbers),
            _ => return Err(LoadError::EdgeLine { path: path.into(), line: place + 1 }),
        }
    }
    Ok(edges)
}
