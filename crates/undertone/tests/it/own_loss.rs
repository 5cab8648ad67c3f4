//! What a user declares of a loss is tried before a learner begins.

use crate::{FixedEntropy, records};
use std::sync::Arc;
use undertone::models::DeclaredLoss;
use undertone::{
    BuildError, DeclarationError, Declared, LearnerBuilder, OnlineError, OwnLoss, Setup,
    check_declaration,
};

/// ½ k (a·θ − b)², wrong on purpose where asked.
#[derive(Clone, Copy)]
pub(crate) struct Square {
    pub(crate) scale: f64,
    pub(crate) wrong_gradient: bool,
    pub(crate) fails_at: f64,
}

impl Square {
    pub(crate) const HONEST: Square =
        Square { scale: 1.0, wrong_gradient: false, fails_at: f64::INFINITY };
}

impl DeclaredLoss for Square {
    fn evaluate(&self, theta: &[f64], x: &[f64], label: f64, out: &mut [f64]) -> Option<f64> {
        let error = theta.iter().zip(x).map(|(t, x)| t * x).sum::<f64>() - label;
        let slope = self.scale * error * if self.wrong_gradient { 0.9 } else { 1.0 };
        out.iter_mut().zip(x).for_each(|(slot, x)| *slot = slope * x);
        (label < self.fails_at).then_some(0.5 * self.scale * error * error)
    }

    fn predict(&self, theta: &[f64], x: &[f64]) -> Option<f64> {
        Some(theta.iter().zip(x).map(|(t, x)| t * x).sum())
    }
}

/// What is declared of the square. Its gradient is at most 1·(5·1 + 1) = 6 long, L = 1 and C = 12.
fn declared(norm: f64, curvature: Option<(f64, f64)>, spread: Option<f64>) -> Declared {
    Declared {
        parameters: 2,
        gradient_norm: norm,
        smoothness: curvature.map(|(smoothness, _)| smoothness),
        strong_convexity: curvature.map(|(_, convexity)| convexity),
        gradient_spread: spread,
    }
}

fn builder() -> LearnerBuilder {
    let builder = LearnerBuilder::new(2, 4.0, 1e-6).label_bound(1.0);
    LearnerBuilder { intercept: false, radius: 5.0, batch: 4, window: 4, ..builder }
}

/// A setup in which nothing was tried, with the function joined if there is one.
pub(crate) fn own_square(
    norm: f64,
    curvature: Option<(f64, f64)>,
    spread: Option<f64>,
    function: Option<Square>,
) -> Setup {
    let own = OwnLoss { declared: declared(norm, curvature, spread), function: None };
    let setup = LearnerBuilder { own_loss: Some(own), ..builder() }.setup().unwrap();
    match function {
        Some(function) => setup.with_function(Arc::new(function)),
        None => setup,
    }
}

#[test]
fn declarations_are_tried() {
    let tried = |setup: &Setup, loss: &Square| check_declaration(setup, loss, 400, 1);
    let untried = |norm, curvature, spread| own_square(norm, curvature, spread, None);
    let honest = untried(6.0, Some((1.0, 0.0)), Some(12.0));
    assert_eq!(tried(&honest, &Square::HONEST), Ok(()));
    let cut = untried(0.1, None, None);
    assert_eq!(tried(&cut, &Square::HONEST), Ok(()), "what is cut needs no bound");
    let found = |setup: &Setup| tried(setup, &Square::HONEST).unwrap_err();
    let smooth = found(&untried(6.0, Some((0.7, 0.0)), None));
    assert!(matches!(smooth, DeclarationError::Smoothness { .. }), "{smooth}");
    let convex = found(&untried(6.0, Some((1.0, 0.3)), None));
    assert!(matches!(convex, DeclarationError::Convexity { .. }), "{convex}");
    let spread = found(&untried(6.0, None, Some(5.0)));
    assert!(matches!(spread, DeclarationError::Spread { .. }), "{spread}");
    let norm = found(&untried(3.0, Some((1.0, 0.0)), None));
    assert!(matches!(norm, DeclarationError::Norm { .. }), "{norm}");
    let gradient = tried(&honest, &Square { wrong_gradient: true, ..Square::HONEST }).unwrap_err();
    assert!(matches!(gradient, DeclarationError::Gradient { .. }), "{gradient}");
    let failed = tried(&honest, &Square { fails_at: 0.5, ..Square::HONEST }).unwrap_err();
    assert_eq!(failed, DeclarationError::Failed);
}

#[test]
fn a_builder_tries_the_loss_and_learns_with_it() {
    let curvature = Some((1.0, 0.0));
    let mut learner = builder()
        .own_loss(declared(6.0, curvature, Some(12.0)), Square::HONEST)
        .build_with(FixedEntropy)
        .unwrap();
    for (features, label) in records(200) {
        learner.learn(&features, label).unwrap();
    }
    assert!(learner.accountant().epsilon(1e-6) <= 4.0);
    assert!(learner.statement().iter().any(|sentence| sentence.contains("declared by user")));
    let wrong = Square { wrong_gradient: true, ..Square::HONEST };
    let refused = builder().own_loss(declared(6.0, curvature, None), wrong).build().unwrap_err();
    let expected =
        BuildError::Declaration(DeclarationError::Gradient { found: 0.0, expected: 0.0 });
    assert_eq!(std::mem::discriminant(&refused), std::mem::discriminant(&expected), "{refused}");
}

#[test]
fn a_declared_loss_without_its_function_has_a_budget_and_does_not_run() {
    let own = OwnLoss { declared: declared(1.0, None, None), function: None };
    let builder = LearnerBuilder { own_loss: Some(own), ..builder() };
    assert!(builder.setup().unwrap().lifetime_epsilon_max().is_some_and(|epsilon| epsilon <= 4.0));
    let refused = builder.build().unwrap_err();
    assert!(matches!(refused, BuildError::Online(OnlineError::Setup(_))), "{refused}");
}

#[test]
fn a_label_without_a_bound_is_a_fault_of_a_declared_loss_too() {
    let builder = LearnerBuilder::new(2, 4.0, 1e-6);
    let refused = builder.own_loss(declared(1.0, None, None), Square::HONEST).build().unwrap_err();
    assert!(refused.to_string().contains("bounds.label"), "{refused}");
}

#[test]
fn a_function_is_not_shown() {
    let shown = format!("{:?}", builder().own_loss(declared(1.0, None, None), Square::HONEST));
    assert!(shown.contains("<function>") && shown.contains("gradient_norm: 1.0"), "{shown}");
}
