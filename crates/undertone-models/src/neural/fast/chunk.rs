//! One chunk of records, one after another: forward, backward, clip, add.
//!
//! All data of a record stays in the processor's cache, so its own gradient costs only one norm and one scaled addition
//! more.

use super::backward::Slopes;
use super::packed::Packed;
use super::scratch::Scratch;
use super::smooth::{sigmoid, tanh};
use super::steps::{Dense, Kind, Step, Steps};
use super::unfused::{Window, map, map_backward, max_pool_backward};
use super::vectors::{add_scaled, dot, norm_sum};
use crate::neural::{Clip, ClipNorm, Shape};
use undertone_simd::{Kernel, Simd};

/// Records summed in f32 before the sum is added in f64: few, so that rounding stays small.
pub(super) const CHUNK: usize = 16;

/// What to compute for each record.
#[derive(Clone, Copy)]
pub(super) enum Task<'a> {
    /// The logits.
    Logits,
    /// The sum of the gradients for these labels, clipped or not.
    Gradients(&'a [u32], Option<Clip>),
}

/// At most [`CHUNK`] records under one set of parameters.
pub(super) struct Chunk<'a> {
    pub(super) steps: &'a Steps,
    pub(super) packed: &'a Packed,
    pub(super) inputs: &'a [f32],
    pub(super) task: Task<'a>,
}

/// Computes a chunk; leaves the sum of gradients, or the logits, in the scratch.
pub(super) struct RunChunk<'a> {
    pub(super) chunk: Chunk<'a>,
    pub(super) scratch: &'a mut Scratch,
}

impl Kernel for RunChunk<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        self.chunk.run::<S>(self.scratch);
    }
}

impl Chunk<'_> {
    #[inline(always)]
    fn run<S: Simd>(&self, scratch: &mut Scratch) {
        scratch.logits.clear();
        let records = self.inputs.chunks_exact(self.steps.input.count());
        match self.task {
            Task::Logits => {
                for input in records {
                    self.forward::<S>(input, scratch);
                    let logits = scratch.values.last().map_or(&[][..], |last| last);
                    scratch.logits.extend_from_slice(&logits[..self.steps.classes]);
                }
            }
            Task::Gradients(labels, clip) => {
                scratch.sum.fill(0.0);
                for (input, &label) in records.zip(labels) {
                    self.forward::<S>(input, scratch);
                    self.loss_slopes(label as usize, scratch);
                    self.backward::<S>(scratch);
                    let weight = self.clip_weight(input, clip, scratch);
                    // Skip weight zero: zero times infinity is NaN.
                    if weight > 0.0 {
                        self.add_to_sum::<S>(weight, scratch);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn forward<S: Simd>(&self, input: &[f32], scratch: &mut Scratch) {
        if let Some(first) = scratch.values.first_mut() {
            channels_last(self.steps.input, input, first);
        }
        for (number, step) in self.steps.steps.iter().enumerate() {
            let (before, after) = scratch.values.split_at_mut(number + 1);
            let (input, output) = (&before[number][..], &mut after[0][..]);
            let len = step.input.count();
            let packed = &self.packed.steps[number];
            let argmax = &mut scratch.argmax[number][..];
            match &step.kind {
                Kind::Conv(conv) => {
                    let input = if conv.padding > 0 {
                        let padded_inputs = &mut scratch.padded_inputs[number].0;
                        visit_padded_rows(step.input, conv.padding, |inner, outer, width| {
                            padded_inputs[outer..outer + width]
                                .copy_from_slice(&input[inner..inner + width]);
                        });
                        &padded_inputs[..]
                    } else {
                        input
                    };
                    if conv.pooled.is_some() {
                        conv.forward_pooled::<S>(packed, input, (output, argmax));
                    } else {
                        conv.forward::<S>(packed, input, output);
                    }
                }
                Kind::Dense(dense) => {
                    for (class, weights) in packed.forward.chunks_exact(dense.padded).enumerate() {
                        let product = dot::<S>(&input[..dense.padded], weights);
                        output[class] = packed.biases[class] + product;
                    }
                }
                Kind::Relu => map(&input[..len], output, |x| if x > 0.0 { x } else { 0.0 }),
                Kind::Tanh => map(&input[..len], output, tanh),
                Kind::Sigmoid => map(&input[..len], output, sigmoid),
                &Kind::MaxPool { size, stride } => {
                    window(step, size, stride).max_pool(input, output, argmax);
                }
                &Kind::AveragePool { size, stride } => {
                    window(step, size, stride).average_pool(input, output);
                }
            }
        }
    }

    /// The slopes of the loss in the logits: softmax − label.
    #[inline(always)]
    fn loss_slopes(&self, label: usize, scratch: &mut Scratch) {
        let (Some(logits), Some(slopes)) = (scratch.values.last(), scratch.slopes.last_mut())
        else {
            return;
        };
        let (logits, slopes) = (&logits[..self.steps.classes], &mut slopes[..self.steps.classes]);
        let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        map(logits, slopes, |logit| (logit - largest).exp());
        let own = slopes.get_mut(label).map_or(0.0, std::mem::take);
        let others: f32 = slopes.iter().sum();
        let total = own + others;
        slopes.iter_mut().for_each(|slope| *slope /= total);
        if let Some(slope) = slopes.get_mut(label) {
            // p − 1, without cancellation for p ≈ 1.
            *slope = -others / total;
        }
    }

    #[inline(always)]
    fn backward<S: Simd>(&self, scratch: &mut Scratch) {
        for (number, step) in self.steps.steps.iter().enumerate().rev() {
            let (before, after) = scratch.slopes.split_at_mut(number + 1);
            let (back, slopes) = (&mut before[number][..], &after[0][..]);
            let (input, output) = (&scratch.values[number][..], &scratch.values[number + 1][..]);
            let packed = &self.packed.steps[number];
            let argmax = &scratch.argmax[number][..];
            let len = step.input.count();
            if let Kind::Conv(conv) = &step.kind {
                let range = conv.weights().start..conv.biases().end;
                let (entries, gradient) = (&mut scratch.entries[..], &mut scratch.gradient[range]);
                let from = Slopes { slopes, outputs: output, argmax };
                let (padded_inputs, outer_back) = &mut scratch.padded_inputs[number];
                let is_padded = conv.padding > 0;
                let (input, target) = if is_padded {
                    (&padded_inputs[..], &mut outer_back[..])
                } else {
                    (input, &mut *back)
                };
                let mut target = step.needs_input_slopes.then_some(target);
                if let Some(target) = target.as_deref_mut() {
                    target.fill(0.0);
                }
                conv.backward::<S>(packed, (input, from), entries, gradient, target);
                if is_padded {
                    visit_padded_rows(step.input, conv.padding, |inner, outer, width| {
                        back[inner..inner + width]
                            .copy_from_slice(&outer_back[outer..outer + width]);
                    });
                }
                continue;
            }
            if !step.needs_input_slopes {
                continue;
            }
            match &step.kind {
                Kind::Conv(_) => {}
                Kind::Dense(dense) => {
                    back.fill(0.0);
                    let rows = packed.forward.chunks_exact(dense.padded);
                    for (weights, &slope) in rows.zip(slopes) {
                        add_scaled::<S>(slope, weights, back);
                    }
                }
                Kind::Relu => {
                    map_backward(&output[..len], slopes, back, |y| if y > 0.0 { 1.0 } else { 0.0 });
                }
                Kind::Tanh => map_backward(&output[..len], slopes, back, |y| 1.0 - y * y),
                Kind::Sigmoid => map_backward(&output[..len], slopes, back, |y| y * (1.0 - y)),
                Kind::MaxPool { .. } => {
                    back.fill(0.0);
                    max_pool_backward(argmax, slopes, back);
                }
                &Kind::AveragePool { size, stride } => {
                    back.fill(0.0);
                    window(step, size, stride).average_pool_backward(slopes, back);
                }
            }
        }
    }

    /// The weight of the record in the sum, by clipping.
    #[inline(always)]
    fn clip_weight(&self, input: &[f32], clip: Option<Clip>, scratch: &mut Scratch) -> f32 {
        let Some(clip) = clip else { return 1.0 };
        // A relu can hide a value that is not finite; such a record is dropped too. No branch per value, so that the
        // compiler vectorises the loop.
        let finite = input.iter().fold(true, |finite, value| finite & value.is_finite());
        let weight = if finite { clip.weight(self.norm(clip.norm(), scratch)) } else { 0.0 };
        scratch.dropped += usize::from(weight <= 0.0);
        scratch.clipped += usize::from(weight > 0.0 && weight < 1.0);
        weight
    }

    /// The norm of the record's gradient.
    #[inline(always)]
    fn norm(&self, norm: ClipNorm, scratch: &Scratch) -> f64 {
        let mut total = 0.0;
        for (number, step) in self.steps.steps.iter().enumerate() {
            match &step.kind {
                Kind::Conv(conv) => {
                    let range = conv.weights().start..conv.biases().end;
                    total += norm_sum(norm, &scratch.gradient[range]);
                }
                Kind::Dense(dense) => {
                    // The gradient is (slopes)(input, 1)ᵀ, and both norms of such a product are products.
                    let (input, slopes) = dense_factors(number, dense, scratch);
                    let inputs = norm_sum(norm, input);
                    total += norm_sum(norm, &slopes[..dense.outputs]) * (inputs + 1.0);
                    let limit = match norm {
                        ClipNorm::L1 => INPUT_MAX,
                        ClipNorm::L2 => INPUT_MAX * INPUT_MAX,
                    };
                    if !(inputs <= limit) {
                        return f64::NAN;
                    }
                }
                Kind::Relu
                | Kind::Tanh
                | Kind::Sigmoid
                | Kind::MaxPool { .. }
                | Kind::AveragePool { .. } => {}
            }
        }
        match norm {
            ClipNorm::L1 => total,
            ClipNorm::L2 => total.sqrt(),
        }
    }

    /// Adds `weight` times the record's gradient to the sum.
    #[inline(always)]
    fn add_to_sum<S: Simd>(&self, weight: f32, scratch: &mut Scratch) {
        let Scratch { sum, gradient, values, slopes, .. } = scratch;
        for (number, step) in self.steps.steps.iter().enumerate() {
            match &step.kind {
                Kind::Conv(conv) => {
                    let range = conv.weights().start..conv.biases().end;
                    add_scaled::<S>(weight, &gradient[range.clone()], &mut sum[range]);
                }
                Kind::Dense(dense) => {
                    let (input, slopes) = (&values[number][..dense.padded], &slopes[number + 1]);
                    let rows = sum[dense.weights()].chunks_exact_mut(dense.padded);
                    for (row, &slope) in rows.zip(slopes.iter()) {
                        add_scaled::<S>(weight * slope, input, row);
                    }
                    let biases = &mut sum[dense.biases()][..dense.outputs];
                    for (bias, &slope) in biases.iter_mut().zip(slopes.iter()) {
                        *bias += weight * slope;
                    }
                }
                Kind::Relu
                | Kind::Tanh
                | Kind::Sigmoid
                | Kind::MaxPool { .. }
                | Kind::AveragePool { .. } => {}
            }
        }
    }
}

/// Above this norm of a dense layer's input, a slope too small for f32 could add more than rounding.
const INPUT_MAX: f64 = 1.8e19;

#[inline(always)]
fn dense_factors<'a>(number: usize, dense: &Dense, scratch: &'a Scratch) -> (&'a [f32], &'a [f32]) {
    (&scratch.values[number][..dense.padded], &scratch.slopes[number + 1])
}

#[inline(always)]
fn window(step: &Step, size: usize, stride: usize) -> Window {
    Window { size, stride, input: step.input, output: step.output }
}

/// Converts from channel by channel to pixel by pixel.
#[inline(always)]
fn channels_last(shape: Shape, input: &[f32], output: &mut [f32]) {
    let area = shape.height * shape.width;
    if shape.channels == 1 || area == 1 {
        output[..input.len()].copy_from_slice(input);
        return;
    }
    for (channel, values) in input.chunks_exact(area).enumerate() {
        for (pixel, &value) in output.chunks_exact_mut(shape.channels).zip(values) {
            pixel[channel] = value;
        }
    }
}

/// Calls `copy(inner, outer, width)` for each row of an image: its start without and with padding, and its width.
#[inline(always)]
fn visit_padded_rows(inner: Shape, padding: usize, mut copy: impl FnMut(usize, usize, usize)) {
    let width = inner.width * inner.channels;
    let outer_width = (inner.width + 2 * padding) * inner.channels;
    for row in 0..inner.height {
        let outer = (row + padding) * outer_width + padding * inner.channels;
        copy(row * width, outer, width);
    }
}
