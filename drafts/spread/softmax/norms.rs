//! The spread but for different labels with a·a' ≥ 0: Theorem J with a closer bound on ‖p‖² + ‖p'‖² (ADR 0024, Theorem Q).
//!
//! Each record's most likely class is either the same, or a class j for one and j' for the other. Then both scores of both
//! classes are known, up to what ξ adds, and of the other classes only what norm their scores can have.

use super::boxes::{self, Ends, least_square};
use super::squares::{Head, Pair};
use crate::spread::exponential::exponential;
use std::f64::consts::SQRT_2;

/// A bound on (C/R)² but for different labels with a·a' ≥ 0; `enough`, if it is not above that.
pub(super) fn largest(head: &Head, enough: f64) -> f64 {
    let same = boxes::largest([[0.0; 2], [1.0; 2]], [1.0; 2], enough, |ends| one_class(head, ends));
    // The largest score that scores of norm κ can have.
    let most = head.reach / head.root();
    let whole = [[0.0; 4], [1.0, 1.0, most, most]];
    let weights = [2.0, 1.0, 1.0 / most, 1.0 / most];
    same.max(boxes::largest(whole, weights, enough, |ends| two_classes(head, ends)))
}

/// X and Y of a box of c and w: X = cκw, and Y is at most √(1 − c²) κ √(1 − w²).
struct Norms {
    common: f64,
    apart: f64,
}

impl Norms {
    fn new(head: &Head, (c, w): (f64, f64), (c_most, w_most): (f64, f64)) -> Norms {
        let across = |share: f64| ((1.0 - share) * (1.0 + share)).max(0.0).sqrt();
        Norms { common: head.reach * c_most * w_most, apart: head.reach * across(c) * across(w) }
    }

    /// A bound on the norm of each record's scores.
    fn of_scores(&self, head: &Head) -> f64 {
        (self.common + self.apart).min(head.reach)
    }
}

/// What Theorem J makes of a bound on ‖p‖² + ‖p'‖², which is computed from the largest ‖p‖².
fn with_squares(head: &Head, c: f64, norms: &Norms, squares: impl FnOnce(f64) -> f64) -> f64 {
    let common_scores = head.probabilities(norms.common);
    let scores = head.probabilities(norms.of_scores(head));
    let overlap = common_scores.overlap(norms.apart);
    let squares = squares(scores.square);
    Pair { common: (c * c, c * c), common_scores, scores, squares, overlap }.unless_swapped()
}

/// Both records have the same most likely class: its scores add up to 2ξ_j.
fn one_class(head: &Head, &[low, high]: &Ends<2>) -> f64 {
    let norms = Norms::new(head, (low[0], low[1]), (high[0], high[1]));
    let sum = 2.0 * norms.common / (head.root() * head.reach);
    with_squares(head, low[0], &norms, |square| head.squares(square, sum))
}

/// The records have different most likely classes, with the scores a and a'.
fn two_classes(head: &Head, &[low, high]: &Ends<4>) -> f64 {
    let norms = Norms::new(head, (low[0], low[1]), (high[0], high[1]));
    let others = head.classes - 2.0;
    let (left, right) = ((low[2], high[2]), (low[3], high[3]));
    // The order of the records does not matter.
    if left.1 < right.0 {
        return 0.0;
    }
    let sum = SQRT_2 * ((others / head.classes).sqrt() * norms.common + norms.apart);
    let length = norms.apart + (head.classes / others).sqrt() * norms.common;
    let difference = least_square(left.0 - right.1, left.1 - right.0);
    let square = left.0 * left.0 + right.0 * right.0 + difference / others;
    if left.0 + right.0 > sum || square > length * length {
        return 0.0;
    }
    let slack = 2.0 * norms.common / head.root();
    let norm = norms.of_scores(head);
    let known = |top: (f64, f64), other: (f64, f64)| {
        square_of_known(head.classes, norm, top, (-other.1 - slack, slack - other.0))
    };
    let (Some(first), Some(second)) = (known(left, right), known(right, left)) else { return 0.0 };
    let rough_sum = sum.min(SQRT_2 * norm) / head.reach;
    with_squares(head, low[0], &norms, |square| {
        let rough = head.squares(square, rough_sum);
        (first.min(square) + second.min(square)).min(rough)
    })
}

/// M for this many classes: the largest ‖p‖² for scores that add up to zero and have at most this norm.
pub(super) fn largest_square(classes: f64, norm: f64) -> f64 {
    if classes < 1.5 {
        return 1.0;
    }
    let others = classes - 1.0;
    let largest = 1.0 / (1.0 + others * exponential(-norm * (classes / others).sqrt()));
    largest * largest + (1.0 - largest) * (1.0 - largest) / others
}

/// A bound on ‖p‖² for scores of this norm at most, of which the largest is in `top` and another in `other`; none, where
/// there are no such scores.
fn square_of_known(
    classes: f64,
    norm: f64,
    (top, top_most): (f64, f64),
    (other, other_most): (f64, f64),
) -> Option<f64> {
    let rest = classes - 2.0;
    // No score is above the largest, the mean of the rest neither.
    let other = other.max(-(rest + 1.0) * top_most);
    let other_most = other_most.min(top_most);
    let spare = norm * norm
        - top * top
        - least_square(other, other_most)
        - least_square(top + other, top_most + other_most) / rest;
    if !(other <= other_most && spare >= 0.0) {
        return None;
    }
    let share = largest_square(rest, spare.sqrt());
    let ratios = [exponential(other - top_most), exponential(other_most - top).min(1.0)];
    // 1/t is smallest where all other scores are equal.
    let equal = (-top_most / (rest + 1.0)).clamp(other, other_most);
    let mean = -(top_most + equal) / rest;
    let inverse = 1.0 + exponential(equal - top_most) + rest * exponential(mean - top_most);
    let likeliest = 1.0 / inverse;
    let turn = likeliest.min(share / (1.0 + share * (1.0 + ratios[0])));
    let mut most = 0.0_f64;
    for ratio in ratios {
        // Up to the turn: each of the rest is at most t.
        most = most.max(turn - ratio * (1.0 - ratio) * turn * turn);
        for t in [turn, likeliest] {
            // From there on: the rest's squares add up to the square of their sum times `share`.
            let left = (1.0 - (1.0 + ratio) * t).max(0.0);
            if likeliest > turn {
                most = most.max(t * t * (1.0 + ratio * ratio) + share * left * left);
            }
        }
    }
    Some(most)
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

    fn squares(vector: &[f64]) -> f64 {
        vector.iter().map(|x| x * x).sum()
    }

    fn centred(mut scores: Vec<f64>) -> Vec<f64> {
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        scores.iter_mut().for_each(|score| *score -= mean);
        scores
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn no_probabilities_with_these_scores_have_larger_squares(
            scores in prop::collection::vec(-4.0..4.0_f64, 3..9),
            zeros in 0_usize..20,
            width in 0.0..0.5_f64,
        ) {
            let zeros = std::iter::repeat_n(0.0, zeros);
            let mut scores = centred(scores.into_iter().chain(zeros).collect());
            scores.sort_by(|left, right| right.total_cmp(left));
            let (top, other) = (scores[0], scores[scores.len() / 2]);
            let classes = scores.len() as f64;
            let norm = squares(&scores).sqrt() * (1.0 + 1e-9);
            let around = |score: f64| (score - 0.3 * width, score + 0.7 * width);
            let around_top = (around(top).0.max(0.0), around(top).1);
            let bound = square_of_known(classes, norm, around_top, around(other)).unwrap();
            let found = squares(&softmax(&scores));
            prop_assert!(found <= bound * (1.0 + 1e-9), "{found} {bound}");
        }

        #[test]
        fn two_records_with_these_classes_are_within_the_bound_of_every_box_that_they_are_in(
            common in prop::collection::vec(-1.0..1.0_f64, 3..8),
            apart in prop::collection::vec(-3.0..3.0_f64, 8),
            scale in prop_oneof![0.02..0.5_f64, 0.5..2.0_f64],
            angle in 0.02..1.5_f64,
            label in 0_usize..8,
            widths in (0.0..0.3_f64, 0.0..0.3_f64, 0.0..1.0_f64, 0.0..1.0_f64),
        ) {
            let (c, s) = (angle.cos(), angle.sin());
            let scaled = |rows: &[f64]| centred(rows.iter().map(|row| scale * row).collect());
            let count = common.len();
            let (u, v) = (scaled(&common), scaled(&apart[..count]));
            let scores = |sign: f64| -> Vec<f64> {
                u.iter().zip(&v).map(|(u, v)| c * u + sign * s * v).collect()
            };
            let (z, other) = (scores(1.0), scores(-1.0));
            let label = label % count;
            let (mut g, mut h) = (softmax(&z), softmax(&other));
            let tops = [&z, &other].map(|z| {
                let top = z.iter().enumerate().max_by(|left, right| left.1.total_cmp(right.1));
                top.map_or((0, 0.0), |(index, score)| (index, *score))
            });
            g[label] -= 1.0;
            h[label] -= 1.0;
            let pairs = || g.iter().zip(&h);
            let along: f64 = pairs().map(|(g, h)| (g - h) * (g - h)).sum();
            let across: f64 = pairs().map(|(g, h)| (g + h) * (g + h)).sum();
            let square = c * c * along + s * s * across;
            let reach = (squares(&u) + squares(&v)).sqrt();
            if reach < 1e-3 {
                return Ok(());
            }
            let head = Head { reach: reach * (1.0 + 1e-10), classes: count as f64 };
            let w = squares(&u).sqrt() / head.reach;
            let (low, high) = ([c, w], [(c + widths.0).min(1.0), (w + widths.1).min(1.0)]);
            let low = [(low[0] - widths.1).max(0.0), (low[1] - widths.0).max(0.0)];
            let bound = if tops[0].0 == tops[1].0 {
                one_class(&head, &[low, high])
            } else {
                let mut scores = [tops[0].1, tops[1].1];
                scores.sort_by(|left, right| right.total_cmp(left));
                let [first, second] = scores;
                let low = [low[0], low[1], (first - widths.2).max(0.0), (second - widths.3).max(0.0)];
                let high = [high[0], high[1], first + widths.3, second + widths.2];
                two_classes(&head, &[low, high])
            };
            prop_assert!(square <= bound * (1.0 + 1e-9), "{square} {bound}");
        }
    }
}
