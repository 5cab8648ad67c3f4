//! How a memory forgets: the weight of a record by its age. Public, and known before any data.

use crate::Round;
use crate::persist::{Fields, Persist};
use std::collections::VecDeque;

/// How the weight of a record in the gradient falls with its age, the rounds since it arrived.
///
/// Weights are normalised to add up to one in every round, and records of the same round have the
/// same weight. Weights depend only on arrival rounds and counts, never on a record's contents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Forgetting {
    /// All records have the same weight for ever: Algorithm 1 of the paper.
    Never,
    /// Records of the last `rounds` rounds have the same weight, older ones have none.
    Window {
        /// How many rounds, at least 1.
        rounds: u64,
    },
    /// A record loses weight by a factor in every round.
    Decaying {
        /// The factor, above 0 and below 1.
        factor: f64,
        /// After this many rounds a record has no weight. With `None` its weight never becomes
        /// zero.
        rounds: Option<u64>,
    },
}

impl Forgetting {
    /// What a weight is multiplied by in every round, before weights are normalised.
    pub(crate) fn factor(self) -> f64 {
        match self {
            Forgetting::Never | Forgetting::Window { .. } => 1.0,
            Forgetting::Decaying { factor, .. } => factor,
        }
    }

    /// The age at which a record has no weight, if there is one.
    #[must_use]
    pub fn limit(self) -> Option<u64> {
        match self {
            Forgetting::Never => None,
            Forgetting::Window { rounds } => Some(rounds),
            Forgetting::Decaying { rounds, .. } => rounds,
        }
    }

    /// The approximate number of records with weight when `batch` arrive in every round.
    #[must_use]
    pub fn records_in_use(self, batch: f64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "an estimate, not an account")]
        let rounds = self.limit().map_or(f64::INFINITY, |limit| limit as f64);
        match self {
            Forgetting::Never | Forgetting::Window { .. } => batch * rounds,
            Forgetting::Decaying { factor, .. } => {
                batch * rounds.min((1.0 + factor) / (1.0 - factor))
            }
        }
    }
}

/// The weight of one record of each round in the gradient, followed round by round.
///
/// # Guarantee
/// After [`arrive`](Self::arrive), the weights of all records that arrived so far add up to one up
/// to rounding, unless [`is_empty`](Self::is_empty). A record never has more weight than a newer
/// one.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordWeights {
    factor: f64,
    limit: Option<u64>,
    round: Option<Round>,
    /// How many records arrived, by age from 0; kept only up to a limit.
    counts: VecDeque<u64>,
    /// The sum of all weights before they are normalised.
    total: f64,
    /// The factor by which the last call of `arrive` multiplied the weights of older records.
    kept: f64,
    /// Whether any record has arrived.
    begun: bool,
}

impl RecordWeights {
    /// Before any record.
    #[must_use]
    pub fn new(forgetting: Forgetting) -> RecordWeights {
        RecordWeights {
            factor: forgetting.factor(),
            limit: forgetting.limit(),
            round: None,
            counts: VecDeque::new(),
            total: 0.0,
            kept: 1.0,
            begun: false,
        }
    }

    /// Moves to a round and adds the number of records that arrived in it.
    ///
    /// # Panics
    /// When the round is before one already seen: a bug in the caller.
    pub fn arrive(&mut self, round: Round, count: u64) {
        let before = self.round.unwrap_or(round);
        assert!(round >= before, "rounds follow each other");
        self.round = Some(round);
        self.begun |= count > 0;
        let passed = round.0 - before.0;
        match self.limit {
            Some(limit) => self.arrive_within(limit, passed, count),
            None => self.arrive_for_ever(passed, count),
        }
    }

    /// Adds up the counts that are not too old from scratch: a difference of large sums would lose
    /// digits.
    fn arrive_within(&mut self, limit: u64, passed: u64, count: u64) {
        for _ in 0..passed.min(limit) {
            self.counts.push_front(0);
        }
        self.counts.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        match self.counts.front_mut() {
            Some(newest) => *newest += count,
            None => self.counts.push_front(count),
        }
        #[expect(clippy::cast_precision_loss, reason = "record counts stay far below 2^53")]
        let add = |older: f64, &count: &u64| older * self.factor + count as f64;
        self.total = self.counts.iter().rev().fold(0.0, add);
    }

    fn arrive_for_ever(&mut self, passed: u64, count: u64) {
        #[expect(clippy::cast_precision_loss, reason = "rounds and counts stay far below 2^53")]
        let (passed, count) = (passed as f64, count as f64);
        let older = self.total * self.factor.powf(passed);
        self.total = older + count;
        // Without new records all weights shrink by the same factor, so the normalised weights stay
        // the same, even if the sum has become too small to divide by.
        self.kept = if count > 0.0 { older / self.total } else { 1.0 };
    }

    /// Whether no record has any weight, so that the gradient is zero.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self.limit {
            Some(_) => !(self.total > 0.0),
            None => !self.begun,
        }
    }

    /// The weight of a record that arrived in the last call of `arrive`.
    #[must_use]
    pub fn newest(&self) -> f64 {
        1.0 / self.total
    }

    /// The weight of an older record: from its age, or from its weight before the last call.
    #[must_use]
    pub fn older(&self, age: u64, before: f64) -> f64 {
        match self.limit {
            Some(limit) if age >= limit => 0.0,
            Some(_) if self.factor >= 1.0 => self.newest(),
            #[expect(clippy::cast_precision_loss, reason = "ages stay below 2^32")]
            Some(_) => self.factor.powf(age as f64) / self.total,
            None => before * self.kept,
        }
    }
}

impl Persist for RecordWeights {
    fn visit(&mut self, fields: &mut dyn Fields) {
        let mut begun = self.round.is_some();
        fields.flag(&mut begun);
        let mut round = self.round.unwrap_or(Round::ZERO);
        fields.count(&mut round.0);
        self.round = begun.then_some(round);
        let length = fields.length(self.counts.len(), 8);
        self.counts.resize(length, 0);
        self.counts.iter_mut().for_each(|count| fields.count(count));
        fields.number(&mut self.total);
        fields.number(&mut self.kept);
        fields.flag(&mut self.begun);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights by their definition, for records that arrived `counts[k]` at a time in round k.
    fn by_definition(forgetting: Forgetting, counts: &[u64]) -> Vec<f64> {
        let now = counts.len() - 1;
        let raw: Vec<f64> = (0..=now)
            .map(|k| {
                let age = now - k;
                let gone = forgetting.limit().is_some_and(|limit| age as u64 >= limit);
                if gone { 0.0 } else { forgetting.factor().powf(age as f64) }
            })
            .collect();
        let total: f64 =
            raw.iter().zip(counts).map(|(&weight, &count)| weight * count as f64).sum();
        raw.into_iter().map(|weight| weight / total).collect()
    }

    #[test]
    fn weights_are_those_of_their_definition_also_after_rounds_without_records() {
        let counts = [7, 1, 1, 0, 3, 0, 0, 1, 2, 1];
        for forgetting in [
            Forgetting::Never,
            Forgetting::Window { rounds: 1 },
            Forgetting::Window { rounds: 4 },
            Forgetting::Decaying { factor: 0.8, rounds: None },
            Forgetting::Decaying { factor: 0.8, rounds: Some(3) },
        ] {
            let mut weights = RecordWeights::new(forgetting);
            let mut found: Vec<f64> = Vec::new();
            for (t, &count) in counts.iter().enumerate() {
                weights.arrive(Round(t as u64), count);
                for (k, weight) in found.iter_mut().enumerate() {
                    *weight = weights.older((t - k) as u64, *weight);
                }
                found.push(weights.newest());
                if weights.is_empty() {
                    assert_eq!(forgetting, Forgetting::Window { rounds: 1 });
                    continue;
                }
                let expected = by_definition(forgetting, &counts[..=t]);
                for (k, (a, b)) in found.iter().zip(&expected).enumerate() {
                    let same = counts[k] == 0 || (a - b).abs() < 1e-12;
                    assert!(same, "{forgetting:?}, round {t}, record of round {k}: {a} {b}");
                }
            }
        }
    }

    #[test]
    fn a_long_silence_leaves_weights_as_they_were_and_then_only_new_records_count() {
        let mut weights = RecordWeights::new(Forgetting::Decaying { factor: 0.5, rounds: None });
        weights.arrive(Round(0), 4);
        let before = weights.newest();
        weights.arrive(Round(1_000_000), 0);
        assert!((weights.older(1_000_000, before) - 0.25).abs() < 1e-15 && !weights.is_empty());
        weights.arrive(Round(2_000_000), 2);
        assert!((weights.newest() - 0.5).abs() < 1e-15);
        assert!(weights.older(2_000_000, 0.25) < 1e-300);
    }
}
