//! Losses, models and gradient memories for Undertone.

pub mod record;
pub use record::{Features, Record};
