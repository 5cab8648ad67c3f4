//! The parameter set Θ and the projection onto it.

use serde::{Deserialize, Serialize};

/// A compact convex set of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Domain {
    /// All θ with ‖θ‖₂ ≤ radius.
    Ball {
        /// The radius.
        radius: f64,
    },
    /// All θ with every coordinate between two bounds.
    Box {
        /// The smallest coordinate.
        lower: f64,
        /// The largest coordinate.
        upper: f64,
    },
    /// All θ with non-negative coordinates that add up to `total`.
    Simplex {
        /// The sum of the coordinates.
        total: f64,
    },
}

impl Domain {
    /// A bound on ‖θ‖₂ over the set, in n dimensions.
    #[must_use]
    pub fn radius(&self, dimension: usize) -> f64 {
        match *self {
            Domain::Ball { radius } => radius,
            Domain::Box { lower, upper } => {
                #[expect(clippy::cast_precision_loss, reason = "dimensions stay far below 2^53")]
                let root = (dimension as f64).sqrt();
                lower.abs().max(upper.abs()) * root
            }
            Domain::Simplex { total } => total,
        }
    }

    /// Moves θ to the nearest point of the set.
    ///
    /// # Guarantee
    /// The projection onto a convex set is non-expansive in the Euclidean norm, which the
    /// sensitivity recursion relies on. Afterwards θ lies in the set, in machine arithmetic too for
    /// ball and box.
    ///
    /// # Source
    /// Simplex: the sort-based method of Held, Wolfe & Crowder (1974). Paper map, row 5.
    pub fn project(&self, theta: &mut [f64]) {
        match *self {
            Domain::Ball { radius } => project_ball(radius, theta),
            Domain::Box { lower, upper } => {
                for value in theta {
                    *value = value.clamp(lower, upper);
                }
            }
            Domain::Simplex { total } => project_simplex(total, theta),
        }
    }

    /// Whether θ lies in the set, up to rounding.
    #[cfg(test)]
    fn contains(&self, theta: &[f64]) -> bool {
        let slack = 1e-9;
        match *self {
            Domain::Ball { radius } => norm(theta) <= radius * (1.0 + slack),
            Domain::Box { lower, upper } => theta.iter().all(|&x| x >= lower && x <= upper),
            Domain::Simplex { total } => {
                theta.iter().all(|&x| x >= 0.0)
                    && (theta.iter().sum::<f64>() - total).abs() <= slack * total
            }
        }
    }
}

fn norm(theta: &[f64]) -> f64 {
    theta.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn project_ball(radius: f64, theta: &mut [f64]) {
    let length = norm(theta);
    if length > radius {
        // Slightly smaller than needed, so that rounding does not leave θ outside.
        let factor = (radius / length) * (1.0 - 4.0 * f64::EPSILON);
        for value in theta {
            *value *= factor;
        }
    }
}

fn project_simplex(total: f64, theta: &mut [f64]) {
    let mut sorted = theta.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let mut sum = 0.0;
    let mut shift = 0.0;
    for (place, &value) in sorted.iter().enumerate() {
        sum += value;
        #[expect(clippy::cast_precision_loss, reason = "dimensions stay far below 2^53")]
        let candidate = (sum - total) / (place + 1) as f64;
        if value > candidate {
            shift = candidate;
        }
    }
    for value in theta {
        *value = (*value - shift).max(0.0);
    }
}

/// Shrinks every coordinate towards zero by `amount`: the proximal step of a lasso penalty.
///
/// # Guarantee
/// Proximal maps are non-expansive, so a lasso penalty adds nothing to the sensitivity.
pub(crate) fn soft_threshold(amount: f64, theta: &mut [f64]) {
    for value in theta {
        *value = (value.abs() - amount).max(0.0).copysign(*value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn domains() -> impl Strategy<Value = Domain> {
        prop_oneof![
            (0.01f64..10.0).prop_map(|radius| Domain::Ball { radius }),
            (-5.0f64..0.0, 0.0f64..5.0).prop_map(|(lower, upper)| Domain::Box { lower, upper }),
            (0.01f64..10.0).prop_map(|total| Domain::Simplex { total }),
        ]
    }

    fn vectors() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
        (1usize..12).prop_flat_map(|n| {
            (prop::collection::vec(-20.0f64..20.0, n), prop::collection::vec(-20.0f64..20.0, n))
        })
    }

    fn distance(left: &[f64], right: &[f64]) -> f64 {
        left.iter().zip(right).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
    }

    proptest! {
        #[test]
        fn projection_is_feasible_idempotent_and_non_expansive(
            domain in domains(), (left, right) in vectors()
        ) {
            let (mut a, mut b) = (left.clone(), right.clone());
            domain.project(&mut a);
            domain.project(&mut b);
            prop_assert!(domain.contains(&a) && domain.contains(&b));
            prop_assert!(distance(&a, &b) <= distance(&left, &right) + 1e-9);
            prop_assert!(norm(&a) <= domain.radius(a.len()) * (1.0 + 1e-9));
            let mut twice = a.clone();
            domain.project(&mut twice);
            prop_assert!(distance(&a, &twice) < 1e-9);
        }

        #[test]
        fn no_feasible_point_is_nearer(domain in domains(), (point, other) in vectors()) {
            let mut projected = point.clone();
            domain.project(&mut projected);
            let mut feasible = other.clone();
            domain.project(&mut feasible);
            prop_assert!(distance(&point, &projected) <= distance(&point, &feasible) + 1e-9);
        }

        #[test]
        fn soft_threshold_is_non_expansive((left, right) in vectors(), amount in 0.0f64..5.0) {
            let (mut a, mut b) = (left.clone(), right.clone());
            soft_threshold(amount, &mut a);
            soft_threshold(amount, &mut b);
            prop_assert!(distance(&a, &b) <= distance(&left, &right) + 1e-12);
        }
    }

    #[test]
    fn a_projection_that_expands_would_be_noticed() {
        // Control: scaling to the sphere instead of the ball is not non-expansive.
        let to_sphere = |theta: &[f64]| theta.iter().map(|x| x / norm(theta)).collect::<Vec<_>>();
        let (left, right) = (vec![0.01, 0.0], vec![-0.01, 0.0]);
        assert!(distance(&to_sphere(&left), &to_sphere(&right)) > distance(&left, &right));
    }
}
