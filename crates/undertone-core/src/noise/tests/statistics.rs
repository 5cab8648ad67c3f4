//! The distribution of what is released, against exact cell probabilities.
//!
//! Level 10⁻⁶ with fixed keys; every control must fail at 10⁻⁹ or better.

use statrs::distribution::{ChiSquared, ContinuousCDF, DiscreteCDF, Normal, Poisson};

use super::super::exact::{GridPosition, SlowPath, Uniform};
use super::super::gaussian::Gaussian;
use super::super::kernel::Magnitude;
use super::super::laplace::Laplace;
use super::{Setting, words};

const LEVEL: f64 = 1e-6;
const REJECTED: f64 = 1e-9;

/// A standard symmetric distribution, computed by textbook formulas.
trait Reference: Magnitude + SlowPath {
    /// P(X > x) for x ≥ 0.
    fn tail(x: f64) -> f64;
    /// Mean and standard deviation of |X|.
    const SIZE: (f64, f64);

    fn below(x: f64) -> f64 {
        if x < 0.0 { Self::tail(-x) } else { 1.0 - Self::tail(x) }
    }

    /// P(low < X < high), without cancellation in the tails.
    fn between(low: f64, high: f64) -> f64 {
        if low >= 0.0 {
            Self::tail(low) - Self::tail(high)
        } else if high <= 0.0 {
            Self::tail(-high) - Self::tail(-low)
        } else {
            1.0 - Self::tail(-low) - Self::tail(high)
        }
    }
}

impl Reference for Laplace {
    const SIZE: (f64, f64) = (1.0, 1.0);
    fn tail(x: f64) -> f64 {
        0.5 * (-x).exp()
    }
}

impl Reference for Gaussian {
    const SIZE: (f64, f64) = (0.797_884_560_802_865_4, 0.602_810_275_009_013_3);
    fn tail(x: f64) -> f64 {
        Normal::standard().sf(x)
    }
}

/// The p-value of Pearson's test; cells with less than 20 expected are joined to the next.
fn chi_square(observed: &[u64], probability: &[f64], count: u64) -> f64 {
    let (mut statistic, mut cells) = (0.0, 0);
    let (mut seen, mut expected) = (0.0, 0.0);
    for (&observed, probability) in observed.iter().zip(probability) {
        seen += observed as f64;
        expected += probability * count as f64;
        if expected >= 20.0 {
            statistic += (seen - expected) * (seen - expected) / expected;
            cells += 1;
            (seen, expected) = (0.0, 0.0);
        }
    }
    ChiSquared::new(f64::from(cells - 1)).unwrap().sf(statistic)
}

/// A test of cells: `sampled` is what θ the sampler gets (in steps), `claimed` what the cells assume.
struct Cells {
    bits: i32,
    sampled: f64,
    claimed: f64,
    label: u64,
}

/// The p-value of `count` releases against the exact probability of every grid point.
fn cells_p_value<D: Reference>(cells: &Cells, count: usize) -> f64 {
    const CHUNK: usize = 1 << 16;
    let mut setting = Setting::new(cells.bits, 0);
    let grid = setting.grid();
    let reach = (grid.ratio() * 30.0) as i64;
    let mut observed = vec![0; 2 * reach as usize + 1];
    let values = vec![cells.sampled * grid.step(); CHUNK];
    let chunks = count.div_ceil(CHUNK);
    for chunk in 0..chunks {
        setting.label = cells.label * 1_000_000 + chunk as u64;
        for point in setting.draw::<D>(&values).0 {
            let index = point / grid.step();
            assert!(index.fract().abs() < f64::MIN_POSITIVE, "off the grid");
            observed[(index as i64 + reach) as usize] += 1;
        }
    }
    let end = |index: i64, half: f64| (index as f64 + half - cells.claimed) / grid.ratio();
    let probability: Vec<f64> =
        (-reach..=reach).map(|index| D::between(end(index, -0.5), end(index, 0.5))).collect();
    chi_square(&observed, &probability, (chunks * CHUNK) as u64)
}

fn check_cells<D: Reference>(count: usize) {
    let cases = [(4, 0.0), (4, 0.3), (5, -0.5), (6, 7.77), (8, 0.123), (10, -40.4)];
    for (label, (bits, theta)) in (1..).zip(cases) {
        let p = cells_p_value::<D>(&Cells { bits, sampled: theta, claimed: theta, label }, count);
        assert!(p > LEVEL, "{bits} bits, value {theta} steps: p = {p:e}");
    }
}

#[test]
fn laplace_releases_have_the_exact_cell_probabilities() {
    check_cells::<Laplace>(3_000_000);
}

#[test]
fn gaussian_releases_have_the_exact_cell_probabilities() {
    check_cells::<Gaussian>(3_000_000);
}

#[test]
#[ignore = "long: 1.2 billion samples of each kind"]
fn long_cell_probabilities() {
    check_cells::<Laplace>(200_000_000);
    check_cells::<Gaussian>(200_000_000);
}

#[test]
fn chi_square_sees_rounding_before_the_noise() {
    // The bug: θ = 0.49 steps is rounded to 0 first.
    let cells = Cells { bits: 4, sampled: 0.0, claimed: 0.49, label: 2 };
    assert!(cells_p_value::<Laplace>(&cells, 3_000_000) < REJECTED);
    assert!(cells_p_value::<Gaussian>(&cells, 3_000_000) < REJECTED);
}

#[test]
fn chi_square_sees_truncation_instead_of_rounding() {
    let cells = Cells { bits: 4, sampled: 0.0, claimed: 0.5, label: 3 };
    assert!(cells_p_value::<Laplace>(&cells, 3_000_000) < REJECTED);
}

/// Sorted standardised noise on the real grid, drawn at `factor` times the claimed scale.
fn standardised<D: Reference>(factor: f64, label: u64) -> Vec<f64> {
    let mut setting = Setting::new(12, label);
    let claimed = setting.scale;
    setting.scale *= factor;
    let (mut noise, _) = setting.draw::<D>(&vec![0.0; 200_000]);
    noise.iter_mut().for_each(|x| *x /= claimed);
    noise.sort_by(f64::total_cmp);
    noise
}

/// Kolmogorov and Smirnov's D·√n.
fn ks(sorted: &[f64], below: impl Fn(f64) -> f64) -> f64 {
    let count = sorted.len() as f64;
    let distance = |(rank, &x): (usize, &f64)| {
        let rank = rank as f64;
        (below(x) - rank / count).abs().max((below(x) - (rank + 1.0) / count).abs())
    };
    sorted.iter().enumerate().map(distance).fold(0.0, f64::max) * count.sqrt()
}

/// √(ln(2/α)/2): D·√n exceeds this with probability α.
fn ks_critical(level: f64) -> f64 {
    ((2.0 / level).ln() / 2.0).sqrt()
}

/// The z-score of the mean of |X|.
fn mean_size_score<D: Reference>(noise: &[f64]) -> f64 {
    let count = noise.len() as f64;
    let mean = noise.iter().map(|x| x.abs()).sum::<f64>() / count;
    (mean - D::SIZE.0) / (D::SIZE.1 / count.sqrt())
}

fn check_scale<D: Reference>(label: u64) {
    let noise = standardised::<D>(1.0, label);
    assert!(ks(&noise, D::below) < ks_critical(LEVEL));
    assert!(mean_size_score::<D>(&noise).abs() < 4.9);
    // Controls: the mean sees 2 %, in both directions; KS sees 5 %.
    assert!(mean_size_score::<D>(&standardised::<D>(1.02, label)) > 6.1);
    assert!(mean_size_score::<D>(&standardised::<D>(0.98, label)) < -6.1);
    assert!(ks(&standardised::<D>(1.05, label), D::below) > ks_critical(LEVEL));
}

#[test]
fn laplace_scale_is_right_to_two_percent() {
    check_scale::<Laplace>(51);
}

#[test]
fn gaussian_scale_is_right_to_two_percent() {
    check_scale::<Gaussian>(52);
}

/// The smallest p-value of the counts of |X| ≥ j, j = 1 … 17, each two-sided Poisson. (A rounded
/// value is at least j when the noise is at least j − 1/(2R), which shifts a count by a ten
/// thousandth; the counts see that only from 10⁸ on, so it is allowed for.)
fn tail_counts_p_value(count: usize, factor: f64, label: u64) -> f64 {
    const CHUNK: usize = 1 << 16;
    let mut counts = [0_u64; 18];
    let mut setting = Setting::new(12, 0);
    let claimed = setting.scale;
    setting.scale *= factor;
    let grid = setting.grid();
    let chunks = count.div_ceil(CHUNK);
    for chunk in 0..chunks {
        setting.label = label * 1_000_000 + chunk as u64;
        for x in setting.draw::<Laplace>(&[0.0; CHUNK]).0 {
            counts[((x / claimed).abs() as usize).min(17)] += 1;
        }
    }
    let mut least = 1.0_f64;
    let mut beyond = 0;
    for size in (1..18).rev() {
        beyond += counts[size];
        // The first grid point at or beyond `size` scales begins half a step before itself.
        let first = (size as f64 * claimed / grid.step()).ceil() - 0.5;
        let expected = (chunks * CHUNK) as f64 * (-first * grid.step() / claimed).exp();
        let poisson = Poisson::new(expected).unwrap();
        let p = if beyond as f64 > expected { poisson.sf(beyond - 1) } else { poisson.cdf(beyond) };
        least = least.min(2.0 * p);
    }
    least
}

#[test]
fn laplace_tails_are_filled_as_they_should() {
    let p = tail_counts_p_value(10_000_000, 1.0, 53);
    assert!(p > LEVEL, "p = {p:e}");
    assert!(tail_counts_p_value(200_000, 1.05, 53) < REJECTED, "5 % wrong scale unseen");
}

#[test]
#[ignore = "long: a billion samples"]
fn long_tail_counts() {
    let p = tail_counts_p_value(1_000_000_000, 1.0, 54);
    assert!(p > LEVEL, "p = {p:e}");
}

/// Noise given that U < 2^−depth, by the fast path or, where that declines, the slow one.
fn conditioned<D: Magnitude + SlowPath>(depth: u32, count: usize, label: u64) -> Vec<f64> {
    let (setting, mut next) = (Setting::new(12, 0), words(label));
    let (constants, grid) = (setting.constants(), setting.grid());
    let mut sizes: Vec<f64> = (0..count)
        .map(|_| {
            let (word, low) = (next(), next());
            let high = (word >> depth) & !1;
            let (point, is_doubtful) = constants.lane::<D>(high, low, 0.0);
            if !is_doubtful {
                return point / setting.scale;
            }
            let position = GridPosition { ratio: grid.ratio(), rest: 0.0 };
            D::round(Uniform::new(high, low), false, position, &mut next) as f64 / grid.ratio()
        })
        .collect();
    sizes.sort_by(f64::total_cmp);
    sizes
}

#[test]
fn noise_far_in_the_tail_keeps_its_distribution() {
    for depth in [10, 30, 48] {
        let start = f64::from(depth) * std::f64::consts::LN_2;
        let sizes = conditioned::<Laplace>(depth, 20_000, 60 + u64::from(depth));
        assert!(ks(&sizes, |x| 1.0 - (start - x).exp()) < ks_critical(LEVEL), "2^-{depth}");
        // Control: a tail that starts a tenth of a scale too late.
        assert!(ks(&sizes, |x| 1.0 - (start + 0.1 - x).exp()) > ks_critical(REJECTED));
    }
    for depth in [10, 34] {
        let sizes = conditioned::<Gaussian>(depth, 4_000, 60 + u64::from(depth));
        let probability = 0.5_f64.powi(depth.try_into().unwrap());
        let below = |x: f64| 1.0 - 2.0 * Gaussian::tail(x) / probability;
        assert!(ks(&sizes, below) < ks_critical(LEVEL), "2^-{depth}");
        assert!(ks(&sizes, |x| below(x + 0.1)) > ks_critical(REJECTED));
    }
}
