//! Eigenvalues of large graphs, which determine how fast learners agree.

use crate::unit;
use serde_json::json;
use std::time::Instant;
use undertone::graph::{Graph, Topology, Weights};

/// Enough for the ends of the spectrum of a random regular graph to three digits.
const STEPS: usize = 300;

/// δ₂ and δ_m of W by the method of Lanczos, orthogonal to the vector of ones.
///
/// Good where the spectrum has a gap: a long ring would need as many steps as it has learners, and has a formula.
pub(crate) fn spectrum(graph: &Graph, seed: u64) -> (f64, f64) {
    let learners = graph.learners();
    let mut state = seed ^ 0x5eed;
    let mut now: Vec<f64> = (0..learners).map(|_| unit(&mut state) - 0.5).collect();
    let mut before = vec![0.0; learners];
    let (mut diagonal, mut beside) = (Vec::new(), Vec::new());
    let mut length = settle(&mut now);
    for _ in 0..STEPS.min(learners - 1) {
        now.iter_mut().for_each(|value| *value /= length);
        let mut next = applied(graph, &now);
        let along = dot(&next, &now);
        let last = beside.last().copied().unwrap_or(0.0);
        for ((value, now), before) in next.iter_mut().zip(&now).zip(&before) {
            *value -= along * now + last * before;
        }
        diagonal.push(along);
        before = std::mem::replace(&mut now, next);
        length = settle(&mut now);
        beside.push(length);
        if length < 1e-10 {
            break;
        }
    }
    beside.pop();
    (eigenvalue(&diagonal, &beside, diagonal.len() - 1), eigenvalue(&diagonal, &beside, 0))
}

/// `ours gap TOPOLOGY LEARNERS DEGREE`: eigenvalues for weights of half of one over the degree.
pub(crate) fn command(topology: &str, learners: usize, degree: usize) -> String {
    let shape = match topology {
        "ring" => Topology::Ring,
        "torus" => Topology::Torus { columns: (learners as f64).sqrt().round() as usize },
        "complete" => Topology::Complete,
        "hypercube" => Topology::Edges(hypercube(learners)),
        _ => Topology::RandomRegular { degree, seed: 1 },
    };
    let begin = Instant::now();
    let graph = Graph::new(learners, &shape, &Weights::Uniform(0.5 / degree as f64)).expect("a graph");
    let built = begin.elapsed().as_secs_f64();
    let (delta_2, delta_m) = spectrum(&graph, 1);
    json!({
        "topology": topology, "learners": learners, "degree": degree, "delta_2": delta_2, "delta_m": delta_m,
        "dense_solver_delta_2": graph.spectrum().map(|spectrum| spectrum.delta_2),
        "build_seconds": built, "solve_seconds": begin.elapsed().as_secs_f64() - built,
    })
    .to_string()
}

/// Learners whose numbers differ in one bit are neighbours.
fn hypercube(learners: usize) -> Vec<(u32, u32)> {
    assert!(learners.is_power_of_two(), "a hypercube has a power of two of corners");
    let bits = learners.trailing_zeros();
    let corners = 0..learners as u32;
    corners.flat_map(|at| (0..bits).map(move |bit| (at, at ^ 1 << bit))).filter(|(a, b)| a < b).collect()
}

/// W x.
fn applied(graph: &Graph, x: &[f64]) -> Vec<f64> {
    let pull = |own: usize, list: &[(undertone::LearnerId, f64)]| {
        list.iter().map(|&(id, weight)| weight * (x[id.0 as usize] - x[own])).sum()
    };
    graph.ids().map(|id| pull(id.0 as usize, graph.neighbours(id))).collect()
}

/// Subtracts the mean. Returns the length.
fn settle(x: &mut [f64]) -> f64 {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    x.iter_mut().for_each(|value| *value -= mean);
    dot(x, x).sqrt()
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// The eigenvalue of a tridiagonal symmetric matrix with this many others below it, by bisection.
fn eigenvalue(diagonal: &[f64], beside: &[f64], number: usize) -> f64 {
    let (mut low, mut high) = (-4.0, 4.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if count_below(diagonal, beside, middle) > number { high = middle } else { low = middle }
    }
    (low + high) / 2.0
}

/// How many eigenvalues are below a number: the negative pivots of Gaussian elimination (Sturm).
fn count_below(diagonal: &[f64], beside: &[f64], limit: f64) -> usize {
    let mut pivot = 1.0_f64;
    let mut count = 0;
    for (place, own) in diagonal.iter().enumerate() {
        let square = if place == 0 { 0.0 } else { beside[place - 1].powi(2) };
        pivot = own - limit - square / pivot;
        if pivot == 0.0 {
            pivot = -1e-300;
        }
        count += usize::from(pivot < 0.0);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvalues_are_those_of_the_dense_solver_and_of_the_formula() {
        for (learners, shape) in [
            (60, Topology::Ring),
            (100, Topology::Torus { columns: 10 }),
            (400, Topology::RandomRegular { degree: 6, seed: 3 }),
            (64, Topology::Edges(hypercube(64))),
        ] {
            let graph = Graph::new(learners, &shape, &Weights::Uniform(0.08)).unwrap();
            let dense = graph.spectrum().unwrap();
            let (delta_2, delta_m) = spectrum(&graph, 1);
            assert!((delta_2 - dense.delta_2).abs() < 1e-6, "{shape:?}: {delta_2} {dense:?}");
            assert!((delta_m - dense.delta_m).abs() < 1e-6, "{shape:?}: {delta_m} {dense:?}");
        }
        let graph = Graph::new(60, &Topology::Ring, &Weights::Uniform(0.25)).unwrap();
        let formula = -0.5 * (1.0 - (std::f64::consts::TAU / 60.0).cos());
        assert!((spectrum(&graph, 1).0 - formula).abs() < 1e-9);
    }
}
