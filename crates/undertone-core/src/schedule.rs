//! Power-law schedules: steps, coupling, noise scales and memory tolerances.

use crate::Round;
use serde::{Deserialize, Serialize};

/// A sequence `initial · (t+1)^exponent`.
///
/// The exponent carries its sign: steps and coupling decay (negative), noise grows (positive).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerLaw {
    /// The value at t = 0.
    pub initial: f64,
    /// The exponent of t + 1.
    pub exponent: f64,
}

impl PowerLaw {
    /// A sequence that is zero in every round.
    pub const ZERO: PowerLaw = PowerLaw { initial: 0.0, exponent: 0.0 };

    /// A sequence with value `initial` at t = 0 that shrinks as (t+1)^−rate.
    #[must_use]
    pub fn decaying(initial: f64, rate: f64) -> PowerLaw {
        PowerLaw { initial, exponent: -rate }
    }

    /// A sequence with value `initial` at t = 0 that grows as (t+1)^rate.
    #[must_use]
    pub fn growing(initial: f64, rate: f64) -> PowerLaw {
        PowerLaw { initial, exponent: rate }
    }

    /// The value in a round.
    #[must_use]
    pub fn at(&self, round: Round) -> f64 {
        self.at_logarithm(logarithm(round))
    }

    /// The value in the round with this [`logarithm`].
    ///
    /// One logarithm serves all power laws of a round: a call of `powf` for each took most of the
    /// time of a round of the account. The error is below 2⁻⁴⁶ of the value, for exponents up to 3
    /// in size and 2³² rounds.
    pub(crate) fn at_logarithm(&self, logarithm: f64) -> f64 {
        if self.initial.abs() <= 0.0 {
            return self.initial;
        }
        self.initial * (self.exponent * logarithm).exp()
    }
}

/// ln(t+1).
pub(crate) fn logarithm(round: Round) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "rounds stay below 2^32; others are refused elsewhere"
    )]
    let base = round.0 as f64 + 1.0;
    base.ln()
}

/// Step and coupling of Algorithm 1: λ_t = λ0 (t+1)^−v and γ_t = γ0 (t+1)^−u.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// λ_t, the step along the history gradient.
    pub step: PowerLaw,
    /// γ_t, the coupling to the neighbours' releases.
    pub coupling: PowerLaw,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_the_power_law() {
        let step = PowerLaw::decaying(2.0, 0.5);
        assert!((step.at(Round(0)) - 2.0).abs() < 1e-15);
        assert!((step.at(Round(3)) - 1.0).abs() < 1e-15);
        assert!((PowerLaw::growing(1.0, 2.0).at(Round(2)) - 9.0).abs() < 1e-12);
    }

    #[test]
    fn a_round_that_a_forged_ledger_names_overflows_nothing() {
        assert!(PowerLaw::decaying(2.0, 0.5).at(Round(u64::MAX)) > 0.0);
    }
}
