//! A model: a loss with its features, penalties and data bounds.
//!
//! Read next: `memory`, which averages over the history of a stream.

use crate::declared::{Declared, DeclaredFault, DeclaredLoss};
use crate::monomials::{monomial_count, visit_monomials};
use crate::record_bounds::RecordBounds;
use crate::row::Row;
use crate::scalar_loss::{ScalarLoss, Slope, sigmoid};
use crate::softmax::Softmax;
use crate::vector;
use crate::{Features, Record, RecordChecker, SetupError};
use std::borrow::Cow;
use std::sync::Arc;
use undertone_core::{DataBounds, Loss, LossConstants, MemoryKind, ModelSpec, Score};

/// A model: the loss of one record, its derivatives, and the bounds on records.
///
/// Every method takes records before expansion; monomials are expanded inside. Penalties are not part
/// of the loss: see [`Model::penalty`].
///
/// # Example
/// ```
/// use undertone_core::{DataBounds, Loss, ModelSpec};
/// use undertone_models::{Features, Model, Record};
///
/// let spec =
///     ModelSpec { loss: Loss::Logistic, features: 2, degree: 1, ridge: 0.01, lasso: 0.0, clip: f64::INFINITY };
/// let model = Model::new(spec, DataBounds { feature_norm: 1.0, label: 1.0, radius: 10.0 })?;
/// let record = Record { features: Features::Dense([0.6, -0.8].into()), label: 1.0 };
/// assert!((model.loss(&[0.0, 0.0], &record) - 2.0_f64.ln()).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    spec: ModelSpec,
    bounds: DataBounds,
    record_bounds: RecordBounds,
    head: Head,
    parameters: usize,
}

/// The loss as a function of scores.
#[derive(Clone, Debug, PartialEq)]
enum Head {
    Scalar(ScalarLoss),
    Softmax(Softmax),
    Declared(Declared),
}

impl Head {
    fn of(spec: &ModelSpec) -> Head {
        Head::Scalar(match spec.loss {
            Loss::Squared => ScalarLoss::Squared,
            Loss::Power { degree } => ScalarLoss::Power { degree: degree.cast_signed() },
            Loss::Huber { threshold } => ScalarLoss::Huber { threshold },
            Loss::Logistic => ScalarLoss::Logistic,
            // `Model::new` refuses neural networks.
            Loss::Softmax { classes } | Loss::Neural { classes, .. } => {
                return Head::Softmax(Softmax { classes: classes as usize });
            }
            Loss::Declared { curvature, .. } => {
                return Head::Declared(Declared::new(spec.clip, curvature.is_some()));
            }
        })
    }
}

impl Model {
    /// The largest number of parameters a model may have.
    pub const PARAMETERS_MAX: usize = 1 << 28;

    /// A model under public bounds.
    ///
    /// # Errors
    /// Names the first setting outside its range, or a model too large to index.
    pub fn new(spec: ModelSpec, bounds: DataBounds) -> Result<Model, SetupError> {
        #[expect(clippy::cast_precision_loss, reason = "only compared with small numbers")]
        let features = spec.features as f64;
        let within = |setting, value: f64, holds: bool, range| {
            if holds && value.is_finite() {
                Ok(())
            } else {
                Err(SetupError::Setting { setting, value, range })
            }
        };
        within("features", features, spec.features > 0, "at least 1")?;
        within("degree", spec.degree.into(), (1..=64).contains(&spec.degree), "1 to 64")?;
        within("ridge", spec.ridge, spec.ridge >= 0.0, "finite and at least 0")?;
        // Refuses NaN and 0; infinity means no clipping.
        within("clip", spec.clip.min(f64::MAX), spec.clip > 0.0, "above 0")?;
        within("lasso", spec.lasso, spec.lasso >= 0.0, "finite and at least 0")?;
        let record_bounds = RecordBounds::new(&spec, &bounds)?;
        within("radius", bounds.radius, bounds.radius > 0.0, "finite and above 0")?;
        match spec.loss {
            Loss::Squared | Loss::Logistic => {}
            Loss::Power { degree } => {
                let even = degree % 2 == 0 && (2..=64).contains(&degree);
                within("loss.degree", degree.into(), even, "even, 2 to 64")?;
            }
            Loss::Huber { threshold } => {
                within("loss.threshold", threshold, threshold > 0.0, "finite and above 0")?;
            }
            Loss::Neural { .. } => return Err(SetupError::NoLayers),
            Loss::Declared { .. } => within("clip", spec.clip, true, "finite and above 0")?,
            Loss::Softmax { classes } => {
                within("loss.classes", classes.into(), classes >= 2, "at least 2")?;
            }
        }
        let (limit, parameters) = (Model::PARAMETERS_MAX, spec.parameters());
        if spec.features > limit || parameters > limit {
            let (features, degree) = (spec.features, spec.degree);
            return Err(SetupError::TooManyParameters { features, degree, limit });
        }
        let head = Head::of(&spec);
        Ok(Model { spec, bounds, record_bounds, head, parameters })
    }

    /// The same model with the user-defined function that a declared loss needs.
    ///
    /// # Panics
    /// When the loss is not declared: a bug in the caller.
    #[must_use]
    pub fn with_function(self, function: Arc<dyn DeclaredLoss>) -> Model {
        let Head::Declared(declared) = self.head else {
            unreachable!("only a declared loss takes a user-defined function");
        };
        Model { head: Head::Declared(declared.with_function(function)), ..self }
    }

    /// Whether the loss is declared and its function is missing.
    #[must_use]
    pub fn lacks_function(&self) -> bool {
        matches!(&self.head, Head::Declared(declared) if !declared.has_function())
    }

    /// Whether the loss is user-defined.
    #[must_use]
    pub fn is_declared(&self) -> bool {
        matches!(self.head, Head::Declared(_))
    }

    /// The first fault of a user-defined loss. All results after it are invalid.
    #[must_use]
    pub fn declared_fault(&self) -> Option<DeclaredFault> {
        match &self.head {
            Head::Declared(declared) => declared.fault(),
            Head::Scalar(_) | Head::Softmax(_) => None,
        }
    }

    /// The same model without clipping, for evaluation.
    #[must_use]
    pub fn unclipped(&self) -> Model {
        Model { spec: ModelSpec { clip: f64::INFINITY, ..self.spec }, ..self.clone() }
    }

    /// The number n of parameters.
    #[must_use]
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// The specification of the model.
    #[must_use]
    pub fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    /// The public bounds on records and parameters.
    #[must_use]
    pub fn bounds(&self) -> &DataBounds {
        &self.bounds
    }

    /// L, μ, C and G under the bounds.
    #[must_use]
    pub fn constants(&self) -> LossConstants {
        self.spec.constants(&self.bounds)
    }

    /// A bound on the norm of the features after expansion.
    #[must_use]
    pub fn expanded_norm(&self) -> f64 {
        self.spec.expanded_feature_norm(&self.bounds)
    }

    /// Checks records for this model and a kind of memory; refuses every record above the bounds.
    #[must_use]
    pub fn record_checker(&self, memory: MemoryKind) -> RecordChecker {
        RecordChecker::refusing(self.record_bounds, memory)
    }

    pub(crate) fn record_bounds(&self) -> &RecordBounds {
        &self.record_bounds
    }

    /// The features the parameters multiply: all monomials up to the model's degree, constant first, then by
    /// degree, then in colexicographic order. Degree 1 leaves the features as they are.
    #[must_use]
    pub fn expand<'a>(&self, features: &'a Features) -> Cow<'a, Features> {
        if self.spec.degree <= 1 {
            return Cow::Borrowed(features);
        }
        let entries: Vec<(usize, f64)> = features.row().nonzeros().collect();
        let dimension = self.spec.expanded_features();
        let (mut indices, mut values) = (Vec::new(), Vec::new());
        let mut offset = 0_usize;
        for degree in 0..=self.spec.degree {
            visit_monomials(&entries, degree, &mut |number, value| {
                indices.push(u32::try_from(offset + number).unwrap_or(u32::MAX));
                values.push(value);
            });
            offset += monomial_count(self.spec.features, degree).unwrap_or(usize::MAX);
        }
        let dimension_u32 = u32::try_from(dimension).unwrap_or(u32::MAX);
        if values.len() * 2 < dimension {
            let (indices, values) = (indices.into(), values.into());
            return Cow::Owned(Features::Sparse { dimension: dimension_u32, indices, values });
        }
        let mut dense = vec![0.0; dimension];
        for (index, value) in indices.into_iter().zip(values) {
            dense[index as usize] = value;
        }
        Cow::Owned(Features::Dense(dense.into()))
    }

    /// The loss of one record at θ, without penalties.
    ///
    /// # Panics
    /// If θ or the record has the wrong dimension: check records first.
    #[must_use]
    pub fn loss(&self, theta: &[f64], record: &Record) -> f64 {
        self.row_loss(theta, self.expand_checked(theta, &record.features).row(), record.label)
    }

    /// The penalties at θ: (r/2)‖θ‖² + α‖θ‖₁.
    #[must_use]
    pub fn penalty(&self, theta: &[f64]) -> f64 {
        let squares: f64 = theta.iter().map(|x| x * x).sum();
        let absolutes: f64 = theta.iter().map(|x| x.abs()).sum();
        0.5 * self.spec.ridge * squares + self.spec.lasso * absolutes
    }

    /// Adds `weight` times the gradient of one record's loss at θ to `out`, clipped, without penalties.
    ///
    /// The ridge term r·θ is added once by a memory, and ‖θ‖₁ is the learner's proximal step.
    ///
    /// # Panics
    /// If θ, the record or `out` has the wrong dimension: check records first.
    pub fn add_gradient(&self, theta: &[f64], record: &Record, weight: f64, out: &mut [f64]) {
        assert_eq!(out.len(), self.parameters, "the gradient has one entry for each parameter");
        let features = self.expand_checked(theta, &record.features);
        self.add_row_gradient(theta, features.row(), record.label, weight, out);
    }

    /// Adds `weight` times the Hessian of one record's loss at θ to a dense row-major n×n matrix.
    ///
    /// For Huber's loss this is the generalised Hessian.
    ///
    /// # Panics
    /// If θ, the record or `out` has the wrong dimension: check records first. Also for a
    /// user-defined loss, whose Hessian is not known.
    pub fn add_hessian(&self, theta: &[f64], record: &Record, weight: f64, out: &mut [f64]) {
        assert_eq!(out.len(), self.parameters * self.parameters, "the Hessian is n by n");
        let features = self.expand_checked(theta, &record.features);
        self.add_row_hessian(theta, features.row(), record.label, weight, out);
    }

    /// The predicted value, or the predicted class (the smallest one of equal scores).
    ///
    /// # Panics
    /// If θ or the features have the wrong dimension: see [`RecordChecker::check_features`].
    #[must_use]
    pub fn predict(&self, theta: &[f64], features: &Features) -> f64 {
        self.row_prediction(theta, self.expand_checked(theta, features).row())
    }

    /// The probability of each class, or `None` for regression.
    ///
    /// # Panics
    /// If θ or the features have the wrong dimension: see [`RecordChecker::check_features`].
    #[must_use]
    pub fn probabilities(&self, theta: &[f64], features: &Features) -> Option<Vec<f64>> {
        let features = self.expand_checked(theta, features);
        match &self.head {
            Head::Scalar(ScalarLoss::Logistic) => {
                let z = features.row().dot(theta);
                Some(vec![sigmoid(-z), sigmoid(z)])
            }
            Head::Scalar(_) | Head::Declared(_) => None,
            Head::Softmax(softmax) => Some(softmax.probabilities(theta, features.row())),
        }
    }

    fn expand_checked<'a>(&self, theta: &[f64], features: &'a Features) -> Cow<'a, Features> {
        assert_eq!(theta.len(), self.parameters, "θ has one entry for each parameter");
        assert_eq!(
            features.dimension(),
            self.spec.features,
            "the record has the features of the model"
        );
        self.expand(features)
    }

    /// The loss as a function of one score; `None` for softmax and user-defined losses.
    pub(crate) fn scalar_loss(&self) -> Option<ScalarLoss> {
        match &self.head {
            Head::Scalar(loss) => Some(*loss),
            Head::Softmax(_) | Head::Declared(_) => None,
        }
    }

    /// Computes slopes of this weight from scores; `None` if the loss is not a function of one score.
    pub(crate) fn slope(&self, weight: f64) -> Option<Slope> {
        self.scalar_loss().map(|loss| Slope { loss, clip: self.spec.clip, weight })
    }

    /// The scores of several classes, if the loss is a function of these.
    pub(crate) fn softmax(&self) -> Option<Softmax> {
        match &self.head {
            Head::Softmax(softmax) => Some(*softmax),
            Head::Scalar(_) | Head::Declared(_) => None,
        }
    }

    #[inline]
    pub(crate) fn row_loss(&self, theta: &[f64], row: Row<'_>, label: f64) -> f64 {
        match &self.head {
            Head::Scalar(loss) => loss.value(row.dot(theta), label),
            Head::Softmax(softmax) => softmax.value(theta, row, label),
            Head::Declared(declared) => {
                let mut gradient = vec![0.0; self.parameters];
                declared.evaluate(theta, row, self.spec.features, label, &mut gradient)
            }
        }
    }

    #[inline]
    pub(crate) fn add_row_gradient(
        &self,
        theta: &[f64],
        row: Row<'_>,
        label: f64,
        weight: f64,
        out: &mut [f64],
    ) {
        match &self.head {
            Head::Scalar(loss) => {
                let slope = Slope { loss: *loss, clip: self.spec.clip, weight };
                row.add_scaled_to(slope.at(row.dot(theta), label), out);
            }
            Head::Softmax(softmax) => {
                softmax.add_gradient(theta, row, label, weight, self.spec.clip, out);
            }
            Head::Declared(declared) => {
                let mut gradient = vec![0.0; self.parameters];
                declared.evaluate(theta, row, self.spec.features, label, &mut gradient);
                Row::Dense(&gradient).add_scaled_to(weight, out);
            }
        }
    }

    pub(crate) fn add_row_hessian(
        &self,
        theta: &[f64],
        row: Row<'_>,
        label: f64,
        weight: f64,
        out: &mut [f64],
    ) {
        match &self.head {
            Head::Scalar(loss) => {
                let curvature = weight * loss.second_derivative(row.dot(theta), label);
                for (i, value) in row.nonzeros() {
                    let line = &mut out[i * self.parameters..(i + 1) * self.parameters];
                    row.add_scaled_to(curvature * value, line);
                }
            }
            Head::Softmax(softmax) => softmax.add_hessian(theta, row, weight, out),
            Head::Declared(_) => unreachable!("the Hessian of a user-defined loss is not known"),
        }
    }

    pub(crate) fn row_prediction(&self, theta: &[f64], row: Row<'_>) -> f64 {
        match &self.head {
            Head::Scalar(ScalarLoss::Logistic) => f64::from(row.dot(theta) > 0.0),
            Head::Scalar(_) => row.dot(theta),
            Head::Declared(declared) => declared.predict(theta, row, self.spec.features),
            Head::Softmax(softmax) => {
                let mut best = (0_u32, f64::NEG_INFINITY);
                for (class, score) in (0..).zip(softmax.scores(theta, row)) {
                    if score > best.1 {
                        best = (class, score);
                    }
                }
                f64::from(best.0)
            }
        }
    }

    /// Adds one record to a score: its loss without penalties, and whether its class was predicted.
    pub(crate) fn score(&self, theta: &[f64], row: Row<'_>, label: f64, score: &mut Score) {
        if let Head::Scalar(loss) = &self.head {
            return vector::add_to_score(*loss, &mut [row.dot(theta)], &[label], score);
        }
        score.records += 1;
        score.loss_sum += self.row_loss(theta, row, label);
        if matches!(self.head, Head::Softmax(_)) {
            let predicted = self.row_prediction(theta, row);
            score.correct += u64::from((predicted - label).abs() < 0.5);
        }
    }
}
