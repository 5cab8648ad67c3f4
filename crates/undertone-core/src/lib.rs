//! Private decentralised online learning: the round, the noise and the accountant.

mod baseline;
pub mod config;
pub mod doctor;
mod domain;
mod forgetting;
pub mod graph;
mod learner;
mod loss;
mod memory;
pub mod neural;
pub mod noise;
pub mod persist;
pub mod planner;
pub mod privacy;
mod release;
mod schedule;
mod shielded;
mod units;

pub use domain::Domain;
pub use forgetting::{Forgetting, RecordWeights};
pub use learner::{Learner, LearnerSetup, PrivateParameters, ReleaseError, RoundReport};
pub use loss::{
    DECLARED_ROUNDING, DataBounds, DeclaredCurvature, Loss, LossConstants, ModelSpec,
    NEURAL_ROUNDING,
};
pub use memory::{Memory, MemoryKind, RecordError, Score};
pub use release::{Heard, LatePull, PublicModel, Release};
pub use schedule::{PowerLaw, Schedule};
pub use units::{LearnerId, Round};
