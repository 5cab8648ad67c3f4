//! What one round was computed from, as the store keeps it.

use crate::wire::Sealed;
use undertone::Round;
use undertone::persist::{Fields, Persist};
use undertone_models::{Record, visit_records};

/// One round: how the one before ended, and what this one released. Private: it holds records.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) round: Round,
    /// How the last round that the learner took part in ended; nothing for its first one.
    pub(super) closing: Option<Closing>,
    pub(super) records: Vec<Record>,
    pub(super) message: Sealed,
}

/// What a round ended with.
#[derive(Clone, Default)]
pub(super) struct Closing {
    /// The releases that were heard, in the order of the neighbours.
    pub(super) heard: Vec<Sealed>,
    /// What was made up for: one's own release of an earlier round, and the neighbour's.
    pub(super) late: Vec<(Sealed, Sealed)>,
}

impl Entry {
    /// An entry of nothing, to load another into.
    pub(super) fn empty() -> Entry {
        Entry {
            round: Round::ZERO,
            closing: None,
            records: Vec::new(),
            message: Sealed::from_store(&[]),
        }
    }
}

impl Persist for Entry {
    fn visit(&mut self, fields: &mut dyn Fields) {
        fields.count(&mut self.round.0);
        let mut closings: Vec<Closing> = self.closing.take().into_iter().collect();
        let length = fields.length(closings.len(), 2 * 8);
        closings.resize(length.min(1), Closing::default());
        closings.iter_mut().for_each(|closing| closing.visit(fields));
        self.closing = closings.pop();
        visit_records(fields, &mut self.records);
        visit_sealed(fields, &mut self.message);
    }
}

impl Persist for Closing {
    fn visit(&mut self, fields: &mut dyn Fields) {
        visit_list(fields, &mut self.heard);
        let length = fields.length(self.late.len(), 2 * 8);
        self.late.resize(length, (Sealed::from_store(&[]), Sealed::from_store(&[])));
        for (own, theirs) in &mut self.late {
            visit_sealed(fields, own);
            visit_sealed(fields, theirs);
        }
    }
}

/// A list of releases among the fields.
pub(super) fn visit_list(fields: &mut dyn Fields, list: &mut Vec<Sealed>) {
    let length = fields.length(list.len(), 8);
    list.resize(length, Sealed::from_store(&[]));
    list.iter_mut().for_each(|sealed| visit_sealed(fields, sealed));
}

fn visit_sealed(fields: &mut dyn Fields, sealed: &mut Sealed) {
    let mut bytes = sealed.bytes().to_vec();
    let length = fields.length(bytes.len(), 1);
    bytes.resize(length, 0);
    fields.bytes(&mut bytes);
    *sealed = Sealed::from_store(&bytes);
}
