//! Checks by sampling what a user declares about a loss. It can refute a declaration; it cannot prove one.

use thiserror::Error;
use undertone_core::{Loss, ModelSpec};
use undertone_models::{DeclaredLoss, PublicRandom, Setup};

/// On how many random points and records a declaration is tried before a learner begins.
pub const DECLARATION_SAMPLES: u32 = 200;

/// The relative error that is tolerated before a declaration counts as false.
const SLACK: f64 = 1e-6;
/// The step of the finite differences that gradients are compared with, relative to the radius.
const STEP: f64 = 1e-5;
/// How far a gradient may be from the finite differences, relative to its bound: differences are inexact.
const DIFFERENCE_SLACK: f64 = 1e-3;

/// Which declaration is false. The sampled points and records are random, so the numbers may be shown.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum DeclarationError {
    /// The function failed.
    #[error("the loss failed on a random record within the bounds")]
    Failed,
    /// The loss or its gradient is NaN or infinite.
    #[error("the loss or its gradient is not finite on a random record within the bounds")]
    NotFinite,
    /// The gradient is not that of the loss.
    #[error(
        "the gradient is not that of the loss: {found:.6} along a random direction, where finite differences give {expected:.6}"
    )]
    Gradient {
        /// The slope by the gradient.
        found: f64,
        /// The slope by finite differences.
        expected: f64,
    },
    /// A gradient is longer than declared.
    #[error("gradient_norm = {declared}: a gradient of norm {found:.6} was found")]
    Norm {
        /// What was declared.
        declared: f64,
        /// What was found.
        found: f64,
    },
    /// Gradients of two records differ by more than declared.
    #[error(
        "gradient_spread = {declared}: two records whose gradients are {found:.6} apart were found"
    )]
    Spread {
        /// What was declared.
        declared: f64,
        /// What was found.
        found: f64,
    },
    /// Gradients at two points differ by more than declared.
    #[error("smoothness = {declared}: gradients that change by {found:.6} per unit were found")]
    Smoothness {
        /// What was declared.
        declared: f64,
        /// What was found.
        found: f64,
    },
    /// The loss is less convex than declared.
    #[error("strong_convexity = {declared}: two points with only {found:.6} were found")]
    Convexity {
        /// What was declared.
        declared: f64,
        /// What was found.
        found: f64,
    },
}

/// Tries random points of Θ and random records within the bounds.
///
/// # Errors
/// The first declaration that is found to be false.
///
/// # Panics
/// When the loss of the setup is not a declared one: a bug in the caller.
pub fn check_declaration(
    setup: &Setup,
    function: &dyn DeclaredLoss,
    samples: u32,
    seed: u64,
) -> Result<(), DeclarationError> {
    let spec = setup.agreement.model;
    let Loss::Declared { .. } = spec.loss else { unreachable!("a declared loss") };
    let mut sampler = Sampler { order: PublicRandom::new(seed), setup };
    for sample in 0..samples {
        let records = [sampler.record(), sampler.record()];
        let mut points = [sampler.point(), sampler.point()];
        if sample % 2 == 1 {
            // Curvature shows between close points, above all along the gradient: in many dimensions few random
            // directions are near it.
            points[1] = beside(function, &points[0], &records[0], setup)?;
        }
        check_pair(&spec, function, &points, &records)?;
        let direction = sampler.direction(points[0].len());
        let reach = STEP * setup.agreement.bounds.radius.min(1.0);
        check_gradient(&spec, function, &points[0], &records[0], &direction, reach)?;
    }
    Ok(())
}

/// Random features with their label.
type Drawn = (Vec<f64>, f64);

fn evaluate(
    function: &dyn DeclaredLoss,
    theta: &[f64],
    record: &Drawn,
) -> Result<(f64, Vec<f64>), DeclarationError> {
    let mut gradient = vec![0.0; theta.len()];
    let value = function.evaluate(theta, &record.0, record.1, &mut gradient);
    let value = value.ok_or(DeclarationError::Failed)?;
    if value.is_finite() && gradient.iter().all(|slope| slope.is_finite()) {
        Ok((value, gradient))
    } else {
        Err(DeclarationError::NotFinite)
    }
}

/// A point near another, along the gradient.
fn beside(
    function: &dyn DeclaredLoss,
    point: &[f64],
    record: &Drawn,
    setup: &Setup,
) -> Result<Vec<f64>, DeclarationError> {
    let (_, gradient) = evaluate(function, point, record)?;
    let length = norm(&gradient).max(f64::MIN_POSITIVE);
    let reach = 1e-3 * setup.agreement.bounds.radius.min(1.0);
    let mut moved: Vec<f64> = point
        .iter()
        .zip(&gradient)
        .map(|(&value, &slope)| value + reach * slope / length)
        .collect();
    setup.agreement.domain.project(&mut moved);
    Ok(moved)
}

fn check_pair(
    spec: &ModelSpec,
    function: &dyn DeclaredLoss,
    points: &[Vec<f64>; 2],
    records: &[Drawn; 2],
) -> Result<(), DeclarationError> {
    let Loss::Declared { curvature, gradient_spread, .. } = spec.loss else { return Ok(()) };
    let (_, here) = evaluate(function, &points[0], &records[0])?;
    let (_, there) = evaluate(function, &points[1], &records[0])?;
    let (_, other) = evaluate(function, &points[0], &records[1])?;
    let above = |found: f64, declared: f64| !(found <= declared * (1.0 + SLACK) + 1e-12);
    if let Some(declared) = gradient_spread {
        let found = norm(&difference(&here, &other));
        if above(found, declared) {
            return Err(DeclarationError::Spread { declared, found });
        }
    }
    let Some(curvature) = curvature else { return Ok(()) };
    // Without L and μ long gradients are clipped, so they are allowed.
    let found = norm(&here);
    if above(found, spec.clip) {
        return Err(DeclarationError::Norm { declared: spec.clip, found });
    }
    let (apart, change) = (difference(&points[0], &points[1]), difference(&here, &there));
    let distance = norm(&apart);
    if !(distance > 0.0) {
        return Ok(());
    }
    let (found, declared) = (norm(&change) / distance, curvature.smoothness);
    if above(found, declared) {
        return Err(DeclarationError::Smoothness { declared, found });
    }
    let found = dot(&change, &apart) / (distance * distance);
    let declared = curvature.strong_convexity;
    if !(found >= declared - SLACK * (1.0 + declared.abs())) {
        return Err(DeclarationError::Convexity { declared, found });
    }
    Ok(())
}

fn check_gradient(
    spec: &ModelSpec,
    function: &dyn DeclaredLoss,
    theta: &[f64],
    record: &Drawn,
    direction: &[f64],
    reach: f64,
) -> Result<(), DeclarationError> {
    let moved = |by: f64| -> Vec<f64> {
        theta.iter().zip(direction).map(|(&value, &along)| value + by * along).collect()
    };
    let (ahead, _) = evaluate(function, &moved(reach), record)?;
    let (behind, _) = evaluate(function, &moved(-reach), record)?;
    let (value, gradient) = evaluate(function, theta, record)?;
    let (found, expected) = (dot(&gradient, direction), (ahead - behind) / (2.0 * reach));
    // Rounding of the values, magnified by the division, and the curvature of a loss that is not smooth.
    let rounding = 1e-15 * value.abs().max(1.0) / reach;
    let scale = norm(&gradient).max(spec.clip.min(1.0));
    if (found - expected).abs() <= DIFFERENCE_SLACK * scale + rounding * 8.0 {
        Ok(())
    } else {
        Err(DeclarationError::Gradient { found, expected })
    }
}

struct Sampler<'a> {
    order: PublicRandom,
    setup: &'a Setup,
}

impl Sampler<'_> {
    /// A random unit vector. It is not exactly uniform, which is good enough here.
    fn direction(&mut self, dimension: usize) -> Vec<f64> {
        let mut drawn: Vec<f64> = (0..dimension).map(|_| self.order.unit() - 0.5).collect();
        let length = norm(&drawn).max(f64::MIN_POSITIVE);
        drawn.iter_mut().for_each(|value| *value /= length);
        drawn
    }

    /// The distance from the centre as a share of the radius: often 1, where bounds are tight.
    fn share(&mut self) -> f64 {
        (2.0 * self.order.unit()).min(1.0)
    }

    /// A point at a random scale by powers of two: losses curve at different scales.
    fn point(&mut self) -> Vec<f64> {
        let config = &self.setup.agreement;
        let (dimension, radius) = (config.model.parameters(), config.bounds.radius);
        let length = radius * (-10.0 * (2.0 * self.order.unit() - 1.0).max(0.0)).exp2();
        let mut point = self.direction(dimension);
        point.iter_mut().for_each(|value| *value *= length);
        config.domain.project(&mut point);
        point
    }

    fn record(&mut self) -> Drawn {
        let config = &self.setup.agreement;
        let length = config.bounds.feature_norm * self.share();
        let mut features = self.direction(config.model.features);
        features.iter_mut().for_each(|value| *value *= length);
        let bound = config.bounds.label;
        let side = if self.order.unit() < 0.5 { -1.0 } else { 1.0 };
        (features, side * bound * self.share())
    }
}

fn difference(left: &[f64], right: &[f64]) -> Vec<f64> {
    left.iter().zip(right).map(|(a, b)| a - b).collect()
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}

fn norm(values: &[f64]) -> f64 {
    dot(values, values).sqrt()
}
