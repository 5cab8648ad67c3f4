//! The weights w_ij on the edges.

use super::GraphError;
use super::topology::Edge;
use std::collections::BTreeMap;

/// How the weights of the edges are chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Weights {
    /// The same weight for every edge.
    Uniform(f64),
    /// 1 / (1 + the larger degree of the two ends). Assumption 2 may still fail: a ring of five has
    /// δ_m = −1.206.
    Metropolis,
    /// One weight for each edge, listed by the two ends in either order.
    Explicit(Vec<(u32, u32, f64)>),
}

impl Weights {
    pub(super) fn assign(
        &self,
        learners: usize,
        edges: &[Edge],
    ) -> Result<Vec<(Edge, f64)>, GraphError> {
        let weighted: Vec<(Edge, f64)> = match self {
            Weights::Uniform(weight) => edges.iter().map(|&edge| (edge, *weight)).collect(),
            Weights::Metropolis => metropolis(learners, edges),
            Weights::Explicit(list) => explicit(edges, list)?,
        };
        match weighted.iter().find(|(_, weight)| !(*weight > 0.0 && weight.is_finite())) {
            Some(&(edge, weight)) => {
                Err(GraphError::Weight { from: edge.from.0, to: edge.to.0, weight })
            }
            None => Ok(weighted),
        }
    }
}

fn metropolis(learners: usize, edges: &[Edge]) -> Vec<(Edge, f64)> {
    let mut degree = vec![0u32; learners];
    for edge in edges {
        degree[edge.from.0 as usize] += 1;
        degree[edge.to.0 as usize] += 1;
    }
    let weight = |edge: &Edge| {
        let larger = degree[edge.from.0 as usize].max(degree[edge.to.0 as usize]);
        1.0 / (1.0 + f64::from(larger))
    };
    edges.iter().map(|edge| (*edge, weight(edge))).collect()
}

fn explicit(edges: &[Edge], list: &[(u32, u32, f64)]) -> Result<Vec<(Edge, f64)>, GraphError> {
    let mut given = BTreeMap::new();
    for &(from, to, weight) in list {
        if given.insert((from.min(to), from.max(to)), weight).is_some() {
            return Err(GraphError::SurplusWeight { from, to });
        }
    }
    let mut weighted = Vec::with_capacity(edges.len());
    for &edge in edges {
        let (from, to) = (edge.from.0, edge.to.0);
        let weight = given.remove(&(from, to)).ok_or(GraphError::NoWeight { from, to })?;
        weighted.push((edge, weight));
    }
    match given.first_key_value() {
        Some((&(from, to), _)) => Err(GraphError::SurplusWeight { from, to }),
        None => Ok(weighted),
    }
}
