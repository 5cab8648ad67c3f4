//! All records of a stream, in flat arrays.

use crate::scalar_loss::Slope;
use crate::vector::{self, BlockGradient, BlockSlopes};
use crate::{Model, compensated::CompensatedSum, row::Row};
use undertone::persist::{Fields, Persist, flag, list, whole_numbers};

/// How many record gradients are summed plainly before they join a compensated sum.
pub(crate) const BLOCK: usize = 32;

/// How many records one segment holds: a multiple of `BLOCK`.
const SEGMENT: usize = 8 * BLOCK;

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
    /// Where each sparse row ends in `values`; empty in the dense layout.
    ends: Vec<usize>,
}

impl Segment {
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
        let mut segment = match self.segments.pop() {
            Some(last) if last.labels.len() < SEGMENT => last,
            full => {
                self.segments.extend(full);
                Segment::default()
            }
        };
        segment.labels.push(label);
        if self.sparse {
            for (index, value) in row.nonzeros() {
                // Models refuse dimensions beyond u32.
                segment.indices.push(u32::try_from(index).unwrap_or(u32::MAX));
                segment.values.push(value);
            }
            segment.ends.push(segment.values.len());
        } else if let Row::Dense(values) = row {
            segment.values.extend_from_slice(values);
        } else {
            let start = segment.values.len();
            segment.values.resize(start + self.dimension, 0.0);
            row.add_scaled_to(1.0, &mut segment.values[start..]);
        }
        self.segments.push(segment);
        self.records += 1;
    }

    /// The records with their labels, in order of arrival.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Row<'_>, f64)> + '_ {
        self.iter_from(0)
    }

    /// The same, from one record on. All segments but the last are full, so none is walked through to get there.
    #[inline]
    pub(crate) fn iter_from(&self, first: usize) -> impl Iterator<Item = (Row<'_>, f64)> + '_ {
        let segments = self.segments.iter().skip(first / SEGMENT);
        segments.enumerate().flat_map(move |(number, segment)| {
            let skipped = if number == 0 { first % SEGMENT } else { 0 };
            let labels = segment.labels.iter().enumerate().skip(skipped);
            labels.map(move |(k, &label)| (segment.row(k, self.sparse, self.dimension), label))
        })
    }

    /// Adds the sum of all record gradients at θ, times a weight, to `sum`.
    ///
    /// Blocks of `BLOCK` records are summed plainly, blocks are compensated, so the error of the
    /// sum is (BLOCK + 2) roundings of its absolute terms for any number of records.
    pub(crate) fn add_gradients(
        &self,
        model: &Model,
        theta: &[f64],
        weight: f64,
        block: &mut [f64],
        sum: &mut CompensatedSum,
    ) {
        for segment in &self.segments {
            for (number, labels) in segment.labels.chunks(BLOCK).enumerate() {
                block.fill(0.0);
                let first = number * BLOCK;
                match model.slope(weight) {
                    Some(slope) if self.sparse => {
                        self.add_sparse_block(segment, first, labels, theta, slope, block);
                    }
                    Some(slope) => {
                        let end = (first + labels.len()) * self.dimension;
                        let rows = &segment.values[first * self.dimension..end];
                        vector::run(BlockGradient { rows, labels, theta, slope, out: block });
                    }
                    None => {
                        for (k, &label) in (first..).zip(labels) {
                            let row = segment.row(k, self.sparse, self.dimension);
                            model.add_row_gradient(theta, row, label, weight, block);
                        }
                    }
                }
                sum.add(block);
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
        vector::run(BlockSlopes { slope, scores, labels });
        for (slope, row) in scores.iter().zip(rows()) {
            row.add_scaled_to(*slope, out);
        }
    }
}

impl Persist for History {
    fn visit(&mut self, fields: &mut dyn Fields) {
        flag(fields, &mut self.sparse);
        let length = fields.length(self.segments.len(), 4 * 8);
        self.segments.resize(length, Segment::default());
        for segment in &mut self.segments {
            list(fields, &mut segment.labels);
            list(fields, &mut segment.values);
            whole_numbers(fields, &mut segment.indices);
            whole_numbers(fields, &mut segment.ends);
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
            assert_eq!(history.iter_from(3).count(), 1);
            assert_eq!(rows[1..], [dense.to_vec(), dense.to_vec(), full.to_vec()]);
        }
    }
}
