//! The records of each person, whose gradients are added and cut together.

use super::{add_ridge, inverse_count, observe_batch, write_shape};
use crate::compensated::CompensatedSum;
use crate::history::History;
use crate::{BoundedRecord, Model, PersonKey};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use undertone_core::persist::{Fields, Persist};
use undertone_core::{Forgetting, Memory, PowerLaw, Round, Score};

/// Keeps all records, or those of the last rounds, by person. The gradient is the average over persons of the sum of a
/// person's gradients, cut to norm G, the largest of one record; the ridge term is added after that.
///
/// # Guarantee
/// Whatever the records of one person are, and however many, that person moves the sum over persons by at most 2G.
/// What the others contribute is the same bit for bit, because it is computed from their own records alone and added
/// up in the order of their keys (ADR 0028).
#[derive(Clone)]
pub struct ByPerson {
    model: Arc<Model>,
    /// G.
    cut: f64,
    /// Rounds after which a record is dropped; `None` keeps all.
    window: Option<u64>,
    /// The records of each person by round of arrival, oldest first; of round 0 where none is dropped.
    persons: BTreeMap<PersonKey, VecDeque<(Round, History)>>,
    /// Records observed since the last gradient, whose round has not ended. Empty where none is dropped.
    pending: Vec<(PersonKey, History)>,
    records: u64,
    sum: CompensatedSum,
    person: Box<[f64]>,
}

impl ByPerson {
    /// An empty memory that keeps all records, or those of the last rounds.
    #[must_use]
    pub fn new(model: Arc<Model>, window: Option<u64>) -> ByPerson {
        let n = model.parameters();
        let (sum, person) = (CompensatedSum::zero(n), vec![0.0; n].into_boxed_slice());
        let (persons, pending) = (BTreeMap::new(), Vec::new());
        let cut = model.constants().gradient_norm;
        ByPerson { model, cut, window, persons, pending, records: 0, sum, person }
    }

    /// How many records were observed, those forgotten since included.
    #[must_use]
    pub fn records_observed(&self) -> u64 {
        self.records
    }

    /// How many records are kept.
    #[must_use]
    pub fn records_kept(&self) -> u64 {
        let kept = self.persons.values().flatten().map(|(_, history)| history.len());
        kept.sum::<usize>() as u64
    }

    /// Moves the pending records to their persons under this round, and drops old ones.
    fn end_round(&mut self, round: Round) {
        for (person, history) in self.pending.drain(..) {
            let kept = self.persons.entry(person).or_default();
            match kept.back_mut() {
                Some((newest, same)) if *newest == round => same.append(&history),
                Some(_) | None => kept.push_back((round, history)),
            }
        }
        let Some(window) = self.window else { return };
        self.persons.retain(|_, kept| {
            while kept.front().is_some_and(|(arrival, _)| round.0 - arrival.0 >= window) {
                kept.pop_front();
            }
            !kept.is_empty()
        });
    }
}

impl Memory for ByPerson {
    type Record = BoundedRecord;

    fn observe(&mut self, theta: &[f64], batch: &[BoundedRecord]) -> Score {
        self.records += batch.len() as u64;
        let dimension = self.model.spec().expanded_features();
        let mut keys = batch.iter().map(BoundedRecord::person_checked);
        let (pending, persons, windowed) =
            (&mut self.pending, &mut self.persons, self.window.is_some());
        observe_batch(&self.model, theta, batch, |row, label| {
            let key = keys.next().expect("a row of each record, in order");
            let new = || History::new(dimension);
            if windowed {
                let mut history = new();
                history.push(row, label);
                pending.push((key, history));
                return;
            }
            let kept = persons.entry(key).or_default();
            if kept.is_empty() {
                kept.push_back((Round::ZERO, new()));
            }
            if let Some((_, history)) = kept.back_mut() {
                history.push(row, label);
            }
        })
    }

    fn gradient(&mut self, round: Round, theta: &[f64], out: &mut [f64]) {
        assert_eq!(theta.len(), self.model.parameters(), "θ has one entry for each parameter");
        self.end_round(round);
        if self.persons.is_empty() {
            return out.fill(0.0);
        }
        self.sum.clear();
        for kept in self.persons.values() {
            self.person.fill(0.0);
            for (_, history) in kept {
                history.add_gradients_plainly(&self.model, theta, &mut self.person);
            }
            cut_to_norm(&mut self.person, self.cut);
            self.sum.add(&self.person);
        }
        self.sum.write_scaled(inverse_count(self.records()), out);
        add_ridge(&self.model, theta, out);
    }

    /// The persons whose records are kept.
    fn records(&self) -> u64 {
        self.persons.len() as u64
    }

    fn forgetting(&self) -> Forgetting {
        self.window.map_or(Forgetting::Never, |rounds| Forgetting::Window { rounds })
    }

    /// Zero: machine rounding is within the accountant's own charge (module docs of `memory`).
    fn error_bound(&self) -> PowerLaw {
        PowerLaw::ZERO
    }
}

/// Shortens a vector to a norm.
///
/// # Guarantee
/// The exact norm of the result is at most the bound. A vector that is not finite becomes zero.
fn cut_to_norm(values: &mut [f64], bound: f64) {
    // Division by the largest keeps the squares from overflowing or vanishing.
    let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let finite = values.iter().all(|value| value.is_finite());
    if !(finite && largest > 0.0) {
        return values.fill(0.0);
    }
    let squares = |sum: f64, value: &f64| sum + (value / largest) * (value / largest);
    let norm = largest * values.iter().fold(0.0, squares).sqrt();
    // A sum of n squares has at most 3n + 1 roundings and its root half of that; scaling adds four. The rest is margin.
    #[expect(clippy::cast_precision_loss, reason = "dimensions stay far below 2^53")]
    let margin = 1.0 - (values.len() as f64 + 8.0) * f64::EPSILON;
    if norm <= bound * margin {
        return;
    }
    let factor = if norm.is_finite() { bound / norm * margin } else { 0.0 };
    for value in values {
        *value *= factor;
    }
}

/// Prints the shape only: records are private, and so is who they are of.
impl fmt::Debug for ByPerson {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_shape(formatter, "ByPerson", &self.model, self.records_kept())
    }
}

impl Persist for ByPerson {
    fn visit(&mut self, fields: &mut dyn Fields) {
        let dimension = self.model.spec().expanded_features();
        let mut persons: Vec<(PersonKey, VecDeque<(Round, History)>)> =
            std::mem::take(&mut self.persons).into_iter().collect();
        let length = fields.length(persons.len(), 16 + 8);
        persons.resize_with(length, || (PersonKey::empty(), VecDeque::new()));
        for (person, kept) in &mut persons {
            person.visit(fields);
            let length = fields.length(kept.len(), 3 * 8);
            kept.resize_with(length, || (Round::ZERO, History::new(dimension)));
            for (round, history) in kept {
                fields.count(&mut round.0);
                history.visit(fields);
            }
        }
        self.persons = persons.into_iter().filter(|(_, kept)| !kept.is_empty()).collect();
        if self.persons.len() != length {
            fields.reject();
        }
        let length = fields.length(self.pending.len(), 16 + 2 * 8);
        self.pending.resize_with(length, || (PersonKey::empty(), History::new(dimension)));
        for (person, history) in &mut self.pending {
            person.visit(fields);
            history.visit(fields);
        }
        fields.count(&mut self.records);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The norm in twice the digits, as far as they go.
    fn norm(values: &[f64]) -> f64 {
        let mut sum = CompensatedSum::zero(1);
        values.iter().for_each(|value| sum.add(&[value * value]));
        sum.get(0).sqrt()
    }

    proptest! {
        #[test]
        fn a_vector_is_never_left_above_the_norm_and_one_below_is_not_touched(
            values in prop::collection::vec(-1e3..1e3_f64, 1..200),
            exponent in -90..=90_i32,
            share in 0.01..3.0_f64,
        ) {
            let mut values: Vec<f64> =
                values.iter().map(|value| value * 10_f64.powi(exponent)).collect();
            let bound = share * norm(&values);
            let before = values.clone();
            cut_to_norm(&mut values, bound);
            prop_assert!(norm(&values) <= bound * (1.0 + 1e-15));
            prop_assert!(norm(&values) >= bound.min(norm(&before)) * (1.0 - 1e-12));
            prop_assert!(share < 1.001 || values == before);
        }
    }

    #[test]
    fn what_is_not_finite_contributes_nothing() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut values = [1.0, bad];
            cut_to_norm(&mut values, 1.0);
            assert_eq!(values, [0.0, 0.0]);
        }
        let mut huge = [f64::MAX, f64::MAX];
        cut_to_norm(&mut huge, 1.0);
        assert!(norm(&huge) <= 1.0);
    }
}
