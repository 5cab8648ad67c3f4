//! Public constants that bring the channels of a scattering transform to one level.
//!
//! The average of every feature over synthetic images is subtracted, and every channel is divided by its standard deviation
//! over them. Without this, the few channels that are large in every image decide the direction of all of them.

use super::scattering::CHANNELS;

/// What is subtracted from each feature, and what each channel is multiplied by then.
pub(super) struct Standardise {
    means: Vec<f32>,
    factors: Vec<f32>,
    /// Features of a channel.
    cells: usize,
}

/// Sums over synthetic images.
pub(super) struct Sums {
    count: f64,
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl Sums {
    /// For images with this many features.
    pub(super) fn new(features: usize) -> Sums {
        Sums { count: 0.0, sums: vec![0.0; features], squares: vec![0.0; features] }
    }

    /// Adds the features of an image.
    pub(super) fn add(&mut self, features: &[f32]) {
        self.count += 1.0;
        for ((sum, square), &value) in self.sums.iter_mut().zip(&mut self.squares).zip(features) {
            let value = f64::from(value);
            *sum += value;
            *square += value * value;
        }
    }
}

impl Standardise {
    /// The constants of images whose channels have `cells` features each.
    #[expect(clippy::cast_possible_truncation, reason = "features are computed in f32")]
    pub(super) fn new(sums: &Sums, cells: usize) -> Standardise {
        let Sums { count, sums, squares } = sums;
        let means: Vec<f64> = sums.iter().map(|sum| sum / count).collect();
        let channels = means.chunks_exact(cells).zip(squares.chunks_exact(cells));
        let factors = channels.map(|(means, squares)| {
            let parts =
                means.iter().zip(squares).map(|(mean, square)| square / count - mean * mean);
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let variance = parts.sum::<f64>() / cells as f64;
            // No channel is constant over all synthetic images: their strokes and noise have all sizes and orientations.
            (1.0 / variance.max(1e-12).sqrt()) as f32
        });
        let factors = factors.collect();
        Standardise { factors, means: means.into_iter().map(|mean| mean as f32).collect(), cells }
    }

    /// Standardises the features of an image.
    pub(super) fn apply(&self, features: &mut [f32]) {
        let channels =
            features.chunks_exact_mut(self.cells).zip(self.means.chunks_exact(self.cells));
        for ((values, means), factor) in channels.zip(&self.factors) {
            for (value, mean) in values.iter_mut().zip(means) {
                *value = (*value - mean) * factor;
            }
        }
    }
}

const _: () = assert!(CHANNELS == undertone_core::FeatureTransform::SCATTERING_CHANNELS);
