//! A bound on the spread of softmax losses of three classes or more.
//!
//! There is no formula for the true spread, and its kind changes with κ = RB. What is computed bounds it from above
//! (ADR 0024, Theorem J), by at most 7 % in our searches.
//!
//! Two records at angle 2 arctan(s/c) are a, a' = x ± y with x ⟂ y, ‖x‖ = Rc and ‖y‖ = Rs. Their scores are ξ ± η with
//! ξ = Θx and η = Θy, and ‖ξ‖²/c² + ‖η‖²/s² ≤ κ². Given X = ‖ξ‖ and Y = ‖η‖ the bound is a formula; its maximum
//! over X + Y ≤ κ is taken square by square, each bounded by the values at its corners.

use super::exponential::exp_negative;
use std::f64::consts::SQRT_2;

/// How often a square is quartered. Without end the bound would fall by 1.1 % at most.
const QUARTERINGS: u32 = 64;

/// A bound on the spread for features of norm 1, κ = `reach` and at least three classes.
///
/// # Guarantee
/// For κ ≥ 0 no smaller than the truth by more than a relative 10⁻¹³; NaN if κ is NaN. Never above 2√2.
pub(super) fn spread_of_unit_features(reach: f64, classes: u32) -> f64 {
    if reach.is_nan() || classes < 3 {
        return f64::NAN;
    }
    let limit = 2.0 * SQRT_2;
    // Beyond this the true spread is within 10⁻⁷ of the limit.
    if !(reach < 1e5) {
        return limit;
    }
    let head = Head { reach, classes: classes.into() };
    head.largest().sqrt().min(limit)
}

/// What the bound depends on.
struct Head {
    /// κ.
    reach: f64,
    /// K.
    classes: f64,
}

/// All (X/κ, Y/κ) in a square. Corners are multiples of a power of two, so that sums of them are exact.
struct Square {
    x: f64,
    y: f64,
    side: f64,
}

/// What probabilities can be when scores have at most some norm.
struct Probabilities {
    /// τ: the largest probability.
    largest: f64,
    /// M: the largest ‖p‖².
    square: f64,
    /// ρ: a bound from below on the smallest probability.
    smallest: f64,
}

/// What two records have in common, whatever their labels: bounds for all of a square.
struct Pair {
    /// The smallest and largest c².
    common: (f64, f64),
    /// For scores ξ.
    common_scores: Probabilities,
    /// For scores ξ ± η.
    scores: Probabilities,
    /// A bound on ‖p‖² + ‖p'‖².
    squares: f64,
    /// A bound from below on λ² = (Σ √(p_i p'_i))².
    overlap: f64,
}

impl Head {
    /// A bound on (C/R)². The square with the largest bound is quartered, again and again.
    fn largest(&self) -> f64 {
        let whole = Square { x: 0.0, y: 0.0, side: 1.0 };
        let mut squares = vec![(self.bound(&whole), whole)];
        for _ in 0..QUARTERINGS {
            let bounds = squares.iter().map(|(bound, _)| bound).enumerate();
            let Some((top, _)) = bounds.max_by(|left, right| left.1.total_cmp(right.1)) else {
                break;
            };
            let (_, Square { x, y, side }) = squares.swap_remove(top);
            let half = 0.5 * side;
            for (right, up) in [(0.0, 0.0), (0.0, half), (half, 0.0), (half, half)] {
                let quarter = Square { x: x + right, y: y + up, side: half };
                // Where X + Y > κ nothing is possible, and the line X + Y = κ is in other squares.
                if quarter.x + quarter.y < 1.0 {
                    squares.push((self.bound(&quarter), quarter));
                }
            }
        }
        squares.into_iter().map(|(bound, _)| bound).fold(0.0, f64::max)
    }

    /// A bound on (C/R)² for all points of a square, whatever the labels.
    fn bound(&self, square: &Square) -> f64 {
        let pair = self.pair(square);
        let (least, most) = pair.common;
        // ‖g‖² + ‖g'‖² at most, and where a·a' < 0 what other labels can add to it.
        let single = 2.0 * (1.0 - 2.0 * pair.scores.smallest) + pair.squares;
        let mut bound = single + 2.0 * (1.0 - 2.0 * least).max(0.0) * pair.common_scores.square;
        if least <= 0.5 {
            bound = bound.max(same_label(&pair));
        }
        if most >= 0.5 {
            bound = bound.max(self.other_label(square, &pair, single));
        }
        if bound.is_nan() { f64::INFINITY } else { bound }
    }

    fn pair(&self, &Square { x, y, side }: &Square) -> Pair {
        // u = c² solves X²/u + Y²/(1 − u) = κ² at both ends; fewer are possible for larger X and Y.
        let middle = 1.0 + x * x - y * y;
        let root = ((1.0 - x - y) * (1.0 + x + y) * (1.0 - x + y) * (1.0 + x - y)).max(0.0).sqrt();
        let common = ((0.5 * (middle - root)).max(0.0), (0.5 * (middle + root)).min(1.0));
        let common_scores = self.probabilities(self.reach * (x + side));
        let scores = self.probabilities(self.reach * (x + y + 2.0 * side).min(1.0));
        // 1/λ² ≤ 1 + min(½, τ)(cosh √2 Y − 1).
        let apart = exp_negative(SQRT_2 * self.reach * (y + side));
        let variance = common_scores.largest.min(0.5);
        let overlap = 2.0 * apart / (2.0 * apart + variance * (1.0 - apart) * (1.0 - apart));
        let sum = SQRT_2 * (x + y + 2.0 * side).min(1.0);
        let squares = self.squares(scores.square, sum.max(2.0 * (x + side) / self.root()));
        Pair { common, common_scores, scores, squares, overlap }
    }

    /// ω = √(K/(K − 1)).
    fn root(&self) -> f64 {
        (self.classes / (self.classes - 1.0)).sqrt()
    }

    /// A bound on ‖p‖² + ‖p'‖² where both are at most `square` and the largest scores add up to κ times `sum`.
    fn squares(&self, square: f64, sum: f64) -> f64 {
        let others = self.classes - 1.0;
        // e^−2g: the logits of both largest probabilities add up to 2g at most.
        let odds = others * others * exp_negative(self.reach * sum * self.classes / others);
        let both = if odds <= 1.0 {
            2.0 / (1.0 + odds.sqrt())
        } else {
            square + 1.0 / (1.0 + odds * square / (1.0 - square))
        };
        if both < 2.0 * square { both } else { 2.0 * square }
    }

    fn probabilities(&self, norm: f64) -> Probabilities {
        let others = self.classes - 1.0;
        let tail = exp_negative(norm * self.root());
        let largest = 1.0 / (1.0 + others * tail);
        let square = largest * largest + (1.0 - largest) * (1.0 - largest) / others;
        let proved = norm * norm * others <= 4.0 * self.classes;
        let smallest = if proved { tail / (tail + others) } else { 0.0 };
        Probabilities { largest, square, smallest }
    }

    /// Different labels and a·a' ≥ 0: each record sees the other's label as likely.
    fn other_label(&self, &Square { x, y, side }: &Square, pair: &Pair, single: f64) -> f64 {
        let Pair { common: (least, most), ref scores, overlap, .. } = *pair;
        let (x, y) = (self.reach * (x + side), self.reach * (y + side));
        // By ‖p − p'‖ ≤ Y, which is best for small κ.
        let along = (SQRT_2 + y) * (SQRT_2 + y);
        let across = 4.0 * scores.square + 2.0 - 8.0 * scores.smallest;
        let at = |common: f64| common * along + (1.0 - common) * across;
        let lipschitz = at(least.max(0.5)).max(at(most));
        // By the probabilities q, q' of the other's label: 1/q + 1/q' ≥ 2m and 1/q, 1/q' ≥ 1/τ. The sum of a convex
        // function that falls is largest where one of the two is at its limit.
        let apart = exp_negative(SQRT_2 * y);
        let rest = self.classes - 2.0;
        let common = exp_negative(x * (0.5 * self.classes / rest).sqrt());
        let mean = 1.0 + apart + rest * apart.sqrt() * common;
        let limit = 1.0 / scores.largest;
        let ends = [limit, (2.0 * mean - limit).max(limit)];
        let lean = (2.0 * most - 1.0).max(0.0);
        let alike = 2.0 * lean * overlap / self.classes;
        let likely = single + 2.0 * lean * (1.0 / ends[0] + 1.0 / ends[1]) - alike;
        // The same with ‖g‖² ≤ 1 + q² + (1 − q)².
        let value = |m: f64| 2.0 + (2.0 / (m * m) - 2.0 * (1.0 - lean) / m).max(0.0);
        let certain = value(ends[0]) + value(ends[1]) - alike;
        lipschitz.min(likely).min(certain)
    }
}

/// The same label and a·a' ≤ 0: 4s²(1 − 2λρ) + N + 2(s² − c²)λ²M, convex in λ.
fn same_label(pair: &Pair) -> f64 {
    let least = pair.common.0;
    let at = |overlap_root: f64| {
        4.0 * (1.0 - least) * (1.0 - 2.0 * overlap_root * pair.common_scores.smallest)
            + pair.squares
            + 2.0 * (1.0 - 2.0 * least) * overlap_root * overlap_root * pair.common_scores.square
    };
    at(pair.overlap.sqrt()).max(at(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn softmax(scores: &[f64]) -> Vec<f64> {
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / sum).collect()
    }

    fn squares(vector: &[f64]) -> f64 {
        vector.iter().map(|x| x * x).sum()
    }

    /// Two records of norm 1 at parameters Θ: rows of Θ along x and along y, c, and both labels.
    struct Trial {
        along: Vec<f64>,
        across: Vec<f64>,
        common: f64,
        labels: (usize, usize),
    }

    impl Trial {
        /// Rows with their mean taken out, which changes no probability.
        fn new(rows: &[(f64, f64)], scale: f64, angle: f64, labels: (usize, usize)) -> Trial {
            let count = f64::from(u32::try_from(rows.len()).unwrap());
            let centred = |values: Vec<f64>| -> Vec<f64> {
                let mean = values.iter().sum::<f64>() / count;
                values.iter().map(|value| scale * (value - mean)).collect()
            };
            let along = centred(rows.iter().map(|row| row.0).collect());
            let across = centred(rows.iter().map(|row| row.1).collect());
            Trial { along, across, common: angle.cos(), labels }
        }

        /// κ, X/κ and Y/κ.
        fn place(&self) -> (f64, f64, f64) {
            let reach = (squares(&self.along) + squares(&self.across)).sqrt();
            let other = (1.0 - self.common * self.common).sqrt();
            let x = self.common * squares(&self.along).sqrt() / reach;
            (reach, x, other * squares(&self.across).sqrt() / reach)
        }

        /// The squared distance of the two gradients.
        fn square(&self) -> f64 {
            let other = (1.0 - self.common * self.common).sqrt();
            let slopes = |sign: f64, label: usize| {
                let rows = self.along.iter().zip(&self.across);
                let scores: Vec<f64> =
                    rows.map(|(x, y)| self.common * x + sign * other * y).collect();
                let mut slopes = softmax(&scores);
                slopes[label] -= 1.0;
                slopes
            };
            let (left, right) = (slopes(1.0, self.labels.0), slopes(-1.0, self.labels.1));
            let pairs = || left.iter().zip(&right);
            let along: f64 = pairs().map(|(g, h)| (g - h) * (g - h)).sum();
            let across: f64 = pairs().map(|(g, h)| (g + h) * (g + h)).sum();
            self.common * self.common * along + other * other * across
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// Theorem J, by trial, at every X and Y and not only at the largest bound.
        #[test]
        fn the_bound_holds_at_every_point(
            rows in prop::collection::vec((-1.0..1.0_f64, -1.0..1.0_f64), 3..8),
            kept in prop::collection::vec(any::<bool>(), 7),
            zeros in prop_oneof![Just(0_usize), 0_usize..60],
            scale in prop_oneof![0.01..1.0_f64, 0.5..6.0_f64, 3.0..40.0_f64],
            angle in 0.0..std::f64::consts::FRAC_PI_2,
            labels in (0_usize..7, 0_usize..7),
        ) {
            // Extremes have few rows that are not zero.
            let rows: Vec<(f64, f64)> = rows
                .iter()
                .zip(kept)
                .map(|(&row, kept)| if kept { row } else { (0.0, 0.0) })
                .chain(std::iter::repeat_n((0.0, 0.0), zeros))
                .collect();
            let labels = (labels.0 % rows.len(), labels.1 % rows.len());
            let trial = Trial::new(&rows, scale, angle, labels);
            let (reach, x, y) = trial.place();
            // Next to no scores and rounding: one trial in a thousand.
            if reach <= 1e-3 {
                return Ok(());
            }
            let head = Head { reach, classes: f64::from(u32::try_from(rows.len()).unwrap()) };
            let bound = head.bound(&Square { x, y, side: 0.0 });
            prop_assert!(trial.square() <= bound * (1.0 + 1e-6), "{} {bound}", trial.square());
        }
    }

    /// Control: nine tenths of the bound would be found out, for equal labels and for different ones.
    #[test]
    fn the_bound_is_attained_at_some_points() {
        let right_angle = std::f64::consts::FRAC_PI_2;
        let equal =
            |scale| ([(0.0, 0.0), (0.3, -1.0), (0.3, 1.0), (0.0, 0.0)], scale, right_angle, (0, 0));
        let across = [(0.0, 0.0), (3.0, -1.0), (3.0, 1.0), (0.0, 0.0)];
        for (rows, scale, angle, labels) in [
            equal(0.01),
            equal(0.5),
            ([(0.0, 0.0), (1.0, 0.0), (1.0, 0.0), (0.0, 0.0)], 0.01, 0.0, (1, 2)),
            (across, 60.0, (2.0_f64.sqrt() / 3.0).atan(), (1, 2)),
        ] {
            let trial = Trial::new(&rows, scale, angle, labels);
            let (reach, x, y) = trial.place();
            let bound = Head { reach, classes: 4.0 }.bound(&Square { x, y, side: 0.0 });
            assert!(trial.square() > 0.9 * bound, "{scale} {angle}: {} {bound}", trial.square());
        }
    }

    #[test]
    fn the_bound_of_a_square_is_above_those_of_its_points() {
        for reach in [0.1, 1.0, 4.0, 12.0] {
            let head = Head { reach, classes: 4.0 };
            for (x, y, side) in [(0.0, 0.0, 1.0), (0.25, 0.5, 0.25), (0.5, 0.25, 0.125)] {
                let bound = head.bound(&Square { x, y, side });
                for (right, up) in [(0.0, 0.0), (0.3, 0.1), (0.5, 0.5), (0.1, 0.7), (0.9, 0.0)] {
                    let (x, y) = (x + side * right, y + side * up);
                    if x + y <= 1.0 {
                        let point = head.bound(&Square { x, y, side: 0.0 });
                        assert!(point <= bound * (1.0 + 1e-12), "{reach} {x} {y}");
                    }
                }
            }
        }
    }

    #[test]
    fn spreads_are_those_of_the_adr() {
        let table = [
            (3, [1.7996, 2.3154, 2.6982, 2.8043]),
            (10, [1.9179, 2.1747, 2.6591, 2.8013]),
            (1000, [1.9990, 1.9992, 2.3911, 2.7947]),
        ];
        for (classes, expected) in table {
            let at_zero = 2.0 * (1.0 - 1.0 / f64::from(classes)).sqrt();
            assert!((spread_of_unit_features(0.0, classes) - at_zero).abs() < 1e-12);
            for (reach, expected) in [1.0, 3.0, 10.0, 30.0].into_iter().zip(expected) {
                let found = spread_of_unit_features(reach, classes);
                assert!((found - expected).abs() < 1e-3, "{classes} {reach}: {found}");
            }
            let mut before = 0.0;
            for step in 0..200 {
                let found = spread_of_unit_features(f64::from(step) * 0.25, classes);
                assert!(found >= before * (1.0 - 5e-3) && found <= 2.0 * SQRT_2, "{step}");
                before = found;
            }
        }
    }
}
