//! The minimax odd polynomial for ½tanh(z/2) = σ(z) − ½ on [−R, R], with an error bound.

use std::f64::consts::PI;

/// Grid points of the search for extreme errors.
const EXCHANGE_GRID: u32 = 2_000;
/// Grid points of the error bound.
const PROOF_GRID: u32 = 20_000;
/// |σ''| is at most 1/(6√3).
const LINK_SECOND_DERIVATIVE_MAX: f64 = crate::scalar_loss::LOGISTIC_THIRD_DERIVATIVE_MAX;

/// An odd polynomial p(z) = c₁z + c₃z³ + c₅z⁵ that approximates σ(z) − ½.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LinkFit {
    /// c₁, c₃, …: one coefficient for every odd power.
    pub(crate) coefficients: Vec<f64>,
    /// sup of |σ(z) − ½ − p(z)| over [−R, R], rounded up.
    pub(crate) error_max: f64,
}

impl LinkFit {
    /// The minimax fit with `terms` odd powers, by Remez exchange.
    ///
    /// # Guarantee
    /// `error_max` bounds the error for every |z| ≤ `range`, whether or not the exchange converged: on each cell
    /// of a grid of width δ it is the larger end plus δ²/8·sup|f''|.
    pub(crate) fn new(terms: usize, range: f64) -> LinkFit {
        // Reference points as fractions of the range: extremes of the Chebyshev polynomial.
        #[expect(clippy::cast_precision_loss, reason = "at most three terms")]
        let mut reference: Vec<f64> =
            (0..=terms).map(|k| ((terms - k) as f64 * PI / (2 * terms + 1) as f64).cos()).collect();
        let mut best = scaled_fit(&reference, range);
        for _ in 0..30 {
            let Some(next) = exchange(&best, terms, range) else { break };
            reference = next;
            let fit = scaled_fit(&reference, range);
            if largest_error(&fit, range, EXCHANGE_GRID)
                > largest_error(&best, range, EXCHANGE_GRID)
            {
                break;
            }
            best = fit;
        }
        let coefficients: Vec<f64> = (1_i32..)
            .step_by(2)
            .zip(&best)
            .map(|(power, coefficient)| coefficient / range.powi(power))
            .collect();
        let error_max = proven_error(&best, range);
        // On a very large range the grid bound is worse than |σ(z) − ½| ≤ ½.
        if !(error_max <= 0.5) {
            return LinkFit { coefficients: vec![0.0; terms], error_max: 0.5 };
        }
        LinkFit { coefficients, error_max }
    }
}

/// σ(z) − ½, accurate near zero.
fn link(z: f64) -> f64 {
    0.5 * (0.5 * z).tanh()
}

/// The odd polynomial in the fraction z/R.
fn odd_polynomial(scaled: &[f64], fraction: f64) -> f64 {
    let square = fraction * fraction;
    scaled.iter().rev().fold(0.0, |sum, coefficient| sum * square + coefficient) * fraction
}

fn error_at(scaled: &[f64], fraction: f64, range: f64) -> f64 {
    link(fraction * range) - odd_polynomial(scaled, fraction)
}

fn largest_error(scaled: &[f64], range: f64, grid: u32) -> f64 {
    let error = |k| error_at(scaled, f64::from(k) / f64::from(grid), range).abs();
    (1..=grid).map(error).fold(0.0, f64::max)
}

fn proven_error(scaled: &[f64], range: f64) -> f64 {
    // In the fraction x = z/R: |f''| ≤ R²·sup|σ''| + Σ k(k−1)|c_k|.
    let mut second = range * range * LINK_SECOND_DERIVATIVE_MAX;
    for (power, coefficient) in (1_u32..).step_by(2).zip(scaled) {
        second += f64::from(power * (power - 1)) * coefficient.abs();
    }
    let cell = 1.0 / f64::from(PROOF_GRID);
    let rounding = 16.0 * f64::EPSILON * (1.0 + scaled.iter().map(|c| c.abs()).sum::<f64>());
    largest_error(scaled, range, PROOF_GRID) + cell * cell / 8.0 * second + rounding
}

/// Solves p(x_k) + (−1)^k E = link(x_k) at the reference points and returns the coefficients.
fn scaled_fit(reference: &[f64], range: f64) -> Vec<f64> {
    let size = reference.len();
    let mut matrix: Vec<Vec<f64>> = Vec::with_capacity(size);
    for (k, &x) in reference.iter().enumerate() {
        let mut row: Vec<f64> = (1_i32..).step_by(2).take(size - 1).map(|p| x.powi(p)).collect();
        row.push(if k % 2 == 0 { 1.0 } else { -1.0 });
        row.push(link(x * range));
        matrix.push(row);
    }
    for column in 0..size {
        let pivot = (column..size)
            .max_by(|&a, &b| matrix[a][column].abs().total_cmp(&matrix[b][column].abs()))
            .unwrap_or(column);
        matrix.swap(column, pivot);
        let pivot_row = matrix[column].clone();
        for (k, row) in matrix.iter_mut().enumerate() {
            if k != column {
                let factor = row[column] / pivot_row[column];
                for (slot, value) in row.iter_mut().zip(&pivot_row) {
                    *slot -= factor * value;
                }
            }
        }
    }
    (0..size - 1).map(|k| matrix[k][size] / matrix[k][k]).collect()
}

/// The point of the largest error in each run of one sign; `None` unless there are terms + 1 runs.
fn exchange(scaled: &[f64], terms: usize, range: f64) -> Option<Vec<f64>> {
    let mut extremes: Vec<(f64, f64)> = Vec::new();
    for k in 1..=EXCHANGE_GRID {
        let fraction = f64::from(k) / f64::from(EXCHANGE_GRID);
        let error = error_at(scaled, fraction, range);
        match extremes.last_mut() {
            Some(last) if last.1 * error > 0.0 => {
                if error.abs() > last.1.abs() {
                    *last = (fraction, error);
                }
            }
            _ => extremes.push((fraction, error)),
        }
    }
    (extremes.len() == terms + 1).then(|| extremes.into_iter().map(|(x, _)| x).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_alternate_and_are_all_equally_large() {
        for (terms, range) in [(1, 2.0), (1, 4.0), (2, 4.0), (3, 4.0), (3, 10.0), (2, 30.0)] {
            let fit = LinkFit::new(terms, range);
            let scaled: Vec<f64> = (1_i32..)
                .step_by(2)
                .zip(&fit.coefficients)
                .map(|(p, c)| c * range.powi(p))
                .collect();
            let reference = exchange(&scaled, terms, range).unwrap();
            for x in reference {
                let error = error_at(&scaled, x, range).abs();
                assert!(error > 0.999 * fit.error_max, "equioscillation: {terms} {range}");
                assert!(error <= fit.error_max);
            }
        }
    }

    /// The project's design notes quote 2.8e-2 and 0.108, from the first term of the link's
    /// Chebyshev series.
    #[test]
    fn the_fit_beats_the_truncated_chebyshev_series() {
        for (range, series, minimax) in [(2.0, 0.028_36, 0.027_31), (4.0, 0.108_43, 0.099_56)] {
            let fit = LinkFit::new(1, range);
            assert!((fit.error_max - minimax).abs() < 1e-5);
            let nodes = 4_000;
            let mut first = 0.0;
            for k in 0..nodes {
                let cosine = (PI * (f64::from(k) + 0.5) / f64::from(nodes)).cos();
                first += 2.0 / f64::from(nodes) * link(range * cosine) * cosine;
            }
            assert!((largest_error(&[first], range, 4_000) - series).abs() < 1e-5);
        }
    }

    #[test]
    fn a_range_too_large_for_the_grid_still_has_a_true_bound() {
        assert!(LinkFit::new(3, 1e7).error_max <= 0.5);
    }

    #[test]
    fn more_terms_and_smaller_ranges_fit_better() {
        let error = |terms, range| LinkFit::new(terms, range).error_max;
        assert!(error(2, 4.0) < error(1, 4.0) && error(3, 4.0) < error(2, 4.0));
        assert!(error(1, 2.0) < error(1, 4.0));
        assert!(error(3, 0.001) < 1e-14);
    }
}
