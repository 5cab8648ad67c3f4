//! Reading text line by line, with line numbers.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::{DataError, RecordFault};

/// The lines of a text, without their endings; a byte order mark at the start is skipped.
pub(super) struct Lines<'a, R> {
    reader: BufReader<R>,
    source: &'a Path,
    buffer: Vec<u8>,
    line: usize,
}

impl<'a, R: Read> Lines<'a, R> {
    pub(super) fn new(reader: R, source: &'a Path) -> Self {
        Lines { reader: BufReader::new(reader), source, buffer: Vec::new(), line: 0 }
    }

    /// The next line and its number, from 1.
    pub(super) fn next(&mut self) -> Result<Option<(usize, &str)>, DataError> {
        self.buffer.clear();
        let read = self.reader.read_until(b'\n', &mut self.buffer);
        if read.map_err(|source| DataError::io(self.source, source))? == 0 {
            return Ok(None);
        }
        self.line += 1;
        let mut bytes = self.buffer.as_slice();
        if self.line == 1 {
            bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some((self.line, text.trim_end_matches(['\n', '\r'])))),
            Err(_) => Err(DataError::line(self.source, self.line, RecordFault::NotUtf8)),
        }
    }
}
