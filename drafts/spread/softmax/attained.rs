//! What two records attain: of several kinds of pairs the farthest. It says how near the bounds are, and no guarantee needs it.

use super::squares::{Head, shares};
use crate::spread::exponential::exponential;
use std::f64::consts::FRAC_1_SQRT_2;

/// Directions that are tried in a plane of scores.
const DIRECTIONS: u32 = 240;
/// Values of X and of Y that are tried at a time, and how often the best of them is refined.
const STEPS: u32 = 24;
const REFINEMENTS: u32 = 5;

/// The square of a distance that two gradients have, in units of R.
pub(super) fn attained_square(head: &Head) -> f64 {
    let rest = head.classes - 2.0;
    // Opposite features and one label: one class is likely for one record, another for the other.
    let apart = head.reach * FRAC_1_SQRT_2;
    let mut most = opposite(&[(0.0, 1.0), (apart, 1.0), (-apart, 1.0), (0.0, rest - 1.0)]);
    // Or one class is, and the scores of the label and of the rest differ.
    let (up, down) = (1.0 / head.root(), -1.0 / (head.root() * (rest + 1.0)));
    let (label, others) = ((rest / (rest + 1.0)).sqrt(), -1.0 / (rest * (rest + 1.0)).sqrt());
    let mut direction = (1.0, 0.0);
    for _ in 0..DIRECTIONS {
        let (along, across) = (head.reach * direction.0, head.reach * direction.1);
        let scores = [
            (along * down + across * label, 1.0),
            (along * up, 1.0),
            (along * down + across * others, rest),
        ];
        most = most.max(opposite(&scores));
        direction = turned(direction);
    }
    most.max(swapped(head))
}

/// The direction 1/240 of a whole turn farther.
fn turned((x, y): (f64, f64)) -> (f64, f64) {
    const COSINE: f64 = 0.999_657_324_975_557_3;
    const SINE: f64 = 0.026_176_948_307_873_15;
    (COSINE * x - SINE * y, SINE * x + COSINE * y)
}

/// ‖p(z) + p(−z) − 2e_b‖², where b is the first class. A score may be that of several classes.
fn opposite(scores: &[(f64, f64)]) -> f64 {
    let largest = scores.iter().fold(0.0, |most: f64, score| most.max(score.0.abs()));
    let total = |sign: f64| -> f64 {
        scores.iter().map(|&(score, count)| count * exponential(sign * score - largest)).sum()
    };
    let (up, down) = (total(1.0), total(-1.0));
    let mut square = 0.0;
    for (index, &(score, count)) in scores.iter().enumerate() {
        let both = exponential(score - largest) / up + exponential(-score - largest) / down;
        let slope = if index == 0 { both - 2.0 } else { both };
        square += count * slope * slope;
    }
    square
}

/// Two labels that change places, all other scores equal.
fn swapped(head: &Head) -> f64 {
    let (mut low, mut width) = ((0.0, 0.0), head.reach);
    let mut most = (0.0, low);
    for _ in 0..REFINEMENTS {
        for i in 0..=STEPS {
            for j in 0..=STEPS {
                let step = |k: u32| width * f64::from(k) / f64::from(STEPS);
                let place = (low.0 + step(i), low.1 + step(j));
                let square = swapped_at(head, place);
                if square > most.0 {
                    most = (square, place);
                }
            }
        }
        width *= 4.0 / f64::from(STEPS);
        let start = |middle: f64| (middle - 0.5 * width).max(0.0);
        low = (start((most.1).0), start((most.1).1));
    }
    most.0
}

fn swapped_at(head: &Head, (common, apart): (f64, f64)) -> f64 {
    if common + apart > head.reach {
        return 0.0;
    }
    let rest = head.classes - 2.0;
    let (least, most) = shares(common / head.reach, apart / head.reach);
    let mean = common * (0.5 * rest / head.classes).sqrt();
    let mut square = 0.0_f64;
    for sign in [1.0, -1.0] {
        let (own, other) = (sign * mean - apart * FRAC_1_SQRT_2, sign * mean + apart * FRAC_1_SQRT_2);
        let others = -2.0 * sign * mean / rest;
        let largest = other.max(others);
        let weights = [own, other, others].map(|score| exponential(score - largest));
        let sum = weights[0] + weights[1] + rest * weights[2];
        let [own, other, others] = weights.map(|weight| weight / sum);
        let near = 2.0 * (1.0 + other - own) * (1.0 + other - own);
        let far = 2.0 * (own + other - 1.0) * (own + other - 1.0) + rest * 4.0 * others * others;
        for share in [least, most] {
            square = square.max(share * near + (1.0 - share) * far);
        }
    }
    square
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a search over Θ, records and labels found, with 30 to 60 restarts.
    #[test]
    fn what_is_attained_is_what_a_search_finds() {
        for (classes, reach, expected) in [
            (3.0, 0.3, 1.6451),
            (3.0, 2.0, 1.9922),
            (3.0, 5.0, 2.3838),
            (3.0, 30.0, 2.7925),
            (4.0, 3.0, 2.1487),
            (4.0, 10.0, 2.6374),
            (10.0, 1.0, 1.9098),
            (10.0, 3.0, 2.0549),
            (10.0, 5.0, 2.2682),
            (10.0, 8.0, 2.4909),
        ] {
            let found = attained_square(&Head { reach, classes }).sqrt();
            assert!((found - expected).abs() < 1e-3, "{classes} {reach}: {found} {expected}");
        }
    }
}
