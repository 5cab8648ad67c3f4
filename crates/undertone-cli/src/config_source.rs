//! The experiment of a command: a file or a preset.

use crate::agreement_source::load_agreement;
use anyhow::bail;
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;
use undertone::load::{Source, Strictness, load};
use undertone_lab::experiment::{LoadedExperiment, Overrides, RawExperiment};
use undertone_lab::presets::{DEFAULT_PRESET, preset_names, preset_source};
use undertone_lab::{ExperimentError, Setup};

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

    /// Reads and checks it, but allows settings outside the theorems.
    pub(crate) fn load_for_examination(&self) -> Result<LoadedExperiment, ExperimentError> {
        Ok(load(&self.source(DEFAULT_PRESET)?, |_| (), Strictness::Examine)?)
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

    /// What follows from the agreement in the given file, for a learner on a network.
    pub(crate) fn load_agreement(&self) -> anyhow::Result<Arc<Setup>> {
        match &self.path {
            Some(path) => load_agreement(path),
            None => bail!("--store: give the agreement of the learner's network too"),
        }
    }

    fn source(&self, default: &str) -> Result<Source, ExperimentError> {
        match (&self.path, &self.preset) {
            (Some(path), _) => Ok(Source::File(path.clone())),
            (None, preset) => Ok(preset_source(preset.as_deref().unwrap_or(default))?),
        }
    }
}
