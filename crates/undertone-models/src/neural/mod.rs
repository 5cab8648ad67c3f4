//! Small neural networks for classification: specs, gradients, and gradient matching for the attack.
//!
//! A [`NeuralSpec`] is read from a config; a [`NeuralNetwork`] is a spec with checked shapes. There are two tiers:
//!
//! - the **reference**, in f64 and plain loops: [`NeuralNetwork::logits`], [`NeuralNetwork::gradient`],
//!   [`NeuralNetwork::input_gradient`], and the second derivatives of [`NeuralNetwork::gradient_match`]. The
//!   other tier is tested against it;
//! - the **fast** tier, [`NeuralEngine`], in f32 and for batches: predictions, mean gradients, and sums of
//!   gradients that are clipped record by record.
//!
//! Read next: `reference` for what is computed, `fast` for how it is optimised.
//!
//! # Parameters
//! Flat vectors of f64, layer by layer in the order of the spec; in each layer the weights, then the biases. The layout
//! of a convolution's weights is (out channel, in channel, row, column), that of a dense layer's (output, input), where
//! inputs are counted channel by channel and row by row. This is the order of
//! PyTorch's `parameters()` for the same neural network.

mod batch;
mod checked;
mod clip;
mod fast;
mod inversion;
mod reference;
mod scalar;

pub use batch::Batch;
pub use checked::NeuralNetwork;
pub use clip::{Clip, ClipNorm, ClippedSum};
pub use fast::NeuralEngine;
pub use inversion::{GradientMatch, Guess};
pub(crate) use undertone_core::neural::{Layer, Operation};
pub use undertone_core::neural::{LayerSpec, NeuralSpec, NeuralSpecError, Shape};
