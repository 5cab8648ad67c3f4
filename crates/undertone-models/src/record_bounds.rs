//! What every record of a model keeps to: the facts that its loss constants follow from.

use crate::{Features, Record, RecordError, SetupError};
use undertone_core::{DataBounds, Loss, ModelSpec};

/// The smallest and largest bound on a norm: between them squares neither overflow nor lose digits.
const FEATURE_NORM_RANGE: (f64, f64) = (1e-100, 1e100);

/// The bounds on the records of one model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RecordBounds {
    features: usize,
    feature_norm: f64,
    labels: Labels,
    id: BoundsId,
}

/// The labels of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Labels {
    /// Whole numbers from 0 to `last`.
    Classes { last: u32 },
    /// Numbers of absolute value at most `bound`.
    Numbers { bound: f64 },
}

/// Tells bounds apart: a record carries that of the bounds it was checked against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BoundsId(u32);

impl BoundsId {
    /// FNV-1a over all facts. It finds mistakes in a program. It is no protection against an attacker.
    fn of(features: usize, feature_norm: f64, labels: Labels) -> BoundsId {
        let (kind, limit) = match labels {
            Labels::Classes { last } => (0, u64::from(last)),
            Labels::Numbers { bound } => (1, bound.to_bits()),
        };
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for word in [features as u64, feature_norm.to_bits(), kind, limit] {
            for byte in word.to_le_bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        let [a, b, c, d, ..] = (hash ^ (hash >> 32)).to_le_bytes();
        BoundsId(u32::from_le_bytes([a, b, c, d]))
    }
}

impl RecordBounds {
    /// The bounds on the records of a model.
    ///
    /// # Errors
    /// When the bound on the norm is NaN, or so small or large that norms cannot be computed, or the bound on
    /// labels is not a number that is finite and at least 0.
    pub(crate) fn new(spec: &ModelSpec, bounds: &DataBounds) -> Result<RecordBounds, SetupError> {
        let (features, feature_norm) = (spec.features, bounds.feature_norm);
        let (least, most) = FEATURE_NORM_RANGE;
        if !(feature_norm >= least && feature_norm <= most) {
            let (setting, range) = ("feature_norm", "1e-100 to 1e100");
            return Err(SetupError::Setting { setting, value: feature_norm, range });
        }
        let label = bounds.label;
        if !(label >= 0.0 && label.is_finite()) {
            let (setting, range) = ("label", "finite and at least 0");
            return Err(SetupError::Setting { setting, value: label, range });
        }
        let labels = match spec.loss {
            Loss::Logistic => Labels::Classes { last: 1 },
            Loss::Softmax { classes } | Loss::Neural { classes, .. } => {
                Labels::Classes { last: classes.saturating_sub(1) }
            }
            Loss::Squared | Loss::Power { .. } | Loss::Huber { .. } | Loss::Declared { .. } => {
                Labels::Numbers { bound: label }
            }
        };
        let id = BoundsId::of(features, feature_norm, labels);
        Ok(RecordBounds { features, feature_norm, labels, id })
    }

    pub(crate) fn id(&self) -> BoundsId {
        self.id
    }

    pub(crate) fn feature_norm(&self) -> f64 {
        self.feature_norm
    }

    /// Whether a record keeps to all of them.
    pub(crate) fn check(&self, record: &Record) -> Result<(), RecordError> {
        self.check_features(&record.features)?;
        self.check_label(record.label)
    }

    /// Whether features without a label, such as a query, keep to them.
    pub(crate) fn check_features(&self, features: &Features) -> Result<(), RecordError> {
        self.check_shape(features)?;
        self.check_norm(features)
    }

    /// Whether there are as many features as the model has, stored as they should be.
    pub(crate) fn check_shape(&self, features: &Features) -> Result<(), RecordError> {
        check_shape(features, self.features)
    }

    /// Whether the norm is within the bound; if so, every feature is finite.
    pub(crate) fn check_norm(&self, features: &Features) -> Result<(), RecordError> {
        let bound = self.feature_norm;
        if features.norm() <= bound {
            Ok(())
        } else if features.is_finite() {
            Err(RecordError::FeatureNorm { bound })
        } else {
            Err(RecordError::NotFinite)
        }
    }

    /// Whether a label is a class, or a number within the bound.
    pub(crate) fn check_label(&self, label: f64) -> Result<(), RecordError> {
        if !label.is_finite() {
            return Err(RecordError::NotFinite);
        }
        match self.labels {
            Labels::Classes { last } => {
                let class = label >= 0.0 && label <= f64::from(last) && label.fract() == 0.0;
                if class { Ok(()) } else { Err(RecordError::Class { last }) }
            }
            Labels::Numbers { bound } if label.abs() <= bound => Ok(()),
            Labels::Numbers { bound } => Err(RecordError::Label { bound }),
        }
    }
}

/// Whether there are as many features as expected, stored as they should be.
pub(crate) fn check_shape(features: &Features, expected: usize) -> Result<(), RecordError> {
    let found = features.dimension();
    if found != expected {
        return Err(RecordError::Dimension { found, expected });
    }
    if let Features::Sparse { dimension, indices, values } = features {
        let increasing = indices.windows(2).all(|pair| pair[0] < pair[1]);
        let inside = indices.last().is_none_or(|last| last < dimension);
        if !(increasing && inside && indices.len() == values.len()) {
            return Err(RecordError::Indices);
        }
    }
    Ok(())
}
