//! A checked config. After [`Config::try_from`] nothing needs to be checked again.

mod conditions;
mod digits;
mod faults;
mod memory;
mod model;
mod network;
mod neural;
mod numbers;
mod raw;
mod sections;
#[cfg(test)]
pub(crate) mod tests;

pub use conditions::{Condition, all_conditions, conditions};
pub(crate) use digits::short;
pub use faults::{Fault, Faults};
pub use memory::MEMORY_CUTOFF;
pub use numbers::{Numbers, Rate};
pub use raw::{
    OneOrEach, RawBounds, RawConfig, RawData, RawEdges, RawMemory, RawModel, RawNetwork, RawNoise,
    RawParameters, RawPrivacy, RawSchedule,
};

use crate::graph::{Graph, Spectrum};
use crate::neural::NeuralSpec;
use crate::noise::NoiseKind;
use crate::privacy::{Cap, Mechanism, NoiseLaw, Rule};
use crate::{DataBounds, Domain, LearnerId, MemoryKind, ModelSpec, PowerLaw, Schedule};

/// Everything a run needs to know, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// What the run is called.
    pub name: String,
    /// How many rounds to run.
    pub rounds: u64,
    /// Whether conditions of the theorems may be broken.
    pub unproven: bool,
    /// Who talks to whom.
    pub graph: Graph,
    /// δ₂ and δ_m of W, where the graph is small enough.
    pub spectrum: Option<Spectrum>,
    /// Where records come from and how they are dealt out.
    pub data: DataPlan,
    /// Public bounds on data and parameters.
    pub bounds: DataBounds,
    /// What happens to a record outside the bounds.
    pub out_of_bounds: OutOfBounds,
    /// The loss and its penalties.
    pub model: ModelSpec,
    /// The layers, where the model is a neural network.
    pub network: Option<NeuralSpec>,
    /// Θ.
    pub domain: Domain,
    /// Learners start at random points with coordinates up to this size; 0 starts them at zero.
    pub start_spread: f64,
    /// How the history gradient is computed.
    pub memory: MemoryKind,
    /// λ_t and γ_t.
    pub schedule: Schedule,
    /// The distribution of the noise.
    pub noise_kind: NoiseKind,
    /// ς_i for each learner.
    pub noise_exponents: Vec<f64>,
    /// Where the noise scales come from.
    pub noise_scale: NoiseScale,
    /// A cap for each learner, if there is one.
    pub caps: Vec<Option<Cap>>,
    /// The δ that budgets are reported at.
    pub delta: f64,
    /// How sensitivity is bounded.
    pub rule: Rule,
}

/// Where records come from and how they are dealt out.
#[derive(Clone, Debug, PartialEq)]
pub struct DataPlan {
    /// The name of a known data set, or the path of a file or of a folder of images.
    pub source: String,
    /// The file's format, or its extension decides.
    pub format: Option<String>,
    /// The label column of a table.
    pub label: Option<String>,
    /// The label texts of class 0, 1, 2 …; `None` takes those found, in order.
    pub classes: Option<Vec<String>>,
    /// Columns to treat as categories; `None` detects them.
    pub categorical: Option<Vec<String>>,
    /// Columns to leave out.
    pub drop: Vec<String>,
    /// Whether to add a constant feature.
    pub intercept: bool,
    /// Whether one-hot features are shifted to add up to zero in each column.
    pub centre: bool,
    /// Whether every row is scaled to the largest norm allowed.
    pub normalise: bool,
    /// How records are dealt out among the learners.
    pub partition: Partition,
    /// The order in which records arrive; `None` leaves it to the data set.
    pub order: Option<RecordOrder>,
    /// The share of records kept for testing; `None` keeps those the data set has set apart.
    pub test_fraction: Option<f64>,
    /// Records collected before round 0.
    pub warmup: u64,
    /// Records that arrive in each round.
    pub batch: u64,
    /// Whether records are drawn again when they run out.
    pub repeat: bool,
}

/// How records are dealt out among the learners.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Partition {
    /// At random.
    Iid,
    /// In turn, in the order of the data, which every learner keeps: for streams whose time matters.
    InOrder,
    /// Every learner holds one class, as in the paper.
    ByClass,
    /// Class shares drawn from a Dirichlet distribution.
    Dirichlet {
        /// Small values give learners few classes each.
        alpha: f64,
    },
    /// A share of class i goes to learner i, the rest evenly to the others.
    OwnClass {
        /// The share.
        share: f64,
    },
}

/// The order in which a learner's records arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordOrder {
    /// At random; test records are drawn at random too.
    Shuffled,
    /// As in the file; test records are its last.
    File,
}

/// What happens to a record outside the bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfBounds {
    /// It is scaled into them, and counted.
    Scale,
    /// It is refused.
    Refuse,
}

/// Where the noise scales come from.
#[derive(Clone, Debug, PartialEq)]
pub enum NoiseScale {
    /// The config states ρ_0 for each learner.
    Given(Vec<f64>),
    /// The smallest that keeps the lifetime certificate within each learner's cap.
    Lifetime,
    /// The smallest that keeps the cost of the planned rounds within each learner's cap.
    Rounds,
}

impl Config {
    /// The public facts that each learner's budget follows from.
    ///
    /// The memory's error bound comes from the crate that implements the memory, and the noise scales,
    /// one for each learner, from the config or from calibration.
    #[must_use]
    pub fn mechanisms(&self, memory_error: PowerLaw, scales: &[f64]) -> Vec<Mechanism> {
        let noise_max = self.noise_max(scales.iter().copied().fold(0.0, f64::max));
        let facts = self.graph.ids().zip(scales);
        facts.map(|(id, &scale)| self.mechanism(id, memory_error, scale, noise_max)).collect()
    }

    /// A bound on the noise scale of every learner, round by round, given one for round 0.
    pub(crate) fn noise_max(&self, scale_max: f64) -> PowerLaw {
        PowerLaw::growing(scale_max, self.noise_exponents.iter().copied().fold(0.0, f64::max))
    }

    pub(crate) fn mechanism(
        &self,
        learner: LearnerId,
        memory_error: PowerLaw,
        scale: f64,
        noise_max: PowerLaw,
    ) -> Mechanism {
        Mechanism {
            dimension: self.model.parameters(),
            radius: self.bounds.radius,
            constants: self.model.constants(&self.bounds),
            schedule: self.schedule,
            weight: self.graph.weight(learner),
            weight_min: self.graph.weight_min(),
            warmup: self.data.warmup,
            batch: self.data.batch,
            memory_error,
            forgetting: self.memory.forgetting(),
            noise: NoiseLaw {
                kind: self.noise_kind,
                scale: PowerLaw::growing(scale, self.noise_exponents[learner.0 as usize]),
            },
            noise_max,
            rule: self.rule,
        }
    }

    /// Whether L is known: not for networks, nor for a loss of which the user declares none.
    #[must_use]
    pub fn smoothness_is_known(&self) -> bool {
        self.model.constants(&self.bounds).smoothness.is_finite()
    }

    /// The conditions of the theorems that this config breaks.
    #[must_use]
    pub fn broken_conditions(&self) -> Vec<Condition> {
        conditions(self).into_iter().filter(|condition| condition.holds != Some(true)).collect()
    }

    /// Checks a config as [`Config::try_from`] does, but lets it break conditions of the theorems.
    ///
    /// For [`crate::doctor`], which says what is broken. To run such a config, its author must set
    /// `unproven = true`, and `try_from` is the way in.
    ///
    /// # Errors
    /// Every other fault, all at once.
    pub fn unchecked_by_theorems(raw: &RawConfig) -> Result<Config, Faults> {
        let mut faults = Faults::default();
        let config = sections::check(raw, &mut faults);
        faults.remove_repeated();
        match config {
            Some(config) if faults.0.is_empty() => Ok(config),
            _ => Err(faults),
        }
    }
}

impl TryFrom<&RawConfig> for Config {
    type Error = Faults;

    /// Checks a config and reports every fault at once.
    fn try_from(raw: &RawConfig) -> Result<Config, Faults> {
        let config = Config::unchecked_by_theorems(raw)?;
        if config.unproven {
            return Ok(config);
        }
        let mut faults = Faults::default();
        for condition in config.broken_conditions() {
            let Condition { name, path, found, needed, advice, .. } = condition;
            let advice = advice.map(|advice| format!("; {advice}")).unwrap_or_default();
            let text =
                format!("{found} breaks {name}: needs {needed}{advice}; or set unproven = true");
            faults.push(path, "", text);
        }
        if faults.0.is_empty() { Ok(config) } else { Err(faults) }
    }
}
