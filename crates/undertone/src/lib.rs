//! Private decentralised online learning: the round, the noise and the accountant.

mod domain;
pub mod graph;
mod loss;
mod memory;
pub mod noise;
pub mod privacy;
mod schedule;
mod units;

pub use domain::Domain;
pub use loss::{DataBounds, Loss, LossConstants, ModelSpec};
pub use memory::{Memory, RecordError, Score};
pub use schedule::{PowerLaw, Schedule};
pub use units::{LearnerId, Round};
