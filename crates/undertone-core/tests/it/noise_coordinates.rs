//! Every coordinate gets noise of its own, first and last included.

use undertone_core::noise::NoiseKind;

use crate::release;

const KINDS: [NoiseKind; 2] = [NoiseKind::Laplace, NoiseKind::Gaussian];
const LENGTHS: [usize; 18] =
    [1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 112, 255, 256, 257, 271, 511, 513, 1_000];
const ROUNDS: u64 = 64;

/// The first coordinate whose noise over the rounds does not look like noise of scale 1.
///
/// Per coordinate: at most 3 exact zeros of 64 (chance of one about 10⁻⁴), both signs seen (chance
/// of not 2⁻⁶³), mean size within 0.7 of the scale's (five standard deviations).
fn coordinate_without_noise(rounds: &[Vec<f64>], mean_size: f64) -> Option<usize> {
    let length = rounds[0].len();
    (0..length).find(|&coordinate| {
        let noise = || rounds.iter().map(|round| round[coordinate]);
        let zeros = noise().filter(|x| x.abs() < f64::MIN_POSITIVE).count();
        let positive = noise().filter(|&x| x > 0.0).count();
        let size = noise().map(f64::abs).sum::<f64>() / rounds.len() as f64;
        zeros > 3
            || positive == 0
            || positive + zeros == rounds.len()
            || !((size - mean_size).abs() < 0.7)
    })
}

fn rounds(kind: NoiseKind, length: usize) -> Vec<Vec<f64>> {
    (0..ROUNDS).map(|round| release(kind, &vec![0.0; length], 0, round)).collect()
}

fn mean_size(kind: NoiseKind) -> f64 {
    match kind {
        NoiseKind::Laplace => 1.0,
        NoiseKind::Gaussian => (2.0 / std::f64::consts::PI).sqrt(),
    }
}

#[test]
fn every_coordinate_gets_noise_at_every_length() {
    for kind in KINDS {
        for length in LENGTHS {
            let bare = coordinate_without_noise(&rounds(kind, length), mean_size(kind));
            assert_eq!(bare, None, "{kind:?} at length {length}");
        }
    }
}

#[test]
fn a_bare_first_or_last_coordinate_is_seen() {
    for length in LENGTHS {
        for bare in [0, length - 1] {
            let mut rounds = rounds(NoiseKind::Laplace, length);
            rounds.iter_mut().for_each(|round| round[bare] = 0.0);
            assert_eq!(coordinate_without_noise(&rounds, 1.0), Some(bare));
        }
    }
}

#[test]
fn exact_zeros_are_as_rare_as_the_grid_says() {
    // R = 4096, P(k = 0) = 1 − exp(−1/8192): 122 expected of a million; six standard deviations.
    let noise = release(NoiseKind::Laplace, &vec![0.0; 1_000_000], 0, 0);
    let zeros = noise.iter().filter(|x| x.abs() < f64::MIN_POSITIVE).count();
    assert!((56..=188).contains(&zeros), "{zeros} zeros");
}

/// The correlation of two noise vectors, times √n: about standard normal when independent.
fn correlation_score(left: &[f64], right: &[f64]) -> f64 {
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let spread = (product(left, left) * product(right, right)).sqrt();
    product(left, right) / spread * (left.len() as f64).sqrt()
}

#[test]
fn noise_is_uncorrelated_across_rounds_learners_and_neighbours() {
    for kind in KINDS {
        let draw = |learner, round| release(kind, &[0.0; 10_000], learner, round);
        let first = draw(0, 0);
        let others = [draw(0, 1), draw(0, 2), draw(1, 0), draw(2, 0), draw(1, 1)];
        for (number, other) in others.iter().enumerate() {
            let score = correlation_score(&first, other);
            assert!(score.abs() < 5.0, "{kind:?}, vector {number}: {score}");
        }
        for lag in [1, 2, 8, 16, 128, 256, 512] {
            let score = correlation_score(&first[lag..], &first[..first.len() - lag]);
            assert!(score.abs() < 5.0, "{kind:?}, lag {lag}: {score}");
        }
    }
}

#[test]
fn a_key_used_twice_is_seen() {
    let score = correlation_score(
        &release(NoiseKind::Laplace, &[0.0; 10_000], 3, 4),
        &release(NoiseKind::Laplace, &[0.0; 10_000], 3, 4),
    );
    assert!(score > 50.0);
}
