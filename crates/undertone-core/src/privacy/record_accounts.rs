//! What every record has paid so far, for memories that forget: any record may pay most.
//!
//! Two neighbouring histories differ in one record, so the claim of a run is the largest cost of any
//! single record. With a full history that is record 0; here each arrival round has its own entry
//! (ADR 0011).

use super::cost::{Cost, Total, larger};
use super::mechanism::{Mechanism, RoundTerms};
use super::price::Price;
use super::step_effect::StepEffect;
use crate::persist::{Fields, Persist};
use crate::{RecordWeights, Round};
use std::collections::VecDeque;

/// What the records of each round have paid, and how far θ can depend on one of them.
///
/// # Guarantee
/// For every record that ever arrived, some entry has at least its sensitivity, its weight in every
/// later round and what it has paid. So the largest values over all entries are bounds for every record.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RecordAccounts {
    weights: RecordWeights,
    /// Records that had arrived by the last round.
    records: u64,
    /// From the oldest arrival to the newest. The first may stand for many whose effect is
    /// negligible.
    entries: VecDeque<RecordAccount>,
}

/// One record of a round: all records of a round pay the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RecordAccount {
    /// Its arrival; that of the one that has paid most, where it stands for several.
    arrival: Round,
    /// The latest arrival round it stands for, which is forgotten last.
    latest: Round,
    weight: f64,
    sensitivity: f64,
    spent: Total,
}

/// An entry is faint when no later release can cost more than this share of all that is spent,
/// divided by the rounds so far, if steps stay as they are. Merging such entries then costs at most
/// 2⁻³⁰ · (1 + ln 2³²) of the budget in all rounds together, for which the certificate has room
/// ([`FOLDING_ROOM`]).
const FAINT: f64 = 1.0 / (1u64 << 30) as f64;
/// The certificate's room for merging faint entries: more than 2⁻³⁰ · 23.2.
pub(super) const FOLDING_ROOM: f64 = 1.0 + 1.0 / (1u64 << 24) as f64;
/// Forgotten entries may be merged while their total cost, past and future, stays below this share
/// of what is spent.
const MINOR: f64 = 0.5;
/// The remaining cost of a forgotten entry is at most 1/(1 − c) times its next cost, where c is the
/// contraction. It is multiplied by this, because contractions may weaken over the rounds.
const FADING_ROOM: f64 = 2.0;
/// Beyond this many entries the oldest are merged, whether faint or not.
const ENTRIES_MAX: usize = 1 << 17;

impl RecordAccounts {
    pub(super) fn new(mechanism: &Mechanism) -> RecordAccounts {
        let weights = RecordWeights::new(mechanism.forgetting);
        RecordAccounts { weights, records: 0, entries: VecDeque::new() }
    }

    /// The largest sensitivity of θ_t to any record.
    pub(super) fn sensitivity(&self) -> f64 {
        self.entries.iter().map(|entry| entry.sensitivity).fold(0.0, larger)
    }

    /// The most that any record has paid, in each currency.
    pub(super) fn spent(&self) -> Cost {
        self.entries.iter().map(|entry| entry.spent.cost()).fold(Cost::default(), Cost::largest)
    }

    /// The arrival round of the record that has paid most zCDP; the first of several.
    pub(super) fn worst(&self) -> Round {
        let mut worst = (0.0, Round::ZERO);
        for entry in &self.entries {
            let zcdp = entry.spent.cost().zcdp;
            if zcdp > worst.0 {
                worst = (zcdp, entry.arrival);
            }
        }
        worst.1
    }

    /// How many records had arrived by the last round.
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// The records that arrived up to a round.
    pub(super) fn arrived_until(&self, last: Round) -> impl Iterator<Item = &RecordAccount> {
        self.entries.iter().take_while(move |entry| entry.arrival <= last)
    }

    /// What [`spent`](Self::spent) would be after a release at this price.
    pub(super) fn spent_after(&self, price: &Price) -> Cost {
        let after = |entry: &RecordAccount| entry.spent.with(price.cost(entry.sensitivity));
        self.entries.iter().map(after).fold(Cost::default(), Cost::largest)
    }

    /// Charges every record for a release at this price.
    pub(super) fn pay(&mut self, price: &Price) {
        for entry in &mut self.entries {
            entry.spent.add(price.cost(entry.sensitivity));
        }
    }

    /// Follows the step of a round: records arrive, and weights and sensitivities change.
    pub(super) fn advance(&mut self, mechanism: &Mechanism, terms: &RoundTerms) {
        let step = self.advance_all(mechanism, terms);
        // A release that costs nothing does not show which entries are faint.
        let next = terms.round.next();
        let price = mechanism.gradient_is_released(next).then(|| mechanism.price(next));
        self.fold(price, &step, terms.round);
        if let Some(price) = price {
            self.fold_forgotten(&price, step.contraction);
        }
    }

    /// The same, with an entry for every round.
    fn advance_all(&mut self, mechanism: &Mechanism, terms: &RoundTerms) -> StepEffect {
        let arrived = terms.records.saturating_sub(self.records);
        self.records = terms.records.max(self.records);
        self.weights.arrive(terms.round, arrived);
        let step = StepEffect::of(mechanism, terms, &self.weights);
        for entry in &mut self.entries {
            entry.weight = self.weights.older(terms.round.0 - entry.latest.0, entry.weight);
        }
        if arrived > 0 {
            self.entries.push_back(RecordAccount::new(terms.round, self.weights.newest()));
        }
        for entry in &mut self.entries {
            let drive = step.drive(entry.weight);
            entry.sensitivity = step.next(entry.sensitivity, drive);
        }
        step
    }

    /// Merges forgotten entries, from the newest on, while the merged entry cannot come near the
    /// one that has paid most.
    ///
    /// If the coupling shrinks, entries take longer and longer to become faint, and their number
    /// would grow without limit.
    fn fold_forgotten(&mut self, price: &Price, contraction: f64) {
        let spent = self.spent();
        let is_minor = |entry: &RecordAccount| {
            let future = price.own_cost(entry.sensitivity);
            let paid = entry.spent.cost();
            let share = |paid: f64, future: f64, most: f64| {
                !most.is_finite()
                    || paid + FADING_ROOM * future / (1.0 - contraction) <= MINOR * most
            };
            contraction < 1.0
                && share(paid.pure, future.pure, spent.pure)
                && share(paid.zcdp, future.zcdp, spent.zcdp)
        };
        let mut forgotten = self.entries.partition_point(|entry| entry.weight <= 0.0);
        while forgotten >= 2 {
            let (older, mut both) = (self.entries[forgotten - 2], self.entries[forgotten - 1]);
            both.stand_for(&older);
            if !is_minor(&both) {
                break;
            }
            self.entries[forgotten - 1] = both;
            self.entries.remove(forgotten - 2);
            forgotten -= 1;
        }
    }

    /// Merges the oldest entries once they are faint.
    fn fold(&mut self, price: Option<Price>, step: &StepEffect, round: Round) {
        #[expect(clippy::cast_precision_loss, reason = "rounds stay below 2^32")]
        let share = FAINT / (round.0 + 1) as f64;
        let spent = self.spent();
        let faint = |entry: &RecordAccount| {
            let Some(price) = price else { return false };
            // How much the sensitivity may still rise with drives like this one.
            let rise = step.reach * entry.weight / (1.0 - step.contraction);
            let cost = price.own_cost(entry.sensitivity + rise);
            let pure = cost.pure <= share * spent.pure || !cost.pure.is_finite();
            step.contraction < 1.0 && pure && cost.zcdp <= share * spent.zcdp
        };
        while self.entries.len() > 1 {
            let crowded = self.entries.len() > ENTRIES_MAX;
            if !(crowded || (faint(&self.entries[0]) && faint(&self.entries[1]))) {
                break;
            }
            if let Some(oldest) = self.entries.pop_front() {
                self.entries[0].stand_for(&oldest);
            }
        }
    }
}

impl Persist for RecordAccounts {
    fn visit(&mut self, fields: &mut dyn Fields) {
        self.weights.visit(fields);
        fields.count(&mut self.records);
        let length = fields.length(self.entries.len(), 8 * 8);
        self.entries.resize(length, RecordAccount::new(Round::ZERO, 0.0));
        for entry in &mut self.entries {
            fields.count(&mut entry.arrival.0);
            fields.count(&mut entry.latest.0);
            fields.number(&mut entry.weight);
            fields.number(&mut entry.sensitivity);
            entry.spent.visit(fields);
        }
    }
}

impl RecordAccount {
    /// Nothing depends on a record before the step of its own round.
    fn new(arrival: Round, weight: f64) -> RecordAccount {
        let spent = Total::default();
        RecordAccount { arrival, latest: arrival, weight, sensitivity: 0.0, spent }
    }

    pub(super) fn arrival(&self) -> Round {
        self.arrival
    }

    pub(super) fn spent(&self) -> Cost {
        self.spent.cost()
    }

    /// Bounds on Σ x and Σ x²/2 over the releases from `round` on, x the ratio of sensitivity and noise, where steps do
    /// not grow, noise does not shrink and every step contracts by at most `contraction`.
    ///
    /// The drives still to come add up to D at most, so that Σ Φ ≤ (Φ + D)/(1 − c) and no Φ is above Φ + D.
    pub(super) fn rest(&self, mechanism: &Mechanism, contraction: f64, round: Round) -> (f64, f64) {
        let forgetting = mechanism.forgetting;
        #[expect(clippy::cast_precision_loss, reason = "rounds stay below 2^53")]
        let limit = forgetting.limit().map_or(f64::INFINITY, |limit| limit as f64);
        let times = limit.min(1.0 / (1.0 - forgetting.factor()));
        let step = mechanism.step_effect(&mechanism.planned_terms(round));
        let drives = if self.weight > 0.0 { step.drive(self.weight) * times } else { 0.0 };
        let most = (self.sensitivity + drives) / mechanism.noise_scale(round);
        let sum = most / (1.0 - contraction);
        (sum, 0.5 * sum * most)
    }

    /// Takes the larger of everything, so that it bounds both itself and an older entry for ever.
    fn stand_for(&mut self, older: &RecordAccount) {
        if older.spent.cost().zcdp >= self.spent.cost().zcdp {
            self.arrival = older.arrival;
        }
        self.weight = self.weight.max(older.weight);
        self.sensitivity = larger(self.sensitivity, older.sensitivity);
        self.spent = self.spent.largest(older.spent);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::reference;
    use super::*;
    use crate::method::Bound;
    use crate::{Forgetting, PowerLaw};

    #[test]
    fn entries_do_not_pile_up_and_stand_for_the_oldest() {
        let mut mechanism = reference(Bound::Tight);
        mechanism.forgetting = Forgetting::Window { rounds: 10 };
        mechanism.schedule.step = PowerLaw { initial: 0.5, exponent: 0.0 };
        mechanism.schedule.coupling = PowerLaw { initial: 0.5, exponent: 0.0 };
        let mut accounts = RecordAccounts::new(&mechanism);
        for t in 0..20_000 {
            accounts.advance(&mechanism, &mechanism.planned_terms(Round(t)));
            accounts.pay(&mechanism.price(Round(t + 1)));
        }
        // The window, and few more: contraction is fast and noise grows, so later records pay ever less.
        assert!((10..20).contains(&accounts.entries.len()), "{}", accounts.entries.len());
        assert_eq!(accounts.worst(), Round::ZERO);
    }

    #[test]
    fn entries_do_not_pile_up_where_the_coupling_fades() {
        for rounds in [1, 8, 100] {
            let mut mechanism = reference(Bound::Tight);
            mechanism.forgetting = Forgetting::Window { rounds };
            let mut accounts = RecordAccounts::new(&mechanism);
            let mut every_record = RecordAccounts::new(&mechanism);
            let mut most = 0;
            for t in 0..20_000 {
                let terms = mechanism.planned_terms(Round(t));
                accounts.advance(&mechanism, &terms);
                accounts.pay(&mechanism.price(Round(t + 1)));
                most = most.max(accounts.entries.len());
                if t < 2000 {
                    every_record.advance_all(&mechanism, &terms);
                    every_record.pay(&mechanism.price(Round(t + 1)));
                    let (found, expected) = (accounts.spent(), every_record.spent());
                    assert!((found.zcdp / expected.zcdp - 1.0).abs() < 1e-12);
                    assert!((found.pure / expected.pure - 1.0).abs() < 1e-12);
                    assert!((accounts.sensitivity() - every_record.sensitivity()).abs() < 1e-12);
                }
            }
            assert!(most < usize::try_from(rounds).unwrap() + 40, "window {rounds}: {most}");
            assert_eq!(every_record.entries.len(), 2000, "the control piles them up");
        }
    }
}
