//! Noise and accounting.

use crate::{MEASURED, median, rate};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use std::hint::black_box;
use std::time::Instant;
use undertone::noise::{Entropy, NoiseKind, OsEntropy, Perturbation, perturb};
use undertone::method::{Algorithm1, Method};
use undertone::privacy::{Accountant, Mechanism, NoiseLaw};
use undertone::{Forgetting, LearnerId, LossConstants, PowerLaw, Round, Schedule};

/// Samples a second. `naive` is the textbook: f64, a logarithm, ChaCha12; not private.
pub(crate) fn samples(kind: &str, count: usize) -> f64 {
    let values: Vec<f64> = (0..count).map(|i| (i as f64 * 0.37).sin() * 3.0).collect();
    let mut out = vec![0.0; count];
    if kind == "naive" {
        let mut source = ChaCha12Rng::seed_from_u64(1);
        return rate(count as u64, || {
            for (value, slot) in values.iter().zip(black_box(&mut out)) {
                let uniform = (source.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
                *slot = value - 0.731 * uniform.signum() * (1.0 - 2.0 * uniform.abs()).ln();
            }
        });
    }
    let kind = if kind == "gaussian" { NoiseKind::Gaussian } else { NoiseKind::Laplace };
    let mechanism = Perturbation { kind, scale: 0.731_234_567, bound: 100.0 };
    rate(count as u64, || {
        // A fresh key from the operating system for every vector, as in a round.
        let key = OsEntropy.key(LearnerId(0), Round(0)).expect("entropy");
        perturb(black_box(&mechanism), black_box(&values), key, black_box(&mut out)).expect("fits");
    })
}

/// Nanoseconds a round of the running account, in the ten rounds after `start`.
pub(crate) fn accountant(start: u64) -> f64 {
    let mechanism = Mechanism {
        dimension: 112,
        radius: 10.0,
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
    };
    let mut account = Accountant::new(mechanism, None);
    (0..start).for_each(|_| pay_a_round(&mut account));
    let (begin, mut times) = (Instant::now(), Vec::new());
    while begin.elapsed() < MEASURED {
        // Prepared outside the clock, so that what is timed is rounds `start` to `start` + 10 and no later ones.
        let mut accounts = vec![account.clone(); ACCOUNTS];
        let clock = Instant::now();
        for account in black_box(&mut accounts) {
            (0..ROUNDS).for_each(|_| pay_a_round(account));
        }
        times.push(clock.elapsed().as_secs_f64());
    }
    1e9 * median(times) / (ACCOUNTS * ROUNDS) as f64
}

/// Accounts that are timed together, and the rounds of each.
const ACCOUNTS: usize = 100;
const ROUNDS: usize = 10;

/// One more round as planned.
pub(crate) fn pay_a_round(account: &mut Accountant) {
    account.pay().expect("no cap");
    let terms = account.mechanism().planned_terms(account.round());
    account.advance(&terms);
}
