//! The spread for different labels with a·a' ≥ 0, where each record sees the other's label as likely (ADR 0024, Theorem Q).
//!
//! Variables are x and Δ of each record: the score of the other's label, and how far that is above the record's own.

use super::boxes::{self, Ends, least_square};
use super::norms::largest_square;
use super::squares::{Head, shares};
use crate::spread::exponential::exponential;

/// A bound on (C/R)² for different labels with a·a' ≥ 0; `enough`, if it is not above that.
pub(super) fn largest(head: &Head, enough: f64) -> f64 {
    let (score, difference) = (head.reach, 1.5 * head.reach);
    let high = [score, difference, score, difference];
    // Scores matter less than their differences.
    let weights = [0.25, 1.0, 0.25, 1.0];
    boxes::largest([high.map(|end| -end), high], weights, enough, |ends| bound(head, ends))
}

/// β, and t, the probability of the other's label, between these.
struct Side {
    ratio: [f64; 2],
    likely: [f64; 2],
}

impl Side {
    /// `spread` bounds the sum of e to the power of deviations of the rest's scores from their mean.
    fn new(rest: f64, spread: f64, x: (f64, f64), difference: (f64, f64)) -> Side {
        let ratio = [exponential(-difference.1), exponential(-difference.0)];
        // The mean of the rest is −(2x − Δ)/n.
        let low = -(2.0 * x.1 - difference.0) / rest - x.1;
        let high = -(2.0 * x.0 - difference.1) / rest - x.0;
        let least = 1.0 / (1.0 + ratio[1] + spread * exponential(high));
        Side { ratio, likely: [least, 1.0 / (1.0 + ratio[0] + rest * exponential(low))] }
    }
}

fn bound(head: &Head, &[low, high]: &Ends<4>) -> f64 {
    // The order of the records does not matter.
    if high[1] < low[3] {
        return 0.0;
    }
    let rest = head.classes - 2.0;
    // Of ξ and of η the sum over both labels and their difference.
    let sum = (
        0.5 * (2.0 * low[0] - high[1] + 2.0 * low[2] - high[3]),
        0.5 * (2.0 * high[0] - low[1] + 2.0 * high[2] - low[3]),
    );
    let sum_apart = (
        0.5 * (2.0 * low[0] - high[1] - 2.0 * high[2] + low[3]),
        0.5 * (2.0 * high[0] - low[1] - 2.0 * low[2] + high[3]),
    );
    let difference = least_square(0.5 * (low[3] - high[1]), 0.5 * (high[3] - low[1]));
    let difference_apart = least_square(0.5 * (low[1] + low[3]), 0.5 * (high[1] + high[3]));
    let norm = |sum: (f64, f64), difference: f64| {
        ((0.5 + 1.0 / rest) * least_square(sum.0, sum.1) + 0.5 * difference).sqrt()
    };
    let (common, apart) = (norm(sum, difference), norm(sum_apart, difference_apart));
    let (least, most) = shares(common / head.reach, apart / head.reach);
    if common + apart > head.reach || most < 0.5 {
        return 0.0;
    }
    // What norm is left for the deviations of the rest.
    let spare = ((head.reach - common - apart) * (head.reach + common + apart)).max(0.0).sqrt();
    let farthest = spare * ((rest - 1.0) / rest).sqrt();
    let spread = if rest > 1.5 {
        exponential(farthest) + (rest - 1.0) * exponential(-farthest / (rest - 1.0))
    } else {
        1.0
    };
    let share = largest_square(rest, spare);
    let side = |index: usize| {
        let of = |k: usize| (low[k], high[k]);
        Side::new(rest, spread, of(index), of(index + 1))
    };
    let leans = [least.max(0.5), most].map(|common| 2.0 * common - 1.0);
    largest_corner(rest, share, leans, &side(0), &side(2))
}

/// The largest value at a corner: it is convex in each variable.
fn largest_corner(rest: f64, share: f64, leans: [f64; 2], left: &Side, right: &Side) -> f64 {
    let own = |ratio: f64, t: f64| {
        let left = 1.0 - t * (1.0 + ratio);
        ((1.0 - ratio * t) * (1.0 - ratio * t) + t * t + share * left * left, left)
    };
    let mut most = 0.0_f64;
    for ratio in left.ratio {
        for t in left.likely {
            let (alone, remains) = own(ratio, t);
            for other_ratio in right.ratio {
                for other in right.likely {
                    let (other_alone, other_remains) = own(other_ratio, other);
                    let alike = if rest > 1.5 { 0.0 } else { remains * other_remains };
                    let both = t + other - t * other * (ratio + other_ratio) - alike;
                    for lean in leans {
                        most = most.max(alone + other_alone + 2.0 * lean * both);
                    }
                }
            }
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn softmax(scores: &[f64]) -> Vec<f64> {
        let weights: Vec<f64> = scores.iter().map(|score| score.exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / sum).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn two_records_with_different_labels_are_within_the_bound_of_every_box_that_they_are_in(
            common in prop::collection::vec(-3.0..3.0_f64, 3..8),
            apart in prop::collection::vec(-3.0..3.0_f64, 8),
            scale in prop_oneof![0.02..0.5_f64, 0.5..2.0_f64],
            angle in 0.01..std::f64::consts::FRAC_PI_4,
            widths in prop::collection::vec(0.0..0.6_f64, 8),
        ) {
            let (c, s) = (angle.cos(), angle.sin());
            let count = common.len();
            let centred = |rows: &[f64]| -> Vec<f64> {
                let mean = rows.iter().sum::<f64>() / count as f64;
                rows.iter().map(|row| scale * (row - mean)).collect()
            };
            let (u, v) = (centred(&common), centred(&apart[..count]));
            let scores = |sign: f64| -> Vec<f64> {
                u.iter().zip(&v).map(|(u, v)| c * u + sign * s * v).collect()
            };
            let (z, other) = (scores(1.0), scores(-1.0));
            // Labels 0 and 1.
            let (mut g, mut h) = (softmax(&z), softmax(&other));
            g[0] -= 1.0;
            h[1] -= 1.0;
            let pairs = || g.iter().zip(&h);
            let near: f64 = pairs().map(|(g, h)| (g - h) * (g - h)).sum();
            let far: f64 = pairs().map(|(g, h)| (g + h) * (g + h)).sum();
            let square = c * c * near + s * s * far;
            let length = u.iter().chain(&v).map(|x| x * x).sum::<f64>().sqrt();
            let head = Head { reach: length * (1.0 + 1e-10) + 1e-6, classes: count as f64 };
            let mut place = [z[1], z[1] - z[0], other[0], other[0] - other[1]];
            if place[1] < place[3] {
                place = [place[2], place[3], place[0], place[1]];
            }
            let low = std::array::from_fn(|k| place[k] - widths[k]);
            let high = std::array::from_fn(|k| place[k] + widths[k + 4]);
            let found = bound(&head, &[low, high]);
            prop_assert!(square <= found * (1.0 + 1e-9), "{square} {found}");
        }
    }
}
