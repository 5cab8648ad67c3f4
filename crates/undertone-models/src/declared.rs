//! User-defined losses with declared constants.
//!
//! Gradients longer than the clipping bound are clipped to it, so that the spread C holds for any function. Clipping would
//! invalidate a declared L or μ: if they are declared, a longer gradient is an error.

use crate::row::Row;
use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};
use thiserror::Error;
use undertone_core::LossConstants;

/// A user-defined loss of one record.
///
/// Its results must depend on θ and that record only: a function that remembers other records would let one record change
/// the gradients of all. Records were checked before: there are as many features as the agreement says, finite and within
/// the bound on their norm, and the label is within its bound. A result that is not finite ends the learning.
pub trait DeclaredLoss: Send + Sync {
    /// The loss of a record at θ; `None` on failure. Writes the gradient in θ into `gradient`.
    fn evaluate(
        &self,
        theta: &[f64],
        features: &[f64],
        label: f64,
        gradient: &mut [f64],
    ) -> Option<f64>;

    /// The prediction at θ for features; `None` if there is no prediction function, or on failure.
    fn predict(&self, theta: &[f64], features: &[f64]) -> Option<f64>;
}

/// Why a user-defined loss cannot be used any more.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum DeclaredFault {
    /// The function failed.
    #[error("the loss failed")]
    Failed,
    /// Its value or gradient is NaN or infinite.
    #[error("the loss or its gradient is not finite")]
    NotFinite,
    /// Its gradient is longer than declared.
    #[error(
        "a gradient of the loss is longer than model.clip = {bound}, so clipping it would invalidate the \
         declared L and μ; declare a larger clip, or no L and μ"
    )]
    TooLong {
        /// The clipping bound.
        bound: f64,
    },
}

/// A user-defined loss as the head of a model.
#[derive(Clone)]
pub(crate) struct Declared {
    function: Option<Arc<dyn DeclaredLoss>>,
    /// The largest norm of a gradient.
    clip: f64,
    /// Whether L and μ are declared.
    curvature_is_declared: bool,
    /// The first fault. All results after it are invalid.
    fault: Arc<OnceLock<DeclaredFault>>,
}

impl Declared {
    pub(crate) fn new(clip: f64, curvature_is_declared: bool) -> Declared {
        Declared { function: None, clip, curvature_is_declared, fault: Arc::default() }
    }

    pub(crate) fn with_function(self, function: Arc<dyn DeclaredLoss>) -> Declared {
        Declared { function: Some(function), fault: Arc::default(), ..self }
    }

    pub(crate) fn has_function(&self) -> bool {
        self.function.is_some()
    }

    pub(crate) fn fault(&self) -> Option<DeclaredFault> {
        self.fault.get().copied()
    }

    /// The loss of a record; its gradient, clipped, is in `gradient`. Zero after a fault.
    pub(crate) fn evaluate(
        &self,
        theta: &[f64],
        row: Row<'_>,
        features: usize,
        label: f64,
        gradient: &mut [f64],
    ) -> f64 {
        match self.checked(theta, &dense(row, features), label, gradient) {
            Ok(value) => value,
            Err(fault) => {
                self.fault.get_or_init(|| fault);
                gradient.fill(0.0);
                0.0
            }
        }
    }

    fn checked(
        &self,
        theta: &[f64],
        features: &[f64],
        label: f64,
        gradient: &mut [f64],
    ) -> Result<f64, DeclaredFault> {
        if let Some(fault) = self.fault() {
            return Err(fault);
        }
        let function = self.function.as_ref().ok_or(DeclaredFault::Failed)?;
        gradient.fill(0.0);
        let value = function.evaluate(theta, features, label, gradient);
        let value = value.ok_or(DeclaredFault::Failed)?;
        let largest = gradient.iter().fold(0.0, |most: f64, slope| most.max(slope.abs()));
        let all_finite = gradient.iter().all(|slope| slope.is_finite());
        if !(value.is_finite() && all_finite) {
            return Err(DeclaredFault::NotFinite);
        }
        // Scaled, because squares of larger numbers could overflow.
        let scale = if largest > 1e100 { largest } else { 1.0 };
        let square = |slope: &f64| (slope / scale) * (slope / scale);
        let norm = scale * gradient.iter().map(square).sum::<f64>().sqrt();
        // The constants of the loss allow for this much rounding.
        if norm > self.clip * (1.0 + 0.5 * LossConstants::DECLARED_ROUNDING) {
            if self.curvature_is_declared {
                return Err(DeclaredFault::TooLong { bound: self.clip });
            }
            gradient.iter_mut().for_each(|slope| *slope = *slope / norm * self.clip);
        }
        Ok(value)
    }

    pub(crate) fn predict(&self, theta: &[f64], row: Row<'_>, features: usize) -> f64 {
        let function = self.function.as_ref();
        function.and_then(|f| f.predict(theta, &dense(row, features))).unwrap_or(f64::NAN)
    }
}

fn dense(row: Row<'_>, features: usize) -> Cow<'_, [f64]> {
    match row {
        Row::Dense(values) => Cow::Borrowed(values),
        Row::Compact(_) | Row::Sparse { .. } => {
            let mut values = vec![0.0; features];
            row.add_scaled_to(1.0, &mut values);
            Cow::Owned(values)
        }
    }
}

impl PartialEq for Declared {
    fn eq(&self, other: &Declared) -> bool {
        match (&self.function, &other.function) {
            (Some(mine), Some(theirs)) => Arc::ptr_eq(mine, theirs),
            (None, None) => true,
            _ => false,
        }
    }
}

impl fmt::Debug for Declared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Declared(clip={})", self.clip)
    }
}
