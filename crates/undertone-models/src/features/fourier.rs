//! Random Fourier features: cosines and sines of random projections.
//!
//! # Source
//! Rahimi & Recht, "Random features for large-scale kernel machines" (2007): with frequencies w from N(0, 2γI), the mean of
//! cos(w·(x − y)) is exp(−γ‖x − y‖²). Cosine and sine of one frequency together have norm 1, whatever the record is.

use crate::row::Row;
use crate::{Features, PublicRandom, RecordError};
use std::f64::consts::TAU;

/// What all frequencies follow from.
const SEED: u64 = 0x666f_7572_6965_7231;

/// The frequencies of Fourier features.
pub(super) struct Fourier {
    inputs: usize,
    /// One row after the other.
    frequencies: Vec<f64>,
}

impl Fourier {
    /// As many frequencies as half of `dimension`, for the kernel exp(−`gamma`‖x − y‖²).
    pub(super) fn new(inputs: usize, gamma: f64, dimension: usize) -> Fourier {
        let mut random = PublicRandom::new(SEED);
        let scale = (2.0 * gamma).sqrt();
        let count = inputs * (dimension / 2);
        // Numbers come in pairs.
        let pairs = (0..count.div_ceil(2)).flat_map(|_| gaussian_pair(&mut random));
        let frequencies = pairs.take(count).map(|value| scale * value).collect();
        Fourier { inputs, frequencies }
    }

    /// Writes the cosine and the sine of each frequency.
    ///
    /// # Errors
    /// When a value is not finite, or too large for its product with a frequency.
    pub(super) fn apply(&self, features: &Features, out: &mut [f32]) -> Result<(), RecordError> {
        let rows = self.frequencies.chunks_exact(self.inputs);
        let row: Row<'_> = features.row();
        for (frequency, pair) in rows.zip(out.as_chunks_mut::<2>().0) {
            let phase = row.dot(frequency);
            if !phase.is_finite() {
                return Err(RecordError::NotFinite);
            }
            let (sin, cos) = libm::sincos(phase);
            #[expect(clippy::cast_possible_truncation, reason = "features are kept in fewer bits")]
            let rounded = [cos as f32, sin as f32];
            *pair = rounded;
        }
        Ok(())
    }
}

/// Two numbers of the standard normal distribution, by Box & Muller. Not private noise: these are constants.
fn gaussian_pair(random: &mut PublicRandom) -> [f64; 2] {
    // One minus it, as the logarithm of zero is not finite.
    let radius = (-2.0 * libm::log(1.0 - random.unit())).sqrt();
    let (sin, cos) = libm::sincos(TAU * random.unit());
    [radius * cos, radius * sin]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(values: &[f64]) -> Features {
        Features::Dense(values.into())
    }

    fn transformed(fourier: &Fourier, dimension: usize, values: &[f64]) -> Vec<f32> {
        let mut out = vec![0.0; dimension];
        fourier.apply(&dense(values), &mut out).unwrap();
        out
    }

    /// The standard deviation of a mean of 2000 cosines is at most 1/√(2·2000) = 0.016; five of them are allowed. The control
    /// is the kernel of twice γ, which is further away.
    #[test]
    fn products_are_close_to_the_kernel_and_not_to_another() {
        let (dimension, gamma) = (4000, 0.3);
        let fourier = Fourier::new(3, gamma, dimension);
        for (x, y) in [([0.1, 0.2, -0.4], [0.9, -0.5, 0.3]), ([1.0, 1.0, 1.0], [0.2, 1.5, -0.3])] {
            let (a, b) =
                (transformed(&fourier, dimension, &x), transformed(&fourier, dimension, &y));
            let product: f64 = a.iter().zip(&b).map(|(a, b)| f64::from(a * b)).sum();
            let found = product / (dimension as f64 / 2.0);
            let square: f64 = x.iter().zip(&y).map(|(a, b)| (a - b) * (a - b)).sum();
            assert!((found - (-gamma * square).exp()).abs() < 0.08, "{found}");
            assert!(!((found - (-2.0 * gamma * square).exp()).abs() < 0.08), "the control");
        }
    }

    #[test]
    fn every_pair_has_norm_one() {
        let fourier = Fourier::new(2, 5.0, 10);
        let pairs = transformed(&fourier, 10, &[1e3, -7e8]);
        assert!(pairs.as_chunks::<2>().0.iter().all(|[a, b]| (a * a + b * b - 1.0).abs() < 1e-6));
    }

    #[test]
    fn numbers_without_a_phase_are_refused() {
        let fourier = Fourier::new(1, 1.0, 2);
        for bad in [f64::NAN, f64::INFINITY, f64::MAX] {
            let found = fourier.apply(&dense(&[bad]), &mut [0.0; 2]);
            assert_eq!(found, Err(RecordError::NotFinite), "{bad}");
        }
        assert!(fourier.apply(&dense(&[1e300]), &mut [0.0; 2]).is_ok());
    }

    #[test]
    fn the_same_frequencies_are_chosen_for_ever() {
        let fourier = Fourier::new(2, 0.5, 4);
        let bits: Vec<u64> = fourier.frequencies.iter().map(|value| value.to_bits()).collect();
        assert_eq!(bits, [0; 4]);
        let mean = Fourier::new(100, 0.5, 200).frequencies.iter().sum::<f64>() / 10_000.0;
        assert!(mean.abs() < 0.05);
    }
}
