//! What the accountant needs to know about a loss: its smoothness L, strong convexity μ and spread
//! C.
//!
//! Only these public constants live here, next to the privacy analysis that uses them. Values and
//! gradients are computed in the crate `undertone-models`.

use crate::spread::gradient_spread;
use serde::{Deserialize, Serialize};

/// Public bounds on the data and the parameters. Budgets follow from them without reading a record.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataBounds {
    /// Every feature vector has at most this Euclidean norm.
    pub feature_norm: f64,
    /// Every regression target has at most this absolute value. Unused by classification losses.
    pub label: f64,
    /// Every θ in Θ has at most this Euclidean norm.
    pub radius: f64,
}

/// The loss of one record as a function of the prediction a·θ (or of one score for each class).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// ½(a·θ − b)².
    Squared,
    /// (a·θ − b)^q / q for an even degree q.
    Power {
        /// The even degree q.
        degree: u32,
    },
    /// Quadratic for residuals up to the threshold, linear beyond.
    Huber {
        /// The residual at which the loss turns linear.
        threshold: f64,
    },
    /// ln(1 + exp(−y a·θ)), y = ±1.
    Logistic,
    /// −ln softmax(Θa)_b, one row of parameters for each class.
    Softmax {
        /// How many classes.
        classes: u32,
    },
    /// The cross-entropy of a neural network's logits ([`crate::neural`]).
    Neural {
        /// How many classes.
        classes: u32,
        /// How many parameters.
        parameters: usize,
    },
    /// A user-defined function. Only what the user declares about it is known; `clip` bounds its
    /// gradients.
    Declared {
        /// How many parameters.
        parameters: usize,
        /// L and μ, if the user declares them.
        curvature: Option<DeclaredCurvature>,
        /// C, if the user declares less than twice the clipping bound.
        gradient_spread: Option<f64>,
    },
}

/// What the user declares about a function's second derivatives. It is not proved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeclaredCurvature {
    /// L: record gradients are L-Lipschitz in θ.
    pub smoothness: f64,
    /// μ: record losses are μ-strongly convex; −L for one that is not convex.
    pub strong_convexity: f64,
}

impl Loss {
    /// How many classes a record may have; `None` for regression.
    #[must_use]
    pub fn classes(self) -> Option<u32> {
        match self {
            Loss::Squared | Loss::Power { .. } | Loss::Huber { .. } | Loss::Declared { .. } => None,
            Loss::Logistic => Some(2),
            Loss::Softmax { classes } | Loss::Neural { classes, .. } => Some(classes),
        }
    }
}

/// A loss with its features and penalties. The number of parameters and L, μ, C follow from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelSpec {
    /// The loss of one record.
    pub loss: Loss,
    /// The dimension of a record's features.
    pub features: usize,
    /// Features are expanded into all monomials up to this degree; 1 leaves them as they are.
    pub degree: u32,
    /// The weight r of (r/2)‖θ‖².
    pub ridge: f64,
    /// The weight of ‖θ‖₁, applied as a proximal step.
    pub lasso: f64,
    /// The slope of a record's loss in its score is cut to this. For softmax it is the norm of the
    /// slopes, for a neural network or a declared loss the norm of the whole gradient. Infinity
    /// cuts nothing.
    pub clip: f64,
}

/// The constants of Assumptions 1, 3 and 5 for one loss under given bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossConstants {
    /// L: record gradients are L-Lipschitz in θ.
    pub smoothness: f64,
    /// μ ≥ 0: record losses are μ-strongly convex; −L for a loss that is not convex.
    pub strong_convexity: f64,
    /// C: two records' gradients at one θ differ by at most this norm.
    pub gradient_spread: f64,
    /// G: a record's gradient, without the ridge term, has at most this norm.
    pub gradient_norm: f64,
}

impl LossConstants {
    /// How much f32 arithmetic may add to one record's effect on a sum of clipped gradients, as a share
    /// of it.
    ///
    /// `undertone-models`, which computes the gradients, proves that it adds no more.
    pub const NEURAL_ROUNDING: f64 = 2e-5;

    /// How much rounding may add to the norm of a declared loss's gradient, as a share of its bound.
    pub const DECLARED_ROUNDING: f64 = 1e-9;
}

impl ModelSpec {
    /// The number of features after expansion into monomials.
    #[must_use]
    pub fn expanded_features(&self) -> usize {
        if self.degree <= 1 {
            return self.features;
        }
        // The number of monomials of at most degree q in d variables is (d+q choose q).
        let mut count: u128 = 1;
        for k in 1..=u128::from(self.degree) {
            count = count.saturating_mul(self.features as u128 + k) / k;
        }
        usize::try_from(count).unwrap_or(usize::MAX)
    }

    /// The number n of parameters.
    #[must_use]
    pub fn parameters(&self) -> usize {
        match self.loss {
            Loss::Softmax { classes } => self.expanded_features().saturating_mul(classes as usize),
            Loss::Neural { parameters, .. } | Loss::Declared { parameters, .. } => parameters,
            Loss::Squared | Loss::Power { .. } | Loss::Huber { .. } | Loss::Logistic => {
                self.expanded_features()
            }
        }
    }

    /// A bound on the norm of the expanded features.
    ///
    /// The squares of all monomials of degree k in x sum to at most ‖x‖^2k, so the expanded norm is
    /// at most the root of 1 + R² + R⁴ + … + R^2q.
    #[must_use]
    pub fn expanded_feature_norm(&self, bounds: &DataBounds) -> f64 {
        if self.degree <= 1 {
            return bounds.feature_norm;
        }
        let square = bounds.feature_norm * bounds.feature_norm;
        let mut power = 1.0;
        let mut sum = 1.0;
        for _ in 0..self.degree {
            power *= square;
            sum += power;
        }
        sum.sqrt()
    }

    /// L, μ and C under the given bounds.
    ///
    /// # Guarantee
    /// Upper bounds on L and C and a lower bound on μ for every θ in Θ and every pair of records
    /// within the bounds. A ridge r adds r to L and to μ and nothing to C.
    #[must_use]
    pub fn constants(&self, bounds: &DataBounds) -> LossConstants {
        let norm = self.expanded_feature_norm(bounds);
        let residual = norm * bounds.radius + bounds.label;
        let (curvature, slope) = match self.loss {
            Loss::Squared => (1.0, residual),
            Loss::Power { degree } => {
                let inner = residual.powf(f64::from(degree) - 2.0);
                (f64::from(degree - 1) * inner, inner * residual)
            }
            Loss::Huber { threshold } => (1.0, threshold.min(residual)),
            // The logistic function has slope at most 1/4 and values in (0, 1).
            Loss::Logistic => (0.25, 1.0),
            // The softmax Jacobian has norm at most 1/2, and ‖p − e_b‖ is at most √2.
            Loss::Softmax { .. } => (0.5, std::f64::consts::SQRT_2),
            Loss::Neural { .. } => return self.neural_constants(),
            Loss::Declared { curvature, gradient_spread, .. } => {
                return self.declared_constants(curvature, gradient_spread);
            }
        };
        let smoothness = curvature * norm * norm + self.ridge;
        // A slope that is cut at ± a constant is still non-decreasing in the score: the loss stays
        // convex, with no larger L. Cutting the slopes of several classes together keeps them
        // Lipschitz (it is a projection onto a ball), but they are no longer the slopes of a convex
        // function.
        let convex = !(matches!(self.loss, Loss::Softmax { .. }) && self.clip < slope);
        let gradient_norm = slope.min(self.clip) * norm;
        // Both hold, whatever is cut: a record without features has no gradient, so that cut gradients lie between those
        // of two records.
        let spread = gradient_spread(self.loss, norm, bounds);
        LossConstants {
            smoothness,
            strong_convexity: if convex { self.ridge } else { -smoothness },
            gradient_spread: if spread < 2.0 * gradient_norm {
                spread
            } else {
                2.0 * gradient_norm
            },
            gradient_norm,
        }
    }

    /// The declared constants, limited by what clipping guarantees.
    fn declared_constants(
        &self,
        curvature: Option<DeclaredCurvature>,
        gradient_spread: Option<f64>,
    ) -> LossConstants {
        let (smoothness, strong_convexity) = match curvature {
            Some(declared) => (declared.smoothness, declared.strong_convexity),
            None => (f64::INFINITY, f64::NEG_INFINITY),
        };
        // A norm is computed with rounding errors, so gradients may exceed the bound by this much.
        let gradient_norm = self.clip * (1.0 + LossConstants::DECLARED_ROUNDING);
        LossConstants {
            smoothness: smoothness + self.ridge,
            strong_convexity: strong_convexity + self.ridge,
            gradient_spread: gradient_spread.unwrap_or(f64::INFINITY).min(2.0 * gradient_norm),
            gradient_norm,
        }
    }

    /// A sentence that says which constants are only declared by the user; `None` for built-in
    /// losses.
    #[must_use]
    pub fn declared_by_user(&self) -> Option<String> {
        let Loss::Declared { curvature, gradient_spread, .. } = self.loss else { return None };
        let mut words = Vec::new();
        if let Some(DeclaredCurvature { smoothness, strong_convexity }) = curvature {
            words.push(format!("L = {smoothness}, μ = {strong_convexity}"));
        }
        if let Some(spread) = gradient_spread {
            words.push(format!("C = {spread}"));
        }
        Some(if words.is_empty() {
            format!(
                "the loss is a function of the user's own; gradients of records are cut to norm {}, \
                 and nothing else of it is used",
                self.clip
            )
        } else {
            format!(
                "declared by user: {} of the loss, checked by sampling alone; what is said of privacy \
                 here holds if they do",
                words.join(", ")
            )
        })
    }

    /// For a neural network, only what clipping guarantees is known: there is no L and no
    /// convexity, and C is twice the bound.
    fn neural_constants(&self) -> LossConstants {
        let gradient_norm = self.clip * (1.0 + LossConstants::NEURAL_ROUNDING);
        LossConstants {
            smoothness: f64::INFINITY,
            strong_convexity: f64::NEG_INFINITY,
            gradient_spread: 2.0 * gradient_norm,
            gradient_norm,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(loss: Loss, degree: u32) -> ModelSpec {
        ModelSpec { loss, features: 3, degree, ridge: 0.5, lasso: 0.0, clip: f64::INFINITY }
    }

    #[test]
    fn logistic_constants_are_those_of_method_md() {
        let bounds = DataBounds { feature_norm: 1.0, label: 1.0, radius: 10.0 };
        let constants = ModelSpec { ridge: 0.0, ..spec(Loss::Logistic, 1) }.constants(&bounds);
        assert!((constants.smoothness - 0.25).abs() < 1e-15);
        assert!((constants.gradient_norm - 1.0).abs() < 1e-15);
        // Not twice that: features cannot point along θ and away from each other.
        assert!((constants.gradient_spread - 1.8208).abs() < 1e-4);
        assert!(constants.strong_convexity.abs() < 1e-15);
    }

    #[test]
    fn ridge_adds_to_smoothness_and_convexity_and_nothing_to_the_spread() {
        let bounds = DataBounds { feature_norm: 2.0, label: 1.0, radius: 3.0 };
        let with = spec(Loss::Squared, 1).constants(&bounds);
        let without = ModelSpec { ridge: 0.0, ..spec(Loss::Squared, 1) }.constants(&bounds);
        assert!((with.smoothness - without.smoothness - 0.5).abs() < 1e-12);
        assert!((with.strong_convexity - 0.5).abs() < 1e-12);
        assert!((with.gradient_spread - without.gradient_spread).abs() < 1e-12);
        assert!((with.gradient_norm - 2.0 * 7.0).abs() < 1e-12);
        // At the cosine (√289 − 1)/24 = ⅔: 4 · √5/3 · (1 + 6 · ⅔).
        assert!((with.gradient_spread - 20.0 * 5.0_f64.sqrt() / 3.0).abs() < 1e-10);
    }

    #[test]
    fn clipping_leaves_the_smaller_of_both_spreads() {
        let bounds = DataBounds { feature_norm: 2.0, label: 1.0, radius: 3.0 };
        for loss in [Loss::Squared, Loss::Logistic, Loss::Softmax { classes: 4 }] {
            let free = spec(loss, 1).constants(&bounds).gradient_spread;
            for clip in [0.01, 0.1, 0.4, 0.5, 1.0, 10.0] {
                let cut = ModelSpec { clip, ..spec(loss, 1) }.constants(&bounds).gradient_spread;
                assert!((cut - free.min(4.0 * clip)).abs() < 1e-12, "{loss:?} {clip}");
            }
        }
    }

    #[test]
    fn the_spread_is_never_above_twice_the_largest_gradient() {
        let losses = [
            Loss::Squared,
            Loss::Power { degree: 4 },
            Loss::Huber { threshold: 0.3 },
            Loss::Logistic,
            Loss::Softmax { classes: 2 },
            Loss::Softmax { classes: 7 },
        ];
        for loss in losses {
            for degree in [1, 3] {
                for radius in [0.01, 1.0, 30.0, 1e7] {
                    let bounds = DataBounds { feature_norm: 0.8, label: 2.0, radius };
                    let constants = spec(loss, degree).constants(&bounds);
                    assert!(constants.gradient_spread <= 2.0 * constants.gradient_norm);
                    // A record with the longest gradient and one without features are that far apart.
                    assert!(constants.gradient_spread > 0.7 * constants.gradient_norm);
                }
            }
        }
    }

    #[test]
    fn bounds_that_are_no_numbers_give_no_finite_spread() {
        let bounds = DataBounds { feature_norm: 1.0, label: 1.0, radius: f64::NAN };
        let squared = spec(Loss::Squared, 1).constants(&bounds);
        assert!(!squared.gradient_spread.is_finite());
        // Of these C is bounded whatever Θ is.
        for (loss, norm) in [(Loss::Logistic, 1.0), (Loss::Softmax { classes: 3 }, 2.0_f64.sqrt())]
        {
            let spread = spec(loss, 1).constants(&bounds).gradient_spread;
            assert!((spread - 2.0 * norm).abs() < 1e-12, "{loss:?}");
        }
    }

    #[test]
    fn a_neural_network_has_the_spread_that_clipping_gives_and_nothing_else() {
        let bounds = DataBounds { feature_norm: 28.0, label: 0.0, radius: 3.0 };
        let neural = Loss::Neural { classes: 10, parameters: 18_378 };
        let clipped = ModelSpec { ridge: 0.0, clip: 0.5, ..spec(neural, 1) };
        assert_eq!(clipped.parameters(), 18_378);
        let constants = clipped.constants(&bounds);
        assert!(constants.smoothness.is_infinite());
        assert!((constants.gradient_spread - 1.0).abs() < 1e-4 && constants.gradient_spread > 1.0);
        let loose = ModelSpec { clip: f64::INFINITY, ..clipped }.constants(&bounds);
        assert!(loose.gradient_spread.is_infinite());
    }

    #[test]
    fn a_declared_loss_has_what_is_declared_and_no_more_spread_than_clipping_leaves() {
        let bounds = DataBounds { feature_norm: 1.0, label: 1.0, radius: 3.0 };
        let curvature = Some(DeclaredCurvature { smoothness: 2.0, strong_convexity: 0.25 });
        let loss = |gradient_spread| Loss::Declared { parameters: 7, curvature, gradient_spread };
        let declared = ModelSpec { clip: 1.5, ..spec(loss(Some(1.0)), 1) };
        assert_eq!(declared.parameters(), 7);
        let constants = declared.constants(&bounds);
        assert!((constants.smoothness - 2.5).abs() < 1e-15, "the ridge is added");
        assert!((constants.strong_convexity - 0.75).abs() < 1e-15);
        assert!((constants.gradient_spread - 1.0).abs() < 1e-15);
        let wide = ModelSpec { clip: 1.5, ..spec(loss(Some(9.0)), 1) }.constants(&bounds);
        assert!((wide.gradient_spread - 3.0).abs() < 1e-8, "clipping bounds it");
        assert!(declared.declared_by_user().is_some_and(|text| text.contains("declared by user")));
        assert!(spec(Loss::Logistic, 1).declared_by_user().is_none());
    }

    #[test]
    fn monomials_are_counted() {
        // 1, x, y, z, and six of degree two.
        assert_eq!(spec(Loss::Squared, 2).expanded_features(), 10);
        assert_eq!(spec(Loss::Softmax { classes: 4 }, 1).parameters(), 12);
    }
}
