//! The runs of a comparison, kept so that it can be gone on with.

use super::Measurement;
use super::fingerprint::fingerprint;
use super::settings::Settings;
use crate::error::{ExperimentError, FileError};
use crate::experiment::LoadedExperiment;
use crate::run_store::{Identity, RunStore};
use std::path::Path;

/// The runs of one comparison.
pub type Store = RunStore<Measurement>;

impl Store {
    /// Opens the folder of a comparison, or makes it.
    ///
    /// # Errors
    /// When it belongs to another config, or cannot be read or written.
    pub fn open(folder: &Path, base: &LoadedExperiment) -> Result<Store, ExperimentError> {
        let fingerprint = fingerprint(base)?;
        let identity = Identity { format: "undertone comparison", schema_version: 2, fingerprint };
        Ok(RunStore::open_as(folder, identity)?)
    }

    /// Whether a run is there already.
    ///
    /// # Errors
    /// When the settings have no digest.
    pub fn has(&self, settings: &Settings, seed: u64) -> Result<bool, FileError> {
        let digest = settings.digest()?;
        Ok(self.runs.iter().any(|run| run.seed == seed && run.digest == digest))
    }

    /// Leaves out runs that belong to none of these settings, such as another version's.
    ///
    /// # Errors
    /// When the settings have no digest.
    pub fn keep_only(&mut self, all: &[Settings]) -> Result<(), FileError> {
        let digests: Result<Vec<String>, _> = all.iter().map(Settings::digest).collect();
        let digests = digests?;
        self.runs.retain(|run| digests.contains(&run.digest));
        Ok(())
    }
}
