//! The state that a snapshot holds.

use super::entry;
use super::neighbours::Neighbours;
use super::node::Node;
use crate::wire::OwnRelease;
use undertone::persist::{Fields, Persist};
use undertone::{Learner, PublicModel};
use undertone_models::AnyMemory;

/// A network's id, a learner with its public model and its newest releases, and whose releases it used.
pub(super) struct Snapshot<'a> {
    /// The id of the network. Loading puts the id here that the snapshot was written with.
    pub(super) network: [u8; 16],
    pub(super) learner: &'a mut Learner<AnyMemory>,
    pub(super) public_model: &'a mut PublicModel,
    pub(super) own_releases: &'a mut Vec<OwnRelease>,
    pub(super) neighbours: &'a mut Neighbours,
}

impl Persist for Snapshot<'_> {
    fn visit(&mut self, fields: &mut dyn Fields) {
        fields.bytes(&mut self.network);
        self.learner.visit(fields);
        self.public_model.visit(fields);
        entry::visit_own_releases(fields, self.own_releases);
        self.neighbours.iter_mut().for_each(|neighbour| neighbour.used.visit(fields));
    }
}

/// What a snapshot of the node holds.
impl<E, S> Persist for Node<E, S> {
    fn visit(&mut self, fields: &mut dyn Fields) {
        self.snapshot().visit(fields);
    }
}
