//! Configs from TOML files and presets.

use crate::stream::{DataSource, find_source, record_order};
use std::path::{Path, PathBuf};
use thiserror::Error;
use undertone::MemoryKind;
use undertone::config::{
    Config, Fault, Faults, MEMORY_CUTOFF, OneOrEach, Partition, RawConfig, RawEdges, RecordOrder,
};
use undertone::privacy::Rule;

/// A preset by name, with its starter file.
const PRESETS: [(&str, &str); 6] = [
    ("mushrooms", include_str!("../presets/mushrooms.toml")),
    ("shielded-mushrooms", include_str!("../presets/shielded-mushrooms.toml")),
    ("shielded-mnist", include_str!("../presets/shielded-mnist.toml")),
    ("shielded-cifar10", include_str!("../presets/shielded-cifar10.toml")),
    ("paper-mnist", include_str!("../presets/paper-mnist.toml")),
    ("paper-mushrooms", include_str!("../presets/paper-mushrooms.toml")),
];

/// The preset that runs when nothing is asked for.
pub const DEFAULT_PRESET: &str = "mushrooms";

/// Why a config cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// There is no such preset.
    #[error("no preset is called \"{name}\"; there are: {}", preset_names().join(", "))]
    NoPreset {
        /// What was asked for.
        name: String,
    },
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

/// The names of all presets.
#[must_use]
pub fn preset_names() -> Vec<&'static str> {
    PRESETS.iter().map(|&(name, _)| name).collect()
}

/// The commented text of a preset.
///
/// # Errors
/// When there is no such preset.
pub fn preset_text(name: &str) -> Result<&'static str, ConfigError> {
    PRESETS
        .iter()
        .find(|&&(known, _)| known == name)
        .map(|&(_, text)| text)
        .ok_or_else(|| ConfigError::NoPreset { name: name.into() })
}

/// What the command line may change in a config.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overrides {
    /// How many learners, of a network that is described by its topology.
    pub learners: Option<usize>,
    /// How many rounds to run.
    pub rounds: Option<u64>,
    /// The target or cap ε, at the config's δ.
    pub epsilon: Option<f64>,
    /// The δ.
    pub delta: Option<f64>,
}

/// A config as written and as checked.
#[derive(Clone, Debug)]
pub struct LoadedConfig {
    /// As written, overrides applied and edge files read.
    pub raw: RawConfig,
    /// As checked.
    pub config: Config,
    /// The folder that relative data paths start from.
    pub folder: PathBuf,
}

/// Reads and checks a preset.
///
/// # Errors
/// When there is no such preset, or the overrides do not fit.
pub fn load_preset(name: &str, overrides: &Overrides) -> Result<LoadedConfig, ConfigError> {
    load_preset_with(name, |raw| apply(overrides, raw))
}

/// Reads a preset, changes it and checks the result.
///
/// # Errors
/// When there is no such preset, or the changes do not fit.
pub fn load_preset_with(
    name: &str,
    change: impl FnOnce(&mut RawConfig),
) -> Result<LoadedConfig, ConfigError> {
    check(&preset_origin(name)?, change, |raw| Config::try_from(raw))
}

/// Reads and checks a config file.
///
/// # Errors
/// When the file cannot be read or anything in it is wrong; every fault is reported at once.
pub fn load_file(path: &Path, overrides: &Overrides) -> Result<LoadedConfig, ConfigError> {
    load_file_with(path, |raw| apply(overrides, raw))
}

/// Reads a config file, changes it and checks the result.
///
/// # Errors
/// When the file cannot be read or anything in it is wrong after the change.
pub fn load_file_with(
    path: &Path,
    change: impl FnOnce(&mut RawConfig),
) -> Result<LoadedConfig, ConfigError> {
    check(&file_origin(path)?, change, |raw| Config::try_from(raw))
}

/// Reads a preset and checks all but the conditions of the theorems, to be examined and not run.
///
/// # Errors
/// When there is no such preset.
pub fn load_preset_for_examination(name: &str) -> Result<LoadedConfig, ConfigError> {
    check(&preset_origin(name)?, |_| (), Config::unchecked_by_theorems)
}

/// Reads a config file and checks all but the conditions of the theorems, to be examined and not run.
///
/// # Errors
/// When the file cannot be read or anything else in it is wrong; every fault is reported at once.
pub fn load_file_for_examination(path: &Path) -> Result<LoadedConfig, ConfigError> {
    check(&file_origin(path)?, |_| (), Config::unchecked_by_theorems)
}

/// A config that does not come from TOML, and keys of it that are not known.
#[derive(Clone, Debug)]
pub struct Given {
    /// As given.
    pub raw: RawConfig,
    /// The paths of keys that a config does not have.
    pub unknown: Vec<String>,
    /// The folder that relative data paths start from.
    pub folder: PathBuf,
}

/// Checks a config that a program has put together.
///
/// # Errors
/// When anything in it is wrong; every fault is reported at once.
pub fn check_given(given: Given) -> Result<LoadedConfig, ConfigError> {
    check_raw("the config", given, |raw| Config::try_from(raw))
}

/// Checks all of a config but the conditions of the theorems, to be examined and not run.
///
/// # Errors
/// When anything else in it is wrong; every fault is reported at once.
pub fn check_given_for_examination(given: Given) -> Result<LoadedConfig, ConfigError> {
    check_raw("the config", given, Config::unchecked_by_theorems)
}

/// The text of a config and where it came from.
struct Origin {
    text: String,
    name: String,
    folder: PathBuf,
}

fn preset_origin(name: &str) -> Result<Origin, ConfigError> {
    let text = preset_text(name)?.to_string();
    Ok(Origin { text, name: format!("preset {name}"), folder: PathBuf::from(".") })
}

fn file_origin(path: &Path) -> Result<Origin, ConfigError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| ConfigError::Read { path: path.into(), error })?;
    let folder = path.parent().unwrap_or(Path::new(".")).to_path_buf();
    Ok(Origin { text, name: path.display().to_string(), folder })
}

fn check(
    origin: &Origin,
    change: impl FnOnce(&mut RawConfig),
    checked_by: impl Fn(&RawConfig) -> Result<Config, Faults>,
) -> Result<LoadedConfig, ConfigError> {
    let Origin { text, name: origin, folder } = origin;
    let syntax = |error| ConfigError::Syntax { origin: origin.into(), error: Box::new(error) };
    let deserializer = toml::Deserializer::parse(text).map_err(syntax)?;
    let (mut raw, unknown) = RawConfig::read(deserializer).map_err(syntax)?;
    change(&mut raw);
    check_raw(origin, Given { raw, unknown, folder: folder.clone() }, checked_by)
}

fn check_raw(
    origin: &str,
    given: Given,
    checked_by: impl Fn(&RawConfig) -> Result<Config, Faults>,
) -> Result<LoadedConfig, ConfigError> {
    let Given { mut raw, unknown, folder } = given;
    if let Some(RawEdges::Path(path)) = &raw.network.edges {
        raw.network.edges = Some(RawEdges::Inline(read_edges(&folder.join(path))?));
    }
    let mut faults = Faults::default();
    for path in unknown {
        faults.0.push(Fault { path, value: String::new(), needed: "unknown key".into() });
    }
    let checked = checked_by(&raw);
    match checked {
        Ok(config) if faults.0.is_empty() => Ok(LoadedConfig { raw, config, folder }),
        checked => {
            faults.0.extend(checked.err().unwrap_or_default().0);
            Err(ConfigError::Faults { origin: origin.into(), faults })
        }
    }
}

fn apply(overrides: &Overrides, raw: &mut RawConfig) {
    if overrides.learners.is_some() {
        raw.network.learners = overrides.learners;
    }
    if overrides.rounds.is_some() {
        raw.rounds = overrides.rounds;
    }
    if let Some(epsilon) = overrides.epsilon {
        raw.privacy.epsilon = Some(OneOrEach::One(epsilon));
        raw.privacy.pure_epsilon = None;
    }
    if overrides.delta.is_some() {
        raw.privacy.delta = overrides.delta;
    }
}

/// Reads an edge list: two learner numbers and perhaps a weight a line, `#` starts a comment.
fn read_edges(path: &Path) -> Result<Vec<Vec<f64>>, ConfigError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| ConfigError::Read { path: path.into(), error })?;
    let mut edges = Vec::new();
    for (place, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let numbers: Result<Vec<f64>, _> =
            line.split([',', ' ', '\t']).filter(|word| !word.is_empty()).map(str::parse).collect();
        match numbers {
            Ok(numbers) if (2..=3).contains(&numbers.len()) => edges.push(numbers),
            _ => return Err(ConfigError::EdgeLine { path: path.into(), line: place + 1 }),
        }
    }
    Ok(edges)
}

/// The config as it was run: overrides applied, defaults spelt out, noise scales as calibrated.
#[must_use]
pub fn resolved(loaded: &LoadedConfig, scales: &[f64]) -> RawConfig {
    let mut raw = loaded.raw.clone();
    let config = &loaded.config;
    raw.name = Some(config.name.clone());
    raw.unproven = Some(config.unproven);
    raw.data.warmup = Some(config.data.warmup);
    raw.data.batch = Some(config.data.batch);
    raw.data.repeat = Some(config.data.repeat);
    raw.data.centre = Some(config.data.centre);
    raw.data.normalise = Some(config.data.normalise);
    // Neither has a meaning for a network.
    if config.network.is_none() {
        raw.model.ridge = Some(config.model.ridge);
        raw.model.lasso = Some(config.model.lasso);
        raw.parameters.start_spread = Some(config.start_spread);
    }
    spell_out_source(loaded, &mut raw);
    match config.memory {
        MemoryKind::Anchored { tolerance } => {
            raw.memory.tolerance_exponent = Some(-tolerance.exponent);
        }
        MemoryKind::Decaying { rounds: Some(_), .. } => {
            raw.memory.cutoff.get_or_insert(MEMORY_CUTOFF);
        }
        MemoryKind::Exact
        | MemoryKind::Arrival
        | MemoryKind::Moments
        | MemoryKind::Recursive
        | MemoryKind::Polynomial { .. }
        | MemoryKind::Window { .. }
        | MemoryKind::Decaying { rounds: None, .. } => {}
    }
    if matches!(raw.network.topology.as_deref(), Some("random-regular" | "erdos-renyi")) {
        raw.network.seed.get_or_insert(0);
    }
    raw.memory.kind.get_or_insert_with(|| "exact".into());
    if config.graph.edges() > 0 {
        raw.network.weights.get_or_insert_with(|| "uniform".into());
    }
    match config.rule {
        Rule::Shielded { interval } => raw.schedule.interval = Some(interval),
        Rule::Local => {}
        Rule::Dsgd | Rule::Dola | Rule::Pdop { .. } => {
            raw.memory.kind = Some("window".into());
            raw.memory.window = Some(1);
        }
        Rule::Tight | Rule::Theorem5i | Rule::Theorem5ii => {
            raw.privacy.rule.get_or_insert_with(|| "tight".into());
            raw.method.get_or_insert_with(|| "algorithm1".into());
        }
    }
    raw.noise.calibrate = None;
    raw.noise.scale = Some(match scales {
        [first, rest @ ..] if rest.iter().all(|scale| scale.to_bits() == first.to_bits()) => {
            OneOrEach::One(*first)
        }
        scales => OneOrEach::Each(scales.to_vec()),
    });
    raw
}

/// Makes the data the same wherever the config is read from: paths, order and test records.
fn spell_out_source(loaded: &LoadedConfig, raw: &mut RawConfig) {
    let (in_time_order, own_test_rows) = match find_source(&loaded.config, &loaded.folder) {
        Ok(DataSource::Known(recipe)) => (recipe.in_time_order, recipe.test_rows),
        Ok(DataSource::File(path)) => {
            // The run folder is elsewhere, so a relative path would no longer lead to the data.
            let path = std::path::absolute(&path).unwrap_or(path);
            raw.data.source = Some(path.display().to_string());
            (false, 0)
        }
        // A run has found its data; without one there is nothing to spell out.
        Err(_) => (false, 0),
    };
    let order = match record_order(&loaded.config, in_time_order) {
        RecordOrder::Shuffled => "shuffled",
        RecordOrder::File => "file",
    };
    // A deal in order keeps the order by itself: neither word would describe it.
    if loaded.config.data.partition != Partition::InOrder || loaded.config.data.order.is_some() {
        raw.data.order = Some(order.to_string());
    }
    // Without a fraction the data set's own test records are used, where it has any.
    if own_test_rows == 0 {
        raw.data.test_fraction.get_or_insert(0.0);
    }
}
