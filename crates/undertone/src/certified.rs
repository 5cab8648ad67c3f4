//! What is certified beyond what was spent: over the rounds that the noise was chosen for, and for ever.
//!
//! Noise that is chosen for a number of rounds is too little to go on for ever within the same ε, and the cap ends
//! the run instead. Both numbers are true; beside each other and without a word they contradict.

use undertone_core::agreement::NoiseScale;
use undertone_core::privacy::{Cap, format_epsilon, planned_cost};
use undertone_core::{LearnerId, Round};
use undertone_models::Setup;

/// Bounds on what one learner will spend, or the largest of several learners.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certified {
    /// What the rounds cost that the noise was chosen for, if it was.
    pub planned: Option<Planned>,
    /// The cap, if there is one: ε at the agreement's δ or pure ε, which is no less.
    pub cap: Option<f64>,
    /// ε of all rounds to come with the same noise and without a cap, if a finite bound is proved.
    pub lifetime: Option<f64>,
    /// The δ.
    pub delta: f64,
}

/// Rounds that noise was chosen for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Planned {
    /// The releases of rounds 1 to this one are counted; round 0 is free.
    pub rounds: u64,
    /// Their ε.
    pub epsilon: f64,
}

/// What holds however long a learner runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ForEver {
    /// All releases to come cost at most this ε.
    Bound(f64),
    /// The cap stops the learner first.
    Cap {
        /// The cap.
        cap: f64,
        /// What the same noise would cost for ever without it.
        without: f64,
    },
    /// No finite bound is proved.
    NoCertificate,
}

impl Certified {
    /// What is certified of one learner.
    ///
    /// # Panics
    /// When there is no such learner: a bug in the caller.
    #[must_use]
    pub fn of(setup: &Setup, id: LearnerId) -> Certified {
        let (agreement, learner) = (&setup.agreement, id.0 as usize);
        let planned = match agreement.noise_scale {
            NoiseScale::Given(_) | NoiseScale::Lifetime => None,
            NoiseScale::Rounds(rounds) => {
                let cost = planned_cost(&setup.mechanisms[learner], rounds.min(Round::LIMIT.0));
                let epsilon = cost.epsilon(agreement.noise_kind, agreement.delta);
                Some(Planned { rounds, epsilon })
            }
        };
        let cap = agreement.caps[learner].map(|cap| match cap {
            Cap::Pure { epsilon } | Cap::Approximate { epsilon, .. } => epsilon,
        });
        Certified { planned, cap, lifetime: setup.lifetime_epsilon(id), delta: agreement.delta }
    }

    /// What holds for ever. A bound that the cap does not let the learner reach is no bound worth stating alone.
    #[must_use]
    pub fn for_ever(&self) -> ForEver {
        match (self.lifetime, self.cap) {
            (None, _) => ForEver::NoCertificate,
            // Noise that is chosen for ever meets its cap up to rounding.
            (Some(without), Some(cap)) if without > cap * (1.0 + 1e-9) => {
                ForEver::Cap { cap, without }
            }
            (Some(bound), _) => ForEver::Bound(bound),
        }
    }

    /// The planned rounds in a sentence, if there are any.
    #[must_use]
    pub fn planned_sentence(&self) -> Option<String> {
        let Planned { rounds, epsilon } = self.planned?;
        Some(format!(
            "Planned: ε = {} at δ = {:e} over {rounds} rounds, for which the noise was chosen.",
            format_epsilon(epsilon),
            self.delta
        ))
    }

    /// That the cap ends the run, in a sentence, and what the same noise would cost without it.
    #[must_use]
    pub fn cap_sentence(&self) -> Option<String> {
        let ForEver::Cap { cap, without } = self.for_ever() else { return None };
        Some(format!(
            "For ever: never more than the cap of ε = {cap}: a release that would pass it is refused. Without the \
             cap, if it ran on for ever with the same noise, it would be ε = {} at δ = {:e}.",
            format_epsilon(without),
            self.delta
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LearnerBuilder;

    fn certified(rounds: Option<u64>) -> Certified {
        let builder = LearnerBuilder { rounds, ..LearnerBuilder::new(5, 4.0, 1e-6) };
        Certified::of(&builder.setup().unwrap(), LearnerId(0))
    }

    #[test]
    fn a_finite_plan_states_its_own_epsilon_first_and_labels_the_other() {
        let certified = certified(Some(64));
        let planned = certified.planned.unwrap();
        assert_eq!(planned.rounds, 64);
        assert!(planned.epsilon <= 4.0 && planned.epsilon > 3.999, "{planned:?}");
        let said = certified.planned_sentence().unwrap();
        assert!(said.starts_with("Planned: ε = 4.0000 at δ = 1e-6 over 64 rounds"), "{said}");
        let said = certified.cap_sentence().unwrap();
        assert!(said.contains("never more than the cap of ε = 4:"), "{said}");
        assert!(said.contains("if it ran on for ever with the same noise"), "{said}");
        assert!(matches!(certified.for_ever(), ForEver::Cap { without, .. } if without > 4.1));
    }

    #[test]
    fn control_noise_chosen_for_ever_needs_neither_sentence() {
        let certified = certified(None);
        assert_eq!((certified.planned, certified.planned_sentence()), (None, None));
        assert_eq!(certified.cap_sentence(), None);
        assert!(matches!(certified.for_ever(), ForEver::Bound(bound) if bound <= 4.0));
        let none = Certified { lifetime: None, ..certified };
        assert_eq!(none.for_ever(), ForEver::NoCertificate);
        let open = Certified { cap: None, lifetime: Some(9.0), ..certified };
        assert_eq!(open.for_ever(), ForEver::Bound(9.0));
    }
}
