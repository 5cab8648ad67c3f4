//! The records of a stream, stored in flat arrays.

use crate::scalar_loss::Slope;
use crate::vector::{BlockGradient, BlockSlopes};
use crate::{Model, compensated::CompensatedSum, row::Row};
use undertone_core::persist::{Fields, Persist};
use undertone_simd::run;

/// Record gradients that are summed plainly before the sum is added to a compensated sum.
pub(crate) const BLOCK: usize = 32;

/// Records per segment: a multiple of `BLOCK`.
const SEGMENT: usize = 8 * BLOCK;

/// The largest capacity, in numbers, that a cleared segment keeps: more would double a learner's memory.
const RETAINED_CAPACITY_MAX: usize = 32 << 10;

/// Records after expansion, dense as matrices or sparse as compressed rows.
///
/// The first record decides the layout; later ones are converted, so a stream may mix both forms.
/// Segments never move once full, so no round pays for copying the whole history.
#[derive(Clone)]
pub(crate) struct History {
    dimension: usize,
    sparse: bool,
    records: usize,
    segments: Vec<Segment>,
}

/// Up to `SEGMENT` records in flat arrays.
#[derive(Clone, Default)]
struct Segment {
    labels: Vec<f64>,
    values: Vec<f64>,
    /// Empty in the dense layout.
    indices: Vec<u32>,
    /// The end of each sparse row in `values`; empty in the dense layout.
    ends: Vec<usize>,
}

impl Segment {
    /// An empty segment with the capacity that this one uses.
    fn empty_with_same_capacity(&self) -> Segment {
        Segment {
            labels: Vec::with_capacity(self.labels.len()),
            values: Vec::with_capacity(self.values.len()),
            indices: Vec::with_capacity(self.indices.len()),
            ends: Vec::with_capacity(self.ends.len()),
        }
    }

    fn clear(&mut self) {
        if self.values.capacity() > RETAINED_CAPACITY_MAX {
            *self = Segment::default();
        }
        self.labels.clear();
        self.values.clear();
        self.indices.clear();
        self.ends.clear();
    }

    #[inline]
    fn row(&self, k: usize, sparse: bool, dimension: usize) -> Row<'_> {
        if sparse {
            let start = if k == 0 { 0 } else { self.ends[k - 1] };
            let range = start..self.ends[k];
            Row::Sparse { indices: &self.indices[range.clone()], values: &self.values[range] }
        } else {
            Row::Dense(&self.values[k * dimension..(k + 1) * dimension])
        }
    }
}

impl History {
    pub(crate) fn new(dimension: usize) -> History {
        History { dimension, sparse: false, records: 0, segments: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.records
    }

    pub(crate) fn push(&mut self, row: Row<'_>, label: f64) {
        if self.records == 0 {
            self.sparse = match row {
                Row::Sparse { .. } => true,
                Row::Dense(_) => row.nonzeros().count() * 2 < self.dimension,
            };
        }
        self.records += 1;
        let (sparse, dimension) = (self.sparse, self.dimension);
        let segment = self.segment_with_capacity();
        segment.labels.push(label);
        if sparse {
            for (index, value) in row.nonzeros() {
                // Models refuse dimensions above u32::MAX.
                segment.indices.push(u32::try_from(index).unwrap_or(u32::MAX));
                segment.values.push(value);
            }
            segment.ends.push(segment.values.len());
        } else if let Row::Dense(values) = row {
            segment.values.extend_from_slice(values);
        } else {
            let start = segment.values.len();
            segment.values.resize(start + dimension, 0.0);
            row.add_scaled_to(1.0, &mut segment.values[start..]);
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

    /// Adds the records of another history at the end.
    pub(crate) fn append(&mut self, other: &History) {
        other.iter().for_each(|(row, label)| self.push(row, label));
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
            labels.map(|(k, &label)| (segment.row(k, self.sparse, self.dimension), label))
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
        for segment in &self.segments {
            for number in 0..segment.labels.len().div_ceil(BLOCK) {
                block.fill(0.0);
                self.add_block(segment, number, model, theta, weight, block);
                sum.add(block);
            }
        }
    }

    /// Adds the sum of all record gradients at θ to `out`, plainly.
    pub(crate) fn add_gradients_plainly(&self, model: &Model, theta: &[f64], out: &mut [f64]) {
        for segment in &self.segments {
            for number in 0..segment.labels.len().div_ceil(BLOCK) {
                self.add_block(segment, number, model, theta, 1.0, out);
            }
        }
    }

    /// Adds the gradients of one block of records, times a weight, to `out`.
    fn add_block(
        &self,
        segment: &Segment,
        number: usize,
        model: &Model,
        theta: &[f64],
        weight: f64,
        out: &mut [f64],
    ) {
        let first = number * BLOCK;
        let labels = &segment.labels[first..(first + BLOCK).min(segment.labels.len())];
        match model.slope(weight) {
            Some(slope) if self.sparse => {
                self.add_sparse_block(segment, first, labels, theta, slope, out);
            }
            Some(slope) => {
                let end = (first + labels.len()) * self.dimension;
                let rows = &segment.values[first * self.dimension..end];
                run(BlockGradient { rows, labels, theta, slope, out });
            }
            None => {
                for (k, &label) in (first..).zip(labels) {
                    let row = segment.row(k, self.sparse, self.dimension);
                    model.add_row_gradient(theta, row, label, weight, out);
                }
            }
        }
    }

    fn add_sparse_block(
        &self,
        segment: &Segment,
        first: usize,
        labels: &[f64],
        theta: &[f64],
        slope: Slope,
        out: &mut [f64],
    ) {
        let rows = || (first..first + labels.len()).map(|k| segment.row(k, true, self.dimension));
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
        fields.flag(&mut self.sparse);
        let length = fields.length(self.segments.len(), 4 * 8);
        self.segments.resize(length, Segment::default());
        for segment in &mut self.segments {
            fields.list(&mut segment.labels);
            fields.list(&mut segment.values);
            fields.whole_numbers(&mut segment.indices);
            fields.whole_numbers(&mut segment.ends);
        }
        self.records = self.segments.iter().map(|segment| segment.labels.len()).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixed_forms_come_back_as_they_went_in() {
        let dense = [0.0, 2.0, 0.0, 0.0, -1.0];
        let sparse = Row::Sparse { indices: &[1, 4], values: &[2.0, -1.0] };
        let full = [1.0, 2.0, 3.0, 4.0, 5.0];
        for first in [Row::Dense(&full), Row::Dense(&dense), sparse] {
            let mut history = History::new(5);
            for row in [first, Row::Dense(&dense), sparse, Row::Dense(&full)] {
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
