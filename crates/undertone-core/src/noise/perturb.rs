//! The entry point: adds noise to every coordinate of a vector, block by block.

use std::marker::PhantomData;
use std::ops::Range;
use std::slice;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use undertone_simd::InstructionSet;
use zeroize::Zeroizing;

use super::entropy::StreamKey;
use super::exact::{GridPosition, SlowPath, Uniform};
use super::gaussian::Gaussian;
use super::grid::Grid;
use super::kernel::{BLOCK, Block, GROUP, LaneConstants, Magnitude};
use super::keystream::{Keystream, Word};
use super::laplace::Laplace;

/// The distribution of the noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseKind {
    /// Density exp(−|x|/ρ)/(2ρ): pure ε from the 1-norm of a change.
    Laplace,
    /// Density proportional to exp(−x²/(2ρ²)): concentrated privacy from its 2-norm.
    Gaussian,
}

/// The public parameters of the noise added to every coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Perturbation {
    /// The distribution of the noise.
    pub kind: NoiseKind,
    /// Its scale ρ: the Laplace scale, or the Gaussian standard deviation.
    pub scale: f64,
    /// Values are clamped to ± this public bound before the noise.
    pub bound: f64,
}

impl Perturbation {
    /// The grid that releases of this perturbation lie on.
    ///
    /// # Errors
    /// [`NoiseError::Scale`] and [`NoiseError::Bound`] when the numbers are outside the range where
    /// the sampler is exact.
    pub fn grid(&self) -> Result<Grid, NoiseError> {
        let grid = Grid::new(self.scale)?;
        if !grid.admits(self.bound) {
            return Err(NoiseError::Bound { bound: self.bound, scale: self.scale });
        }
        Ok(grid)
    }
}

/// Why a vector was not perturbed. Contains public numbers only, never a value.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum NoiseError {
    /// The operating system refused the request or has no generator. The learner must halt.
    #[error("the operating system returned no randomness: {0}")]
    NoEntropy(#[from] getrandom::Error),
    /// The scale is not a number from 2⁻⁴⁰⁰ to 2⁴⁰⁰.
    #[error("noise scale {scale:e} is not between 2^-400 and 2^400")]
    Scale {
        /// The scale given.
        scale: f64,
    },
    /// The bound is not positive, or more than 2⁵¹ grid steps.
    #[error("bound {bound:e} is not above 0 and below 2^51 grid steps at noise scale {scale:e}")]
    Bound {
        /// The bound given.
        bound: f64,
        /// The scale given.
        scale: f64,
    },
    /// A value is infinite or not a number.
    #[error("the value of coordinate {coordinate} is not a finite number")]
    NotFinite {
        /// The first such coordinate.
        coordinate: usize,
    },
}

/// Adds noise to every coordinate, rounds to the grid, and returns the grid.
///
/// Values are clamped to ±`bound` first. The key is consumed: a second vector needs a fresh one.
/// The time depends on the length and, in about three coordinates of 10⁹, on a slow path. To hide
/// it, a caller would have to send results at fixed times.
///
/// # Guarantee
/// With an ideal keystream `out[j]` is k·g, where k is the integer nearest to (θ_j + ρ·X_j)/g,
/// θ_j the clamped value, the X_j independent real variables of the standard distribution, exactly.
/// Values below 2⁻⁶⁰⁰·g count as zero, which can widen the distance of two inputs by 2⁻⁶¹²·ρ a
/// coordinate. |k| < 2⁵³, so that k·g is exact in f64: |θ_j|/g < 2⁵¹, and the noise is below 2⁵¹ steps
/// because a greater one would need a uniform number that starts with 2³⁸ zeros, some 10¹⁰ further
/// words in which every bit is zero. Nothing is written to `out` on an error. Buffers that held
/// randomness or values are erased; registers and the slow path's intermediate integers are not.
///
/// # Errors
/// [`NoiseError`] for a scale or bound out of range, or a value that is not finite.
///
/// # Panics
/// When `out` and `values` differ in length.
///
/// ```
/// use undertone_core::noise::{Entropy, Perturbation, NoiseKind, OsEntropy, perturb};
/// use undertone_core::{LearnerId, Round};
///
/// let perturbation = Perturbation { kind: NoiseKind::Laplace, scale: 0.5, bound: 10.0 };
/// let key = OsEntropy.key(LearnerId(0), Round(1))?;
/// let mut released = [0.0; 3];
/// let grid = perturb(&perturbation, &[0.25, -1.0, 3.0], key, &mut released)?;
/// for value in released {
///     assert_eq!((value / grid.step()).fract(), 0.0);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn perturb(
    perturbation: &Perturbation,
    values: &[f64],
    key: StreamKey,
    out: &mut [f64],
) -> Result<Grid, NoiseError> {
    let grid = perturbation.grid()?;
    assert_eq!(values.len(), out.len(), "values and output must have the same length");
    check_finite(values)?;
    let constants = LaneConstants::new(&grid, perturbation);
    let mut sampler = Sampler::new(constants, key, InstructionSet::best());
    match perturbation.kind {
        NoiseKind::Laplace => sampler.release::<Laplace>(values, out),
        NoiseKind::Gaussian => sampler.release::<Gaussian>(values, out),
    }
    Ok(grid)
}

/// Refuses infinities and NaN. Reads all values in the same time; searches for the coordinate only to report it.
fn check_finite(values: &[f64]) -> Result<(), NoiseError> {
    // Adding 1 to the exponent carries into the top bit exactly when the exponent is all ones.
    let carry = |value: &f64| (value.to_bits() & (u64::MAX >> 1)).wrapping_add(1 << 52);
    if values.iter().fold(0, |all, value| all | carry(value)) >> 63 == 0 {
        return Ok(());
    }
    let coordinate = values.iter().position(|value| !value.is_finite()).unwrap_or(values.len());
    Err(NoiseError::NotFinite { coordinate })
}

/// A key's stream and the words of one block.
///
/// The keystream is laid out by blocks: the first words of all lanes, then the second words, then
/// the words that the slow lanes of the block drew. The last block has as many lanes as are needed, rounded
/// up to whole groups.
pub(super) struct Sampler {
    constants: LaneConstants,
    stream: Keystream,
    instruction_set: InstructionSet,
    words: [[Word; GROUP]; 2 * BLOCK / GROUP],
    groups_used: usize,
    slow_lanes: u64,
}

impl Sampler {
    pub(super) fn new(
        constants: LaneConstants,
        key: StreamKey,
        instruction_set: InstructionSet,
    ) -> Sampler {
        Sampler {
            constants,
            stream: Keystream::new(key),
            instruction_set,
            words: [[[0; 8]; GROUP]; 2 * BLOCK / GROUP],
            groups_used: 0,
            slow_lanes: 0,
        }
    }

    /// Writes the releases of finite values to `out`.
    pub(super) fn release<D: Magnitude + SlowPath>(&mut self, values: &[f64], out: &mut [f64]) {
        for (values, out) in values.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
            self.block::<D>(values, out);
        }
    }

    /// The number of coordinates that took the slow path so far.
    #[cfg(test)]
    pub(super) fn slow_lanes(&self) -> u64 {
        self.slow_lanes
    }

    fn block<D: Magnitude + SlowPath>(&mut self, values: &[f64], out: &mut [f64]) {
        let groups = values.len().div_ceil(GROUP);
        self.groups_used = self.groups_used.max(groups);
        self.stream.fill(self.words[..2 * groups].as_flattened_mut());
        let (high, low) = self.words[..2 * groups].split_at(groups);
        let (whole_values, last_values) = values.as_chunks();
        let (whole_out, last_out) = out.as_chunks_mut();
        let whole = whole_values.len();
        let run = |groups: Range<usize>, values: &[_], out: &mut [_]| {
            let (high, low) = (&high[groups.clone()], &low[groups]);
            let (constants, magnitude) = (&self.constants, PhantomData::<D>);
            self.instruction_set.run(Block { constants, high, low, values, out, magnitude })
        };
        let mut is_doubtful = run(0..whole, whole_values, whole_out);
        if !last_values.is_empty() {
            let mut padded = Zeroizing::new([[0.0; GROUP]; 2]);
            let [padded_values, points] = &mut *padded;
            padded_values[..last_values.len()].copy_from_slice(last_values);
            is_doubtful |=
                run(whole..groups, slice::from_ref(padded_values), slice::from_mut(points));
            last_out.copy_from_slice(&points[..last_out.len()]);
        }
        if is_doubtful {
            self.redo_doubtful_lanes::<D>(values, out, groups);
        }
    }

    #[cold]
    #[inline(never)]
    fn redo_doubtful_lanes<D: Magnitude + SlowPath>(
        &mut self,
        values: &[f64],
        out: &mut [f64],
        groups: usize,
    ) {
        for (lane, (&value, point)) in values.iter().zip(out).enumerate() {
            let words = self.words.as_flattened();
            let high = u64::from_le_bytes(words[lane]);
            let low = u64::from_le_bytes(words[groups * GROUP + lane]);
            let (_, is_doubtful) = self.constants.lane::<D>(high, low, value);
            if is_doubtful {
                let (index, rest) = self.constants.split(value);
                let position = GridPosition { ratio: self.constants.ratio(), rest };
                let stream = &mut self.stream;
                let noise = D::round(Uniform::new(high, low), high & 1 == 1, position, || {
                    stream.next_word()
                });
                *point = self.constants.point(index + noise as f64);
                self.slow_lanes += 1;
            }
        }
    }
}

impl Drop for Sampler {
    /// Erases only the part of the buffer that was used: short vectors use little of it.
    fn drop(&mut self) {
        self.words[..2 * self.groups_used].as_flattened_mut().as_flattened_mut().fill(0);
        zeroize::optimization_barrier(&self.words);
    }
}
