//! Reconstructs records from a gradient: searches for records with the same gradient (DLG and
//! iDLG).
//!
//! "Deep leakage from gradients" (Zhu, Liu and Han, 2019) searches for records and labels together;
//! the improved method (Zhao, Mopuri and Bilen, 2020) first reads the label from the last layer's
//! gradient. Both then use L-BFGS.

use argmin::core::{CostFunction, Executor, Gradient};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use serde::Serialize;
use std::cell::{Cell, RefCell};
use undertone_models::PublicRandom;
use undertone_models::neural::{Guess, NeuralNetwork};

/// How labels are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Labels {
    /// Together with the records (DLG).
    Dlg,
    /// From the sign of the last layer's gradient (iDLG); one record only.
    Idlg,
}

/// How long to search.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Effort {
    /// Steps of L-BFGS from each start.
    pub iterations: u64,
    /// The most random starts; the search ends with the first that explains the gradient.
    pub starts: u64,
}

/// The attacker's guess of the records.
#[derive(Clone)]
pub struct Reconstruction {
    /// Features of each record, clamped to the known range of features.
    pub inputs: Vec<Vec<f64>>,
    /// The label of each.
    pub labels: Vec<usize>,
    /// ‖gradient of the guess − observed gradient‖² / ‖observed gradient‖², which is all that the
    /// attacker can compute.
    pub mismatch: f64,
}

/// The number of earlier steps that L-BFGS uses.
const MEMORY: usize = 20;
/// The limit on points: a line search on a function that is not smooth may try many points without
/// progress.
const POINTS_PER_STEP: u64 = 3;
/// A gradient counts as explained when the mismatch is at most this.
const EXPLAINED: f64 = 1e-10;

/// What an attacker knows.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// The neural network.
    pub neural: &'a NeuralNetwork,
    /// The parameters at which the gradient was taken, as observed.
    pub theta: &'a [f64],
    /// The mean gradient of the records, as observed.
    pub gradient: &'a [f64],
    /// How many records there are.
    pub records: usize,
    /// The range of every feature, if it is known.
    pub range: Option<(f64, f64)>,
}

/// Searches for the records behind a gradient, until `interrupted`.
///
/// # Panics
/// When parameters or gradient do not fit the neural network: bugs in the caller.
pub fn invert(
    evidence: Evidence<'_>,
    labels: Labels,
    effort: Effort,
    seed: u64,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Reconstruction {
    let Evidence { neural, theta, gradient: target, records, range } = evidence;
    let size: f64 = target.iter().map(|x| x * x).sum();
    let known = match labels {
        Labels::Dlg => None,
        Labels::Idlg => Some(label_of_gradient(neural, target)),
    };
    // Scaled to norm one, so that steps and tolerances mean the same for every gradient.
    let scale = if size > 0.0 { size } else { 1.0 };
    let matching = Matching {
        neural,
        theta,
        target,
        records,
        known,
        scale,
        interrupted,
        left: Cell::default(),
        seen: RefCell::default(),
    };
    let mut order = PublicRandom::new(seed);
    for _ in 0..effort.starts.max(1) {
        let start: Vec<f64> = (0..matching.variables()).map(|_| order.unit()).collect();
        matching.evaluate(&start);
        matching.left.set(POINTS_PER_STEP * effort.iterations);
        descend(&matching, start, effort.iterations);
        if matching.least() < EXPLAINED || interrupted() {
            break;
        }
    }
    matching.best(range)
}

/// Minimises by L-BFGS. It ends when its line search fails; the best point is kept in any case.
fn descend(matching: &Matching<'_>, start: Vec<f64>, iterations: u64) {
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), MEMORY)
        .with_tolerance_grad(1e-12)
        .and_then(|solver| solver.with_tolerance_cost(1e-16));
    let Ok(solver) = solver else { return };
    let enough = EXPLAINED * 1e-4;
    let _ = Executor::new(matching, solver)
        .configure(|state| state.param(start).max_iters(iterations).target_cost(enough))
        .timer(false)
        .run();
}

/// The class whose bias has the most negative gradient: p − y is below zero only for the label.
fn label_of_gradient(neural: &NeuralNetwork, target: &[f64]) -> usize {
    let biases = &target[target.len().saturating_sub(neural.classes())..];
    let steepest: Vec<f64> = biases.iter().map(|slope| -slope).collect();
    largest(&steepest)
}

/// The last point, because cost and gradient are requested one after the other, and the best point.
#[derive(Default)]
struct Seen {
    point: Vec<f64>,
    mismatch: f64,
    slopes: Vec<f64>,
    best: Option<(f64, Vec<f64>)>,
}

/// The mismatch of guesses, as a function to minimise.
struct Matching<'a> {
    neural: &'a NeuralNetwork,
    theta: &'a [f64],
    target: &'a [f64],
    records: usize,
    /// The label, if it is already known.
    known: Option<usize>,
    scale: f64,
    interrupted: &'a (dyn Fn() -> bool + Sync),
    /// How many more points may be evaluated from this start.
    left: Cell<u64>,
    seen: RefCell<Seen>,
}

/// Logits that make a label certain.
const CERTAIN: f64 = 100.0;

impl Matching<'_> {
    /// Features of all records, then their label logits.
    fn variables(&self) -> usize {
        let labels = if self.known.is_some() { 0 } else { self.neural.classes() };
        self.records * (self.neural.features() + labels)
    }

    fn label_logits(&self, point: &[f64]) -> Vec<Vec<f64>> {
        let classes = self.neural.classes();
        match self.known {
            Some(label) => {
                let certain = |class| if class == label { CERTAIN } else { 0.0 };
                vec![(0..classes).map(certain).collect(); self.records]
            }
            None => {
                let logits = &point[self.records * self.neural.features()..];
                logits.chunks_exact(classes).map(<[f64]>::to_vec).collect()
            }
        }
    }

    /// Computes the mismatch at a point, and its gradient.
    fn evaluate(&self, point: &[f64]) {
        let features = self.neural.features();
        let labels = self.label_logits(point);
        let inputs = point[..self.records * features].chunks_exact(features);
        let guesses: Vec<Guess<'_>> = inputs
            .zip(&labels)
            .map(|(input, label_logits)| Guess { input, label_logits })
            .collect();
        let found = self.neural.gradient_match(self.theta, &guesses, self.target);
        let mut slopes = found.input_gradients.concat();
        if self.known.is_none() {
            slopes.extend(found.label_gradients.concat());
        }
        slopes.iter_mut().for_each(|slope| *slope /= self.scale);
        let mismatch = found.distance / self.scale;
        let mut seen = self.seen.borrow_mut();
        if mismatch < seen.best.as_ref().map_or(f64::INFINITY, |best| best.0) {
            seen.best = Some((mismatch, point.to_vec()));
        }
        seen.point = point.to_vec();
        seen.mismatch = mismatch;
        seen.slopes = slopes;
    }

    fn at<T>(&self, point: &[f64], value: fn(&Seen) -> T) -> Result<T, argmin::core::Error> {
        let known = self.seen.borrow().point == point;
        if !known {
            let left = self.left.get().checked_sub(1);
            let Some(left) = left.filter(|_| !(self.interrupted)()) else {
                return Err(argmin::core::Error::msg("enough"));
            };
            self.left.set(left);
            self.evaluate(point);
        }
        Ok(value(&self.seen.borrow()))
    }

    fn least(&self) -> f64 {
        self.seen.borrow().best.as_ref().map_or(f64::INFINITY, |best| best.0)
    }

    /// The guess with the smallest mismatch so far.
    fn best(&self, range: Option<(f64, f64)>) -> Reconstruction {
        let nothing = (f64::INFINITY, vec![0.0; self.variables()]);
        let (mismatch, point) = self.seen.take().best.unwrap_or(nothing);
        let features = self.neural.features();
        let inputs = point[..self.records * features].chunks_exact(features);
        let (low, high) = range.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let cut = |input: &[f64]| input.iter().map(|value| value.clamp(low, high)).collect();
        let labels = self.label_logits(&point).iter().map(|logits| largest(logits)).collect();
        Reconstruction { inputs: inputs.map(cut).collect(), labels, mismatch }
    }
}

fn largest(values: &[f64]) -> usize {
    let most = values.iter().enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b));
    most.map_or(0, |(index, _)| index)
}

impl CostFunction for &Matching<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, point: &Vec<f64>) -> Result<f64, argmin::core::Error> {
        self.at(point, |seen| seen.mismatch)
    }
}

impl Gradient for &Matching<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, point: &Vec<f64>) -> Result<Vec<f64>, argmin::core::Error> {
        self.at(point, |seen| seen.slopes.clone())
    }
}
