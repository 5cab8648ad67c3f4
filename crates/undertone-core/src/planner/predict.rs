//! The predicted error curve of a schedule with its noise.

use super::Outlook;
use super::curvature::{Landscape, Mode};
use super::estimate::{advance, blocks};
use crate::LearnerId;
use crate::agreement::Agreement;
use crate::graph::{Graph, Spectrum};
use crate::method::{Expected, Perturbs};
use crate::noise::NoiseKind;

/// What is expected to happen over the planned rounds. A model, not a promise.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// The predicted excess loss, averaged over rounds with weight (t+1)². Tuning minimises it.
    pub objective: f64,
    /// The curve at rounds 0, 1, 2, 5, 10, 20, … and the last.
    pub points: Vec<ForecastPoint>,
}

/// What is expected in one round, averaged over learners.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForecastPoint {
    /// The round t.
    pub round: u64,
    /// F_t(θ_i) − F_t(θ*).
    pub excess_loss: f64,
    /// ‖θ_i − θ*‖².
    pub tracking_error: f64,
    /// ‖θ_i − θ̄‖², θ̄ the average over learners.
    pub disagreement: f64,
}

/// Predicts the error curve of an agreement with given noise scales ρ_0, one for each learner.
///
/// # Panics
/// When there is not one scale for each learner: a bug in the caller.
#[must_use]
pub fn predict(agreement: &Agreement, scales: &[f64], outlook: &Outlook) -> Forecast {
    Predictor::new(agreement, outlook).run(agreement, scales)
}

/// The part of a prediction that tuning does not change.
pub(super) struct Predictor {
    landscape: Landscape,
    spectrum: Spectrum,
    rounds: u64,
    /// How the noise of each learner j reaches the average and the disagreement: (w_jj/m)² and (Σ_i
    /// w_ij² − w_jj²/m)/m; for a shielded learner, whose noise enters only its own parameters, 1/m²
    /// and (1 − 1/m)/m.
    reach: Vec<(f64, f64)>,
}

/// Noise that grows with the same exponent, summed over learners.
struct NoiseShare {
    exponent: f64,
    average: f64,
    disagreement: f64,
}

/// The state of one mode: X, b and c of the module's model, summed over its directions.
#[derive(Clone, Copy)]
struct State {
    distance: f64,
    bias: f64,
    noise: f64,
}

/// The factors of one block of rounds.
struct Factors {
    step: f64,
    coupling: f64,
    rounds: f64,
    records: f64,
    /// How many records a gradient averages: all of them, or those of the newest batch.
    weighed: f64,
    /// The variance that gradients of newest batches add to the average, in units of a gradient's
    /// square.
    chance: f64,
    batch: f64,
    noise_average: f64,
    noise_disagreement: f64,
}

impl Predictor {
    pub(super) fn new(agreement: &Agreement, outlook: &Outlook) -> Predictor {
        let graph = &agreement.graph;
        #[expect(clippy::cast_precision_loss, reason = "a model, not an account")]
        let learners = graph.learners() as f64;
        // Noise that enters once, whatever the coupling.
        let method = agreement.method.describe();
        let own = method.perturbs == Perturbs::Gradient || method.gradients.are_of_newest_batch();
        let reach = graph.ids().map(|id| {
            if own {
                return (1.0 / (learners * learners), (1.0 - 1.0 / learners) / learners);
            }
            let weight = graph.weight(id);
            let squares: f64 =
                graph.neighbours(id).iter().map(|&(_, weight)| weight * weight).sum();
            let average = weight / learners;
            (average * average, (squares - weight * average).max(0.0) / learners)
        });
        Predictor {
            landscape: Landscape::of(agreement, outlook),
            spectrum: agreement.spectrum.unwrap_or_else(|| power_iteration(graph)),
            rounds: outlook.rounds,
            reach: reach.collect(),
        }
    }

    pub(super) fn spectrum(&self) -> Spectrum {
        self.spectrum
    }

    /// Predicts for the schedule, batches and noise exponents that the agreement has now.
    pub(super) fn run(&self, agreement: &Agreement, scales: &[f64]) -> Forecast {
        assert_eq!(scales.len(), self.reach.len(), "one scale for each learner");
        let shares = self.noise_shares(agreement, scales);
        let mut states = self.start(agreement);
        let (mut weighted, mut weights) = (0.0, 0.0);
        let mut points = Vec::new();
        let mut mark = 0;
        let last = self.rounds - 1;
        // The last round is a block of its own, so that the curve ends at the last round.
        let steps = blocks(last.saturating_sub(1), 128).take_while(|&(first, _)| first < last);
        for (first, length) in steps.chain([(last, 1)]) {
            let point = self.point(first, &states);
            if first >= mark || first == last {
                points.push(point);
                mark = next_mark(first);
            }
            #[expect(clippy::cast_precision_loss, reason = "a model, not an account")]
            let (base, rounds) = ((first + 1) as f64, length as f64);
            weighted += rounds * base * base * point.excess_loss;
            weights += rounds * base * base;
            let factors = factors(agreement, &shares, first, rounds);
            self.advance(&mut states, &factors);
        }
        Forecast { objective: weighted / weights, points }
    }

    fn noise_shares(&self, agreement: &Agreement, scales: &[f64]) -> Vec<NoiseShare> {
        let kind = match agreement.noise_kind {
            NoiseKind::Laplace => 2.0,
            NoiseKind::Gaussian => 1.0,
        };
        let mut shares: Vec<NoiseShare> = Vec::new();
        for ((&scale, &exponent), &(average, disagreement)) in
            scales.iter().zip(&agreement.noise_exponents).zip(&self.reach)
        {
            let variance = kind * scale * scale;
            let known = shares.iter().position(|s| s.exponent.to_bits() == exponent.to_bits());
            let place = known.unwrap_or_else(|| {
                shares.push(NoiseShare { exponent, average: 0.0, disagreement: 0.0 });
                shares.len() - 1
            });
            shares[place].average += average * variance;
            shares[place].disagreement += disagreement * variance;
        }
        shares
    }

    fn start(&self, agreement: &Agreement) -> Vec<State> {
        // A coordinate uniform on ±s has variance s²/3.
        let spread = agreement.start_spread * agreement.start_spread / 3.0;
        let modes = self.landscape.modes.iter();
        modes
            .map(|mode| State {
                distance: mode.start + spread * mode.count / self.learners(),
                bias: 0.0,
                noise: spread * mode.count,
            })
            .collect()
    }

    fn advance(&self, states: &mut [State], factors: &Factors) {
        let Factors { step, coupling, rounds, records, batch, weighed, chance, .. } = *factors;
        let land = &self.landscape;
        let chi = land.heterogeneity * land.heterogeneity;
        let share = |(state, mode): (&State, &Mode)| 0.5 * mode.curvature * state.distance;
        let gradient = land.gradient(states.iter().zip(&land.modes).map(share).sum());
        let difference = gradient * (chi + (1.0 - chi) / weighed).sqrt();
        let limit = land.energy_max;
        for (state, mode) in states.iter_mut().zip(&land.modes) {
            let bend = step * mode.curvature;
            let keep = 1.0 - bend;
            let agree = (keep + coupling * self.spectrum.delta_2).abs();
            let agree = agree.max((keep + coupling * self.spectrum.delta_m).abs());
            let fresh = (batch / (records * records)).min(1.0);
            let drift = fresh * self.drift(mode, gradient);
            // Once X is as large as E, a θ* that moves within Θ comes nearer as often as it moves
            // away.
            let stay = if mode.start > 0.0 { 1.0 - drift / mode.start } else { 1.0 };
            let chance = chance * gradient * gradient * mode.gradient_share / self.learners();
            let noise = factors.noise_average * mode.count + chance;
            state.distance =
                advance(state.distance, keep * keep * stay, noise + drift, rounds).min(limit);
            let noise = factors.noise_disagreement * mode.count;
            state.noise = advance(state.noise, agree * agree, noise, rounds).min(limit);
            let pull = step * difference * mode.gradient_share.sqrt();
            state.bias = advance(state.bias, agree, pull, rounds).min(limit.sqrt());
        }
        self.confine(states);
    }

    /// No two points of Θ are further apart than 2B.
    ///
    /// Disagreement is limited separately: agreement does not bring learners nearer to θ*.
    fn confine(&self, states: &mut [State]) {
        let limit = self.landscape.energy_max;
        let distance: f64 = states.iter().map(|state| state.distance).sum();
        let apart: f64 = states.iter().map(|state| state.bias * state.bias + state.noise).sum();
        let (nearer, closer) = ((limit / distance).min(1.0), (limit / apart).min(1.0));
        for state in states {
            state.distance *= nearer;
            state.noise *= closer;
            state.bias *= closer.sqrt();
        }
    }

    /// The square of how far one record of one learner moves θ* in the directions of a mode, as if
    /// it were the whole history. At most the squared distance to θ*.
    fn drift(&self, mode: &Mode, gradient: f64) -> f64 {
        let pull = gradient * gradient * mode.gradient_share / self.learners();
        let full = pull / (mode.curvature * mode.curvature);
        if full < mode.start { full } else { mode.start }
    }

    fn point(&self, round: u64, states: &[State]) -> ForecastPoint {
        let (mut excess_loss, mut tracking_error, mut disagreement) = (0.0, 0.0, 0.0);
        for (state, mode) in states.iter().zip(&self.landscape.modes) {
            let apart = state.bias * state.bias + state.noise;
            excess_loss += 0.5 * mode.curvature * (state.distance + apart);
            tracking_error += state.distance + apart;
            disagreement += apart;
        }
        let excess_loss = excess_loss.min(self.landscape.gradient_max * tracking_error.sqrt());
        ForecastPoint { round, excess_loss, tracking_error, disagreement }
    }

    #[expect(clippy::cast_precision_loss, reason = "a model, not an account")]
    fn learners(&self) -> f64 {
        self.reach.len() as f64
    }
}

fn factors(agreement: &Agreement, shares: &[NoiseShare], first: u64, rounds: f64) -> Factors {
    #[expect(clippy::cast_precision_loss, reason = "a model, not an account")]
    let (base, warmup, batch) = (
        first as f64 + 0.5 * (rounds + 1.0),
        agreement.records.warmup as f64,
        agreement.records.batch as f64,
    );
    let in_use = agreement.memory.forgetting().records_in_use(batch);
    let method = &agreement.method;
    let Expected { step, coupling, noise: strength } =
        method.account().expected(&agreement.schedule, base);
    let newest_only = method.describe().gradients.are_of_newest_batch();
    let (mut noise_average, mut noise_disagreement) = (0.0, 0.0);
    for share in shares {
        let growth = strength * base.powf(2.0 * share.exponent);
        noise_average += growth * share.average;
        noise_disagreement += growth * share.disagreement;
    }
    let arrived = warmup + batch * base;
    Factors {
        step,
        coupling,
        rounds,
        // For methods that use the newest batch, θ* is still the optimum over all records.
        records: if newest_only { arrived } else { arrived.min(in_use) }.max(1.0),
        weighed: if newest_only { batch } else { arrived.min(in_use) }.max(1.0),
        chance: if newest_only { step * step / batch } else { 0.0 },
        batch,
        noise_average,
        noise_disagreement,
    }
}

/// The next of 1, 2, 5, 10, 20, 50, … above a round.
fn next_mark(round: u64) -> u64 {
    let mut decade = 1;
    loop {
        if let Some(mark) = [1, 2, 5].map(|digit| digit * decade).into_iter().find(|&m| m > round) {
            return mark;
        }
        decade *= 10;
    }
}

/// δ₂ and δ_m of a network too large for a dense solve, to a few digits.
fn power_iteration(graph: &Graph) -> Spectrum {
    let learners = graph.learners();
    let weight_max = graph.ids().map(|id| graph.weight(id)).fold(0.0, f64::max);
    let largest = |shift: f64, sign: f64| {
        // Eigenvalues of W lie in [−2·weight_max, 0], so those of shift + sign·W are not negative.
        let mut vector: Vec<f64> = graph
            .ids()
            .map(|id| f64::from(id.0.wrapping_mul(2_654_435_761) >> 8) - 8.4e6)
            .collect();
        let mut value = 0.0;
        for _ in 0..200 {
            #[expect(clippy::cast_precision_loss, reason = "a model, not an account")]
            let mean = vector.iter().sum::<f64>() / learners as f64;
            let norm = vector.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>().sqrt();
            vector.iter_mut().for_each(|x| *x = (*x - mean) / norm);
            let image = |id: LearnerId| {
                let own = vector[id.0 as usize];
                let pulled = graph.neighbours(id).iter();
                let pulled: f64 = pulled.map(|&(to, w)| w * (vector[to.0 as usize] - own)).sum();
                shift * own + sign * pulled
            };
            let next: Vec<f64> = graph.ids().map(image).collect();
            value = next.iter().map(|x| x * x).sum::<f64>().sqrt();
            vector = next;
        }
        value
    };
    let shift = 2.0 * weight_max;
    Spectrum { delta_2: largest(shift, 1.0) - shift, delta_m: -largest(0.0, -1.0) }
}
