//! Buffers aligned to cache lines.

use std::ops::{Deref, DerefMut};

/// A buffer, initially zero, that starts at a multiple of 64 bytes: vectors that cross a cache line cost twice.
pub(super) struct Aligned {
    values: Vec<f32>,
    start: usize,
    len: usize,
}

impl Aligned {
    pub(super) fn zeros(len: usize) -> Aligned {
        let values = vec![0.0; len + LINE];
        // `align_offset` may fail and return `usize::MAX`; then any start is correct.
        let start = values.as_ptr().align_offset(4 * LINE).min(LINE);
        Aligned { values, start, len }
    }
}

/// Values in a cache line.
const LINE: usize = 16;

impl Deref for Aligned {
    type Target = [f32];
    #[inline(always)]
    fn deref(&self) -> &[f32] {
        &self.values[self.start..self.start + self.len]
    }
}

impl DerefMut for Aligned {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.values[self.start..self.start + self.len]
    }
}
