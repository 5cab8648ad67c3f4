//! The shape of a layer's input or output.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Channels, rows and columns of a layer's input or output.
///
/// Values are stored channel by channel and row by row, as in PyTorch. A vector has one row and one column.
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
    /// A vector with `entries` values.
    #[must_use]
    pub fn vector(entries: usize) -> Shape {
        Shape { channels: entries, height: 1, width: 1 }
    }

    /// The number of values, or `None` on overflow.
    #[must_use]
    pub fn checked_len(&self) -> Option<usize> {
        self.channels.checked_mul(self.height)?.checked_mul(self.width)
    }

    /// The number of values; `usize::MAX` on overflow, which a checked shape excludes.
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
