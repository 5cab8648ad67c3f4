//! The public facts that determine what one learner's releases cost.

use super::cost::Cost;
use super::price::Price;
use super::step_effect::StepEffect;
use crate::method::Method;
use crate::noise::{Grid, NoiseError, NoiseKind, Perturbation};
use crate::schedule::logarithm;
use crate::{Forgetting, LossConstants, PowerLaw, Round, Schedule};
use serde::{Deserialize, Serialize};

/// The noise of one learner: its kind, and scale ρ_t (Laplace) or standard deviation s_t (Gaussian).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoiseLaw {
    /// The distribution of every coordinate.
    pub kind: NoiseKind,
    /// ρ_t = (σ/√2)(t+1)^ς in the paper's letters; `initial` is σ/√2.
    pub scale: PowerLaw,
}

/// The public facts about one learner that its privacy cost follows from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mechanism {
    /// n, the number of coordinates released.
    pub dimension: usize,
    /// B, a bound on ‖θ‖₂ over Θ.
    pub radius: f64,
    /// L, μ and C of the record losses.
    pub constants: LossConstants,
    /// λ_t and γ_t.
    pub schedule: Schedule,
    /// |w_ii|: the sum of the weights of all neighbours.
    pub weight: f64,
    /// w̄: the smallest |w_ii| in the network, used by the paper's bounds only.
    pub weight_min: f64,
    /// Records collected before round 0.
    pub warmup: u64,
    /// Records that arrive in each round.
    pub batch: u64,
    /// A bound on the error of the memory's gradient.
    pub memory_error: PowerLaw,
    /// How the weight of a record in the memory falls with its age.
    pub forgetting: Forgetting,
    /// The noise added to every release.
    pub noise: NoiseLaw,
    /// The largest noise scale in the network, round by round: neighbours' releases are clamped to
    /// ± (radius + 64 of these), which honest noise exceeds with probability e⁻⁶⁴.
    pub noise_max: PowerLaw,
    /// What the learner does in a round.
    pub method: Method,
}

/// What happened in one round, as far as sensitivity is concerned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundTerms {
    /// The round t.
    pub round: Round,
    /// The sum of the weights of the neighbours actually heard.
    pub weight_heard: f64,
    /// How many records have arrived up to this round; h_t, if none is ever forgotten.
    pub records: u64,
}

/// The values of all schedules in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RoundScales {
    /// λ_t.
    pub(crate) step: f64,
    /// γ_t.
    pub(crate) coupling: f64,
    /// ρ_t.
    pub(crate) noise: f64,
    /// The largest ρ_t in the network.
    pub(crate) noise_max: f64,
    /// e_t.
    pub(crate) memory_error: f64,
}

impl Mechanism {
    /// The terms of a round in which all neighbours are heard and records arrive as planned.
    #[must_use]
    pub fn planned_terms(&self, round: Round) -> RoundTerms {
        let records = self.warmup + self.batch * (round.0 + 1);
        RoundTerms { round, weight_heard: self.weight, records }
    }

    /// Φ_{t+1} from Φ_t: how far θ_{t+1} can move when one record of the history is replaced.
    ///
    /// This is for a memory that never forgets, in which every record has weight 1/h_t.
    ///
    /// # Guarantee
    /// If ‖θ_t − θ'_t‖ ≤ `sensitivity` for two histories that differ in one record, and both
    /// learners hear the same releases, then ‖θ_{t+1} − θ'_{t+1}‖ is at most the result (in exact
    /// arithmetic; machine arithmetic is charged at the release).
    ///
    /// # Source
    /// Tight bound: ADR 0004, with proof. The others: Theorem 5 of the paper. Paper map, rows 10-12.
    pub(crate) fn next_sensitivity(&self, sensitivity: f64, terms: &RoundTerms) -> f64 {
        self.next_sensitivity_at(sensitivity, terms, &self.scales(terms.round))
    }

    /// The same, when the scales of the round are known.
    pub(super) fn next_sensitivity_at(
        &self,
        sensitivity: f64,
        terms: &RoundTerms,
        scales: &RoundScales,
    ) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "record counts stay far below 2^53")]
        let records = terms.records.max(1) as f64;
        let step = self.method.account().step_effect(self, terms, scales);
        let drive = if step.drive_is_whole { step.reach } else { step.reach / records };
        step.next(sensitivity, drive)
    }

    /// What the step of a round does to the distance of two histories, for any differing record.
    pub(crate) fn step_effect(&self, terms: &RoundTerms) -> StepEffect {
        self.method.account().step_effect(self, terms, &self.scales(terms.round))
    }

    /// Whether the release of a round contains a gradient that was not in the one before.
    ///
    /// Always for Algorithm 1, from round 1 on. A shielded learner without a new gradient sends what
    /// follows from releases already made, and pays nothing.
    pub(crate) fn gradient_is_released(&self, round: Round) -> bool {
        self.method.account().releases_gradient(round)
    }

    /// The largest absolute value that a received release may have; larger ones are clamped.
    ///
    /// Otherwise neighbours that send huge numbers of opposite sign could turn the rounding of
    /// their difference into a visible step (ADR 0006).
    #[must_use]
    pub fn message_bound(&self, round: Round) -> f64 {
        self.message_bound_at(&self.scales(round))
    }

    /// The same, when the scales of the round are known.
    pub(crate) fn message_bound_at(&self, scales: &RoundScales) -> f64 {
        self.radius + MESSAGE_SPAN * scales.noise_max
    }

    /// The values of all schedules in one round.
    pub(crate) fn scales(&self, round: Round) -> RoundScales {
        let logarithm = logarithm(round);
        let Schedule { step, coupling } = &self.schedule;
        let noise = self.noise.scale.at_logarithm(logarithm);
        // Where all learners add the same noise, it is the largest.
        let same = self.noise_max == self.noise.scale;
        let noise_max = if same { noise } else { self.noise_max.at_logarithm(logarithm) };
        let method = self.method.account();
        RoundScales {
            step: method.step_at(step.at_logarithm(logarithm), round),
            coupling: coupling.at_logarithm(logarithm),
            noise: method.noise_at(noise, round),
            noise_max,
            memory_error: self.memory_error.at_logarithm(logarithm),
        }
    }

    /// λ_t.
    #[must_use]
    pub fn step(&self, round: Round) -> f64 {
        self.method.account().step_at(self.schedule.step.at(round), round)
    }

    /// ρ_t, the scale of the noise of a round.
    #[must_use]
    pub fn noise_scale(&self, round: Round) -> f64 {
        self.method.account().noise_at(self.noise.scale.at(round), round)
    }

    /// The noise that is added to θ_t, or to a shielded learner's gradient, before it may leave.
    #[must_use]
    pub fn perturbation(&self, round: Round) -> Perturbation {
        self.perturbation_of_scale(self.noise_scale(round))
    }

    /// The same, when the noise scale of the round is known.
    pub(crate) fn perturbation_of_scale(&self, scale: f64) -> Perturbation {
        let bound = self.method.account().perturbed_bound(self);
        Perturbation { kind: self.noise.kind, scale, bound }
    }

    /// The grid that every value of a round's release lies on. Public, so that releases can be sent as whole
    /// numbers.
    ///
    /// # Errors
    /// When the noise scale of the round does not fit the sampler.
    pub fn release_grid(&self, round: Round) -> Result<Grid, NoiseError> {
        self.method.account().release_grid(self, round)
    }

    /// What the release of one round costs when θ_t has the given sensitivity.
    ///
    /// # Guarantee
    /// Pure: √n Φ / ρ_t for Laplace noise, infinite for Gaussian. zCDP: Φ² / (2ρ_t²) for either, by
    /// composing over coordinates. Both are rounded up. The release of round 0 depends on no
    /// record, and a release without a new gradient only on earlier releases: both cost nothing.
    #[must_use]
    pub fn cost(&self, round: Round, sensitivity: f64) -> Cost {
        self.price(round).cost(sensitivity)
    }

    /// What a release of this round costs, for any sensitivity.
    pub(super) fn price(&self, round: Round) -> Price {
        self.price_at(round, &self.scales(round))
    }

    /// The same, when the scales of the round are known.
    pub(super) fn price_at(&self, round: Round, scales: &RoundScales) -> Price {
        let method = self.method.account();
        if !method.releases_gradient(round) {
            return Price::FREE;
        }
        Price {
            root: match self.noise.kind {
                NoiseKind::Laplace => self.dimension_root(),
                NoiseKind::Gaussian => f64::INFINITY,
            },
            machine: method.machine_sensitivity(self, scales),
            scale: scales.noise,
            carries: method.rounding_carries(),
        }
    }

    /// The charge for machine arithmetic, added to the sensitivity of every release after the first.
    #[must_use]
    pub fn machine_sensitivity(&self, round: Round) -> f64 {
        self.machine_sensitivity_at(&self.scales(round))
    }

    /// The same, when the scales of the round are known.
    pub(super) fn machine_sensitivity_at(&self, scales: &RoundScales) -> f64 {
        self.method.account().machine_sensitivity(self, scales)
    }

    /// What machine arithmetic may add to the distance of two states: √n · 2⁻⁵⁰ · (B + 2a_t · 64ρ_t).
    ///
    /// θ lives in f64, and two histories may round differently. B covers the state, and the rest
    /// the messages added to it, on time and late; ρ_t is the largest scale (ADR 0006).
    pub(crate) fn state_rounding(&self, scales: &RoundScales) -> f64 {
        let messages = self.weight * scales.coupling * scales.noise_max;
        self.machine_unit() * (self.radius + MESSAGES_CHARGED * messages)
    }

    /// How far two gradients of the same records may differ in machine arithmetic: 2⁻⁵¹ · ((n/4 +
    /// 4) L B + 40 G), four times the error of the exact memory.
    pub(crate) fn gradient_rounding(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "dimensions stay far below 2^53")]
        let lanes = self.dimension as f64 / 4.0 + 4.0;
        let curvature = lanes * self.known_smoothness() * self.radius;
        (-51f64).exp2() * (curvature + 40.0 * self.constants.gradient_norm)
    }

    /// L, or 0 for a neural network, which has no ridge; C includes the rounding of its gradients.
    pub(crate) fn known_smoothness(&self) -> f64 {
        let smoothness = self.constants.smoothness;
        if smoothness.is_finite() { smoothness } else { 0.0 }
    }

    /// √n.
    pub(crate) fn dimension_root(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "dimensions stay far below 2^53")]
        let root = (self.dimension as f64).sqrt();
        root
    }

    /// √n · 2⁻⁵⁰.
    pub(crate) fn machine_unit(&self) -> f64 {
        self.dimension_root() * MACHINE
    }
}

/// 2⁻⁵⁰: eight roundings of f64.
const MACHINE: f64 = 1.0 / (1u64 << 50) as f64;

/// How many noise scales beyond the radius a received value may lie.
const MESSAGE_SPAN: f64 = 64.0;

/// How many noise scales of messages are charged: each neighbour is heard once on time, and at most
/// once to make up for an earlier round.
pub(crate) const MESSAGES_CHARGED: f64 = 2.0 * MESSAGE_SPAN;
