//! Noise scales that meet the targets of an agreement.

use super::PlannerError;
use crate::PowerLaw;
use crate::agreement::Agreement;
use crate::privacy::{Cap, Horizon, Mechanism, NoScale, calibrate_scale};

/// The least noise scale for each learner that meets its own target over the horizon.
///
/// # Guarantee
/// With these scales, the certified cost of every learner is at most its target.
///
/// # Errors
/// When a learner has no target, no scale meets it, or nothing is released within the horizon.
pub fn calibrate(
    agreement: &Agreement,
    memory_error: PowerLaw,
    horizon: Horizon,
) -> Result<Vec<f64>, PlannerError> {
    if let (Horizon::Rounds(rounds), Some(interval)) =
        (horizon, agreement.method.describe().interval)
        && interval > rounds
    {
        return Err(PlannerError::NothingReleased { interval, rounds });
    }
    // The largest scale enters every learner's charge for machine arithmetic, so the scales must
    // meet their targets with a bound on all of them. That charge is 2⁻⁴⁴ of the noise, so one
    // repetition is normally enough. More than a few mean that the charge outgrows the noise over
    // the horizon.
    let mut bound = 1.0;
    for _ in 0..REPETITIONS_MAX {
        let scales = calibrate_within(agreement, memory_error, horizon, bound)?;
        let largest = scales.iter().copied().fold(0.0, f64::max);
        if largest <= bound && bound <= largest * (1.0 + SLACK) {
            return Ok(scales);
        }
        bound = largest * (1.0 + SLACK / 2.0);
    }
    Err(PlannerError::NoFixedPoint)
}

const REPETITIONS_MAX: u32 = 64;
/// How far the bound may lie above the largest scale: it costs 2⁻⁴⁴ of this.
const SLACK: f64 = 1e-6;

/// The least scales that meet the targets when no learner's scale is above `scale_max`.
fn calibrate_within(
    agreement: &Agreement,
    memory_error: PowerLaw,
    horizon: Horizon,
    scale_max: f64,
) -> Result<Vec<f64>, PlannerError> {
    let noise_max = agreement.noise_max(scale_max);
    let constants = agreement.model.constants(&agreement.bounds);
    // Most networks have many learners of the same kind.
    let mut known: Vec<(Mechanism, Cap, f64)> = Vec::new();
    let mut scales = Vec::with_capacity(agreement.graph.learners());
    for (learner, cap) in agreement.graph.ids().zip(&agreement.caps) {
        let target = cap.ok_or(PlannerError::NoTarget { learner })?;
        let unit = agreement.mechanism(constants, learner, memory_error, 1.0, noise_max);
        let same = known.iter().find(|(other, cap, _)| *other == unit && *cap == target);
        let scale = match same {
            Some(&(_, _, scale)) => scale,
            None => {
                let failed = |why| match why {
                    NoScale::NoCertificate(reason) => {
                        PlannerError::NoCertificate { learner, reason }
                    }
                    NoScale::Unreachable { cost } => PlannerError::Unreachable { learner, cost },
                };
                let scale = calibrate_scale(&unit, target, horizon).map_err(failed)?;
                known.push((unit, target, scale));
                scale
            }
        };
        scales.push(scale);
    }
    Ok(scales)
}
