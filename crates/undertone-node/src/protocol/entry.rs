//! What one round was computed from, as it is stored.

use crate::store::Pieces;
use crate::wire::{EncodedRelease, OwnRelease};
use undertone::Round;
use undertone::persist::{Fields, Persist};
use undertone_models::{
    BoundedRecord, Record, RecordChecker, RecordError, save_records, visit_records,
};

/// One round: how the round before ended, and what this one released. Private: it holds records.
///
/// An entry that was read from the store has records that may have been damaged since. [`Entry::check`] makes the entry
/// of it that was stored.
#[derive(Clone)]
pub(super) struct Entry<R = BoundedRecord> {
    pub(super) round: Round,
    /// How the last round that the learner took part in ended. Its first round has none.
    pub(super) closing: Option<Closing>,
    pub(super) records: Vec<R>,
    pub(super) release: OwnRelease,
}

/// The releases that ended a round.
#[derive(Clone, Default)]
pub(super) struct Closing {
    /// The neighbours' releases of the round, in the order of their numbers.
    pub(super) heard: Vec<EncodedRelease>,
    /// Late pulls: this learner's release of an earlier round, and the neighbour's of the same round.
    pub(super) late: Vec<(OwnRelease, EncodedRelease)>,
}

impl Entry<Record> {
    /// An empty entry, to load a stored one into.
    pub(super) fn empty() -> Entry<Record> {
        Entry {
            round: Round::ZERO,
            closing: None,
            records: Vec::new(),
            release: OwnRelease::from_store(Vec::new()),
        }
    }

    /// Checks all records again.
    pub(super) fn check(self, checker: &RecordChecker) -> Result<Entry, RecordError> {
        let Entry { round, closing, records, release } = self;
        let records = records.into_iter().map(|record| checker.check_again(record));
        Ok(Entry { round, closing, records: records.collect::<Result<_, _>>()?, release })
    }
}

impl Entry {
    /// The bytes that [`save`] returns, in pieces. Releases, which are nearly all of it, are not copied.
    pub(super) fn pieces(&mut self) -> Pieces<'_> {
        let records = save_records(&mut self.records);
        let mut pieces = Pieces::default();
        count(&mut pieces, self.round.0);
        count(&mut pieces, u64::from(self.closing.is_some()));
        if let Some(closing) = &self.closing {
            count(&mut pieces, closing.heard.len() as u64);
            closing.heard.iter().for_each(|heard| add(&mut pieces, heard.bytes()));
            count(&mut pieces, closing.late.len() as u64);
            for (own, theirs) in &closing.late {
                add(&mut pieces, own.bytes());
                add(&mut pieces, theirs.bytes());
            }
        }
        pieces.add_owned(records);
        add(&mut pieces, self.release.bytes());
        pieces
    }
}

fn count(pieces: &mut Pieces<'_>, count: u64) {
    pieces.add_owned(count.to_le_bytes().to_vec());
}

fn add<'a>(pieces: &mut Pieces<'a>, release: &'a [u8]) {
    count(pieces, release.len() as u64);
    pieces.add(release);
}

impl Persist for Entry<Record> {
    fn visit(&mut self, fields: &mut dyn Fields) {
        fields.count(&mut self.round.0);
        let mut closings: Vec<Closing> = self.closing.take().into_iter().collect();
        let length = fields.length(closings.len(), 2 * 8);
        closings.resize(length.min(1), Closing::default());
        closings.iter_mut().for_each(|closing| closing.visit(fields));
        self.closing = closings.pop();
        visit_records(fields, &mut self.records);
        self.release.visit(fields);
    }
}

impl Persist for Closing {
    fn visit(&mut self, fields: &mut dyn Fields) {
        let length = fields.length(self.heard.len(), 8);
        self.heard.resize(length, EncodedRelease::from_bytes(Vec::new()));
        self.heard.iter_mut().for_each(|heard| heard.visit(fields));
        let length = fields.length(self.late.len(), 2 * 8);
        let empty = (OwnRelease::from_store(Vec::new()), EncodedRelease::from_bytes(Vec::new()));
        self.late.resize(length, empty);
        for (own, theirs) in &mut self.late {
            own.visit(fields);
            theirs.visit(fields);
        }
    }
}

/// A list of the learner's own releases as a field.
pub(super) fn visit_own_releases(fields: &mut dyn Fields, releases: &mut Vec<OwnRelease>) {
    let length = fields.length(releases.len(), 8);
    releases.resize(length, OwnRelease::from_store(Vec::new()));
    releases.iter_mut().for_each(|release| release.visit(fields));
}

#[cfg(test)]
mod tests {
    use super::*;
    use undertone::persist::save;
    use undertone::{DataBounds, Loss, MemoryKind, ModelSpec};
    use undertone_models::Model;

    #[test]
    fn pieces_hold_the_bytes_that_save_returns() {
        let own = |length: u8| OwnRelease::from_store((0..length).collect());
        let heard = |length: u8| EncodedRelease::from_bytes((0..length).collect());
        let closing =
            Closing { heard: vec![heard(9), heard(0), heard(200)], late: vec![(own(3), heard(4))] };
        let checker = checker();
        let record = Record::dense([0.5, -0.5], 1.0);
        for (closing, records) in [
            (None, Vec::new()),
            (Some(Closing::default()), vec![record.clone()]),
            (Some(closing), vec![record; 3]),
        ] {
            let mut plain = Entry { round: Round(7), closing, records, release: own(100) };
            let mut entry = plain.clone().check(&checker).unwrap();
            let bytes = entry.pieces().to_vec();
            assert_eq!(entry.pieces().bytes(), bytes.len());
            assert_eq!(bytes, save(&mut plain));
        }
    }

    #[test]
    fn a_record_that_was_damaged_in_the_store_is_found() {
        let entry = |records| Entry { records, ..Entry::empty() };
        // Control: as it was stored, it passes.
        assert!(entry(vec![Record::dense([0.5, -0.5], 1.0)]).check(&checker()).is_ok());
        for damaged in [
            Record::dense([0.5, -1.5], 1.0),
            Record::dense([0.5, f64::NAN], 1.0),
            Record::dense([0.5], 1.0),
            Record::dense([0.5, -0.5], 2.0),
        ] {
            let sound = Record::dense([0.5, -0.5], 1.0);
            assert!(entry(vec![sound, damaged]).check(&checker()).is_err());
        }
    }

    fn checker() -> RecordChecker {
        let spec = ModelSpec {
            loss: Loss::Logistic,
            features: 2,
            degree: 1,
            ridge: 0.0,
            lasso: 0.0,
            clip: f64::INFINITY,
        };
        let bounds = DataBounds { feature_norm: 1.0, label: 0.0, radius: 1.0 };
        Model::new(spec, bounds).unwrap().record_checker(MemoryKind::Exact)
    }
}
