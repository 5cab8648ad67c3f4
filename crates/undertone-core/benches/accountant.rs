//! The cost of accounting per round, early and late: it must not grow.
//!
//! `cargo bench -p undertone --bench accountant`
#![allow(clippy::unwrap_used, reason = "a benchmark may stop")]

use undertone_core::method::{Algorithm1, Method};
use undertone_core::noise::NoiseKind;
use undertone_core::privacy::{Accountant, Cost, Mechanism, NoiseLaw, Unit, lifetime};
use undertone_core::{Forgetting, LossConstants, PowerLaw, Schedule};

fn main() {
    divan::main();
}

fn mechanism() -> Mechanism {
    Mechanism {
        dimension: 112,
        radius: 10.0,
        unit: Unit::Record,
        constants: LossConstants {
            smoothness: 0.25,
            strong_convexity: 0.001,
            gradient_spread: 2.0,
            gradient_norm: 1.0,
        },
        schedule: Schedule {
            step: PowerLaw::decaying(1.0, 0.77),
            coupling: PowerLaw::decaying(1.0, 0.65),
        },
        weight: 0.5,
        weight_min: 0.5,
        warmup: 0,
        batch: 1,
        memory_error: PowerLaw::ZERO,
        forgetting: Forgetting::Never,
        noise: NoiseLaw { kind: NoiseKind::Laplace, scale: PowerLaw::growing(1.0, 0.1) },
        noise_max: PowerLaw::growing(1.0, 0.1),
        method: Method::Algorithm1(Algorithm1::default()),
    }
}

#[divan::bench(args = [10, 1_000, 100_000])]
fn pay_and_advance(bencher: divan::Bencher, start: u64) {
    let mut accountant = Accountant::new(mechanism(), None);
    let step = |accountant: &mut Accountant| {
        accountant.pay().unwrap();
        let terms = accountant.mechanism().planned_terms(accountant.round());
        accountant.advance(&terms);
    };
    for _ in 0..start {
        step(&mut accountant);
    }
    bencher.bench_local(|| step(&mut accountant));
}

#[divan::bench(args = [NoiseKind::Laplace, NoiseKind::Gaussian])]
fn convert_to_epsilon(noise: NoiseKind) -> f64 {
    let cost = Cost { pure: f64::INFINITY, zcdp: divan::black_box(0.83) };
    cost.epsilon(noise, divan::black_box(1e-6))
}

#[divan::bench]
fn certify_a_lifetime() -> f64 {
    lifetime(divan::black_box(&mechanism())).unwrap().total.zcdp
}
