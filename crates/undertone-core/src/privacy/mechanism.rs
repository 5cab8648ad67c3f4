//! All the public facts that decide what one learner's releases cost.

use crate::noise::{Grid, NoiseError, NoiseKind, Perturbation};
use crate::persist::{Fields, Persist};
use crate::schedule::logarithm;
use crate::{Forgetting, LossConstants, PowerLaw, Round, Schedule};
use serde::{Deserialize, Serialize};

/// What a learner perturbs, and which recursion bounds its sensitivity.
///
/// The first three are Algorithm 1, which perturbs θ_t.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Ours: contraction max(|1 − a_t − λ_t L|, |1 − a_t − λ_t μ|), drive λ_t C / h_t.
    #[default]
    Tight,
    /// The paper's finite-horizon bound: contraction 1 − w̄γ_t + λ_t L, drive λ_t C.
    Theorem5i,
    /// The paper's infinite-horizon bound: contraction 1 − w̄γ_t + λ_t L, drive λ_t C / h_t.
    Theorem5ii,
    /// Ours: the history gradient is perturbed, at a public point, so one record moves what is released
    /// by C / h_t and nothing is carried over (ADR 0012).
    Shielded {
        /// A gradient is taken in every so many rounds; the others only mix what is public.
        interval: u64,
    },
    /// Every learner for itself: nothing depends on a record that leaves it, and nothing is heard.
    Local,
    /// DSGD, to compare with: parameters are perturbed and mixed, a learner's own perturbed copy
    /// included, and the step is along the newest batch alone, at the unperturbed parameters.
    Dsgd,
    /// DOLA (Li et al., 2018), to compare with: as DSGD, but the gradient is taken at the mixed point,
    /// which is public.
    Dola,
    /// PDOP (Huang, Mitra & Vaidya, 2015), to compare with: as DOLA, with steps and noise that shrink
    /// geometrically.
    Pdop {
        /// Steps are multiplied by this in every round.
        step_ratio: f64,
        /// Noise scales are multiplied by this in every round.
        noise_ratio: f64,
    },
}

impl Rule {
    /// Whether it is Algorithm 1, which the theorems speak of.
    #[must_use]
    pub fn is_algorithm1(self) -> bool {
        matches!(self, Rule::Tight | Rule::Theorem5i | Rule::Theorem5ii)
    }

    /// Whether a learner steps along its newest batch alone, from what it sent.
    #[must_use]
    pub fn is_baseline(self) -> bool {
        matches!(self, Rule::Dsgd | Rule::Dola | Rule::Pdop { .. })
    }
}

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
    /// |w_ii|: what the weights of all neighbours add up to.
    pub weight: f64,
    /// w̄: the smallest |w_ii| in the network, used by the paper's rules only.
    pub weight_min: f64,
    /// Records collected before round 0.
    pub warmup: u64,
    /// Records that arrive in each round.
    pub batch: u64,
    /// A bound on the error of the memory's gradient.
    pub memory_error: PowerLaw,
    /// How the memory lets the weight of a record fall with its age.
    pub forgetting: Forgetting,
    /// The noise added to every release.
    pub noise: NoiseLaw,
    /// The largest noise scale in the network, round by round: neighbours' releases are clamped to
    /// ± (radius + 64 of these), which honest noise passes with probability e⁻⁶⁴.
    pub noise_max: PowerLaw,
    /// How sensitivity is bounded.
    pub rule: Rule,
}

/// What happened in one round, as far as sensitivity is concerned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundTerms {
    /// The round t.
    pub round: Round,
    /// The sum of the weights of the neighbours actually heard.
    pub weight_heard: f64,
    /// How many records have arrived up to this round; h_t, where none is ever forgotten.
    pub records: u64,
}

impl Mechanism {
    /// The terms of a round in which everyone is heard and every record arrives on time.
    #[must_use]
    pub fn planned_terms(&self, round: Round) -> RoundTerms {
        let records = self.warmup + self.batch * (round.0 + 1);
        RoundTerms { round, weight_heard: self.weight, records }
    }

    /// Φ_{t+1} from Φ_t: how far θ_{t+1} can move when one record of the history is replaced.
    ///
    /// This is for a memory that never forgets, where all records weigh 1/h_t.
    ///
    /// # Guarantee
    /// If ‖θ_t − θ'_t‖ ≤ `sensitivity` for two histories that differ in one record, both learners
    /// having heard the same releases, then ‖θ_{t+1} − θ'_{t+1}‖ is at most the result (in exact
    /// arithmetic; machine arithmetic is charged at the release).
    ///
    /// # Source
    /// Tight rule: ADR 0004, with proof. The others: Theorem 5 of the paper. Paper map, rows 10-12.
    #[must_use]
    pub fn next_sensitivity(&self, sensitivity: f64, terms: &RoundTerms) -> f64 {
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
        let step = self.step_effect_at(terms, scales);
        let drive = match self.rule {
            Rule::Theorem5i => step.reach,
            _ => step.reach / records,
        };
        step.next(sensitivity, drive)
    }

    /// What the step of a round does to the distance of two histories, whichever record differs.
    pub(super) fn step_effect(&self, terms: &RoundTerms) -> StepEffect {
        self.step_effect_at(terms, &self.scales(terms.round))
    }

    /// The same, when the scales of the round are known.
    pub(super) fn step_effect_at(&self, terms: &RoundTerms, scales: &RoundScales) -> StepEffect {
        let &RoundScales { step, coupling, memory_error, .. } = scales;
        let LossConstants { smoothness, strong_convexity, gradient_spread, .. } = self.constants;
        let heard = coupling * terms.weight_heard;
        let contraction = match self.rule {
            Rule::Tight => {
                let fast = (1.0 - heard - step * smoothness).abs();
                let slow = (1.0 - heard - step * strong_convexity).abs();
                fast.max(slow)
            }
            // Own parameters enter through the gradient only: what is mixed was sent.
            Rule::Dsgd => step * smoothness,
            Rule::Dola | Rule::Pdop { .. } => 0.0,
            Rule::Theorem5i | Rule::Theorem5ii => {
                // DIFFERENCE: the paper writes 1 − w̄γ_t, which is below the truth once w̄γ_t > 1. The
                // absolute value agrees with it wherever Theorem 5 applies. With neighbours missing,
                // what was heard replaces w̄.
                let assumed = heard.min(coupling * self.weight_min);
                (1.0 - assumed).abs().max((1.0 - heard).abs()) + step * smoothness
            }
            // The gradient itself is perturbed, at a public point: nothing is carried over.
            Rule::Shielded { .. } | Rule::Local => 0.0,
        };
        // A gradient that is perturbed itself counts whole, or not at all.
        let length = match self.rule {
            Rule::Shielded { .. } | Rule::Local => {
                f64::from(u8::from(self.gradient_is_released(terms.round.next())))
            }
            _ => step,
        };
        StepEffect {
            contraction,
            idle: if self.rule.is_algorithm1() { (1.0 - heard).abs() } else { 0.0 },
            // No step at all moves nothing, however far a gradient may reach.
            reach: if length > 0.0 { length * gradient_spread } else { 0.0 },
            approximation: 2.0 * length * memory_error,
        }
    }

    /// Whether the release of a round contains a gradient that was not in the one before.
    ///
    /// Always for Algorithm 1, from round 1 on. A shielded learner without a new gradient sends what
    /// follows from releases already made, and pays nothing.
    #[must_use]
    pub fn gradient_is_released(&self, round: Round) -> bool {
        match self.rule {
            Rule::Shielded { interval } => round > Round::ZERO && round.0.is_multiple_of(interval),
            Rule::Local => false,
            _ => round > Round::ZERO,
        }
    }

    /// The largest absolute value that a received release may have; what is beyond is clamped.
    ///
    /// Without it, neighbours who send huge numbers of opposite sign could turn the rounding of their
    /// difference into a visible step (ADR 0006).
    #[must_use]
    pub fn message_bound(&self, round: Round) -> f64 {
        self.message_bound_at(&self.scales(round))
    }

    /// The same, when the scales of the round are known.
    pub(crate) fn message_bound_at(&self, scales: &RoundScales) -> f64 {
        self.radius + MESSAGE_SPAN * scales.noise_max
    }

    /// The charge for machine arithmetic, added to the sensitivity of every release after the first.
    ///
    /// θ lives in f64, and two histories may round differently: √n · 2⁻⁵⁰ · (B + 2a_t · 64ρ_t), B for
    /// the state and the rest for the messages added to it, on time and late, ρ_t the largest scale
    /// (ADR 0006).
    ///
    /// A shielded learner's state and messages are public, the same for both histories, and only the
    /// gradient rounds: 2⁻⁵¹ · ((n/4 + 4) L B + 40 G), four times the error of the exact memory.
    #[must_use]
    pub fn machine_sensitivity(&self, round: Round) -> f64 {
        self.machine_sensitivity_at(&self.scales(round))
    }

    /// The same, when the scales of the round are known.
    pub(super) fn machine_sensitivity_at(&self, scales: &RoundScales) -> f64 {
        if let Rule::Shielded { .. } = self.rule {
            return self.gradient_rounding();
        }
        let messages = self.weight * scales.coupling * scales.noise_max;
        self.machine_unit() * (self.radius + MESSAGES_CHARGED * messages)
    }

    /// What two gradients of the same records may differ by in machine arithmetic, and some more.
    pub(super) fn gradient_rounding(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "dimensions stay far below 2^53")]
        let lanes = self.dimension as f64 / 4.0 + 4.0;
        let curvature = lanes * self.known_smoothness() * self.radius;
        (-51f64).exp2() * (curvature + 40.0 * self.constants.gradient_norm)
    }

    /// L, or 0 for a network: it has no ridge, and the rounding of its gradients is within C.
    fn known_smoothness(&self) -> f64 {
        let smoothness = self.constants.smoothness;
        if smoothness.is_finite() { smoothness } else { 0.0 }
    }

    /// √n · 2⁻⁵⁰.
    pub(super) fn machine_unit(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "dimensions stay far below 2^53")]
        let root = (self.dimension as f64).sqrt();
        root * MACHINE
    }

    /// The values of all schedules in one round.
    pub(crate) fn scales(&self, round: Round) -> RoundScales {
        let logarithm = logarithm(round);
        let Schedule { step, coupling } = &self.schedule;
        let noise = self.noise.scale.at_logarithm(logarithm);
        // Where all learners add the same noise, it is the largest.
        let same = self.noise_max == self.noise.scale;
        let noise_max = if same { noise } else { self.noise_max.at_logarithm(logarithm) };
        RoundScales {
            step: self.with_step_ratio(step.at_logarithm(logarithm), round),
            coupling: coupling.at_logarithm(logarithm),
            noise: self.with_noise_ratio(noise, round),
            noise_max,
            memory_error: self.memory_error.at_logarithm(logarithm),
        }
    }

    /// λ_t.
    #[must_use]
    pub fn step(&self, round: Round) -> f64 {
        self.with_step_ratio(self.schedule.step.at(round), round)
    }

    fn with_step_ratio(&self, step: f64, round: Round) -> f64 {
        match self.rule {
            Rule::Pdop { step_ratio, .. } => step * power(step_ratio, round),
            _ => step,
        }
    }

    /// ρ_t, the scale of the noise of a round.
    #[must_use]
    pub fn noise_scale(&self, round: Round) -> f64 {
        self.with_noise_ratio(self.noise.scale.at(round), round)
    }

    fn with_noise_ratio(&self, scale: f64, round: Round) -> f64 {
        match self.rule {
            Rule::Pdop { noise_ratio, .. } => scale * power(noise_ratio, round),
            _ => scale,
        }
    }

    /// What is done to θ_t, or to the gradient of a shielded learner, before it may leave.
    #[must_use]
    pub fn perturbation(&self, round: Round) -> Perturbation {
        self.perturbation_of_scale(self.noise_scale(round))
    }

    /// The same, when the noise scale of the round is known.
    pub(crate) fn perturbation_of_scale(&self, scale: f64) -> Perturbation {
        let kind = self.noise.kind;
        let bound = match self.rule {
            // The gradient with its ridge term, which is at most L B.
            Rule::Shielded { .. } => {
                self.constants.gradient_norm + self.known_smoothness() * self.radius
            }
            _ => self.radius,
        };
        Perturbation { kind, scale, bound }
    }

    /// The grid that every value of a round's release lies on. Public, so that releases can be sent as whole
    /// numbers.
    ///
    /// # Errors
    /// When the noise scale of the round does not fit the sampler.
    pub fn release_grid(&self, round: Round) -> Result<Grid, NoiseError> {
        match self.rule {
            // What is sent is x, whose own grid is far below the noise: 2⁻³² of the radius.
            Rule::Shielded { .. } => Grid::new(self.radius * (-20f64).exp2()),
            _ => self.perturbation(round).grid(),
        }
    }

    /// What the release of one round costs when θ_t has the given sensitivity.
    ///
    /// # Guarantee
    /// Pure: √n Φ / ρ_t for Laplace noise, infinite for Gaussian. zCDP: Φ² / (2ρ_t²) for either, by
    /// composing over coordinates. Both are rounded up. The release of round 0, and one without a new
    /// gradient, depends on no record but through what was released, and costs nothing.
    #[must_use]
    pub fn cost(&self, round: Round, sensitivity: f64) -> Cost {
        self.price(round).cost(sensitivity)
    }

    /// What a release of this round costs, whatever the sensitivity.
    pub(super) fn price(&self, round: Round) -> Price {
        self.price_at(round, &self.scales(round))
    }

    /// The same, when the scales of the round are known.
    pub(super) fn price_at(&self, round: Round, scales: &RoundScales) -> Price {
        if !self.gradient_is_released(round) {
            return Price { root: 0.0, machine: 0.0, scale: f64::INFINITY, carries: true };
        }
        #[expect(clippy::cast_precision_loss, reason = "dimensions stay far below 2^53")]
        let root = (self.dimension as f64).sqrt();
        Price {
            root: match self.noise.kind {
                NoiseKind::Laplace => root,
                NoiseKind::Gaussian => f64::INFINITY,
            },
            machine: self.machine_sensitivity_at(scales),
            scale: scales.noise,
            carries: !matches!(self.rule, Rule::Shielded { .. } | Rule::Dola | Rule::Pdop { .. }),
        }
    }
}

/// The values of all schedules in one round.
#[derive(Clone, Copy, Debug)]
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

/// ratio^t.
fn power(ratio: f64, round: Round) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "rounds stay below 2^32")]
    let rounds = round.0 as f64;
    ratio.powf(rounds)
}

/// What one step does to ‖θ − θ'‖: times `contraction`, plus the changed record's weight times
/// `reach`, plus `approximation`.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepEffect {
    /// c_t.
    pub(super) contraction: f64,
    /// |1 − a_t|: the contraction where no record has any weight, and so there is no gradient.
    pub(super) idle: f64,
    /// λ_t C.
    pub(super) reach: f64,
    /// 2λ_t e_t.
    pub(super) approximation: f64,
}

impl StepEffect {
    /// Φ_{t+1}, when the changed record moves the step by at most `drive`.
    pub(super) fn next(&self, sensitivity: f64, drive: f64) -> f64 {
        // Without a known L the contraction is infinite; but what was the same stays the same.
        let carried = if sensitivity <= 0.0 { 0.0 } else { self.contraction * sensitivity };
        let next = carried + drive + self.approximation;
        // Nothing at all is exact.
        if next > 0.0 { next.next_up() } else { next }
    }
}

/// What a release of one round costs, for any sensitivity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Price {
    /// √n, or infinite where the noise has no pure ε.
    root: f64,
    machine: f64,
    scale: f64,
    /// Whether rounding errors of earlier rounds may still be there: not where everything but the
    /// newest gradient is public, and so the same for both histories bit for bit.
    carries: bool,
}

impl Price {
    pub(super) fn cost(&self, sensitivity: f64) -> Cost {
        if !self.carries && sensitivity <= 0.0 {
            return Cost::default();
        }
        let ratio = (sensitivity + self.machine) / self.scale;
        let pure = if self.root.is_finite() { self.root * ratio } else { f64::INFINITY };
        Cost { pure: pure * ROUNDING, zcdp: 0.5 * ratio * ratio * ROUNDING }
    }

    /// What a record pays that others do not: where rounding errors carry over, all pay for them alike.
    pub(super) fn own_cost(&self, sensitivity: f64) -> Cost {
        let machine = if self.carries { 0.0 } else { self.machine };
        Price { machine, ..*self }.cost(sensitivity)
    }

    /// The same with at least this charge for machine arithmetic.
    pub(super) fn with_machine_least(self, machine: f64) -> Price {
        Price { machine: self.machine.max(machine), ..self }
    }

    /// The same with another charge for machine arithmetic, in units of the noise.
    pub(super) fn with_machine(self, ratio: f64) -> Price {
        Price { machine: ratio * self.scale, ..self }
    }
}

/// 2⁻⁵⁰: eight roundings of f64.
const MACHINE: f64 = 1.0 / (1u64 << 50) as f64;

/// How many noise scales beyond the radius a received value may lie.
pub(super) const MESSAGE_SPAN: f64 = 64.0;

/// How many noise scales of messages are charged for: each neighbour is heard once on time, and once at
/// most to make up for an earlier round.
pub(super) const MESSAGES_CHARGED: f64 = 2.0 * MESSAGE_SPAN;

/// Covers the rounding of powers, square roots and feature norms (of up to 10⁶ entries) behind a
/// cost: 1 + 2⁻³².
pub(crate) const ROUNDING: f64 = 1.0 + 1.0 / (1u64 << 32) as f64;

/// A privacy cost, in both currencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Pure ε; infinite for Gaussian noise.
    pub pure: f64,
    /// ρ of zero-concentrated differential privacy.
    pub zcdp: f64,
}

impl Cost {
    /// The sum, rounded up.
    #[must_use]
    pub fn plus(self, other: Cost) -> Cost {
        let mut total = Total::default();
        total.add(self);
        total.add(other);
        total.cost()
    }

    /// The larger of two in each currency.
    pub(super) fn largest(self, other: Cost) -> Cost {
        Cost { pure: larger(self.pure, other.pure), zcdp: larger(self.zcdp, other.zcdp) }
    }
}

/// A running total of costs that is rounded up, by next to nothing.
///
/// Rounding up every one of 2³² additions would waste a millionth of the budget and could lift the
/// account above its own certificate; carrying the rounding error along does neither.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Total {
    pure: UpwardSum,
    zcdp: UpwardSum,
}

impl Total {
    pub(crate) fn add(&mut self, cost: Cost) {
        self.pure.add(cost.pure);
        self.zcdp.add(cost.zcdp);
    }

    pub(crate) fn cost(&self) -> Cost {
        Cost { pure: self.pure.value(), zcdp: self.zcdp.value() }
    }

    /// What the total would be with one cost more.
    pub(super) fn with(mut self, cost: Cost) -> Cost {
        self.add(cost);
        self.cost()
    }

    /// The larger of two in each currency.
    pub(super) fn largest(self, other: Total) -> Total {
        let larger = |left: UpwardSum, right: UpwardSum| {
            if left.value() < right.value() || right.value().is_nan() { right } else { left }
        };
        Total { pure: larger(self.pure, other.pure), zcdp: larger(self.zcdp, other.zcdp) }
    }
}

impl Persist for Total {
    fn visit(&mut self, fields: &mut dyn Fields) {
        for sum in [&mut self.pure, &mut self.zcdp] {
            fields.number(&mut sum.high);
            fields.number(&mut sum.low);
        }
    }
}

/// The larger of two. Unlike `f64::max` it keeps a NaN, which no cap lets pass.
pub(super) fn larger(left: f64, right: f64) -> f64 {
    if left < right || right.is_nan() { right } else { left }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct UpwardSum {
    high: f64,
    low: f64,
}

impl UpwardSum {
    /// Adds a non-negative term; the error of the sum goes, rounded up, into `low`.
    fn add(&mut self, term: f64) {
        let sum = self.high + term;
        if !sum.is_finite() {
            *self = UpwardSum { high: f64::INFINITY, low: 0.0 };
            return;
        }
        // Knuth's two-sum: `error` is exactly what the addition lost.
        let shadow = sum - self.high;
        let error = (self.high - (sum - shadow)) + (term - shadow);
        self.high = sum;
        if error.abs() > 0.0 {
            self.low = (self.low + error).next_up();
        }
    }

    fn value(&self) -> f64 {
        if self.low.abs() > 0.0 { (self.high + self.low).next_up() } else { self.high }
    }
}
