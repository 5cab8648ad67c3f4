//! The records of the last rounds, weighted by their age: exact for any loss.

use super::{add_ridge, observe_batch, write_shape};
use crate::compensated::CompensatedSum;
use crate::history::History;
use crate::{BoundedRecord, Model};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use undertone_core::persist::{Fields, Persist};
use undertone_core::{Forgetting, Memory, PowerLaw, RecordWeights, Round, Score};

/// Keeps the records of the last rounds and sums their gradients in each round, weighted by age.
///
/// A record that is too old is dropped at once, and its weight is shared by the others. The cost of a round is bounded
/// by the number of records in these rounds.
#[derive(Clone)]
pub struct Recent {
    model: Arc<Model>,
    forgetting: Forgetting,
    /// Rounds after which a record is dropped.
    rounds: u64,
    weights: RecordWeights,
    /// The records of each round, oldest first.
    kept: VecDeque<(Round, History)>,
    /// Records observed since the last gradient, whose round has not ended.
    pending: History,
    records: u64,
    sum: CompensatedSum,
    block: Box<[f64]>,
}

impl Recent {
    /// An empty memory of the last `rounds` rounds with equal weights.
    #[must_use]
    pub fn window(model: Arc<Model>, rounds: u64) -> Recent {
        Recent::new(model, Forgetting::Window { rounds }, rounds)
    }

    /// An empty memory of the last `rounds` rounds, where each round multiplies the weight of a record by `factor`.
    #[must_use]
    pub fn decaying(model: Arc<Model>, factor: f64, rounds: u64) -> Recent {
        Recent::new(model, Forgetting::Decaying { factor, rounds: Some(rounds) }, rounds)
    }

    fn new(model: Arc<Model>, forgetting: Forgetting, rounds: u64) -> Recent {
        let n = model.parameters();
        let (sum, block) = (CompensatedSum::zero(n), vec![0.0; n].into_boxed_slice());
        let pending = History::new(model.spec().expanded_features());
        let weights = RecordWeights::new(forgetting);
        let kept = VecDeque::new();
        Recent { model, forgetting, rounds, weights, kept, pending, records: 0, sum, block }
    }

    /// The number of records that have a weight.
    #[must_use]
    pub fn records_kept(&self) -> u64 {
        self.kept.iter().map(|(_, history)| history.len() as u64).sum()
    }

    fn end_round(&mut self, round: Round) {
        self.weights.arrive(round, self.pending.len() as u64);
        let mut dropped = None;
        while self.kept.front().is_some_and(|(arrival, _)| round.0 - arrival.0 >= self.rounds) {
            dropped = self.kept.pop_front();
        }
        if self.pending.len() > 0 {
            // Reuse the memory of a dropped history.
            let new = || History::new(self.model.spec().expanded_features());
            let mut empty = dropped.map_or_else(new, |(_, history)| history);
            empty.clear();
            self.kept.push_back((round, std::mem::replace(&mut self.pending, empty)));
        }
    }
}

impl Memory for Recent {
    type Record = BoundedRecord;

    fn observe(&mut self, theta: &[f64], batch: &[BoundedRecord]) -> Score {
        let pending = &mut self.pending;
        let score = observe_batch(&self.model, theta, batch, |row, label| pending.push(row, label));
        self.records += batch.len() as u64;
        score
    }

    fn gradient(&mut self, round: Round, theta: &[f64], out: &mut [f64]) {
        assert_eq!(theta.len(), self.model.parameters(), "θ has one entry for each parameter");
        self.end_round(round);
        if self.weights.is_empty() {
            return out.fill(0.0);
        }
        self.sum.clear();
        for (arrival, history) in &self.kept {
            // With a limit on the age, the previous weight is not used.
            let weight = self.weights.older(round.0 - arrival.0, 0.0);
            history.add_gradients(&self.model, theta, weight, &mut self.block, &mut self.sum);
        }
        self.sum.write_scaled(1.0, out);
        add_ridge(&self.model, theta, out);
    }

    fn records(&self) -> u64 {
        self.records
    }

    fn forgetting(&self) -> Forgetting {
        self.forgetting
    }

    /// Zero: machine rounding is within the accountant's own charge (module docs of `memory`).
    fn error_bound(&self) -> PowerLaw {
        PowerLaw::ZERO
    }
}

/// Prints the shape only: records are private.
impl fmt::Debug for Recent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_shape(formatter, "Recent", &self.model, self.records_kept())
    }
}

impl Persist for Recent {
    fn visit(&mut self, fields: &mut dyn Fields) {
        self.weights.visit(fields);
        let length = fields.length(self.kept.len(), 3 * 8);
        let dimension = self.model.spec().expanded_features();
        self.kept.resize(length, (Round::ZERO, History::new(dimension)));
        for (round, history) in &mut self.kept {
            fields.count(&mut round.0);
            history.visit(fields);
        }
        self.pending.visit(fields);
        fields.count(&mut self.records);
    }
}
