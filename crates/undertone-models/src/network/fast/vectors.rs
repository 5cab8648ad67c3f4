//! Sums over vectors.

use super::arithmetic::{Arithmetic, LANES};
use crate::network::ClipNorm;

/// The inner product of vectors padded to whole lanes with zeros.
#[inline(always)]
pub(super) fn dot<A: Arithmetic>(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [[0.0_f32; LANES]; 4];
    let (left_fours, left) = left.as_chunks::<{ 4 * LANES }>();
    let (right_fours, right) = right.as_chunks::<{ 4 * LANES }>();
    for (left, right) in left_fours.iter().zip(right_fours) {
        for part in 0..4 {
            for lane in 0..LANES {
                let place = part * LANES + lane;
                sums[part][lane] = A::multiply_add(left[place], right[place], sums[part][lane]);
            }
        }
    }
    let [mut total, second, third, fourth] = sums;
    for (left, right) in left.as_chunks::<LANES>().0.iter().zip(right.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            total[lane] = A::multiply_add(left[lane], right[lane], total[lane]);
        }
    }
    for lane in 0..LANES {
        total[lane] += second[lane] + (third[lane] + fourth[lane]);
    }
    total.iter().sum()
}

/// Adds `factor` times a vector to another, both padded to whole lanes.
#[inline(always)]
pub(super) fn add_scaled<A: Arithmetic>(factor: f32, from: &[f32], to: &mut [f32]) {
    let vectors = from.as_chunks::<LANES>().0.iter();
    for (from, to) in vectors.zip(to.as_chunks_mut::<LANES>().0) {
        for lane in 0..LANES {
            to[lane] = A::multiply_add(factor, from[lane], to[lane]);
        }
    }
}

/// Σ|x| or Σx², in f64 so that no rounding of f32 can hide length.
#[inline(always)]
pub(super) fn size(norm: ClipNorm, vector: &[f32]) -> f64 {
    match norm {
        ClipNorm::L1 => sum_of(vector, f64::abs),
        ClipNorm::L2 => sum_of(vector, |x| x * x),
    }
}

#[inline(always)]
fn sum_of(vector: &[f32], term: impl Fn(f64) -> f64) -> f64 {
    let mut sums = [[0.0_f64; LANES]; 2];
    let (pairs, rest) = vector.as_chunks::<{ 2 * LANES }>();
    for pair in pairs {
        for half in 0..2 {
            for lane in 0..LANES {
                sums[half][lane] += term(f64::from(pair[half * LANES + lane]));
            }
        }
    }
    let rest: f64 = rest.iter().map(|&x| term(f64::from(x))).sum();
    sums.as_flattened().iter().sum::<f64>() + rest
}
