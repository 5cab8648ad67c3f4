//! Public images of nothing in particular: strokes, and noise of all sizes.
//!
//! Constants that features are standardised by are computed from these, so that they tell nothing about any record. Only + − × ÷
//! and roots are used, so that every machine draws the same images.

use crate::PublicRandom;
use undertone_core::neural::Shape;

/// What all images follow from.
const SEED: u64 = 0x7374_726f_6b65_7331;

/// Images of strokes, and as many of noise.
const PAIRS: usize = 128;

/// Draws images of one shape.
pub(super) struct SyntheticImages {
    shape: Shape,
    random: PublicRandom,
}

impl SyntheticImages {
    pub(super) fn new(shape: Shape) -> SyntheticImages {
        SyntheticImages { shape, random: PublicRandom::new(SEED) }
    }

    /// All images, values from 0 to 1, channel by channel and row by row.
    pub(super) fn draw(mut self) -> impl Iterator<Item = Vec<f32>> {
        (0..2 * PAIRS).map(
            move |number| {
                if number.is_multiple_of(2) { self.strokes() } else { self.noise() }
            },
        )
    }

    fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.random.unit()
    }

    /// One to three curved strokes of one colour on a background of another; white on black without colours.
    fn strokes(&mut self) -> Vec<f32> {
        let Shape { channels, height, width } = self.shape;
        let mut ink = vec![0.0_f64; height * width];
        for _ in 0..1 + self.random.next_u64() % 3 {
            self.add_stroke(&mut ink);
        }
        let mut image = Vec::with_capacity(self.shape.count());
        for _ in 0..channels {
            let (paint, ground) =
                if channels == 1 { (1.0, 0.0) } else { (self.random.unit(), self.random.unit()) };
            image.extend(ink.iter().map(|&ink| narrow(ink * paint + (1.0 - ink) * ground)));
        }
        image
    }

    /// Adds a stroke: a round brush that moves along a parabola.
    fn add_stroke(&mut self, ink: &mut [f64]) {
        /// Places of the brush.
        const STEPS: u32 = 24;
        let (rows, columns) = (size(self.shape.height), size(self.shape.width));
        let mut points = [[0.0; 2]; 3];
        for [row, column] in &mut points {
            (*row, *column) = (self.uniform(0.15, 0.85) * rows, self.uniform(0.15, 0.85) * columns);
        }
        let radius = self.uniform(0.02, 0.07) * rows.min(columns);
        for step in 0..STEPS {
            let t = f64::from(step) / f64::from(STEPS - 1);
            let weights = [(1.0 - t) * (1.0 - t), 2.0 * t * (1.0 - t), t * t];
            let at = |axis: usize| weights.iter().zip(&points).map(|(w, p)| w * p[axis]).sum();
            let (row, column): (f64, f64) = (at(0), at(1));
            for (place, ink) in ink.iter_mut().enumerate() {
                let width = self.shape.width;
                let (down, right) = (size(place / width) - row, size(place % width) - column);
                let distance = (down * down + right * right).sqrt();
                *ink = ink.max((radius + 0.5 - distance).clamp(0.0, 1.0));
            }
        }
    }

    /// Noise with as much of it in every octave of sizes, as photographs have. Colours are alike.
    fn noise(&mut self) -> Vec<f32> {
        let common = self.noise_of_one_colour();
        let mut image = Vec::with_capacity(self.shape.count());
        for _ in 0..self.shape.channels {
            let own = self.noise_of_one_colour();
            let (share, rest) = if self.shape.channels == 1 { (1.0, 0.0) } else { (0.9, 0.44) };
            let pairs = common.iter().zip(&own);
            let mixed = pairs.map(|(common, own)| 0.5 + 0.22 * (share * common + rest * own));
            image.extend(mixed.map(narrow));
        }
        image
    }

    /// Noise of mean 0 and variance 1.
    fn noise_of_one_colour(&mut self) -> Vec<f64> {
        let Shape { height, width, .. } = self.shape;
        let mut values = vec![0.0; height * width];
        let mut spacing = 1;
        while spacing <= height.max(width) {
            self.add_octave(spacing, &mut values);
            spacing *= 2;
        }
        let count = size(values.len());
        let mean = values.iter().sum::<f64>() / count;
        values.iter_mut().for_each(|value| *value -= mean);
        let deviation = (values.iter().map(|value| value * value).sum::<f64>() / count).sqrt();
        values.iter_mut().for_each(|value| *value /= deviation);
        values
    }

    /// Adds random numbers at the points of a grid, and what lies between them by interpolation.
    fn add_octave(&mut self, spacing: usize, values: &mut [f64]) {
        let Shape { height, width, .. } = self.shape;
        let columns = width / spacing + 2;
        let count = (height / spacing + 2) * columns;
        let grid: Vec<f64> = (0..count).map(|_| self.uniform(-1.0, 1.0)).collect();
        for (place, value) in values.iter_mut().enumerate() {
            let (row, column) = (place / width, place % width);
            let corner = row / spacing * columns + column / spacing;
            let down = size(row % spacing) / size(spacing);
            let right = size(column % spacing) / size(spacing);
            let upper = grid[corner] * (1.0 - right) + grid[corner + 1] * right;
            let lower = grid[corner + columns] * (1.0 - right) + grid[corner + columns + 1] * right;
            *value += upper * (1.0 - down) + lower * down;
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "sizes of images are small")]
fn size(count: usize) -> f64 {
    count as f64
}

/// A value from 0 to 1.
#[expect(clippy::cast_possible_truncation, reason = "pixels are computed in f32")]
fn narrow(value: f64) -> f32 {
    value.clamp(0.0, 1.0) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images(channels: usize) -> Vec<Vec<f32>> {
        SyntheticImages::new(Shape { channels, height: 12, width: 8 }).draw().collect()
    }

    #[test]
    fn images_have_the_shape_and_values_from_0_to_1() {
        for channels in [1, 3] {
            let images = images(channels);
            assert_eq!(images.len(), 2 * PAIRS);
            assert!(images.iter().all(|image| image.len() == channels * 96));
            assert!(images.iter().flatten().all(|value| (0.0..=1.0).contains(value)));
        }
    }

    #[test]
    fn no_two_images_are_alike_and_none_is_flat() {
        let images = images(3);
        for (place, image) in images.iter().enumerate() {
            assert!(!images[..place].contains(image), "{place}");
            assert!(image.iter().any(|value| (value - image[0]).abs() > 0.05), "{place}");
        }
    }

    #[test]
    fn the_same_images_are_drawn_for_ever() {
        let sum = |image: &[f32]| image.iter().map(|value| u64::from(value.to_bits())).sum::<u64>();
        let images = images(3);
        assert_eq!([sum(&images[0]), sum(&images[255])], [0; 2]);
    }
}
