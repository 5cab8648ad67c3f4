//! What may be said of one learner's privacy: the one place where every surface gets its numbers.

use super::accountant::Accountant;
use super::cost::Cost;
use super::lifetime::{Lifetime, NoCertificate};
use super::unit::Unit;
use crate::noise::NoiseKind;

/// What the releases of one learner have cost and may still cost, at one δ.
///
/// All of it follows from public facts. Shown to people, every ε is rounded up, with its δ and unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The unit of privacy.
    pub unit: Unit,
    /// The δ of every ε here, but not of pure ε, which holds at δ = 0.
    pub delta: f64,
    /// How often the record that was used most was used: 1 where none is used again.
    pub uses: u64,
    /// What the record that paid most has paid, all its uses together.
    pub spent: Loss,
    /// A bound on what any record will ever pay if the plan holds from now on, or why there is none.
    pub for_ever: Result<Loss, NoCertificate>,
}

/// A cost with its ε at the δ of its statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// ε at δ.
    pub epsilon: f64,
    /// Pure ε, where the noise has one that is finite.
    pub pure_epsilon: Option<f64>,
    /// zCDP; infinite where nothing is known of the loss function.
    pub zcdp: f64,
}

impl Loss {
    /// A cost of releases that all had noise of one kind, at δ.
    #[must_use]
    pub fn new(cost: Cost, noise: NoiseKind, delta: f64) -> Loss {
        let pure_epsilon = Some(cost.pure).filter(|pure| pure.is_finite());
        Loss { epsilon: cost.epsilon(noise, delta), pure_epsilon, zcdp: cost.zcdp }
    }
}

impl Accountant {
    /// What may be said of this learner's privacy at δ, given its planned certificate and how often its most used
    /// record was used.
    ///
    /// # Panics
    /// When δ is not inside (0, 1): configs are checked before.
    #[must_use]
    pub fn statement(
        &self,
        planned: &Result<Lifetime, NoCertificate>,
        delta: f64,
        uses: u64,
    ) -> Statement {
        let noise = self.mechanism().noise.kind;
        let spent = Loss::new(self.spent().of_repeated(uses), noise, delta);
        let for_ever = match uses {
            0 | 1 => self.for_ever(planned).map(|bound| Loss::new(bound.total, noise, delta)),
            2.. => Err(NoCertificate::RecordsRepeat),
        };
        // A bound that is infinite says nothing.
        let for_ever = for_ever.and_then(|bound| match bound.epsilon.is_finite() {
            true => Ok(bound),
            false => Err(NoCertificate::NotConvexAndSmooth),
        });
        let unit = self.mechanism().unit;
        Statement { unit, delta, uses: uses.max(1), spent, for_ever }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::reference;
    use super::super::{RoundTerms, lifetime};
    use super::*;
    use crate::Round;
    use crate::method::Bound;

    #[test]
    fn a_record_used_again_pays_for_every_use_and_has_no_bound_for_ever() {
        let mechanism = reference(Bound::Tight);
        let planned = lifetime(&mechanism);
        let mut account = Accountant::new(mechanism, None);
        for t in 0..100 {
            account.pay().unwrap();
            account.advance(&mechanism.planned_terms(Round(t)));
        }
        let once = account.statement(&planned, 1e-6, 1);
        let often = account.statement(&planned, 1e-6, 7);
        assert!((often.spent.zcdp / once.spent.zcdp - 49.0).abs() < 1e-6);
        assert!(often.spent.pure_epsilon.unwrap() > 6.9 * once.spent.pure_epsilon.unwrap());
        assert!(often.spent.epsilon > 6.9 * once.spent.epsilon);
        assert!(once.for_ever.is_ok_and(|bound| bound.epsilon > once.spent.epsilon));
        assert_eq!(often.for_ever, Err(NoCertificate::RecordsRepeat));
    }

    #[test]
    fn a_bound_for_ever_is_never_below_what_was_spent() {
        let mechanism = reference(Bound::Tight);
        let planned = lifetime(&mechanism);
        let mut account = Accountant::new(mechanism, None);
        let mut passed = false;
        for t in 0..3000 {
            account.pay().unwrap();
            // Nobody is heard for a long time.
            let weight_heard = if t < 2900 { 0.0 } else { 0.6 };
            account.advance(&RoundTerms { weight_heard, ..mechanism.planned_terms(Round(t)) });
            if t % 500 == 499 {
                let statement = account.statement(&planned, 1e-6, 1);
                let bound = statement.for_ever.unwrap();
                assert!(bound.epsilon >= statement.spent.epsilon, "{bound:?}");
                passed |= statement.spent.zcdp > planned.unwrap().total.zcdp;
            }
        }
        assert!(passed, "the control: what was spent passed the planned bound");
    }
}
