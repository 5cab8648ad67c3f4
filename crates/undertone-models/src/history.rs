//! The records of a stream, stored in flat arrays.

use crate::record::{COMPACT, DENSE, SPARSE, visit_halves};
use crate::softmax::BlockSoftmax;
use crate::vector::{BlockGradient, BlockSlopes, Stored};
use crate::{Model, compensated::CompensatedSum, row::Row};
use undertone_core::persist::{Fields, Persist};
use undertone_simd::{Half, run};

/// Record gradients that are summed plainly before the sum is added to a compensated sum.
pub(crate) const BLOCK: usize = 32;

/// Records per segment: a multiple of `BLOCK`.
const SEGMENT: usize = 8 * BLOCK;

/// The largest capacity, in numbers, that a cleared segment keeps: more would double a learner's memory.
const RETAINED_CAPACITY_MAX: usize = 32 << 10;

/// Records after expansion, dense as matrices or sparse as compressed rows.
///
/// The first record decides the layout; later ones are converted, so a stream may mix all forms. Numbers of 16 bits are
/// kept as such until a row arrives that has others.
/// Segments never move once full, so no round pays for copying the whole history.
#[derive(Clone)]
pub(crate) struct History {
    dimension: usize,
    layout: Layout,
    records: usize,
    segments: Vec<Segment>,
}

/// How all records of a history are stored.
#[derive(Clone, Copy, PartialEq)]
enum Layout {
    /// In `values`, row after row.
    Dense,
    /// In `halves`, row after row.
    Compact,
    /// In `indices` and `values`.
    Sparse,
}

/// Up to `SEGMENT` records in flat arrays.
#[derive(Clone, Default)]
struct Segment {
    labels: Vec<f64>,
    values: Vec<f64>,
    /// Empty but in the compact layout.
    halves: Vec<Half>,
    /// Empty but in the sparse layout.
    indices: Vec<u32>,
    /// The end of each sparse row in `values`; empty but in the sparse layout.
    ends: Vec<usize>,
}

impl Segment {
    /// An empty segment with the capacity that this one uses.
    fn empty_with_same_capacity(&self) -> Segment {
        Segment {
            labels: Vec::with_capacity(self.labels.len()),
            values: Vec::with_capacity(self.values.len()),
            halves: Vec::with_capacity(self.halves.len()),
            indices: Vec::with_capacity(self.indices.len()),
            ends: Vec::with_capacity(self.ends.len()),
        }
    }

    fn clear(&mut self) {
        if self.values.capacity().max(self.halves.capacity()) > RETAINED_CAPACITY_MAX {
            *self = Segment::default();
        }
        self.labels.clear();
        self.values.clear();
        self.halves.clear();
        self.indices.clear();
        self.ends.clear();
    }

    #[inline]
    fn row(&self, k: usize, layout: Layout, dimension: usize) -> Row<'_> {
        match layout {
            Layout::Dense => Row::Dense(&self.values[k * dimension..(k + 1) * dimension]),
            Layout::Compact => Row::Compact(&self.halves[k * dimension..(k + 1) * dimension]),
            Layout::Sparse => {
                let start = if k == 0 { 0 } else { self.ends[k - 1] };
                let range = start..self.ends[k];
                Row::Sparse { indices: &self.indices[range.clone()], values: &self.values[range] }
            }
        }
    }

    /// Turns numbers of 16 bits into others.
    fn widen(&mut self) {
        self.values = self.halves.drain(..).map(Half::to_f64).collect();
    }
}

impl History {
    pub(crate) fn new(dimension: usize) -> History {
        History { dimension, layout: Layout::Dense, records: 0, segments: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.records
    }

    pub(crate) fn push(&mut self, row: Row<'_>, label: f64) {
        if self.records == 0 {
            self.layout = match row {
                Row::Sparse { .. } => Layout::Sparse,
                Row::Compact(_) => Layout::Compact,
                Row::Dense(_) if row.nonzeros().count() * 2 < self.dimension => Layout::Sparse,
                Row::Dense(_) => Layout::Dense,
            };
        } else if self.layout == Layout::Compact && !matches!(row, Row::Compact(_)) {
            self.segments.iter_mut().for_each(Segment::widen);
            self.layout = Layout::Dense;
        }
        self.records += 1;
        let (layout, dimension) = (self.layout, self.dimension);
        let segment = self.segment_with_capacity();
        segment.labels.push(label);
        match (layout, row) {
            (Layout::Sparse, _) => {
                for (index, value) in row.nonzeros() {
                    // Models refuse dimensions above u32::MAX.
                    segment.indices.push(u32::try_from(index).unwrap_or(u32::MAX));
                    segment.values.push(value);
                }
                segment.ends.push(segment.values.len());
            }
            (Layout::Compact, Row::Compact(halves)) => segment.halves.extend_from_slice(halves),
            (_, Row::Dense(values)) => segment.values.extend_from_slice(values),
            (_, Row::Compact(_) | Row::Sparse { .. }) => {
                let start = segment.values.len();
                segment.values.resize(start + dimension, 0.0);
                row.add_scaled_to(1.0, &mut segment.values[start..]);
            }
        }
    }

    /// The last segment, or a new one if that is full.
    fn segment_with_capacity(&mut self) -> &mut Segment {
        let last = self.segments.last();
        if last.is_none_or(|last| last.labels.len() >= SEGMENT) {
            self.segments
                .push(last.map_or_else(Segment::default, Segment::empty_with_same_capacity));
        }
        self.segments.last_mut().expect("a segment was pushed if there was none")
    }

    /// Removes all records; keeps the memory of the first segment for new ones.
    pub(crate) fn clear(&mut self) {
        self.records = 0;
        self.segments.truncate(1);
        self.segments.iter_mut().for_each(Segment::clear);
    }

    /// The records with their labels, in order of arrival.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Row<'_>, f64)> + '_ {
        self.segments.iter().flat_map(|segment| {
            let labels = segment.labels.iter().enumerate();
            labels.map(|(k, &label)| (segment.row(k, self.layout, self.dimension), label))
        })
    }

    /// Adds the sum of all record gradients at θ, times a weight, to `sum`.
    ///
    /// Blocks of `BLOCK` records are summed plainly, and blocks are added with compensation, so for any number of records
    /// the error is at most BLOCK + 2 roundings of the sum of absolute terms.
    pub(crate) fn add_gradients(
        &self,
        model: &Model,
        theta: &[f64],
        weight: f64,
        block: &mut [f64],
        sum: &mut CompensatedSum,
    ) {
        let gradients = Gradients { model, theta, weight };
        for segment in &self.segments {
            for (number, labels) in segment.labels.chunks(BLOCK).enumerate() {
                block.fill(0.0);
                let first = number * BLOCK;
                let rows = first * self.dimension..(first + labels.len()) * self.dimension;
                match self.layout {
                    Layout::Dense => gradients.add_block(&segment.values[rows], labels, block),
                    Layout::Compact => gradients.add_block(&segment.halves[rows], labels, block),
                    Layout::Sparse => {
                        let row = |k| segment.row(first + k, Layout::Sparse, self.dimension);
                        gradients.add_sparse_block(row, labels, block);
                    }
                }
                sum.add(block);
            }
        }
    }
}

/// The gradients of records at θ, times a weight.
#[derive(Clone, Copy)]
struct Gradients<'a> {
    model: &'a Model,
    theta: &'a [f64],
    weight: f64,
}

impl Gradients<'_> {
    /// Adds those of rows that are stored one after the other.
    fn add_block<T: Stored>(self, rows: &[T], labels: &[f64], out: &mut [f64]) {
        let Gradients { model, theta, weight } = self;
        if let Some(slope) = model.slope(weight) {
            run(BlockGradient { rows, labels, theta, slope, out });
        } else if let Some(softmax) = model.softmax() {
            let clip = model.spec().clip;
            run(BlockSoftmax { softmax, rows, labels, theta, weight, clip, out });
        } else {
            for (row, &label) in rows.chunks_exact(rows.len() / labels.len()).zip(labels) {
                model.add_row_gradient(theta, T::row(row), label, weight, out);
            }
        }
    }

    /// Adds those of sparse rows.
    fn add_sparse_block<'r>(self, row: impl Fn(usize) -> Row<'r>, labels: &[f64], out: &mut [f64]) {
        let Gradients { model, theta, weight } = self;
        let rows = || (0..labels.len()).map(&row);
        let Some(slope) = model.slope(weight) else {
            for (row, &label) in rows().zip(labels) {
                model.add_row_gradient(theta, row, label, weight, out);
            }
            return;
        };
        let mut scores = [0.0; BLOCK];
        for (score, row) in scores.iter_mut().zip(rows()) {
            *score = row.dot(theta);
        }
        let scores = &mut scores[..labels.len()];
        run(BlockSlopes { slope, scores, labels });
        for (slope, row) in scores.iter().zip(rows()) {
            row.add_scaled_to(*slope, out);
        }
    }
}

impl Persist for History {
    fn visit(&mut self, fields: &mut dyn Fields) {
        let mut layout = match self.layout {
            Layout::Dense => DENSE,
            Layout::Sparse => SPARSE,
            Layout::Compact => COMPACT,
        };
        fields.count(&mut layout);
        self.layout = match layout {
            DENSE => Layout::Dense,
            SPARSE => Layout::Sparse,
            COMPACT => Layout::Compact,
            _ => return fields.reject(),
        };
        let length = fields.length(self.segments.len(), 4 * 8);
        self.segments.resize(length, Segment::default());
        for segment in &mut self.segments {
            fields.list(&mut segment.labels);
            fields.list(&mut segment.values);
            fields.whole_numbers(&mut segment.indices);
            fields.whole_numbers(&mut segment.ends);
            if self.layout == Layout::Compact {
                visit_halves(fields, &mut segment.halves);
            }
        }
        self.records = self.segments.iter().map(|segment| segment.labels.len()).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use undertone_core::persist::{load, save};

    #[test]
    fn mixed_forms_come_back_as_they_went_in() {
        let dense = [0.0, 2.0, 0.0, 0.0, -1.0];
        let sparse = Row::Sparse { indices: &[1, 4], values: &[2.0, -1.0] };
        let full = [1.0, 2.0, 3.0, 4.0, 5.0];
        let halves = full.map(|value| Half::towards_zero(value as f32));
        let compact = Row::Compact(&halves);
        for first in [Row::Dense(&full), Row::Dense(&dense), sparse, compact] {
            let mut history = History::new(5);
            for row in [first, Row::Dense(&dense), sparse, compact] {
                history.push(row, 0.5);
            }
            let rows: Vec<Vec<f64>> = history
                .iter()
                .map(|(row, _)| {
                    let mut out = vec![0.0; 5];
                    row.add_scaled_to(1.0, &mut out);
                    out
                })
                .collect();
            assert_eq!(rows[1..], [dense.to_vec(), dense.to_vec(), full.to_vec()]);
        }
    }

    #[test]
    fn compact_records_stay_compact_and_are_saved_so() {
        let rows: Vec<[Half; 3]> = (0..SEGMENT + 5)
            .map(|k| [0.1, 0.2, k as f32 * 0.001].map(Half::towards_zero))
            .collect();
        let mut history = History::new(3);
        rows.iter().for_each(|row| history.push(Row::Compact(row), 1.0));
        let is_compact = |history: &History| {
            history.iter().zip(&rows).all(|((row, _), expected)| match row {
                Row::Compact(found) => found == expected,
                Row::Dense(_) | Row::Sparse { .. } => false,
            })
        };
        assert!(is_compact(&history));
        let bytes = save(&mut history);
        assert!(bytes.len() < (8 + 3 * 2) * rows.len() + 200);
        let mut loaded = History::new(3);
        load(&mut loaded, &bytes).unwrap();
        assert!(loaded.len() == rows.len() && is_compact(&loaded));
        // The control: one row of other numbers, and none is compact.
        history.push(Row::Dense(&[0.1; 3]), 1.0);
        assert!(!is_compact(&history));
    }

    #[test]
    fn a_history_that_was_cleared_is_as_good_as_new_in_either_form() {
        let (full, single) = ([1.0, 2.0, 3.0], [0.0, 0.0, 3.0]);
        let mut history = History::new(3);
        for (count, row) in [(2 * SEGMENT + 5, &full), (3, &single), (SEGMENT, &full), (0, &full)] {
            history.clear();
            (0..count).for_each(|_| history.push(Row::Dense(row), 1.0));
            assert_eq!((history.len(), history.iter().count()), (count, count));
            for (found, label) in history.iter() {
                let values: Vec<(usize, f64)> = found.nonzeros().collect();
                let expected: Vec<(usize, f64)> = Row::Dense(row).nonzeros().collect();
                assert_eq!((values, label), (expected, 1.0));
            }
        }
    }
}
