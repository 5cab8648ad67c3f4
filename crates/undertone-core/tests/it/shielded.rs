//! The shielded learner: what it pays, what it sends, and that what it sends is noise and public facts.

use crate::FixedEntropy;
use undertone_core::method::{Method, Shielded};
use undertone_core::noise::{Cipher, Grid, NoiseKind};
use undertone_core::privacy::{
    Accountant, Mechanism, NoCertificate, NoiseLaw, lifetime, planned_cost,
};
use undertone_core::{
    Domain, Forgetting, Learner, LearnerId, LearnerSetup, LossConstants, Memory, PowerLaw, Release,
    Round, Schedule, Score,
};

/// A gradient that is whatever the test wants it to be.
struct Told {
    gradient: Vec<f64>,
    records: u64,
    forgetting: Forgetting,
    /// The rounds in which it was asked.
    asked: Vec<Round>,
}

impl Memory for Told {
    type Record = ();

    fn observe(&mut self, _: &[f64], batch: &[()]) -> Score {
        self.records += batch.len() as u64;
        Score::default()
    }

    fn gradient(&mut self, round: Round, _: &[f64], out: &mut [f64]) {
        self.asked.push(round);
        out.copy_from_slice(&self.gradient);
    }

    fn records(&self) -> u64 {
        self.records
    }

    fn error_bound(&self) -> PowerLaw {
        PowerLaw::ZERO
    }

    fn forgetting(&self) -> Forgetting {
        self.forgetting
    }
}

const DIMENSION: usize = 50;

fn mechanism(interval: u64, kind: NoiseKind) -> Mechanism {
    Mechanism {
        dimension: DIMENSION,
        radius: 10.0,
        constants: LossConstants {
            smoothness: 0.25,
            // Not convex, and no contraction either: neither is asked for.
            strong_convexity: -0.25,
            gradient_spread: 2.0,
            gradient_norm: 1.0,
        },
        schedule: Schedule {
            step: PowerLaw::decaying(0.5, 0.0),
            coupling: PowerLaw::decaying(1.0, 0.0),
        },
        weight: 0.0,
        weight_min: 0.0,
        warmup: 20,
        batch: 3,
        memory_error: PowerLaw::ZERO,
        forgetting: Forgetting::Never,
        noise: NoiseLaw { kind, scale: PowerLaw::growing(0.4, 0.0) },
        noise_max: PowerLaw::growing(0.4, 0.0),
        method: Method::Shielded(Shielded { interval, ..Shielded::default() }),
    }
}

fn learner(mechanism: Mechanism, gradient: Vec<f64>) -> Learner<Told> {
    let setup = LearnerSetup {
        id: LearnerId(0),
        neighbours: Vec::new(),
        mechanism,
        cap: None,
        domain: Domain::Ball { radius: 10.0 },
        lasso: 0.0,
    };
    let forgetting = mechanism.forgetting;
    Learner::new(setup, Told { gradient, records: 0, forgetting, asked: Vec::new() })
}

#[test]
fn a_memory_that_forgets_is_asked_in_every_round_and_another_only_for_what_is_released() {
    // Records that were told a later round would be kept for longer than the account follows them.
    for (forgetting, expected) in [(Forgetting::Window { rounds: 4 }, 9), (Forgetting::Never, 3)] {
        let facts = Mechanism { forgetting, ..mechanism(3, NoiseKind::Laplace) };
        let mut learner = learner(facts, vec![0.1; DIMENSION]);
        let mut entropy = FixedEntropy { cipher: Cipher::Aes256Ctr, label: 6 };
        for _ in 0..9 {
            learner.observe(&[()]);
            learner.release(&mut entropy).unwrap();
            learner.absorb(&[]);
        }
        assert_eq!(learner.memory().asked.len(), expected);
    }
}

#[test]
fn a_record_pays_for_its_share_of_every_gradient_and_for_nothing_else() {
    for (interval, kind) in [(1, NoiseKind::Laplace), (4, NoiseKind::Gaussian)] {
        let facts = mechanism(interval, kind);
        let mut account = Accountant::new(facts, None);
        let (mut pure, mut zcdp) = (0.0, 0.0);
        for t in 0..200_u64 {
            account.pay().unwrap();
            if t > 0 && t % interval == 0 {
                // The gradient of the round before, over the 20 + 3 t records of then.
                let ratio = 2.0 / (20.0 + 3.0 * t as f64) / 0.4;
                pure += (DIMENSION as f64).sqrt() * ratio;
                zcdp += 0.5 * ratio * ratio;
            }
            let spent = account.spent();
            assert!(spent.zcdp >= zcdp && spent.zcdp <= zcdp * (1.0 + 1e-9), "round {t}");
            if kind == NoiseKind::Laplace {
                assert!(spent.pure >= pure && spent.pure <= pure * (1.0 + 1e-9), "round {t}");
            } else {
                // Until the first gradient nothing was revealed at all.
                assert_eq!(spent.pure.is_finite(), t < interval);
            }
            account.advance(&facts.planned_terms(Round(t)));
        }
    }
}

#[test]
fn the_lifetime_bound_is_above_any_run_and_near_a_long_one() {
    for interval in [1, 7] {
        let facts = mechanism(interval, NoiseKind::Gaussian);
        let bound = lifetime(&facts).unwrap().total.zcdp;
        for rounds in [1, 10, 1000, 2_000_000] {
            assert!(planned_cost(&facts, rounds).zcdp <= bound, "{rounds}");
        }
        assert!(planned_cost(&facts, 2_000_000).zcdp > 0.99 * bound);
    }
    // Noise that shrinks as fast as a record's share reveals as much in every round as in the first.
    let mut shrinking = mechanism(1, NoiseKind::Gaussian);
    shrinking.noise.scale.exponent = -0.5;
    assert!(matches!(lifetime(&shrinking), Err(NoCertificate::Diverges { .. })));
}

#[test]
fn a_share_of_the_last_step_is_part_of_the_next_and_costs_nothing() {
    let gradient: Vec<f64> = (0..DIMENSION).map(|j| 0.02 * (j as f64).sin()).collect();
    for (interval, momentum) in [(1, 0.9), (3, 0.5)] {
        let mut facts = mechanism(interval, NoiseKind::Gaussian);
        facts.noise.scale = PowerLaw::growing(0.05, 0.0);
        let plain = facts;
        facts.method = Method::Shielded(Shielded { interval, momentum });
        assert_eq!(lifetime(&facts), lifetime(&plain));
        let mut learner = learner(facts, gradient.clone());
        let mut entropy = FixedEntropy { cipher: Cipher::Aes256Ctr, label: 5 };
        let (mut before, mut step) = (vec![0.0; DIMENSION], vec![0.0; DIMENSION]);
        let mut moved_by_momentum = 0.0_f64;
        for t in 0..12 {
            learner.observe(&[(), (), ()]);
            let sent = learner.release(&mut entropy).unwrap().values().to_vec();
            if let Some(noisy) = learner.perturbed_gradient() {
                for (j, noisy) in noisy.iter().enumerate() {
                    // Nothing is mixed here, so the mixed point is what was sent before. The grid of x is 2⁻³².
                    let expected = before[j] + momentum * step[j] - 0.5 * noisy;
                    assert!((sent[j] - expected).abs() < 1e-8, "round {t}");
                    step[j] = sent[j] - before[j];
                    moved_by_momentum = moved_by_momentum.max((momentum * step[j]).abs());
                }
            }
            before = sent;
            learner.absorb(&[]);
        }
        assert!(moved_by_momentum > 0.005, "the control: momentum moves something here");
    }
}

/// A learner with momentum that is computed again from its records and stored releases goes on with the same bits.
#[test]
fn a_learner_with_momentum_that_is_computed_again_has_the_same_last_step() {
    let gradient: Vec<f64> = (0..DIMENSION).map(|j| 0.1 * (j as f64).sin()).collect();
    for interval in [1, 2] {
        let mut facts = mechanism(interval, NoiseKind::Gaussian);
        facts.method = Method::Shielded(Shielded { interval, momentum: 0.8 });
        let run = |rounds: u64, again_until: u64, sent: &mut Vec<Release>| {
            let mut learner = learner(facts, gradient.clone());
            let mut entropy = FixedEntropy { cipher: Cipher::Aes256Ctr, label: 9 };
            for t in 0..rounds {
                learner.observe(&[()]);
                if t < again_until {
                    learner.release_again((&sent[usize::try_from(t).unwrap()]).into()).unwrap();
                } else {
                    let release = learner.release(&mut entropy).unwrap();
                    sent.push(release);
                }
                learner.absorb(&[]);
            }
        };
        let mut whole = Vec::new();
        run(12, 0, &mut whole);
        let mut resumed = whole[..7].to_vec();
        run(12, 7, &mut resumed);
        assert_eq!(whole, resumed);
    }
}

#[test]
fn what_is_sent_is_the_step_along_a_perturbed_gradient_on_a_public_grid() {
    let facts = mechanism(3, NoiseKind::Laplace);
    let gradient: Vec<f64> = (0..DIMENSION).map(|j| 0.1 * (j as f64).sin()).collect();
    let mut learner = learner(facts, gradient.clone());
    let mut entropy = FixedEntropy { cipher: Cipher::Aes256Ctr, label: 5 };
    let mut before = vec![0.0; DIMENSION];
    let grid = Grid::new(0.4).unwrap();
    let (mut sum, mut count) = (0.0, 0);
    for t in 0..300 {
        learner.observe(&[(), (), ()]);
        let release = learner.release(&mut entropy).unwrap();
        assert!(release.values().iter().all(|y| (y / release.grid().step()).fract() == 0.0));
        let moved = t > 0 && t % 3 == 0;
        if !moved {
            assert_eq!(release.values(), before, "round {t} has no new gradient");
        }
        let inside = release.values().iter().map(|x| x * x).sum::<f64>().sqrt() < 9.9;
        if moved && inside {
            for ((y, x), exact) in release.values().iter().zip(&before).zip(&gradient) {
                // x is cut to its own grid, 2⁻³² of the radius; the noisy gradient is on the noise's.
                let noisy = (x - y) / 0.5;
                assert!((noisy / grid.step() - (noisy / grid.step()).round()).abs() < 1e-3);
                sum += (noisy - exact).abs();
                count += 1;
            }
        }
        before = release.values().to_vec();
        learner.absorb(&[]);
    }
    // The mean of |noise| is its scale, here to four standard deviations.
    let scale = sum / f64::from(count);
    assert!(count > 500 && (scale / 0.4 - 1.0).abs() < 4.0 / f64::from(count).sqrt(), "{scale}");
}
