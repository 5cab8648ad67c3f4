//! The shape of what flows between two layers.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Channels, rows and columns of an input or of what a layer gives.
///
/// Values lie channel after channel, each row after row, as in PyTorch. A vector has one row and one column.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Channels.
    pub channels: usize,
    /// Rows of each channel.
    pub height: usize,
    /// Columns of each channel.
    pub width: usize,
}

impl Shape {
    /// A vector of so many entries.
    #[must_use]
    pub fn vector(entries: usize) -> Shape {
        Shape { channels: entries, height: 1, width: 1 }
    }

    /// The number of values, or `None` when it cannot be counted.
    #[must_use]
    pub fn checked_len(&self) -> Option<usize> {
        self.channels.checked_mul(self.height)?.checked_mul(self.width)
    }

    /// The number of values of a shape that was checked; the largest number where it cannot be counted.
    #[must_use]
    pub fn count(self) -> usize {
        self.checked_len().unwrap_or(usize::MAX)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×{}×{}", self.channels, self.height, self.width)
    }
}
