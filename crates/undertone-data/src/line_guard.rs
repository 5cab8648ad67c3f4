//! A limit on line length: a few bytes of gzip can expand to gigabytes without a line end.

use std::io::{Error, ErrorKind, Read, Result};

/// The longest line that is read.
const LINE_MAX: usize = 64 << 20;

/// Passes a text through, and fails when a line is too long to be a record.
pub(super) struct LineGuard<R> {
    reader: R,
    since_line_end: usize,
}

impl<R> LineGuard<R> {
    pub(super) fn new(reader: R) -> LineGuard<R> {
        LineGuard { reader, since_line_end: 0 }
    }
}

impl<R: Read> Read for LineGuard<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.reader.read(buffer)?;
        let bytes = &buffer[..count];
        self.since_line_end = match bytes.iter().rposition(|&byte| byte == b'\n') {
            Some(index) => count - index - 1,
            None => self.since_line_end + count,
        };
        if self.since_line_end > LINE_MAX {
            return Err(Error::new(ErrorKind::InvalidData, "a line is longer than 64 MiB"));
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_pass_and_endless_lines_do_not() {
        let mut lines = LineGuard::new(Read::take(std::io::repeat(b'\n'), 200 << 20));
        assert!(std::io::copy(&mut lines, &mut std::io::sink()).is_ok());
        let mut endless = LineGuard::new(std::io::repeat(b'0'));
        let error = std::io::copy(&mut endless, &mut std::io::sink()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }
}
