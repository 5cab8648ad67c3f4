//! The account alone: what releases cost, without learning.
//!
//! `cargo run -p undertone --example accountant_only`

#![expect(clippy::print_stdout, reason = "an example")]

use undertone::method::{Method, Shielded};
use undertone::noise::NoiseKind;
use undertone::privacy::{Accountant, Cap, Mechanism, NoiseLaw, format_epsilon, lifetime};
use undertone::{Forgetting, LossConstants, PowerLaw, Schedule};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Gradients of norm at most 1 in ten coordinates, averaged over a history that grows by 20 a round.
    let mechanism = Mechanism {
        dimension: 10,
        radius: 10.0,
        constants: LossConstants {
            smoothness: 0.25,
            strong_convexity: 0.0,
            gradient_spread: 2.0,
            gradient_norm: 1.0,
        },
        schedule: Schedule {
            step: PowerLaw::decaying(1.0, 0.3),
            coupling: PowerLaw::decaying(1.0, 0.0),
        },
        weight: 0.5,
        weight_min: 0.5,
        warmup: 1000,
        batch: 20,
        memory_error: PowerLaw::ZERO,
        forgetting: Forgetting::Never,
        noise: NoiseLaw { kind: NoiseKind::Gaussian, scale: PowerLaw::growing(0.02, 0.0) },
        noise_max: PowerLaw::growing(0.02, 0.0),
        method: Method::Shielded(Shielded::default()),
    };
    let delta = 1e-6;
    let for_ever = lifetime(&mechanism)?.total;
    let epsilon = format_epsilon(for_ever.epsilon(mechanism.noise.kind, delta));
    println!("for ever: ε = {epsilon} at δ = {delta:e}, one record replaced by another");

    let mut account = Accountant::new(mechanism, Some(Cap::Approximate { epsilon: 4.0, delta }));
    let mut paid = 0;
    while paid < 500 && account.pay().is_ok() {
        account.advance(&mechanism.planned_terms(account.round()));
        paid += 1;
    }
    let spent = format_epsilon(account.epsilon(delta));
    println!("after {paid} rounds: ε = {spent} at δ = {delta:e}; the cap is 4");
    Ok(())
}
