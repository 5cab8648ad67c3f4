//! Figure 1: tracking error, regret and budget of Algorithm 1, DSGD, DOLA and PDOP on mushrooms.

use super::other_methods::apply_method;
use super::quartiles::Quartiles;
use super::table1::{CLOSEST, Unknowns};
use super::tuning::{Tuned, tune};
use super::{PRESET, Watch, run, run_all, setup};
use crate::compare::settings::ComparedMethod;
use crate::error::ExperimentError;
use crate::experiment::{LoadedExperiment, RawExperiment};
use crate::presets::load_preset_with;
use crate::simulate::{Measuring, Outcome};
use serde::Serialize;
use undertone::Round;
use undertone::privacy::Mechanism;

/// The methods of the figure, ours first.
pub const METHODS: [ComparedMethod; 4] =
    [ComparedMethod::Algorithm1, ComparedMethod::Dsgd, ComparedMethod::Dola, ComparedMethod::Pdop];
/// The rounds of the paper.
pub const ROUNDS: u64 = 2000;
/// Measured rounds per doubling, approximately.
const RESOLUTION: u64 = 60;
/// The slope is measured from this round on, where the first records no longer matter.
const SLOPE_FROM: u64 = 100;

/// DOLA and PDOP have the noise of the paper's second experiment, where PDOP's falls by 0.98 per round over
/// this many rounds. Here it falls by as much over all rounds; less noise could not be drawn exactly.
const PDOP_NOISE_END: f64 = 600.0;
/// The exponent that DOLA's authors suggest for strongly convex losses.
const DOLA_STEP_EXPONENT: f64 = 1.0;

/// One method in one round.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Point {
    /// The round t.
    pub round: u64,
    /// Mean over learners of ‖θ_i − θ*_t‖², over seeds.
    pub tracking_error: Quartiles,
    /// Mean over learners of F_t(θ_i) − F_t(θ*_t), over seeds.
    pub instantaneous_regret: Quartiles,
    /// Pure ε as the paper counts it: the sum of every round's cost, whichever record causes it.
    pub budget_summed: f64,
    /// Pure ε of one use of the record that pays most.
    pub budget_event: f64,
}

/// One method of the figure.
#[derive(Clone, Debug, Serialize)]
pub struct Curve {
    /// Which method.
    pub method: ComparedMethod,
    /// How its step was chosen; absent for Algorithm 1, whose step the paper gives.
    pub tuned: Option<Tuned>,
    /// By round.
    pub points: Vec<Point>,
}

/// The whole figure.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// Our choice of what the paper does not state.
    pub unknowns: Unknowns,
    /// How many runs for each method.
    pub seeds: u64,
    /// How many rounds.
    pub rounds: u64,
    /// β: the tracking error falls as (t+1)^−β by Theorem 1, as corrected.
    pub slope_of_theorem: f64,
    /// The same by least squares from the medians of Algorithm 1; absent in short runs.
    pub slope_measured: Option<f64>,
    /// One for each method.
    pub curves: Vec<Curve>,
}

/// The experiment of a method with a given λ_0, changed further by `change`.
pub(super) fn experiment_of(
    method: ComparedMethod,
    step: f64,
    unknowns: Unknowns,
    rounds: u64,
    change: impl FnOnce(&mut RawExperiment),
) -> Result<LoadedExperiment, ExperimentError> {
    let loaded = load_preset_with(PRESET, |raw| {
        raw.rounds = Some(rounds);
        raw.data.test_fraction = Some(0.0);
        raw.agreement.records.batch = Some(unknowns.batch);
        raw.agreement.model.ridge = Some(unknowns.ridge);
        raw.agreement.parameters.start_spread = Some(unknowns.start_spread);
        if method != ComparedMethod::Algorithm1 {
            apply_method(method, raw, DOLA_STEP_EXPONENT, PDOP_NOISE_END / rounds as f64);
            raw.agreement.schedule.step = Some(step);
        }
        change(raw);
    })?;
    Ok(loaded)
}

/// Tunes the other methods and runs all with seeds 1 to `seeds`.
///
/// # Errors
/// When interrupted.
pub fn figure(seeds: u64, rounds: u64, watch: &Watch<'_>) -> Result<Figure, ExperimentError> {
    let unknowns = CLOSEST;
    let (mut experiments, mut tunings) = (Vec::new(), Vec::new());
    for method in METHODS {
        let tuned = match method {
            ComparedMethod::Algorithm1 => None,
            ComparedMethod::Shielded
            | ComparedMethod::Dsgd
            | ComparedMethod::Dola
            | ComparedMethod::Pdop
            | ComparedMethod::Local => Some(tune(method, unknowns, rounds, watch)?),
        };
        let step = tuned.map_or(1.0, |tuned| tuned.step);
        experiments.push(experiment_of(method, step, unknowns, rounds, |_| ())?);
        tunings.push(tuned);
    }
    let outcomes = run_all(&experiments, seeds, |loaded, seed| {
        run(loaded, seed, Measuring::Geometrically(RESOLUTION), watch, |_| false)
    })?;
    let mut curves = Vec::new();
    for (index, method) in METHODS.into_iter().enumerate() {
        let points = points(&setup(&experiments[index])?.mechanisms, method, &outcomes[index]);
        curves.push(Curve { method, tuned: tunings[index], points });
    }
    let slope_measured = slope(&curves[0].points);
    let slope_of_theorem = slope_of_theorem(&experiments[0]);
    Ok(Figure { unknowns, seeds, rounds, slope_of_theorem, slope_measured, curves })
}

/// β = min{2(v−u), 2u − 2 max ς − v, 2(1−v)}: Theorem 1 with max instead of min, for heterogeneous learners.
fn slope_of_theorem(loaded: &LoadedExperiment) -> f64 {
    let schedule = &loaded.checked.agreement.schedule;
    let (u, v) = (-schedule.coupling.exponent, -schedule.step.exponent);
    let noise = loaded.checked.agreement.noise_exponents.iter().copied().fold(f64::MIN, f64::max);
    (2.0 * (v - u)).min(2.0 * u - 2.0 * noise - v).min(2.0 * (1.0 - v))
}

/// −β by least squares of log error against log(t+1).
fn slope(points: &[Point]) -> Option<f64> {
    let late = points.iter().filter(|point| point.round >= SLOPE_FROM);
    let logs: Vec<(f64, f64)> = late
        .map(|point| (((point.round + 1) as f64).ln(), point.tracking_error.median.ln()))
        .filter(|(_, error)| error.is_finite())
        .collect();
    if logs.len() < 3 {
        return None;
    }
    let count = logs.len() as f64;
    let mean_x = logs.iter().map(|log| log.0).sum::<f64>() / count;
    let mean_y = logs.iter().map(|log| log.1).sum::<f64>() / count;
    let across: f64 = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let square: f64 = logs.iter().map(|(x, _)| (x - mean_x) * (x - mean_x)).sum();
    Some(-across / square)
}

fn points(mechanisms: &[Mechanism], method: ComparedMethod, outcomes: &[Outcome]) -> Vec<Point> {
    let rows = outcomes.first().map_or(&[][..], |outcome| &outcome.rows[..]);
    let mut found = Vec::new();
    let mut summed = vec![0.0; mechanisms.len()];
    let mut counted = 0;
    for (index, row) in rows.iter().enumerate() {
        for t in counted..row.round {
            for (sum, mechanism) in summed.iter_mut().zip(mechanisms) {
                *sum += round_cost(mechanism, Round(t));
            }
        }
        counted = row.round;
        let over_seeds = |value: fn(&crate::Metrics) -> f64| {
            let values: Vec<f64> =
                outcomes.iter().map(|outcome| value(&outcome.rows[index].metrics)).collect();
            Quartiles::of(&values)
        };
        let (Some(tracking_error), Some(instantaneous_regret)) = (
            over_seeds(|metrics| metrics.tracking_error),
            over_seeds(|metrics| metrics.instantaneous_regret),
        ) else {
            continue;
        };
        let budget_event = row.pure_epsilon.iter().copied().fold(0.0, f64::max);
        found.push(Point {
            round: row.round,
            tracking_error,
            instantaneous_regret,
            // Algorithm 1's sum over rounds is already that of one record.
            budget_summed: match method {
                ComparedMethod::Algorithm1 => budget_event,
                ComparedMethod::Shielded
                | ComparedMethod::Dsgd
                | ComparedMethod::Dola
                | ComparedMethod::Pdop
                | ComparedMethod::Local => summed.iter().copied().fold(0.0, f64::max),
            },
            budget_event,
        });
    }
    found
}

/// The cost of releasing the step of round t: one record of its batch moves it by λ_t C / N.
fn round_cost(mechanism: &Mechanism, round: Round) -> f64 {
    let moved = mechanism.step(round) * mechanism.constants.gradient_spread;
    mechanism.cost(round.next(), moved / mechanism.batch as f64).pure
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(round: u64, error: f64) -> Point {
        let all = Quartiles { low: error, median: error, high: error };
        Point {
            round,
            tracking_error: all,
            instantaneous_regret: all,
            budget_summed: 0.0,
            budget_event: 0.0,
        }
    }

    #[test]
    fn the_slope_of_a_power_is_its_exponent() {
        let power = |t: u64| point(t, 3.0 * ((t + 1) as f64).powf(-0.23));
        let found = slope(&(0..2000).map(power).collect::<Vec<_>>()).unwrap();
        assert!((found - 0.23).abs() < 1e-9, "{found}");
        assert!(slope(&[point(0, 1.0), point(1, 0.5)]).is_none());
    }

    #[test]
    fn the_theorem_gives_the_slope_of_the_docs() {
        let loaded = experiment_of(ComparedMethod::Algorithm1, 1.0, CLOSEST, 10, |_| ()).unwrap();
        assert!((slope_of_theorem(&loaded) - 0.23).abs() < 1e-9);
    }
}
