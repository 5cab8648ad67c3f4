//! One record of a private stream: a feature vector and its label.

use crate::row::Row;
use crate::vector::{LANES, sum_lanes};
use std::fmt;
use undertone_core::persist::{Fields, Persist};
use undertone_simd::Half;

/// A feature vector, stored densely or by its non-zero entries.
#[derive(Clone, PartialEq)]
pub enum Features {
    /// Every coordinate.
    Dense(Box<[f64]>),
    /// Every coordinate, of 16 bits: what a [`FeatureMap`](crate::features::FeatureMap) makes.
    Compact(Box<[Half]>),
    /// The non-zero coordinates only, by increasing index.
    Sparse {
        /// Dimension of the whole vector.
        dimension: u32,
        /// Increasing indices below `dimension`.
        indices: Box<[u32]>,
        /// One value for each index.
        values: Box<[f64]>,
    },
}

impl Features {
    /// The dimension of the vector.
    #[must_use]
    pub fn dimension(&self) -> usize {
        match self {
            Features::Dense(values) => values.len(),
            Features::Compact(values) => values.len(),
            Features::Sparse { dimension, .. } => *dimension as usize,
        }
    }

    /// The inner product with a dense vector of the same dimension.
    #[must_use]
    #[inline]
    pub fn dot(&self, theta: &[f64]) -> f64 {
        debug_assert_eq!(self.dimension(), theta.len());
        self.row().dot(theta)
    }

    /// Adds `factor` times this vector to `out`.
    #[inline]
    pub fn add_scaled_to(&self, factor: f64, out: &mut [f64]) {
        debug_assert_eq!(self.dimension(), out.len());
        self.row().add_scaled_to(factor, out);
    }

    /// The non-zero (or all stored) entries, by increasing index.
    pub fn entries(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.row().entries()
    }

    /// A borrowed view, which all computations use.
    #[must_use]
    #[inline]
    pub(crate) fn row(&self) -> Row<'_> {
        match self {
            Features::Dense(values) => Row::Dense(values),
            Features::Compact(values) => Row::Compact(values),
            Features::Sparse { indices, values, .. } => Row::Sparse { indices, values },
        }
    }

    /// The Euclidean norm, with the same bits for every form of a vector.
    #[must_use]
    pub fn norm(&self) -> f64 {
        let square = match self {
            Features::Dense(values) => Row::Dense(values).dot(values),
            Features::Sparse { indices, values, .. } => sum_of_squares(
                indices.iter().map(|&index| index as usize).zip(values.iter().copied()),
            ),
            Features::Compact(values) => {
                sum_of_squares(values.iter().map(|value| value.to_f64()).enumerate())
            }
        };
        square.sqrt()
    }

    /// Whether every stored value is finite.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        self.entries().all(|(_, value)| value.is_finite())
    }

    /// Multiplies every coordinate by `factor`. Numbers of 16 bits are rounded towards zero.
    pub fn scale(&mut self, factor: f64) {
        match self {
            Features::Dense(values) | Features::Sparse { values, .. } => {
                for value in values.iter_mut() {
                    *value *= factor;
                }
            }
            Features::Compact(values) => {
                // The share makes up for the rounding to f32.
                let factor = factor * (1.0 - f64::from(f32::EPSILON));
                for value in values.iter_mut() {
                    #[expect(
                        clippy::cast_possible_truncation,
                        reason = "the share makes up for it"
                    )]
                    let scaled = (value.to_f64() * factor) as f32;
                    *value = Half::towards_zero(scaled);
                }
            }
        }
    }

    /// Shrinks the vector, if it is longer than `bound`, until its computed norm is at most `bound`.
    ///
    /// Dividing by the norm alone may leave a norm one rounding above the bound, which a model would refuse. Does nothing
    /// to a vector that is not finite.
    pub fn clip_norm(&mut self, bound: f64) {
        // One pass nearly always suffices; the limit ends the loop for a bound of zero or NaN.
        for _ in 0..4 {
            let norm = self.norm();
            if !(norm > bound && norm.is_finite()) {
                return;
            }
            self.scale(bound / norm * (1.0 - 2.0 * f64::EPSILON));
        }
    }
}

/// The sum of the squares of entries, in the lanes of a dense product. Zeros add nothing to them.
fn sum_of_squares(entries: impl Iterator<Item = (usize, f64)>) -> f64 {
    let mut sums = [0.0; LANES];
    for (index, value) in entries {
        sums[index % LANES] += value * value;
    }
    sum_lanes(sums)
}

/// Prints the shape only: features are private.
impl fmt::Debug for Features {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Features(dim={}, <redacted>)", self.dimension())
    }
}

/// A feature vector with its label.
///
/// The label of a classification record is its class, 0.0, 1.0, 2.0 …; that of a regression record
/// is the target itself.
#[derive(Clone, PartialEq)]
pub struct Record {
    /// The features, known when predicting.
    pub features: Features,
    /// The label, known afterwards.
    pub label: f64,
}

/// Prints the shape only: records are private.
impl fmt::Debug for Record {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Record(dim={}, <redacted>)", self.features.dimension())
    }
}

impl Persist for Record {
    fn visit(&mut self, fields: &mut dyn Fields) {
        fields.number(&mut self.label);
        let (mut form, mut dimension) = (DENSE, 0);
        let (mut indices, mut values, mut halves) = (Vec::new(), Vec::new(), Vec::new());
        match std::mem::replace(&mut self.features, Features::Dense(Box::default())) {
            Features::Dense(dense) => values = dense.into_vec(),
            Features::Sparse { dimension: whole, indices: own, values: sparse } => {
                (form, dimension) = (SPARSE, u64::from(whole));
                (indices, values) = (own.into_vec(), sparse.into_vec());
            }
            Features::Compact(compact) => (form, halves) = (COMPACT, compact.into_vec()),
        }
        fields.count(&mut form);
        fields.count(&mut dimension);
        fields.whole_numbers(&mut indices);
        fields.list(&mut values);
        if form == COMPACT {
            visit_halves(fields, &mut halves);
        }
        self.features = match form {
            DENSE => Features::Dense(values.into()),
            SPARSE => {
                let dimension = u32::try_from(dimension).unwrap_or(u32::MAX);
                Features::Sparse { dimension, indices: indices.into(), values: values.into() }
            }
            COMPACT => Features::Compact(halves.into()),
            _ => {
                fields.reject();
                Features::Dense(Box::default())
            }
        };
    }
}

/// How a form of a vector is saved.
pub(crate) const DENSE: u64 = 0;
/// See [`DENSE`].
pub(crate) const SPARSE: u64 = 1;
/// See [`DENSE`].
pub(crate) const COMPACT: u64 = 2;

/// Saves or loads a list of numbers of 16 bits.
pub(crate) fn visit_halves(fields: &mut dyn Fields, values: &mut Vec<Half>) {
    let length = fields.length(values.len(), 2);
    values.resize(length, Half::ZERO);
    let mut bytes: Vec<u8> =
        values.iter().flat_map(|value| value.to_bits().to_le_bytes()).collect();
    fields.bytes(&mut bytes);
    for (value, &pair) in values.iter_mut().zip(bytes.as_chunks().0) {
        match Half::from_bits(u16::from_le_bytes(pair)) {
            Some(read) => *value = read,
            None => fields.reject(),
        }
    }
}

impl Record {
    /// A record with every feature given.
    #[must_use]
    pub fn dense(features: impl Into<Box<[f64]>>, label: f64) -> Record {
        Record { features: Features::Dense(features.into()), label }
    }

    /// An empty record, as a target for loading.
    #[must_use]
    pub fn empty() -> Record {
        Record { features: Features::Dense(Box::default()), label: 0.0 }
    }
}

/// Saves or loads a list of records.
pub fn visit_records(fields: &mut dyn Fields, records: &mut Vec<Record>) {
    let length = fields.length(records.len(), 4 * 8);
    records.resize(length, Record::empty());
    records.iter_mut().for_each(|record| record.visit(fields));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sparse() -> Features {
        Features::Sparse { dimension: 4, indices: [1, 3].into(), values: [2.0, -1.0].into() }
    }

    #[test]
    fn sparse_and_dense_forms_agree() {
        let dense = Features::Dense([0.0, 2.0, 0.0, -1.0].into());
        let theta = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(sparse().dot(&theta).to_bits(), dense.dot(&theta).to_bits());
        assert_eq!(sparse().norm().to_bits(), dense.norm().to_bits());
        let (mut left, mut right) = ([0.5; 4], [0.5; 4]);
        sparse().add_scaled_to(3.0, &mut left);
        dense.add_scaled_to(3.0, &mut right);
        assert_eq!(left.map(f64::to_bits), right.map(f64::to_bits));
    }

    #[test]
    fn both_forms_of_a_vector_have_the_same_norm_bit_for_bit() {
        for length in 1..40_usize {
            let value = |i: usize| if i % 3 == 1 { 0.0 } else { (i as f64 * 0.7).sin() / 3.0 };
            let values: Vec<f64> = (0..length).map(value).collect();
            let kept = || (0..length).filter(|&i| value(i).abs() > 0.0);
            let sparse = Features::Sparse {
                dimension: u32::try_from(length).unwrap(),
                indices: kept().map(|i| u32::try_from(i).unwrap()).collect(),
                values: kept().map(value).collect(),
            };
            let dense = Features::Dense(values.into());
            assert_eq!(sparse.norm().to_bits(), dense.norm().to_bits(), "{length}");
        }
    }

    #[test]
    fn a_clipped_vector_never_passes_the_bound() {
        for k in 1..200_u32 {
            let mut features =
                Features::Dense((0..7).map(|i| f64::from(i * k) + 0.1 * f64::from(k)).collect());
            features.clip_norm(1.0);
            assert!(features.norm() <= 1.0 && features.norm() > 1.0 - 1e-14);
        }
    }

    fn compact(length: usize) -> Features {
        #[expect(clippy::cast_possible_truncation, reason = "a test")]
        let value = |i: usize| Half::towards_zero((i as f64 * 0.7).sin() as f32 / 3.0);
        Features::Compact((0..length).map(value).collect())
    }

    #[test]
    fn a_compact_vector_computes_what_the_dense_one_of_its_numbers_does_bit_for_bit() {
        for length in 0..40_usize {
            let compact = compact(length);
            let dense = Features::Dense(compact.entries().map(|(_, value)| value).collect());
            let theta: Vec<f64> = (0..length).map(|i| (i as f64).cos()).collect();
            assert_eq!(compact.norm().to_bits(), dense.norm().to_bits(), "{length}");
            assert_eq!(compact.dot(&theta).to_bits(), dense.dot(&theta).to_bits(), "{length}");
            let (mut left, mut right) = (theta.clone(), theta);
            compact.add_scaled_to(0.3, &mut left);
            dense.add_scaled_to(0.3, &mut right);
            assert!(left.iter().zip(&right).all(|(a, b)| a.to_bits() == b.to_bits()), "{length}");
        }
    }

    #[test]
    fn scaling_a_compact_vector_never_leaves_more_than_the_factor_says() {
        for factor in [1.0, 0.999, 0.7, 1.0 / 3.0, 1e-3] {
            let mut features = compact(37);
            let before = features.norm();
            features.scale(factor);
            assert!(features.norm() <= before * factor && features.norm() > before * factor * 0.99);
        }
    }

    #[test]
    fn records_of_every_form_are_loaded_as_they_were_saved() {
        use undertone_core::persist::{Damaged, load, save};
        let dense = Features::Dense([0.5, -1.5].into());
        let mut bytes = Vec::new();
        for features in [dense, sparse(), compact(5)] {
            let record = Record { features, label: 2.0 };
            bytes = save(&mut record.clone());
            let mut loaded = Record::empty();
            load(&mut loaded, &bytes).unwrap();
            assert!(loaded == record);
        }
        // The last of the five numbers becomes an infinite one.
        let (mut infinite, mut unknown) = (bytes.clone(), bytes);
        *infinite.last_mut().unwrap() = 0x7c;
        unknown[8] = 3;
        for damaged in [infinite, unknown] {
            assert_eq!(load(&mut Record::empty(), &damaged), Err(Damaged));
        }
    }

    #[test]
    fn debug_output_never_shows_values() {
        let record = Record { features: sparse(), label: 7.25 };
        let text = format!("{record:?} {:?}", record.features);
        assert!(!text.contains("7.25") && !text.contains("-1"), "{text}");
    }
}
