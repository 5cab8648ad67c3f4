//! Inner products, scaled additions and norms of f32 vectors.

use super::LANES;
use crate::neural::ClipNorm;
use undertone_simd::{F32Vector, Simd, Vector};

/// The inner product of vectors padded to whole lanes with zeros.
#[inline(always)]
pub(super) fn dot<S: Simd>(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [S::F32x8::splat(0.0); 4];
    let (left_fours, left) = left.as_chunks::<LANES>().0.as_chunks::<4>();
    let (right_fours, right) = right.as_chunks::<LANES>().0.as_chunks::<4>();
    for (left, right) in left_fours.iter().zip(right_fours) {
        for part in 0..4 {
            sums[part] =
                S::F32x8::load(&left[part]).multiply_add(S::F32x8::load(&right[part]), sums[part]);
        }
    }
    for (left, right) in left.iter().zip(right) {
        sums[0] = S::F32x8::load(left).multiply_add(S::F32x8::load(right), sums[0]);
    }
    let mut parts = [[0.0; LANES]; 4];
    for part in 0..4 {
        sums[part].store(&mut parts[part]);
    }
    let mut total = [0.0; LANES];
    for lane in 0..LANES {
        total[lane] = (parts[0][lane] + parts[1][lane]) + (parts[2][lane] + parts[3][lane]);
    }
    let halves: [f32; 4] = std::array::from_fn(|lane| total[lane] + total[lane + 4]);
    (halves[0] + halves[1]) + (halves[2] + halves[3])
}

/// Adds `factor` times a vector to the start of another, both padded to whole lanes.
#[inline(always)]
pub(super) fn add_scaled<S: Simd>(factor: f32, from: &[f32], to: &mut [f32]) {
    let (to, to_rest) = to[..from.len()].as_chunks_mut();
    let (from, from_rest) = from.as_chunks();
    let block = S::F32x16::splat(factor);
    for (from, to) in from.iter().zip(to) {
        block.multiply_add(S::F32x16::load(from), S::F32x16::load(to)).store(to);
    }
    if let (Some(from), Some(to)) = (from_rest.first_chunk(), to_rest.first_chunk_mut()) {
        S::F32x8::splat(factor).multiply_add(S::F32x8::load(from), S::F32x8::load(to)).store(to);
    }
}

/// Σ|x| or Σx², in f64 so that the rounding of f32 cannot make it too small.
#[inline(always)]
pub(super) fn norm_sum(norm: ClipNorm, vector: &[f32]) -> f64 {
    match norm {
        ClipNorm::L1 => sum_of(vector, f64::abs),
        ClipNorm::L2 => sum_of(vector, |x| x * x),
    }
}

#[inline(always)]
fn sum_of(vector: &[f32], term: impl Fn(f64) -> f64) -> f64 {
    // Enough independent sums that none waits for its previous addition.
    let mut sums = [0.0_f64; 4 * LANES];
    let (parts, rest) = vector.as_chunks::<{ 4 * LANES }>();
    for part in parts {
        for lane in 0..4 * LANES {
            sums[lane] += term(f64::from(part[lane]));
        }
    }
    let rest: f64 = rest.iter().map(|&x| term(f64::from(x))).sum();
    sums.iter().sum::<f64>() + rest
}
