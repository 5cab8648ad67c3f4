//! The filters of a scattering transform, by formula.
//!
//! # Source
//! Bruna & Mallat, "Invariant scattering convolution networks" (2013): Morlet wavelets of two octaves and eight
//! orientations, and a Gaussian. Bandwidths and frequencies are the usual ones (σ = 0.8·2ʲ, ξ = ¾π/2ʲ, slant ½).

use super::fft::Lanes;
use std::f64::consts::{PI, TAU};

/// L: orientations, one in each lane.
pub(super) const ORIENTATIONS: usize = 8;

/// Octaves.
pub(super) const OCTAVES: usize = 2;

/// The ratio of the widths of a wavelet's envelope along and across its wave.
const SLANT: f64 = 0.5;

/// How many periods of the frequency plane are added up on each side. The rest of a Gaussian is below 10⁻¹⁰.
const PERIODS: i32 = 2;

/// The standard deviation of an octave's envelope along its wave, in pixels.
fn width(octave: usize) -> f64 {
    0.8 * f64::from(1_u32 << octave)
}

/// The Fourier transforms of the wavelets of one octave on a torus, in the order of rows, one lane for each orientation.
///
/// They are real: a wavelet is symmetric about its centre. `scale` is multiplied in.
#[expect(clippy::cast_possible_truncation, reason = "filters are applied in f32")]
pub(super) fn morlet(octave: usize, rows: usize, columns: usize, scale: f64) -> Vec<Lanes> {
    let mut filters = vec![[0.0; ORIENTATIONS]; rows * columns];
    for orientation in 0..ORIENTATIONS {
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let angle = PI * orientation as f64 / ORIENTATIONS as f64;
        let wavelet = Wavelet::new(octave, angle);
        for (place, lanes) in filters.iter_mut().enumerate() {
            let (row, column) =
                (frequency(place / columns, rows), frequency(place % columns, columns));
            lanes[orientation] = (scale * wavelet.at(row, column)) as f32;
        }
    }
    filters
}

/// The angular frequency of an entry of a discrete transform.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn frequency(entry: usize, of: usize) -> f64 {
    TAU * entry as f64 / of as f64
}

/// A wave under a Gaussian envelope, with a multiple of the envelope subtracted so that its sum is zero.
struct Wavelet {
    width: f64,
    cos: f64,
    sin: f64,
    wave: f64,
    /// The share of the envelope that is subtracted.
    share: f64,
}

impl Wavelet {
    fn new(octave: usize, angle: f64) -> Wavelet {
        let wave = 0.75 * PI / f64::from(1_u32 << octave);
        let (sin, cos) = (libm::sin(angle), libm::cos(angle));
        let mut wavelet = Wavelet { width: width(octave), cos, sin, wave, share: 0.0 };
        wavelet.share = wavelet.periodic(0.0, 0.0, wave) / wavelet.periodic(0.0, 0.0, 0.0);
        wavelet
    }

    /// The Fourier transform of the sampled wavelet.
    fn at(&self, row: f64, column: f64) -> f64 {
        self.periodic(row, column, self.wave) - self.share * self.periodic(row, column, 0.0)
    }

    /// The transform of a wave under the envelope: sampling makes it periodic.
    fn periodic(&self, row: f64, column: f64, wave: f64) -> f64 {
        let mut sum = 0.0;
        for row_period in -PERIODS..=PERIODS {
            for column_period in -PERIODS..=PERIODS {
                let row = row + TAU * f64::from(row_period);
                let column = column + TAU * f64::from(column_period);
                let along = row * self.cos + column * self.sin - wave;
                let across = (column * self.cos - row * self.sin) / SLANT;
                let square = along * along + across * across;
                sum += libm::exp(-0.5 * self.width * self.width * square);
            }
        }
        sum
    }
}

/// The weights of the Gaussian average on every `step`-th pixel, at distances −k … k. They add up to 1.
#[expect(clippy::cast_possible_truncation, reason = "filters are applied in f32")]
pub(super) fn gaussian(step: usize) -> Vec<f32> {
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let width = width(OCTAVES - 1) / step as f64;
    // Five standard deviations: what is left out is below 10⁻⁶ of the sum.
    #[expect(clippy::cast_sign_loss, reason = "widths are positive")]
    let radius = i32::try_from((5.0 * width).floor() as u32).expect("a few pixels");
    let weights: Vec<f64> = (-radius..=radius)
        .map(|distance| libm::exp(-0.5 * (f64::from(distance) / width).powi(2)))
        .collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| (weight / sum) as f32).collect()
}
