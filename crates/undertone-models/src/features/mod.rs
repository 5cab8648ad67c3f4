//! Fixed public transforms of the features of one record.
//!
//! What a transform returns depends on that record and on constants that everybody knows, so it costs no privacy: a record in
//! becomes a record out, and replacing one replaces one. All learners of a network use the same transform, which their
//! agreement names ([`FeatureTransform`]).
//!
//! | transform | of | what it gives |
//! |---|---|---|
//! | scattering | images | averages of moduli of wavelet coefficients, standardised by synthetic images; perhaps projected |
//! | fourier | tables | cosines and sines of random projections |
//!
//! The result has norm 1 and is kept in 16 bits a number. Both hold before any bound is checked.
//!
//! Read next: `scattering` for what is computed, `docs/features.md` for what it is worth.

mod fft;
mod fourier;
mod image;
mod projection;
mod scattering;
mod standardise;
mod synthetic;
#[cfg(test)]
mod tests;
mod wavelets;

use crate::record_bounds::check_shape;
use crate::vector::{LANES, sum_lanes};
use crate::{Features, RecordError, SetupError};
use fourier::Fourier;
use image::{ImageFeatures, ImageWorkspace};
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};
use undertone_core::FeatureTransform;
use undertone_simd::Half;

/// Transforms the features of one record after another, in any number of threads.
///
/// ```
/// use undertone_core::{FeatureTransform, neural::Shape};
/// use undertone_models::{Features, features::FeatureMap};
///
/// let input = Shape { channels: 1, height: 8, width: 8 };
/// let map = FeatureMap::new(FeatureTransform::Scattering { input, dimension: None })?;
/// let image = Features::Dense((0..64).map(|k| f64::from(k % 8) / 8.0).collect());
/// let features = map.apply(&image)?;
/// assert_eq!(features.dimension(), 81 * 2 * 2);
/// assert!(features.norm() <= 1.0 && features.norm() > 0.99);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FeatureMap {
    transform: FeatureTransform,
    /// Filters, constants and frequencies: computed when the first record arrives.
    constants: OnceLock<Constants>,
    /// One for each thread that works at the same time.
    workspaces: Mutex<Vec<Workspace>>,
}

enum Constants {
    Scattering(Box<ImageFeatures>),
    Fourier(Fourier),
}

/// Memory for one record after another.
#[derive(Default)]
struct Workspace {
    image: Option<ImageWorkspace>,
    /// The features before they are scaled.
    values: Vec<f32>,
}

impl FeatureMap {
    /// The map of a transform.
    ///
    /// # Errors
    /// When there is no such transform.
    pub fn new(transform: FeatureTransform) -> Result<FeatureMap, SetupError> {
        transform.check()?;
        let (constants, workspaces) = (OnceLock::new(), Mutex::new(Vec::new()));
        Ok(FeatureMap { transform, constants, workspaces })
    }

    /// The transform.
    #[must_use]
    pub fn transform(&self) -> FeatureTransform {
        self.transform
    }

    /// The transformed features of a record.
    ///
    /// # Guarantee
    /// They depend on `features` and on the transform alone. Their norm as computed by [`Features::norm`] is at most
    /// [`FeatureTransform::NORM`]. Equal features give equal bits, whatever the processor.
    ///
    /// # Errors
    /// When the record has other features than the transform takes, or one that is not finite. For images also when a value
    /// is below 0 or above 1.
    pub fn apply(&self, features: &Features) -> Result<Features, RecordError> {
        check_shape(features, self.transform.inputs())?;
        let mut workspace = self.lock().pop().unwrap_or_default();
        let result = self.apply_in(features, &mut workspace);
        self.lock().push(workspace);
        result
    }

    fn apply_in(
        &self,
        features: &Features,
        workspace: &mut Workspace,
    ) -> Result<Features, RecordError> {
        let Workspace { image, values } = workspace;
        values.resize(self.transform.outputs(), 0.0);
        match self.constants.get_or_init(|| Constants::new(&self.transform)) {
            Constants::Scattering(map) => {
                map.apply(features, image.get_or_insert_with(|| map.workspace()), values)?;
            }
            Constants::Fourier(map) => map.apply(features, values)?,
        }
        Ok(Features::Compact(scaled_to_one(values)))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Workspace>> {
        // What a workspace holds is overwritten before it is read.
        self.workspaces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Constants {
    fn new(transform: &FeatureTransform) -> Constants {
        match *transform {
            FeatureTransform::Scattering { input, dimension } => {
                Constants::Scattering(Box::new(ImageFeatures::new(input, dimension)))
            }
            FeatureTransform::Fourier { inputs, gamma, dimension } => {
                Constants::Fourier(Fourier::new(inputs, gamma, dimension))
            }
        }
    }
}

/// Values scaled to norm 1 and rounded towards zero, so that the norm is never above 1. Zeros stay.
fn scaled_to_one(values: &[f32]) -> Box<[Half]> {
    /// More than all roundings of the scaling.
    const MARGIN: f64 = 1.0 / 1_048_576.0;
    let mut sums = [0.0; LANES];
    let (blocks, rest) = values.as_chunks::<LANES>();
    for block in blocks {
        for (sum, &value) in sums.iter_mut().zip(block) {
            *sum += f64::from(value) * f64::from(value);
        }
    }
    for (sum, &value) in sums.iter_mut().zip(rest) {
        *sum += f64::from(value) * f64::from(value);
    }
    let norm = sum_lanes(sums).sqrt();
    if !(norm > 0.0) {
        return vec![Half::ZERO; values.len()].into();
    }
    let factor = FeatureTransform::NORM * (1.0 - MARGIN) / norm;
    #[expect(clippy::cast_possible_truncation, reason = "the margin makes up for it")]
    let scaled = values.iter().map(|&value| (f64::from(value) * factor) as f32);
    scaled.map(Half::towards_zero).collect()
}

/// Shows the transform, which is public.
impl fmt::Debug for FeatureMap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "FeatureMap({:?})", self.transform)
    }
}
