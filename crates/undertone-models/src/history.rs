//! All records of a stream in three flat arrays.

use crate::{Model, compensated::CompensatedSum, row::Row};

/// How many record gradients are summed plainly before they join a compensated sum.
pub(crate) const BLOCK: usize = 32;

/// Records after expansion, dense as one matrix or sparse as compressed rows.
///
/// The first record decides the layout; later ones are converted, so a stream may mix both forms.
#[derive(Clone)]
pub(crate) struct History {
    dimension: usize,
    sparse: bool,
    labels: Vec<f64>,
    values: Vec<f64>,
    /// Empty in the dense layout.
    indices: Vec<u32>,
    /// Where each sparse row ends in `values`; empty in the dense layout.
    ends: Vec<usize>,
}

impl History {
    pub(crate) fn new(dimension: usize) -> History {
        let (labels, values, indices, ends) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        History { dimension, sparse: false, labels, values, indices, ends }
    }

    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    pub(crate) fn push(&mut self, row: Row<'_>, label: f64) {
        if self.labels.is_empty() {
            self.sparse = match row {
                Row::Sparse { .. } => true,
                Row::Dense(_) => row.nonzeros().count() * 2 < self.dimension,
            };
        }
        self.labels.push(label);
        if self.sparse {
            for (index, value) in row.nonzeros() {
                // Models refuse dimensions beyond u32.
                self.indices.push(u32::try_from(index).unwrap_or(u32::MAX));
                self.values.push(value);
            }
            self.ends.push(self.values.len());
        } else {
            let start = self.values.len();
            self.values.resize(start + self.dimension, 0.0);
            row.add_scaled_to(1.0, &mut self.values[start..]);
        }
    }

    /// The records with their labels, in order of arrival.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Row<'_>, f64)> + '_ {
        self.labels.iter().enumerate().map(move |(k, &label)| (self.row(k), label))
    }

    #[inline]
    fn row(&self, k: usize) -> Row<'_> {
        if self.sparse {
            let start = if k == 0 { 0 } else { self.ends[k - 1] };
            let range = start..self.ends[k];
            Row::Sparse { indices: &self.indices[range.clone()], values: &self.values[range] }
        } else {
            Row::Dense(&self.values[k * self.dimension..(k + 1) * self.dimension])
        }
    }

    /// Adds the sum of all record gradients at θ to `sum`, calling `visit` with each record.
    ///
    /// Blocks of `BLOCK` records are summed plainly, blocks are compensated, so the error of the
    /// sum is (BLOCK + 2) roundings of its absolute terms for any number of records.
    pub(crate) fn add_gradients(
        &self,
        model: &Model,
        theta: &[f64],
        block: &mut [f64],
        sum: &mut CompensatedSum,
    ) {
        for start in (0..self.len()).step_by(BLOCK) {
            block.fill(0.0);
            for k in start..(start + BLOCK).min(self.len()) {
                model.add_row_gradient(theta, self.row(k), self.labels[k], 1.0, block);
            }
            sum.add(block);
        }
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
}
