//! Conversion of parameters to the layout of the kernels, and of gradients back.

use super::BLOCK;
use super::aligned::Aligned;
use super::steps::{Convolution, Dense, Kind, Steps};
use crate::neural::Shape;

/// Parameters in f32, in the layout of the kernels.
pub(super) struct Packed {
    /// The parameters of each step; empty for a step without parameters.
    pub(super) steps: Vec<PackedStep>,
}

/// The parameters of one step.
pub(super) struct PackedStep {
    /// Convolutions: (block of channels, kernel row, index in the row, channel of the block). Dense: (output, padded
    /// inputs).
    pub(super) forward: Aligned,
    /// Convolutions: (channel, kernel row, row padded to vectors). Dense: empty, since `forward` serves both.
    pub(super) backward: Aligned,
    /// Padded to whole blocks.
    pub(super) biases: Aligned,
}

impl Packed {
    /// Reads flat parameters of the right length.
    pub(super) fn new(steps: &Steps, theta: &[f64]) -> Packed {
        let pack = |step: &super::steps::Step| match &step.kind {
            Kind::Conv(conv) => pack_convolution(conv, theta),
            Kind::Dense(dense) => pack_dense(dense, theta),
            Kind::Relu
            | Kind::Tanh
            | Kind::Sigmoid
            | Kind::MaxPool { .. }
            | Kind::AveragePool { .. } => PackedStep {
                forward: Aligned::zeros(0),
                backward: Aligned::zeros(0),
                biases: Aligned::zeros(0),
            },
        };
        Packed { steps: steps.steps.iter().map(pack).collect() }
    }
}

/// Writes `factor` times a packed sum in the layout of the flat parameters.
pub(super) fn unpack(steps: &Steps, sum: &[f64], factor: f64, flat: &mut [f64]) {
    for step in &steps.steps {
        let (layer, biases) = match &step.kind {
            Kind::Conv(conv) => {
                let (from, to) = (&sum[conv.weights()], &mut flat[conv.layer.weight_range()]);
                visit_taps(conv, |tap, _, backward| to[tap] = factor * from[backward]);
                (&conv.layer, conv.biases())
            }
            Kind::Dense(dense) => {
                let (from, to) = (&sum[dense.weights()], &mut flat[dense.layer.weight_range()]);
                visit_weights(dense, |place, packed| to[place] = factor * from[packed]);
                (&dense.layer, dense.biases())
            }
            Kind::Relu
            | Kind::Tanh
            | Kind::Sigmoid
            | Kind::MaxPool { .. }
            | Kind::AveragePool { .. } => continue,
        };
        for (to, from) in flat[layer.bias_range()].iter_mut().zip(&sum[biases]) {
            *to = factor * from;
        }
    }
}

fn pack_convolution(conv: &Convolution, theta: &[f64]) -> PackedStep {
    let mut forward = Aligned::zeros(conv.blocks() * conv.kernel * conv.row * BLOCK);
    let mut backward = Aligned::zeros(conv.channels * conv.channel_len());
    let mut biases = Aligned::zeros(conv.blocks() * BLOCK);
    let weights = &theta[conv.layer.weight_range()];
    {
        let (forward, backward): (&mut [f32], &mut [f32]) = (&mut forward, &mut backward);
        visit_taps(conv, |tap, front, back| {
            let weight = narrow(weights[tap]);
            forward[front] = weight;
            backward[back] = weight;
        });
    }
    fill_biases(&mut biases, &theta[conv.layer.bias_range()]);
    PackedStep { forward, backward, biases }
}

fn pack_dense(dense: &Dense, theta: &[f64]) -> PackedStep {
    let mut forward = Aligned::zeros(dense.outputs * dense.padded);
    let mut biases = Aligned::zeros(dense.outputs);
    let weights = &theta[dense.layer.weight_range()];
    {
        let forward: &mut [f32] = &mut forward;
        visit_weights(dense, |place, packed| forward[packed] = narrow(weights[place]));
    }
    fill_biases(&mut biases, &theta[dense.layer.bias_range()]);
    PackedStep { forward, backward: Aligned::zeros(0), biases }
}

fn fill_biases(to: &mut [f32], from: &[f64]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = narrow(from);
    }
}

/// Calls `visit(flat, forward, backward)` with the three indices of each weight.
fn visit_taps(conv: &Convolution, mut visit: impl FnMut(usize, usize, usize)) {
    let (kernel, sources, padded_row) = (conv.kernel, conv.padded.channels, conv.padded_row());
    let mut flat = 0;
    for channel in 0..conv.channels {
        let block = (channel / BLOCK) * kernel * conv.row * BLOCK + channel % BLOCK;
        for source in 0..sources {
            for row in 0..kernel {
                for column in 0..kernel {
                    let place = column * sources + source;
                    let forward = block + (row * conv.row + place) * BLOCK;
                    visit(flat, forward, (channel * kernel + row) * padded_row + place);
                    flat += 1;
                }
            }
        }
    }
}

/// Calls `visit(flat, packed)` with both indices of each weight of a dense layer.
fn visit_weights(dense: &Dense, mut visit: impl FnMut(usize, usize)) {
    let Shape { channels, height, width } = dense.layer.input;
    let area = height * width;
    for output in 0..dense.outputs {
        for channel in 0..channels {
            for pixel in 0..area {
                let flat = output * dense.inputs + channel * area + pixel;
                visit(flat, output * dense.padded + pixel * channels + channel);
            }
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the fast tier computes in f32")]
fn narrow(value: f64) -> f32 {
    value as f32
}
