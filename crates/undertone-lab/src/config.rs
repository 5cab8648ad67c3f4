//! A config: an agreement on its own, or an experiment around one.
//!
//! A config with `rounds` or `[data]` is an experiment. What needs neither (budgets, certificates, the theorems)
//! takes both kinds.

use crate::ExperimentError;
use crate::experiment::{LoadedExperiment, Overrides, RawExperiment, resolved, resolved_agreement};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::path::{Path, PathBuf};
use undertone::agreement::{Agreement, NoiseScale, RawAgreement};
use undertone::load::{Loaded, Source, Strictness, load};
use undertone::{LoadError, Round};
use undertone_models::{Setup, SetupError};

/// A config as written and as checked.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a command has one, and does not move it about")]
pub enum LoadedConfig {
    /// An agreement on its own.
    Agreement(Loaded<RawAgreement>),
    /// An experiment around an agreement.
    Experiment(LoadedExperiment),
}

/// The keys that only an experiment has.
#[derive(Deserialize)]
struct ExperimentKeys {
    rounds: Option<IgnoredAny>,
    data: Option<IgnoredAny>,
}

/// Reads and checks a config that is an agreement or an experiment.
///
/// # Errors
/// When it cannot be read or anything in it is wrong; every fault is reported at once.
pub fn load_config(
    source: &Source,
    overrides: &Overrides,
    strictness: Strictness,
) -> Result<LoadedConfig, LoadError> {
    if is_experiment(source) {
        let change = |raw: &mut RawExperiment| overrides.apply(raw);
        load(source, change, strictness).map(LoadedConfig::Experiment)
    } else {
        let change = |raw: &mut RawAgreement| overrides.apply_to_agreement(raw);
        load(source, change, strictness).map(LoadedConfig::Agreement)
    }
}

/// What cannot be read is called an agreement here; loading it then says why.
fn is_experiment(source: &Source) -> bool {
    let keys: Option<ExperimentKeys> = match source {
        Source::File(path) => std::fs::read_to_string(path).ok().and_then(|text| keys_of(&text)),
        Source::Text { text, .. } => keys_of(text),
        Source::Values(values) => ExperimentKeys::deserialize(values).ok(),
    };
    keys.is_some_and(|keys| keys.rounds.is_some() || keys.data.is_some())
}

fn keys_of(text: &str) -> Option<ExperimentKeys> {
    toml::from_str(text.trim_start_matches('\u{feff}')).ok()
}

impl LoadedConfig {
    /// What all learners share.
    #[must_use]
    pub fn agreement(&self) -> &Agreement {
        match self {
            LoadedConfig::Agreement(loaded) => &loaded.checked,
            LoadedConfig::Experiment(loaded) => &loaded.checked.agreement,
        }
    }

    /// The same, to be changed.
    pub fn agreement_mut(&mut self) -> &mut Agreement {
        match self {
            LoadedConfig::Agreement(loaded) => &mut loaded.checked,
            LoadedConfig::Experiment(loaded) => &mut loaded.checked.agreement,
        }
    }

    /// The experiment, if it is one.
    #[must_use]
    pub fn experiment(&self) -> Option<&LoadedExperiment> {
        match self {
            LoadedConfig::Agreement(_) => None,
            LoadedConfig::Experiment(loaded) => Some(loaded),
        }
    }

    /// The agreement alone, as written and as checked.
    #[must_use]
    pub fn into_agreement(self) -> Loaded<RawAgreement> {
        match self {
            LoadedConfig::Agreement(loaded) => loaded,
            LoadedConfig::Experiment(loaded) => Loaded {
                raw: loaded.raw.shared(),
                checked: loaded.checked.agreement,
                folder: loaded.folder,
            },
        }
    }

    /// How many rounds it is about: an experiment's, or those that an agreement's noise is calibrated for.
    #[must_use]
    pub fn rounds(&self) -> Option<u64> {
        match self {
            LoadedConfig::Experiment(loaded) => Some(loaded.checked.rounds),
            LoadedConfig::Agreement(loaded) => match loaded.checked.noise_scale {
                NoiseScale::Rounds(rounds) => Some(rounds),
                NoiseScale::Given(_) | NoiseScale::Lifetime => None,
            },
        }
    }

    /// How many rounds to look at: those asked for, or else those that it is about.
    ///
    /// # Errors
    /// When neither says so, or they are too many.
    pub fn rounds_or(&self, asked: Option<u64>) -> Result<u64, ExperimentError> {
        let rounds = asked.or(self.rounds());
        rounds
            .filter(|&rounds| (1..Round::LIMIT.0).contains(&rounds))
            .ok_or(ExperimentError::NoRounds)
    }

    /// Whether records are drawn again when they run out.
    #[must_use]
    pub fn records_repeat(&self) -> bool {
        self.experiment().is_some_and(|loaded| loaded.checked.data.repeat)
    }

    /// The folder that relative paths start from.
    #[must_use]
    pub fn folder(&self) -> &Path {
        match self {
            LoadedConfig::Agreement(loaded) => &loaded.folder,
            LoadedConfig::Experiment(loaded) => &loaded.folder,
        }
    }

    /// The same with relative paths from another folder.
    #[must_use]
    pub fn in_folder(mut self, folder: PathBuf) -> LoadedConfig {
        match &mut self {
            LoadedConfig::Agreement(loaded) => loaded.folder = folder,
            LoadedConfig::Experiment(loaded) => loaded.folder = folder,
        }
        self
    }

    /// Everything that follows from it before any record is seen.
    ///
    /// # Errors
    /// When model and memory do not fit, or no noise scale meets a target.
    pub fn setup(&self) -> Result<Setup, SetupError> {
        match self {
            LoadedConfig::Agreement(loaded) => Setup::new(loaded.checked.clone()),
            LoadedConfig::Experiment(loaded) => loaded.checked.setup(),
        }
    }

    /// As JSON values, as it was written.
    ///
    /// # Errors
    /// When a value has no form in JSON.
    pub fn values(&self) -> Result<serde_json::Value, serde_json::Error> {
        match self {
            LoadedConfig::Agreement(loaded) => serde_json::to_value(&loaded.raw),
            LoadedConfig::Experiment(loaded) => serde_json::to_value(&loaded.raw),
        }
    }

    /// As TOML: defaults filled in, noise scales as calibrated.
    ///
    /// # Errors
    /// When a value has no form in TOML.
    pub fn to_toml(&self, scales: &[f64]) -> Result<String, toml::ser::Error> {
        match self {
            LoadedConfig::Agreement(loaded) => {
                toml::to_string(&resolved_agreement(&loaded.raw, &loaded.checked, scales))
            }
            LoadedConfig::Experiment(loaded) => toml::to_string(&resolved(loaded, scales)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use undertone::LearnerBuilder;

    fn loaded(text: &str) -> Result<LoadedConfig, LoadError> {
        let source = Source::Text { origin: "the test".into(), text: text.into() };
        load_config(&source, &Overrides::default(), Strictness::Run)
    }

    fn agreement() -> String {
        toml::to_string(&LearnerBuilder::new(3, 1.0, 1e-6).agreement()).unwrap()
    }

    #[test]
    fn rounds_or_data_make_an_experiment_and_nothing_else_does() {
        assert!(loaded(&agreement()).unwrap().experiment().is_none());
        let data = "[data]\nsource = \"none\"\npartition = \"iid\"\n";
        let whole = loaded(&format!("rounds = 7\n{}{data}", agreement())).unwrap();
        assert_eq!(whole.rounds(), Some(7));
        assert!(whole.experiment().is_some());
        let half = loaded(&format!("rounds = 7\n{}", agreement())).unwrap_err().to_string();
        assert!(half.contains("data.source"), "{half}");
        let half = loaded(&format!("{}{data}", agreement())).unwrap_err().to_string();
        assert!(half.contains("how many rounds"), "{half}");
        assert!(matches!(loaded("rounds = = 7"), Err(LoadError::Syntax { .. })));
    }

    #[test]
    fn the_agreement_of_an_experiment_is_that_of_its_own_file() {
        let alone = loaded(&agreement()).unwrap();
        let data = "[data]\nsource = \"none\"\npartition = \"iid\"\n";
        let around = loaded(&format!("rounds = 7\n{}{data}", agreement())).unwrap();
        let (alone, around) = (alone.setup().unwrap(), around.into_agreement());
        assert_eq!(Setup::new(around.checked).unwrap().network_id(), alone.network_id());
        let text = agreement().replace("batch = 32", "batch = 33");
        assert_ne!(loaded(&text).unwrap().setup().unwrap().network_id(), alone.network_id());
    }

    #[test]
    fn what_is_written_out_is_of_the_same_network_with_the_scales_worked_out() {
        let first = loaded(&agreement()).unwrap();
        let setup = first.setup().unwrap();
        let again = loaded(&first.to_toml(&setup.scales()).unwrap()).unwrap();
        assert!(matches!(again.agreement().noise_scale, NoiseScale::Given(_)));
        assert_eq!(again.setup().unwrap().network_id(), setup.network_id());
    }

    #[test]
    fn an_agreement_is_about_the_rounds_that_its_noise_is_calibrated_for() {
        let lifetime = loaded(&agreement()).unwrap();
        assert_eq!(lifetime.rounds(), None);
        assert!(matches!(lifetime.rounds_or(None), Err(ExperimentError::NoRounds)));
        assert!(matches!(lifetime.rounds_or(Some(0)), Err(ExperimentError::NoRounds)));
        assert!(matches!(lifetime.rounds_or(Some(u64::MAX)), Err(ExperimentError::NoRounds)));
        assert_eq!(lifetime.rounds_or(Some(5)).unwrap(), 5);
        let builder = LearnerBuilder { rounds: Some(9), ..LearnerBuilder::new(3, 1.0, 1e-6) };
        let text = toml::to_string(&builder.agreement()).unwrap();
        assert_eq!(loaded(&text).unwrap().rounds_or(None).unwrap(), 9);
    }
}
