//! Records from a stream, a file that grows, or a file that is replayed, at the pace the learner takes them.

use crate::daemon::Event;
use crate::intake::Intake;
use crate::mailbox::Sender;
use crate::protocol::TakeInError;
use crate::store::Position;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Seek as _, SeekFrom};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use undertone_models::Record;

/// So many records are handed over at a time.
const CHUNK: usize = 64;
/// A line that is longer is no record.
const LINE_MAX: usize = 16 << 20;
/// How long to wait before trying again, when the learner has no room or a file has not grown.
const PAUSE: Duration = Duration::from_millis(50);

/// A record that was not taken, and why. It has no values in it.
#[derive(Clone, Debug)]
pub struct Refused<'a> {
    /// Where it came from.
    pub source: &'a str,
    /// Which line or record of it, from 1.
    pub line: u64,
    /// Why.
    pub reason: String,
}

/// Who hears of records that were not taken.
pub type OnRefused = Box<dyn Fn(&Refused<'_>) + Send>;

/// Hands records to a learner, and waits while it has no room.
pub struct Feeder {
    learner: Sender<Event>,
    refused: OnRefused,
}

/// The learner has stopped.
struct Stopped;

/// Records that are handed over together, each with its line.
#[derive(Default)]
struct Chunk {
    records: Vec<Record>,
    lines: Vec<u64>,
}

impl Feeder {
    /// For one learner.
    #[must_use]
    pub fn new(learner: Sender<Event>, refused: OnRefused) -> Feeder {
        Feeder { learner, refused }
    }

    /// Hands over the lines of a reader until it ends. Lines that are no records are reported and left out.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn lines(&self, source: &str, reader: impl Read, intake: &Intake) -> io::Result<()> {
        let mut lines = LineReader::new(reader, 0);
        let mut chunk = Chunk::default();
        loop {
            let more = self.read_some(source, &mut lines, intake, &mut chunk)?;
            if self.hand(source, std::mem::take(&mut chunk), None).is_err() {
                return Ok(());
            }
            if !more {
                let rest = self.rest(source, &mut lines, intake);
                let _ = self.hand(source, rest, None);
                return Ok(());
            }
        }
    }

    /// Hands over the lines of a file as it grows, for ever, from where the learner's store says it was read to.
    ///
    /// A file that was put in its place, or became shorter, is read from its beginning. A line counts once its
    /// end is there.
    ///
    /// # Errors
    /// When the file is not there or cannot be read.
    pub fn follow(
        &self,
        path: &Path,
        intake: &Intake,
        positions: &BTreeMap<String, u64>,
    ) -> io::Result<()> {
        let mut known = positions.clone();
        let mut first = true;
        loop {
            let mut file = reopened(path, first)?;
            first = false;
            let source = source_of(path, &file)?;
            let start = known.get(&source).copied().unwrap_or(0);
            let start = if start > file.metadata()?.len() { 0 } else { start };
            file.seek(SeekFrom::Start(start))?;
            let mut lines = LineReader::new(file, start);
            let mut now = Followed::Same;
            loop {
                let mut chunk = Chunk::default();
                let more = self.read_some(&source, &mut lines, intake, &mut chunk)?;
                let position = Position { source: source.clone(), reached: lines.offset };
                let moved = known.insert(source.clone(), lines.offset) != Some(lines.offset);
                if moved && self.hand(&source, chunk, Some(position)).is_err() {
                    return Ok(());
                }
                if more {
                    continue;
                }
                if now == Followed::Replaced {
                    // All of it was read. Its number may be given to another file some day.
                    let chunk = self.rest(&source, &mut lines, intake);
                    let position = Position { source: source.clone(), reached: 0 };
                    if self.hand(&source, chunk, Some(position)).is_err() {
                        return Ok(());
                    }
                    known.remove(&source);
                    break;
                }
                thread::sleep(PAUSE);
                now = look_again(path, &source, lines.read_to());
                if now == Followed::Shortened {
                    let position = Position { source: source.clone(), reached: 0 };
                    if self.hand(&source, Chunk::default(), Some(position)).is_err() {
                        return Ok(());
                    }
                    known.remove(&source);
                    break;
                }
            }
        }
    }

    /// Hands over what `next` gives until that is nothing, so many records a second at most.
    pub fn replay(
        &self,
        source: &str,
        mut reached: u64,
        rate: Option<f64>,
        mut next: impl FnMut(u64) -> Vec<Record>,
    ) {
        let begin = Instant::now();
        let size = rate.map_or(CHUNK as u64, |rate| per_step(rate).min(CHUNK as u64));
        let mut handed = 0_u64;
        loop {
            let records = next(size);
            if records.is_empty() {
                return;
            }
            let count = records.len() as u64;
            let lines = (reached + 1..).take(records.len()).collect();
            (reached, handed) = (reached + count, handed + count);
            let position = Position { source: source.to_string(), reached };
            if self.hand(source, Chunk { records, lines }, Some(position)).is_err() {
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

    /// Reads what is there now, up to a chunk; whether there may be more.
    fn read_some(
        &self,
        source: &str,
        lines: &mut LineReader<impl Read>,
        intake: &Intake,
        chunk: &mut Chunk,
    ) -> io::Result<bool> {
        while lines.advance()? {
            self.push(source, lines, intake, chunk);
            if chunk.records.len() >= CHUNK || !lines.has_another() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A last line that lacks its end.
    fn rest(&self, source: &str, lines: &mut LineReader<impl Read>, intake: &Intake) -> Chunk {
        let mut chunk = Chunk::default();
        if lines.take_rest() {
            self.push(source, lines, intake, &mut chunk);
        }
        chunk
    }

    fn push(
        &self,
        source: &str,
        lines: &LineReader<impl Read>,
        intake: &Intake,
        chunk: &mut Chunk,
    ) {
        let read = match std::str::from_utf8(&lines.line) {
            _ if lines.too_long => Err(format!("the line is longer than {LINE_MAX} bytes")),
            Ok(text) if text.trim().is_empty() => return,
            Ok(text) => intake.record(text).map_err(|fault| fault.to_string()),
            Err(_) => Err("not UTF-8".to_string()),
        };
        match read {
            Ok(record) => {
                chunk.records.push(record);
                chunk.lines.push(lines.number);
            }
            Err(reason) => (self.refused)(&Refused { source, line: lines.number, reason }),
        }
    }

    /// Hands a chunk over. Records that the learner refuses are reported, and the others handed over again.
    fn hand(
        &self,
        source: &str,
        mut chunk: Chunk,
        position: Option<Position>,
    ) -> Result<(), Stopped> {
        if chunk.records.is_empty() && position.is_none() {
            return Ok(());
        }
        loop {
            let (answer, answered) = oneshot::channel();
            let (records, position) = (chunk.records.clone(), position.clone());
            self.learner.send(Event::Records { records, position, answer }).map_err(|_| Stopped)?;
            match answered.blocking_recv() {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(TakeInError::Full { .. })) => thread::sleep(PAUSE),
                Ok(Err(TakeInError::Record(error))) if error.position() < chunk.records.len() => {
                    chunk.records.remove(error.position());
                    let line = chunk.lines.remove(error.position());
                    (self.refused)(&Refused { source, line, reason: error.to_string() });
                }
                Ok(Err(_)) | Err(_) => return Err(Stopped),
            }
        }
    }
}

/// So many records come in about a twentieth of a second, and at least one.
fn per_step(rate: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let step = (rate / 20.0) as u64;
    step.max(1)
}

/// What tells a file from another that later has its name.
fn file_number(file: &File) -> io::Result<u64> {
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

/// What became of a file that is followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Followed {
    Same,
    /// Another has its name. Whoever wrote to the old one before is read to the end first.
    Replaced,
    /// It became shorter, and is read from its beginning.
    Shortened,
}

/// One that is gone for a moment is waited for.
fn look_again(path: &Path, source: &str, read_to: u64) -> Followed {
    let Ok(file) = File::open(path) else { return Followed::Same };
    match source_of(path, &file) {
        Ok(there) if there != source => Followed::Replaced,
        Ok(_) if file.metadata().is_ok_and(|about| about.len() < read_to) => Followed::Shortened,
        _ => Followed::Same,
    }
}

/// Opens the file. After the first time it may be gone for a moment, while it is replaced.
fn reopened(path: &Path, first: bool) -> io::Result<File> {
    loop {
        match File::open(path) {
            Err(error) if !first && error.kind() == io::ErrorKind::NotFound => thread::sleep(PAUSE),
            opened => return opened,
        }
    }
}

/// What a file that is followed is called among the positions.
///
/// # Errors
/// When the system does not tell.
pub fn source_of(path: &Path, file: &File) -> io::Result<String> {
    Ok(format!("follow {} {}", path.display(), file_number(file)?))
}

/// Lines of something that may grow: a line counts once its end is there.
struct LineReader<R> {
    reader: BufReader<R>,
    /// The line that was read last.
    line: Vec<u8>,
    too_long: bool,
    /// Its number, from 1.
    number: u64,
    /// Bytes up to its end.
    offset: u64,
    /// The beginning of the next one.
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

    /// Goes to the next line, if its end is there.
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
            // What is too long to be a record is not kept either.
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

    /// Takes what there is of a last line without an end.
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

    /// Whether the end of another line is there without waiting.
    fn has_another(&self) -> bool {
        self.reader.buffer().contains(&b'\n')
    }

    /// Bytes that were read, a line without an end included.
    fn read_to(&self) -> u64 {
        self.offset + self.partial_bytes
    }
}
