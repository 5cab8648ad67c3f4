//! What a neural network is made of, as a config says it.

use super::Shape;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A neural network as written in a config: an input shape, layers, and the number of classes.
///
/// The last layer gives one logit for each class; the loss is the cross-entropy of their softmax.
/// Nothing is checked here: see [`NeuralSpec::layout`].
///
/// # Example
/// ```
/// use undertone_core::neural::{LayerSpec, NeuralSpec, Shape};
///
/// let spec = NeuralSpec {
///     input: Shape { channels: 1, height: 28, width: 28 },
///     classes: 10,
///     layers: vec![
///         LayerSpec::Conv { channels: 16, kernel: 5, stride: 1, padding: 0 },
///         LayerSpec::Relu {},
///         LayerSpec::MaxPool { size: 2, stride: None },
///         LayerSpec::Dense { outputs: 10 },
///     ],
/// };
/// assert_eq!(spec.layout()?.1, 16 * 25 + 16 + 10 * (16 * 12 * 12) + 10);
/// # Ok::<(), undertone_core::neural::NeuralSpecError>(())
/// ```
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NeuralSpec {
    /// The shape of one record's features.
    pub input: Shape,
    /// How many classes, at least two.
    pub classes: usize,
    /// The layers, from the input to the logits.
    pub layers: Vec<LayerSpec>,
}

/// One layer as written in a config.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LayerSpec {
    /// A two-dimensional convolution with bias and a square kernel.
    Conv {
        /// Channels it gives.
        channels: usize,
        /// Rows and columns of the kernel.
        kernel: usize,
        /// How far the kernel moves between two outputs.
        #[serde(default = "one")]
        stride: usize,
        /// Zeros put around the input, on every side.
        #[serde(default)]
        padding: usize,
    },
    /// max(0, x).
    Relu {},
    /// The hyperbolic tangent.
    Tanh {},
    /// 1/(1 + e⁻ˣ).
    Sigmoid {},
    /// The largest value of each square window; windows that would reach over the edge are left out.
    MaxPool {
        /// Rows and columns of a window.
        size: usize,
        /// How far the window moves; as its size when left out.
        stride: Option<usize>,
    },
    /// The mean of each square window; windows that would reach over the edge are left out.
    AveragePool {
        /// Rows and columns of a window.
        size: usize,
        /// How far the window moves; as its size when left out.
        stride: Option<usize>,
    },
    /// A matrix and a bias on all values of the layer before.
    Dense {
        /// Values it gives.
        outputs: usize,
    },
}

fn one() -> usize {
    1
}

impl fmt::Display for LayerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LayerSpec::Conv { .. } => "conv",
            LayerSpec::Relu {} => "relu",
            LayerSpec::Tanh {} => "tanh",
            LayerSpec::Sigmoid {} => "sigmoid",
            LayerSpec::MaxPool { .. } => "max-pool",
            LayerSpec::AveragePool { .. } => "average-pool",
            LayerSpec::Dense { .. } => "dense",
        })
    }
}
