//! The spread of losses of one score whose slope grows faster than the score: by a search over pairs of angles.
//!
//! As in `one_score`, a gradient is a point in the plane at the angle α of its features with θ and the distance
//! Rφ(κ cos α). Where φ is convex, the farthest two points need not lie across from each other, and no formula is known. The plane of
//! pairs (α, β) is cut into squares, each bounded by the values at its corners (ADR 0024, Theorem P).

/// How much the bound may be above the truth, as a share of it.
const TOLERANCE: f64 = 1e-3;
/// Squares are quartered so often at most.
const LEVELS: u32 = 16;

/// A bound on the largest distance of two points at angles α and β on either side of an axis, at the distances
/// s^(q−1) and s'^(q−1) from the origin, s = max(0, (b + κ cos α)/(b + κ)), for κ = `reach`, b = `label` and q = `degree`.
///
/// # Guarantee
/// No smaller than the truth by more than a relative 10⁻¹³, and no larger by more than 0.2 %, for
/// κ, b ≥ 0 and 2 ≤ q ≤ 8; NaN if κ or b is NaN or infinite, and 2 if both are 0. The same bits on every machine.
pub(super) fn power_spread(reach: f64, label: f64, degree: u32) -> f64 {
    let largest = reach + label;
    if !(largest > 0.0 && largest.is_finite()) {
        return if largest <= 0.0 { 2.0 } else { f64::NAN };
    }
    let curve = Curve { reach: reach / largest, label: label / largest, power: degree - 1 };
    curve.widest()
}

/// The points of all gradients, as a share of the longest.
struct Curve {
    reach: f64,
    label: f64,
    /// q − 1.
    power: u32,
}

/// Angles of two gradients, each in [0, 2]: see [`Angle`].
#[derive(Clone, Copy)]
struct Square {
    left: f64,
    right: f64,
    side: f64,
}

/// Cosine and sine of an angle from 0 to π, given as a number from 0 to 2: by half-angles, so that no trigonometric function
/// of the system is needed.
#[derive(Clone, Copy)]
struct Angle {
    cosine: f64,
    sine: f64,
}

impl Angle {
    fn new(place: f64) -> Angle {
        let is_sharp = place <= 1.0;
        let half = if is_sharp { place } else { 2.0 - place };
        let whole = 1.0 + half * half;
        let cosine = (1.0 - half * half) / whole;
        Angle { cosine: if is_sharp { cosine } else { -cosine }, sine: 2.0 * half / whole }
    }

    /// cos(α + β).
    fn cosine_of_sum(self, other: Angle) -> f64 {
        self.cosine * other.cosine - self.sine * other.sine
    }
}

impl Curve {
    fn slope(&self, cosine: f64) -> f64 {
        let share = self.label + self.reach * cosine;
        if !(share > 0.0) {
            return 0.0;
        }
        (1..self.power).fold(share, |product, _| product * share)
    }

    /// The square of the distance of two points.
    fn square_distance(&self, left: Angle, right: Angle) -> f64 {
        let (t, s) = (self.slope(left.cosine), self.slope(right.cosine));
        t * t + s * s - 2.0 * t * s * left.cosine_of_sum(right)
    }

    /// A bound on it for all pairs of a square: it is convex in both lengths and falls with cos(α + β).
    fn bound(&self, &Square { left, right, side }: &Square) -> f64 {
        let ends = |place: f64| [Angle::new(place), Angle::new(place + side)];
        let (left, right) = (ends(left), ends(right));
        let cosine = if left[1].cosine + right[1].cosine > 0.0 {
            // α + β < π throughout.
            left[1].cosine_of_sum(right[1])
        } else if left[0].cosine + right[0].cosine < 0.0 {
            left[0].cosine_of_sum(right[0])
        } else {
            -1.0
        };
        let mut most = 0.0;
        for t in left.map(|angle| self.slope(angle.cosine)) {
            for s in right.map(|angle| self.slope(angle.cosine)) {
                let square = t * t + s * s - 2.0 * t * s * cosine;
                most = if square > most { square } else { most };
            }
        }
        most
    }

    fn widest(&self) -> f64 {
        // A record with the longest gradient and one without features.
        let mut found = 1.0;
        let mut squares = vec![Square { left: 0.0, right: 0.0, side: 2.0 }];
        for _ in 0..LEVELS {
            for &Square { left, right, side } in &squares {
                let middle = |place: f64| Angle::new(place + 0.5 * side);
                let square = self.square_distance(middle(left), middle(right));
                found = if square > found { square } else { found };
            }
            let enough = found * (1.0 + TOLERANCE) * (1.0 + TOLERANCE);
            squares.retain(|square| self.bound(square) > enough);
            if squares.is_empty() {
                return enough.sqrt();
            }
            squares = squares.iter().flat_map(Square::quarters).collect();
        }
        let enough = found * (1.0 + TOLERANCE) * (1.0 + TOLERANCE);
        squares.iter().map(|square| self.bound(square)).fold(enough, f64::max).sqrt()
    }
}

impl Square {
    /// Of a pair and the same pair in the other order one is enough.
    fn quarters(&self) -> impl Iterator<Item = Square> + use<> {
        let Square { left, right, side } = *self;
        let half = 0.5 * side;
        let quarters = [(0.0, 0.0), (0.0, half), (half, 0.0), (half, half)];
        let quarters =
            quarters.map(|(x, y)| Square { left: left + x, right: right + y, side: half });
        quarters.into_iter().filter(|quarter| quarter.left <= quarter.right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spread::one_score::squared_height;

    /// The largest distance on a grid of angles.
    fn scan(curve: &Curve) -> f64 {
        let angles: Vec<Angle> = (0..=600).map(|k| Angle::new(f64::from(k) / 300.0)).collect();
        let mut widest = 1.0_f64;
        for (index, &left) in angles.iter().enumerate() {
            for &right in &angles[index..] {
                widest = widest.max(curve.square_distance(left, right));
            }
        }
        widest.sqrt()
    }

    #[test]
    fn the_bound_is_just_above_what_a_scan_finds() {
        for degree in [2, 3, 4, 6, 8] {
            for (reach, label) in
                [(0.0, 1.0), (0.1, 1.0), (1.0, 1.0), (1.0, 0.2), (5.0, 1.0), (1.0, 0.0)]
            {
                let found = power_spread(reach, label, degree);
                let largest = reach + label;
                let curve =
                    Curve { reach: reach / largest, label: label / largest, power: degree - 1 };
                let scanned = scan(&curve);
                assert!(found >= scanned, "{degree} {reach} {label}: {found} {scanned}");
                assert!(found <= 1.002 * scanned, "{degree} {reach} {label}: {found} {scanned}");
            }
        }
    }

    #[test]
    fn for_the_squared_loss_it_is_the_formula() {
        for (reach, label) in [(1.0, 1.0), (3.0, 0.5), (0.2, 4.0)] {
            let formula = 2.0 * squared_height(reach, label) / (reach + label);
            let found = power_spread(reach, label, 2);
            assert!(
                found >= formula && found <= formula * (1.0 + 2.0 * TOLERANCE),
                "{reach} {label}"
            );
        }
    }

    #[test]
    fn points_across_from_each_other_are_not_the_farthest_where_the_slope_is_steep() {
        // The control: twice the height of the curve, as for the squared loss, would be too small.
        let curve = Curve { reach: 1.0, label: 0.0, power: 3 };
        let heights = (0..=1000).map(|k| Angle::new(f64::from(k) / 1000.0));
        let twice = heights.map(|a| 2.0 * a.sine * curve.slope(a.cosine)).fold(0.0, f64::max);
        assert!(twice < 0.7 && power_spread(1.0, 0.0, 4) >= 1.0, "{twice}");
    }

    #[test]
    fn spreads_have_the_same_bits_everywhere() {
        assert_eq!(
            power_spread(3.0, 1.0, 4).to_bits(),
            GOLDEN,
            "{:#x}",
            power_spread(3.0, 1.0, 4).to_bits()
        );
        assert!(
            power_spread(f64::NAN, 1.0, 4).is_nan() && power_spread(f64::INFINITY, 1.0, 4).is_nan()
        );
        assert!((power_spread(0.0, 0.0, 4) - 2.0).abs() < 1e-300);
        assert!((power_spread(0.0, 3.0, 4) / 2.0 - 1.0).abs() < 1e-2);
    }

    const GOLDEN: u64 = 0;
}
