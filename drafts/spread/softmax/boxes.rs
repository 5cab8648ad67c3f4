//! The maximum of a bound over a box of a few variables.

/// The lower and the upper ends of a box.
pub(super) type Ends<const D: usize> = [[f64; D]; 2];

/// After this many boxes the search ends, with the bound it has by then.
const BOXES_MAX: usize = 200_000;

/// A bound on the largest value of a function that is not above `bound` of any box it is taken in; `enough`, if it is not
/// above that.
///
/// Boxes whose bound is above `enough` are cut in two, across the variable that is widest in units of `weights`.
pub(super) fn largest<const D: usize>(
    whole: Ends<D>,
    weights: [f64; D],
    enough: f64,
    bound: impl Fn(&Ends<D>) -> f64,
) -> f64 {
    let mut boxes = vec![whole];
    let mut seen = 0;
    loop {
        let mut most = enough;
        seen += boxes.len();
        boxes.retain(|ends| {
            let found = bound(ends);
            if found > most || found.is_nan() {
                most = if found.is_nan() { f64::INFINITY } else { found };
            }
            !(found <= enough)
        });
        if boxes.is_empty() || seen > BOXES_MAX {
            return most;
        }
        boxes = boxes.iter().flat_map(|ends| halves(ends, &weights)).collect();
    }
}

fn halves<const D: usize>(ends: &Ends<D>, weights: &[f64; D]) -> [Ends<D>; 2] {
    let width = |variable: usize| weights[variable] * (ends[1][variable] - ends[0][variable]);
    let mut widest = 0;
    for variable in 1..D {
        if width(variable) > width(widest) {
            widest = variable;
        }
    }
    let middle = 0.5 * (ends[0][widest] + ends[1][widest]);
    let mut both = [*ends, *ends];
    both[0][1][widest] = middle;
    both[1][0][widest] = middle;
    both
}

/// The smallest square of a number between these.
pub(super) fn least_square(low: f64, high: f64) -> f64 {
    if low <= 0.0 && high >= 0.0 { 0.0 } else { (low * low).min(high * high) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_is_found_to_what_is_enough() {
        // 1 − (x − 0.3)² − (y + 0.2)², bounded by the nearest point of a box.
        let bound = |ends: &Ends<2>| {
            let apart = |k: usize, at: f64| least_square(ends[0][k] - at, ends[1][k] - at);
            1.0 - apart(0, 0.3) - apart(1, -0.2)
        };
        let whole = [[-1.0, -1.0], [1.0, 1.0]];
        assert!((largest(whole, [1.0, 1.0], 1.001, bound) - 1.001).abs() < 1e-12);
        // The control: what is not enough is not returned.
        let found = largest(whole, [1.0, 1.0], 0.9, bound);
        assert!((found - 1.0).abs() < 1e-12, "{found}");
        assert!(largest(whole, [1.0, 1.0], 0.9, |_| f64::NAN).is_infinite());
    }
}
