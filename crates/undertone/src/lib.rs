//! Undertone trains one model across organisations without a server. Each learner adds its own noise before
//! anything leaves it, and the total privacy loss is bounded for ever.
//!
//! # A private learner on a stream
//!
//! ```
//! use undertone::LearnerBuilder;
//! use undertone::models::Prediction;
//!
//! // Two features, two classes, ε = 2 at δ = 10⁻⁶ for ever, however many records arrive.
//! let mut learner = LearnerBuilder::new(2, 2.0, 1e-6).classes(2).build()?;
//! for k in 0..5_000u32 {
//!     let age = f64::from(k % 100) / 100.0;
//!     let hours = f64::from(k % 7) / 7.0;
//!     let label = f64::from(u8::from(age + 0.1 * hours > 0.5));
//!     learner.learn(&[age, hours], label)?;
//! }
//! // The owner's own prediction, from private parameters.
//! if let Prediction::Class { class, .. } = learner.predict(&[0.9, 0.2])? {
//!     println!("class {class}");
//! }
//! // What may be published: ε ≤ 2 at δ = 10⁻⁶, one record replaced by another.
//! let public = learner.public_model();
//! println!("{} public parameters", public.values().len());
//! println!("{}", learner.statement().join("\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where things are
//!
//! | for | look at |
//! |---|---|
//! | a learner on a stream, alone | [`LearnerBuilder`], [`OnlineLearner`] |
//! | several learners, your own loop | [`Setup::learner`], [`Learner`]: `observe`, `release`, `absorb` |
//! | records on their way in | [`RecordChecker`] makes a [`BoundedRecord`] of a [`Record`], once |
//! | what a method does in a round | [`method`]; Algorithm 1 of the paper is `method/algorithm1.rs` in `undertone-core` |
//! | an agreement from a file | [`load()`], [`agreement`] |
//! | what it costs | [`privacy`]: [`Accountant`](privacy::Accountant), [`lifetime`](privacy::lifetime()) |
//! | whether a ledger is right | [`LearnerVerification`] |
//! | a ledger that others can check | [`audit_bundle`] |
//! | a learner in a file, loaded once | [`OnlineLearner::save`], [`LearnerBuilder::load`] |
//! | a loss of your own | [`LearnerBuilder::own_loss`], [`DeclaredLoss`](models::DeclaredLoss) |
//! | which theorems apply, what to change | [`doctor`] |
//! | noise and schedules for a target | [`planner`] |
//!
//! `examples/` has four programs: a stream alone, a network in one process, a loss of your own, and
//! the accountant alone. `undertone-node` has learners as daemons on real machines; `undertone-lab`
//! has seeded experiments, which are NOT PRIVATE. This crate depends on neither.

pub mod audit_bundle;
mod builder;
mod declaration;
pub mod doctor;
mod learner_file;
pub mod load;
mod online;
mod verification;

pub use builder::{BuildError, Declared, Label, LearnerBuilder, OwnLoss};
pub use declaration::{DECLARATION_SAMPLES, DeclarationError, check_declaration};
pub use learner_file::{LearnerFileError, NotSaved, SavedLearner};
pub use load::{LoadError, Loaded, load};
pub use online::{OnlineError, OnlineLearner};
pub use undertone_core::{
    DataBounds, DeclaredCurvature, Domain, Forgetting, LatePull, Learner, LearnerId, LearnerSetup,
    Loss, LossConstants, Memory, MemoryKind, ModelSpec, PowerLaw, PrivateParameters, PublicModel,
    RecordWeights, Release, ReleaseError, ReleaseView, Round, RoundReport, Schedule, Score,
};
pub use undertone_core::{agreement, graph, method, neural, noise, persist, planner, privacy};
pub use undertone_models as models;
pub use undertone_models::{
    BoundedRecord, Features, Record, RecordChecker, RecordError, Setup, SetupError,
};
pub use verification::{LearnerVerification, Verification};
