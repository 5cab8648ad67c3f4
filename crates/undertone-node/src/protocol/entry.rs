//! What one round was computed from, as the store keeps it.

use crate::store::Pieces;
use crate::wire::Sealed;
use undertone::Round;
use undertone::persist::{Fields, Persist, save};
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
            message: Sealed::again(Vec::new()),
        }
    }
}

impl Entry {
    /// What [`save`] gives, with the releases, which are nearly all of it, left where they are.
    pub(super) fn pieces(&mut self) -> Pieces<'_> {
        let records = save(&mut Records(&mut self.records));
        let mut pieces = Pieces::default();
        count(&mut pieces, self.round.0);
        count(&mut pieces, u64::from(self.closing.is_some()));
        if let Some(closing) = &self.closing {
            count(&mut pieces, closing.heard.len() as u64);
            closing.heard.iter().for_each(|sealed| add(&mut pieces, sealed));
            count(&mut pieces, closing.late.len() as u64);
            for (own, theirs) in &closing.late {
                add(&mut pieces, own);
                add(&mut pieces, theirs);
            }
        }
        pieces.add_owned(records);
        add(&mut pieces, &self.message);
        pieces
    }
}

fn count(pieces: &mut Pieces<'_>, count: u64) {
    pieces.add_owned(count.to_le_bytes().to_vec());
}

fn add<'a>(pieces: &mut Pieces<'a>, sealed: &'a Sealed) {
    count(pieces, sealed.bytes().len() as u64);
    pieces.add(sealed.bytes());
}

/// The records of an entry.
struct Records<'a>(&'a mut Vec<Record>);

impl Persist for Records<'_> {
    fn visit(&mut self, fields: &mut dyn Fields) {
        visit_records(fields, self.0);
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
        self.message.visit(fields);
    }
}

impl Persist for Closing {
    fn visit(&mut self, fields: &mut dyn Fields) {
        visit_list(fields, &mut self.heard);
        let length = fields.length(self.late.len(), 2 * 8);
        self.late.resize(length, (Sealed::again(Vec::new()), Sealed::again(Vec::new())));
        for (own, theirs) in &mut self.late {
            own.visit(fields);
            theirs.visit(fields);
        }
    }
}

/// A list of releases among the fields.
pub(super) fn visit_list(fields: &mut dyn Fields, list: &mut Vec<Sealed>) {
    let length = fields.length(list.len(), 8);
    list.resize(length, Sealed::again(Vec::new()));
    list.iter_mut().for_each(|sealed| sealed.visit(fields));
}

#[cfg(test)]
mod tests {
    use super::*;
    use undertone_models::Features;

    #[test]
    fn the_short_way_to_save_gives_the_same_bytes() {
        let sealed = |length: u8| Sealed::again((0..length).collect());
        let closing = Closing {
            heard: vec![sealed(9), sealed(0), sealed(200)],
            late: vec![(sealed(3), sealed(4))],
        };
        let record = Record { features: Features::Dense([0.5, -1.0].into()), label: 1.0 };
        for (closing, records) in [
            (None, Vec::new()),
            (Some(Closing::default()), vec![record.clone()]),
            (Some(closing), vec![record; 3]),
        ] {
            let mut entry = Entry { round: Round(7), closing, records, message: sealed(100) };
            let bytes = entry.pieces().to_vec();
            assert_eq!(entry.pieces().bytes(), bytes.len());
            assert_eq!(bytes, save(&mut entry));
        }
    }
}
