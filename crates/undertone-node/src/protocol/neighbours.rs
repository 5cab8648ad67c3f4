//! All neighbours of a learner, in the order of their numbers.

use super::neighbour::Neighbour;
use super::round::HeardCount;
use undertone::graph::Graph;
use undertone::{LearnerId, Round};

/// The neighbours, in the order of their numbers.
pub(super) struct Neighbours(Vec<Neighbour>);

impl Neighbours {
    /// The neighbours of a learner.
    pub(super) fn of(graph: &Graph, own: LearnerId) -> Neighbours {
        let own_index = |id: LearnerId| {
            let others = graph.neighbours(id).iter();
            others.map(|&(id, _)| id).filter(|&id| id < own).count()
        };
        let neighbours = graph.neighbours(own).iter();
        let mut neighbours: Vec<Neighbour> =
            neighbours.map(|&(id, _)| Neighbour::new(id, own_index(id))).collect();
        neighbours.sort_by_key(|neighbour| neighbour.id);
        Neighbours(neighbours)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Neighbour> {
        self.0.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Neighbour> {
        self.0.iter_mut()
    }

    pub(super) fn get(&self, id: LearnerId) -> Option<&Neighbour> {
        self.0.iter().find(|neighbour| neighbour.id == id)
    }

    pub(super) fn get_mut(&mut self, id: LearnerId) -> Option<&mut Neighbour> {
        self.0.iter_mut().find(|neighbour| neighbour.id == id)
    }

    /// The latest round that more than half of the neighbours, and at least two, say they have reached.
    ///
    /// If at most half of the neighbours lie, at least one honest neighbour has reached it.
    pub(super) fn supported_round(&self) -> Option<Round> {
        let counted = self.iter().filter(|one| one.may_be_heard());
        let mut reached: Vec<Option<Round>> = counted.map(|one| one.newest).collect();
        reached.sort_unstable_by(|one, other| other.cmp(one));
        let needed = (reached.len() / 2 + 1).max(2);
        reached.get(needed - 1).copied().flatten()
    }

    /// Counts who was heard in a round.
    pub(super) fn count_heard(&self, round: Round) -> HeardCount {
        let heard = |one: &Neighbour| one.unused.contains_key(&round);
        HeardCount {
            heard: self.iter().filter(|one| heard(one)).count(),
            missing: self.iter().any(|one| one.is_expected(round) && !heard(one)),
            reachable: self.iter().filter(|one| one.may_be_heard()).count(),
        }
    }
}
