//! Clipping of each record's gradient.

use crate::SetupError;
use std::fmt;
use undertone_core::neural::CLIP_RANGE;

/// The norm in which a record's gradient is clipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClipNorm {
    /// The sum of absolute values, for Laplace noise.
    L1,
    /// The Euclidean norm, for Gaussian noise.
    L2,
}

/// A bound on the norm of each record's gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clip {
    norm: ClipNorm,
    bound: f64,
}

impl Clip {
    /// The smallest bound allowed: far above the values where f32 loses digits.
    pub const LEAST: f64 = *CLIP_RANGE.start();
    /// The largest bound allowed: sums of records stay far below the values where f32 overflows.
    pub const MOST: f64 = *CLIP_RANGE.end();

    /// The largest relative increase of the sensitivity 2·bound of a clipped sum by rounding.
    ///
    /// # Guarantee
    /// Two batches of equal size that differ in one record, at the same place, have sums that differ by at
    /// most 2·bound·(1 + `ROUNDING`) in the clipping norm, on the same machine, however many threads run.
    ///
    /// A record's norm is computed in f64, and its weight is reduced by a further 10⁻⁶, which exceeds all
    /// rounding of norm, weight and product (less than 4 · 2⁻²⁴): every record adds a vector of norm at most
    /// the bound. Sixteen records are added up in f32: partial sums have norms of at most bound, 2·bound, …,
    /// 16·bound, each is rounded by 2⁻²⁴ of itself twice over (once where products and sums are fused), so
    /// a sum errs by at most 136 · 2⁻²³ · bound = 1.7 · 10⁻⁵ · bound. Only the sixteen records that hold the
    /// differing one can be rounded differently. From there on sums are f64, in the order of the records;
    /// after groups of 64, partial sums have norms of at most 64·bound, 128·bound, …, each rounded by 2⁻⁵³ of
    /// itself, which for n records is n²/128 · 2⁻⁵³ · bound: below 10⁻⁶ · bound for n up to [`Clip::RECORDS_MAX`].
    pub const ROUNDING: f64 = undertone_core::LossConstants::NEURAL_ROUNDING;

    /// The most records in one clipped sum: with more, [`Clip::ROUNDING`] would not cover all rounding.
    pub const RECORDS_MAX: usize = 1 << 20;

    /// A bound in a norm.
    ///
    /// # Errors
    /// When the bound is not a number from [`Clip::LEAST`] to [`Clip::MOST`].
    pub fn new(norm: ClipNorm, bound: f64) -> Result<Clip, SetupError> {
        if CLIP_RANGE.contains(&bound) {
            Ok(Clip { norm, bound })
        } else {
            Err(SetupError::ClipBound { bound })
        }
    }

    /// The norm.
    #[must_use]
    pub fn norm(&self) -> ClipNorm {
        self.norm
    }

    /// The bound.
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// The weight of a record whose gradient has this norm: 0 when the norm is not finite, or so large that
    /// f32 cannot hold the weight to full precision.
    pub(crate) fn weight(&self, norm: f64) -> f32 {
        let above = norm * (1.0 + 1e-6);
        if !above.is_finite() {
            return 0.0;
        }
        if above <= self.bound {
            return 1.0;
        }
        #[expect(clippy::cast_possible_truncation, reason = "rounding is within the margin")]
        let weight = (self.bound / above) as f32;
        if weight >= f32::MIN_POSITIVE { weight } else { 0.0 }
    }
}

/// A sum of clipped gradients.
///
/// **Private**: all of it depends on the records, the counts too. Noise must be added before any of it is published.
#[derive(Clone, PartialEq)]
pub struct ClippedSum {
    /// Σ min(1, bound/‖g‖)·g over the records, in the order of the flat parameters.
    pub sum: Vec<f64>,
    /// The number of records that were clipped.
    pub clipped: usize,
    /// The number of records that counted as zero, because their features or gradient were not finite, or an
    /// intermediate value was above 2⁶⁴.
    pub dropped: usize,
}

/// Shows the size only: gradients are private.
impl fmt::Debug for ClippedSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClippedSum(dim={}, <redacted>)", self.sum.len())
    }
}
