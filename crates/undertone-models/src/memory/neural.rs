//! Memories for neural networks: gradients of all or recent records in every round, or of each record once.

use super::inverse_count;
use crate::BoundedRecord;
use crate::compensated::CompensatedSum;
use crate::neural_model::{NeuralModel, PackedRecords};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use undertone_core::persist::{Fields, Persist};
use undertone_core::{Forgetting, Memory, PowerLaw, Round, Score};

/// Keeps all records, or those of the last rounds, and sums their gradients in each round.
#[derive(Clone)]
pub struct NeuralHistory {
    model: Arc<NeuralModel>,
    /// Rounds after which a record is dropped; `None` keeps all.
    window: Option<u64>,
    kept: PackedRecords,
    /// Rounds with the number of records that arrived in each, oldest first.
    arrivals: VecDeque<(Round, usize)>,
    /// Records observed since the last gradient, whose round has not ended.
    pending: PackedRecords,
    records: u64,
}

impl NeuralHistory {
    /// An empty history.
    #[must_use]
    pub fn new(model: Arc<NeuralModel>, window: Option<u64>) -> NeuralHistory {
        NeuralHistory {
            model,
            window,
            kept: PackedRecords::default(),
            arrivals: VecDeque::new(),
            pending: PackedRecords::default(),
            records: 0,
        }
    }

    /// The score of θ on the kept records.
    #[must_use]
    pub fn score(&self, theta: &[f64]) -> Score {
        self.model.score(theta, &self.kept)
    }

    /// Moves the pending records into the history under this round, and drops old ones.
    pub fn end_round(&mut self, round: Round) {
        if self.pending.len() > 0 {
            self.arrivals.push_back((round, self.pending.len()));
            self.kept.append(&mut self.pending);
        }
        let Some(window) = self.window else { return };
        while let Some(&(arrival, count)) = self.arrivals.front() {
            if round.0 - arrival.0 < window {
                break;
            }
            self.kept.drop_first(count, self.model.spec().features);
            self.arrivals.pop_front();
        }
    }
}

impl Memory for NeuralHistory {
    type Record = BoundedRecord;

    fn observe(&mut self, theta: &[f64], batch: &[BoundedRecord]) -> Score {
        self.records += batch.len() as u64;
        self.model.observe(theta, batch, &mut self.pending)
    }

    fn gradient(&mut self, round: Round, theta: &[f64], out: &mut [f64]) {
        self.end_round(round);
        if self.kept.len() == 0 {
            return out.fill(0.0);
        }
        let share = inverse_count(self.kept.len() as u64);
        for (slot, value) in out.iter_mut().zip(self.model.gradient_sum(theta, &self.kept)) {
            *slot = share * value;
        }
    }

    fn records(&self) -> u64 {
        self.records
    }

    fn forgetting(&self) -> Forgetting {
        self.window.map_or(Forgetting::Never, |rounds| Forgetting::Window { rounds })
    }

    /// Zero: the rounding of f32 is within the spread that is charged (`LossConstants::NEURAL_ROUNDING`).
    fn error_bound(&self) -> PowerLaw {
        PowerLaw::ZERO
    }
}

/// Averages gradients, each computed once, at the θ of the first `gradient` call after its record arrived.
///
/// The cost of a round does not grow. If the points are public (`method = "shielded"`), a record moves the
/// average by at most C / h_t, as in a whole history (ADR 0014, with proof).
#[derive(Clone)]
pub struct NeuralArrival {
    model: Arc<NeuralModel>,
    sum: CompensatedSum,
    pending: PackedRecords,
    records: u64,
}

impl NeuralArrival {
    /// An empty memory.
    #[must_use]
    pub fn new(model: Arc<NeuralModel>) -> NeuralArrival {
        let sum = CompensatedSum::zero(model.neural().parameters());
        NeuralArrival { model, sum, pending: PackedRecords::default(), records: 0 }
    }
}

impl Memory for NeuralArrival {
    type Record = BoundedRecord;

    fn observe(&mut self, theta: &[f64], batch: &[BoundedRecord]) -> Score {
        self.records += batch.len() as u64;
        self.model.observe(theta, batch, &mut self.pending)
    }

    fn gradient(&mut self, _round: Round, theta: &[f64], out: &mut [f64]) {
        if self.pending.len() > 0 {
            self.sum.add(&self.model.gradient_sum(theta, &self.pending));
            self.pending = PackedRecords::default();
        }
        if self.records == 0 {
            return out.fill(0.0);
        }
        self.sum.write_scaled(inverse_count(self.records), out);
    }

    fn records(&self) -> u64 {
        self.records
    }

    fn forgetting(&self) -> Forgetting {
        Forgetting::Never
    }

    /// Zero: sums are compensated, and the rounding of f32 is within the spread that is charged.
    fn error_bound(&self) -> PowerLaw {
        PowerLaw::ZERO
    }
}

/// Shows sizes only: records and their gradients are private.
impl fmt::Debug for NeuralHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NeuralHistory(records={}, <redacted>)", self.records)
    }
}

/// Shows sizes only: gradients are private.
impl fmt::Debug for NeuralArrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NeuralArrival(records={}, <redacted>)", self.records)
    }
}

impl Persist for NeuralHistory {
    fn visit(&mut self, fields: &mut dyn Fields) {
        self.kept.visit(fields);
        let length = fields.length(self.arrivals.len(), 2 * 8);
        self.arrivals.resize(length, (Round::ZERO, 0));
        for (round, count) in &mut self.arrivals {
            fields.count(&mut round.0);
            let mut records = *count as u64;
            fields.count(&mut records);
            *count = usize::try_from(records).unwrap_or(usize::MAX);
        }
        self.pending.visit(fields);
        fields.count(&mut self.records);
    }
}

impl Persist for NeuralArrival {
    fn visit(&mut self, fields: &mut dyn Fields) {
        self.sum.visit(fields);
        self.pending.visit(fields);
        fields.count(&mut self.records);
    }
}
