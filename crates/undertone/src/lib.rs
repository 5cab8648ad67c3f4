//! Private decentralised online learning: the round, the noise and the accountant.

mod loss;
mod memory;
pub mod noise;
mod schedule;
mod units;

pub use loss::{DataBounds, Loss, LossConstants, ModelSpec};
pub use memory::{Memory, RecordError, Score};
pub use schedule::{PowerLaw, Schedule};
pub use units::{LearnerId, Round};
