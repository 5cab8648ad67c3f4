//! The eigenvalues of W that the theorems use.

use super::Graph;
use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

/// Two eigenvalues of W; the largest is always 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spectrum {
    /// δ₂, the largest eigenvalue below 0: how fast the learners agree.
    pub delta_2: f64,
    /// δ_m, the smallest: Assumption 2 requires it to be above −1.
    pub delta_m: f64,
}

/// Above this many learners the dense eigen-solver would take minutes.
const LEARNERS_SOLVABLE_MAX: usize = 1000;

impl Spectrum {
    /// The spectrum by a dense symmetric eigen-solver; `None` for one learner or more than 1 000.
    pub(super) fn of(graph: &Graph) -> Option<Spectrum> {
        let learners = graph.learners();
        if !(2..=LEARNERS_SOLVABLE_MAX).contains(&learners) {
            return None;
        }
        let mut matrix = DMatrix::<f64>::zeros(learners, learners);
        for id in graph.ids() {
            let row = id.0 as usize;
            matrix[(row, row)] = -graph.weight(id);
            for &(neighbour, weight) in graph.neighbours(id) {
                matrix[(row, neighbour.0 as usize)] = weight;
            }
        }
        let mut eigenvalues: Vec<f64> = matrix.symmetric_eigenvalues().iter().copied().collect();
        eigenvalues.sort_by(f64::total_cmp);
        Some(Spectrum { delta_2: eigenvalues[learners - 2], delta_m: eigenvalues[0] })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{GraphError, Topology, Weights};
    use super::*;
    use crate::LearnerId;
    use proptest::prelude::*;

    fn uniform(learners: usize, topology: Topology) -> Graph {
        Graph::new(learners, &topology, &Weights::Uniform(0.3)).unwrap()
    }

    #[test]
    fn the_papers_ring_of_five_breaks_assumption_2() {
        let spectrum = uniform(5, Topology::Ring).spectrum().unwrap();
        assert!((spectrum.delta_2 + 0.4146).abs() < 5e-5);
        assert!((spectrum.delta_m + 1.0854).abs() < 5e-5);
    }

    #[test]
    fn known_graphs_have_their_known_eigenvalues() {
        let complete = uniform(6, Topology::Complete).spectrum().unwrap();
        assert!((complete.delta_2 + 1.8).abs() < 1e-9 && (complete.delta_m + 1.8).abs() < 1e-9);
        let star = uniform(6, Topology::Star).spectrum().unwrap();
        assert!((star.delta_2 + 0.3).abs() < 1e-9 && (star.delta_m + 1.8).abs() < 1e-9);
    }

    #[test]
    fn shapes_have_the_right_degrees() {
        let degree = |graph: &Graph, id| graph.neighbours(LearnerId(id)).len();
        assert_eq!(degree(&uniform(2, Topology::Ring), 0), 1);
        assert_eq!(degree(&uniform(5, Topology::Path), 0), 1);
        let torus = uniform(12, Topology::Torus { columns: 4 });
        assert!(torus.ids().all(|id| torus.neighbours(id).len() == 4));
        let regular = uniform(30, Topology::RandomRegular { degree: 3, seed: 4 });
        assert!(regular.ids().all(|id| regular.neighbours(id).len() == 3));
        assert_ne!(regular, uniform(30, Topology::RandomRegular { degree: 3, seed: 5 }));
    }

    #[test]
    fn bad_graphs_are_refused_with_the_reason() {
        let build =
            |learners, topology, weights| Graph::new(learners, &topology, &weights).unwrap_err();
        let half = || Weights::Uniform(0.5);
        assert!(matches!(
            build(4, Topology::Edges(vec![(0, 1), (2, 3)]), half()),
            GraphError::Disconnected { unreached: LearnerId(2), reached: 2, learners: 4 }
        ));
        assert!(matches!(build(3, Topology::Edges(vec![(0, 3)]), half()), GraphError::Edge { .. }));
        assert!(matches!(
            build(3, Topology::Edges(vec![(0, 1), (1, 0)]), half()),
            GraphError::RepeatedEdge { .. }
        ));
        assert!(matches!(build(1, Topology::Ring, half()), GraphError::Learners { .. }));
        assert!(matches!(
            build(5, Topology::Torus { columns: 3 }, half()),
            GraphError::Torus { .. }
        ));
        let odd = Topology::RandomRegular { degree: 3, seed: 1 };
        assert!(matches!(build(5, odd, half()), GraphError::Regular { .. }));
        let rare = Topology::ErdosRenyi { probability: 1e-9, seed: 1 };
        assert!(matches!(build(9, rare, half()), GraphError::NotConnected { .. }));
        let nan = Topology::ErdosRenyi { probability: f64::NAN, seed: 1 };
        assert!(matches!(build(9, nan, half()), GraphError::Probability { .. }));
        assert!(matches!(
            build(5, Topology::Ring, Weights::Uniform(f64::NAN)),
            GraphError::Weight { .. }
        ));
        let missing = Weights::Explicit(vec![(0, 1, 0.2)]);
        assert!(matches!(build(3, Topology::Path, missing), GraphError::NoWeight { .. }));
    }

    proptest! {
        #[test]
        fn random_graphs_are_symmetric_connected_and_repeatable(
            learners in 4usize..40, probability in 0.4f64..1.0, seed in any::<u64>()
        ) {
            let topology = Topology::ErdosRenyi { probability, seed };
            let graph = Graph::new(learners, &topology, &Weights::Metropolis).unwrap();
            let again = Graph::new(learners, &topology, &Weights::Metropolis).unwrap();
            prop_assert_eq!(&graph, &again);
            for id in graph.ids() {
                for &(neighbour, weight) in graph.neighbours(id) {
                    prop_assert!(graph.neighbours(neighbour).contains(&(id, weight)));
                }
                prop_assert!(graph.weight(id) < 1.0);
            }
            let spectrum = graph.spectrum().unwrap();
            prop_assert!(spectrum.delta_2 < 0.0 && spectrum.delta_m >= -2.0);
        }
    }
}
