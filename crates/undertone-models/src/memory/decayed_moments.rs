//! Sufficient statistics of the squared loss with exponential weights.

use super::{add_ridge, constant, observe_batch, unsupported_loss, write_shape};
use crate::bounded_record::visit_bounded_records;
use crate::compensated::CompensatedSum;
use crate::row::Row;
use crate::{BoundedRecord, Model, SetupError};
use std::fmt;
use std::sync::Arc;
use undertone_core::persist::{Fields, Persist};
use undertone_core::{Forgetting, Loss, Memory, MemoryKind, PowerLaw, Round, Score};

/// The gradient (Sθ − q)/w + rθ at the cost O(n²), where S = Σ g·aaᵀ, q = Σ g·ba, w = Σ g and the weight g
/// of a record is 1/f times that of a record of the round before.
///
/// The weights of new records grow, instead of old sums shrinking: multiplying the sums by f in every round would round
/// them about 1/(1 − f) times. When weights become too large, all sums are divided by a power of two, which is exact.
#[derive(Clone)]
pub struct DecayedMoments {
    model: Arc<Model>,
    factor: f64,
    /// The round whose records have the weight `weight`.
    round: Round,
    weight: f64,
    total: f64,
    /// The entries of S on and below the diagonal, row by row.
    second: CompensatedSum,
    first: CompensatedSum,
    /// Records observed since the last gradient, whose round is not yet known.
    pending: Vec<BoundedRecord>,
    records: u64,
}

/// Weights above this are rescaled to between 1 and 2.
const WEIGHT_MAX: f64 = 18_446_744_073_709_551_616.0;

impl DecayedMoments {
    /// An empty memory.
    ///
    /// # Errors
    /// For any loss but the squared one.
    pub fn new(model: Arc<Model>, factor: f64) -> Result<DecayedMoments, SetupError> {
        check_model(&model)?;
        let n = model.parameters();
        Ok(DecayedMoments {
            factor,
            round: Round::ZERO,
            weight: 1.0,
            total: 0.0,
            second: CompensatedSum::zero(n * (n + 1) / 2),
            first: CompensatedSum::zero(n),
            pending: Vec::new(),
            records: 0,
            model,
        })
    }

    fn kind(&self) -> MemoryKind {
        MemoryKind::Decaying { factor: self.factor, rounds: None }
    }

    /// Adds the pending records with the weight of the given round.
    fn end_round(&mut self, round: Round) {
        if self.pending.is_empty() {
            return;
        }
        assert!(round >= self.round, "rounds must not decrease");
        self.grow_weight(round.0 - self.round.0);
        self.round = round;
        for record in std::mem::take(&mut self.pending) {
            let model = Arc::clone(&self.model);
            self.remember(model.expand(record.features()).row(), record.label());
        }
    }

    /// Multiplies the weight by f^−1 for every round passed, and rescales if it becomes too large.
    fn grow_weight(&mut self, rounds: u64) {
        #[expect(clippy::cast_precision_loss, reason = "rounds stay below 2^32")]
        let doublings = -self.factor.log2() * rounds as f64;
        let whole = doublings.floor();
        let grown = self.weight * (doublings - whole).exp2();
        if whole <= 0.0 && grown < WEIGHT_MAX {
            self.weight = grown;
            return;
        }
        // The unit becomes the power of two at or below the new weight.
        let units = grown.log2().floor();
        self.weight = grown * (-units).exp2();
        let shrink = (-(units + whole)).exp2();
        self.total *= shrink;
        self.second.scale(shrink);
        self.first.scale(shrink);
    }

    fn remember(&mut self, row: Row<'_>, label: f64) {
        self.total += self.weight;
        for (i, value) in row.nonzeros() {
            let weighted = self.weight * value;
            self.first.add_at(i, weighted * label);
            for (j, other) in row.nonzeros().take_while(|&(j, _)| j <= i) {
                self.second.add_at(i * (i + 1) / 2 + j, weighted * other);
            }
        }
    }
}

/// Checks that the gradient of a model is linear in θ.
pub(super) fn check_model(model: &Model) -> Result<(), SetupError> {
    super::check_second_moments("decaying", model)?;
    super::check_unclipped("decaying", model)?;
    match model.spec().loss {
        Loss::Squared => Ok(()),
        loss @ (Loss::Power { .. }
        | Loss::Huber { .. }
        | Loss::Logistic
        | Loss::Softmax { .. }
        | Loss::Neural { .. }
        | Loss::Declared { .. }) => {
            Err(unsupported_loss("decaying without a cut-off", loss, "decaying with one"))
        }
    }
}

/// A bound on the rounding of the gradient: u·((n + 8)·R²·B + 8·R·b), whatever the number of records.
///
/// An entry of S or q sums terms of three roundings with a compensated error of 2u of their absolute
/// values; the product with θ adds n roundings, q, the division and the ridge a few more. Norms:
/// ‖Σ g|a||a|ᵀ‖ ≤ R²w and ‖Σ g|b||a|‖ ≤ R·b·w. The rounding of the weights and of their sum scales
/// the gradients of both histories by the same public factor.
pub(super) fn rounding_bound(model: &Model) -> f64 {
    let norm = model.spec().expanded_feature_norm(model.bounds());
    #[expect(clippy::cast_precision_loss, reason = "dimensions stay far below 2^53")]
    let width = model.parameters() as f64 + 8.0;
    let bounds = model.bounds();
    f64::EPSILON / 2.0 * (width * norm * norm * bounds.radius + 8.0 * norm * bounds.label)
}

impl Memory for DecayedMoments {
    type Record = BoundedRecord;

    fn observe(&mut self, theta: &[f64], batch: &[BoundedRecord]) -> Score {
        let score = observe_batch(&self.model, theta, batch, |_, _| ());
        self.pending.extend_from_slice(batch);
        self.records += batch.len() as u64;
        score
    }

    fn gradient(&mut self, round: Round, theta: &[f64], out: &mut [f64]) {
        assert_eq!(theta.len(), self.model.parameters(), "θ has one entry for each parameter");
        self.end_round(round);
        if self.records == 0 {
            return out.fill(0.0);
        }
        out.fill(0.0);
        let mut row_start = 0;
        for (i, &x) in theta.iter().enumerate() {
            let mut sum = 0.0;
            for (j, &y) in theta[..i].iter().enumerate() {
                let entry = self.second.get(row_start + j);
                sum += entry * y;
                out[j] += entry * x;
            }
            out[i] += sum + self.second.get(row_start + i) * x;
            row_start += i + 1;
        }
        for (index, slot) in out.iter_mut().enumerate() {
            *slot = (*slot - self.first.get(index)) / self.total;
        }
        add_ridge(&self.model, theta, out);
    }

    fn records(&self) -> u64 {
        self.records
    }

    fn forgetting(&self) -> Forgetting {
        self.kind().forgetting()
    }

    /// The bound on rounding, charged because steps need not shrink here.
    fn error_bound(&self) -> PowerLaw {
        constant(rounding_bound(&self.model))
    }
}

/// Prints the shape only: moments are private.
impl fmt::Debug for DecayedMoments {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_shape(formatter, "DecayedMoments", &self.model, self.records)
    }
}

impl Persist for DecayedMoments {
    fn visit(&mut self, fields: &mut dyn Fields) {
        fields.count(&mut self.round.0);
        fields.number(&mut self.weight);
        fields.number(&mut self.total);
        self.second.visit(fields);
        self.first.visit(fields);
        let checker = self.model.record_checker(self.kind());
        visit_bounded_records(fields, &mut self.pending, |record| checker.check_again(record));
        fields.count(&mut self.records);
    }
}
