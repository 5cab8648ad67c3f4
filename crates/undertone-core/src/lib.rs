//! The core of Undertone: the round, the methods, the noise and the account. No files, clock or threads.
//!
//! Most programs depend on the crate `undertone`, which adds models, a learner on a stream and
//! config files. The core has these parts, in reading order:
//!
//! 1. [`Learner`]: one learner and its round, `observe`, `release`, `absorb`.
//! 2. [`method`]: what the parameters do in a round. Algorithm 1 of the paper is `method/algorithm1.rs`.
//! 3. [`privacy`]: what a release costs, the running account, the lifetime certificate, the ledger.
//! 4. [`noise`]: exact noise on a public grid.
//! 5. [`agreement`]: what all learners of a network share, and the network's id.
//! 6. [`planner`]: noise and schedules for a target, without data.

pub mod agreement;
mod domain;
mod encoding;
mod features;
mod forgetting;
pub mod graph;
mod learner;
mod loss;
mod memory;
pub mod method;
pub mod neural;
pub mod noise;
pub mod persist;
pub mod planner;
pub mod privacy;
mod public_random;
mod release;
mod schedule;
mod spread;
mod units;

pub use domain::Domain;
pub use features::{FeatureTransform, FeatureTransformError};
pub use forgetting::{Forgetting, RecordWeights};
pub use learner::{Learner, LearnerSetup, PrivateParameters, ReleaseError, RoundReport};
pub use loss::{DataBounds, DeclaredCurvature, Loss, LossConstants, ModelSpec};
pub use memory::{Memory, MemoryKind, Score};
pub use public_random::PublicRandom;
pub use release::{LatePull, PublicModel, Release, ReleaseView};
pub use schedule::{PowerLaw, Schedule};
pub use units::{LearnerId, Round};
