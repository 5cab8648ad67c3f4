//! Gradient memories: the average gradient over the history of a stream, whole or recent.
//!
//! | Memory | Losses | Cost of a round | Error |
//! |---|---|---|---|
//! | [`Exact`] | all | O(h·n) | none |
//! | [`Moments`] | squared (ridge, lasso, polynomial regression) | O(n²) | none |
//! | [`Recursive`] | squared, power; one non-zero feature | O(n·q) | roundings |
//! | [`Polynomial`] | logistic | O(n²), O(n⁴), O(n⁶) | e_M·max‖a‖ |
//! | [`Anchored`] | squared, power, logistic | O(n²), and rarely O(h·n²) | the tolerance |
//! | [`Recent`] | all | O(records of the last rounds · n) | none |
//! | [`DecayedMoments`] | squared | O(n²) | roundings |
//!
//! The last two forget: records lose weight with age, and the accountant uses the same weights.
//!
//! All memories take records that were checked for their model, score each with θ before its label is used
//! (data loss only, without penalties), add r·θ to the gradient, leave ‖θ‖₁ to the learner's proximal step, and return
//! the zero vector while there are no records.
//!
//! # Machine rounding
//! The accountant charges √n·2⁻⁵⁰·B = 8√n·u·B for the arithmetic of one round (u = 2⁻⁵³, B the
//! radius). A gradient error e moves θ by λ_t·e, so an error bound of zero is valid while
//! λ_t·e ≤ 8√n·u·B. [`Exact::rounding_error`] and [`Moments::rounding_error`] state e:
//! - Exact: u·((n/4 + 4)·L·B + 40·G), for any number of records, since sums are compensated. With
//!   n = 112, L = ¼, G = 1, B = 10 and λ_t ≤ 1 that is 120u against a charge of 847u.
//! - Moments: u·((h/2 + min(n, n/4 + 6) + min(h, 7) + 4)·L·B + 6·R·b). The term h/2 grows, because S is a plain sum (a
//!   carry for each entry would double the memory), but steps shrink: with n = 112, L = R = 1, B = 10, b = 1,
//!   h_t = t + 1 and λ_t = (t+1)^−0.77, λ_t·e is 401u at t = 0, 27u at t = 1 000, 120u at t = 10⁶ and
//!   821u at t = 2³²: always within the charge of 847u. With n = 1 it exceeds the charge after t = 170 000; [`Recursive`] has no
//!   such term.
//! - Polynomial: as Moments, and far below its own error bound.
//! - Recent: as Exact, and 2u·G more for the weights. Steps need not shrink here, so an error of
//!   zero is valid while λ·((n/4 + 4)·L·B + 42·G) ≤ 8√n·B. DecayedMoments charges its own.
//! - Anchored: as Exact for its gradient sum; H_a errs by u·h·R²/8 times ‖θ − θ_a‖, below Moments.

mod anchored;
mod any_memory;
mod decayed_moments;
mod exact;
mod link_fit;
mod moments;
mod neural;
mod polynomial;
mod recent;
mod recursive;

pub use anchored::Anchored;
pub use any_memory::AnyMemory;
pub use decayed_moments::DecayedMoments;
pub use exact::Exact;
pub use moments::Moments;
pub use neural::{NeuralArrival, NeuralHistory};
pub use polynomial::Polynomial;
pub use recent::Recent;
pub use recursive::Recursive;

use crate::history::BLOCK;
use crate::row::Row;
use crate::vector;
use crate::{AnyModel, BoundedRecord, Model, SetupError};
use any_memory::neural_memory;
use std::fmt;
use std::sync::Arc;
use undertone_core::{Loss, MemoryKind, PowerLaw, Score};

/// The error bound of a memory of this kind, without any data.
///
/// # Guarantee
/// Equal to `error_bound()` of the memory [`AnyMemory::new`] builds.
///
/// # Errors
/// Those of [`AnyMemory::new`].
pub fn error_bound(kind: MemoryKind, model: &AnyModel) -> Result<PowerLaw, SetupError> {
    let model = match model {
        AnyModel::Linear(model) => model,
        AnyModel::Neural(model) => {
            return neural_memory(kind, Arc::clone(model)).map(|_| PowerLaw::ZERO);
        }
    };
    match kind {
        MemoryKind::Arrival => Err(unsupported_loss("arrival", model.spec().loss, "exact")),
        MemoryKind::Exact => Ok(PowerLaw::ZERO),
        MemoryKind::Moments => moments::check_model(model).map(|()| PowerLaw::ZERO),
        MemoryKind::Recursive => recursive::node_count(model)
            .map(|nodes| constant(recursive::rounding_bound(model, nodes))),
        MemoryKind::Polynomial { degree } => polynomial::check_model(model, degree)
            .map(|fit| constant(polynomial::error_bound(model, &fit))),
        MemoryKind::Anchored { tolerance } => {
            anchored::check_model(model, tolerance).map(|_third_derivative_max| tolerance)
        }
        MemoryKind::Window { .. } | MemoryKind::Decaying { rounds: Some(_), .. } => {
            Ok(PowerLaw::ZERO)
        }
        MemoryKind::Decaying { rounds: None, .. } => decayed_moments::check_model(model)
            .map(|()| constant(decayed_moments::rounding_bound(model))),
    }
}

/// Parameters whose packed second moments take 1.6 GB.
const SECOND_MOMENTS_MAX: usize = 20_000;

/// Checks that the second moments of a model fit into memory.
fn check_second_moments(memory: &'static str, model: &Model) -> Result<(), SetupError> {
    let (parameters, limit) = (model.parameters(), SECOND_MOMENTS_MAX);
    if parameters > limit {
        return Err(SetupError::MomentsTooLarge { memory, parameters, limit });
    }
    Ok(())
}

/// Checks that a model does not clip gradients.
fn check_unclipped(memory: &'static str, model: &Model) -> Result<(), SetupError> {
    if model.spec().clip.is_finite() { Err(SetupError::Clipped { memory }) } else { Ok(()) }
}

fn unsupported_loss(memory: &'static str, loss: Loss, instead: &'static str) -> SetupError {
    let loss = match loss {
        Loss::Squared => "squared",
        Loss::Power { .. } => "power",
        Loss::Huber { .. } => "Huber",
        Loss::Logistic => "logistic",
        Loss::Softmax { .. } => "softmax",
        Loss::Neural { .. } => "neural network",
        Loss::Declared { .. } => "declared",
    };
    SetupError::UnsupportedLoss { memory, loss, instead }
}

fn constant(value: f64) -> PowerLaw {
    PowerLaw { initial: value, exponent: 0.0 }
}

/// Expands and scores each record of a batch and passes it to `remember`.
fn observe_batch(
    model: &Model,
    theta: &[f64],
    batch: &[BoundedRecord],
    mut remember: impl FnMut(Row<'_>, f64),
) -> Score {
    assert_eq!(theta.len(), model.parameters(), "θ has one entry for each parameter");
    let mut score = Score::default();
    for records in batch.chunks(BLOCK) {
        let (mut products, mut labels) = ([0.0; BLOCK], [0.0; BLOCK]);
        for ((record, product), label) in records.iter().zip(&mut products).zip(&mut labels) {
            record.assert_keeps_to(model.record_bounds());
            let features = model.expand(record.features());
            *label = record.label();
            match model.scalar_loss() {
                Some(_) => *product = features.row().dot(theta),
                None => model.score(theta, features.row(), *label, &mut score),
            }
            remember(features.row(), *label);
        }
        if let Some(loss) = model.scalar_loss() {
            let count = records.len();
            vector::add_to_score(loss, &mut products[..count], &labels[..count], &mut score);
        }
    }
    score
}

/// Adds r·θ.
fn add_ridge(model: &Model, theta: &[f64], out: &mut [f64]) {
    let ridge = model.spec().ridge;
    for (slot, &x) in out.iter_mut().zip(theta) {
        *slot += ridge * x;
    }
}

/// Prints how large a memory is: what it holds is private.
fn write_shape(
    formatter: &mut fmt::Formatter<'_>,
    name: &str,
    model: &Model,
    records: u64,
) -> fmt::Result {
    let n = model.parameters();
    write!(formatter, "{name}(parameters={n}, records={records}, <redacted>)")
}

/// 1/h for h > 0 records.
#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
fn inverse_count(records: u64) -> f64 {
    1.0 / records as f64
}
