//! One type for all memories.

use super::{
    Anchored, DecayedMoments, Exact, Moments, NeuralArrival, NeuralHistory, Polynomial, Recent,
    Recursive, unsupported_loss,
};
use crate::{AnyModel, BoundedRecord, NeuralModel, SetupError};
use std::sync::Arc;
use undertone_core::persist::{Fields, Persist};
use undertone_core::{Forgetting, Memory, MemoryKind, PowerLaw, Round, Score};

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
    pub fn new(kind: MemoryKind, model: impl Into<AnyModel>) -> Result<AnyMemory, SetupError> {
        let model = match model.into() {
            AnyModel::Linear(model) => model,
            AnyModel::Neural(model) => return neural_memory(kind, model),
        };
        if model.lacks_function() {
            return Err(SetupError::NoFunction);
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
}

pub(super) fn neural_memory(
    kind: MemoryKind,
    model: Arc<NeuralModel>,
) -> Result<AnyMemory, SetupError> {
    let history = |window| AnyMemory::NeuralHistory(NeuralHistory::new(Arc::clone(&model), window));
    match kind {
        MemoryKind::Exact => Ok(history(None)),
        MemoryKind::Window { rounds } => Ok(history(Some(rounds))),
        MemoryKind::Arrival => Ok(AnyMemory::NeuralArrival(NeuralArrival::new(model))),
        MemoryKind::Moments
        | MemoryKind::Recursive
        | MemoryKind::Polynomial { .. }
        | MemoryKind::Anchored { .. }
        | MemoryKind::Decaying { .. } => Err(SetupError::NeuralMemory),
    }
}

/// Evaluates an expression for the memory in the enum, whatever its kind.
macro_rules! whichever {
    ($any:expr, $memory:ident => $value:expr) => {
        match $any {
            AnyMemory::Exact($memory) => $value,
            AnyMemory::Moments($memory) => $value,
            AnyMemory::Recursive($memory) => $value,
            AnyMemory::Polynomial($memory) => $value,
            AnyMemory::Anchored($memory) => $value,
            AnyMemory::Recent($memory) => $value,
            AnyMemory::DecayedMoments($memory) => $value,
            AnyMemory::NeuralHistory($memory) => $value,
            AnyMemory::NeuralArrival($memory) => $value,
        }
    };
}

impl Memory for AnyMemory {
    type Record = BoundedRecord;

    fn observe(&mut self, theta: &[f64], batch: &[BoundedRecord]) -> Score {
        whichever!(self, memory => memory.observe(theta, batch))
    }

    fn gradient(&mut self, round: Round, theta: &[f64], out: &mut [f64]) {
        whichever!(self, memory => memory.gradient(round, theta, out));
    }

    fn records(&self) -> u64 {
        whichever!(self, memory => memory.records())
    }

    fn forgetting(&self) -> Forgetting {
        whichever!(self, memory => memory.forgetting())
    }

    fn error_bound(&self) -> PowerLaw {
        whichever!(self, memory => memory.error_bound())
    }
}

impl Persist for AnyMemory {
    fn visit(&mut self, fields: &mut dyn Fields) {
        whichever!(self, memory => memory.visit(fields));
    }
}
