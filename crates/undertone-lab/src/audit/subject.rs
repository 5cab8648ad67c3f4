//! What is audited: anything that observes, releases, absorbs and states claims.

use crate::entropy::{RunEntropy, SeededEntropy};
use std::fmt;
use undertone::privacy::Cost;
use undertone::{PrivateParameters, Release, ReleaseError, Round};
use undertone_models::{BoundedRecord, PublicRandom, Record, RecordError};

/// A learner under audit.
///
/// The real one is [`LearnerSubject`](super::LearnerSubject). Tests wrap it to plant faults, so the
/// program itself needs no switch for faults.
///
/// Algorithm 1 perturbs its parameters in every round and sends the result. A shielded learner
/// perturbs the history gradient it holds, in some rounds only, and sends the point it steps to.
pub trait Subject {
    /// Checks a record on its way in.
    ///
    /// # Errors
    /// When it is outside the declared bounds, or does not fit the memory.
    fn check(&self, record: Record) -> Result<BoundedRecord, RecordError>;

    /// Takes the records that arrived, each of which was [checked](Self::check).
    fn observe(&mut self, batch: &[BoundedRecord]);

    /// What this round's release will perturb: θ_t, or a gradient. Called before `release`.
    ///
    /// `None` in a round whose release contains nothing new.
    fn secret(&self) -> Option<PrivateParameters<'_>>;

    /// Pays and sends. Returns the secret with its noise; empty if there was no secret.
    ///
    /// A second call in the same round must return the same bytes.
    ///
    /// # Errors
    /// When the release is refused, or there is no entropy.
    fn release(&mut self) -> Result<Vec<f64>, ReleaseError>;

    /// The values that were sent in this round, after `release`.
    fn sent(&self) -> &[f64];

    /// Ends the round with what the neighbours sent.
    fn absorb(&mut self, heard: &[&Release]);

    /// What it claims in this round.
    fn claims(&self) -> Claims;
}

/// What a subject claims about the round it is in.
#[derive(Clone, Copy, Debug)]
pub struct Claims {
    /// The round t.
    pub round: Round,
    /// Φ_t with the charge for machine arithmetic: how far the secret can depend on one record.
    pub sensitivity: f64,
    /// ρ_t, the noise scale of this round's release.
    pub scale: f64,
    /// Everything spent, including this round's release once it was called.
    pub spent: Cost,
}

/// Which subject to build.
#[derive(Clone, Default)]
pub struct Trial {
    /// Trials with different numbers draw independent noise.
    pub number: u64,
    /// A public point of Θ to start at; `None` starts as the config does.
    pub start: Option<Vec<f64>>,
    /// The first secret itself, with Θ and a bound wide enough for it. Records are then ignored.
    pub planted: Option<Vec<f64>>,
    /// Whether the config's cap is enforced. Noise does not depend on it, and an account with a cap
    /// takes as long to set up as a hundred releases.
    pub capped: bool,
    /// Whether a shielded learner takes no steps, so that its point follows only from what it
    /// hears.
    pub still: bool,
    /// Whether to build the first neighbour instead, with the same source of keys.
    pub neighbour: bool,
}

impl Trial {
    /// A trial that starts as the config does, without a cap.
    #[must_use]
    pub fn new(number: u64) -> Trial {
        Trial { number, ..Trial::default() }
    }

    /// The same with the config's cap in force.
    #[must_use]
    pub fn capped(number: u64) -> Trial {
        Trial { capped: true, ..Trial::new(number) }
    }

    /// The keys of this trial: from the operating system, or from a seed (NOT PRIVATE).
    #[must_use]
    pub fn entropy(&self, seed: Option<u64>) -> RunEntropy {
        match seed {
            None => RunEntropy::new(None),
            Some(seed) => {
                let mut mixed = PublicRandom::new(PublicRandom::new(seed).next_u64() ^ self.number);
                RunEntropy::Seeded(SeededEntropy::new(mixed.next_u64()))
            }
        }
    }
}

/// Prints no point and no secret.
impl fmt::Debug for Trial {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Trial(number={}, capped={}, <redacted>)", self.number, self.capped)
    }
}
