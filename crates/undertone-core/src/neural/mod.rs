//! What a small neural network is made of, and whether its layers fit together.
//!
//! Only the description lives here, next to the config that states it. Values and gradients are computed
//! in the crate `undertone-models`.

use std::ops::RangeInclusive;

/// What a record's gradient may be clipped to: far above where f32 loses digits, and far below where sums
/// of records overflow.
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
