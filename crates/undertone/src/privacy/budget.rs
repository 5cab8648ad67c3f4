//! Budgets computed from public facts alone: no data, no run.

use super::conversion::{epsilon_from_zcdp, zcdp_from_epsilon};
use super::lifetime::{Lifetime, NoCertificate, lifetime};
use super::mechanism::{Cost, Mechanism, Total};
use crate::Round;
use crate::privacy::Cap;
use thiserror::Error;

/// What releases in rounds 0 to `rounds` cost with full attendance.
///
/// The release of round 0 is free, so this is the sum over t = 1 … `rounds`, as in Theorem 5.
#[must_use]
pub fn planned_cost(mechanism: &Mechanism, rounds: u64) -> Cost {
    record_cost(mechanism, Round::ZERO, rounds)
}

/// What the releases of rounds 0 to `rounds` reveal of a record that arrived in a given round.
///
/// A record cannot be in θ before the step of its own round, so its sensitivity starts at zero
/// there. Record 0 (or any of the warm-up) pays most.
#[must_use]
pub fn record_cost(mechanism: &Mechanism, arrival: Round, rounds: u64) -> Cost {
    let mut sensitivity = 0.0;
    let mut total = Total::default();
    for t in arrival.0..=rounds {
        let round = Round(t);
        // The release of the arrival round itself does not depend on the record.
        if t > arrival.0 {
            total.add(mechanism.cost(round, sensitivity));
        }
        sensitivity = mechanism.next_sensitivity(sensitivity, &mechanism.planned_terms(round));
    }
    total.cost()
}

/// Over which rounds a target must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Horizon {
    /// For ever.
    Lifetime,
    /// For the releases of rounds 0 to this one.
    Rounds(u64),
}

/// Why no noise scale meets a target.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum CalibrationError {
    /// There is no finite lifetime bound at any scale.
    #[error("no lifetime certificate: {0}")]
    NoCertificate(#[from] NoCertificate),
    /// The noise has no finite pure ε at any scale, or the horizon has no cost at all.
    #[error("the target cannot be met: the cost at unit noise scale is {cost}")]
    Unreachable {
        /// The cost at unit scale.
        cost: f64,
    },
}

/// The smallest initial noise scale that keeps a learner's cost within a target.
///
/// # Guarantee
/// With the returned scale, the cost over the horizon is at most the target: sensitivity does not
/// depend on the noise, so pure ε scales as 1/scale and zCDP as 1/scale², and the result is checked
/// and nudged up until it holds.
///
/// # Errors
/// When no scale can meet the target.
pub fn calibrate_scale(
    mechanism: &Mechanism,
    target: Cap,
    horizon: Horizon,
) -> Result<f64, CalibrationError> {
    let at = |scale: f64| -> Result<Cost, NoCertificate> {
        let mut candidate = *mechanism;
        candidate.noise.scale.initial = scale;
        match horizon {
            Horizon::Lifetime => lifetime(&candidate).map(|bound: Lifetime| bound.total),
            Horizon::Rounds(rounds) => Ok(planned_cost(&candidate, rounds)),
        }
    };
    let unit = at(1.0)?;
    let within = |cost: Cost| match target {
        Cap::Pure { epsilon } => cost.pure <= epsilon,
        Cap::Approximate { epsilon, delta } => epsilon_from_zcdp(cost.zcdp, delta) <= epsilon,
    };
    let (cost, mut scale) = match target {
        Cap::Pure { epsilon } => (unit.pure, unit.pure / epsilon),
        Cap::Approximate { epsilon, delta } => {
            (unit.zcdp, (unit.zcdp / zcdp_from_epsilon(epsilon, delta)).sqrt())
        }
    };
    if !(cost > 0.0 && cost.is_finite() && scale.is_finite()) {
        return Err(CalibrationError::Unreachable { cost });
    }
    // Rounding may leave the first guess a few units in the last place short.
    while !within(at(scale)?) {
        scale *= 1.0 + 1e-13;
    }
    Ok(scale)
}
