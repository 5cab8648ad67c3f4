//! The layer `residuals`: a perturbed secret minus the secret, divided by the claimed scale, is
//! noise of scale 1.
//!
//! | check | test | alpha | smallest error seen at n = 10⁶ |
//! |---|---|---|---|
//! | scale | mean of \|x\| (Laplace) or x² (Gaussian), cube root transform | 10⁻⁶ | 0.8 % (0.6 % Gaussian) |
//! | shape | Kolmogorov-Smirnov, bound of Dvoretzky, Kiefer, Wolfowitz and Massart | 10⁻⁶ | a distance of 0.004; 2 % of scale at even odds |
//! | signs | share of positive residuals | 10⁻⁶ | 0.4 % |
//! | coordinates | as `scale`, for each coordinate, Bonferroni | 10⁻⁶ | 9 % in one of 112 coordinates |
//! | bare | residuals below half a grid step, for each coordinate, Poisson, Bonferroni | 10⁻⁶ | ten bare values of one of 112 coordinates in 9600 rounds |
//! | zeros | the same over all coordinates, both sides | 10⁻⁶ | twice as many as there should be |
//! | grid | every value sent is a multiple of the public grid step | exact | one value |
//! | rounds, adjacent, trials | product of ranks at distances in rounds, coordinates and runs, Bonferroni | 10⁻⁶ | a correlation of 0.9 % |
//! | learners | the same between a learner and its neighbour, in the same round | 10⁻⁶ | a correlation of 1.4 % |
//! | public | what a shielded learner sent follows from perturbed gradients and messages | exact | one value |
//! | repeat | asked twice for one round, the same bytes | exact | one bit |

use super::Effort;
use super::audited_learner::Facts;
use super::collect::{Collection, collect};
use super::correlations::{Family, Sum};
use super::intervals::{ALPHA, critical};
use super::replay::Make;
use super::report::{Check, Layer, Verdict};
use super::subject::Subject;
use statrs::distribution::{ContinuousCDF, DiscreteCDF, Normal, Poisson};
use undertone::ReleaseError;
use undertone::noise::NoiseKind;

/// The largest distance in rounds that is tested.
const LAGS_MAX: usize = 64;

/// Residuals, with the distribution they should have.
struct Residuals {
    kind: NoiseKind,
    dimension: usize,
    found: Collection,
}

/// Runs the learner and tests its noise.
///
/// # Errors
/// When a release fails.
pub(super) fn audit<S: Subject>(
    facts: &Facts,
    make: Make<'_, S>,
    effort: &Effort,
) -> Result<Vec<Check>, ReleaseError> {
    let found = collect(facts, make, effort)?;
    if found.values.is_empty() {
        let note = "no round perturbed anything: nothing was tested".into();
        return Ok(vec![row("scale", 1.0, f64::NAN, Verdict::Dead, note)]);
    }
    let (kind, dimension) = (facts.mechanism.noise.kind, facts.dimension());
    let residuals = Residuals { kind, dimension, found };
    let mut checks = vec![
        residuals.scale(),
        residuals.shape(),
        residuals.signs(),
        residuals.coordinates(),
        residuals.bare(),
        residuals.zeros(),
    ];
    let found = &residuals.found;
    checks.push(count_check("grid", found.off_grid, "values off the public grid"));
    checks.extend(residuals.correlations());
    checks.push(count_check("repeat", found.answered_twice, "rounds with two answers"));
    if let Some((off, tolerance)) = found.sent_off {
        let note = "distance of what was sent from what follows from perturbed gradients".into();
        checks.push(row("public", tolerance, off, Verdict::of(off <= tolerance), note));
    }
    Ok(checks)
}

impl Residuals {
    /// |x|, or x²/2 for Gaussian noise: a gamma variable of shape 1, or ½.
    fn size(&self, x: f64) -> f64 {
        match self.kind {
            NoiseKind::Laplace => x.abs(),
            NoiseKind::Gaussian => 0.5 * x * x,
        }
    }

    /// The score of a sum of sizes, which is approximately standard normal (Wilson and Hilferty,
    /// 1931).
    fn score(&self, sum: f64, count: usize) -> f64 {
        let shape = count as f64 * if self.kind == NoiseKind::Laplace { 1.0 } else { 0.5 };
        ((sum / shape).cbrt() - 1.0 + 1.0 / (9.0 * shape)) * 3.0 * shape.sqrt()
    }

    /// The scale estimated from a sum of sizes.
    fn scale_of(&self, sum: f64, count: usize) -> f64 {
        match self.kind {
            NoiseKind::Laplace => sum / count as f64,
            NoiseKind::Gaussian => (2.0 * sum / count as f64).sqrt(),
        }
    }

    fn below(&self, x: f64) -> f64 {
        match self.kind {
            NoiseKind::Laplace if x < 0.0 => 0.5 * x.exp(),
            NoiseKind::Laplace => 1.0 - 0.5 * (-x).exp(),
            NoiseKind::Gaussian => Normal::standard().cdf(x),
        }
    }

    fn scale(&self) -> Check {
        let sum: f64 = self.found.values.iter().map(|&x| self.size(x)).sum();
        let count = self.found.values.len();
        let (score, limit) = (self.score(sum, count), critical(ALPHA));
        let measured = self.scale_of(sum, count);
        let note =
            format!("noise over its claimed scale; z = {score:.2}, limit {limit:.2}, n = {count}");
        row("scale", 1.0, measured, Verdict::of(score.abs() <= limit), note)
    }

    fn shape(&self) -> Check {
        let mut sorted = self.found.values.clone();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len() as f64;
        let distance = sorted.iter().enumerate().fold(0.0_f64, |worst, (rank, &x)| {
            let (below, rank) = (self.below(x), rank as f64);
            let here = (below - rank / count).abs().max((below - (rank + 1.0) / count).abs());
            if worst >= here { worst } else { here }
        });
        // Values lie on a grid with at least 4096 steps to the scale, which moves ranks by half a
        // step.
        let limit = ((2.0 / ALPHA).ln() / (2.0 * count)).sqrt() + 0.5 / 8192.0;
        let note = "Kolmogorov-Smirnov distance, largest allowed on the left".into();
        row("shape", limit, distance, Verdict::of(distance <= limit), note)
    }

    fn signs(&self) -> Check {
        let count = self.found.values.len() as f64;
        let positive = self.found.values.iter().filter(|&&x| x > 0.0).count() as f64;
        // Exact zeros may count as either sign.
        let zero = self.found.values.iter().filter(|&&x| x.abs() <= 0.0).count() as f64;
        let share = (positive + 0.5 * zero) / count;
        let score = (share - 0.5) * 2.0 * count.sqrt();
        let note = format!("share of positive noise; z = {score:.2}");
        row("signs", 0.5, share, Verdict::of(score.abs() <= critical(ALPHA)), note)
    }

    fn coordinates(&self) -> Check {
        let rounds = self.found.values.len() / self.dimension;
        let mut sums = vec![0.0; self.dimension];
        for round in self.found.values.chunks(self.dimension) {
            for (sum, &x) in sums.iter_mut().zip(round) {
                *sum += self.size(x);
            }
        }
        let limit = critical(ALPHA / self.dimension as f64);
        let (mut worst, mut index) = (0.0_f64, 0);
        for (coordinate, &sum) in sums.iter().enumerate() {
            let score = self.score(sum, rounds).abs();
            if !(score <= worst) {
                (worst, index) = (score, coordinate);
            }
        }
        let note = format!(
            "scale of the worst coordinate ({index} of 0 to {}); |z| = {worst:.2}, limit {limit:.2}, {rounds} samples each",
            self.dimension - 1
        );
        let measured = self.scale_of(sums[index], rounds);
        row("coordinates", 1.0, measured, Verdict::of(worst <= limit), note)
    }

    /// How many residuals of one coordinate should fall into the cell at zero.
    fn tiny_expected(&self) -> f64 {
        let density = match self.kind {
            NoiseKind::Laplace => 0.5,
            NoiseKind::Gaussian => 0.398_942_280_401_432_7,
        };
        density * self.found.cells
    }

    fn bare(&self) -> Check {
        let expected = self.tiny_expected();
        let level = ALPHA / self.dimension as f64;
        let limit = most(expected, level);
        let worst = self.found.tiny.iter().enumerate().max_by_key(|&(_, count)| *count);
        let (index, &count) = worst.unwrap_or((0, &0));
        let note = format!(
            "values sent without noise in one coordinate (worst: {index}), of {} rounds, largest allowed on the left",
            self.found.values.len() / self.dimension
        );
        row("bare", limit, count as f64, Verdict::of(count as f64 <= limit), note)
    }

    fn zeros(&self) -> Check {
        let expected = self.tiny_expected() * self.dimension as f64;
        let count: u64 = self.found.tiny.iter().sum();
        let holds = match Poisson::new(expected) {
            Ok(poisson) => {
                poisson.cdf(count) > 0.5 * ALPHA
                    && (count == 0 || poisson.sf(count - 1) > 0.5 * ALPHA)
            }
            Err(_) => false,
        };
        let note = "residuals within half a grid step of zero, expected on the left".into();
        row("zeros", expected, count as f64, Verdict::of(holds), note)
    }

    fn correlations(&self) -> Vec<Check> {
        let ranks: Vec<f64> = self.found.values.iter().map(|&x| self.below(x) - 0.5).collect();
        let longest = self.found.runs.iter().copied().max().unwrap_or(0);
        let mut rounds = Family::default();
        for lag in 1..longest.min(LAGS_MAX + 1) {
            let mut start = 0;
            let mut sum = Sum::default();
            for &run in &self.found.runs {
                let end = start + run * self.dimension;
                if lag < run {
                    let shift = lag * self.dimension;
                    sum.add(&ranks[start..end - shift], &ranks[start + shift..end]);
                }
                start = end;
            }
            rounds.include(&sum, lag);
        }
        let mut coordinates = Family::default();
        for lag in [1, 2, 3, 4, 7, 8, 16, 32, 64, 128, 256, 512] {
            if lag < self.dimension {
                let mut sum = Sum::default();
                for round in ranks.chunks(self.dimension) {
                    sum.add(&round[..self.dimension - lag], &round[lag..]);
                }
                coordinates.include(&sum, lag);
            }
        }
        vec![
            rounds.check("rounds", "rounds apart"),
            coordinates.check("adjacent", "coordinates apart"),
            self.trials(&ranks).check("trials", "run apart, same round"),
            self.learners(&ranks).check("learners", "learner apart, same round"),
        ]
    }

    /// Each run against the next.
    fn trials(&self, ranks: &[f64]) -> Family {
        let mut trials = Family::default();
        let mut sum = Sum::default();
        let mut start = 0;
        for pair in self.found.runs.windows(2) {
            let next = start + pair[0] * self.dimension;
            let length = pair[0].min(pair[1]) * self.dimension;
            let end = (next + length).min(ranks.len());
            sum.add(&ranks[start..start + (end - next)], &ranks[next..end]);
            start = next;
        }
        if sum.count > 0 {
            trials.include(&sum, 1);
        }
        trials
    }

    /// The first runs against those of the neighbour with the same source of keys.
    fn learners(&self, ranks: &[f64]) -> Family {
        let mut learners = Family::default();
        let mut sum = Sum::default();
        let theirs: Vec<f64> = self.found.neighbour.iter().map(|&x| self.below(x) - 0.5).collect();
        let both = ranks.len().min(theirs.len());
        sum.add(&ranks[..both], &theirs[..both]);
        if sum.count > 0 {
            learners.include(&sum, 1);
        }
        learners
    }
}

/// The largest count of a Poisson variable that is not beyond `level`.
fn most(expected: f64, level: f64) -> f64 {
    let Ok(poisson) = Poisson::new(expected) else { return f64::NAN };
    let mut count = 0;
    while poisson.sf(count) > level {
        count += 1;
    }
    count as f64
}

fn count_check(name: &'static str, count: u64, what: &str) -> Check {
    row(name, 0.0, count as f64, Verdict::of(count == 0), what.into())
}

fn row(name: &'static str, claimed: f64, measured: f64, verdict: Verdict, note: String) -> Check {
    Check { layer: Layer::Residuals, name, claimed, measured, verdict, note }
}
