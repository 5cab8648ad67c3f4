//! Topologies of a network.

use super::GraphError;
use crate::{LearnerId, PublicRandom};

/// An undirected edge, with `from < to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    /// The smaller id.
    pub(super) from: LearnerId,
    /// The larger id.
    pub(super) to: LearnerId,
}

/// Which learners are connected.
#[derive(Clone, Debug, PartialEq)]
pub enum Topology {
    /// One learner without neighbours.
    Alone,
    /// A cycle.
    Ring,
    /// A line.
    Path,
    /// Every pair of learners is connected.
    Complete,
    /// Every learner is connected to learner 0.
    Star,
    /// A grid with rows of the given length, whose opposite borders are connected.
    Torus {
        /// The length of a row.
        columns: usize,
    },
    /// Every learner has the same number of neighbours, chosen at random.
    RandomRegular {
        /// How many neighbours.
        degree: usize,
        /// The seed of the random graph.
        seed: u64,
    },
    /// Every pair is connected with the same probability; drawn again until connected.
    ErdosRenyi {
        /// The probability of an edge.
        probability: f64,
        /// The seed of the random graph.
        seed: u64,
    },
    /// A list of edges.
    Edges(Vec<(u32, u32)>),
}

const ATTEMPTS: u32 = 1000;
/// The largest network that one process simulates.
pub(crate) const LEARNERS_MAX: usize = 1_000_000;

impl Topology {
    /// The edges between the given number of learners, in increasing order, each once.
    pub(super) fn edges(&self, learners: usize) -> Result<Vec<Edge>, GraphError> {
        let (least, most) = match self {
            Topology::Alone => (1, 1),
            // These visit every pair of learners.
            Topology::Complete | Topology::ErdosRenyi { .. } => (2, 5_000),
            Topology::Ring
            | Topology::Path
            | Topology::Star
            | Topology::Torus { .. }
            | Topology::RandomRegular { .. }
            | Topology::Edges(_) => (2, LEARNERS_MAX),
        };
        if learners < least || learners > most {
            return Err(GraphError::Learners { learners, least, most });
        }
        let mut edges = match self {
            Topology::Alone => Vec::new(),
            Topology::Ring => (0..learners).map(|i| edge(i, (i + 1) % learners)).collect(),
            Topology::Path => (1..learners).map(|i| edge(i - 1, i)).collect(),
            Topology::Star => (1..learners).map(|i| edge(0, i)).collect(),
            Topology::Complete => pairs(learners).collect(),
            Topology::Torus { columns } => torus(learners, *columns)?,
            Topology::RandomRegular { degree, seed } => random_regular(learners, *degree, *seed)?,
            Topology::ErdosRenyi { probability, seed } => {
                erdos_renyi(learners, *probability, *seed)?
            }
            Topology::Edges(list) => checked_edges(learners, list)?,
        };
        edges.sort_unstable();
        // A ring of two lists its only edge twice.
        edges.dedup();
        Ok(edges)
    }
}

fn edge(left: usize, right: usize) -> Edge {
    let id = |i: usize| LearnerId(u32::try_from(i).expect("learner counts are checked"));
    Edge { from: id(left.min(right)), to: id(left.max(right)) }
}

fn pairs(learners: usize) -> impl Iterator<Item = Edge> {
    (0..learners).flat_map(move |i| (i + 1..learners).map(move |j| edge(i, j)))
}

fn torus(learners: usize, columns: usize) -> Result<Vec<Edge>, GraphError> {
    if columns < 3 || !learners.is_multiple_of(columns) || learners / columns < 3 {
        return Err(GraphError::Torus { columns, learners });
    }
    let across = (0..learners).map(|i| edge(i, i - i % columns + (i + 1) % columns));
    let down = (0..learners).map(|i| edge(i, (i + columns) % learners));
    Ok(across.chain(down).collect())
}

fn checked_edges(learners: usize, list: &[(u32, u32)]) -> Result<Vec<Edge>, GraphError> {
    let mut edges = Vec::with_capacity(list.len());
    for &(from, to) in list {
        if from == to || from as usize >= learners || to as usize >= learners {
            return Err(GraphError::Edge { from, to, learners });
        }
        edges.push(edge(from as usize, to as usize));
    }
    let mut sorted = edges.clone();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(GraphError::RepeatedEdge { from: pair[0].from.0, to: pair[0].to.0 });
    }
    Ok(edges)
}

/// Starts from a circulant graph and swaps the ends of random pairs of edges, which keeps every degree.
fn random_regular(learners: usize, degree: usize, seed: u64) -> Result<Vec<Edge>, GraphError> {
    if degree < 2 || degree >= learners || !(learners * degree).is_multiple_of(2) {
        return Err(GraphError::Regular { degree, learners });
    }
    let mut edges: Vec<Edge> = (1..=degree / 2)
        .flat_map(|hop| (0..learners).map(move |i| edge(i, (i + hop) % learners)))
        .collect();
    if degree % 2 == 1 {
        edges.extend((0..learners / 2).map(|i| edge(i, i + learners / 2)));
    }
    let mut present: std::collections::BTreeSet<Edge> = edges.iter().copied().collect();
    let mut random = PublicRandom::new(seed);
    for _ in 0..ATTEMPTS {
        for _ in 0..10 * edges.len() {
            swap_ends(&mut edges, &mut present, &mut random);
        }
        if is_connected(learners, &edges) {
            return Ok(edges);
        }
    }
    Err(GraphError::NotConnected { attempts: ATTEMPTS })
}

fn swap_ends(
    edges: &mut [Edge],
    present: &mut std::collections::BTreeSet<Edge>,
    random: &mut PublicRandom,
) {
    let (first, second) = (random.below(edges.len()), random.below(edges.len()));
    let (left, right) = (edges[first], edges[second]);
    let (a, b) = (left.from.0 as usize, left.to.0 as usize);
    let (mut c, mut d) = (right.from.0 as usize, right.to.0 as usize);
    if random.next_u64() & 1 == 1 {
        (c, d) = (d, c);
    }
    if a == c || a == d || b == c || b == d {
        return;
    }
    let (one, two) = (edge(a, d), edge(c, b));
    if present.contains(&one) || present.contains(&two) {
        return;
    }
    present.remove(&left);
    present.remove(&right);
    present.extend([one, two]);
    (edges[first], edges[second]) = (one, two);
}

fn erdos_renyi(learners: usize, probability: f64, seed: u64) -> Result<Vec<Edge>, GraphError> {
    if !(probability > 0.0 && probability <= 1.0) {
        return Err(GraphError::Probability { probability });
    }
    let mut random = PublicRandom::new(seed);
    for _ in 0..ATTEMPTS {
        let edges: Vec<Edge> = pairs(learners).filter(|_| random.unit() < probability).collect();
        if is_connected(learners, &edges) {
            return Ok(edges);
        }
    }
    Err(GraphError::NotConnected { attempts: ATTEMPTS })
}

fn is_connected(learners: usize, edges: &[Edge]) -> bool {
    let mut group: Vec<usize> = (0..learners).collect();
    fn root(group: &mut [usize], mut i: usize) -> usize {
        while group[i] != i {
            group[i] = group[group[i]];
            i = group[i];
        }
        i
    }
    let mut groups = learners;
    for edge in edges {
        let from = root(&mut group, edge.from.0 as usize);
        let to = root(&mut group, edge.to.0 as usize);
        if from != to {
            group[from] = to;
            groups -= 1;
        }
    }
    groups == 1
}
