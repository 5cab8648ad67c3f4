//! The shielded method: noise on the history gradient instead of the parameters.
//!
//! x_{t+1} = P[m_t + β s_t − λ_t (∇_t(x_t) + ν_t)], where m_t = x_t + γ_t Σ_j w_ij (x_j − x_t) is x_t mixed with
//! the neighbours' releases, s_t = x_t − m_{t−1} is the learner's own last step, and ν_t is drawn when round t + 1
//! releases x_{t+1}. Everything sent is computed from perturbed gradients, taken at points that were
//! themselves computed from perturbed gradients. So x is public, and a record pays only for its share C / h_t
//! of each gradient. Momentum β costs nothing: s_t is public too. Neither convexity, smoothness nor
//! contraction is needed (ADR 0012).

use super::entry::{Entry, Key, MethodDescription};
use super::{Account, Attendance, Expected, Gradients, Method, Perturbs, State, Update};
use crate::agreement::{Faults, Range, RawAgreement};
use crate::encoding::Encoder;
use crate::learner::ReleaseError;
use crate::memory::Memory;
use crate::noise::{Entropy, Grid, NoiseError, perturb};
use crate::persist::Fields;
use crate::planner::{ScheduleShape, estimate_without_carrying};
use crate::privacy::forgetting_lifetime;
use crate::privacy::{
    Cost, Lifetime, Mechanism, NoCertificate, ROUNDING, RoundScales, RoundTerms, Standing,
    StepEffect, Tail, TailTerm, lifetime_from_present, sum_then_tail,
};
use crate::release::{LatePull, Release, ReleaseView};
use crate::{Forgetting, Round, Schedule};

/// The shielded method: one record moves a release by C / h_t, and no effect carries over to later
/// rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shielded {
    /// A gradient is released once in this many rounds; other rounds only mix public values. At
    /// least 1.
    pub interval: u64,
    /// β: this share of a learner's last step is part of its next one. From 0, and below 1.
    pub momentum: f64,
}

impl Default for Shielded {
    /// A gradient in every round, without momentum.
    fn default() -> Shielded {
        Shielded { interval: 1, momentum: 0.0 }
    }
}

pub(super) const ENTRY: Entry = Entry {
    name: DESCRIPTION.name,
    keys: &[
        Key { path: INTERVAL, is_set: |raw| raw.schedule.interval.is_some() },
        Key { path: MOMENTUM, is_set: |raw| raw.schedule.momentum.is_some() },
    ],
    read,
};

const INTERVAL: &str = "schedule.interval";
const MOMENTUM: &str = "schedule.momentum";
/// The longest interval.
const INTERVAL_MAX: u64 = 1_000_000;

const DESCRIPTION: MethodDescription = MethodDescription {
    name: "shielded",
    summary: "shielded: gradients perturbed at public points",
    perturbs: Perturbs::Gradient,
    gradients: Gradients::History,
    bound: None,
    interval: Some(1),
    momentum: Some(0.0),
    theorems_apply: false,
    runs_on_a_network: true,
};

fn read(raw: &RawAgreement, faults: &mut Faults) -> Method {
    let interval = raw.schedule.interval.unwrap_or(1);
    if !(1..=INTERVAL_MAX).contains(&interval) {
        faults.push(INTERVAL, interval, format!("must be 1 to {INTERVAL_MAX}"));
    }
    let momentum = faults.number(MOMENTUM, raw.schedule.momentum.or(Some(0.0)), Range::Fraction);
    Method::Shielded(Shielded { interval: interval.max(1), momentum })
}

pub(super) fn update<M: Memory>(method: &Shielded, dimension: usize) -> Box<dyn Update<M>> {
    let step = if method.momentum > 0.0 { vec![0.0; dimension] } else { Vec::new() };
    let gradient = vec![0.0; dimension];
    Box::new(ShieldedUpdate { gradient, is_perturbed: false, momentum: method.momentum, step })
}

/// The shielded method's part of one learner.
struct ShieldedUpdate {
    /// From `absorb` to `release` the gradient that the release will perturb: private. After a `release`
    /// that took one, the perturbed gradient: public.
    gradient: Vec<f64>,
    is_perturbed: bool,
    /// β.
    momentum: f64,
    /// s_t: how far the last gradient moved x, from the mixed point to what was sent. Public. Empty without
    /// momentum.
    step: Vec<f64>,
}

impl ShieldedUpdate {
    /// Notes the step from the mixed point to what was sent. It is taken from what was sent, so that a learner that is
    /// computed again after a restart has the same one.
    fn note_step(&mut self, mixed: &[f64], sent: &[f64]) {
        for ((step, sent), mixed) in self.step.iter_mut().zip(sent).zip(mixed) {
            *step = sent - mixed;
        }
    }
}

impl<M: Memory> Update<M> for ShieldedUpdate {
    /// Ends the step that the last `absorb` began, with noise, and sends the new x.
    fn release(
        &mut self,
        state: &mut State<M>,
        entropy: &mut dyn Entropy,
    ) -> Result<Release, ReleaseError> {
        let round = state.round();
        let mechanism = *state.mechanism();
        let moves = mechanism.gradient_is_released(round);
        let mixed = (moves && self.momentum > 0.0).then(|| state.theta.clone());
        if moves {
            let lambda = mechanism.step(Round(round.0 - 1));
            let key = entropy.key(state.id, round)?;
            let mut noisy = vec![0.0; self.gradient.len()];
            let perturbation = mechanism.perturbation_of_scale(state.scales().noise);
            perturb(&perturbation, &self.gradient, key, &mut noisy)?;
            self.gradient = noisy;
            self.is_perturbed = true;
            for (value, slope) in state.theta.iter_mut().zip(&self.gradient) {
                *value -= lambda * slope;
            }
            for (value, step) in state.theta.iter_mut().zip(&self.step) {
                *value += self.momentum * step;
            }
            state.confine(lambda);
        }
        let grid = mechanism.release_grid(round)?;
        for value in &mut state.theta {
            // Rounds towards zero, so that x stays within the radius. Adding 0.0 removes −0, which
            // the wire format cannot encode.
            *value = (*value / grid.step()).trunc() * grid.step() + 0.0;
        }
        if let Some(mixed) = mixed {
            self.note_step(&mixed, &state.theta);
        }
        Ok(Release::new(state.id, round, grid, state.theta.as_slice().into()))
    }

    /// Moves x towards the neighbours and takes the gradient at x_t, to be perturbed in the next round.
    fn absorb(
        &mut self,
        state: &mut State<M>,
        heard: &[ReleaseView<'_>],
        late: &[LatePull<'_>],
    ) -> Attendance {
        let round = state.round();
        self.is_perturbed = false;
        let before = state.theta.clone();
        let change = &mut self.gradient;
        change.fill(0.0);
        let attendance = state.add_pulls(heard, change);
        state.add_late_pulls(late, change);
        state.add_to_theta(change);
        state.confine(0.0);
        // A memory that forgets learns in which round its records arrived by being asked in every round,
        // and the account relies on it.
        let forgets = state.memory.forgetting() != Forgetting::Never;
        if forgets || state.mechanism().gradient_is_released(round.next()) {
            state.memory.gradient(round, &before, &mut self.gradient);
        }
        attendance
    }

    /// The release holds x itself, and with it the last step. The gradient is not needed any more.
    fn restore(&mut self, state: &mut State<M>, drawn: ReleaseView<'_>) {
        if state.mechanism().gradient_is_released(drawn.round) {
            self.note_step(&state.theta, drawn.values);
        }
        state.theta.copy_from_slice(drawn.values);
        self.gradient.fill(0.0);
    }

    fn visit(&mut self, fields: &mut dyn Fields, released: bool) {
        if !released {
            fields.numbers(&mut self.gradient);
        }
        fields.numbers(&mut self.step);
    }

    fn pending_gradient(&self) -> Option<&[f64]> {
        (!self.is_perturbed).then_some(&self.gradient)
    }

    fn perturbed_gradient(&self) -> Option<&[f64]> {
        self.is_perturbed.then_some(&self.gradient)
    }
}

impl Account for Shielded {
    fn describe(&self) -> MethodDescription {
        MethodDescription {
            interval: Some(self.interval),
            momentum: Some(self.momentum),
            ..DESCRIPTION
        }
    }

    fn write(&self, raw: &mut RawAgreement) {
        raw.schedule.interval = Some(self.interval);
        raw.schedule.momentum = Some(self.momentum);
    }

    fn with_interval(&self, interval: u64) -> Option<Method> {
        Some(Method::Shielded(Shielded { interval, ..*self }))
    }

    fn encode(&self, encoder: &mut Encoder) {
        let &Shielded { interval, momentum } = self;
        encoder.count(interval);
        encoder.number(momentum);
    }

    /// One step every `interval` rounds, spread evenly over them. With momentum a gradient moves x by 1/(1 − β) of its
    /// step in the end.
    fn expected(&self, schedule: &Schedule, base: f64) -> Expected {
        #[expect(clippy::cast_precision_loss, reason = "a model, not an account")]
        let interval = self.interval as f64;
        let Expected { step, coupling, .. } = Expected::of(schedule, base);
        let step = step / (1.0 - self.momentum);
        Expected { step: step / interval, coupling, noise: step * step / interval }
    }

    /// A learner without a new gradient sends what follows from releases already made, and pays nothing.
    fn releases_gradient(&self, round: Round) -> bool {
        round > Round::ZERO && round.0.is_multiple_of(self.interval)
    }

    /// The gradient itself is perturbed, at a public point: nothing carries over, and the factor of
    /// the gradient is 1, not λ_t.
    fn step_effect(
        &self,
        facts: &Mechanism,
        terms: &RoundTerms,
        scales: &RoundScales,
    ) -> StepEffect {
        let length = if self.releases_gradient(terms.round.next()) { 1.0 } else { 0.0 };
        StepEffect::along_gradient(length, facts, scales)
    }

    /// State and messages are public and the same for both histories, so only the gradient's
    /// rounding is charged.
    fn machine_sensitivity(&self, facts: &Mechanism, _scales: &RoundScales) -> f64 {
        facts.gradient_rounding()
    }

    fn rounding_carries(&self) -> bool {
        false
    }

    /// The gradient with its ridge term, which is at most L B.
    fn perturbed_bound(&self, facts: &Mechanism) -> f64 {
        facts.constants.gradient_norm + facts.known_smoothness() * facts.radius
    }

    /// The release holds x, on a grid far finer than the noise: 2⁻³² of the radius.
    fn release_grid(&self, facts: &Mechanism, _round: Round) -> Result<Grid, NoiseError> {
        Grid::new(facts.radius * (-20f64).exp2())
    }

    /// The learner resumes at the same place in the interval, so that the gradient it holds is paid
    /// for.
    fn resume_round(&self, from: Round, until: Round) -> Round {
        Round(from.0 + until.0.saturating_sub(from.0).next_multiple_of(self.interval))
    }

    fn estimated_cost(&self, facts: &Mechanism, last: u64) -> Cost {
        estimate_without_carrying(&in_every_round(facts), self.interval, last)
    }

    fn schedule_shapes(&self) -> [ScheduleShape; 4] {
        ScheduleShape::WITH_INTERVALS
    }

    fn lifetime(&self, facts: &Mechanism) -> Result<Lifetime, NoCertificate> {
        match facts.forgetting {
            Forgetting::Never => {
                if facts.batch == 0 {
                    return Err(NoCertificate::NoNewRecords);
                }
                self.whole_history_lifetime(facts, &Standing::at_start())
            }
            Forgetting::Window { .. } | Forgetting::Decaying { .. } => {
                // A gradient in every round costs at least as much as one in every `interval` rounds.
                let facts = &in_every_round(facts);
                let contraction = forgetting_lifetime::contraction(facts, false)?;
                forgetting_lifetime::lifetime(facts, contraction, forgetting_machine_ratio(facts))
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
        let contraction_and_machine = || {
            let contraction = forgetting_lifetime::contraction(&in_every_round(facts), false)?;
            Ok((contraction, forgetting_machine_ratio(facts)))
        };
        lifetime_from_present(facts, planned, from, of_whole_history, contraction_and_machine)
    }

    /// Everything but the newest gradient is public: who was heard changes no cost.
    fn attendance_counts(&self) -> bool {
        false
    }
}

fn in_every_round(facts: &Mechanism) -> Mechanism {
    // What momentum does is no part of the account.
    Mechanism { method: Method::Shielded(Shielded::default()), ..*facts }
}

fn forgetting_machine_ratio(facts: &Mechanism) -> f64 {
    let error = 2.0 * facts.memory_error.initial;
    (facts.gradient_rounding() + error) / facts.noise.scale.at(Round(1))
}

impl Shielded {
    fn whole_history_lifetime(
        &self,
        facts: &Mechanism,
        start: &Standing<'_>,
    ) -> Result<Lifetime, NoCertificate> {
        sum_then_tail(facts, start, |from, _| self.tail(facts, from, start.missing))
    }

    /// The cost of all rounds from T₁ on, where Φ_t = C / (w + N t) carries nothing over; w is the warm-up less what is
    /// missing of the plan.
    ///
    /// (t+1)/(w + N t) falls with t towards 1/N or rises to it, so it is at most the larger end. One round
    /// in `interval` costs, no more than the average of the rounds since the last that did, where noise
    /// does not shrink; up to the last round there is room for one such round more than their share.
    fn tail(&self, facts: &Mechanism, from: Round, missing: u64) -> Result<Cost, NoCertificate> {
        let averaged = facts.noise.scale.exponent >= 0.0 && self.interval <= from.0;
        let (from, interval) =
            if averaged { (Round(from.0 + 1 - self.interval), self.interval) } else { (from, 1) };
        #[expect(clippy::cast_precision_loss, reason = "rounds and record counts stay below 2^53")]
        let (first, batch, warmup, interval, limit) = (
            (from.0 + 1) as f64,
            facts.batch as f64,
            facts.warmup as f64 - missing as f64,
            interval as f64,
            Round::LIMIT.0 as f64,
        );
        let share = (1.0 / batch).max(first / (warmup + batch * (first - 1.0)));
        if !(share > 0.0 && share.is_finite() && warmup + batch * (first - 1.0) > 0.0) {
            return Err(NoCertificate::NoContraction);
        }
        let constant = facts.constants.gradient_spread * share * ROUNDING;
        let mut tail = Tail::new(facts, first);
        tail.push(TailTerm { constant, decay: 1.0, machine: false });
        tail.push(TailTerm { constant: facts.gradient_rounding(), decay: 0.0, machine: true });
        let error = facts.memory_error;
        if error.initial > 0.0 {
            let machine = error.initial <= facts.constants.gradient_spread * (-40f64).exp2();
            // The gradient is of the round before: t^e = (t+1)^e (1 + 1/t)^−e, and round 0 is free.
            let before = (1.0 + 1.0 / (first - 1.0).max(1.0)).powf((-error.exponent).max(0.0));
            let constant = 2.0 * error.initial * before * ROUNDING;
            tail.push(TailTerm { constant, decay: -error.exponent, machine });
        }
        let Cost { pure, zcdp } = tail.cost()?;
        let share = (1.0 + interval / limit) / interval * ROUNDING;
        Ok(Cost { pure: pure * share, zcdp: zcdp * share })
    }
}
