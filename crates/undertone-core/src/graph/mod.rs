//! The communication graph of the learners and the weights of its edges.

mod error;
mod spectrum;
mod topology;
mod weights;

pub use error::GraphError;
pub use spectrum::Spectrum;
pub(crate) use topology::LEARNERS_MAX;
pub use topology::Topology;
pub use weights::Weights;

use crate::LearnerId;
use crate::encoding::{Encode, Encoder};

/// A connected, symmetric, weighted graph of learners.
///
/// The matrix W of the paper has w_ij > 0 for neighbours and w_ii = −Σ_j w_ij; only the neighbour
/// weights are stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// For each learner its neighbours by increasing id, with their weights.
    neighbours: Vec<Vec<(LearnerId, f64)>>,
    /// w̄, which every learner's mechanism needs.
    weight_min: f64,
}

impl Graph {
    /// Builds the graph of a topology with weights.
    ///
    /// # Errors
    /// When the topology cannot be built, the weights do not match the edges, or the graph is not connected.
    pub fn new(
        learners: usize,
        topology: &Topology,
        weights: &Weights,
    ) -> Result<Graph, GraphError> {
        let edges = topology.edges(learners)?;
        let mut neighbours = vec![Vec::new(); learners];
        for (edge, weight) in weights.assign(learners, &edges)? {
            neighbours[edge.from.0 as usize].push((edge.to, weight));
            neighbours[edge.to.0 as usize].push((edge.from, weight));
        }
        for list in &mut neighbours {
            list.sort_by_key(|&(id, _)| id);
        }
        let mut graph = Graph { neighbours, weight_min: f64::INFINITY };
        graph.check_connected()?;
        graph.weight_min = graph.ids().map(|id| graph.weight(id)).fold(f64::INFINITY, f64::min);
        Ok(graph)
    }

    /// How many learners there are.
    #[must_use]
    pub fn learners(&self) -> usize {
        self.neighbours.len()
    }

    /// How many edges there are.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.neighbours.iter().map(Vec::len).sum::<usize>() / 2
    }

    /// The neighbours of a learner by increasing id, with their weights w_ij.
    #[must_use]
    pub fn neighbours(&self, learner: LearnerId) -> &[(LearnerId, f64)] {
        &self.neighbours[learner.0 as usize]
    }

    /// |w_ii|: the sum of a learner's neighbour weights.
    #[must_use]
    pub fn weight(&self, learner: LearnerId) -> f64 {
        self.neighbours(learner).iter().map(|&(_, weight)| weight).sum()
    }

    /// w̄: the smallest |w_ii|.
    pub(crate) fn weight_min(&self) -> f64 {
        self.weight_min
    }

    /// All learners in order.
    pub fn ids(&self) -> impl Iterator<Item = LearnerId> + use<> {
        let learners = u32::try_from(self.learners()).unwrap_or(u32::MAX);
        (0..learners).map(LearnerId)
    }

    /// δ₂ and δ_m of W, if the graph is small enough to compute them.
    #[must_use]
    pub fn spectrum(&self) -> Option<Spectrum> {
        Spectrum::of(self)
    }

    fn check_connected(&self) -> Result<(), GraphError> {
        let mut seen = vec![false; self.learners()];
        let mut queue = vec![LearnerId(0)];
        seen[0] = true;
        let mut reached = 0;
        while let Some(learner) = queue.pop() {
            reached += 1;
            for &(neighbour, _) in self.neighbours(learner) {
                if !std::mem::replace(&mut seen[neighbour.0 as usize], true) {
                    queue.push(neighbour);
                }
            }
        }
        match self.ids().find(|id| !seen[id.0 as usize]) {
            None => Ok(()),
            Some(unreached) => {
                Err(GraphError::Disconnected { unreached, reached, learners: self.learners() })
            }
        }
    }
}

impl Encode for Graph {
    fn encode(&self, encoder: &mut Encoder) {
        let Graph {
            neighbours,
            // Follows from the weights.
            weight_min: _,
        } = self;
        encoder.count(neighbours.len() as u64);
        for list in neighbours {
            encoder.count(list.len() as u64);
            for &(neighbour, weight) in list {
                encoder.count(neighbour.0.into());
                encoder.number(weight);
            }
        }
    }
}
