//! A loss of your own: a function, and what you declare about it. Every privacy statement names
//! what is declared.
//!
//! `cargo run -p undertone --example own_loss`

#![expect(clippy::print_stdout, reason = "an example")]

use undertone::models::{DeclaredLoss, Prediction};
use undertone::{Declared, LearnerBuilder};

/// The absolute error |θ·x − y|.
struct Absolute;

impl DeclaredLoss for Absolute {
    fn evaluate(&self, theta: &[f64], x: &[f64], y: f64, gradient: &mut [f64]) -> Option<f64> {
        let error = dot(theta, x) - y;
        gradient.iter_mut().zip(x).for_each(|(slot, x)| *slot = error.signum() * x);
        Some(error.abs())
    }

    fn predict(&self, theta: &[f64], x: &[f64]) -> Option<f64> {
        Some(dot(theta, x))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Gradients of records are cut to norm 1, which is all that the shielded method needs to know.
    let declared = Declared {
        parameters: 3,
        gradient_norm: 1.0,
        smoothness: None,
        strong_convexity: None,
        gradient_spread: None,
    };
    let builder = LearnerBuilder::new(2, 4.0, 1e-6).label_bound(2.0).own_loss(declared, Absolute);
    let mut learner = builder.build()?;
    for k in 0..20_000u32 {
        let (a, b) = (f64::from(k % 11) / 11.0, f64::from(k % 7) / 7.0);
        learner.learn(&[a, b], a - 0.5 * b)?;
    }
    if let Prediction::Value(value) = learner.predict(&[0.8, 0.2])? {
        println!("f(0.8, 0.2) = 0.7, learnt: {value:.2}");
    }
    println!("{}", learner.statement().join("\n"));
    Ok(())
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}
