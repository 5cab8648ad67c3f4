//! Groups learners by the facts that their claims follow from. Learners of a group share one audit.

use std::collections::BTreeMap;
use undertone::LearnerId;
use undertone::privacy::Cap;
use undertone_models::Setup;

/// The groups, each by increasing id, in the order of their first learners.
pub(super) fn groups(setup: &Setup, only: Option<LearnerId>) -> Vec<Vec<LearnerId>> {
    let mut groups: Vec<Vec<LearnerId>> = Vec::new();
    let mut known: BTreeMap<Vec<u64>, usize> = BTreeMap::new();
    for id in setup.agreement.graph.ids().filter(|&id| only.is_none_or(|only| only == id)) {
        let index = *known.entry(key(setup, id)).or_insert(groups.len());
        // The key holds what differs between learners of a config; this holds for any other setup.
        let mechanism = |id: LearnerId| &setup.mechanisms[id.0 as usize];
        match groups.get_mut(index) {
            Some(group) if mechanism(group[0]) == mechanism(id) => group.push(id),
            _ => groups.push(vec![id]),
        }
    }
    groups
}

/// What differs between the learners of a config: noise, cap and weights, bit by bit.
fn key(setup: &Setup, id: LearnerId) -> Vec<u64> {
    let noise = setup.mechanisms[id.0 as usize].noise.scale;
    let cap = match setup.agreement.caps[id.0 as usize] {
        None => [0.0, 0.0],
        Some(Cap::Pure { epsilon }) => [epsilon, 0.0],
        Some(Cap::Approximate { epsilon, delta }) => [epsilon, delta],
    };
    let weights = setup.agreement.graph.neighbours(id).iter().map(|&(_, weight)| weight);
    [noise.initial, noise.exponent, cap[0], cap[1]]
        .into_iter()
        .chain(weights)
        .map(f64::to_bits)
        .collect()
}
