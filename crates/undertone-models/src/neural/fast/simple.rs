//! Steps without parameters: activations and pools that stand alone.

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
pub(super) fn map_back(
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
    /// The largest value of each window and where it was.
    #[inline(always)]
    pub(super) fn largest(&self, input: &[f32], output: &mut [f32], winners: &mut [i32]) {
        let channels = self.input.channels;
        self.visit(|pixel, from, first| {
            let to = pixel * channels;
            let slots = output[to..to + channels].iter_mut().zip(&mut winners[to..to + channels]);
            let values = (from..).zip(&input[from..from + channels]);
            for ((largest, winner), (place, &value)) in slots.zip(values) {
                if first || value > *largest {
                    *largest = value;
                    *winner = i32::try_from(place).unwrap_or(-1);
                }
            }
        });
    }

    /// The mean of each window.
    #[inline(always)]
    pub(super) fn mean(&self, input: &[f32], output: &mut [f32]) {
        let (channels, share) = (self.input.channels, self.share());
        output[..self.output.count()].fill(0.0);
        self.visit(|pixel, from, _| {
            let values = &input[from..from + channels];
            for (to, &value) in output[pixel * channels..].iter_mut().zip(values) {
                *to += share * value;
            }
        });
    }

    /// Spreads the slope of each mean over its window; `back` is zero before.
    #[inline(always)]
    pub(super) fn mean_back(&self, slopes: &[f32], back: &mut [f32]) {
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

    /// Calls `visit(output pixel, input place, whether it is the window's first)`.
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

/// Gives each winner its slope; `back` is zero before.
#[inline(always)]
pub(super) fn largest_back(winners: &[i32], slopes: &[f32], back: &mut [f32]) {
    for (&winner, &slope) in winners.iter().zip(slopes) {
        if let Some(to) = usize::try_from(winner).ok().and_then(|place| back.get_mut(place)) {
            *to += slope;
        }
    }
}
