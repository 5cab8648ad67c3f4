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
//! All memories check a whole batch before they store any of it, score each record with θ before its label is used
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
mod decayed_moments;
mod exact;
mod link_fit;
mod moments;
mod neural;
mod polynomial;
mod recent;
mod recursive;

pub use anchored::Anchored;
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
use crate::{AnyModel, Model, NeuralModel, Record};
use std::sync::Arc;
use thiserror::Error;
use undertone_core::persist::{Fields, Persist};
use undertone_core::{Forgetting, Loss, Memory, MemoryKind, PowerLaw, RecordError, Round, Score};

/// One type for all memories.
#[derive(Clone, Debug)]
pub enum AnyMemory {
    /// The full history.
    Exact(Exact),
    /// Sufficient statistics of the squared loss.
    Moments(Moments),
    /// Sums at fixed nodes, coordinate by coordinate.
    Recursive(Recursive),
    /// A polynomial fit of the logistic loss.
    Polynomial(Polynomial),
    /// A quadratic model at an anchor.
    Anchored(Anchored),
    /// The records of the last rounds.
    Recent(Recent),
    /// Sufficient statistics with exponential weights.
    DecayedMoments(DecayedMoments),
    /// Records of a neural network, all or the newest.
    NeuralHistory(NeuralHistory),
    /// The average of a neural network's gradients, each computed once.
    NeuralArrival(NeuralArrival),
}

impl AnyMemory {
    /// An empty memory of the given kind.
    ///
    /// # Errors
    /// If the kind does not support the model; the error names one that does.
    pub fn new(kind: MemoryKind, model: impl Into<AnyModel>) -> Result<AnyMemory, MemoryError> {
        let model = match model.into() {
            AnyModel::Linear(model) => model,
            AnyModel::Neural(model) => return neural_memory(kind, model),
        };
        if model.lacks_function() {
            return Err(MemoryError::NoFunction);
        }
        Ok(match kind {
            MemoryKind::Arrival => {
                return Err(unsupported_loss("arrival", model.spec().loss, "exact"));
            }
            MemoryKind::Exact => AnyMemory::Exact(Exact::new(model)),
            MemoryKind::Moments => AnyMemory::Moments(Moments::new(model)?),
            MemoryKind::Recursive => AnyMemory::Recursive(Recursive::new(model)?),
            MemoryKind::Polynomial { degree } => {
                AnyMemory::Polynomial(Polynomial::new(model, degree)?)
            }
            MemoryKind::Anchored { tolerance } => {
                AnyMemory::Anchored(Anchored::new(model, tolerance)?)
            }
            MemoryKind::Window { rounds } => AnyMemory::Recent(Recent::window(model, rounds)),
            MemoryKind::Decaying { factor, rounds: Some(rounds) } => {
                AnyMemory::Recent(Recent::decaying(model, factor, rounds))
            }
            MemoryKind::Decaying { factor, rounds: None } => {
                AnyMemory::DecayedMoments(DecayedMoments::new(model, factor)?)
            }
        })
    }

    /// Checks whether a record can be added: some memories are stricter than their model. `position` is its
    /// position in the batch, for the error.
    ///
    /// # Errors
    /// Says which bound the record breaks, never its values.
    pub fn check(
        &self,
        model: &AnyModel,
        record: &Record,
        position: usize,
    ) -> Result<(), RecordError> {
        match self {
            AnyMemory::Recursive(memory) => memory.check(record, position),
            AnyMemory::Exact(_)
            | AnyMemory::Moments(_)
            | AnyMemory::Polynomial(_)
            | AnyMemory::Anchored(_)
            | AnyMemory::Recent(_)
            | AnyMemory::DecayedMoments(_)
            | AnyMemory::NeuralHistory(_)
            | AnyMemory::NeuralArrival(_) => model.check(record, position),
        }
    }

    /// The approximate number of multiplications of a round, to decide whether it is worth a thread.
    #[must_use]
    pub fn work(&self, parameters: usize) -> u64 {
        let parameters = parameters as u64;
        let rows = match self {
            AnyMemory::Exact(memory) => memory.records(),
            AnyMemory::Recent(memory) => memory.records_kept(),
            AnyMemory::Recursive(_) => 1,
            AnyMemory::Moments(_)
            | AnyMemory::DecayedMoments(_)
            | AnyMemory::Anchored(_)
            | AnyMemory::Polynomial(_) => parameters,
            // Always worth a thread.
            AnyMemory::NeuralHistory(_) | AnyMemory::NeuralArrival(_) => u64::MAX,
        };
        parameters.saturating_mul(rows)
    }

    fn as_memory(&self) -> &dyn Memory<Record = Record> {
        match self {
            AnyMemory::Exact(memory) => memory,
            AnyMemory::Moments(memory) => memory,
            AnyMemory::Recursive(memory) => memory,
            AnyMemory::Polynomial(memory) => memory,
            AnyMemory::Anchored(memory) => memory,
            AnyMemory::Recent(memory) => memory,
            AnyMemory::DecayedMoments(memory) => memory,
            AnyMemory::NeuralHistory(memory) => memory,
            AnyMemory::NeuralArrival(memory) => memory,
        }
    }

    fn as_memory_mut(&mut self) -> &mut dyn Memory<Record = Record> {
        match self {
            AnyMemory::Exact(memory) => memory,
            AnyMemory::Moments(memory) => memory,
            AnyMemory::Recursive(memory) => memory,
            AnyMemory::Polynomial(memory) => memory,
            AnyMemory::Anchored(memory) => memory,
            AnyMemory::Recent(memory) => memory,
            AnyMemory::DecayedMoments(memory) => memory,
            AnyMemory::NeuralHistory(memory) => memory,
            AnyMemory::NeuralArrival(memory) => memory,
        }
    }
}

fn neural_memory(kind: MemoryKind, model: Arc<NeuralModel>) -> Result<AnyMemory, MemoryError> {
    let history = |window| AnyMemory::NeuralHistory(NeuralHistory::new(Arc::clone(&model), window));
    match kind {
        MemoryKind::Exact => Ok(history(None)),
        MemoryKind::Window { rounds } => Ok(history(Some(rounds))),
        MemoryKind::Arrival => Ok(AnyMemory::NeuralArrival(NeuralArrival::new(model))),
        MemoryKind::Moments
        | MemoryKind::Recursive
        | MemoryKind::Polynomial { .. }
        | MemoryKind::Anchored { .. }
        | MemoryKind::Decaying { .. } => Err(MemoryError::Neural),
    }
}

impl Memory for AnyMemory {
    type Record = Record;

    fn observe(&mut self, theta: &[f64], batch: &[Record]) -> Result<Score, RecordError> {
        self.as_memory_mut().observe(theta, batch)
    }

    fn gradient(&mut self, round: Round, theta: &[f64], out: &mut [f64]) {
        self.as_memory_mut().gradient(round, theta, out);
    }

    fn records(&self) -> u64 {
        self.as_memory().records()
    }

    fn forgetting(&self) -> Forgetting {
        self.as_memory().forgetting()
    }

    fn error_bound(&self) -> PowerLaw {
        self.as_memory().error_bound()
    }
}

impl Persist for AnyMemory {
    fn visit(&mut self, fields: &mut dyn Fields) {
        match self {
            AnyMemory::Exact(memory) => memory.visit(fields),
            AnyMemory::Moments(memory) => memory.visit(fields),
            AnyMemory::Recursive(memory) => memory.visit(fields),
            AnyMemory::Polynomial(memory) => memory.visit(fields),
            AnyMemory::Anchored(memory) => memory.visit(fields),
            AnyMemory::Recent(memory) => memory.visit(fields),
            AnyMemory::DecayedMoments(memory) => memory.visit(fields),
            AnyMemory::NeuralHistory(memory) => memory.visit(fields),
            AnyMemory::NeuralArrival(memory) => memory.visit(fields),
        }
    }
}

/// The error bound of a memory of this kind, without any data.
///
/// # Guarantee
/// Equal to `error_bound()` of the memory [`AnyMemory::new`] builds.
///
/// # Errors
/// Those of [`AnyMemory::new`].
pub fn error_bound(kind: MemoryKind, model: &AnyModel) -> Result<PowerLaw, MemoryError> {
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
fn check_second_moments(memory: &'static str, model: &Model) -> Result<(), MemoryError> {
    let (parameters, limit) = (model.parameters(), SECOND_MOMENTS_MAX);
    if parameters > limit {
        return Err(MemoryError::TooManyParameters { memory, parameters, limit });
    }
    Ok(())
}

/// Why a memory cannot serve a model.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum MemoryError {
    /// The memory does not support neural networks.
    #[error("a neural network needs memory exact, arrival or window")]
    Neural,
    /// The memory does not support the loss.
    #[error("memory {memory} does not support the {loss} loss; use {instead}")]
    Loss {
        /// The memory.
        memory: &'static str,
        /// The loss.
        loss: &'static str,
        /// What to use instead.
        instead: &'static str,
    },
    /// The loss is declared, and its function is missing.
    #[error(
        "loss \"declared\" needs a function, which only a program can supply: run it from Python"
    )]
    NoFunction,
    /// The memory does not keep single gradients, which clipping needs.
    #[error("memory {memory} cannot clip record gradients; drop model.clip or use exact")]
    Clipped {
        /// The memory.
        memory: &'static str,
    },
    /// Expanded records always have more than one non-zero feature.
    #[error("memory recursive does not support features expanded to degree {degree}; use moments")]
    Expanded {
        /// The degree of expansion.
        degree: u32,
    },
    /// The second moments of this many parameters do not fit into memory.
    #[error(
        "memory {memory} keeps {parameters} × {parameters} moments, for at most {limit} parameters; use exact"
    )]
    TooManyParameters {
        /// The memory.
        memory: &'static str,
        /// The number of parameters.
        parameters: usize,
        /// The largest number allowed.
        limit: usize,
    },
    /// The degree is not supported.
    #[error("memory polynomial: degree {degree}, must be 2, 4 or 6")]
    Degree {
        /// The degree requested.
        degree: u32,
    },
    /// A fit of this degree needs too many moments.
    #[error(
        "memory polynomial of degree {degree} over {parameters} parameters needs more than {limit} moments; lower the degree or use anchored"
    )]
    TooManyMoments {
        /// The degree requested.
        degree: u32,
        /// The number of parameters.
        parameters: usize,
        /// The largest number of moments allowed.
        limit: usize,
    },
    /// The tolerance is not finite and above 0.
    #[error("memory anchored: tolerance {initial}·(t+1)^{exponent}, must be finite and above 0")]
    Tolerance {
        /// The tolerance at t = 0.
        initial: f64,
        /// The exponent of t + 1.
        exponent: f64,
    },
}

/// Checks that a model does not clip gradients.
fn check_unclipped(memory: &'static str, model: &Model) -> Result<(), MemoryError> {
    if model.spec().clip.is_finite() { Err(MemoryError::Clipped { memory }) } else { Ok(()) }
}

fn unsupported_loss(memory: &'static str, loss: Loss, instead: &'static str) -> MemoryError {
    let loss = match loss {
        Loss::Squared => "squared",
        Loss::Power { .. } => "power",
        Loss::Huber { .. } => "Huber",
        Loss::Logistic => "logistic",
        Loss::Softmax { .. } => "softmax",
        Loss::Neural { .. } => "neural network",
        Loss::Declared { .. } => "declared",
    };
    MemoryError::Loss { memory, loss, instead }
}

fn constant(value: f64) -> PowerLaw {
    PowerLaw { initial: value, exponent: 0.0 }
}

/// Checks a whole batch, then expands and scores each record and passes it to `remember`.
fn observe_batch(
    model: &Model,
    theta: &[f64],
    batch: &[Record],
    mut remember: impl FnMut(Row<'_>, f64),
) -> Result<Score, RecordError> {
    assert_eq!(theta.len(), model.parameters(), "θ has one entry for each parameter");
    for (position, record) in batch.iter().enumerate() {
        model.check(record, position)?;
    }
    let mut score = Score::default();
    for records in batch.chunks(BLOCK) {
        let (mut products, mut labels) = ([0.0; BLOCK], [0.0; BLOCK]);
        for ((record, product), label) in records.iter().zip(&mut products).zip(&mut labels) {
            let features = model.expand(&record.features);
            *label = record.label;
            match model.scalar_loss() {
                Some(_) => *product = features.row().dot(theta),
                None => model.score(theta, features.row(), record.label, &mut score),
            }
            remember(features.row(), record.label);
        }
        if let Some(loss) = model.scalar_loss() {
            let count = records.len();
            vector::add_to_score(loss, &mut products[..count], &labels[..count], &mut score);
        }
    }
    Ok(score)
}

/// Adds r·θ.
fn add_ridge(model: &Model, theta: &[f64], out: &mut [f64]) {
    let ridge = model.spec().ridge;
    for (slot, &x) in out.iter_mut().zip(theta) {
        *slot += ridge * x;
    }
}

/// 1/h for h > 0 records.
#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
fn inverse_count(records: u64) -> f64 {
    1.0 / records as f64
}
