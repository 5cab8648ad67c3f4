//! The bound for ever from the present state of a learner, once a round has departed from the plan.
//!
//! The lifetime certificate assumes that every neighbour is heard and every planned record arrives. When a
//! neighbour was missing or a round was empty, sensitivities are larger than planned and the certificate is
//! void. What was spent is known, and so is the learner's present state: the rest is bounded from there,
//! as long as the plan holds from now on.

use super::cost::{Cost, ROUNDING, Total};
use super::forgetting_lifetime::{machine_and_ratios, settling_rounds};
use super::lifetime::{Lifetime, NoCertificate};
use super::mechanism::{Mechanism, RoundTerms};
use super::record_accounts::RecordAccounts;
use crate::{Forgetting, Round};

/// The state of a learner's account in a round.
pub(crate) struct Standing<'a> {
    /// The round it is in.
    pub(crate) round: Round,
    /// Whether the release of that round is among what was spent; else it is due.
    pub(crate) paid: bool,
    /// Φ_t of record 0, where nothing is forgotten.
    pub(crate) sensitivity: f64,
    /// What record 0 has paid, where nothing is forgotten.
    pub(crate) spent: Total,
    /// The least machine charge of the release that is due.
    pub(crate) carried: f64,
    /// Records that should have arrived by now and have not.
    pub(crate) missing: u64,
    /// All records, where they are forgotten.
    pub(super) each: Option<&'a RecordAccounts>,
}

impl Standing<'_> {
    /// Before round 0, with everything as planned.
    pub(crate) fn at_start() -> Standing<'static> {
        Standing {
            round: Round::ZERO,
            paid: false,
            sensitivity: 0.0,
            spent: Total::default(),
            carried: 0.0,
            missing: 0,
            each: None,
        }
    }

    /// The terms of this round or a later one, if all goes as planned from now on.
    pub(super) fn terms(&self, mechanism: &Mechanism, round: Round) -> RoundTerms {
        let planned = mechanism.planned_terms(round);
        RoundTerms { records: planned.records.saturating_sub(self.missing), ..planned }
    }

    /// η with h_t ≥ η N (t + 1) in every round from `from` on; 1 where no record is missing.
    ///
    /// # Errors
    /// When too many are missing to say so yet.
    pub(crate) fn share_of_plan(
        &self,
        mechanism: &Mechanism,
        from: Round,
    ) -> Result<f64, NoCertificate> {
        let short = self.missing.saturating_sub(mechanism.warmup);
        if short == 0 {
            return Ok(1.0);
        }
        #[expect(clippy::cast_precision_loss, reason = "record counts stay far below 2^53")]
        let share = 1.0 - short as f64 / (mechanism.batch as f64 * (from.0 + 1) as f64) * ROUNDING;
        if share > 0.0 { Ok(share) } else { Err(NoCertificate::NoContraction) }
    }
}

/// The most steps of entries that are computed ahead.
const WORK_MAX: u64 = 1 << 26;

/// The bound for ever from the present state of a learner: of a whole history as the method bounds it, of records that are
/// forgotten from the contraction and the machine charge that the planned certificate rests on.
pub(crate) fn lifetime_from_present(
    mechanism: &Mechanism,
    planned: &Lifetime,
    from: &Standing<'_>,
    of_whole_history: impl FnOnce() -> Result<Lifetime, NoCertificate>,
    contraction_and_machine: impl FnOnce() -> Result<(f64, f64), NoCertificate>,
) -> Result<Lifetime, NoCertificate> {
    match mechanism.forgetting {
        Forgetting::Never => of_whole_history(),
        Forgetting::Window { .. } | Forgetting::Decaying { .. } => {
            let (contraction, machine) = contraction_and_machine()?;
            forgetting_from_present(mechanism, contraction, machine, planned, from)
        }
    }
}

/// The bound from the present if records are forgotten.
///
/// Every record that is there now, or arrives while rounds that departed from the plan still weigh in, is followed
/// until it weighs nothing (or next to nothing); what it pays after that is a geometric sum. Records that
/// arrive later find everything as planned, and the planned bound holds for them.
fn forgetting_from_present(
    mechanism: &Mechanism,
    contraction: f64,
    machine: f64,
    planned: &Lifetime,
    from: &Standing<'_>,
) -> Result<Lifetime, NoCertificate> {
    let Some(each) = from.each else { return Err(NoCertificate::DepartedFromPlan) };
    let settling = settling_rounds(mechanism.forgetting);
    if settling.saturating_mul(settling) > WORK_MAX {
        return Err(NoCertificate::Forgetting {
            needs: "a shorter memory, once a round departed from the plan",
        });
    }
    let mut each = each.clone();
    let mut terms = RoundTerms { records: each.records(), ..mechanism.planned_terms(from.round) };
    for ahead in 0..=2 * settling {
        terms.round = Round(from.round.0 + ahead);
        if terms.round > Round::ZERO && !(ahead == 0 && from.paid) {
            let carried = if ahead == 0 { from.carried } else { 0.0 };
            each.pay(&mechanism.price(terms.round).with_machine_least(carried));
        }
        terms.records += mechanism.batch;
        each.advance(mechanism, &terms);
    }
    let round = terms.round.next();
    let departed_until = Round(from.round.0 + settling);
    let mut bound = *planned;
    for entry in each.arrived_until(departed_until) {
        let (ratios, squares) = entry.rest(mechanism, contraction, round);
        let tail = machine_and_ratios(mechanism, machine, ratios, squares);
        let total = entry.spent().plus(tail);
        if total.zcdp > bound.total.zcdp {
            let pure = bound.total.pure.max(total.pure);
            let total = Cost { pure, ..total };
            bound = Lifetime { total, summed_to: round, tail, worst: entry.arrival() };
        } else {
            bound.total.pure = bound.total.pure.max(total.pure);
        }
    }
    Ok(bound)
}
