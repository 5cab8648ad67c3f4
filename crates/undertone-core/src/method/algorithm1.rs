//! Algorithm 1 of the paper: perturbed parameters are exchanged, gradients are of the whole history.
//!
//! `Algorithm1Update::absorb` is the update: read it beside lines 3 to 8 of the paper's Algorithm
//! 1. The tight bound of its sensitivity and the lifetime certificate are proved in ADR 0004.

use super::entry::{Entry, Key, MethodDescription};
use super::{Account, Attendance, Gradients, Method, Perturbs, State, Update};
use crate::agreement::{Faults, RawAgreement};
use crate::encoding::Encoder;
use crate::learner::ReleaseError;
use crate::memory::Memory;
use crate::noise::Entropy;
use crate::persist::Fields;
use crate::privacy::forgetting_lifetime;
use crate::privacy::{
    Cost, Lifetime, MESSAGES_CHARGED, Mechanism, NoCertificate, ROUNDING, RoundScales, RoundTerms,
    Standing, StepEffect, Tail, TailTerm, lifetime_from_present, sum_then_tail,
};
use crate::release::{LatePull, Release, ReleaseView};
use crate::{Forgetting, LossConstants, Round};
use serde::{Deserialize, Serialize};

/// Algorithm 1, and how its sensitivity is bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Algorithm1 {
    /// The recursion that the account follows. It changes what is charged, never what is computed.
    pub bound: Bound,
}

/// How the account bounds the sensitivity of Algorithm 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Ours: contraction max(|1 − a_t − λ_t L|, |1 − a_t − λ_t μ|), drive λ_t C / h_t.
    #[default]
    Tight,
    /// The paper's finite-horizon bound: contraction 1 − w̄γ_t + λ_t L, drive λ_t C.
    Theorem5i,
    /// The paper's infinite-horizon bound: contraction 1 − w̄γ_t + λ_t L, drive λ_t C / h_t.
    Theorem5ii,
}

/// Algorithm 1's part of one learner.
struct Algorithm1Update {
    /// θ̂_{t+1} − θ_t. Kept only to avoid an allocation in every round.
    change: Vec<f64>,
}

impl<M: Memory> Update<M> for Algorithm1Update {
    /// Line 5: y_t = θ_t + ζ_t is sent to the neighbours.
    fn release(
        &mut self,
        state: &mut State<M>,
        entropy: &mut dyn Entropy,
    ) -> Result<Release, ReleaseError> {
        state.release_parameters(entropy)
    }

    /// Lines 3, 4 and 6 to 8: θ_{t+1} = Pro_Θ[θ_t + Σ_j γ_t w_ij (y_t^j − θ_t) − λ_t d_t(θ_t)].
    fn absorb(
        &mut self,
        state: &mut State<M>,
        heard: &[ReleaseView<'_>],
        late: &[LatePull<'_>],
    ) -> Attendance {
        // Lines 3 and 4, and the last term of line 7: −λ_t d_t(θ_t), where d_t is the average gradient over
        // all records up to round t.
        state.gradient_step(&mut self.change);
        // Lines 6 and 7: + Σ_j γ_t w_ij (y_t^j − θ_t), over the neighbours heard, θ_t unchanged.
        let attendance = state.add_pulls(heard, &mut self.change);
        // Not in the paper: edges of earlier rounds that only the other end used (ADR 0017).
        state.add_late_pulls(late, &mut self.change);
        // Lines 7 and 8: θ̂_{t+1} = θ_t + change, then its projection onto Θ.
        state.finish_step(&self.change);
        attendance
    }

    /// Nothing but θ is carried from `release` to `absorb`.
    fn restore(&mut self, _state: &mut State<M>, _drawn: ReleaseView<'_>) {}

    fn visit(&mut self, _fields: &mut dyn Fields, _released: bool) {}
}

pub(super) fn update<M: Memory>(dimension: usize) -> Box<dyn Update<M>> {
    Box::new(Algorithm1Update { change: vec![0.0; dimension] })
}

pub(super) const ENTRY: Entry = Entry {
    name: DESCRIPTION.name,
    keys: &[Key { path: BOUND, is_set: |raw| raw.privacy.bound.is_some() }],
    read,
};

const BOUND: &str = "privacy.bound";

const DESCRIPTION: MethodDescription = MethodDescription {
    name: "algorithm1",
    summary: "Algorithm 1 of the paper",
    perturbs: Perturbs::Parameters,
    gradients: Gradients::History,
    bound: Some(Bound::Tight),
    interval: None,
    momentum: None,
    theorems_apply: true,
    runs_on_a_network: true,
};

fn read(raw: &RawAgreement, faults: &mut Faults) -> Method {
    let word = raw.privacy.bound.as_deref().unwrap_or(Bound::Tight.word());
    let choices = [Bound::Tight, Bound::Theorem5i, Bound::Theorem5ii];
    let choices = choices.map(|bound| (bound.word(), bound));
    Method::Algorithm1(Algorithm1 { bound: faults.word(BOUND, Some(word), &choices) })
}

impl Bound {
    /// As configs name it.
    fn word(self) -> &'static str {
        match self {
            Bound::Tight => "tight",
            Bound::Theorem5i => "theorem5i",
            Bound::Theorem5ii => "theorem5ii",
        }
    }
}

impl Account for Algorithm1 {
    fn describe(&self) -> MethodDescription {
        let summary = match self.bound {
            Bound::Tight => "tight recursion",
            Bound::Theorem5i => "Theorem 5 (i) of the paper",
            Bound::Theorem5ii => "Theorem 5 (ii) of the paper",
        };
        MethodDescription { summary, bound: Some(self.bound), ..DESCRIPTION }
    }

    fn write(&self, raw: &mut RawAgreement) {
        raw.privacy.bound = Some(self.bound.word().into());
    }

    fn encode(&self, encoder: &mut Encoder) {
        let Algorithm1 { bound } = self;
        encoder.text(bound.word());
    }

    fn step_effect(
        &self,
        facts: &Mechanism,
        terms: &RoundTerms,
        scales: &RoundScales,
    ) -> StepEffect {
        let &RoundScales { step, coupling, .. } = scales;
        let LossConstants { smoothness, strong_convexity, .. } = facts.constants;
        // a_t of the neighbours actually heard.
        let heard = coupling * terms.weight_heard;
        let contraction = match self.bound {
            Bound::Tight => {
                let fast = (1.0 - heard - step * smoothness).abs();
                let slow = (1.0 - heard - step * strong_convexity).abs();
                fast.max(slow)
            }
            Bound::Theorem5i | Bound::Theorem5ii => {
                // DIFFERENCE: the paper writes 1 − w̄γ_t, which is below the truth once w̄γ_t > 1. The
                // absolute value agrees with it wherever Theorem 5 applies. With neighbours missing,
                // what was heard replaces w̄.
                let assumed = heard.min(coupling * facts.weight_min);
                (1.0 - assumed).abs().max((1.0 - heard).abs()) + step * smoothness
            }
        };
        StepEffect {
            contraction,
            idle: (1.0 - heard).abs(),
            drive_is_whole: self.bound == Bound::Theorem5i,
            ..StepEffect::along_gradient(step, facts, scales)
        }
    }

    fn lifetime(&self, facts: &Mechanism) -> Result<Lifetime, NoCertificate> {
        if self.bound == Bound::Theorem5i {
            return Err(NoCertificate::FiniteHorizonBound);
        }
        match facts.forgetting {
            Forgetting::Never => {
                self.check_lifetime(facts)?;
                self.whole_history_lifetime(facts, &Standing::at_start())
            }
            Forgetting::Window { .. } | Forgetting::Decaying { .. } => {
                let (contraction, machine) = forgetting_contraction_and_machine(facts)?;
                forgetting_lifetime::lifetime(facts, contraction, machine)
            }
        }
    }

    fn lifetime_from(
        &self,
        facts: &Mechanism,
        planned: &Lifetime,
        from: &Standing<'_>,
    ) -> Result<Lifetime, NoCertificate> {
        let of_whole_history = || self.whole_history_lifetime(facts, from);
        let contraction_and_machine = || forgetting_contraction_and_machine(facts);
        lifetime_from_present(facts, planned, from, of_whole_history, contraction_and_machine)
    }
}

impl Algorithm1 {
    /// Checks the conditions of the certificate for a memory that never forgets.
    fn check_lifetime(&self, facts: &Mechanism) -> Result<(), NoCertificate> {
        let constants = &facts.constants;
        if facts.batch == 0 {
            return Err(NoCertificate::NoNewRecords);
        }
        if !(constants.strong_convexity >= 0.0 && constants.smoothness.is_finite()) {
            return Err(NoCertificate::NotConvexAndSmooth);
        }
        let coupling = facts.schedule.coupling;
        let pull = self.contraction_weight(facts) * coupling.initial;
        if !(pull > 0.0 && -coupling.exponent < 1.0) {
            return Err(NoCertificate::NoContraction);
        }
        Ok(())
    }

    fn whole_history_lifetime(
        &self,
        facts: &Mechanism,
        start: &Standing<'_>,
    ) -> Result<Lifetime, NoCertificate> {
        sum_then_tail(facts, start, |from, sensitivity| {
            let share = start.share_of_plan(facts, from)?;
            self.tail(facts, from, sensitivity, share)
        })
    }

    fn contraction_weight(&self, facts: &Mechanism) -> f64 {
        match self.bound {
            Bound::Tight => facts.weight,
            Bound::Theorem5i | Bound::Theorem5ii => facts.weight_min.min(facts.weight),
        }
    }

    /// α with contraction at most 1 − α(t+1)^−u for every t ≥ T₁, if there is one.
    fn contraction_rate(&self, facts: &Mechanism, from: Round) -> Option<f64> {
        let coupling = facts.schedule.coupling;
        let alpha = self.contraction_weight(facts) * coupling.initial;
        let heard = alpha / coupling.initial * coupling.at(from);
        let bend = facts.schedule.step.at(from) * facts.constants.smoothness;
        // Neither coupling nor step may grow later.
        if coupling.exponent > 0.0 || facts.schedule.step.exponent > 0.0 || !(heard <= 1.0) {
            return None;
        }
        match self.bound {
            // λ_t L / (w̄γ_t) does not grow when steps decay at least as fast as the coupling, and
            // |1 − a_t| ≤ 1 − w̄γ_t for a learner that hears more than w̄ once (|w_ii| + w̄)γ_t ≤ 2.
            Bound::Theorem5i | Bound::Theorem5ii => {
                let share = bend / heard;
                let own = facts.weight * coupling.at(from);
                (facts.schedule.step.exponent <= coupling.exponent
                    && share < 1.0
                    && own + heard <= 2.0)
                    .then_some(alpha * (1.0 - share))
            }
            // |1 − a − λL| ≤ 1 − a whenever λL ≤ 2(1 − a), and 1 − a − λμ ≤ 1 − a.
            Bound::Tight => (bend <= 2.0 * (1.0 - heard)).then_some(alpha),
        }
    }

    /// The cost of all rounds from T₁ on, given Φ_T₁ and η with h_t ≥ η N (t + 1).
    fn tail(
        &self,
        facts: &Mechanism,
        from: Round,
        sensitivity: f64,
        share: f64,
    ) -> Result<Cost, NoCertificate> {
        let alpha = self.contraction_rate(facts, from).ok_or(NoCertificate::NoContraction)?;
        #[expect(clippy::cast_precision_loss, reason = "rounds stay below 2^32")]
        let first = (from.0 + 1) as f64;
        let u = -facts.schedule.coupling.exponent;
        let v = -facts.schedule.step.exponent;
        let step = facts.schedule.step.initial;
        let inherit = |drive: f64, decay: f64, start: f64| {
            let room = alpha - decay * first.powf(u - 1.0);
            let constant = (start * first.powf(decay)).max(drive / room) * ROUNDING;
            if room > 0.0 { Ok(constant) } else { Err(NoCertificate::NoContraction) }
        };
        #[expect(clippy::cast_precision_loss, reason = "batches stay far below 2^53")]
        let batch = facts.batch as f64 * share;
        // h_t ≥ ηN(t+1) turns λ_t C / h_t into at most (λ0 C / ηN)(t+1)^−(1+v).
        let decay = 1.0 + v - u;
        let spread = facts.constants.gradient_spread;
        let constant = inherit(step * spread / batch, decay, sensitivity)?;
        let mut tail = Tail::new(facts, first);
        tail.push(TailTerm { constant, decay, machine: false });
        let error = facts.memory_error;
        if error.initial > 0.0 {
            let decay = v - u - error.exponent;
            if !(decay > 0.0) {
                let rate = 2.0 * (decay + facts.noise.scale.exponent);
                return Err(NoCertificate::Diverges { rate });
            }
            let constant = inherit(2.0 * step * error.initial, decay, 0.0)?;
            // An error of a few roundings counts as machine arithmetic.
            let machine = error.initial <= spread * (-40f64).exp2();
            tail.push(TailTerm { constant, decay, machine });
        }
        let unit = facts.machine_unit();
        tail.push(TailTerm { constant: unit * facts.radius, decay: 0.0, machine: true });
        let messages = MESSAGES_CHARGED
            * facts.weight
            * facts.schedule.coupling.initial
            * facts.noise_max.initial;
        let decay = u - facts.noise_max.exponent;
        tail.push(TailTerm { constant: unit * messages, decay, machine: true });
        tail.cost()
    }
}

/// What the certificate rests on if records are forgotten: the contraction, and the machine's charge.
fn forgetting_contraction_and_machine(facts: &Mechanism) -> Result<(f64, f64), NoCertificate> {
    let contraction = forgetting_lifetime::contraction(facts, true)?;
    Ok((contraction, forgetting_machine_ratio(facts, contraction)))
}

/// A bound, over all rounds, on what machine arithmetic adds to the ratio of sensitivity and noise
/// if records are forgotten. It is the charge at the release plus the sum of the memory's rounding
/// errors, 2λe/(1 − c).
fn forgetting_machine_ratio(facts: &Mechanism, contraction: f64) -> f64 {
    let scale = facts.noise.scale;
    // Both parts are monotone in t, so the first and the last round bound them.
    let ends = [Round(1), Round::LIMIT];
    let messages = ends
        .map(|round| facts.noise_max.at(round) / scale.at(round))
        .into_iter()
        .fold(0.0, f64::max);
    let messages = messages * MESSAGES_CHARGED * facts.weight * facts.schedule.coupling.initial;
    let state = facts.radius / scale.at(Round(1));
    let approximation = facts.step_effect(&facts.planned_terms(Round::ZERO)).approximation;
    let memory = approximation / (1.0 - contraction) / scale.at(Round(1));
    facts.machine_unit() * (state + messages) + memory
}
