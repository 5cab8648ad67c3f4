//! Where a daemon's records come from, besides HTTP.

use super::event_loop::Report;
use super::events::{Event, News};
use crate::StartError;
use crate::feed::{Feeder, Refused, source_of};
use crate::intake::Intake;
use crate::mailbox::Sender;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use undertone_models::BoundedRecord;

/// A source of records. The learner's store remembers how far it was read, except for standard input.
pub struct RecordSource(Kind);

enum Kind {
    Stdin,
    Follow(PathBuf),
    Replay { name: String, records: Vec<BoundedRecord>, rate: Option<f64> },
}

impl RecordSource {
    /// Standard input, one JSON object a line.
    #[must_use]
    pub fn stdin() -> RecordSource {
        RecordSource(Kind::Stdin)
    }

    /// A file that grows, one JSON object a line.
    ///
    /// # Errors
    /// When there is no such file.
    pub fn follow(path: &Path) -> Result<RecordSource, StartError> {
        // The canonical path: after a restart in another folder the file has the same name.
        let path = path.canonicalize().map_err(StartError::file(path))?;
        Ok(RecordSource(Kind::Follow(path)))
    }

    /// The records of one of the owner's files, in its order. The caller has read the file and checked the records.
    ///
    /// # Errors
    /// When there is no such file.
    pub fn file(path: &Path, records: Vec<BoundedRecord>) -> Result<RecordSource, StartError> {
        // The canonical path: under a second name the same file would be read again, and its records used twice.
        let path = path.canonicalize().map_err(StartError::file(path))?;
        Ok(RecordSource::replay(format!("records {}", path.display()), records))
    }

    /// Records in memory, which were checked for the daemon's network: one that was checked for another panics.
    /// After a restart with the same name and records the learner continues where it was.
    #[must_use]
    pub fn replay(name: String, records: Vec<BoundedRecord>) -> RecordSource {
        RecordSource(Kind::Replay { name, records, rate: None })
    }

    /// Replays at most `rate` records a second.
    ///
    /// # Errors
    /// When the rate is out of range, or the records are not replayed.
    pub fn at_rate(mut self, per_second: f64) -> Result<RecordSource, StartError> {
        if !(1e-3..=1e9).contains(&per_second) {
            return Err(StartError::Rate);
        }
        match &mut self.0 {
            Kind::Replay { rate, .. } => *rate = Some(per_second),
            Kind::Stdin | Kind::Follow(_) => return Err(StartError::RateOfLines),
        }
        Ok(self)
    }

    /// Refuses a file that the learner has not read before if it has read others. The file may be a copy of one of them, or
    /// the same one under another name, and its records would be used twice.
    pub(super) fn check_known(
        &self,
        positions: &BTreeMap<String, u64>,
        new_source: bool,
    ) -> Result<(), StartError> {
        let name = match &self.0 {
            Kind::Replay { name, .. } => name.clone(),
            Kind::Follow(path) => {
                let name = File::open(path).and_then(|file| source_of(path, &file));
                name.map_err(StartError::file(path))?
            }
            Kind::Stdin => return Ok(()),
        };
        if new_source || positions.is_empty() || positions.contains_key(&name) {
            return Ok(());
        }
        Err(StartError::UnknownSource)
    }

    /// Feeds the records to the learner as fast as it accepts them, in a thread of its own.
    pub(super) fn feed(
        self,
        intake: Intake,
        positions: BTreeMap<String, u64>,
        learner: Sender<Event>,
        report: Arc<Report>,
    ) {
        let reported = Arc::clone(&report);
        let on_refused = move |refused: &Refused<'_>| reported(News::Refused(refused));
        let feeder = Feeder::new(learner, Box::new(on_refused));
        thread::spawn(move || {
            let (source, ended) = match self.0 {
                Kind::Stdin => {
                    ("stdin".to_string(), feeder.lines("stdin", io::stdin().lock(), &intake))
                }
                Kind::Follow(path) => {
                    (path.display().to_string(), feeder.follow(&path, &intake, &positions))
                }
                Kind::Replay { name, records, rate } => {
                    let reached = positions.get(&name).copied().unwrap_or(0);
                    let read = usize::try_from(reached).unwrap_or(usize::MAX);
                    feeder.replay(&name, reached, rate, records.into_iter().skip(read));
                    (name, Ok(()))
                }
            };
            report(News::SourceEnded { source: &source, error: ended.err() });
        });
    }
}
