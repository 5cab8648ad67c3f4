//! Private decentralised online learning: the round, the noise and the accountant.

pub mod noise;
mod units;
pub use units::{LearnerId, Round};
