//! The features of an image: its colours are scattered apart, then standardised, then perhaps projected.

use super::projection::Projection;
use super::scattering::{CHANNELS, Scatter, Scattering, Workspace};
use super::standardise::{Standardise, Sums};
use super::synthetic::SyntheticImages;
use crate::{Features, RecordError};
use undertone_core::neural::Shape;
use undertone_simd::run;

/// Computes the features of images of one shape.
pub(super) struct ImageFeatures {
    input: Shape,
    scattering: Scattering,
    standardise: Standardise,
    projection: Option<Projection>,
}

/// Memory for one image after another.
pub(super) struct ImageWorkspace {
    pixels: Vec<f32>,
    scattering: Workspace,
    /// All channels of all colours, if they are projected afterwards.
    channels: Vec<f32>,
    projection: Vec<f32>,
}

impl ImageFeatures {
    /// The features of images of a shape, projected to `dimension` coordinates if there is one.
    pub(super) fn new(input: Shape, dimension: Option<usize>) -> ImageFeatures {
        let scattering = Scattering::new(input.height, input.width);
        let features = input.channels * CHANNELS * scattering.cells();
        let mut sums = Sums::new(features);
        let (mut channels, mut workspace) = (vec![0.0; features], scattering.workspace());
        for image in SyntheticImages::new(input).draw() {
            scatter(&scattering, &image, &mut workspace, &mut channels);
            sums.add(&channels);
        }
        let standardise = Standardise::new(&sums, scattering.cells());
        let projection = dimension.map(|dimension| Projection::new(features, dimension));
        ImageFeatures { input, scattering, standardise, projection }
    }

    /// Memory that [`apply`](Self::apply) needs.
    pub(super) fn workspace(&self) -> ImageWorkspace {
        let features = self.input.channels * CHANNELS * self.scattering.cells();
        ImageWorkspace {
            pixels: vec![0.0; self.input.count()],
            scattering: self.scattering.workspace(),
            channels: if self.projection.is_some() { vec![0.0; features] } else { Vec::new() },
            projection: Vec::new(),
        }
    }

    /// Writes the features of an image, not yet scaled.
    ///
    /// # Errors
    /// When a value is not from 0 to 1.
    pub(super) fn apply(
        &self,
        image: &Features,
        workspace: &mut ImageWorkspace,
        out: &mut [f32],
    ) -> Result<(), RecordError> {
        let ImageWorkspace { pixels, scattering, channels, projection } = workspace;
        pixels.fill(0.0);
        for (place, value) in image.entries() {
            if !value.is_finite() {
                return Err(RecordError::NotFinite);
            }
            if !(0.0..=1.0).contains(&value) {
                return Err(RecordError::Pixel);
            }
            #[expect(clippy::cast_possible_truncation, reason = "pixels are computed in f32")]
            let pixel = value as f32;
            pixels[place] = pixel;
        }
        match &self.projection {
            None => {
                scatter(&self.scattering, pixels, scattering, out);
                self.standardise.apply(out);
            }
            Some(map) => {
                scatter(&self.scattering, pixels, scattering, channels);
                self.standardise.apply(channels);
                map.apply(channels, projection, out);
            }
        }
        Ok(())
    }
}

/// Scatters each colour of an image.
fn scatter(transform: &Scattering, image: &[f32], workspace: &mut Workspace, channels: &mut [f32]) {
    let pixels = transform.pixels();
    let colours =
        image.chunks_exact(pixels).zip(channels.chunks_exact_mut(CHANNELS * transform.cells()));
    for (image, channels) in colours {
        run(Scatter { transform, workspace, image, channels });
    }
}
