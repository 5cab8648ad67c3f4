//! Enforcing the bounds on records that privacy relies on.
//!
//! The noise is calibrated to the largest change that one record within the bounds can make. Records above the bounds are
//! scaled down or refused before they are used.

use crate::{Features, Record};
use thiserror::Error;
use undertone_core::agreement::{Agreement, OutOfBounds};

/// The smallest and largest bound allowed: between them squares neither overflow nor lose digits.
const BOUND_RANGE: (f64, f64) = (1e-100, 1e100);

/// The bounds on every record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// The largest Euclidean norm of the features.
    pub feature_norm: f64,
    /// The largest absolute label, for regression.
    pub label: Option<f64>,
    /// What happens to a record above the bounds.
    pub out_of_bounds: OutOfBounds,
    /// Whether every row is scaled to the norm `feature_norm`, not only rows above it. A row of zeros is not changed.
    pub normalise: bool,
}

/// Which bound a record exceeds. Never contains the value.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum BoundFault {
    /// A feature or the label is NaN or infinite.
    #[error("a value is not finite")]
    NotFinite,
    /// The feature vector is longer than the bound.
    #[error("feature norm is above the bound {bound}")]
    Norm {
        /// The bound.
        bound: f64,
    },
    /// The label is larger than the bound.
    #[error("label is above the bound {bound} in absolute value")]
    Label {
        /// The bound.
        bound: f64,
    },
    /// The bound itself is not a usable number.
    #[error("{name}: bound must be between {:e} and {:e}", BOUND_RANGE.0, BOUND_RANGE.1)]
    Unusable {
        /// Which bound.
        name: &'static str,
    },
}

impl Bounds {
    /// The bounds of an agreement.
    #[must_use]
    pub fn of(agreement: &Agreement) -> Bounds {
        Bounds {
            feature_norm: agreement.bounds.feature_norm,
            label: agreement.model.loss.classes().is_none().then_some(agreement.bounds.label),
            out_of_bounds: agreement.out_of_bounds,
            normalise: agreement.records.normalise,
        }
    }

    /// Applies the bounds to a record; returns whether it was changed.
    ///
    /// # Guarantee
    /// After `Ok`, the features are finite and their norm as computed by [`Features::norm`] is at most
    /// `feature_norm`; if they were scaled, their exact norm is too. The exact norm of a row of n
    /// entries left as it was may exceed the bound by a relative (n + 2) / 2⁵³ at most. The label is finite
    /// and its absolute value at most the label bound. Applying the same bounds again changes nothing.
    ///
    /// With `normalise`, rows are scaled whatever `out_of_bounds` says.
    ///
    /// # Errors
    /// When a value is NaN or infinite, when the record is above a bound and that is to be refused, or
    /// when a bound itself is not a usable number. A refused record is left as it was.
    pub fn apply(&self, record: &mut Record) -> Result<bool, BoundFault> {
        let label_bound = self.label.filter(|&bound| !(record.label.abs() <= bound));
        let usable = |bound: f64| bound >= BOUND_RANGE.0 && bound <= BOUND_RANGE.1;
        if let Some(bound) = self.label
            && !usable(bound)
        {
            return Err(BoundFault::Unusable { name: "label" });
        }
        if !record.label.is_finite() {
            return Err(BoundFault::NotFinite);
        }
        let refuse = self.out_of_bounds == OutOfBounds::Refuse;
        if let Some(bound) = label_bound.filter(|_| refuse) {
            return Err(BoundFault::Label { bound });
        }
        let scaled = self.apply_to_features(&mut record.features)?;
        if let Some(bound) = label_bound {
            record.label = record.label.clamp(-bound, bound);
        }
        Ok(scaled || label_bound.is_some())
    }

    /// The same for features without a label, as they are when a prediction is asked for.
    ///
    /// # Errors
    /// As [`Bounds::apply`].
    pub fn apply_to_features(&self, features: &mut Features) -> Result<bool, BoundFault> {
        let bound = self.feature_norm;
        if !(bound >= BOUND_RANGE.0 && bound <= BOUND_RANGE.1) {
            return Err(BoundFault::Unusable { name: "feature_norm" });
        }
        // If the norm is within the bound, every feature is finite.
        let above = !(features.norm() <= bound);
        if above && !features.is_finite() {
            return Err(BoundFault::NotFinite);
        }
        if above && self.out_of_bounds == OutOfBounds::Refuse && !self.normalise {
            return Err(BoundFault::Norm { bound });
        }
        let scaled = above || self.normalise && is_below(features, bound);
        if scaled {
            scale_to(features, bound);
        }
        Ok(scaled)
    }
}

/// An upper bound on the relative error of a computed norm: a sum of n squares has at most n + 1 roundings and its root
/// half of that and one more; scaling adds three; the rest is margin.
fn rounding(entries: usize) -> f64 {
    (entries as f64 + 8.0) * f64::EPSILON
}

/// Whether a row that is not all zeros has a smaller norm than scaling would give it.
fn is_below(features: &Features, bound: f64) -> bool {
    let entries = features.entries().count();
    let zero = features.entries().all(|(_, value)| value.abs() <= 0.0);
    !zero && features.norm() < bound * (1.0 - 3.0 * rounding(entries))
}

/// Scales a finite row that is not all zeros to just below a norm.
fn scale_to(features: &mut Features, bound: f64) {
    let (Features::Dense(values) | Features::Sparse { values, .. }) = features;
    // Division by the largest keeps the squares from overflowing or vanishing.
    let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    for value in values.iter_mut() {
        *value /= largest;
    }
    let entries = values.len();
    let factor = bound / features.norm() * (1.0 - rounding(entries));
    features.scale(factor);
    assert!(features.norm() <= bound, "scaling must bring the norm under the bound");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SCALE: Bounds = Bounds {
        feature_norm: 1.0,
        label: Some(2.0),
        out_of_bounds: OutOfBounds::Scale,
        normalise: false,
    };

    fn dense(values: &[f64], label: f64) -> Record {
        Record { features: Features::Dense(values.into()), label }
    }

    /// Finite numbers of every size.
    fn finite() -> impl Strategy<Value = f64> {
        prop_oneof![
            prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO,
            -10.0..10.0,
            Just(f64::MAX),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn scaling_never_leaves_a_norm_above_the_bound_and_a_second_time_changes_nothing(
            values in prop::collection::vec(finite(), 1..40),
            label in finite(),
            exponent in -100..=100_i32,
            mantissa in 1.0..9.9_f64,
            normalise in any::<bool>(),
        ) {
            let feature_norm = (mantissa * 10_f64.powi(exponent)).clamp(1e-100, 1e100);
            let bounds = Bounds { feature_norm, normalise, ..SCALE };
            let mut record = dense(&values, label);
            let before = record.clone();
            let changed = bounds.apply(&mut record).unwrap();
            prop_assert!(record.features.norm() <= feature_norm);
            prop_assert!(record.label.abs() <= 2.0);
            prop_assert_eq!(changed, before != record);
            if normalise && values.iter().any(|value| value.abs() > 0.0) {
                prop_assert!(record.features.norm() >= feature_norm * (1.0 - 1e-13));
            }
            prop_assert!(!bounds.apply(&mut record).unwrap());
        }
    }

    #[test]
    fn rows_within_the_bounds_are_left_alone() {
        let mut record = dense(&[0.6, 0.8], -2.0);
        assert!(!SCALE.apply(&mut record).unwrap());
        let mut record = dense(&[0.0, 0.0], 0.0);
        assert!(!Bounds { normalise: true, ..SCALE }.apply(&mut record).unwrap());
        assert!(record == dense(&[0.0, 0.0], 0.0));
    }

    #[test]
    fn scaling_keeps_the_direction_and_clamping_the_sign() {
        let mut record = dense(&[3.0, -4.0], -7.0);
        assert!(SCALE.apply(&mut record).unwrap());
        let values: Vec<f64> = record.features.entries().map(|(_, value)| value).collect();
        assert!((values[0] - 0.6).abs() < 1e-14 && (values[1] + 0.8).abs() < 1e-14);
        assert!((record.label + 2.0).abs() < 1e-14);
    }

    #[test]
    fn refusing_names_the_bound_but_no_value() {
        let refuse = Bounds { out_of_bounds: OutOfBounds::Refuse, ..SCALE };
        let mut record = dense(&[31.25], 0.0);
        let message = refuse.apply(&mut record).unwrap_err().to_string();
        assert_eq!(message, "feature norm is above the bound 1");
        assert!(record == dense(&[31.25], 0.0));
        let message = refuse.apply(&mut dense(&[0.5], 31.25)).unwrap_err().to_string();
        assert_eq!(message, "label is above the bound 2 in absolute value");
    }

    #[test]
    fn nan_and_infinity_are_always_refused() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for normalise in [false, true] {
                let bounds = Bounds { normalise, ..SCALE };
                assert!(bounds.apply(&mut dense(&[0.1, bad], 0.0)).is_err());
                assert!(bounds.apply(&mut dense(&[0.1], bad)).is_err());
            }
            let bounds = Bounds { feature_norm: bad, ..SCALE };
            assert!(matches!(
                bounds.apply(&mut dense(&[0.1], 0.0)),
                Err(BoundFault::Unusable { name: "feature_norm" })
            ));
            let bounds = Bounds { label: Some(bad), ..SCALE };
            assert!(matches!(
                bounds.apply(&mut dense(&[0.1], 0.0)),
                Err(BoundFault::Unusable { name: "label" })
            ));
        }
    }
}
