//! What the fast tier does step by step, worked out once for a neural network.
//!
//! Values lie row after row, column after column, with the channels of a pixel together, because then all
//! a kernel row touches is contiguous.

use super::{BLOCK, LANES};
use crate::neural::{Layer, Operation};
use crate::neural::{NeuralNetwork, Shape};
use std::ops::Range;

/// The steps of a neural network.
pub(super) struct Steps {
    pub(super) input: Shape,
    pub(super) steps: Vec<Step>,
    pub(super) classes: usize,
    /// Length of a sum of gradients in the order of the kernels.
    pub(super) packed: usize,
}

/// One step: a layer, or a convolution with the relu and the max-pool after it.
pub(super) struct Step {
    pub(super) kind: Kind,
    pub(super) input: Shape,
    pub(super) output: Shape,
    /// Whether the step before needs its slopes: not when nothing before has parameters.
    pub(super) sends_back: bool,
}

/// What a step does.
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
    /// Values of the input under one row of the kernel.
    pub(super) row: usize,
    /// 1 for each value of such a row and 0 for what pads it to whole vectors.
    pub(super) kept: Vec<f32>,
    /// Between the first values of two rows of the input.
    pub(super) row_stride: usize,
    /// Where the input of each pixel begins, below 2²⁸.
    pub(super) bases: Vec<u32>,
    /// Rows and columns after relu and 2×2 max-pooling, when these are fused.
    pub(super) pooled: Option<(usize, usize)>,
    /// Where its weights begin in a packed sum: (channel, kernel row, row padded to vectors).
    pub(super) offset: usize,
}

/// A dense layer.
pub(super) struct Dense {
    pub(super) layer: Layer,
    pub(super) inputs: usize,
    /// Inputs padded to whole vectors.
    pub(super) padded: usize,
    pub(super) outputs: usize,
    /// Where its weights begin in a packed sum: (output, padded inputs).
    pub(super) offset: usize,
}

impl Steps {
    pub(super) fn new(neural: &NeuralNetwork) -> Steps {
        let (mut steps, mut packed, mut learns) = (Vec::new(), 0, false);
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
            steps.push(Step { kind, input: layer.input, output, sends_back: learns });
            learns |= layer.biases > 0;
            layers = rest;
        }
        Steps { input: neural.input(), steps, classes: neural.classes(), packed }
    }
}

/// What relu and 2×2 max-pooling give, when these two come next after a convolution that skips no pixel.
fn fused_pool(conv: &Layer, rest: &[Layer]) -> Option<Shape> {
    let [relu, pool, ..] = rest else { return None };
    let skips_none = matches!(conv.operation, Operation::Conv { stride: 1, .. });
    let halves = pool.operation == Operation::MaxPool { size: 2, stride: 2 };
    (skips_none && relu.operation == Operation::Relu && halves).then_some(pool.output)
}

impl Convolution {
    fn new(layer: &Layer, pooled: Option<Shape>, offset: usize) -> Convolution {
        let Operation::Conv { kernel, stride, padding } = layer.operation else {
            unreachable!("called for convolutions only")
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
        let mut kept = vec![0.0; row.next_multiple_of(LANES)];
        kept[..row].fill(1.0);
        Convolution {
            layer: *layer,
            kernel,
            padding,
            padded,
            channels: layer.output.channels,
            row,
            kept,
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
