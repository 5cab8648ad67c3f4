//! Checking `[network]`.

use super::{Faults, Range, RawEdges, RawNetwork};
use crate::graph::{Graph, Topology, Weights};

pub(super) fn graph(raw: &RawNetwork, faults: &mut Faults) -> Option<Graph> {
    let before = faults.0.len();
    let learners = raw.learners.unwrap_or_else(|| {
        faults.missing("network.learners", "how many learners there are");
        2
    });
    let topology = topology(raw, faults);
    let weights = match raw.weights.as_deref() {
        _ if topology == Topology::Alone => {
            faults.unused("network.weights", raw.weights.as_ref(), "a topology with edges");
            faults.unused("network.weight", raw.weight.as_ref(), "a topology with edges");
            Weights::Metropolis
        }
        None | Some("uniform") => {
            Weights::Uniform(faults.number("network.weight", raw.weight, Range::Positive))
        }
        Some("metropolis") => Weights::Metropolis,
        Some("explicit") => Weights::Explicit(inline_edges(raw, faults)),
        Some(other) => {
            let needed = "must be one of uniform, metropolis, explicit";
            faults.push("network.weights", format!("\"{other}\""), needed);
            Weights::Metropolis
        }
    };
    if raw.weights.as_deref().is_some_and(|kind| kind != "uniform") {
        faults.unused("network.weight", raw.weight.as_ref(), "weights = \"uniform\"");
    }
    if faults.0.len() > before {
        return None;
    }
    Graph::new(learners, &topology, &weights)
        .map_err(|error| faults.push("network", "", error.to_string()))
        .ok()
}

fn topology(raw: &RawNetwork, faults: &mut Faults) -> Topology {
    let need = |value: Option<usize>, path: &str, faults: &mut Faults| {
        value.unwrap_or_else(|| {
            faults.missing(path, "this topology needs it");
            3
        })
    };
    let seed = raw.seed.unwrap_or(0);
    let kind = raw.topology.as_deref();
    let topology = match kind {
        Some("alone") => Topology::Alone,
        Some("ring") => Topology::Ring,
        Some("path") => Topology::Path,
        Some("complete") => Topology::Complete,
        Some("star") => Topology::Star,
        Some("torus") => Topology::Torus { columns: need(raw.columns, "network.columns", faults) },
        Some("random-regular") => {
            Topology::RandomRegular { degree: need(raw.degree, "network.degree", faults), seed }
        }
        Some("erdos-renyi") => Topology::ErdosRenyi {
            probability: faults.number("network.probability", raw.probability, Range::Probability),
            seed,
        },
        Some("edges") => Topology::Edges(
            inline_edges(raw, faults).into_iter().map(|(from, to, _)| (from, to)).collect(),
        ),
        other => {
            let needed = "must be one of alone, ring, path, complete, star, torus, random-regular, erdos-renyi, edges";
            match other {
                None => faults.missing("network.topology", needed),
                Some(word) => faults.push("network.topology", format!("\"{word}\""), needed),
            }
            Topology::Ring
        }
    };
    if kind != Some("torus") {
        faults.unused("network.columns", raw.columns.as_ref(), "topology = \"torus\"");
    }
    if kind != Some("random-regular") {
        faults.unused("network.degree", raw.degree.as_ref(), "topology = \"random-regular\"");
    }
    if kind != Some("erdos-renyi") {
        faults.unused(
            "network.probability",
            raw.probability.as_ref(),
            "topology = \"erdos-renyi\"",
        );
    }
    if !matches!(kind, Some("random-regular" | "erdos-renyi")) {
        faults.unused("network.seed", raw.seed.as_ref(), "a random topology");
    }
    if kind != Some("edges") {
        faults.unused("network.edges", raw.edges.as_ref(), "topology = \"edges\"");
    }
    topology
}

fn inline_edges(raw: &RawNetwork, faults: &mut Faults) -> Vec<(u32, u32, f64)> {
    let list = match &raw.edges {
        Some(RawEdges::Inline(list)) => list,
        Some(RawEdges::Path(path)) => {
            faults.push("network.edges", format!("\"{path}\""), "the file was not read");
            return Vec::new();
        }
        None => {
            faults.missing("network.edges", "a file, or edges as [[0, 1], [1, 2]]");
            return Vec::new();
        }
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::float_cmp,
        reason = "only whole numbers in range are cast"
    )]
    let whole =
        |x: f64| (x >= 0.0 && x <= f64::from(u32::MAX) && x == x.trunc()).then_some(x as u32);
    let explicit = raw.weights.as_deref() == Some("explicit");
    let mut edges = Vec::with_capacity(list.len());
    for (place, edge) in list.iter().enumerate() {
        let ends = (edge.first().copied().and_then(whole), edge.get(1).copied().and_then(whole));
        match (ends, edge.len(), edge.get(2)) {
            ((Some(from), Some(to)), 2, None) if !explicit => edges.push((from, to, 0.0)),
            ((Some(from), Some(to)), 3, Some(&weight)) if explicit => {
                edges.push((from, to, weight))
            }
            _ => {
                let needed = if explicit {
                    "must be [i, j, weight]"
                } else {
                    "must be [i, j]; weights need weights = \"explicit\""
                };
                faults.push(&format!("network.edges[{place}]"), format!("{edge:?}"), needed);
            }
        }
    }
    edges
}
