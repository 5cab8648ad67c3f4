//! One record of a private stream: a feature vector and its label.

use crate::PersonKey;
use crate::row::Row;
use crate::vector::{LANES, sum_lanes};
use std::fmt;
use undertone_core::persist::{Fields, Persist};

/// A feature vector, stored densely or by its non-zero entries.
#[derive(Clone, PartialEq)]
pub enum Features {
    /// Every coordinate.
    Dense(Box<[f64]>),
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
            Features::Sparse { indices, values, .. } => Row::Sparse { indices, values },
        }
    }

    /// The Euclidean norm, with the same bits for the dense and the sparse form of a vector.
    #[must_use]
    pub fn norm(&self) -> f64 {
        let square = match self {
            Features::Dense(values) => Row::Dense(values).dot(values),
            Features::Sparse { indices, values, .. } => {
                // The lanes of a dense product; zeros add nothing to them.
                let mut sums = [0.0; LANES];
                for (&index, value) in indices.iter().zip(values) {
                    sums[index as usize % LANES] += value * value;
                }
                sum_lanes(sums)
            }
        };
        square.sqrt()
    }

    /// Whether every stored value is finite.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        self.stored().iter().all(|value| value.is_finite())
    }

    /// Multiplies every coordinate by `factor`.
    pub fn scale(&mut self, factor: f64) {
        let values = match self {
            Features::Dense(values) | Features::Sparse { values, .. } => values,
        };
        for value in values.iter_mut() {
            *value *= factor;
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

    fn stored(&self) -> &[f64] {
        match self {
            Features::Dense(values) | Features::Sparse { values, .. } => values,
        }
    }
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
    /// Who it is about, where privacy is stated for persons.
    pub person: Option<PersonKey>,
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
        let mut sparse = matches!(self.features, Features::Sparse { .. });
        fields.flag(&mut sparse);
        let (mut dimension, mut indices, mut values) =
            match std::mem::replace(&mut self.features, Features::Dense(Box::default())) {
                Features::Dense(values) => (0, Vec::new(), values.into_vec()),
                Features::Sparse { dimension, indices, values } => {
                    (u64::from(dimension), indices.into_vec(), values.into_vec())
                }
            };
        fields.count(&mut dimension);
        fields.whole_numbers(&mut indices);
        fields.list(&mut values);
        self.features = if sparse {
            let dimension = u32::try_from(dimension).unwrap_or(u32::MAX);
            Features::Sparse { dimension, indices: indices.into(), values: values.into() }
        } else {
            Features::Dense(values.into())
        };
        let mut has_person = self.person.is_some();
        fields.flag(&mut has_person);
        self.person = has_person.then(|| {
            let mut person = self.person.unwrap_or(PersonKey::empty());
            person.visit(fields);
            person
        });
    }
}

impl Record {
    /// A record that does not say who it is about.
    #[must_use]
    pub fn new(features: Features, label: f64) -> Record {
        Record { features, label, person: None }
    }

    /// The same record of a person.
    #[must_use]
    pub fn of_person(self, person: PersonKey) -> Record {
        Record { person: Some(person), ..self }
    }

    /// A record with every feature given.
    #[must_use]
    pub fn dense(features: impl Into<Box<[f64]>>, label: f64) -> Record {
        Record::new(Features::Dense(features.into()), label)
    }

    /// An empty record, as a target for loading.
    #[must_use]
    pub fn empty() -> Record {
        Record::new(Features::Dense(Box::default()), 0.0)
    }
}

/// Saves or loads a list of records.
pub fn visit_records(fields: &mut dyn Fields, records: &mut Vec<Record>) {
    let length = fields.length(records.len(), 5 * 8);
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

    #[test]
    fn debug_output_never_shows_values() {
        let record = Record::new(sparse(), 7.25);
        let text = format!("{record:?} {:?}", record.features);
        assert!(!text.contains("7.25") && !text.contains("-1"), "{text}");
    }
}
