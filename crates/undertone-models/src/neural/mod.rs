//! Small neural networks for classification: specs, gradients, and what an attack needs of them.
//!
//! A [`NeuralSpec`] is what a config says; [`NeuralNetwork`] is a spec whose shapes were checked. It has two tiers:
//!
//! - the **reference**, in f64 and plain loops: [`NeuralNetwork::logits`], [`NeuralNetwork::gradient`],
//!   [`NeuralNetwork::input_gradient`], and the second derivatives of [`NeuralNetwork::gradient_match`]. It is what the
//!   other tier is tested against;
//! - the **fast** tier, [`NeuralEngine`], in f32 and for batches: predictions, mean gradients, and sums of
//!   gradients that are clipped record by record.
//!
//! Read next: `reference` for what is computed, `fast` for how it is made fast.
//!
//! # Parameters
//! Flat vectors of f64. Layer after layer, in the order of the spec; of each layer the weights, then the
//! biases. The weights of a convolution lie as (out channel, in channel, row, column), those of a dense layer
//! as (output, input) where inputs are counted channel after channel and row after row. This is the order of
//! PyTorch's `parameters()` for the same neural network.

mod batch;
mod checked;
mod clip;
mod error;
mod fast;
mod inversion;
mod reference;
mod scalar;

pub use batch::Batch;
pub use checked::NeuralNetwork;
pub use clip::{Clip, ClipNorm, ClippedSum};
pub use error::NeuralError;
pub use fast::NeuralEngine;
pub use inversion::{GradientMatch, Guess};
pub(crate) use undertone_core::neural::{Layer, Operation};
pub use undertone_core::neural::{LayerSpec, NeuralSpec, NeuralSpecError, Shape};
