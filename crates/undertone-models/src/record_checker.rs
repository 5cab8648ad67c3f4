//! The place where records enter: each is checked once, and is a [`BoundedRecord`] from then on.
//!
//! The noise is calibrated to the largest change that one record within the bounds can make. Records above the bounds are
//! scaled down or refused before they are used.

use crate::features::FeatureMap;
use crate::record_bounds::RecordBounds;
use crate::{BoundedRecord, Features, Record, RecordError, SetupError};
use std::sync::Arc;
use undertone_core::MemoryKind;
use undertone_core::agreement::{Agreement, OutOfBounds};

/// Checks records for one model and one kind of memory.
///
/// ```
/// use undertone_core::{DataBounds, Loss, MemoryKind, ModelSpec};
/// use undertone_models::{Model, Record, RecordError};
///
/// let spec =
///     ModelSpec { loss: Loss::Logistic, features: 2, degree: 1, ridge: 0.01, lasso: 0.0, clip: f64::INFINITY };
/// let model = Model::new(spec, DataBounds { feature_norm: 1.0, label: 1.0, radius: 10.0 })?;
/// let checker = model.record_checker(MemoryKind::Exact);
/// let record = checker.check(Record::dense([0.6, -0.8], 1.0))?;
/// assert_eq!(record.features().dimension(), 2);
/// let refused = checker.check(Record::dense([0.6, -0.9], 1.0));
/// assert_eq!(refused.err(), Some(RecordError::FeatureNorm { bound: 1.0 }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RecordChecker {
    bounds: RecordBounds,
    /// What is computed from a record's features first, if anything.
    map: Option<Arc<FeatureMap>>,
    /// What happens to a record above the bounds.
    out_of_bounds: OutOfBounds,
    /// Whether every row is scaled to the bound on the norm, not only rows above it. A row of zeros is not changed.
    normalise: bool,
    /// Whether the memory takes only records with at most one non-zero feature.
    separable: bool,
}

impl RecordChecker {
    /// Checks records of an agreement: transforms their features if it says so, and scales or refuses those above the
    /// bounds.
    ///
    /// # Errors
    /// When a bound is outside its range.
    pub fn of(agreement: &Agreement) -> Result<RecordChecker, SetupError> {
        let bounds = RecordBounds::new(&agreement.model, &agreement.bounds)?;
        let map = agreement.transform.map(FeatureMap::new).transpose()?.map(Arc::new);
        Ok(RecordChecker::refusing(bounds, agreement.memory).following(agreement, map))
    }

    /// Refuses every record above the bounds.
    pub(crate) fn refusing(bounds: RecordBounds, memory: MemoryKind) -> RecordChecker {
        let separable = memory == MemoryKind::Recursive;
        RecordChecker {
            bounds,
            map: None,
            out_of_bounds: OutOfBounds::Refuse,
            normalise: false,
            separable,
        }
    }

    /// The same, with what an agreement says of records above the bounds, and its transform.
    pub(crate) fn following(
        self,
        agreement: &Agreement,
        map: Option<Arc<FeatureMap>>,
    ) -> RecordChecker {
        let (out_of_bounds, normalise) = (agreement.out_of_bounds, agreement.records.normalise);
        RecordChecker { map, out_of_bounds, normalise, ..self }
    }

    /// Whether checking a record transforms its features, which takes much longer than the check.
    #[must_use]
    pub fn transforms(&self) -> bool {
        self.map.is_some()
    }

    /// Checks a record that enters, after transforming its features and scaling it into the bounds where the agreement says
    /// so.
    ///
    /// # Guarantee
    /// After `Ok`, the features are finite and their norm as computed by [`Features::norm`] is at most
    /// the bound; if they were scaled, their exact norm is too. The exact norm of a row of n
    /// entries left as it was may exceed the bound by a relative (n + 2) / 2⁵³ at most. The label is a class,
    /// or finite and its absolute value at most the label bound. Where nothing is transformed, checking the record again
    /// changes nothing.
    ///
    /// Where every row is normalised, rows are scaled whatever is said of records above the bounds.
    ///
    /// # Errors
    /// When the record does not fit the model or the memory, a value is NaN or infinite, or the record is above a
    /// bound and that is to be refused.
    pub fn check(&self, mut record: Record) -> Result<BoundedRecord, RecordError> {
        self.transform(&mut record.features)?;
        let label = self.bounded_label(record.label)?;
        let mut changed = self.bound_features(&mut record.features)?;
        if let Some(label) = label {
            record.label = label;
            changed = true;
        }
        self.finish(record, changed && !self.normalise)
    }

    /// Checks a record that was read back from a store or a file, where it was put after [`check`](Self::check).
    ///
    /// It may have been damaged since, or be of another agreement, so all of it is checked. Nothing is transformed or scaled:
    /// that was done before it was put there.
    ///
    /// # Errors
    /// When the record does not keep to the bounds.
    pub fn check_again(&self, record: Record) -> Result<BoundedRecord, RecordError> {
        self.bounds.check(&record)?;
        self.finish(record, false)
    }

    /// Checks features without a label, as they are when a prediction is asked for; transforms and scales them likewise.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn check_features(&self, mut features: Features) -> Result<Features, RecordError> {
        self.transform(&mut features)?;
        self.bound_features(&mut features)?;
        Ok(features)
    }

    /// Whether a record was checked for the same model.
    #[must_use]
    pub fn has_checked(&self, record: &BoundedRecord) -> bool {
        record.keeps_to(&self.bounds) && (record.is_separable() || !self.separable)
    }

    /// Replaces features by transformed ones, and checks that there are as many as the model has.
    fn transform(&self, features: &mut Features) -> Result<(), RecordError> {
        if let Some(map) = &self.map {
            *features = map.apply(features)?;
        }
        self.bounds.check_shape(features)
    }

    fn finish(&self, record: Record, scaled: bool) -> Result<BoundedRecord, RecordError> {
        if self.separable && record.features.row().nonzeros().nth(1).is_some() {
            return Err(RecordError::NotSeparable);
        }
        Ok(BoundedRecord::checked(record, &self.bounds, self.separable, scaled))
    }

    /// The label to use instead, if it is above the bound and is scaled.
    fn bounded_label(&self, label: f64) -> Result<Option<f64>, RecordError> {
        match (self.bounds.check_label(label), self.out_of_bounds) {
            (Ok(()), _) => Ok(None),
            (Err(RecordError::Label { bound }), OutOfBounds::Scale) => {
                Ok(Some(label.clamp(-bound, bound)))
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Bounds features of the right shape; returns whether they were changed.
    fn bound_features(&self, features: &mut Features) -> Result<bool, RecordError> {
        let bound = self.bounds.feature_norm();
        let above = match self.bounds.check_norm(features) {
            Ok(()) => false,
            Err(RecordError::FeatureNorm { .. })
                if self.normalise || self.out_of_bounds == OutOfBounds::Scale =>
            {
                true
            }
            Err(error) => return Err(error),
        };
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

/// Whether a row that is not all zeros has a smaller norm than scaling would give it. One of 16 bits stays as it was rounded.
fn is_below(features: &Features, bound: f64) -> bool {
    if matches!(features, Features::Compact(_)) {
        return false;
    }
    let entries = features.entries().count();
    let zero = features.entries().all(|(_, value)| value.abs() <= 0.0);
    !zero && features.norm() < bound * (1.0 - 3.0 * rounding(entries))
}

/// Scales a finite row that is not all zeros to just below a norm.
fn scale_to(features: &mut Features, bound: f64) {
    let entries = features.entries().count();
    // Division by the largest keeps the squares from overflowing or vanishing. Those of 16 bits never do.
    if let Features::Dense(values) | Features::Sparse { values, .. } = features {
        let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
        for value in values.iter_mut() {
            *value /= largest;
        }
    }
    let factor = bound / features.norm() * (1.0 - rounding(entries));
    features.scale(factor);
    assert!(features.norm() <= bound, "scaling must bring the norm under the bound");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use undertone_core::{DataBounds, Loss, ModelSpec};

    use super::*;

    fn bounds(loss: Loss, features: usize, feature_norm: f64) -> RecordBounds {
        let spec =
            ModelSpec { loss, features, degree: 1, ridge: 0.0, lasso: 0.0, clip: f64::INFINITY };
        let bounds = DataBounds { feature_norm, label: 2.0, radius: 1.0 };
        RecordBounds::new(&spec, &bounds).unwrap()
    }

    /// For regression, with labels up to 2.
    fn refusing(features: usize, feature_norm: f64) -> RecordChecker {
        let bounds = bounds(Loss::Squared, features, feature_norm);
        RecordChecker::refusing(bounds, MemoryKind::Exact)
    }

    fn scaling(features: usize, feature_norm: f64) -> RecordChecker {
        RecordChecker { out_of_bounds: OutOfBounds::Scale, ..refusing(features, feature_norm) }
    }

    fn dense(values: &[f64], label: f64) -> Record {
        Record::dense(values, label)
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
            let checker = RecordChecker { normalise, ..scaling(values.len(), feature_norm) };
            let before = dense(&values, label);
            let record = checker.check(before.clone()).unwrap();
            prop_assert!(record.features().norm() <= feature_norm);
            prop_assert!(record.label().abs() <= 2.0);
            prop_assert_eq!(record.was_scaled(), !normalise && before != *record.as_record());
            if normalise && values.iter().any(|value| value.abs() > 0.0) {
                prop_assert!(record.features().norm() >= feature_norm * (1.0 - 1e-13));
            }
            let second = checker.check(record.as_record().clone()).unwrap();
            prop_assert!(!second.was_scaled() && second.as_record() == record.as_record());
            let again = checker.check_again(record.as_record().clone()).unwrap();
            prop_assert!(again.as_record() == record.as_record());
        }

        /// Whatever is put in place of one number of a record that was stored, it is found, or it keeps to the bounds.
        #[test]
        fn a_record_that_was_damaged_is_refused_or_keeps_to_the_bounds(
            values in prop::collection::vec(-1.0..1.0_f64, 1..8),
            place in any::<prop::sample::Index>(),
            damage in any::<f64>(),
        ) {
            let checker = scaling(values.len(), 1.0);
            let mut record = checker.check(dense(&values, 0.5)).unwrap().as_record().clone();
            let Features::Dense(stored) = &mut record.features else { unreachable!("dense") };
            let place = place.index(stored.len());
            stored[place] = damage;
            let norm = stored.iter().map(|value| value * value).sum::<f64>().sqrt();
            if checker.check_again(record.clone()).is_ok() {
                prop_assert!(norm <= 1.0 + 1e-12);
            } else {
                prop_assert!(!(norm <= 1.0 - 1e-12));
            }
            record.label = damage;
            prop_assert!(checker.check_again(record).is_err() || damage.abs() <= 2.0);
        }
    }

    #[test]
    fn rows_within_the_bounds_are_left_alone() {
        let checker = scaling(2, 1.0);
        assert!(!checker.check(dense(&[0.6, 0.8], -2.0)).unwrap().was_scaled());
        let normalising = RecordChecker { normalise: true, ..checker };
        let record = normalising.check(dense(&[0.0, 0.0], 0.0)).unwrap();
        assert!(*record.as_record() == dense(&[0.0, 0.0], 0.0));
    }

    #[test]
    fn scaling_keeps_the_direction_and_clamping_the_sign() {
        let record = scaling(2, 1.0).check(dense(&[3.0, -4.0], -7.0)).unwrap();
        assert!(record.was_scaled());
        let values: Vec<f64> = record.features().entries().map(|(_, value)| value).collect();
        assert!((values[0] - 0.6).abs() < 1e-14 && (values[1] + 0.8).abs() < 1e-14);
        assert!((record.label() + 2.0).abs() < 1e-14);
    }

    #[test]
    fn refusing_names_the_bound_but_no_value() {
        let refused = |record| refusing(1, 1.0).check(record).unwrap_err().to_string();
        assert_eq!(refused(dense(&[31.25], 0.0)), "feature norm is above the bound 1");
        assert_eq!(refused(dense(&[0.5], 31.25)), "label is above the bound 2 in absolute value");
    }

    #[test]
    fn nan_and_infinity_are_always_refused() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for normalise in [false, true] {
                let checker = RecordChecker { normalise, ..scaling(2, 1.0) };
                for record in [dense(&[0.1, bad], 0.0), dense(&[0.1, 0.1], bad)] {
                    let refused = checker.check(record.clone()).err();
                    assert_eq!(refused, Some(RecordError::NotFinite));
                    assert_eq!(checker.check_again(record).err(), Some(RecordError::NotFinite));
                }
            }
        }
    }

    #[test]
    fn what_was_stored_is_not_scaled_but_refused() {
        // Control: a record that enters is scaled.
        assert!(scaling(1, 1.0).check(dense(&[1.5], 0.0)).is_ok());
        let refused = scaling(1, 1.0).check_again(dense(&[1.5], 0.0)).err();
        assert_eq!(refused, Some(RecordError::FeatureNorm { bound: 1.0 }));
        let refused = scaling(1, 1.0).check_again(dense(&[0.5], 2.5)).err();
        assert_eq!(refused, Some(RecordError::Label { bound: 2.0 }));
    }

    #[test]
    fn a_label_that_is_no_class_is_refused_and_never_scaled() {
        let bounds = bounds(Loss::Softmax { classes: 3 }, 1, 1.0);
        let refusing = RecordChecker::refusing(bounds, MemoryKind::Exact);
        let scaling = RecordChecker { out_of_bounds: OutOfBounds::Scale, ..refusing.clone() };
        for checker in [refusing, scaling] {
            assert!(checker.check(dense(&[0.5], 2.0)).is_ok());
            for label in [3.0, -1.0, 0.5] {
                let refused = checker.check(dense(&[0.5], label)).err();
                assert_eq!(refused, Some(RecordError::Class { last: 2 }));
            }
        }
    }

    #[test]
    fn a_record_tells_for_which_model_it_was_checked() {
        let (checker, record) = (scaling(2, 1.0), dense(&[0.1, 0.2], 1.0));
        let checked = checker.check(record.clone()).unwrap();
        assert!(checker.has_checked(&checked) && refusing(2, 1.0).has_checked(&checked));
        let logistic = RecordChecker::refusing(bounds(Loss::Logistic, 2, 1.0), MemoryKind::Exact);
        let others = [scaling(3, 1.0), scaling(2, 1.0_f64.next_up()), logistic];
        assert!(others.iter().all(|other| !other.has_checked(&checked)));
        let recursive = RecordChecker { separable: true, ..checker.clone() };
        assert!(!recursive.has_checked(&checked));
        assert_eq!(recursive.check(record).err(), Some(RecordError::NotSeparable));
        let single = recursive.check(dense(&[0.0, 0.2], 1.0)).unwrap();
        assert!(recursive.has_checked(&single) && checker.has_checked(&single));
    }

    #[test]
    fn bounds_at_which_norms_lose_their_digits_are_refused() {
        let spec = ModelSpec {
            loss: Loss::Squared,
            features: 1,
            degree: 1,
            ridge: 0.0,
            lasso: 0.0,
            clip: f64::INFINITY,
        };
        for feature_norm in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, 1e-101, 1e101] {
            let bounds = DataBounds { feature_norm, label: 1.0, radius: 1.0 };
            assert!(RecordBounds::new(&spec, &bounds).is_err(), "{feature_norm}");
        }
    }
}
