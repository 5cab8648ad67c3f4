//! Memories for neural networks: all records or the newest anew in every round, or each record once.

use super::inverse_count;
use crate::Record;
use crate::compensated::CompensatedSum;
use crate::neural_model::{NeuralModel, PackedRecords};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use undertone_core::persist::{Fields, Persist};
use undertone_core::{Forgetting, Memory, PowerLaw, RecordError, Round, Score};

/// Keeps records and sums their gradients anew in each round: all, or those of the last rounds.
#[derive(Clone)]
pub struct NeuralHistory {
    model: Arc<NeuralModel>,
    /// After so many rounds a record is dropped; `None` keeps all.
    window: Option<u64>,
    kept: PackedRecords,
    /// How many records came in which round, oldest first.
    arrivals: VecDeque<(Round, usize)>,
    /// Records observed since the last gradient: their round is not over.
    fresh: PackedRecords,
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
            fresh: PackedRecords::default(),
            records: 0,
        }
    }

    /// How well θ does on the records that are kept.
    #[must_use]
    pub fn score(&self, theta: &[f64]) -> Score {
        self.model.score(theta, &self.kept)
    }

    /// Lets the records observed since arrive in this round, and old ones go.
    pub fn end_round(&mut self, round: Round) {
        if self.fresh.len() > 0 {
            self.arrivals.push_back((round, self.fresh.len()));
            self.kept.append(&mut self.fresh);
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
    type Record = Record;

    fn observe(&mut self, theta: &[f64], batch: &[Record]) -> Result<Score, RecordError> {
        let score = self.model.observe(theta, batch, &mut self.fresh)?;
        self.records += batch.len() as u64;
        Ok(score)
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

    /// Zero: what f32 arithmetic adds is within the spread that is charged (`NEURAL_ROUNDING`).
    fn error_bound(&self) -> PowerLaw {
        PowerLaw::ZERO
    }
}

/// Takes the gradient of each record once, in the round after which it is first asked for, and averages.
///
/// The cost of a round does not grow. Where points are public (`method = "shielded"`) a record moves the
/// average by C / h_t, as in a whole history (ADR 0014, with proof).
#[derive(Clone)]
pub struct NeuralArrival {
    model: Arc<NeuralModel>,
    sum: CompensatedSum,
    fresh: PackedRecords,
    records: u64,
}

impl NeuralArrival {
    /// An empty memory.
    #[must_use]
    pub fn new(model: Arc<NeuralModel>) -> NeuralArrival {
        let sum = CompensatedSum::zero(model.neural().parameters());
        NeuralArrival { model, sum, fresh: PackedRecords::default(), records: 0 }
    }
}

impl Memory for NeuralArrival {
    type Record = Record;

    fn observe(&mut self, theta: &[f64], batch: &[Record]) -> Result<Score, RecordError> {
        let score = self.model.observe(theta, batch, &mut self.fresh)?;
        self.records += batch.len() as u64;
        Ok(score)
    }

    fn gradient(&mut self, _round: Round, theta: &[f64], out: &mut [f64]) {
        if self.fresh.len() > 0 {
            self.sum.add(&self.model.gradient_sum(theta, &self.fresh));
            self.fresh = PackedRecords::default();
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

    /// Zero: sums are compensated, and f32 arithmetic is within the spread that is charged.
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
        self.fresh.visit(fields);
        fields.count(&mut self.records);
    }
}

impl Persist for NeuralArrival {
    fn visit(&mut self, fields: &mut dyn Fields) {
        self.sum.visit(fields);
        self.fresh.visit(fields);
        fields.count(&mut self.records);
    }
}
