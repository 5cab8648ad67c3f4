//! Buffers that start on a cache line.

use std::ops::{Deref, DerefMut};

/// Zeros to begin with, the first at an address that is a multiple of 64: vectors that straddle two cache
/// lines cost twice.
pub(super) struct Aligned {
    values: Vec<f32>,
    start: usize,
    len: usize,
}

impl Aligned {
    pub(super) fn zeros(len: usize) -> Aligned {
        let values = vec![0.0; len + LINE];
        // The offset is in values; should the address be of no use, the start is as good as any.
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
