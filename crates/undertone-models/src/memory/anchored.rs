//! A quadratic model of the history at an anchor, recomputed when its error bound exceeds the tolerance.

use super::{add_ridge, inverse_count, observe_batch, unsupported_loss, write_shape};
use crate::compensated::CompensatedSum;
use crate::history::History;
use crate::packed_symmetric::PackedSymmetric;
use crate::scalar_loss::ScalarLoss;
use crate::vector::wide_dot;
use crate::{BoundedRecord, Model, SetupError};
use std::fmt;
use std::sync::Arc;
use undertone_core::persist::{Fields, Persist};
use undertone_core::{Forgetting, Loss, Memory, PowerLaw, Round, Score};

/// The gradient g_a + H_a(θ − θ_a) + rθ at the cost O(n²), within a tolerance of the exact one.
///
/// g_a and H_a are the gradient and Hessian of the whole history at the anchor θ_a; each new record adds its own.
/// As steps shrink θ stays near the anchor, so re-expansions, which cost O(h·n²) or O(h·nonzeros²), become rare. A squared
/// loss never needs one.
///
/// # Guarantee
/// `gradient(t)` is within `tolerance.at(t)` of the exact one. With Δ = θ − θ_a and ‖a‖ ≤ R, a record's error is at most
/// κ·l''(a·θ_a)·(a·Δ)²·‖a‖ with κ of `ScalarLoss::remainder_factor`, hence their average at most κ·R·ΔᵀH_aΔ, where H_aΔ
/// is computed for the gradient. It is also at most M₃/2·R³·‖Δ‖² with M₃ = sup|l'''|. When the bound exceeds the tolerance, θ becomes the
/// anchor and Δ = 0.
#[derive(Clone)]
pub struct Anchored {
    model: Arc<Model>,
    loss: ScalarLoss,
    third_derivative_max: f64,
    /// L of the loss.
    smoothness: f64,
    tolerance: PowerLaw,
    history: History,
    anchor: Box<[f64]>,
    gradient_sum: CompensatedSum,
    hessian_sum: PackedSymmetric,
    /// The smallest l''(a·θ_a) in the Hessian.
    curvature_least: f64,
    offset: Box<[f64]>,
    expansions: u64,
}

impl Anchored {
    /// An empty memory.
    ///
    /// # Errors
    /// For losses without a bounded third derivative, or a tolerance that is not above zero.
    pub fn new(model: Arc<Model>, tolerance: PowerLaw) -> Result<Anchored, SetupError> {
        let (loss, third_derivative_max) = check_model(&model, tolerance)?;
        let n = model.parameters();
        let zeros = vec![0.0; n].into_boxed_slice();
        Ok(Anchored {
            smoothness: model.constants().smoothness,
            model,
            loss,
            third_derivative_max,
            tolerance,
            history: History::new(n),
            anchor: zeros.clone(),
            gradient_sum: CompensatedSum::zero(n),
            hessian_sum: PackedSymmetric::zero(n),
            curvature_least: f64::INFINITY,
            offset: zeros,
            expansions: 0,
        })
    }

    /// How often the history was expanded at a new anchor.
    #[must_use]
    pub fn expansions(&self) -> u64 {
        self.expansions
    }

    /// The error bound of the model at the current offset Δ, given the sum of Hessians times Δ. Includes an upper bound on
    /// machine rounding.
    fn error_at_offset(&self, product: &[f64]) -> f64 {
        let norm = self.model.expanded_norm();
        let square = wide_dot(&self.offset, &self.offset);
        let crude = 0.5 * self.third_derivative_max * norm * norm * norm * square;
        #[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
        let (records, parameters) = (self.history.len() as f64, self.anchor.len() as f64);
        let average = wide_dot(&self.offset, product) / records;
        // The sum has lost at most h/2 roundings of h·sup|l''|·R² ≤ h·L; see `Moments::rounding_error`.
        let rounding = f64::EPSILON * (records + parameters + 16.0) * self.smoothness * square;
        let reach = norm * square.sqrt();
        let factor =
            self.loss.remainder_factor(self.third_derivative_max, self.curvature_least, reach);
        crude.min(factor * norm * (average.max(0.0) + rounding)) * (1.0 + 1e-9)
    }

    /// Makes θ the anchor and expands the whole history there.
    fn expand_at(&mut self, theta: &[f64]) {
        self.expansions += 1;
        self.anchor.copy_from_slice(theta);
        self.gradient_sum.clear();
        self.hessian_sum.clear();
        self.curvature_least = f64::INFINITY;
        // Blocks of plain sums, as in `History::add_gradients`; here the scores are used for the Hessian too. `offset`
        // serves as the buffer of a block, because it becomes zero anyway.
        self.offset.fill(0.0);
        for (k, (row, label)) in self.history.iter().enumerate() {
            let z = row.dot(theta);
            row.add_scaled_to(self.loss.first_derivative(z, label), &mut self.offset);
            let curvature = self.loss.second_derivative(z, label);
            self.curvature_least = self.curvature_least.min(curvature);
            self.hessian_sum.add_outer(curvature, row);
            if (k + 1) % crate::history::BLOCK == 0 {
                self.gradient_sum.add(&self.offset);
                self.offset.fill(0.0);
            }
        }
        self.gradient_sum.add(&self.offset);
        self.offset.fill(0.0);
    }
}

/// Checks that the third derivative of the loss is bounded; returns the loss and that bound.
pub(super) fn check_model(
    model: &Model,
    tolerance: PowerLaw,
) -> Result<(ScalarLoss, f64), SetupError> {
    super::check_second_moments("anchored", model)?;
    super::check_unclipped("anchored", model)?;
    let PowerLaw { initial, exponent } = tolerance;
    if !(initial > 0.0 && initial.is_finite() && exponent.is_finite()) {
        return Err(SetupError::Tolerance { initial, exponent });
    }
    let bounds = model.bounds();
    // Only the power loss depends on the residual.
    let residual = model.expanded_norm() * bounds.radius + bounds.label;
    let loss = model.spec().loss;
    let scalar = match loss {
        Loss::Squared | Loss::Power { .. } | Loss::Logistic => model.scalar_loss(),
        Loss::Huber { .. } | Loss::Softmax { .. } | Loss::Neural { .. } | Loss::Declared { .. } => {
            None
        }
    };
    scalar
        .and_then(|scalar| Some((scalar, scalar.third_derivative_max(residual)?)))
        .ok_or(unsupported_loss("anchored", loss, "exact"))
}

impl Memory for Anchored {
    type Record = BoundedRecord;

    fn observe(&mut self, theta: &[f64], batch: &[BoundedRecord]) -> Score {
        if self.history.len() == 0 && theta.len() == self.anchor.len() {
            self.anchor.copy_from_slice(theta);
        }
        let Anchored { model, loss, history, anchor, gradient_sum, hessian_sum, .. } = self;
        let curvature_least = &mut self.curvature_least;
        observe_batch(model, theta, batch, |row, label| {
            let z = row.dot(anchor);
            let (slope, curvature) =
                (loss.first_derivative(z, label), loss.second_derivative(z, label));
            for (index, value) in row.entries() {
                gradient_sum.add_at(index, slope * value);
            }
            *curvature_least = curvature_least.min(curvature);
            hessian_sum.add_outer(curvature, row);
            history.push(row, label);
        })
    }

    fn gradient(&mut self, round: Round, theta: &[f64], out: &mut [f64]) {
        let n = self.model.parameters();
        assert!(theta.len() == n && out.len() == n, "one entry for each parameter");
        if self.history.len() == 0 {
            return out.fill(0.0);
        }
        for ((slot, &x), &anchor) in self.offset.iter_mut().zip(theta).zip(&self.anchor) {
            *slot = x - anchor;
        }
        self.hessian_sum.multiply_into(&self.offset, out);
        if !(self.error_at_offset(out) <= self.tolerance.at(round)) {
            self.expand_at(theta);
            out.fill(0.0);
        }
        let weight = inverse_count(self.records());
        for (index, slot) in out.iter_mut().enumerate() {
            *slot = weight * (*slot + self.gradient_sum.get(index));
        }
        add_ridge(&self.model, theta, out);
    }

    fn records(&self) -> u64 {
        self.history.len() as u64
    }

    fn forgetting(&self) -> Forgetting {
        Forgetting::Never
    }

    /// The tolerance.
    fn error_bound(&self) -> PowerLaw {
        self.tolerance
    }
}

/// Prints the shape only: history and model are private.
impl fmt::Debug for Anchored {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_shape(formatter, "Anchored", &self.model, self.records())
    }
}

impl Persist for Anchored {
    fn visit(&mut self, fields: &mut dyn Fields) {
        self.history.visit(fields);
        fields.numbers(&mut self.anchor);
        self.gradient_sum.visit(fields);
        self.hessian_sum.visit(fields);
        fields.number(&mut self.curvature_least);
        fields.count(&mut self.expansions);
    }
}
