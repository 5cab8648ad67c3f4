//! Fixed public transforms of a record's features. What they compute is in the crate `undertone-models`.

use crate::neural::Shape;
use std::fmt;
use thiserror::Error;

/// What is computed from the features of a record before anything else sees them.
///
/// The result depends on this record alone and on public constants, so it costs no privacy. Its norm is at most 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FeatureTransform {
    /// Wavelet scattering of an image: 81 channels of a quarter of its sides, for each of its colours.
    Scattering {
        /// The shape of an image. Height and width are multiples of four.
        input: Shape,
        /// The number of features after a random projection; `None` projects nothing.
        dimension: Option<usize>,
    },
    /// Random Fourier features: inner products of two of them are close to exp(−γ‖x − y‖²) of the records.
    Fourier {
        /// The number of features of a record.
        inputs: usize,
        /// γ.
        gamma: f64,
        /// The number of features afterwards, an even number.
        dimension: usize,
    },
}

/// Why there is no such transform.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum FeatureTransformError {
    /// A side of the image is not a multiple of four.
    #[error("height and width must be multiples of 4")]
    Sides,
    /// There would be no features, or too many.
    #[error("there must be 1 to {limit} features before and after the transform")]
    Size {
        /// The largest number.
        limit: usize,
    },
    /// A projection to more features than there are.
    #[error("must be at most {limit}, the number of features before the projection")]
    Projection {
        /// How many there are.
        limit: usize,
    },
    /// Cosines and sines come in pairs.
    #[error("must be an even number")]
    Odd,
    /// γ is not a positive number.
    #[error("gamma must be above 0 and finite")]
    Gamma,
    /// The random frequencies would not fit into memory.
    #[error("features before times features after must be at most {limit}")]
    Frequencies {
        /// The largest product.
        limit: usize,
    },
}

impl FeatureTransform {
    /// Enters the id of a network. Raised when what a transform computes changes: learners of two versions must not meet.
    pub const VERSION: u64 = 1;

    /// The largest number of features before or after.
    pub const SIZE_MAX: usize = 1 << 22;

    /// The largest product of both for Fourier features, whose frequencies take four bytes for each.
    pub const FREQUENCIES_MAX: usize = 1 << 27;

    /// Channels of the scattering transform of one colour: 1 + 2 · 8 + 8 · 8.
    pub const SCATTERING_CHANNELS: usize = 81;

    /// The bound on the norm of what a transform returns.
    pub const NORM: f64 = 1.0;

    /// The number of features of a record.
    #[must_use]
    pub fn inputs(&self) -> usize {
        match self {
            FeatureTransform::Scattering { input, .. } => input.count(),
            FeatureTransform::Fourier { inputs, .. } => *inputs,
        }
    }

    /// The number of features that a model sees; `usize::MAX` on overflow, which a checked transform excludes.
    #[must_use]
    pub fn outputs(&self) -> usize {
        match self {
            FeatureTransform::Scattering { dimension: Some(dimension), .. }
            | FeatureTransform::Fourier { dimension, .. } => *dimension,
            FeatureTransform::Scattering { input, dimension: None } => {
                FeatureTransform::scattered(*input)
            }
        }
    }

    /// The number of features of a scattering transform before a projection.
    #[must_use]
    pub fn scattered(input: Shape) -> usize {
        let Shape { channels, height, width } = input;
        let cells = (height / 4).checked_mul(width / 4);
        cells
            .and_then(|cells| cells.checked_mul(channels))
            .and_then(|values| values.checked_mul(FeatureTransform::SCATTERING_CHANNELS))
            .unwrap_or(usize::MAX)
    }

    /// The word for it in a config.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            FeatureTransform::Scattering { .. } => "scattering",
            FeatureTransform::Fourier { .. } => "fourier",
        }
    }

    /// Checks that there is such a transform.
    ///
    /// # Errors
    /// Why there is none.
    pub fn check(&self) -> Result<(), FeatureTransformError> {
        let sizes = 1..=FeatureTransform::SIZE_MAX;
        let limit = FeatureTransform::SIZE_MAX;
        match *self {
            FeatureTransform::Scattering { input, dimension } => {
                if input.height % 4 != 0 || input.width % 4 != 0 {
                    return Err(FeatureTransformError::Sides);
                }
                let scattered = FeatureTransform::scattered(input);
                if !sizes.contains(&input.count()) || !sizes.contains(&scattered) {
                    return Err(FeatureTransformError::Size { limit });
                }
                match dimension {
                    Some(dimension) if !(1..=scattered).contains(&dimension) => {
                        Err(FeatureTransformError::Projection { limit: scattered })
                    }
                    Some(_) | None => Ok(()),
                }
            }
            FeatureTransform::Fourier { inputs, gamma, dimension } => {
                if !sizes.contains(&inputs) || !sizes.contains(&dimension) {
                    return Err(FeatureTransformError::Size { limit });
                }
                if dimension % 2 != 0 {
                    return Err(FeatureTransformError::Odd);
                }
                if !(gamma > 0.0 && gamma.is_finite()) {
                    return Err(FeatureTransformError::Gamma);
                }
                let limit = FeatureTransform::FREQUENCIES_MAX;
                if inputs.saturating_mul(dimension / 2) > limit {
                    return Err(FeatureTransformError::Frequencies { limit });
                }
                Ok(())
            }
        }
    }
}

/// As it stands in the file of a published model: whoever predicts with that model must transform in the same way.
impl fmt::Display for FeatureTransform {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, version) = (self.name(), FeatureTransform::VERSION);
        write!(formatter, "{name} {version}: ")?;
        match self {
            FeatureTransform::Scattering { input, dimension: None } => {
                write!(formatter, "input {input}")
            }
            FeatureTransform::Scattering { input, dimension: Some(dimension) } => {
                write!(formatter, "input {input}, dimension {dimension}")
            }
            FeatureTransform::Fourier { inputs, gamma, dimension } => {
                write!(formatter, "raw_features {inputs}, gamma {gamma}, dimension {dimension}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scattering(channels: usize, height: usize, width: usize) -> FeatureTransform {
        FeatureTransform::Scattering { input: Shape { channels, height, width }, dimension: None }
    }

    fn fourier(inputs: usize, gamma: f64, dimension: usize) -> FeatureTransform {
        FeatureTransform::Fourier { inputs, gamma, dimension }
    }

    #[test]
    fn numbers_of_features_follow_from_the_shape_or_the_dimension() {
        let mnist = scattering(1, 28, 28);
        assert_eq!((mnist.inputs(), mnist.outputs()), (784, 3969));
        assert_eq!(scattering(3, 32, 32).outputs(), 15_552);
        let input = Shape { channels: 1, height: 28, width: 28 };
        let projected = FeatureTransform::Scattering { input, dimension: Some(400) };
        assert_eq!((projected.inputs(), projected.outputs()), (784, 400));
        assert_eq!((fourier(54, 0.1, 300).inputs(), fourier(54, 0.1, 300).outputs()), (54, 300));
    }

    #[test]
    fn what_cannot_be_computed_is_refused() {
        use FeatureTransformError as Error;
        let limit = FeatureTransform::SIZE_MAX;
        let input = Shape { channels: 1, height: 8, width: 4 };
        let projected =
            |d| FeatureTransform::Scattering { input, dimension: Some(d) }.check().err();
        let cases = [
            (scattering(1, 28, 28).check().err(), None),
            (scattering(7, 4, 64).check().err(), None),
            (scattering(1, 28, 30).check().err(), Some(Error::Sides)),
            (scattering(1, 0, 4).check().err(), Some(Error::Size { limit })),
            (scattering(0, 4, 4).check().err(), Some(Error::Size { limit })),
            (scattering(3, 4096, 4096).check().err(), Some(Error::Size { limit })),
            (scattering(usize::MAX, 4, 4).check().err(), Some(Error::Size { limit })),
            (projected(162), None),
            (projected(163), Some(Error::Projection { limit: 162 })),
            (projected(0), Some(Error::Projection { limit: 162 })),
            (fourier(3, 0.1, 4).check().err(), None),
            (fourier(3, 0.1, 5).check().err(), Some(Error::Odd)),
            (fourier(0, 0.1, 4).check().err(), Some(Error::Size { limit })),
            (fourier(3, 0.1, 0).check().err(), Some(Error::Size { limit })),
            (fourier(3, f64::NAN, 4).check().err(), Some(Error::Gamma)),
            (fourier(3, 0.0, 4).check().err(), Some(Error::Gamma)),
            (
                fourier(1 << 20, 1.0, 1 << 20).check().err(),
                Some(Error::Frequencies { limit: FeatureTransform::FREQUENCIES_MAX }),
            ),
        ];
        for (place, (found, expected)) in cases.into_iter().enumerate() {
            assert_eq!(found, expected, "case {place}");
        }
    }
}
