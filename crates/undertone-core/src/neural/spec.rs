//! A neural network as written in a config.

use super::Shape;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A neural network as written in a config: an input shape, layers, and the number of classes.
///
/// The last layer outputs one logit for each class; the loss is the cross-entropy of their softmax.
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
    /// The number of classes, at least two.
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
        /// Output channels.
        channels: usize,
        /// Rows and columns of the kernel.
        kernel: usize,
        /// Distance between the inputs of adjacent outputs.
        #[serde(default = "one")]
        stride: usize,
        /// Zeros added on every side of the input.
        #[serde(default)]
        padding: usize,
    },
    /// max(0, x).
    Relu {},
    /// The hyperbolic tangent.
    Tanh {},
    /// 1/(1 + e⁻ˣ).
    Sigmoid {},
    /// The largest value of each square window; windows that would cross the edge are left out.
    MaxPool {
        /// Rows and columns of a window.
        size: usize,
        /// Distance between adjacent windows; the window's size by default.
        stride: Option<usize>,
    },
    /// The mean of each square window; windows that would cross the edge are left out.
    AveragePool {
        /// Rows and columns of a window.
        size: usize,
        /// Distance between adjacent windows; the window's size by default.
        stride: Option<usize>,
    },
    /// A matrix and a bias applied to all values of the layer before.
    Dense {
        /// Output values.
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
