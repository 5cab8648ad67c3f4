//! What may be said of one learner's privacy: the one place where every surface gets its numbers and its words.

use super::UNIT;
use super::accountant::{Accountant, Cap};
use super::budget::planned_cost;
use super::cost::Cost;
use super::format::format_epsilon;
use super::lifetime::{Lifetime, NoCertificate};
use super::mechanism::Mechanism;
use crate::Round;
use crate::noise::NoiseKind;

/// What the releases of one learner have cost and may still cost, at one δ; or the largest of several learners.
///
/// All of it follows from public facts. Shown to people, every ε is rounded up, with its δ and unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The unit of privacy.
    pub unit: &'static str,
    /// The δ of every ε here, but not of pure ε, which holds at δ = 0.
    pub delta: f64,
    /// How often the record that was used most was used: 1 where none is used again.
    pub uses: u64,
    /// What the record that paid most has paid, all its uses together.
    pub spent: Loss,
    /// What the rounds cost that the noise was chosen for. `None` where it was not chosen for a number of rounds, and
    /// once a round has departed from the plan.
    pub planned: Option<PlannedLoss>,
    /// The cap, if there is one. A release that would exceed it is refused.
    pub cap: Option<Cap>,
    /// A bound on what any record will ever pay with the same noise and without the cap, if the plan holds from now on,
    /// or why there is none. Never below what was spent.
    pub lifetime: Result<Loss, NoCertificate>,
    /// Whether a round has departed from the plan. The certificate of the plan is then void, and `lifetime` starts at
    /// the learner's present state.
    pub from_here: bool,
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

/// The rounds that noise was chosen for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedRounds {
    /// The releases of rounds 1 to this one are counted; round 0 is free.
    pub rounds: u64,
    /// What they cost if all goes as planned.
    pub cost: Cost,
}

/// The rounds that noise was chosen for, at the δ of a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedLoss {
    /// As in [`PlannedRounds`].
    pub rounds: u64,
    /// What they cost.
    pub loss: Loss,
}

/// What holds however long a learner runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ForEver {
    /// No record will ever pay more than this, if the plan holds from now on.
    Bound(Loss),
    /// The cap stops the learner first.
    Cap {
        /// The cap.
        cap: Cap,
        /// What the same noise would cost for ever without it, or why no finite bound on that is proved.
        without: Result<Loss, NoCertificate>,
    },
    /// No finite bound is proved.
    NoBound(NoCertificate),
}

/// Noise that is chosen for ever meets its cap up to rounding.
const CAP_ROUNDING: f64 = 1.0 + 1e-9;

impl Loss {
    /// A cost of releases that all had noise of one kind, at δ.
    #[must_use]
    pub fn new(cost: Cost, noise: NoiseKind, delta: f64) -> Loss {
        let pure_epsilon = Some(cost.pure).filter(|pure| pure.is_finite());
        Loss { epsilon: cost.epsilon(noise, delta), pure_epsilon, zcdp: cost.zcdp }
    }

    /// The larger of two in each currency.
    fn largest(self, other: Loss) -> Loss {
        Loss {
            epsilon: self.epsilon.max(other.epsilon),
            pure_epsilon: both(self.pure_epsilon, other.pure_epsilon, f64::max),
            zcdp: self.zcdp.max(other.zcdp),
        }
    }
}

impl PlannedRounds {
    /// The cost of a learner's first rounds, if all goes as planned.
    #[must_use]
    pub fn new(mechanism: &Mechanism, rounds: u64) -> PlannedRounds {
        PlannedRounds { rounds, cost: planned_cost(mechanism, rounds.min(Round::LIMIT.0)) }
    }
}

/// Of two values that may both be missing, one of the two; none where one of them is missing.
fn both<T>(left: Option<T>, right: Option<T>, choose: impl FnOnce(T, T) -> T) -> Option<T> {
    Some(choose(left?, right?))
}

impl Accountant {
    /// What may be said of this learner's privacy at δ, given its planned certificate, the rounds that its noise was
    /// chosen for, and how often its most used record was used.
    ///
    /// # Panics
    /// When δ is not inside (0, 1): configs are checked before.
    #[must_use]
    pub fn statement(
        &self,
        lifetime: &Result<Lifetime, NoCertificate>,
        planned: Option<PlannedRounds>,
        delta: f64,
        uses: u64,
    ) -> Statement {
        let noise = self.mechanism().noise.kind;
        let loss = |cost| Loss::new(cost, noise, delta);
        let bound = match uses {
            0 | 1 => self.for_ever(lifetime).map(|bound| loss(bound.total)),
            2.. => Err(NoCertificate::RecordsRepeat),
        };
        // A bound that is infinite says nothing.
        let bound = bound.and_then(|bound| match bound.epsilon.is_finite() {
            true => Ok(bound),
            false => Err(NoCertificate::NotConvexAndSmooth),
        });
        let from_here = self.has_departed();
        let planned = planned.filter(|_| uses <= 1 && !from_here);
        Statement {
            unit: UNIT,
            delta,
            uses: uses.max(1),
            spent: loss(self.spent().of_repeated(uses)),
            planned: planned
                .map(|PlannedRounds { rounds, cost }| PlannedLoss { rounds, loss: loss(cost) }),
            cap: self.cap(),
            lifetime: bound,
            from_here,
        }
    }
}

impl Statement {
    /// What holds for all of several learners: the largest of each number. `None` where there are none.
    #[must_use]
    pub fn largest(statements: impl IntoIterator<Item = Statement>) -> Option<Statement> {
        statements.into_iter().reduce(|left, right| Statement {
            unit: left.unit,
            delta: left.delta,
            uses: left.uses.max(right.uses),
            spent: left.spent.largest(right.spent),
            planned: both(left.planned, right.planned, |left, right| PlannedLoss {
                rounds: left.rounds.min(right.rounds),
                loss: left.loss.largest(right.loss),
            }),
            cap: both(left.cap, right.cap, |left, right| {
                if right.epsilon() > left.epsilon() { right } else { left }
            }),
            lifetime: left.lifetime.and_then(|left| Ok(left.largest(right.lifetime?))),
            from_here: left.from_here || right.from_here,
        })
    }

    /// What holds for ever. A bound that the cap does not let the learner reach is not stated alone.
    ///
    /// The cap is enforced for a record that is used once, and says nothing of one that is used again.
    #[must_use]
    pub fn for_ever(&self) -> ForEver {
        match (self.lifetime, self.cap.filter(|_| self.uses <= 1)) {
            (Ok(bound), Some(cap)) if cap.amount_of(&bound) <= cap.epsilon() * CAP_ROUNDING => {
                ForEver::Bound(bound)
            }
            (without, Some(cap)) => ForEver::Cap { cap, without },
            (Ok(bound), None) => ForEver::Bound(bound),
            (Err(reason), None) => ForEver::NoBound(reason),
        }
    }

    /// What is planned, if anything is, and what holds for ever, in sentences.
    #[must_use]
    pub fn sentences_to_come(&self) -> Vec<String> {
        self.planned_sentence().into_iter().chain([self.for_ever_sentence()]).collect()
    }

    /// What holds for ever in a few words: `8.0000 for ever`.
    #[must_use]
    pub fn for_ever_words(&self) -> String {
        let here = if self.from_here { " from here" } else { "" };
        match self.for_ever() {
            ForEver::Bound(bound) => format!("{} for ever{here}", format_epsilon(bound.epsilon)),
            ForEver::Cap { cap: Cap::Approximate { epsilon, .. }, .. } => {
                format!("never more than the cap {epsilon}")
            }
            ForEver::Cap { cap: Cap::Pure { epsilon }, .. } => {
                format!("never more than the cap {epsilon} of pure ε")
            }
            ForEver::NoBound(_) if self.from_here => format!("no finite bound{here}"),
            ForEver::NoBound(_) => "no certificate".into(),
        }
    }

    /// The planned rounds in a sentence, if there are any.
    fn planned_sentence(&self) -> Option<String> {
        let PlannedLoss { rounds, loss } = self.planned?;
        Some(format!(
            "Planned: ε = {} at δ = {:e} over {rounds} rounds, for which the noise was chosen.",
            format_epsilon(loss.epsilon),
            self.delta
        ))
    }

    fn for_ever_sentence(&self) -> String {
        let at_delta = |epsilon| format!("ε = {} at δ = {:e}", format_epsilon(epsilon), self.delta);
        match self.for_ever() {
            ForEver::Bound(bound) if self.from_here => format!(
                "For ever from here: {}, if all neighbours are heard and records arrive as planned from now on. \
                 {VOID}",
                at_delta(bound.epsilon)
            ),
            ForEver::Bound(bound) => format!(
                "For ever: {}, however long it goes on, as long as all neighbours are heard and records arrive \
                 as planned.",
                at_delta(bound.epsilon)
            ),
            ForEver::Cap { cap, without } => {
                let without = match (cap, without) {
                    (Cap::Pure { .. }, Ok(without)) => format!(
                        "if it ran on for ever with the same noise, it would be pure ε = {}",
                        format_epsilon(cap.amount_of(&without))
                    ),
                    (Cap::Approximate { .. }, Ok(without)) => format!(
                        "if it ran on for ever with the same noise, it would be {}",
                        at_delta(without.epsilon)
                    ),
                    (Cap::Pure { .. } | Cap::Approximate { .. }, Err(reason)) => {
                        format!("no finite bound is proved ({reason})")
                    }
                };
                format!(
                    "For ever: never more than the cap of {}: a release that would exceed it is refused. Without \
                     the cap, {without}.",
                    cap.words()
                )
            }
            ForEver::NoBound(reason) if self.from_here => {
                format!("For ever from here: no finite bound ({reason}). {VOID}")
            }
            ForEver::NoBound(reason) => format!("For ever: no certificate ({reason})."),
        }
    }
}

/// Said where the bound starts at the present state.
const VOID: &str = "Neighbours or records were missing, or rounds were skipped, so the certificate of the plan is void.";

impl Cap {
    /// A loss in the currency of the cap.
    fn amount_of(self, loss: &Loss) -> f64 {
        match self {
            Cap::Pure { .. } => loss.pure_epsilon.unwrap_or(f64::INFINITY),
            Cap::Approximate { .. } => loss.epsilon,
        }
    }

    /// The cap as its owner wrote it.
    fn words(self) -> String {
        match self {
            Cap::Pure { epsilon } => format!("pure ε = {epsilon}"),
            Cap::Approximate { epsilon, .. } => format!("ε = {epsilon}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::reference;
    use super::super::{RoundTerms, lifetime};
    use super::*;
    use crate::method::Bound;

    const DELTA: f64 = 1e-6;

    /// A learner for so many rounds, which hears this share of its neighbours.
    fn after(mechanism: &Mechanism, cap: Option<Cap>, rounds: u64, share: f64) -> Accountant {
        let mut account = Accountant::new(*mechanism, cap);
        for t in 0..rounds {
            account.pay().unwrap();
            let weight_heard = share * mechanism.weight;
            account.advance(&RoundTerms { weight_heard, ..mechanism.planned_terms(Round(t)) });
        }
        account
    }

    fn stated(account: &Accountant, planned: Option<PlannedRounds>, uses: u64) -> Statement {
        account.statement(&lifetime(account.mechanism()), planned, DELTA, uses)
    }

    #[test]
    fn a_record_used_again_pays_for_every_use_and_has_no_bound_for_ever() {
        let mechanism = reference(Bound::Tight);
        let account = after(&mechanism, None, 100, 1.0);
        let (once, often) = (stated(&account, None, 1), stated(&account, None, 7));
        assert!((often.spent.zcdp / once.spent.zcdp - 49.0).abs() < 1e-6);
        assert!(often.spent.pure_epsilon.unwrap() > 6.9 * once.spent.pure_epsilon.unwrap());
        assert!(often.spent.epsilon > 6.9 * once.spent.epsilon);
        assert!(
            matches!(once.for_ever(), ForEver::Bound(bound) if bound.epsilon > once.spent.epsilon)
        );
        assert_eq!(often.for_ever(), ForEver::NoBound(NoCertificate::RecordsRepeat));
        assert_eq!(often.for_ever_words(), "no certificate");
        assert!(often.for_ever_sentence().contains("records are drawn again"));
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
                let statement = account.statement(&planned, None, DELTA, 1);
                let bound = statement.lifetime.unwrap();
                assert!(bound.epsilon >= statement.spent.epsilon, "{bound:?}");
                assert!(statement.for_ever_sentence().starts_with("For ever from here: ε = "));
                assert!(statement.for_ever_words().ends_with(" for ever from here"));
                passed |= statement.spent.zcdp > planned.unwrap().total.zcdp;
            }
        }
        assert!(passed, "the control: what was spent passed the planned bound");
    }

    #[test]
    fn a_finite_plan_states_its_own_epsilon_first_and_labels_the_other() {
        let mechanism = reference(Bound::Tight);
        let planned = PlannedRounds::new(&mechanism, 64);
        let epsilon = Loss::new(planned.cost, mechanism.noise.kind, DELTA).epsilon;
        let cap = Some(Cap::Approximate { epsilon, delta: DELTA });
        let statement = stated(&after(&mechanism, cap, 10, 1.0), Some(planned), 1);
        let said = statement.planned_sentence().unwrap();
        assert!(said.starts_with("Planned: ε = ") && said.contains("over 64 rounds"), "{said}");
        assert!(
            matches!(statement.for_ever(), ForEver::Cap { without: Ok(without), .. } if without.epsilon > epsilon)
        );
        let said = statement.for_ever_sentence();
        assert!(said.contains(&format!("never more than the cap of ε = {epsilon}:")), "{said}");
        assert!(said.contains("if it ran on for ever with the same noise"), "{said}");
        // The control: a cap that is never met, and noise that was given, need neither.
        let cap = Some(Cap::Approximate { epsilon: 1e3, delta: DELTA });
        let open = stated(&after(&mechanism, cap, 10, 1.0), None, 1);
        assert_eq!(open.planned_sentence(), None);
        assert!(matches!(open.for_ever(), ForEver::Bound(_)));
        let said = open.for_ever_sentence();
        assert!(said.starts_with("For ever: ε = ") && !said.contains("cap"), "{said}");
    }

    #[test]
    fn a_plan_that_was_departed_from_is_not_stated_any_more() {
        let mechanism = reference(Bound::Tight);
        let planned = Some(PlannedRounds::new(&mechanism, 64));
        let kept = stated(&after(&mechanism, None, 10, 1.0), planned, 1);
        assert!(kept.planned.is_some() && !kept.from_here, "the control");
        let departed = stated(&after(&mechanism, None, 10, 0.5), planned, 1);
        assert_eq!((departed.planned, departed.from_here), (None, true));
        assert!(departed.for_ever_sentence().contains("the certificate of the plan is void"));
        assert_eq!(stated(&after(&mechanism, None, 10, 1.0), planned, 2).planned, None);
    }

    #[test]
    fn a_pure_cap_is_compared_with_pure_epsilon() {
        let mechanism = reference(Bound::Tight);
        let without = stated(&after(&mechanism, None, 0, 1.0), None, 1).lifetime.unwrap();
        let pure = without.pure_epsilon.unwrap();
        assert!(pure > without.epsilon, "otherwise nothing is shown");
        let capped = |epsilon| {
            let cap = Some(Cap::Pure { epsilon });
            stated(&after(&mechanism, cap, 0, 1.0), None, 1)
        };
        // Between ε at δ and pure ε: releases will be refused.
        let between = capped(0.5 * (pure + without.epsilon));
        assert!(matches!(between.for_ever(), ForEver::Cap { .. }), "{between:?}");
        assert!(between.for_ever_sentence().contains("it would be pure ε = "));
        assert!(matches!(capped(pure).for_ever(), ForEver::Bound(_)), "the control");
    }

    #[test]
    fn where_no_certificate_is_proved_the_cap_holds_and_is_stated() {
        let mechanism = reference(Bound::Theorem5i);
        let cap = Some(Cap::Approximate { epsilon: 4.0, delta: DELTA });
        let capped = stated(&after(&mechanism, cap, 0, 1.0), None, 1);
        assert!(matches!(capped.for_ever(), ForEver::Cap { without: Err(_), .. }), "{capped:?}");
        assert_eq!(capped.for_ever_words(), "never more than the cap 4");
        assert!(capped.for_ever_sentence().contains("no finite bound is proved (Theorem 5(i)"));
        // The controls: without a cap, and for a record that is used again, which the cap says nothing of.
        let open = stated(&after(&mechanism, None, 0, 1.0), None, 1);
        assert_eq!(open.for_ever(), ForEver::NoBound(NoCertificate::FiniteHorizonBound));
        let again = stated(&after(&mechanism, cap, 0, 1.0), None, 2);
        assert_eq!(again.for_ever(), ForEver::NoBound(NoCertificate::RecordsRepeat));
    }

    #[test]
    fn of_several_learners_the_largest_numbers_are_stated() {
        let mechanism = reference(Bound::Tight);
        let cap = |epsilon| Some(Cap::Approximate { epsilon, delta: DELTA });
        let one = stated(&after(&mechanism, cap(900.0), 10, 1.0), None, 1);
        let other = stated(&after(&mechanism, cap(800.0), 40, 0.5), None, 1);
        let both = Statement::largest([one.clone(), other.clone()]).unwrap();
        assert_eq!(both.spent, other.spent);
        assert_eq!((both.cap, both.from_here), (one.cap, true));
        let (bound, own) = (both.lifetime.unwrap(), other.lifetime.unwrap());
        assert!(bound.epsilon >= own.epsilon && bound.epsilon >= one.lifetime.unwrap().epsilon);
        // One learner without a bound, and there is none for all.
        let none = stated(&after(&mechanism, None, 10, 1.0), None, 3);
        let all = Statement::largest([one, none.clone()]).unwrap();
        assert_eq!((all.lifetime, all.cap, all.uses), (none.lifetime, None, 3));
        assert_eq!(Statement::largest([]), None);
    }
}
