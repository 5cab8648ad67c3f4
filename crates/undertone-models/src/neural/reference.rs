//! The reference: forward and backward in plain loops, one record at a time.
//!
//! Written for readability; the fast tier is tested against it. It is generic in its numbers, so that the same code gives
//! second derivatives (see [`scalar`](super::scalar)).

use super::checked::assert_length;
use super::scalar::Scalar;
use super::{Layer, Operation};
use super::{NeuralNetwork, Shape};

impl NeuralNetwork {
    /// The logits of one record.
    ///
    /// # Panics
    /// When a vector has the wrong length: a bug in the caller.
    #[must_use]
    pub fn logits(&self, theta: &[f64], input: &[f64]) -> Vec<f64> {
        self.assert_fits(theta);
        assert_length("input", input.len(), self.features());
        forward(self, theta, input).pop().unwrap_or_default()
    }

    /// The loss of one record: the cross-entropy −Σ y_k ln p_k of the softmax p with a label y.
    ///
    /// `label` holds one weight for each class, which sum to 1: see [`NeuralNetwork::one_hot`].
    ///
    /// # Panics
    /// When a vector has the wrong length: a bug in the caller.
    #[must_use]
    pub fn loss(&self, theta: &[f64], input: &[f64], label: &[f64]) -> f64 {
        assert_length("label", label.len(), self.classes());
        let logs = log_softmax(&self.logits(theta, input));
        -label.iter().zip(logs).map(|(y, log)| y * log).sum::<f64>()
    }

    /// The gradient of one record's loss in the parameters, unclipped.
    ///
    /// # Panics
    /// When a vector has the wrong length: a bug in the caller.
    #[must_use]
    pub fn gradient(&self, theta: &[f64], input: &[f64], label: &[f64]) -> Vec<f64> {
        self.both_gradients(theta, input, label).0
    }

    /// The gradient of one record's loss in its input.
    ///
    /// # Panics
    /// When a vector has the wrong length: a bug in the caller.
    #[must_use]
    pub fn input_gradient(&self, theta: &[f64], input: &[f64], label: &[f64]) -> Vec<f64> {
        self.both_gradients(theta, input, label).1
    }

    /// The label with weight 1 for one class.
    ///
    /// # Panics
    /// When there is no such class: a bug in the caller.
    #[must_use]
    pub fn one_hot(&self, class: usize) -> Vec<f64> {
        let mut label = vec![0.0; self.classes()];
        label[class] = 1.0;
        label
    }

    fn both_gradients(&self, theta: &[f64], input: &[f64], label: &[f64]) -> (Vec<f64>, Vec<f64>) {
        self.assert_fits(theta);
        assert_length("input", input.len(), self.features());
        assert_length("label", label.len(), self.classes());
        let pass = Pass::new(self, theta, input, label);
        (pass.gradient, pass.input_gradient)
    }
}

/// The results of one forward and one backward pass.
pub(super) struct Pass<S> {
    pub(super) logits: Vec<S>,
    pub(super) gradient: Vec<S>,
    pub(super) input_gradient: Vec<S>,
}

impl<S: Scalar> Pass<S> {
    /// Runs both passes. All lengths must have been checked.
    pub(super) fn new(neural: &NeuralNetwork, theta: &[S], input: &[S], label: &[f64]) -> Pass<S> {
        let mut values = forward(neural, theta, input);
        let logits = values.pop().unwrap_or_default();
        let probabilities = log_softmax(&logits).into_iter().map(Scalar::exp);
        // The labels sum to 1, so the slope of the loss in the logits is p − y.
        let slopes = probabilities.zip(label).map(|(p, &y)| p - S::constant(y));
        let mut slopes: Vec<S> = slopes.collect();
        let mut gradient = vec![S::constant(0.0); theta.len()];
        let mut output = logits.clone();
        for layer in neural.layers().iter().rev() {
            let Some(input) = values.pop() else { break };
            slopes = backward(layer, theta, (&input, &output), &slopes, &mut gradient);
            output = input;
        }
        Pass { logits, gradient, input_gradient: slopes }
    }
}

/// ln of the softmax, without overflow.
pub(super) fn log_softmax<S: Scalar>(logits: &[S]) -> Vec<S> {
    let largest = logits.iter().map(|logit| logit.value()).fold(f64::NEG_INFINITY, f64::max);
    let shifted: Vec<S> = logits.iter().map(|&logit| logit - S::constant(largest)).collect();
    let total = shifted.iter().fold(S::constant(0.0), |sum, logit| sum + logit.exp());
    shifted.into_iter().map(|logit| logit - total.ln()).collect()
}

/// The input and the output of each layer, in order.
fn forward<S: Scalar>(neural: &NeuralNetwork, theta: &[S], input: &[S]) -> Vec<Vec<S>> {
    let mut values = vec![input.to_vec()];
    for layer in neural.layers() {
        let next = match values.last() {
            Some(input) => apply(layer, theta, input),
            None => Vec::new(),
        };
        values.push(next);
    }
    values
}

fn apply<S: Scalar>(layer: &Layer, theta: &[S], input: &[S]) -> Vec<S> {
    let zero = S::constant(0.0);
    let mut output = vec![zero; layer.output.count()];
    match layer.operation {
        Operation::Conv { .. } | Operation::Dense => {
            let (weights, biases) = (&theta[layer.weight_range()], &theta[layer.bias_range()]);
            let area = layer.output.height * layer.output.width;
            for (channel, &bias) in biases.iter().enumerate() {
                output[channel * area..(channel + 1) * area].fill(bias);
            }
            visit_products(layer, |to, from, weight| output[to] += weights[weight] * input[from]);
        }
        Operation::Relu => {
            for (to, &from) in output.iter_mut().zip(input) {
                *to = if from.value() > 0.0 { from } else { zero };
            }
        }
        Operation::Tanh => output.iter_mut().zip(input).for_each(|(to, from)| *to = from.tanh()),
        Operation::Sigmoid => {
            output.iter_mut().zip(input).for_each(|(to, from)| *to = from.sigmoid());
        }
        Operation::MaxPool { size, stride } => {
            for (to, from) in max_pool_inputs(layer, size, stride, input) {
                output[to] = input[from];
            }
        }
        Operation::AveragePool { size, stride } => {
            let share = share_of(size);
            visit_windows(layer, size, stride, |to, from| output[to] += input[from] * share);
        }
    }
    output
}

/// The slopes in a layer's input from those in its output; adds its parameters' slopes to `gradient`.
fn backward<S: Scalar>(
    layer: &Layer,
    theta: &[S],
    (input, output): (&[S], &[S]),
    slopes: &[S],
    gradient: &mut [S],
) -> Vec<S> {
    let (zero, one) = (S::constant(0.0), S::constant(1.0));
    let mut back = vec![zero; layer.input.count()];
    match layer.operation {
        Operation::Conv { .. } | Operation::Dense => {
            let weights = &theta[layer.weight_range()];
            let area = layer.output.height * layer.output.width;
            for (bias, part) in gradient[layer.bias_range()].iter_mut().zip(slopes.chunks(area)) {
                part.iter().for_each(|&slope| *bias += slope);
            }
            let gradient = &mut gradient[layer.weight_range()];
            visit_products(layer, |to, from, weight| {
                gradient[weight] += slopes[to] * input[from];
                back[from] += slopes[to] * weights[weight];
            });
        }
        Operation::Relu => {
            for ((to, &from), value) in back.iter_mut().zip(slopes).zip(input) {
                *to = if value.value() > 0.0 { from } else { zero };
            }
        }
        Operation::Tanh => {
            for ((to, &from), &value) in back.iter_mut().zip(slopes).zip(output) {
                *to = from * (one - value * value);
            }
        }
        Operation::Sigmoid => {
            for ((to, &from), &value) in back.iter_mut().zip(slopes).zip(output) {
                *to = from * value * (one - value);
            }
        }
        Operation::MaxPool { size, stride } => {
            for (to, from) in max_pool_inputs(layer, size, stride, input) {
                back[from] += slopes[to];
            }
        }
        Operation::AveragePool { size, stride } => {
            let share = share_of(size);
            visit_windows(layer, size, stride, |to, from| back[from] += slopes[to] * share);
        }
    }
    back
}

/// Calls `visit(output, input, weight)` for each product that a layer with weights sums.
fn visit_products(layer: &Layer, mut visit: impl FnMut(usize, usize, usize)) {
    let Layer { input, output, .. } = *layer;
    let Operation::Conv { kernel, stride, padding } = layer.operation else {
        let inputs = input.count();
        for to in 0..output.count() {
            (0..inputs).for_each(|from| visit(to, from, to * inputs + from));
        }
        return;
    };
    // The input row or column under a tap; `None` in the padding.
    let under = |position: usize, tap: usize, side: usize| {
        (position * stride + tap).checked_sub(padding).filter(|&place| place < side)
    };
    for (channel, row, column) in places(output) {
        let to = (channel * output.height + row) * output.width + column;
        for (source, tap_row, tap_column) in
            places(Shape { channels: input.channels, height: kernel, width: kernel })
        {
            let y = under(row, tap_row, input.height);
            let x = under(column, tap_column, input.width);
            if let (Some(y), Some(x)) = (y, x) {
                let from = (source * input.height + y) * input.width + x;
                let tap = (source * kernel + tap_row) * kernel + tap_column;
                visit(to, from, channel * input.channels * kernel * kernel + tap);
            }
        }
    }
}

/// Calls `visit(output, input)` for each value of each window of a pooling layer, window by window.
fn visit_windows(layer: &Layer, size: usize, stride: usize, mut visit: impl FnMut(usize, usize)) {
    let Layer { input, output, .. } = *layer;
    for (channel, row, column) in places(output) {
        let to = (channel * output.height + row) * output.width + column;
        for (_, y, x) in places(Shape { channels: 1, height: size, width: size }) {
            let line = channel * input.height + row * stride + y;
            visit(to, line * input.width + column * stride + x);
        }
    }
}

/// For each output of a max-pool the index of its input: the first of the largest.
fn max_pool_inputs<S: Scalar>(
    layer: &Layer,
    size: usize,
    stride: usize,
    input: &[S],
) -> Vec<(usize, usize)> {
    let mut pairs: Vec<(usize, usize)> = Vec::with_capacity(layer.output.count());
    visit_windows(layer, size, stride, |to, from| match pairs.last_mut() {
        Some((last, best)) if *last == to => {
            if input[from].value() > input[*best].value() {
                *best = from;
            }
        }
        _ => pairs.push((to, from)),
    });
    pairs
}

fn share_of<S: Scalar>(size: usize) -> S {
    #[expect(clippy::cast_precision_loss, reason = "windows are small")]
    S::constant(1.0 / (size * size) as f64)
}

/// All (channel, row, column) of a shape, in the order of memory.
fn places(shape: Shape) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..shape.channels).flat_map(move |channel| {
        (0..shape.height)
            .flat_map(move |row| (0..shape.width).map(move |column| (channel, row, column)))
    })
}
