//! Activations and pooling that are not fused with a convolution.

use crate::neural::Shape;

/// Writes f of each value.
#[inline(always)]
pub(super) fn map(input: &[f32], output: &mut [f32], f: impl Fn(f32) -> f32) {
    for (to, &from) in output.iter_mut().zip(input) {
        *to = f(from);
    }
}

/// Writes slope · f(output) for each value.
#[inline(always)]
pub(super) fn map_backward(
    output: &[f32],
    slopes: &[f32],
    back: &mut [f32],
    derivative: impl Fn(f32) -> f32,
) {
    for ((to, &slope), &value) in back.iter_mut().zip(slopes).zip(output) {
        *to = slope * derivative(value);
    }
}

/// A square window that moves over an image.
#[derive(Clone, Copy)]
pub(super) struct Window {
    pub(super) size: usize,
    pub(super) stride: usize,
    pub(super) input: Shape,
    pub(super) output: Shape,
}

impl Window {
    /// The maximum of each window and its input index.
    #[inline(always)]
    pub(super) fn max_pool(&self, input: &[f32], output: &mut [f32], argmax: &mut [i32]) {
        let channels = self.input.channels;
        self.visit(|pixel, from, first| {
            let to = pixel * channels;
            let slots = output[to..to + channels].iter_mut().zip(&mut argmax[to..to + channels]);
            let values = (from..).zip(&input[from..from + channels]);
            for ((largest, max_input), (place, &value)) in slots.zip(values) {
                if first || value > *largest {
                    *largest = value;
                    *max_input = i32::try_from(place).unwrap_or(-1);
                }
            }
        });
    }

    /// The mean of each window.
    #[inline(always)]
    pub(super) fn average_pool(&self, input: &[f32], output: &mut [f32]) {
        let (channels, share) = (self.input.channels, self.share());
        output[..self.output.count()].fill(0.0);
        self.visit(|pixel, from, _| {
            let values = &input[from..from + channels];
            for (to, &value) in output[pixel * channels..].iter_mut().zip(values) {
                *to += share * value;
            }
        });
    }

    /// Distributes the slope of each mean over its window; `back` must be zero before.
    #[inline(always)]
    pub(super) fn average_pool_backward(&self, slopes: &[f32], back: &mut [f32]) {
        let (channels, share) = (self.input.channels, self.share());
        self.visit(|pixel, from, _| {
            let slopes = &slopes[pixel * channels..(pixel + 1) * channels];
            for (to, &slope) in back[from..].iter_mut().zip(slopes) {
                *to += share * slope;
            }
        });
    }

    #[expect(clippy::cast_precision_loss, reason = "windows are small")]
    fn share(&self) -> f32 {
        1.0 / (self.size * self.size) as f32
    }

    /// Calls `visit(output pixel, input index, whether it is the window's first)`.
    #[inline(always)]
    fn visit(&self, mut visit: impl FnMut(usize, usize, bool)) {
        for row in 0..self.output.height {
            for column in 0..self.output.width {
                for y in 0..self.size {
                    for x in 0..self.size {
                        let line = (row * self.stride + y) * self.input.width;
                        let from = (line + column * self.stride + x) * self.input.channels;
                        visit(row * self.output.width + column, from, x + y == 0);
                    }
                }
            }
        }
    }
}

/// Adds each slope to the input of its maximum; `back` must be zero before.
#[inline(always)]
pub(super) fn max_pool_backward(argmax: &[i32], slopes: &[f32], back: &mut [f32]) {
    for (&max_input, &slope) in argmax.iter().zip(slopes) {
        if let Some(to) = usize::try_from(max_input).ok().and_then(|place| back.get_mut(place)) {
            *to += slope;
        }
    }
}
