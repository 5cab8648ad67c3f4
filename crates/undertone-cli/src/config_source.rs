//! Which config a command is about: a file or a preset.

use clap::Args;
use std::path::PathBuf;
use undertone::config::RawConfig;
use undertone_lab::config_file::{self, ConfigError, DEFAULT_PRESET, LoadedConfig, Overrides};

/// A config file or a preset.
#[derive(Args)]
pub(crate) struct ConfigSource {
    /// Config file (TOML); `undertone new` writes one to start from
    #[arg(value_name = "CONFIG.toml", conflicts_with = "preset")]
    path: Option<PathBuf>,
    /// Use a built-in config instead of a file
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(config_file::preset_names()))]
    preset: Option<String>,
}

impl ConfigSource {
    /// Whether any was given.
    pub(crate) fn is_given(&self) -> bool {
        self.path.is_some() || self.preset.is_some()
    }

    /// Reads and checks it.
    pub(crate) fn load(&self, overrides: &Overrides) -> Result<LoadedConfig, ConfigError> {
        match (&self.path, &self.preset) {
            (Some(path), _) => config_file::load_file(path, overrides),
            (None, preset) => {
                let name = preset.as_deref().unwrap_or(DEFAULT_PRESET);
                config_file::load_preset(name, overrides)
            }
        }
    }

    /// Reads and checks it, but lets it lie outside the theorems.
    pub(crate) fn load_for_examination(&self) -> Result<LoadedConfig, ConfigError> {
        match (&self.path, &self.preset) {
            (Some(path), _) => config_file::load_file_for_examination(path),
            (None, preset) => {
                let name = preset.as_deref().unwrap_or(DEFAULT_PRESET);
                config_file::load_preset_for_examination(name)
            }
        }
    }

    /// Reads it, changes it and checks the result.
    pub(crate) fn load_with(
        &self,
        change: impl FnOnce(&mut RawConfig),
    ) -> Result<LoadedConfig, ConfigError> {
        self.load_with_or(DEFAULT_PRESET, change)
    }

    /// The same, with a preset of the command's own where nothing is asked for.
    pub(crate) fn load_with_or(
        &self,
        default: &str,
        change: impl FnOnce(&mut RawConfig),
    ) -> Result<LoadedConfig, ConfigError> {
        match (&self.path, &self.preset) {
            (Some(path), _) => config_file::load_file_with(path, change),
            (None, preset) => {
                config_file::load_preset_with(preset.as_deref().unwrap_or(default), change)
            }
        }
    }
}
