//! θ*_t: the optimum of all learners' histories, which a private run is measured against.
//!
//! Newton's method from the optimum of the round before. A new record changes the Hessian by 1/h, so
//! its factorisation is kept until it no longer halves the gradient.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};
use std::sync::Arc;
use undertone::{Domain, Memory, Round};
use undertone_models::Model;
use undertone_models::memory::Exact;

/// Above this many parameters the Hessian is not formed and projected gradients are used.
const NEWTON_PARAMETERS_MAX: usize = 600;

/// The optimum of F_t = (1/m) Σ_i f_i over Θ, where f_i averages learner i's history.
pub struct Optimum {
    model: Arc<Model>,
    domain: Domain,
    theta: Vec<f64>,
    factor: Option<Cholesky<f64, Dyn>>,
}

impl Optimum {
    /// Starts at the point of Θ nearest to zero.
    #[must_use]
    pub fn new(model: Arc<Model>, domain: Domain) -> Optimum {
        let mut theta = vec![0.0; model.parameters()];
        domain.project(&mut theta);
        Optimum { model, domain, theta, factor: None }
    }

    /// The optimum found last.
    #[must_use]
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// Finds the optimum of the histories as they are now.
    pub fn update(&mut self, histories: &mut [Exact]) {
        let smooth = !(self.model.spec().lasso > 0.0);
        if smooth && self.theta.len() <= NEWTON_PARAMETERS_MAX && self.newton(histories) {
            return;
        }
        self.projected_gradient(histories);
    }

    /// Returns false when the unconstrained optimum is not the answer.
    fn newton(&mut self, histories: &mut [Exact]) -> bool {
        let start = self.theta.clone();
        let mut gradient = average_gradient(histories, &self.theta);
        for _ in 0..60 {
            let size = gradient.norm();
            if size <= 1e-10 {
                break;
            }
            if self.factor.is_none() && !self.factorise(histories) {
                self.theta = start;
                return false;
            }
            let Some(factor) = &self.factor else { return false };
            let step = factor.solve(&gradient);
            let mut length = 1.0;
            let (candidate, next) = loop {
                let candidate: Vec<f64> =
                    self.theta.iter().zip(step.iter()).map(|(x, d)| x - length * d).collect();
                let next = average_gradient(histories, &candidate);
                if next.norm() < size || length < 1e-6 {
                    break (candidate, next);
                }
                length *= 0.5;
            };
            if next.norm() > 0.5 * size {
                self.factor = None;
            }
            if next.norm() >= size {
                break;
            }
            self.theta = candidate;
            gradient = next;
        }
        if self.domain.contains(&self.theta) {
            return true;
        }
        self.theta = start;
        false
    }

    fn factorise(&mut self, histories: &[Exact]) -> bool {
        let n = self.theta.len();
        let mut sum = DMatrix::<f64>::zeros(n, n);
        let mut one = vec![0.0; n * n];
        #[expect(clippy::cast_precision_loss, reason = "learner counts are small")]
        let share = 1.0 / histories.len() as f64;
        for history in histories {
            one.fill(0.0);
            history.average_hessian(&self.theta, &mut one);
            for (slot, value) in sum.as_mut_slice().iter_mut().zip(&one) {
                *slot += share * value;
            }
        }
        for place in 0..n {
            // Features that never occur leave a zero row; any positive number keeps θ at zero there.
            sum[(place, place)] += 1e-12;
        }
        self.factor = Cholesky::new(sum);
        self.factor.is_some()
    }

    /// Accelerated proximal gradient with restarts, for constrained, lasso and large problems.
    fn projected_gradient(&mut self, histories: &mut [Exact]) {
        let rate = 1.0 / self.model.constants().smoothness;
        let shrink = rate * self.model.spec().lasso;
        let mut previous = self.theta.clone();
        let mut lookahead = self.theta.clone();
        let mut momentum = 1.0f64;
        for _ in 0..2000 {
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
            if change <= 1e-9 {
                break;
            }
        }
        self.theta = previous;
    }
}

fn average_gradient(histories: &mut [Exact], theta: &[f64]) -> DVector<f64> {
    let mut sum = DVector::<f64>::zeros(theta.len());
    let mut one = vec![0.0; theta.len()];
    #[expect(clippy::cast_precision_loss, reason = "learner counts are small")]
    let share = 1.0 / histories.len() as f64;
    for history in histories {
        history.gradient(Round::ZERO, theta, &mut one);
        for (slot, value) in sum.iter_mut().zip(&one) {
            *slot += share * value;
        }
    }
    sum
}
