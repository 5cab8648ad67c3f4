//! The grid of every release: the multiples of a power of two.

use super::NoiseError;

/// The grid is this many bits finer than the scale.
const BITS: i32 = 12;

/// The smallest and largest scale are 2^∓400, far inside the range of f64, so that no step of the
/// sampler overflows or underflows.
const SCALE_EXPONENT_MAX: i32 = 400;

/// The multiples of g = 2^e, e = floor(log2 ρ) − 12, to which a release with noise scale ρ is
/// rounded.
///
/// Rounding after the noise is post-processing and costs no privacy; the grid only has to be public,
/// so it follows from ρ alone. It is fine enough to cost no utility: rounding adds g²/12 to a
/// variance of at least 2²⁴·g².
///
/// ```
/// let grid = undertone_core::noise::Grid::new(0.75)?;
/// assert_eq!(grid.step(), 2f64.powi(-13));
/// # Ok::<(), undertone_core::noise::NoiseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    exponent: i32,
    step: f64,
    inverse_step: f64,
    ratio: f64,
}

impl Grid {
    /// The grid for noise of the given scale (Laplace scale or Gaussian standard deviation).
    ///
    /// # Errors
    /// [`NoiseError::Scale`] unless 2⁻⁴⁰⁰ ≤ `scale` ≤ 2⁴⁰⁰.
    pub fn new(scale: f64) -> Result<Grid, NoiseError> {
        Grid::with_bits(scale, BITS)
    }

    /// The grid `bits` bits finer than the scale; tests use coarse grids, where every point is sampled.
    pub(super) fn with_bits(scale: f64, bits: i32) -> Result<Grid, NoiseError> {
        assert!((4..=24).contains(&bits), "the error bounds hold for 4 to 24 bits");
        let (least, greatest) =
            (power_of_two(-SCALE_EXPONENT_MAX), power_of_two(SCALE_EXPONENT_MAX));
        if !(scale >= least && scale <= greatest) {
            return Err(NoiseError::Scale { scale });
        }
        let scale_exponent = biased_exponent(scale) - 1023;
        let exponent = scale_exponent - bits;
        let inverse_step = power_of_two(-exponent);
        // Exact: only the exponent changes.
        let ratio = scale * inverse_step;
        Ok(Grid { exponent, step: power_of_two(exponent), inverse_step, ratio })
    }

    /// e, where the grid step is 2^e.
    pub(super) fn exponent(&self) -> i32 {
        self.exponent
    }

    /// g = 2^e, the distance between adjacent grid points.
    #[must_use]
    pub fn step(&self) -> f64 {
        self.step
    }

    /// 1/g, exactly.
    pub(super) fn inverse_step(&self) -> f64 {
        self.inverse_step
    }

    /// R = ρ/g, exactly; 2¹² ≤ R < 2¹³.
    pub(super) fn ratio(&self) -> f64 {
        self.ratio
    }

    /// Whether values of absolute value up to `bound` can be released on this grid: `bound`/g < 2⁵¹.
    ///
    /// Below that a value's grid index is computed without rounding error, and the index plus the noise stays below 2⁵³,
    /// where every integer is an f64.
    pub(super) fn admits(&self, bound: f64) -> bool {
        bound > 0.0 && bound < self.step * power_of_two(51)
    }
}

/// The exponent field of a positive f64.
fn biased_exponent(value: f64) -> i32 {
    i32::try_from(value.to_bits() >> 52).expect("a positive f64 has at most 11 bits there")
}

/// 2^exponent for the exponents of normal numbers, without a call to the system's `pow`.
pub(super) fn power_of_two(exponent: i32) -> f64 {
    assert!((-1022..=1023).contains(&exponent), "2^{exponent} is not a normal f64");
    let biased = u64::try_from(exponent + 1023).expect("not negative in this range");
    f64::from_bits(biased << 52)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn grid_refuses_scales_that_are_not_positive_numbers_in_range() {
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300, 1e300, 5e-324] {
            assert!(Grid::new(scale).is_err(), "{scale} was accepted");
        }
        for scale in [power_of_two(-400), power_of_two(400), 1.0] {
            assert!(Grid::new(scale).is_ok(), "{scale} was refused");
        }
    }

    #[test]
    fn grid_refuses_bounds_it_cannot_index_exactly() {
        let grid = Grid::new(1.0).unwrap();
        let least_refused = power_of_two(51 - 12);
        assert!(grid.admits(least_refused.next_down()));
        for bound in [least_refused, 0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(!grid.admits(bound), "{bound} was accepted");
        }
    }

    proptest! {
        #[test]
        fn ratio_times_step_is_the_scale_exactly(fraction in 1.0..2.0_f64, exponent in -400..400) {
            let scale = fraction * power_of_two(exponent);
            let grid = Grid::new(scale).unwrap();
            prop_assert_eq!((grid.ratio() * grid.step()).to_bits(), scale.to_bits());
            prop_assert!((4096.0..8192.0).contains(&grid.ratio()));
            prop_assert_eq!(grid.exponent(), exponent - 12);
        }
    }
}
