//! Which experiment or agreement a command is about: a file or a preset.

use clap::Args;
use std::path::{Path, PathBuf};
use undertone::load::{Source, Strictness, load};
use undertone_lab::ExperimentError;
use undertone_lab::config::{LoadedConfig, load_config};
use undertone_lab::experiment::{LoadedExperiment, Overrides, RawExperiment};
use undertone_lab::presets::{DEFAULT_PRESET, preset_names, preset_source};

/// A config file or a preset.
#[derive(Args)]
pub(crate) struct ConfigSource {
    /// Config file (TOML); `undertone new` writes one to start from
    #[arg(value_name = "CONFIG.toml", conflicts_with = "preset")]
    path: Option<PathBuf>,
    /// Use a built-in config instead of a file
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(preset_names()))]
    preset: Option<String>,
}

impl ConfigSource {
    /// Reads and checks it.
    pub(crate) fn load(&self, overrides: &Overrides) -> Result<LoadedExperiment, ExperimentError> {
        self.load_with(|raw| overrides.apply(raw))
    }

    /// Reads and checks an experiment or an agreement on its own.
    pub(crate) fn load_either(
        &self,
        overrides: &Overrides,
    ) -> Result<LoadedConfig, ExperimentError> {
        Ok(load_config(&self.source(DEFAULT_PRESET)?, overrides, Strictness::Run)?)
    }

    /// Reads and checks either, but lets it lie outside the theorems.
    pub(crate) fn load_for_examination(&self) -> Result<LoadedConfig, ExperimentError> {
        let overrides = Overrides::default();
        Ok(load_config(&self.source(DEFAULT_PRESET)?, &overrides, Strictness::Examine)?)
    }

    /// Reads it, changes it and checks the result.
    pub(crate) fn load_with(
        &self,
        change: impl FnOnce(&mut RawExperiment),
    ) -> Result<LoadedExperiment, ExperimentError> {
        self.load_with_or(DEFAULT_PRESET, change)
    }

    /// The same, with a default preset of the command if neither a file nor a preset is given.
    pub(crate) fn load_with_or(
        &self,
        default: &str,
        change: impl FnOnce(&mut RawExperiment),
    ) -> Result<LoadedExperiment, ExperimentError> {
        Ok(load(&self.source(default)?, change, Strictness::Run)?)
    }

    /// The file, if one was given.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    fn source(&self, default: &str) -> Result<Source, ExperimentError> {
        match (&self.path, &self.preset) {
            (Some(path), _) => Ok(Source::File(path.clone())),
            (None, preset) => Ok(preset_source(preset.as_deref().unwrap_or(default))?),
        }
    }
}
