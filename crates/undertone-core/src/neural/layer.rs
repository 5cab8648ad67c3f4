//! Layers with checked shapes.

use super::{LayerSpec, NeuralSpec, NeuralSpecError, Shape};
use std::ops::Range;

/// A layer whose input shape is the output shape of the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The operation.
    pub operation: Operation,
    /// The input shape.
    pub input: Shape,
    /// The output shape.
    pub output: Shape,
    /// The index of the first weight in the flat parameters.
    pub offset: usize,
    /// The number of weights.
    pub weights: usize,
    /// The number of biases, which follow the weights.
    pub biases: usize,
}

/// The operation of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A two-dimensional convolution with bias.
    Conv {
        /// Rows and columns of the kernel.
        kernel: usize,
        /// Distance between the inputs of adjacent outputs.
        stride: usize,
        /// Zeros around the input.
        padding: usize,
    },
    /// max(0, x).
    Relu,
    /// The hyperbolic tangent.
    Tanh,
    /// 1/(1 + e⁻ˣ).
    Sigmoid,
    /// The largest value of each window.
    MaxPool {
        /// Rows and columns of a window.
        size: usize,
        /// Distance between adjacent windows.
        stride: usize,
    },
    /// The mean of each window.
    AveragePool {
        /// Rows and columns of a window.
        size: usize,
        /// Distance between adjacent windows.
        stride: usize,
    },
    /// A matrix and a bias.
    Dense,
}

impl Layer {
    /// The range of the weights in the flat parameters.
    #[must_use]
    pub fn weight_range(&self) -> Range<usize> {
        self.offset..self.offset + self.weights
    }

    /// The range of the biases in the flat parameters.
    #[must_use]
    pub fn bias_range(&self) -> Range<usize> {
        self.offset + self.weights..self.offset + self.weights + self.biases
    }

    /// The number of inputs of each output; 0 for a layer without parameters.
    #[must_use]
    pub fn fan_in(&self) -> usize {
        self.weights.checked_div(self.biases).unwrap_or(0)
    }
}

/// The largest number of parameters, and of values of one layer.
const SIZE_MAX: usize = 1 << 28;

impl NeuralSpec {
    /// Checks that the layers fit together; returns them and the number of parameters.
    ///
    /// # Errors
    /// Names the first layer that does not fit the one before it, and what is wrong with it.
    pub fn layout(&self) -> Result<(Vec<Layer>, usize), NeuralSpecError> {
        check(self, SIZE_MAX)
    }
}

fn check(spec: &NeuralSpec, limit: usize) -> Result<(Vec<Layer>, usize), NeuralSpecError> {
    let (shape, classes) = (spec.input, spec.classes);
    let sides = [
        ("input.channels", shape.channels),
        ("input.height", shape.height),
        ("input.width", shape.width),
    ];
    for (setting, value) in sides {
        if value == 0 {
            return Err(NeuralSpecError::Setting { setting, value, range: "at least 1" });
        }
    }
    if shape.checked_len().is_none_or(|len| len > limit) {
        let (setting, value, range) = ("input", usize::MAX, "small enough to index");
        return Err(NeuralSpecError::Setting { setting, value, range });
    }
    if !(2..=1 << 16).contains(&classes) {
        let (setting, range) = ("classes", "2 to 65536");
        return Err(NeuralSpecError::Setting { setting, value: classes, range });
    }
    let mut layers: Vec<Layer> = Vec::with_capacity(spec.layers.len());
    let (mut input, mut offset) = (shape, 0);
    for (position, &layer) in (1..).zip(&spec.layers) {
        let layer_check = LayerCheck { position, layer, limit };
        let checked = layer_check.check(input, offset)?;
        offset += checked.weights + checked.biases;
        input = checked.output;
        layers.push(checked);
    }
    let Some(&layer) = spec.layers.last() else { return Err(NeuralSpecError::NoLayers) };
    if input.count() != classes {
        let (position, output, found) = (spec.layers.len(), input, input.count());
        return Err(NeuralSpecError::Logits { position, layer, output, found, classes });
    }
    Ok((layers, offset))
}

/// Checks one layer; its position is for errors.
#[derive(Clone, Copy)]
struct LayerCheck {
    position: usize,
    layer: LayerSpec,
    limit: usize,
}

impl LayerCheck {
    fn check(self, input: Shape, offset: usize) -> Result<Layer, NeuralSpecError> {
        let (operation, output, weights) = match self.layer {
            LayerSpec::Conv { channels, kernel, stride, padding } => {
                self.at_least_one("channels", channels)?;
                let output = self.window_output(input, channels, (kernel, stride, padding))?;
                let weights = kernel
                    .checked_mul(kernel)
                    .and_then(|area| area.checked_mul(input.channels)?.checked_mul(channels));
                (Operation::Conv { kernel, stride, padding }, output, weights)
            }
            LayerSpec::Relu {} => (Operation::Relu, input, Some(0)),
            LayerSpec::Tanh {} => (Operation::Tanh, input, Some(0)),
            LayerSpec::Sigmoid {} => (Operation::Sigmoid, input, Some(0)),
            LayerSpec::MaxPool { size, stride } => {
                let stride = stride.unwrap_or(size);
                let output = self.window_output(input, input.channels, (size, stride, 0))?;
                (Operation::MaxPool { size, stride }, output, Some(0))
            }
            LayerSpec::AveragePool { size, stride } => {
                let stride = stride.unwrap_or(size);
                let output = self.window_output(input, input.channels, (size, stride, 0))?;
                (Operation::AveragePool { size, stride }, output, Some(0))
            }
            LayerSpec::Dense { outputs } => {
                self.at_least_one("outputs", outputs)?;
                (Operation::Dense, Shape::vector(outputs), input.count().checked_mul(outputs))
            }
        };
        let has_parameters = matches!(operation, Operation::Conv { .. } | Operation::Dense);
        let biases = if has_parameters { output.channels } else { 0 };
        let LayerCheck { position, layer, limit } = self;
        let too_large = NeuralSpecError::TooLarge { position, layer, limit };
        let weights = weights.ok_or(too_large)?;
        let total = weights.checked_add(biases).and_then(|own| own.checked_add(offset));
        let fits = |count: Option<usize>| count.is_some_and(|count| count <= limit);
        if !fits(total) || !fits(output.checked_len()) {
            return Err(too_large);
        }
        Ok(Layer { operation, input, output, offset, weights, biases })
    }

    fn at_least_one(self, setting: &'static str, value: usize) -> Result<(), NeuralSpecError> {
        let LayerCheck { position, layer, .. } = self;
        if value > 0 {
            return Ok(());
        }
        let range = "at least 1";
        Err(NeuralSpecError::LayerSetting { position, layer, setting, value, range })
    }

    /// The output shape for windows of (size, stride, padding).
    fn window_output(
        self,
        input: Shape,
        channels: usize,
        (window, stride, padding): (usize, usize, usize),
    ) -> Result<Shape, NeuralSpecError> {
        let LayerCheck { position, layer, limit } = self;
        let conv = matches!(layer, LayerSpec::Conv { .. });
        self.at_least_one(if conv { "kernel" } else { "size" }, window)?;
        self.at_least_one("stride", stride)?;
        if padding >= window {
            let (setting, value, range) = ("padding", padding, "below the kernel's size");
            return Err(NeuralSpecError::LayerSetting { position, layer, setting, value, range });
        }
        let too_large = NeuralSpecError::TooLarge { position, layer, limit };
        let pad = |side: usize| padding.checked_mul(2)?.checked_add(side);
        let height = pad(input.height).ok_or(too_large)?;
        let width = pad(input.width).ok_or(too_large)?;
        let padded = Shape { channels: input.channels, height, width };
        if padded.checked_len().is_none_or(|len| len > limit) {
            return Err(too_large);
        }
        let count = |side: usize| match side.checked_sub(window) {
            Some(moves) => Ok(moves / stride + 1),
            None => Err(NeuralSpecError::Window { position, layer, window, input }),
        };
        Ok(Shape { channels, height: count(height)?, width: count(width)? })
    }
}
