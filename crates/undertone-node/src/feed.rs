//! Feeds records to the learner: from a stream, a file that grows, or an iterator, as fast as the learner accepts them.

use crate::daemon::Event;
use crate::intake::Intake;
use crate::mailbox::Sender;
use crate::protocol::AcceptError;
use crate::store::Position;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Seek as _, SeekFrom};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use undertone_models::BoundedRecord;

/// Records per batch.
const BATCH: usize = 64;
/// The longest line that is read as a record.
const LINE_MAX: usize = 16 << 20;
/// The pause before the next attempt when the learner has no room or a file has not grown.
const PAUSE: Duration = Duration::from_millis(50);

/// A record that was not accepted, and why. It contains no values.
#[derive(Clone, Debug)]
pub struct Refused<'a> {
    /// The source's name.
    pub source: &'a str,
    /// The line or record, from 1.
    pub line: u64,
    /// Why it was not accepted.
    pub reason: String,
}

/// Called for each record that was not accepted.
pub type OnRefused = Box<dyn Fn(&Refused<'_>) + Send>;

/// Sends records to a learner, and waits while it has no room.
pub struct Feeder {
    learner: Sender<Event>,
    refused: OnRefused,
}

/// The learner has stopped.
struct Stopped;

impl Feeder {
    /// For one learner.
    #[must_use]
    pub fn new(learner: Sender<Event>, refused: OnRefused) -> Feeder {
        Feeder { learner, refused }
    }

    /// Sends the lines of a reader until it ends. Lines that are not records are reported and skipped.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn lines(&self, source: &str, reader: impl Read, intake: &Intake) -> io::Result<()> {
        let mut lines = LineReader::new(reader, 0);
        let mut batch = Vec::new();
        loop {
            let more = self.read_some(source, &mut lines, intake, &mut batch)?;
            if self.send(std::mem::take(&mut batch), None).is_err() {
                return Ok(());
            }
            if !more {
                let rest = self.last_line(source, &mut lines, intake);
                let _ = self.send(rest, None);
                return Ok(());
            }
        }
    }

    /// Sends the lines of a file as it grows, without end, from the position in the learner's store.
    ///
    /// A file that was replaced or truncated is read from its beginning. A line is read once its end is written.
    ///
    /// # Errors
    /// When the file does not exist or cannot be read.
    pub fn follow(
        &self,
        path: &Path,
        intake: &Intake,
        positions: &BTreeMap<String, u64>,
    ) -> io::Result<()> {
        let mut known = positions.clone();
        let mut first = true;
        loop {
            let mut file = reopen(path, first)?;
            first = false;
            let source = source_of(path, &file)?;
            let start = known.get(&source).copied().unwrap_or(0);
            let start = if start > file.metadata()?.len() { 0 } else { start };
            file.seek(SeekFrom::Start(start))?;
            let mut lines = LineReader::new(file, start);
            let mut change = FileChange::None;
            loop {
                let mut batch = Vec::new();
                let more = self.read_some(&source, &mut lines, intake, &mut batch)?;
                let position = Position { source: source.clone(), reached: lines.offset };
                let moved = known.insert(source.clone(), lines.offset) != Some(lines.offset);
                if moved && self.send(batch, Some(position)).is_err() {
                    return Ok(());
                }
                if more {
                    continue;
                }
                if change == FileChange::Replaced {
                    // All of it was read. Another file may get the same inode number later.
                    let batch = self.last_line(&source, &mut lines, intake);
                    let position = Position { source: source.clone(), reached: 0 };
                    if self.send(batch, Some(position)).is_err() {
                        return Ok(());
                    }
                    known.remove(&source);
                    break;
                }
                thread::sleep(PAUSE);
                change = file_change(path, &source, lines.read_to());
                if change == FileChange::Truncated {
                    let position = Position { source: source.clone(), reached: 0 };
                    if self.send(Vec::new(), Some(position)).is_err() {
                        return Ok(());
                    }
                    known.remove(&source);
                    break;
                }
            }
        }
    }

    /// Sends records, at most `rate` a second. The source was read up to `reached`; the records are those after it.
    pub fn replay(
        &self,
        source: &str,
        mut reached: u64,
        rate: Option<f64>,
        records: impl IntoIterator<Item = BoundedRecord>,
    ) {
        let begin = Instant::now();
        let size = rate.map_or(BATCH, |rate| records_per_step(rate).min(BATCH));
        let mut rest = records.into_iter();
        let mut handed = 0_u64;
        loop {
            let records: Vec<BoundedRecord> = rest.by_ref().take(size).collect();
            if records.is_empty() {
                return;
            }
            let count = records.len() as u64;
            (reached, handed) = (reached + count, handed + count);
            let position = Position { source: source.to_string(), reached };
            if self.send(records, Some(position)).is_err() {
                return;
            }
            if let Some(rate) = rate {
                #[expect(clippy::cast_precision_loss, reason = "fewer than 2⁵³ records")]
                let due =
                    Duration::try_from_secs_f64(handed as f64 / rate).unwrap_or(Duration::MAX);
                thread::sleep(due.saturating_sub(begin.elapsed()));
            }
        }
    }

    /// Reads the lines that are available, up to a batch. Returns whether there may be more.
    fn read_some(
        &self,
        source: &str,
        lines: &mut LineReader<impl Read>,
        intake: &Intake,
        batch: &mut Vec<BoundedRecord>,
    ) -> io::Result<bool> {
        while lines.advance()? {
            self.push(source, lines, intake, batch);
            if batch.len() >= BATCH || !lines.has_another() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The last line, if its end is missing.
    fn last_line(
        &self,
        source: &str,
        lines: &mut LineReader<impl Read>,
        intake: &Intake,
    ) -> Vec<BoundedRecord> {
        let mut batch = Vec::new();
        if lines.take_rest() {
            self.push(source, lines, intake, &mut batch);
        }
        batch
    }

    fn push(
        &self,
        source: &str,
        lines: &LineReader<impl Read>,
        intake: &Intake,
        batch: &mut Vec<BoundedRecord>,
    ) {
        let read = match std::str::from_utf8(&lines.line) {
            _ if lines.too_long => Err(format!("the line is longer than {LINE_MAX} bytes")),
            Ok(text) if text.trim().is_empty() => return,
            Ok(text) => intake.record(text).map_err(|fault| fault.to_string()),
            Err(_) => Err("not UTF-8".to_string()),
        };
        match read {
            Ok(record) => batch.push(record),
            Err(reason) => (self.refused)(&Refused { source, line: lines.number, reason }),
        }
    }

    /// Sends records, and waits while the learner has no room for them.
    fn send(&self, records: Vec<BoundedRecord>, position: Option<Position>) -> Result<(), Stopped> {
        if records.is_empty() && position.is_none() {
            return Ok(());
        }
        loop {
            let (answer, answered) = oneshot::channel();
            let (records, position) = (records.clone(), position.clone());
            self.learner.send(Event::Records { records, position, answer }).map_err(|_| Stopped)?;
            match answered.blocking_recv() {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(AcceptError::Full { .. })) => thread::sleep(PAUSE),
                Ok(Err(_)) | Err(_) => return Err(Stopped),
            }
        }
    }
}

/// How many records arrive in a twentieth of a second, and at least one.
fn records_per_step(rate: f64) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let step = (rate / 20.0) as usize;
    step.max(1)
}

/// The inode number, which distinguishes a file from another that later has its name.
fn inode(file: &File) -> io::Result<u64> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        Ok(file.metadata()?.ino())
    }
    #[cfg(not(unix))]
    {
        file.metadata().map(|_| 0)
    }
}

/// How a followed file has changed, other than by growing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileChange {
    None,
    /// Another file has its name. The old one is read to its end first.
    Replaced,
    /// It became shorter, and is read from its beginning.
    Truncated,
}

/// Checks a followed file. A file that is missing for a moment counts as unchanged.
fn file_change(path: &Path, source: &str, read_to: u64) -> FileChange {
    let Ok(file) = File::open(path) else { return FileChange::None };
    match source_of(path, &file) {
        Ok(current) if current != source => FileChange::Replaced,
        Ok(_) if file.metadata().is_ok_and(|about| about.len() < read_to) => FileChange::Truncated,
        _ => FileChange::None,
    }
}

/// Opens the file. After the first time it may be missing for a moment, while it is replaced.
fn reopen(path: &Path, first: bool) -> io::Result<File> {
    loop {
        match File::open(path) {
            Err(error) if !first && error.kind() == io::ErrorKind::NotFound => thread::sleep(PAUSE),
            opened => return opened,
        }
    }
}

/// The name of a followed file in the learner's positions.
///
/// # Errors
/// When the file's metadata cannot be read.
pub(crate) fn source_of(path: &Path, file: &File) -> io::Result<String> {
    Ok(format!("follow {} {}", path.display(), inode(file)?))
}

/// Reads lines from a file that may grow. A line is read once its end is written.
struct LineReader<R> {
    reader: BufReader<R>,
    /// The current line.
    line: Vec<u8>,
    too_long: bool,
    /// Its number, from 1.
    number: u64,
    /// The number of bytes up to its end.
    offset: u64,
    /// The beginning of the next line.
    partial: Vec<u8>,
    partial_bytes: u64,
}

impl<R: Read> LineReader<R> {
    fn new(reader: R, offset: u64) -> LineReader<R> {
        LineReader {
            reader: BufReader::new(reader),
            line: Vec::new(),
            too_long: false,
            number: 0,
            offset,
            partial: Vec::new(),
            partial_bytes: 0,
        }
    }

    /// Reads the next line, if it is complete.
    fn advance(&mut self) -> io::Result<bool> {
        loop {
            let buffer = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                buffer => buffer?,
            };
            if buffer.is_empty() {
                return Ok(false);
            }
            let end = buffer.iter().position(|&byte| byte == b'\n');
            let part = &buffer[..end.unwrap_or(buffer.len())];
            // A line that is too long is not stored either.
            let room = LINE_MAX.saturating_sub(self.partial.len());
            self.partial.extend_from_slice(&part[..part.len().min(room)]);
            let used = part.len() + usize::from(end.is_some());
            self.partial_bytes += used as u64;
            self.reader.consume(used);
            if end.is_some() {
                self.finish();
                return Ok(true);
            }
        }
    }

    /// Takes the last line although its end is missing.
    fn take_rest(&mut self) -> bool {
        let rest = self.partial_bytes > 0;
        if rest {
            self.finish();
        }
        rest
    }

    fn finish(&mut self) {
        self.too_long = self.partial_bytes > LINE_MAX as u64;
        self.line = std::mem::take(&mut self.partial);
        self.number += 1;
        self.offset += std::mem::take(&mut self.partial_bytes);
    }

    /// Whether another complete line is buffered.
    fn has_another(&self) -> bool {
        self.reader.buffer().contains(&b'\n')
    }

    /// The number of bytes read, an incomplete line included.
    fn read_to(&self) -> u64 {
        self.offset + self.partial_bytes
    }
}
