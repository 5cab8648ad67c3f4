//! θ*_t: the optimum over all learners' histories, which private runs are compared with.
//!
//! Newton's method starts at the previous round's optimum. A new record changes the Hessian by 1/h, so its
//! decomposition is kept until a step no longer halves the gradient.

use nalgebra::{DMatrix, DVector, SymmetricEigen};
use rayon::prelude::*;
use std::sync::Arc;
use undertone::{Domain, Memory, Round};
use undertone_models::Model;
use undertone_models::memory::Exact;

/// Above this many parameters projected gradients are used instead of the Hessian.
const NEWTON_PARAMETERS_MAX: usize = 300;
/// The largest product of parameters and records for which projected gradients are used: each row of measurements may take
/// a thousand of them.
const WORK_MAX: u64 = 100_000_000;
/// Both methods stop when a projected gradient step of unit length moves θ by at most this.
const TOLERANCE: f64 = 1e-9;

/// The optimum of F_t = (1/m) Σ_i f_i over Θ, where f_i averages learner i's history.
pub struct Optimum {
    model: Arc<Model>,
    domain: Domain,
    theta: Vec<f64>,
    hessian: Option<SymmetricEigen<f64, nalgebra::Dyn>>,
}

/// Whether the optimum of a model on this many records is found in a reasonable time.
#[must_use]
pub(crate) fn is_feasible(parameters: usize, records: u64) -> bool {
    parameters <= NEWTON_PARAMETERS_MAX || records.saturating_mul(parameters as u64) <= WORK_MAX
}

impl Optimum {
    /// Starts at the point of Θ nearest to zero.
    #[must_use]
    pub fn new(model: Arc<Model>, domain: Domain) -> Optimum {
        let mut theta = vec![0.0; model.parameters()];
        domain.project(&mut theta);
        Optimum { model, domain, theta, hessian: None }
    }

    /// The most recent optimum.
    #[must_use]
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// Finds the optimum of the current histories.
    pub fn update(&mut self, histories: &mut [Exact]) {
        let smooth = !(self.model.spec().lasso > 0.0);
        match self.domain {
            Domain::Ball { radius } if smooth && self.theta.len() <= NEWTON_PARAMETERS_MAX => {
                self.newton(histories, radius);
            }
            Domain::Ball { .. } | Domain::Box { .. } | Domain::Simplex { .. } => {
                self.projected_gradient(histories);
            }
        }
    }

    /// Newton steps, each the exact minimum of the quadratic model over the ball.
    fn newton(&mut self, histories: &mut [Exact], radius: f64) {
        let mut gradient = average_gradient(histories, &self.theta);
        let mut residual = self.residual(&self.theta, &gradient);
        for _ in 0..60 {
            if residual <= TOLERANCE {
                return;
            }
            let fresh = self.hessian.is_none();
            let hessian =
                self.hessian.get_or_insert_with(|| average_hessian(histories, &self.theta));
            let target = minimum_in_ball(hessian, &self.theta, &gradient, radius);
            let mut length = 1.0;
            let (candidate, next, size) = loop {
                let mix = |(x, y): (&f64, &f64)| x + length * (y - x);
                let candidate: Vec<f64> = self.theta.iter().zip(target.iter()).map(mix).collect();
                let next = average_gradient(histories, &candidate);
                let size = self.residual(&candidate, &next);
                if size < residual || length < 1e-4 {
                    break (candidate, next, size);
                }
                length *= 0.5;
            };
            if size > 0.5 * residual {
                self.hessian = None;
            }
            if size < residual {
                (self.theta, gradient, residual) = (candidate, next, size);
            } else if fresh {
                return;
            }
        }
    }

    fn residual(&self, theta: &[f64], gradient: &DVector<f64>) -> f64 {
        let mut moved: Vec<f64> = theta.iter().zip(gradient.iter()).map(|(x, d)| x - d).collect();
        self.domain.project(&mut moved);
        moved.iter().zip(theta).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
    }

    /// Accelerated proximal gradient with restarts, for constrained, lasso and large problems.
    fn projected_gradient(&mut self, histories: &mut [Exact]) {
        let rate = 1.0 / self.model.constants().smoothness;
        let shrink = rate * self.model.spec().lasso;
        let mut previous = self.theta.clone();
        let mut lookahead = self.theta.clone();
        let mut momentum = 1.0f64;
        for _ in 0..1000 {
            let gradient = average_gradient(histories, &lookahead);
            let mut next: Vec<f64> = lookahead
                .iter()
                .zip(gradient.iter())
                .map(|(x, d)| {
                    let moved = x - rate * d;
                    (moved.abs() - shrink).max(0.0).copysign(moved)
                })
                .collect();
            self.domain.project(&mut next);
            let change: f64 =
                next.iter().zip(&previous).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
            let uphill: f64 = next
                .iter()
                .zip(&previous)
                .zip(&lookahead)
                .map(|((new, old), look)| (look - new) * (new - old))
                .sum();
            let following = if uphill > 0.0 {
                1.0
            } else {
                0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt())
            };
            let carry = if uphill > 0.0 { 0.0 } else { (momentum - 1.0) / following };
            lookahead =
                next.iter().zip(&previous).map(|(new, old)| new + carry * (new - old)).collect();
            momentum = following;
            previous = next;
            if change <= TOLERANCE * rate {
                break;
            }
        }
        self.theta = previous;
    }
}

/// The minimum over the ball of g·(x − θ) + ½(x − θ)ᵀH(x − θ).
///
/// It solves (H + νI)x = Hθ − g for the smallest ν ≥ 0 that keeps x in the ball; ‖x‖ decreases with ν.
fn minimum_in_ball(
    hessian: &SymmetricEigen<f64, nalgebra::Dyn>,
    theta: &[f64],
    gradient: &DVector<f64>,
    radius: f64,
) -> DVector<f64> {
    let basis = &hessian.eigenvectors;
    // Directions without curvature are left unchanged.
    let curvature = hessian.eigenvalues.map(|value| value.max(1e-12));
    let turned = curvature.component_mul(&basis.tr_mul(&DVector::from_column_slice(theta)))
        - basis.tr_mul(gradient);
    let solve = |shift: f64| turned.zip_map(&curvature, |b, value| b / (value + shift));
    let mut point = solve(0.0);
    if point.norm() > radius {
        let (mut low, mut high) = (0.0, turned.norm() / radius);
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if solve(middle).norm() > radius {
                low = middle;
            } else {
                high = middle;
            }
        }
        point = solve(high);
    }
    basis * point
}

fn average_hessian(histories: &[Exact], theta: &[f64]) -> SymmetricEigen<f64, nalgebra::Dyn> {
    let n = theta.len();
    let mut sum = DMatrix::<f64>::zeros(n, n);
    let mut one = vec![0.0; n * n];
    #[expect(clippy::cast_precision_loss, reason = "learner counts are small")]
    let share = 1.0 / histories.len() as f64;
    for history in histories {
        one.fill(0.0);
        history.average_hessian(theta, &mut one);
        for (slot, value) in sum.as_mut_slice().iter_mut().zip(&one) {
            *slot += share * value;
        }
    }
    sum.symmetric_eigen()
}

fn average_gradient(histories: &mut [Exact], theta: &[f64]) -> DVector<f64> {
    let mut sum = DVector::<f64>::zeros(theta.len());
    #[expect(clippy::cast_precision_loss, reason = "learner counts are small")]
    let share = 1.0 / histories.len() as f64;
    let gradients: Vec<Vec<f64>> = histories
        .par_iter_mut()
        .map(|history| {
            let mut one = vec![0.0; theta.len()];
            history.gradient(Round::ZERO, theta, &mut one);
            one
        })
        .collect();
    // Summed in order, so that the result does not depend on the number of threads.
    for one in gradients {
        for (slot, value) in sum.iter_mut().zip(one) {
            *slot += share * value;
        }
    }
    sum
}
