//! Small neural networks for classification: specs, gradients, and what an attack needs of them.
//!
//! A [`NetworkSpec`] is what a config says; [`Network`] is a spec whose shapes were checked. It has two tiers:
//!
//! - the **reference**, in f64 and plain loops: [`Network::logits`], [`Network::gradient`],
//!   [`Network::input_gradient`], and the second derivatives of [`Network::gradient_match`]. It is what the
//!   other tier is tested against;
//! - the **fast** tier, [`FastNetwork`], in f32 and for batches: predictions, mean gradients, and sums of
//!   gradients that are clipped record by record.
//!
//! Read next: `reference` for what is computed, `fast` for how it is made fast.
//!
//! # Parameters
//! Flat vectors of f64. Layer after layer, in the order of the spec; of each layer the weights, then the
//! biases. The weights of a convolution lie as (out channel, in channel, row, column), those of a dense layer
//! as (output, input) where inputs are counted channel after channel and row after row. This is the order of
//! PyTorch's `parameters()` for the same network.

mod batch;
mod checked;
mod clip;
mod error;
mod fast;
mod inversion;
mod reference;
mod scalar;

pub use batch::Batch;
pub use checked::Network;
pub use clip::{Clip, ClipNorm, ClippedSum};
pub use error::NetworkError;
pub use fast::FastNetwork;
pub use inversion::{GradientMatch, Guess};
pub(crate) use undertone::network::{Layer, Operation};
pub use undertone::network::{LayerSpec, NetworkSpec, NetworkSpecError, Shape};
