//! The specification of a small neural network and the check that its layers fit together.
//!
//! Values and gradients are computed in the crate `undertone-models`.

use std::ops::RangeInclusive;

/// The range of the clipping bound of a record's gradient: far above the values where f32 loses digits, and far below
/// those where sums of records overflow.
pub const CLIP_RANGE: RangeInclusive<f64> = 1e-12..=1e12;

mod error;
mod layer;
mod presets;
mod shape;
mod spec;

pub use error::NeuralSpecError;
pub use layer::{Layer, Operation};
pub use shape::Shape;
pub use spec::{LayerSpec, NeuralSpec};
