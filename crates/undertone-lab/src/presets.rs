//! Experiments that come with the program.

use crate::error::ExperimentError;
use crate::experiment::{LoadedExperiment, Overrides, RawExperiment};
use undertone::load::{Source, Strictness, load};

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

/// The names of all presets.
#[must_use]
pub fn preset_names() -> Vec<&'static str> {
    PRESETS.iter().map(|&(name, _)| name).collect()
}

/// The commented text of a preset.
///
/// # Errors
/// When there is no such preset.
pub fn preset_text(name: &str) -> Result<&'static str, ExperimentError> {
    PRESETS
        .iter()
        .find(|&&(known, _)| known == name)
        .map(|&(_, text)| text)
        .ok_or_else(|| ExperimentError::NoPreset { name: name.into() })
}

/// The commented text of a preset's agreement alone: what its network shares, without rounds and data.
///
/// # Errors
/// When there is no such preset.
pub fn preset_agreement_text(name: &str) -> Result<String, ExperimentError> {
    let mut text = String::new();
    let mut in_data = false;
    for line in preset_text(name)?.lines() {
        if line.starts_with('[') {
            in_data = line.starts_with("[data]");
        }
        if !in_data && !line.starts_with("rounds =") {
            text.push_str(line);
            text.push('\n');
        }
    }
    Ok(text)
}

/// A preset as a source to load from.
///
/// # Errors
/// When there is no such preset.
pub fn preset_source(name: &str) -> Result<Source, ExperimentError> {
    Ok(Source::Text { origin: format!("preset {name}"), text: preset_text(name)?.into() })
}

/// Reads and checks a preset.
///
/// # Errors
/// When there is no such preset, or the overrides do not fit.
pub fn load_preset(name: &str, overrides: &Overrides) -> Result<LoadedExperiment, ExperimentError> {
    load_preset_with(name, |raw| overrides.apply(raw))
}

/// Reads a preset, changes it and checks the result.
///
/// # Errors
/// When there is no such preset, or the changes do not fit.
pub fn load_preset_with(
    name: &str,
    change: impl FnOnce(&mut RawExperiment),
) -> Result<LoadedExperiment, ExperimentError> {
    Ok(load(&preset_source(name)?, change, Strictness::Run)?)
}
