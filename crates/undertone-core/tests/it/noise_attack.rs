//! The published attacks on f64 noise: they break the textbook sampler and not ours.
//!
//! I. Mironov, On significance of the least significant bits for differential privacy, CCS 2012;
//! S. Haney and others, Precision-based attacks and interval refining, 2022.

use std::collections::BTreeSet;

use undertone_core::PublicRandom;
use undertone_core::noise::NoiseKind;

use crate::release;

/// The textbook sampler on a public generator. NOT PRIVATE: the thing to be broken.
struct Textbook(PublicRandom);

impl Textbook {
    fn release(&mut self, value: f64) -> f64 {
        let uniform = self.0.unit() - 0.5;
        textbook_sum(value, uniform)
    }
}

fn textbook_sum(value: f64, uniform: f64) -> f64 {
    value - uniform.signum() * (1.0 - 2.0 * uniform.abs()).ln()
}

/// Whether the textbook sampler could have released `y` from `value`: tries every uniform near the
/// one that real arithmetic would need.
fn textbook_can_release(y: f64, value: f64) -> bool {
    let noise = y - value;
    let lattice = 2.0_f64.powi(-52);
    let survival = (-noise.abs()).exp();
    let reach = survival * (y.abs() + value.abs() + noise.abs()) * 4.0 * f64::EPSILON / lattice;
    let reach = (reach.ceil() as i64).min(4_000) + 4;
    let centre = (survival / lattice).round();
    (-reach..=reach).any(|step| {
        let survival = (centre + step as f64) * lattice;
        let uniform = (1.0 - survival) / 2.0 * noise.signum();
        survival > 0.0 && survival <= 1.0 && textbook_sum(value, uniform).to_bits() == y.to_bits()
    })
}

#[test]
fn support_attack_breaks_the_textbook_sampler() {
    let mut sampler = Textbook(PublicRandom::new(7));
    let (mut own, mut other) = (0, 0);
    for _ in 0..5_000 {
        let y = sampler.release(0.0);
        own += u32::from(!textbook_can_release(y, 0.0));
        other += u32::from(!textbook_can_release(y, 1.0));
    }
    assert_eq!(own, 0, "the attack must never rule out the truth");
    assert!(other > 2_500, "only {other} of 5000 releases ruled out the other input");
}

/// The grid indices, by value, that at least `least` of the releases hit.
fn support(kind: NoiseKind, value: f64, learner: u32) -> BTreeSet<i64> {
    let step = 2.0_f64.powi(-12);
    let indices = release(kind, &vec![value; 400_000], learner, 0).into_iter().map(|y| {
        let index = y / step;
        assert!(index.fract().abs() < f64::MIN_POSITIVE, "{y} is off the grid");
        index as i64
    });
    indices.collect()
}

#[test]
fn support_attack_learns_nothing_from_ours() {
    // Values that f64 represents very differently. From each of them the points between 0.2 and 0.3
    // are hit about 400 000·f(x)·2⁻¹² ≥ 30 times each: all of them must be possible from all values.
    let wanted: BTreeSet<i64> = (819..1_229).collect();
    for kind in [NoiseKind::Laplace, NoiseKind::Gaussian] {
        for (learner, value) in (0..).zip([0.0, 0.4, 1.0 / 3.0, -1e-310, 1e-17, 0.1 + 1e-12]) {
            let missing = wanted.difference(&support(kind, value, learner)).count();
            assert_eq!(missing, 0, "{kind:?}: {missing} points impossible from {value:e}");
        }
    }
}

/// How many of the releases are not multiples of 2⁻⁵³.
fn fine_releases(releases: impl Iterator<Item = f64>) -> usize {
    let scaled = releases.map(|y| y * 2.0_f64.powi(53));
    scaled.filter(|y| y.fract().abs() >= f64::MIN_POSITIVE).count()
}

#[test]
fn precision_attack_breaks_the_textbook_sampler() {
    let mut sampler = Textbook(PublicRandom::new(8));
    let mut count = |value| fine_releases((0..200_000).map(|_| sampler.release(value)));
    // Small sums have finer last places, which θ = 1 makes rarer than ε = 1 allows.
    let (at_zero, at_one) = (count(0.0), count(1.0));
    assert!(at_zero as f64 > 1.0_f64.exp() * 1.2 * at_one as f64, "{at_zero} against {at_one}");
}

#[test]
fn precision_attack_learns_nothing_from_ours() {
    for kind in [NoiseKind::Laplace, NoiseKind::Gaussian] {
        for value in [0.0, 1.0, 1e-3, 1e-310] {
            let released = release(kind, &vec![value; 100_000], 9, 9);
            assert_eq!(fine_releases(released.into_iter()), 0);
        }
    }
}

/// The greatest excess, in standard errors, of ln(count/count') over ε, over cells of 64 points.
fn ratio_excess(left: &[f64], right: &[f64], epsilon: f64) -> f64 {
    let count = |released: &[f64]| {
        let mut counts = vec![0.0_f64; 1_025];
        for y in released {
            let cell = (y * 64.0).floor() as i64 + 512;
            counts[cell.clamp(0, 1_024) as usize] += 1.0;
        }
        counts
    };
    let pairs = count(left).into_iter().zip(count(right));
    pairs
        .filter(|(left, right)| left + right >= 200.0)
        .map(|(left, right)| {
            let error = (1.0 / left.max(1.0) + 1.0 / right.max(1.0)).sqrt();
            ((left.max(1.0) / right.max(1.0)).ln().abs() - epsilon) / error
        })
        .fold(f64::MIN, f64::max)
}

#[test]
fn likelihood_ratio_stays_within_epsilon() {
    let left = release(NoiseKind::Laplace, &vec![0.0; 1_000_000], 20, 0);
    let right = release(NoiseKind::Laplace, &vec![0.5; 1_000_000], 21, 0);
    let excess = ratio_excess(&left, &right, 0.5);
    assert!(excess < 5.0, "ratio above epsilon by {excess} standard errors");
    // Control: the same releases against a claim of half that.
    assert!(ratio_excess(&left, &right, 0.25) > 6.0);
}
