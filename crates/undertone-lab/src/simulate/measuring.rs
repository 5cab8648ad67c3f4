//! Which rounds of a run are measured.

/// Which rounds are measured. The last round always is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measuring {
    /// About this many rounds, evenly spaced.
    Evenly(u64),
    /// Every round at first, then about this many per doubling: for logarithmic axes.
    Geometrically(u64),
}

impl Measuring {
    pub(super) fn at(self, t: u64, rounds: u64) -> bool {
        let stride = match self {
            Measuring::Evenly(rows) => rounds.div_ceil(rows.max(1)),
            Measuring::Geometrically(rows) => t.div_ceil(rows.max(1)),
        };
        t.is_multiple_of(stride.max(1)) || t + 1 == rounds
    }

    pub(super) fn at_most(self, most: u64) -> Measuring {
        match self {
            Measuring::Evenly(rows) => Measuring::Evenly(rows.min(most)),
            Measuring::Geometrically(_) => Measuring::Evenly(most),
        }
    }
}
