//! The steps of the fast tier, computed once for a neural network.
//!
//! Values are stored row by row and column by column, with the channels of a pixel together, so that the input under a
//! kernel row is contiguous.

use super::{BLOCK, LANES};
use crate::neural::{Layer, Operation};
use crate::neural::{NeuralNetwork, Shape};
use std::ops::Range;

/// The steps of a neural network.
pub(super) struct Steps {
    pub(super) input: Shape,
    pub(super) steps: Vec<Step>,
    pub(super) classes: usize,
    /// Length of a packed sum of gradients.
    pub(super) packed: usize,
}

/// One step: a layer, or a convolution with the relu and the max-pool after it.
pub(super) struct Step {
    pub(super) kind: Kind,
    pub(super) input: Shape,
    pub(super) output: Shape,
    /// Whether the slopes in the input are needed: only if an earlier step has parameters.
    pub(super) needs_input_slopes: bool,
}

/// The operation of a step.
pub(super) enum Kind {
    Conv(Convolution),
    Relu,
    Tanh,
    Sigmoid,
    MaxPool { size: usize, stride: usize },
    AveragePool { size: usize, stride: usize },
    Dense(Dense),
}

/// A convolution.
pub(super) struct Convolution {
    pub(super) layer: Layer,
    pub(super) kernel: usize,
    pub(super) padding: usize,
    /// The input with its padding.
    pub(super) padded: Shape,
    pub(super) channels: usize,
    /// Input values under one row of the kernel.
    pub(super) row: usize,
    /// 1 for each value of a kernel row and 0 for its padding to whole vectors.
    pub(super) row_mask: Vec<f32>,
    /// Distance between the first values of two rows of the input.
    pub(super) row_stride: usize,
    /// Index of the first input value of each output pixel, below 2²⁸.
    pub(super) bases: Vec<u32>,
    /// Rows and columns after relu and 2×2 max-pooling, if these are fused.
    pub(super) pooled: Option<(usize, usize)>,
    /// Index of its first weight in a packed sum: (channel, kernel row, row padded to vectors).
    pub(super) offset: usize,
}

/// A dense layer.
pub(super) struct Dense {
    pub(super) layer: Layer,
    pub(super) inputs: usize,
    /// Inputs padded to whole vectors.
    pub(super) padded: usize,
    pub(super) outputs: usize,
    /// Index of its first weight in a packed sum: (output, padded inputs).
    pub(super) offset: usize,
}

impl Steps {
    pub(super) fn new(neural: &NeuralNetwork) -> Steps {
        let (mut steps, mut packed, mut has_parameters) = (Vec::new(), 0, false);
        let mut layers = neural.layers();
        while let Some((layer, mut rest)) = layers.split_first() {
            let mut output = layer.output;
            let kind = match layer.operation {
                Operation::Conv { .. } => {
                    let pooled = fused_pool(layer, rest);
                    if let Some(shape) = pooled {
                        output = shape;
                        rest = &rest[2..];
                    }
                    let conv = Convolution::new(layer, pooled, packed);
                    packed = conv.biases().end;
                    Kind::Conv(conv)
                }
                Operation::Dense => {
                    let dense = Dense::new(layer, packed);
                    packed = dense.biases().end;
                    Kind::Dense(dense)
                }
                Operation::Relu => Kind::Relu,
                Operation::Tanh => Kind::Tanh,
                Operation::Sigmoid => Kind::Sigmoid,
                Operation::MaxPool { size, stride } => Kind::MaxPool { size, stride },
                Operation::AveragePool { size, stride } => Kind::AveragePool { size, stride },
            };
            steps.push(Step {
                kind,
                input: layer.input,
                output,
                needs_input_slopes: has_parameters,
            });
            has_parameters |= layer.biases > 0;
            layers = rest;
        }
        Steps { input: neural.input(), steps, classes: neural.classes(), packed }
    }
}

/// The output shape of relu and 2×2 max-pooling, if these two follow a convolution of stride 1.
fn fused_pool(conv: &Layer, rest: &[Layer]) -> Option<Shape> {
    let [relu, pool, ..] = rest else { return None };
    let has_stride_1 = matches!(conv.operation, Operation::Conv { stride: 1, .. });
    let halves = pool.operation == Operation::MaxPool { size: 2, stride: 2 };
    (has_stride_1 && relu.operation == Operation::Relu && halves).then_some(pool.output)
}

impl Convolution {
    fn new(layer: &Layer, pooled: Option<Shape>, offset: usize) -> Convolution {
        let Operation::Conv { kernel, stride, padding } = layer.operation else {
            unreachable!("only called for convolutions")
        };
        let Shape { channels, height, width } = layer.input;
        let padded = Shape { channels, height: height + 2 * padding, width: width + 2 * padding };
        let row_stride = padded.width * channels;
        let pooled = pooled.map(|shape| (shape.height, shape.width));
        let Shape { height: rows, width: columns, .. } = layer.output;
        let base = |row: usize, column: usize| {
            let base = stride * (row * row_stride + column * channels);
            u32::try_from(base).expect("a padded input has at most 2²⁸ values")
        };
        let bases = (0..rows).flat_map(|row| (0..columns).map(move |column| base(row, column)));
        let row = kernel * channels;
        let mut row_mask = vec![0.0; row.next_multiple_of(LANES)];
        row_mask[..row].fill(1.0);
        Convolution {
            layer: *layer,
            kernel,
            padding,
            padded,
            channels: layer.output.channels,
            row,
            row_mask,
            row_stride,
            bases: bases.collect(),
            pooled,
            offset,
        }
    }

    /// Values of a kernel row, padded to whole vectors.
    pub(super) fn padded_row(&self) -> usize {
        self.row.next_multiple_of(LANES)
    }

    /// Values of the padded weights of one channel.
    pub(super) fn channel_len(&self) -> usize {
        self.kernel * self.padded_row()
    }

    /// The number of pixels, or of pooled pixels.
    pub(super) fn positions(&self) -> usize {
        self.pooled.map_or(self.bases.len(), |(rows, columns)| rows * columns)
    }

    /// Blocks of output channels.
    pub(super) fn blocks(&self) -> usize {
        self.channels.div_ceil(BLOCK)
    }

    /// Its weights in a packed sum.
    pub(super) fn weights(&self) -> Range<usize> {
        self.offset..self.offset + self.channels * self.channel_len()
    }

    /// Its biases in a packed sum, padded to whole vectors.
    pub(super) fn biases(&self) -> Range<usize> {
        let start = self.weights().end;
        start..start + self.channels.next_multiple_of(LANES)
    }
}

impl Dense {
    fn new(layer: &Layer, offset: usize) -> Dense {
        let inputs = layer.input.count();
        let (padded, outputs) = (inputs.next_multiple_of(LANES), layer.output.count());
        Dense { layer: *layer, inputs, padded, outputs, offset }
    }

    /// Its weights in a packed sum.
    pub(super) fn weights(&self) -> Range<usize> {
        self.offset..self.offset + self.outputs * self.padded
    }

    /// Its biases in a packed sum, padded to whole vectors.
    pub(super) fn biases(&self) -> Range<usize> {
        let start = self.weights().end;
        start..start + self.outputs.next_multiple_of(LANES)
    }
}
