//! What a small neural network is made of, and whether its layers fit together.
//!
//! Only the description lives here, next to the config that states it. Values and gradients are computed
//! in the crate `undertone-models`.

mod error;
mod layer;
mod presets;
mod shape;
mod spec;

pub use error::NetworkSpecError;
pub use layer::{Layer, Operation};
pub use shape::Shape;
pub use spec::{LayerSpec, NetworkSpec};
