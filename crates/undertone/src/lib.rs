//! Private decentralised online learning.

pub use undertone_core::{
    DECLARED_ROUNDING, DataBounds, DeclaredCurvature, Domain, Forgetting, Heard, LatePull, Learner,
    LearnerId, LearnerSetup, Loss, LossConstants, Memory, MemoryKind, ModelSpec, NEURAL_ROUNDING,
    PowerLaw, PrivateParameters, PublicModel, RecordError, RecordWeights, Release, ReleaseError,
    Round, RoundReport, Schedule, Score,
};
pub use undertone_core::{config, doctor, graph, neural, noise, persist, planner, privacy};
pub use undertone_models as models;
