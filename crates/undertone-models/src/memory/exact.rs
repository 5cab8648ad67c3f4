//! The full history: exact for any loss, at a cost that grows with the history.

use super::{add_ridge, inverse_count, observe_batch, write_shape};
use crate::compensated::CompensatedSum;
use crate::history::{BLOCK, History};
use crate::{BoundedRecord, Model};
use std::fmt;
use std::sync::Arc;
use undertone_core::persist::{Fields, Persist};
use undertone_core::{Forgetting, Memory, PowerLaw, Round, Score};

/// Keeps every record and sums all gradients in each round. The reference for the other memories.
///
/// Also holds all records for computing an optimum: see [`Exact::average_loss`] and [`Exact::average_hessian`].
#[derive(Clone)]
pub struct Exact {
    model: Arc<Model>,
    history: History,
    sum: CompensatedSum,
    block: Box<[f64]>,
}

impl Exact {
    /// An empty history.
    #[must_use]
    pub fn new(model: Arc<Model>) -> Exact {
        let n = model.parameters();
        let (sum, block) = (CompensatedSum::zero(n), vec![0.0; n].into_boxed_slice());
        let history = History::new(model.spec().expanded_features());
        Exact { model, history, sum, block }
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Adds records without scoring them.
    ///
    /// # Panics
    /// When a record was checked for another model: a bug in the caller.
    pub fn remember(&mut self, batch: &[BoundedRecord]) {
        for record in batch {
            record.assert_keeps_to(self.model.record_bounds());
            self.history.push(self.model.expand(record.features()).row(), record.label());
        }
    }

    /// The average loss over the history at θ, penalties included; the penalties alone without records.
    #[must_use]
    pub fn average_loss(&self, theta: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (row, label) in self.history.iter() {
            sum += self.model.row_loss(theta, row, label);
        }
        let average = if self.records() == 0 { 0.0 } else { sum * inverse_count(self.records()) };
        average + self.model.penalty(theta)
    }

    /// The share of the history that θ classifies correctly; 0 for regression or without records.
    #[must_use]
    pub fn accuracy(&self, theta: &[f64]) -> f64 {
        let mut score = Score::default();
        for (row, label) in self.history.iter() {
            self.model.score(theta, row, label, &mut score);
        }
        #[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
        let correct = score.correct as f64;
        if score.records == 0 { 0.0 } else { correct * inverse_count(score.records) }
    }

    /// Writes the average Hessian at θ, ridge included, into a dense row-major n×n matrix.
    ///
    /// # Panics
    /// If `out` is not n by n.
    pub fn average_hessian(&self, theta: &[f64], out: &mut [f64]) {
        let n = self.model.parameters();
        assert_eq!(out.len(), n * n, "the Hessian is n by n");
        out.fill(0.0);
        if self.records() > 0 {
            let weight = inverse_count(self.records());
            for (row, label) in self.history.iter() {
                self.model.add_row_hessian(theta, row, label, weight, out);
            }
        }
        for i in 0..n {
            out[i * n + i] += self.model.spec().ridge;
        }
    }

    /// A bound on the machine rounding of `gradient`. See the module docs of [`crate::memory`].
    #[must_use]
    pub fn rounding_error(&self) -> f64 {
        let constants = self.model.constants();
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let (lanes, block) =
            (self.model.spec().expanded_features() as f64 / 4.0 + 4.0, (BLOCK + 8) as f64);
        let curvature = constants.smoothness * self.model.bounds().radius;
        f64::EPSILON / 2.0 * (lanes * curvature + block * constants.gradient_norm)
    }
}

impl Memory for Exact {
    type Record = BoundedRecord;

    fn observe(&mut self, theta: &[f64], batch: &[BoundedRecord]) -> Score {
        let history = &mut self.history;
        observe_batch(&self.model, theta, batch, |row, label| history.push(row, label))
    }

    fn gradient(&mut self, _round: Round, theta: &[f64], out: &mut [f64]) {
        assert_eq!(theta.len(), self.model.parameters(), "θ has one entry for each parameter");
        if self.records() == 0 {
            return out.fill(0.0);
        }
        self.sum.clear();
        self.history.add_gradients(&self.model, theta, 1.0, &mut self.block, &mut self.sum);
        self.sum.write_scaled(inverse_count(self.records()), out);
        add_ridge(&self.model, theta, out);
    }

    fn records(&self) -> u64 {
        self.history.len() as u64
    }

    fn forgetting(&self) -> Forgetting {
        Forgetting::Never
    }

    /// Zero: machine rounding is within the accountant's own charge (module docs of `memory`).
    fn error_bound(&self) -> PowerLaw {
        PowerLaw::ZERO
    }
}

/// Prints the shape only: records are private.
impl fmt::Debug for Exact {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_shape(formatter, "Exact", &self.model, self.records())
    }
}

impl Persist for Exact {
    fn visit(&mut self, fields: &mut dyn Fields) {
        self.history.visit(fields);
    }
}
