//! Sufficient statistics of the squared loss: S = Σaaᵀ and q = Σba.

use super::{add_ridge, inverse_count, observe_batch, unsupported_loss, write_shape};
use crate::compensated::CompensatedSum;
use crate::packed_symmetric::PackedSymmetric;
use crate::{BoundedRecord, Model, SetupError};
use std::fmt;
use std::sync::Arc;
use undertone_core::persist::{Fields, Persist};
use undertone_core::{Forgetting, Loss, Memory, PowerLaw, Round, Score};

/// The gradient (Sθ − q)/h + rθ at the cost O(n²), exact for the squared loss.
///
/// Stores at most n(n+1)/2 + 9n numbers: 59 kB for n = 112.
#[derive(Clone)]
pub struct Moments {
    model: Arc<Model>,
    records: u64,
    second: PackedSymmetric,
    first: CompensatedSum,
}

impl Moments {
    /// An empty memory.
    ///
    /// # Errors
    /// For any loss but the squared one.
    pub fn new(model: Arc<Model>) -> Result<Moments, SetupError> {
        check_model(&model)?;
        let n = model.parameters();
        let (second, first) = (PackedSymmetric::zero(n), CompensatedSum::zero(n));
        Ok(Moments { model, records: 0, second, first })
    }

    /// A bound on the machine rounding of `gradient`. See the module docs of [`crate::memory`].
    ///
    /// Adding the k-th record rounds S by at most u·‖S_k‖ ≤ u·k·R² in Frobenius norm, h²/2·u·R² over all. Each term of the
    /// product with θ is rounded as `PackedSymmetric::multiply_into` says, and the sum twice more. The ridge joins it with
    /// r·θ, rounded twice: L = R² + r covers both.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
    pub fn rounding_error(&self) -> f64 {
        let (bounds, norm) = (self.model.bounds(), self.model.expanded_norm());
        let smoothness = self.model.constants().smoothness;
        let (records, n) = (self.records as f64, self.model.parameters() as f64);
        let terms = records / 2.0 + n.min(n / 4.0 + 6.0) + records.min(7.0) + 4.0;
        f64::EPSILON / 2.0 * (terms * smoothness * bounds.radius + 6.0 * norm * bounds.label)
    }
}

/// Checks that the gradient of a model is linear in θ.
pub(super) fn check_model(model: &Model) -> Result<(), SetupError> {
    super::check_second_moments("moments", model)?;
    super::check_unclipped("moments", model)?;
    match model.spec().loss {
        Loss::Squared => Ok(()),
        loss @ (Loss::Power { .. } | Loss::Logistic) => {
            Err(unsupported_loss("moments", loss, "anchored or exact"))
        }
        loss @ (Loss::Huber { .. }
        | Loss::Softmax { .. }
        | Loss::Neural { .. }
        | Loss::Declared { .. }) => Err(unsupported_loss("moments", loss, "exact")),
    }
}

impl Memory for Moments {
    type Record = BoundedRecord;

    fn observe(&mut self, theta: &[f64], batch: &[BoundedRecord]) -> Score {
        let Moments { model, records, second, first } = self;
        observe_batch(model, theta, batch, |row, label| {
            second.add_outer(1.0, row);
            for (index, value) in row.entries() {
                first.add_at(index, label * value);
            }
            *records += 1;
        })
    }

    fn gradient(&mut self, _round: Round, theta: &[f64], out: &mut [f64]) {
        if self.records == 0 {
            return out.fill(0.0);
        }
        self.second.multiply_into(theta, out);
        let weight = inverse_count(self.records);
        for (index, slot) in out.iter_mut().enumerate() {
            *slot = weight * (*slot - self.first.get(index));
        }
        add_ridge(&self.model, theta, out);
    }

    fn records(&self) -> u64 {
        self.records
    }

    fn forgetting(&self) -> Forgetting {
        Forgetting::Never
    }

    /// Zero: machine rounding is within the accountant's own charge (module docs of `memory`).
    fn error_bound(&self) -> PowerLaw {
        PowerLaw::ZERO
    }
}

/// Prints the shape only: moments are private.
impl fmt::Debug for Moments {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_shape(formatter, "Moments", &self.model, self.records)
    }
}

impl Persist for Moments {
    fn visit(&mut self, fields: &mut dyn Fields) {
        fields.count(&mut self.records);
        self.second.visit(fields);
        self.first.visit(fields);
    }
}
