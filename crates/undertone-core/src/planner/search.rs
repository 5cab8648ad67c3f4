//! Searches for the schedule with the least predicted error, on a fixed lattice.

use super::estimate::estimated_cost;
use super::predict::{Forecast, Predictor};
use super::{Goal, PlannerError, calibrate};
use crate::agreement::Agreement;
use crate::privacy::{Cap, zcdp_from_epsilon};
use crate::{Forgetting, PowerLaw};
use std::collections::BTreeMap;

/// An agreement with the best schedule found.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// The agreement, with schedule, noise exponents, warm-up and batch as found.
    pub agreement: Agreement,
    /// The calibrated noise scale of each learner.
    pub scales: Vec<f64>,
    /// The prediction for it.
    pub forecast: Forecast,
    /// The prediction for the original agreement, unless its targets cannot be met.
    pub before: Option<Forecast>,
    /// How many schedules were compared.
    pub compared: u64,
}

/// Searches for λ0, γ0, u, v, ς, warm-up, batch and interval with the least predicted error.
///
/// Noise is calibrated to the same targets throughout, so every schedule compared is equally
/// private. Deterministic: a coarse grid, then coordinate moves with halving strides from its best
/// points, on a lattice of round numbers. During the search budgets are estimated; the result is
/// calibrated exactly.
///
/// # Guarantee
/// The result meets every target over the horizon, breaks no condition of the theorems unless
/// `unproven` is set, uses at most `records` records a learner, releases a gradient within the
/// planned rounds, and has a predicted error no larger than that of the agreement it started from.
///
/// # Errors
/// When there are too few records, or neither the start nor any schedule found can be calibrated.
pub fn tune(start: &Agreement, goal: &Goal) -> Result<Tuned, PlannerError> {
    let rounds = goal.outlook.rounds;
    if start.memory.forgetting() != Forgetting::Never
        && !start.method.describe().gradients.are_of_newest_batch()
    {
        return Err(PlannerError::Forgetting);
    }
    if goal.records < rounds {
        return Err(PlannerError::TooFewRecords { records: goal.records, rounds });
    }
    let mut search = Search::new(start, goal)?;
    let mut seeds = search.grid();
    seeds.push(search.nearest(start));
    let mut trail: Vec<(f64, Point)> = Vec::new();
    for seed in seeds {
        search.descend(seed, &mut trail);
    }
    trail.sort_by(|left, right| left.0.total_cmp(&right.0));
    trail.dedup_by_key(|&mut (_, point)| point);
    let before = start_forecast(&search.predictor, start, goal);
    let compared = search.compared();
    let objective_before = before.as_ref().map_or(f64::INFINITY, |(_, old)| old.objective);
    // An estimate may be too low for a schedule without a certificate; then the next best is tried.
    for (_, point) in trail.into_iter().take(CALIBRATED_MAX) {
        let agreement = search.place(&point).clone();
        let Ok(scales) = calibrate(&agreement, goal.memory_error, goal.horizon) else { continue };
        let forecast = search.predictor.run(&agreement, &scales);
        if forecast.objective < objective_before {
            let before = before.ok().map(|(_, forecast)| forecast);
            return Ok(Tuned { agreement, scales, forecast, before, compared });
        }
        break;
    }
    let (scales, forecast) = before?;
    let before = Some(forecast.clone());
    Ok(Tuned { agreement: start.clone(), scales, forecast, before, compared })
}

/// The longest interval between gradients with which one is released within the planned rounds.
///
/// A run of T rounds releases in rounds 0 to T − 1, the first of which depends on no record; the account counts
/// rounds 1 to T. So it is T − 1, and with one round the only choice there is.
#[must_use]
pub fn interval_max(rounds: u64) -> u64 {
    rounds.saturating_sub(1).max(1)
}

/// Refuses an agreement that is over before a gradient leaves: nothing would be learnt, at an ε of 0.
fn check_something_is_released(agreement: &Agreement, rounds: u64) -> Result<(), PlannerError> {
    match agreement.method.describe().interval {
        Some(interval) if interval > interval_max(rounds) => {
            Err(PlannerError::NothingReleased { interval, rounds })
        }
        Some(_) | None => Ok(()),
    }
}

/// The prediction for the calibrated start, if the start is allowed.
fn start_forecast(
    predictor: &Predictor,
    start: &Agreement,
    goal: &Goal,
) -> Result<(Vec<f64>, Forecast), PlannerError> {
    check_something_is_released(start, goal.outlook.rounds)?;
    let taken = start.records.taken_after(goal.outlook.rounds);
    if taken > goal.records {
        return Err(PlannerError::RecordsTaken { records: goal.records, taken });
    }
    let scales = calibrate(start, goal.memory_error, goal.horizon)?;
    let forecast = predictor.run(start, &scales);
    Ok((scales, forecast))
}

/// How many schedules are calibrated exactly before the search falls back to the start.
const CALIBRATED_MAX: usize = 20;
/// How many groups of learners the search distinguishes.
const KINDS_MAX: usize = 16;
/// How many points of the grid are refined.
const SEEDS: usize = 3;

/// A place on the lattice: exponents in 1/200, λ0 and γ0 in twentieths of a decade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Point([i64; 8]);

const STEP: usize = 0;
const COUPLING: usize = 1;
/// ς.
const GROWTH: usize = 2;
/// u − ς − ½: Assumption 4 requires more than 0.
const COUPLING_MARGIN: usize = 3;
/// v − u: Assumption 4 requires more than 0.
const STEP_MARGIN: usize = 4;
/// The warm-up: the share, in twentieths, of the records that the batches leave over.
const WARMUP: usize = 5;
/// Place in [`BATCHES`].
const BATCH: usize = 6;

/// Place in [`INTERVALS`], for the shielded method; 0 otherwise.
const INTERVAL: usize = 7;

const LOWEST: [i64; 8] = [-100, -100, 0, -200, -200, 0, 0, 0];
const HIGHEST: [i64; 8] = [100, 100, 100, 200, 200, 20, 15, 11];
const BATCHES: [u64; 16] = [1, 2, 3, 5, 8, 10, 15, 20, 30, 50, 80, 100, 150, 200, 500, 1000];
const INTERVALS: [u64; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128];

/// Exponents and interval that a search starts from, in the units of a [`Point`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScheduleShape {
    growth: i64,
    coupling_margin: i64,
    step_margin: i64,
    interval: i64,
}

impl ScheduleShape {
    /// Steps and coupling that decay as Assumption 4 requires.
    pub(crate) const DECAYING: [ScheduleShape; 4] = [
        ScheduleShape::of(2, 2, 2, 0),
        ScheduleShape::of(2, 2, 20, 0),
        ScheduleShape::of(2, 2, 40, 0),
        ScheduleShape::of(2, 20, 20, 0),
    ];
    /// Constant coupling, with steps that decay more or less.
    pub(crate) const CONSTANT_COUPLING: [ScheduleShape; 4] = [
        ScheduleShape::of(0, -100, 0, 0),
        ScheduleShape::of(0, -100, 60, 0),
        ScheduleShape::of(0, -100, 100, 0),
        ScheduleShape::of(0, -100, 160, 0),
    ];
    /// Constant coupling, with a gradient in every round or in one of eight.
    pub(crate) const WITH_INTERVALS: [ScheduleShape; 4] = [
        ScheduleShape::of(0, -100, 0, 0),
        ScheduleShape::of(0, -100, 0, 5),
        ScheduleShape::of(0, -100, 60, 0),
        ScheduleShape::of(0, -100, 60, 5),
    ];

    const fn of(growth: i64, coupling_margin: i64, step_margin: i64, interval: i64) -> Self {
        ScheduleShape { growth, coupling_margin, step_margin, interval }
    }
}

struct Search<'a> {
    goal: &'a Goal,
    predictor: Predictor,
    /// The agreement under consideration; its graph and model never change.
    agreement: Agreement,
    /// The representative of each group of learners, and the group of each learner.
    kinds: Vec<usize>,
    kind_of: Vec<usize>,
    /// Each learner's target: whether it is in pure ε, and its value in pure ε or zCDP.
    allowed: Vec<(bool, f64)>,
    seen: BTreeMap<Point, f64>,
}

impl<'a> Search<'a> {
    fn new(start: &Agreement, goal: &'a Goal) -> Result<Search<'a>, PlannerError> {
        let mut known: BTreeMap<[u64; 2], f64> = BTreeMap::new();
        let mut allowed = Vec::with_capacity(start.caps.len());
        for (learner, cap) in start.graph.ids().zip(&start.caps) {
            allowed.push(match cap.ok_or(PlannerError::NoTarget { learner })? {
                Cap::Pure { epsilon } => (true, epsilon),
                Cap::Approximate { epsilon, delta } => {
                    let key = [epsilon.to_bits(), delta.to_bits()];
                    (
                        false,
                        *known
                            .entry(key)
                            .or_insert_with(|| zcdp_from_epsilon(start.noise_kind, epsilon, delta)),
                    )
                }
            });
        }
        let weights: Vec<f64> = start.graph.ids().map(|id| start.graph.weight(id)).collect();
        let (kinds, kind_of) = kinds(&weights);
        let agreement = start.clone();
        let predictor = Predictor::new(start, &goal.outlook);
        Ok(Search { goal, predictor, agreement, kinds, kind_of, allowed, seen: BTreeMap::new() })
    }

    fn compared(&self) -> u64 {
        self.seen.len() as u64
    }

    /// The best points of a coarse grid: steps around 1/L, couplings around 1/|δ_m|.
    fn grid(&mut self) -> Vec<Point> {
        let constants = self.agreement.model.constants(&self.agreement.bounds);
        let step = decades(1.0 / constants.smoothness);
        let coupling = decades(-1.0 / self.predictor.spectrum().delta_m);
        let shapes = self.agreement.method.account().schedule_shapes();
        let mut found = Vec::new();
        for step_offset in -4..=4 {
            for coupling_offset in -5..=1 {
                for shape in shapes {
                    let ScheduleShape { growth, coupling_margin, step_margin, interval } = shape;
                    let step = step + 10 * step_offset;
                    let coupling = coupling + 10 * coupling_offset;
                    let point = Point([
                        step,
                        coupling,
                        growth,
                        coupling_margin,
                        step_margin,
                        20,
                        0,
                        interval,
                    ]);
                    let value = self.value(&point);
                    found.push((value, point));
                }
            }
        }
        found.retain(|(value, _)| value.is_finite());
        found.sort_by(|left, right| left.0.total_cmp(&right.0));
        found.into_iter().take(SEEDS).map(|(_, point)| point).collect()
    }

    /// Moves along one coordinate at a time while the prediction falls, with ever smaller strides.
    fn descend(&mut self, seed: Point, trail: &mut Vec<(f64, Point)>) {
        let mut best = (self.value(&seed), seed);
        let mut stride = 8;
        while stride > 0 {
            let mut moved = false;
            for coordinate in 0..best.1.0.len() {
                for sign in [1, -1] {
                    let mut point = best.1;
                    point.0[coordinate] += sign * stride;
                    let value = self.value(&point);
                    // Ignores improvements that are too small to matter.
                    if value < best.0 * (1.0 - 1e-6) {
                        best = (value, point);
                        moved = true;
                        trail.push(best);
                        break;
                    }
                }
            }
            if !moved {
                stride /= 2;
            }
        }
        if best.0.is_finite() {
            trail.push(best);
        }
    }

    /// The predicted error with estimated noise; infinite if the point is not allowed.
    fn value(&mut self, point: &Point) -> f64 {
        if let Some(&value) = self.seen.get(point) {
            return value;
        }
        let value = if self.admits(point) { self.predicted(point) } else { f64::INFINITY };
        let value = if value.is_nan() { f64::INFINITY } else { value };
        self.seen.insert(*point, value);
        value
    }

    fn admits(&mut self, point: &Point) -> bool {
        let inside = |(place, &at): (usize, &i64)| (LOWEST[place]..=HIGHEST[place]).contains(&at);
        if !point.0.iter().enumerate().all(inside) {
            return false;
        }
        let u = 100 + point.0[GROWTH] + point.0[COUPLING_MARGIN];
        let v = u + point.0[STEP_MARGIN];
        let batch = BATCHES[point.index(BATCH)];
        if u < 0 || !(0..=400).contains(&v) || batch > self.goal.records / self.goal.outlook.rounds
        {
            return false;
        }
        let interval = INTERVALS[point.index(INTERVAL)];
        let longest = match self.agreement.method.describe().interval {
            Some(_) => interval_max(self.goal.outlook.rounds),
            None => 1,
        };
        if interval > longest {
            return false;
        }
        let free = self.agreement.method.account().exponents_are_free();
        let constant = u == 0 && v == 0 && point.0[GROWTH] == 0;
        if !free && !constant {
            return false;
        }
        let agreement = self.place(point);
        agreement.unproven || agreement.broken_conditions().is_empty()
    }

    fn predicted(&mut self, point: &Point) -> f64 {
        self.place(point);
        let ids: Vec<_> = self.agreement.graph.ids().collect();
        let noise_max = self.agreement.noise_max(1.0);
        let constants = self.agreement.model.constants(&self.agreement.bounds);
        let memory_error = self.goal.memory_error;
        let unit: Vec<_> = self
            .kinds
            .iter()
            .map(|&place| {
                let mechanism =
                    self.agreement.mechanism(constants, ids[place], memory_error, 1.0, noise_max);
                estimated_cost(&mechanism, self.goal.horizon)
            })
            .collect();
        let scales: Vec<f64> = (self.kind_of.iter().zip(&self.allowed))
            .map(|(&kind, &(pure, allowed))| match pure {
                true => unit[kind].pure / allowed,
                false => (unit[kind].zcdp / allowed).sqrt(),
            })
            .collect();
        if !scales.iter().all(|&scale| scale > 0.0 && scale.is_finite()) {
            return f64::INFINITY;
        }
        self.predictor.run(&self.agreement, &scales).objective
    }

    /// Writes a point into the agreement under consideration.
    fn place(&mut self, point: &Point) -> &Agreement {
        #[expect(clippy::cast_precision_loss, reason = "small whole numbers")]
        let share = |hundredths: i64| hundredths as f64 / 200.0;
        let growth = point.0[GROWTH];
        let u = 100 + growth + point.0[COUPLING_MARGIN];
        let v = u + point.0[STEP_MARGIN];
        let agreement = &mut self.agreement;
        agreement.schedule.step = PowerLaw::decaying(round_number(point.0[STEP]), share(v));
        agreement.schedule.coupling = PowerLaw::decaying(round_number(point.0[COUPLING]), share(u));
        agreement.noise_exponents.fill(share(growth));
        agreement.method = agreement.method.with_interval(INTERVALS[point.index(INTERVAL)]);
        agreement.records.batch = BATCHES[point.index(BATCH)];
        let left = self
            .goal
            .records
            .saturating_sub(agreement.records.batch.saturating_mul(self.goal.outlook.rounds));
        let twentieths = point.index(WARMUP) as u64;
        agreement.records.warmup =
            (left / 20 * twentieths + left % 20 * twentieths / 20).min(self.goal.warmup_max);
        agreement
    }

    /// The lattice point nearest to an agreement.
    fn nearest(&self, agreement: &Agreement) -> Point {
        let cells = |x: f64| {
            #[expect(clippy::cast_possible_truncation, reason = "exponents are at most 2")]
            let cells = (x * 200.0).round() as i64;
            cells
        };
        let growth = agreement.noise_exponents.iter().copied().fold(0.0, f64::max);
        let (u, v) = (-agreement.schedule.coupling.exponent, -agreement.schedule.step.exponent);
        let batch =
            BATCHES.iter().rposition(|&batch| batch <= agreement.records.batch).unwrap_or(0);
        let left = self
            .goal
            .records
            .saturating_sub(BATCHES[batch].saturating_mul(self.goal.outlook.rounds));
        let warmup = (20 * agreement.records.warmup.min(left)).checked_div(left).unwrap_or(0);
        let interval = agreement.method.describe().interval.unwrap_or(1);
        let interval = INTERVALS.iter().rposition(|&known| known <= interval).unwrap_or(0);
        let mut point = Point([
            decades(agreement.schedule.step.initial),
            decades(agreement.schedule.coupling.initial),
            cells(growth),
            cells(u) - 100 - cells(growth),
            cells(v) - cells(u),
            i64::try_from(warmup).unwrap_or(0),
            i64::try_from(batch).unwrap_or(0),
            i64::try_from(interval).unwrap_or(0),
        ]);
        for (place, at) in point.0.iter_mut().enumerate() {
            *at = (*at).clamp(LOWEST[place], HIGHEST[place]);
        }
        point
    }
}

impl Point {
    fn index(&self, coordinate: usize) -> usize {
        usize::try_from(self.0[coordinate]).unwrap_or(0)
    }
}

/// 10^(k/20), rounded to three significant digits.
fn round_number(twentieths: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "small whole numbers")]
    let value = 10f64.powf(twentieths as f64 / 20.0);
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// The nearest k with 10^(k/20) = value.
fn decades(value: f64) -> i64 {
    let cells = (20.0 * value.log10()).round();
    #[expect(clippy::cast_possible_truncation, reason = "clamped to the lattice")]
    let cells = cells.clamp(-100.0, 100.0) as i64;
    cells
}

/// Groups learners by the sum of their weights. Returns each group's representative and the group
/// of each learner.
fn kinds(weights: &[f64]) -> (Vec<usize>, Vec<usize>) {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&left, &right| weights[left].total_cmp(&weights[right]));
    let same = |left: usize, right: usize| weights[left].to_bits() == weights[right].to_bits();
    let mut groups: Vec<Vec<usize>> =
        order.chunk_by(|&left, &right| same(left, right)).map(<[usize]>::to_vec).collect();
    if groups.len() > KINDS_MAX {
        groups = order.chunks(order.len().div_ceil(KINDS_MAX)).map(<[usize]>::to_vec).collect();
    }
    let mut kind_of = vec![0; weights.len()];
    for (kind, group) in groups.iter().enumerate() {
        for &learner in group {
            kind_of[learner] = kind;
        }
    }
    (groups.iter().map(|group| group[group.len() / 2]).collect(), kind_of)
}
