//! What all learners of a network must share, checked and hashed into the network's id.
//!
//! [`RawAgreement`] is an agreement as it stands in a file; [`Agreement::check`] checks it and reports
//! every fault at once. After that nothing needs to be checked again.

mod bounds;
mod check;
mod condition_id;
mod digits;
mod faults;
mod features;
mod graph;
mod identity;
#[cfg(test)]
mod identity_tests;
mod memory;
mod model;
mod neural;
mod noise;
mod privacy;
mod range;
mod raw;
mod records;
mod schedule;
#[cfg(test)]
pub(crate) mod tests;
mod theorem_conditions;
mod theorem_numbers;

pub use condition_id::ConditionId;
pub use digits::Digits;
pub use faults::{Fault, Faults};
pub use identity::NetworkId;
pub use memory::MEMORY_CUTOFF;
pub use range::Range;
pub use raw::{
    OneOrEach, RawAgreement, RawBounds, RawEdges, RawFeatures, RawMemory, RawModel, RawNetwork,
    RawNoise, RawParameters, RawPrivacy, RawRecords, RawSchedule,
};
pub use theorem_conditions::{Condition, all_conditions};
pub use theorem_numbers::{Limits, Numbers};

use crate::graph::{Graph, Spectrum};
use crate::method::Method;
use crate::neural::NeuralSpec;
use crate::noise::NoiseKind;
use crate::privacy::{Cap, Mechanism, NoiseLaw};
use crate::{
    DataBounds, Domain, FeatureTransform, LearnerId, LossConstants, MemoryKind, ModelSpec,
    PowerLaw, Schedule,
};

/// What all learners of a network share, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// The name of the network.
    pub name: String,
    /// Whether conditions of the theorems may be broken. A field, because [`Agreement::check`] refuses an agreement by
    /// it. No part of the id, because it changes nothing that a learner computes.
    pub unproven: bool,
    /// The members and which of them are neighbours.
    pub graph: Graph,
    /// δ₂ and δ_m of W, if the graph is small enough.
    pub spectrum: Option<Spectrum>,
    /// How rows become records, and how many a round takes.
    pub records: RecordForm,
    /// Public bounds on data and parameters.
    pub bounds: DataBounds,
    /// What happens to a record outside the bounds.
    pub out_of_bounds: OutOfBounds,
    /// What is computed from a record's features before the model sees them, if anything.
    pub transform: Option<FeatureTransform>,
    /// The loss and its penalties.
    pub model: ModelSpec,
    /// The layers, if the model is a neural network.
    pub neural: Option<NeuralSpec>,
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
    /// The cap of each learner, if its owner sets one. If noise is calibrated, also the target. A field, because the
    /// noise scales of all learners are computed from the targets. No part of the id, because a cap is its owner's own
    /// choice: what other learners must agree on is the scale that followed from it, and that is in the id.
    pub caps: Vec<Option<Cap>>,
    /// The δ that budgets are reported at.
    pub delta: f64,
    /// What a learner does in a round.
    pub method: Method,
}

/// How rows of a table become records, and how many a round takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordForm {
    /// The label column of a table.
    pub label: Option<String>,
    /// The label texts of class 0, 1, 2 …; `None` takes the texts found, in order.
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
    /// Records collected before round 0.
    pub warmup: u64,
    /// Records that arrive in each round.
    pub batch: u64,
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
    /// The agreement states ρ_0 for each learner.
    Given(Vec<f64>),
    /// The smallest scale that keeps the lifetime certificate within each learner's cap.
    Lifetime,
    /// The smallest scale that keeps the cost of this many rounds within each learner's cap.
    Rounds(u64),
}

impl RecordForm {
    /// How many records a learner has used after this many rounds.
    #[must_use]
    pub fn taken_after(&self, rounds: u64) -> u64 {
        self.batch.saturating_mul(rounds).saturating_add(self.warmup)
    }
}

impl Agreement {
    /// The number of features of a record as it enters, before any transform.
    #[must_use]
    pub fn record_features(&self) -> usize {
        self.transform.map_or(self.model.features, |transform| transform.inputs())
    }

    /// The public facts that each learner's budget follows from.
    ///
    /// The memory's error bound comes from the crate that implements the memory, and the noise scales,
    /// one for each learner, from the agreement or from calibration.
    #[must_use]
    pub fn mechanisms(&self, memory_error: PowerLaw, scales: &[f64]) -> Vec<Mechanism> {
        let noise_max = self.noise_max(scales.iter().copied().fold(0.0, f64::max));
        let constants = self.model.constants(&self.bounds);
        let facts = self.graph.ids().zip(scales);
        facts
            .map(|(id, &scale)| self.mechanism(constants, id, memory_error, scale, noise_max))
            .collect()
    }

    /// A bound on the noise scale of every learner, round by round, given one for round 0.
    pub(crate) fn noise_max(&self, scale_max: f64) -> PowerLaw {
        PowerLaw::growing(scale_max, self.noise_exponents.iter().copied().fold(0.0, f64::max))
    }

    /// The facts of one learner. The constants are those of the model, which are computed once for all learners.
    pub(crate) fn mechanism(
        &self,
        constants: LossConstants,
        learner: LearnerId,
        memory_error: PowerLaw,
        scale: f64,
        noise_max: PowerLaw,
    ) -> Mechanism {
        Mechanism {
            dimension: self.model.parameters(),
            radius: self.bounds.radius,
            constants,
            schedule: self.schedule,
            weight: self.graph.weight(learner),
            weight_min: self.graph.weight_min(),
            warmup: self.records.warmup,
            batch: self.records.batch,
            memory_error,
            forgetting: self.memory.forgetting(),
            noise: NoiseLaw {
                kind: self.noise_kind,
                scale: PowerLaw::growing(scale, self.noise_exponents[learner.0 as usize]),
            },
            noise_max,
            method: self.method,
        }
    }

    /// The conditions of the theorems that this agreement breaks.
    #[must_use]
    pub fn broken_conditions(&self) -> Vec<Condition> {
        theorem_conditions::conditions(self)
            .into_iter()
            .filter(|condition| condition.holds != Some(true))
            .collect()
    }

    /// Checks an agreement and reports every fault at once. A broken condition of the theorems is a fault
    /// unless the agreement says `unproven = true`. `advice` may say what to change; the crate `undertone`
    /// has a function for it, which its `load::check_agreement` passes.
    ///
    /// # Errors
    /// Every fault, all at once.
    pub fn check(
        raw: &RawAgreement,
        advice: impl Fn(&Agreement, &Condition) -> Option<String>,
    ) -> Result<Agreement, Faults> {
        let agreement = Agreement::unchecked_by_theorems(raw)?;
        if agreement.unproven {
            return Ok(agreement);
        }
        let mut faults = Faults::default();
        for condition in agreement.broken_conditions() {
            let advice = advice(&agreement, &condition).map(|text| format!("; {text}"));
            let Condition { name, path, found, needed, .. } = condition;
            let advice = advice.unwrap_or_default();
            let text =
                format!("{found} breaks {name}: needs {needed}{advice}; or set unproven = true");
            faults.push(path, "", text);
        }
        if faults.0.is_empty() { Ok(agreement) } else { Err(faults) }
    }

    /// Checks an agreement as [`Agreement::check`] does, but lets it break conditions of the theorems.
    ///
    /// This is for examining it. To run it, its authors must set `unproven = true`, and [`Agreement::check`] checks it.
    ///
    /// # Errors
    /// Every other fault, all at once.
    pub fn unchecked_by_theorems(raw: &RawAgreement) -> Result<Agreement, Faults> {
        let mut faults = Faults::default();
        let agreement = check::check(raw, &mut faults);
        faults.remove_repeated();
        match agreement {
            Some(agreement) if faults.0.is_empty() => Ok(agreement),
            _ => Err(faults),
        }
    }
}
