//! The ledger: one receipt for every release, chained by hashes, checkable offline.
//!
//! A receipt states what was charged and why. Anyone can recompute the whole account from the
//! public facts of a learner, and find the first receipt that disagrees.

use super::accountant::{Accountant, Cap};
use super::cost::Cost;
use super::mechanism::{Mechanism, RoundTerms};
use crate::encoding::{Digest, Encoder};
use crate::persist::{Fields, Persist};
use crate::{LearnerId, Round};
use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

/// What was charged for one release, and why.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The learner.
    pub learner: LearnerId,
    /// The round t.
    pub round: Round,
    /// The sum of the weights heard in the last round before t that the learner took part in; 0 at the start.
    pub weight_heard: f64,
    /// The records that had arrived by the step of that round; 0 at the start.
    pub records: u64,
    /// Φ_t, for the record that θ_t depends on most.
    #[serde(deserialize_with = "null_is_infinite")]
    pub sensitivity: f64,
    /// ρ_t.
    pub noise_scale: f64,
    /// Pure ε of this release, for that record; absent where the noise has none.
    pub pure_cost: Option<f64>,
    /// zCDP of this release, for that record.
    #[serde(deserialize_with = "null_is_infinite")]
    pub zcdp_cost: f64,
    /// Pure ε of all releases so far, for the record that paid most. If records are forgotten, this
    /// is less than the sum of all costs.
    pub pure_total: Option<f64>,
    /// zCDP of all releases so far, for the record that paid most.
    #[serde(deserialize_with = "null_is_infinite")]
    pub zcdp_total: f64,
    /// The hash of the receipt before, or of the learner's public facts at the start.
    pub previous: Digest,
}

/// Where a ledger first disagrees with the account that its agreement implies.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Disagreement {
    /// A receipt of another learner.
    #[error("receipt {place}: of learner {found}, expected learner {expected}")]
    Learner {
        /// Place in the ledger, from 0.
        place: usize,
        /// The receipt's learner.
        found: LearnerId,
        /// The ledger's learner.
        expected: LearnerId,
    },
    /// A round is out of order.
    #[error("receipt {place}: of round {found}, expected round {expected} or later")]
    Round {
        /// Place in the ledger, from 0.
        place: usize,
        /// Its round.
        found: Round,
        /// The round expected.
        expected: Round,
    },
    /// A receipt does not carry the hash of the one before.
    #[error("round {round}: the chain is broken: it does not carry the hash of the receipt before")]
    Chain {
        /// The round.
        round: Round,
    },
    /// More weight was heard than exists, or there were fewer records than before.
    #[error("round {round}: {field} = {found} is impossible: {reason}")]
    Impossible {
        /// The round.
        round: Round,
        /// Which number.
        field: &'static str,
        /// Its value.
        found: f64,
        /// Why the value is impossible.
        reason: &'static str,
    },
    /// A number is not what the agreement implies.
    #[error("round {round}: {field} is {found}, the agreement implies {expected}")]
    Number {
        /// The round.
        round: Round,
        /// Which number.
        field: &'static str,
        /// Its value.
        found: f64,
        /// The value that the config implies.
        expected: f64,
    },
    /// The cap forbids a release that was made.
    #[error("round {round}: released although the cap forbids it: {reason}")]
    OverCap {
        /// The round.
        round: Round,
        /// What the accountant says.
        reason: String,
    },
}

/// JSON has no infinity, so null stands for it: the cost if no constant of the loss is known.
fn null_is_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}

impl Receipt {
    /// The hash that the next receipt carries.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let Receipt {
            learner,
            round,
            weight_heard,
            records,
            sensitivity,
            noise_scale,
            pure_cost,
            zcdp_cost,
            pure_total,
            zcdp_total,
            previous,
        } = *self;
        let mut encoder = Encoder::new("undertone receipt 2");
        encoder.count(learner.0.into());
        encoder.count(round.0);
        encoder.number(weight_heard);
        encoder.count(records);
        encoder.number(sensitivity);
        encoder.number(noise_scale);
        encoder.optional(pure_cost, Encoder::number);
        encoder.number(zcdp_cost);
        encoder.optional(pure_total, Encoder::number);
        encoder.number(zcdp_total);
        encoder.add(&previous);
        encoder.digest()
    }
}

/// Writes a learner's receipts, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    learner: LearnerId,
    before: Option<RoundTerms>,
    previous: Digest,
}

impl Ledger {
    /// An empty ledger.
    pub(crate) fn new(learner: LearnerId, mechanism: &Mechanism) -> Ledger {
        Ledger { learner, before: None, previous: genesis(learner, mechanism) }
    }

    /// Writes the receipt of a charge that was just made.
    pub(crate) fn receipt(&mut self, accountant: &Accountant, cost: Cost) -> Receipt {
        let finite = |value: f64| value.is_finite().then_some(value);
        let spent = accountant.spent();
        let receipt = Receipt {
            learner: self.learner,
            round: accountant.round(),
            weight_heard: self.before.map_or(0.0, |terms| terms.weight_heard),
            records: self.before.map_or(0, |terms| terms.records),
            sensitivity: accountant.sensitivity(),
            noise_scale: accountant.scales().noise,
            pure_cost: finite(cost.pure),
            zcdp_cost: cost.zcdp,
            pure_total: finite(spent.pure),
            zcdp_total: spent.zcdp,
            previous: self.previous,
        };
        self.previous = receipt.digest();
        receipt
    }

    /// Notes what happened in a round, for the receipt of the next.
    pub(crate) fn advance(&mut self, terms: &RoundTerms) {
        self.before = Some(*terms);
    }
}

impl Persist for Ledger {
    fn visit(&mut self, fields: &mut dyn Fields) {
        let mut begun = self.before.is_some();
        fields.flag(&mut begun);
        let nothing = RoundTerms { round: Round::ZERO, weight_heard: 0.0, records: 0 };
        let mut before = self.before.unwrap_or(nothing);
        fields.count(&mut before.round.0);
        fields.number(&mut before.weight_heard);
        fields.count(&mut before.records);
        self.before = begun.then_some(before);
        fields.bytes(&mut self.previous.0);
    }
}

/// The hash of a learner's public facts: what its first receipt carries.
///
/// It covers every fact that a cost follows from.
pub(crate) fn genesis(learner: LearnerId, mechanism: &Mechanism) -> Digest {
    let mut encoder = Encoder::new("undertone ledger 2");
    encoder.count(learner.0.into());
    encoder.add(mechanism);
    encoder.digest()
}

/// Recomputes a learner's whole account and compares it with its receipts.
///
/// # Guarantee
/// `Ok` means: rounds that increase, every receipt chained to the one before, and every
/// sensitivity, noise scale, cost and total what the public facts imply (to 1e-9), given the
/// weights heard and records held that the receipts state, and never over the cap. Returns the
/// account after the last receipt.
///
/// Between two receipts a learner may have skipped rounds. Only its neighbours can confirm that it
/// did not release in them: a forger can leave out a round and chain the other receipts again.
///
/// # Errors
/// The first [`Disagreement`].
pub fn verify(
    learner: LearnerId,
    mechanism: &Mechanism,
    cap: Option<Cap>,
    receipts: &[Receipt],
) -> Result<Accountant, Disagreement> {
    let mut accountant = Accountant::new(*mechanism, cap);
    let mut ledger = Ledger::new(learner, mechanism);
    let mut records = 0;
    for (place, receipt) in receipts.iter().enumerate() {
        let round = receipt.round;
        if receipt.learner != learner {
            let (found, expected) = (receipt.learner, learner);
            return Err(Disagreement::Learner { place, found, expected });
        }
        let due = if place == 0 { accountant.round() } else { accountant.round().next() };
        let resumed = mechanism.method.account().resume_round(due, round);
        if round < due || resumed != round {
            return Err(Disagreement::Round { place, found: round, expected: due });
        }
        if receipt.previous != ledger.previous {
            return Err(Disagreement::Chain { round });
        }
        check_terms(mechanism, receipt, records, place == 0)?;
        if place > 0 {
            let terms = RoundTerms {
                round: accountant.round(),
                weight_heard: receipt.weight_heard,
                records: receipt.records,
            };
            accountant.advance(&terms);
            ledger.advance(&terms);
        }
        accountant.skip_to(round);
        records = receipt.records;
        let cost = accountant
            .pay()
            .map_err(|refusal| Disagreement::OverCap { round, reason: refusal.to_string() })?;
        compare(receipt, &ledger.receipt(&accountant, cost))?;
        // The chain continues from the receipt as written, which may differ in the last digits.
        ledger.previous = receipt.digest();
    }
    Ok(accountant)
}

/// Checks what a receipt says of the round before, of which the first has none.
fn check_terms(
    mechanism: &Mechanism,
    receipt: &Receipt,
    records_before: u64,
    is_first: bool,
) -> Result<(), Disagreement> {
    let round = receipt.round;
    let weight_max = if is_first { 0.0 } else { mechanism.weight };
    let weight = receipt.weight_heard;
    let impossible =
        |field, found, reason| Err(Disagreement::Impossible { round, field, found, reason });
    if !(weight >= 0.0 && weight <= weight_max * (1.0 + 1e-9)) {
        return impossible("weight_heard", weight, "the neighbours' weights add up to less");
    }
    #[expect(clippy::cast_precision_loss, reason = "shown to a person")]
    let records = receipt.records as f64;
    if receipt.records < records_before {
        return impossible("records", records, "records that have arrived do not become fewer");
    }
    if is_first && receipt.records > 0 {
        return impossible("records", records, "no round came before the first receipt");
    }
    Ok(())
}

fn compare(receipt: &Receipt, expected: &Receipt) -> Result<(), Disagreement> {
    let infinite = f64::INFINITY;
    let pairs = [
        ("sensitivity", receipt.sensitivity, expected.sensitivity),
        ("noise_scale", receipt.noise_scale, expected.noise_scale),
        (
            "pure_cost",
            receipt.pure_cost.unwrap_or(infinite),
            expected.pure_cost.unwrap_or(infinite),
        ),
        ("zcdp_cost", receipt.zcdp_cost, expected.zcdp_cost),
        (
            "pure_total",
            receipt.pure_total.unwrap_or(infinite),
            expected.pure_total.unwrap_or(infinite),
        ),
        ("zcdp_total", receipt.zcdp_total, expected.zcdp_total),
    ];
    for (field, found, expected) in pairs {
        let both_infinite = found > f64::MAX && expected > f64::MAX;
        // Powers may differ in the last digits between machines.
        if !both_infinite && !((found - expected).abs() <= 1e-9 * expected.abs()) {
            return Err(Disagreement::Number { round: receipt.round, field, found, expected });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::planned_cost;
    use super::super::tests::reference;
    use super::*;
    use crate::method::Bound;

    const LEARNER: LearnerId = LearnerId(3);

    fn ledger(mechanism: &Mechanism, rounds: u64) -> Vec<Receipt> {
        let mut accountant = Accountant::new(*mechanism, None);
        let mut ledger = Ledger::new(LEARNER, mechanism);
        (0..rounds)
            .map(|t| {
                let cost = accountant.pay().unwrap();
                let receipt = ledger.receipt(&accountant, cost);
                // Every third round one neighbour is missing.
                let heard = if t % 3 == 0 { 0.3 } else { 0.6 };
                let terms = RoundTerms { weight_heard: heard, ..mechanism.planned_terms(Round(t)) };
                accountant.advance(&terms);
                ledger.advance(&terms);
                receipt
            })
            .collect()
    }

    #[test]
    fn an_honest_ledger_is_verified_and_survives_json() {
        let mechanism = reference(Bound::Tight);
        let receipts = ledger(&mechanism, 50);
        let text = serde_json::to_string(&receipts).unwrap();
        let back: Vec<Receipt> = serde_json::from_str(&text).unwrap();
        assert_eq!(receipts, back);
        let total = verify(LEARNER, &mechanism, None, &back).unwrap().spent();
        assert!(total.zcdp > planned_cost(&mechanism, 49).zcdp, "missing neighbours cost more");
    }

    #[test]
    fn every_change_is_found_at_its_round() {
        let mechanism = reference(Bound::Tight);
        let receipts = ledger(&mechanism, 20);
        let found = |change: &dyn Fn(&mut Vec<Receipt>)| {
            let mut changed = receipts.clone();
            change(&mut changed);
            verify(LEARNER, &mechanism, None, &changed).unwrap_err()
        };
        let number = |error, name| matches!(error, Disagreement::Number { round: Round(7), field, .. } if field == name);
        assert!(number(found(&|list| list[7].sensitivity *= 0.99), "sensitivity"));
        assert!(number(found(&|list| list[7].noise_scale *= 1.01), "noise_scale"));
        assert!(number(found(&|list| list[7].zcdp_cost *= 0.5), "zcdp_cost"));
        assert!(number(found(&|list| list[7].pure_total = Some(0.0)), "pure_total"));
        assert!(number(found(&|list| list[7].zcdp_total = f64::NAN), "zcdp_total"));
        assert!(matches!(
            found(&|list| list[7].weight_heard = 0.7),
            Disagreement::Impossible { .. }
        ));
        assert!(matches!(found(&|list| list[7].records = 1), Disagreement::Impossible { .. }));
        assert!(matches!(found(&|list| list[0].records = 1), Disagreement::Impossible { .. }));
        assert!(matches!(
            found(&|list| list[0].weight_heard = 0.1),
            Disagreement::Impossible { .. }
        ));
        assert!(matches!(
            found(&|list| {
                list.remove(7);
            }),
            Disagreement::Chain { round: Round(8) }
        ));
        assert!(matches!(found(&|list| list.swap(7, 8)), Disagreement::Chain { round: Round(8) }));
        assert!(matches!(
            found(&|list| list[7].round = Round(6)),
            Disagreement::Round { place: 7, .. }
        ));
        assert!(matches!(
            found(&|list| list[7].learner = LearnerId(0)),
            Disagreement::Learner { .. }
        ));
        // A ledger with other possible weights and matching numbers: only the chain shows the
        // forgery.
        let forged = ledger(&Mechanism { weight: 0.6, ..mechanism }, 20);
        let mut spliced = receipts.clone();
        spliced[9] = forged[9];
        spliced[9].previous = forged[3].previous;
        assert_eq!(
            verify(LEARNER, &mechanism, None, &spliced).unwrap_err(),
            Disagreement::Chain { round: Round(9) }
        );
    }

    #[test]
    fn a_ledger_belongs_to_its_agreement_and_its_cap() {
        let mechanism = reference(Bound::Tight);
        let receipts = ledger(&mechanism, 20);
        let mut other = mechanism;
        other.constants.gradient_spread = 1.0;
        assert_eq!(
            verify(LEARNER, &other, None, &receipts).unwrap_err(),
            Disagreement::Chain { round: Round(0) }
        );
        let cap = Some(Cap::Pure { epsilon: 1.0 });
        let error = verify(LEARNER, &mechanism, cap, &receipts).unwrap_err();
        assert!(matches!(error, Disagreement::OverCap { round: Round(1), .. }), "{error}");
    }
}
