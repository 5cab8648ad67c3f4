//! A bound on the spread of softmax losses of three classes or more.
//!
//! There is no formula for the true spread, and its kind changes with κ = RB. `squares` bounds it fast; where that is more than
//! 2 % above what two records can attain, `norms` and `labels` come nearer (ADR 0024, Theorems J and Q).

mod attained;
mod boxes;
mod labels;
mod norms;
mod squares;

use attained::attained_square;
use squares::Head;
use std::f64::consts::SQRT_2;

/// How far the bound may be above what two records attain, as a share of it.
const TOLERANCE: f64 = 0.018;
/// What the searches add to κ, so that rounding loses no scores at the edge of what is possible.
const EDGE: f64 = 1.0 + 1e-10;

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
    let rough = head.largest();
    let enough = attained_square(&head) * (1.0 + TOLERANCE) * (1.0 + TOLERANCE);
    if rough <= enough {
        return rough.sqrt().min(limit);
    }
    let head = Head { reach: reach * EDGE, ..head };
    let found = norms::largest(&head, enough).max(labels::largest(&head, enough));
    found.min(rough).sqrt().min(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

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
