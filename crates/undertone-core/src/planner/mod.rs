//! Chooses noise and schedules before any record is seen, and predicts the resulting error.
//!
//! There are two separate parts. **Calibration** ([`calibrate`]) is exact: it inverts the
//! accountant, and its result is a guarantee. **Prediction** ([`predict`]) is a model: it ranks
//! schedules and promises nothing, and no budget depends on it. [`tune`] searches for the schedule
//! with the least predicted error whose noise is calibrated to the same targets.
//!
//! # The model
//!
//! Algorithm 1 is followed in expectation on a quadratic loss, one direction of curvature h at a time.
//! Write θ̄ for the average over the m learners, e_i = θ_i − θ̄:
//!
//! - **Average.** Rows and columns of W sum to zero, so coupling moves θ̄ by noise alone. With
//!   X = E(θ̄ − θ*)²: X⁺ = (1 − λ_t h)² (1 − s_t/E) X + γ_t² (1/m²) Σ_j w_jj² var_j + s_t. One draw ζ_j
//!   reaches all neighbours of j, so its weights add up before they are squared.
//! - **Disagreement from noise**, c = (1/m) Σ_i E(e_i)²: c⁺ = q² c + γ_t² (1/m) Σ_j var_j (Σ_i
//!   w_ij² − w_jj²/m), where q = max(|1 + γ_t δ₂ − λ_t h|, |1 + γ_t δ_m − λ_t h|).
//! - **Disagreement from different data**, an amplitude: b⁺ = q b + λ_t D.
//! - var_j is 2ρ_t² for Laplace noise and s_t² for Gaussian noise.
//! - **Drift.** N fresh records among h_t move θ* by s_t = N/h_t² · min(g²/(m h²), E).
//! - **Excess loss** ½ Σ h (X + b² + c), at most G times the distance; no distance is above 2B.
//!
//! The objective is the excess loss averaged over rounds with weight (t+1)², the weights of the
//! public model.
//!
//! # What it assumes
//!
//! - The Hessian's eigenvalues are μ + (L − μ)/(k H_n), k = 1 … n (H_n the harmonic number): they add up
//!   to the most that the feature norm allows, and fall like 1/k.
//! - θ* − θ_0 has the same energy E in every direction, at most B² in all, and at most what a loss
//!   of l(0) at the start allows. The loss at θ* is a twentieth of l(0).
//! - A record's gradient has norm g = min(G, √(2 L l)), for logistic and softmax losses also at most
//!   G l, with energy in proportion to h.
//! - Learners' gradients differ by D = g √(χ² + (1 − χ²)/h_t); χ is 0 for iid data, 1 for data split by
//!   class, in between otherwise.
//!
//! If these are wrong, the numbers are wrong. The ranking is more robust than the numbers.
//! `docs/adr/0010-planner.md` has the measurements and the limits. Paper map, rows 52 to 55.

mod calibrate;
mod curvature;
mod estimate;
mod predict;
mod search;
#[cfg(test)]
mod tests;

pub use calibrate::calibrate;
pub(crate) use estimate::{estimate_by_lifetime, estimate_by_recursion, estimate_without_carrying};
pub use predict::{Forecast, ForecastPoint, predict};
pub(crate) use search::ScheduleShape;
pub use search::{Tuned, interval_max, tune};

use crate::privacy::{Horizon, NoCertificate};
use crate::{LearnerId, PowerLaw};
use thiserror::Error;

/// What is expected of the data, in addition to the agreement. No privacy claim depends on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// How many rounds will be run.
    pub rounds: u64,
    /// χ: 0 where all learners see the same distribution, 1 where each sees one class.
    pub heterogeneity: f64,
}

/// What a plan must satisfy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// What is expected of the data.
    pub outlook: Outlook,
    /// Over which rounds the targets must hold.
    pub horizon: Horizon,
    /// The bound on the error of the memory's gradient, as its crate states it.
    pub memory_error: PowerLaw,
    /// How many records a learner will have, for the warm-up and all batches of the planned rounds.
    pub records: u64,
    /// The longest warm-up that may be chosen.
    pub warmup_max: u64,
}

/// Why there is no plan.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PlannerError {
    /// A learner has no target.
    #[error("learner {learner} has no target: give epsilon and delta, or pure_epsilon")]
    NoTarget {
        /// Who.
        learner: LearnerId,
    },
    /// A target for ever, and no finite lifetime bound at any noise scale.
    #[error("learner {learner}: no lifetime certificate: {reason}")]
    NoCertificate {
        /// Whose target.
        learner: LearnerId,
        /// Why there is none.
        reason: NoCertificate,
    },
    /// The noise has no finite pure ε at any scale, the horizon has no cost at all, or machine arithmetic
    /// alone costs more than the target.
    #[error("learner {learner}: the target cannot be met: the cost at unit noise scale is {cost}")]
    Unreachable {
        /// Whose target.
        learner: LearnerId,
        /// The cost at unit scale.
        cost: f64,
    },
    /// The charge for rounding neighbours' noise grows as fast as the noise meant to pay for it.
    #[error(
        "no noise meets the target: over so long a horizon the rounding of the noise itself costs more than the target"
    )]
    NoFixedPoint,
    /// The agreement needs more records than there are, and no schedule that needs fewer was found.
    #[error(
        "{records} records a learner are fewer than the {taken} the agreement takes (warm-up and batches), and no schedule that takes fewer meets the targets"
    )]
    RecordsTaken {
        /// Records of a learner.
        records: u64,
        /// Records the agreement needs.
        taken: u64,
    },
    /// The run is over before a gradient leaves.
    #[error(
        "schedule.interval = {interval}: no gradient is released in {rounds} rounds, so nothing would be learnt and nothing spent; use at most {}",
        interval_max(*rounds)
    )]
    NothingReleased {
        /// A gradient in every so many rounds.
        interval: u64,
        /// Rounds planned.
        rounds: u64,
    },
    /// The search supports only full histories.
    #[error("memory.kind forgets, and schedules are searched for full histories only")]
    Forgetting,
    /// Every round needs a record.
    #[error(
        "{records} records a learner are too few for {rounds} rounds: every round takes at least one"
    )]
    TooFewRecords {
        /// Records of a learner.
        records: u64,
        /// Rounds planned.
        rounds: u64,
    },
}
