//! A random projection that all learners share.
//!
//! # Source
//! The subsampled randomised Hadamard transform (Ailon & Chazelle 2006; Tropp 2011): random signs, a Hadamard transform, and
//! a random choice of its outputs. It preserves norms and inner products about as well as a Gaussian matrix, and needs
//! n·log n sums instead of n·d products and no matrix. Sums of f32 in a fixed order have the same bits on every machine.

use crate::PublicRandom;

/// What all random signs and places follow from.
const SEED: u64 = 0x7072_6f6a_6563_7431;

/// A projection of vectors to fewer coordinates.
pub(super) struct Projection {
    signs: Vec<f32>,
    /// Increasing.
    kept: Vec<u32>,
    /// A power of two.
    length: usize,
}

impl Projection {
    /// The projection of vectors of `inputs` coordinates to `outputs` of them, at most as many.
    pub(super) fn new(inputs: usize, outputs: usize) -> Projection {
        let mut random = PublicRandom::new(SEED);
        let signs = (0..inputs).map(|_| if random.next_u64() >> 63 == 0 { 1.0 } else { -1.0 });
        let signs = signs.collect();
        let length = inputs.next_power_of_two();
        let mut places: Vec<u32> =
            (0..u32::try_from(length).expect("at most 2^22 features")).collect();
        for place in 0..outputs {
            let left = (length - place) as u64;
            let other = usize::try_from(random.next_u64() % left).expect("below a length");
            places.swap(place, place + other);
        }
        places.truncate(outputs);
        places.sort_unstable();
        Projection { signs, kept: places, length }
    }

    /// Projects `values` into `out`. `buffer` is memory for it.
    pub(super) fn apply(&self, values: &[f32], buffer: &mut Vec<f32>, out: &mut [f32]) {
        buffer.clear();
        buffer.extend(values.iter().zip(&self.signs).map(|(value, sign)| value * sign));
        buffer.resize(self.length, 0.0);
        hadamard(buffer);
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            reason = "a scale need not be exact"
        )]
        let scale = (1.0 / self.kept.len() as f64).sqrt() as f32;
        for (slot, &place) in out.iter_mut().zip(&self.kept) {
            *slot = buffer[place as usize] * scale;
        }
    }
}

/// The Hadamard transform of as many values as a power of two.
fn hadamard(values: &mut [f32]) {
    let mut half = 1;
    while half < values.len() {
        for block in values.chunks_exact_mut(2 * half) {
            let (left, right) = block.split_at_mut(half);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal(length: usize, seed: f32) -> Vec<f32> {
        (0..length).map(|k| (k as f32 * 0.37 + seed).sin()).collect()
    }

    fn product(left: &[f32], right: &[f32]) -> f32 {
        left.iter().zip(right).map(|(a, b)| a * b).sum()
    }

    fn project(projection: &Projection, values: &[f32]) -> Vec<f32> {
        let mut out = vec![0.0; projection.kept.len()];
        projection.apply(values, &mut Vec::new(), &mut out);
        out
    }

    /// Entry (i, k) of a Hadamard matrix is −1 to the number of ones that i and k share.
    #[test]
    fn the_transform_is_the_matrix_that_defines_it() {
        let mut values = signal(64, 0.3);
        let expected: Vec<f32> = (0..64_usize)
            .map(|i| {
                let sign = |k: usize| if (i & k).count_ones() % 2 == 0 { 1.0 } else { -1.0 };
                values.iter().enumerate().map(|(k, value)| sign(k) * value).sum()
            })
            .collect();
        hadamard(&mut values);
        assert!(values.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5));
    }

    #[test]
    fn a_projection_to_all_coordinates_keeps_norms_and_products() {
        let projection = Projection::new(50, 64);
        let (a, b) = (signal(50, 0.1), signal(50, 2.1));
        let (x, y) = (project(&projection, &a), project(&projection, &b));
        assert!((product(&x, &y) - product(&a, &b)).abs() < 1e-4);
        assert!((product(&x, &x) - product(&a, &a)).abs() < 1e-4);
    }

    /// With 400 of 4096 coordinates the standard deviation of a product of unit vectors is about √(2/400) = 0.07 at most.
    /// Five of them are allowed. The control keeps the first coordinates without mixing them: it misses a signal elsewhere.
    #[test]
    fn a_projection_to_few_coordinates_nearly_keeps_them_wherever_the_signal_is() {
        let projection = Projection::new(3969, 400);
        for start in [0, 1000, 3900] {
            let mut single = vec![0.0; 3969];
            single[start..start + 69].copy_from_slice(&signal(69, 0.5));
            let norm = product(&single, &single).sqrt();
            single.iter_mut().for_each(|value| *value /= norm);
            let projected = project(&projection, &single);
            let square = product(&projected, &projected);
            assert!((square - 1.0).abs() < 0.36, "{start}: {square}");
            let first = product(&single[..400], &single[..400]) * 3969.0 / 400.0;
            assert!(!((first - 1.0).abs() < 0.36), "the control, {start}: {first}");
        }
    }

    #[test]
    fn the_same_places_and_signs_are_chosen_for_ever() {
        let projection = Projection::new(100, 8);
        assert_eq!(projection.kept, [0; 8]);
        let signs: String =
            projection.signs[..16].iter().map(|&s| if s > 0.0 { '+' } else { '-' }).collect();
        assert_eq!(signs, "");
        assert!(projection.kept.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
