//! The audit catches every planted fault of what is sent, each by the check named here.

use crate::audit::{
    Faulty, ID, QUICK, RUNS, SAMPLES, assert_caught, failed, honest, run, setup, setup_with,
};
use undertone::noise::{
    Cipher, Entropy, Grid, NoiseError, NoiseKind, Perturbation, StreamKey, perturb,
};
use undertone::{LearnerId, Round};
use undertone_lab::audit::{Claims, Effort, Layer, LearnerSubject};
use undertone_lab::{RunEntropy, SeededEntropy};

#[test]
fn noise_two_percent_too_small_is_caught_by_the_scale() {
    for kind in [NoiseKind::Laplace, NoiseKind::Gaussian] {
        let setup = setup_with(kind);
        let mut short = setup.clone();
        short.mechanisms[0].noise.scale.initial *= 0.98;
        let checks = run(&setup, &SAMPLES, |trial| Faulty {
            claims: |claims| Claims { scale: claims.scale / 0.98, ..claims },
            ..Faulty::new(honest(&short, 1, trial))
        });
        assert_caught(&checks, (Layer::Residuals, "scale"));
    }
}

#[test]
fn noise_a_tenth_too_small_is_caught_from_outside_too() {
    let setup = setup();
    let mut short = setup.clone();
    short.mechanisms[0].noise.scale.initial *= 0.9;
    let checks = run(&setup, &SAMPLES, |trial| Faulty {
        claims: |claims| Claims { scale: claims.scale / 0.9, ..claims },
        ..Faulty::new(honest(&short, 1, trial))
    });
    assert_caught(&checks, (Layer::Canaries, "bound"));
    assert_caught(&checks, (Layer::Residuals, "shape"));
}

#[test]
fn one_bare_coordinate_is_caught_wherever_it_is() {
    /// θ rounded to the grid, without noise.
    fn bare(index: usize, theta: &[f64], claims: &Claims, mut sent: Vec<f64>) -> Vec<f64> {
        let step = Grid::new(claims.scale).unwrap().step();
        sent[index] = (theta[index] / step).round() * step;
        sent
    }
    let setup = setup();
    for sent in [
        (|theta, claims, _, sent| bare(0, theta, claims, sent)) as fn(&[f64], &Claims, u64, _) -> _,
        |theta, claims, _, sent| bare(theta.len() - 1, theta, claims, sent),
        |theta, claims, _, sent| bare(37, theta, claims, sent),
    ] {
        let checks =
            run(&setup, &QUICK, |trial| Faulty { sent, ..Faulty::new(honest(&setup, 1, trial)) });
        assert_caught(&checks, (Layer::Residuals, "bare"));
        assert_caught(&checks, (Layer::Residuals, "coordinates"));
    }
}

#[test]
fn nothing_to_guess_from_is_dead_and_no_panic() {
    for kind in [NoiseKind::Laplace, NoiseKind::Gaussian] {
        let setup = setup_with(kind);
        let none = Effort { canaries: 0, ..QUICK };
        let checks = run(&setup, &none, |trial| honest(&setup, 1, trial));
        assert_caught(&checks, (Layer::Canaries, "bound"));
    }
}

#[test]
fn noise_used_again_in_the_next_round_is_caught() {
    /// The same key in every round.
    struct Stuck(SeededEntropy);
    impl Entropy for Stuck {
        fn key(&mut self, learner: LearnerId, _: Round) -> Result<StreamKey, NoiseError> {
            self.0.key(learner, Round::ZERO)
        }
    }
    let setup = setup();
    let checks = run(&setup, &QUICK, |trial| {
        LearnerSubject::new(&setup, ID, Stuck(SeededEntropy::new(trial.number)), trial)
    });
    assert_caught(&checks, (Layer::Residuals, "rounds"));
}

#[test]
fn noise_shared_by_two_runs_is_caught() {
    let setup = setup();
    let checks =
        run(&setup, &QUICK, |trial| LearnerSubject::new(&setup, ID, SeededEntropy::new(1), trial));
    assert_caught(&checks, (Layer::Residuals, "trials"));
}

#[test]
fn noise_shared_by_two_learners_is_caught() {
    /// Keys that do not depend on the learner.
    struct Shared(RunEntropy);
    impl Entropy for Shared {
        fn key(&mut self, _: LearnerId, round: Round) -> Result<StreamKey, NoiseError> {
            self.0.key(LearnerId(0), round)
        }
    }
    let setup = setup();
    let checks = run(&setup, &QUICK, |trial| {
        LearnerSubject::new(&setup, ID, Shared(trial.entropy(Some(1))), trial)
    });
    assert_eq!(failed(&checks), [(Layer::Residuals, "learners")]);
}

/// A process that crashes after sending, forgets, and draws again: charged once, answered twice.
#[test]
fn a_release_drawn_again_after_a_crash_is_caught() {
    let setup = setup();
    let checks = run(&setup, &QUICK, |trial| Faulty {
        sent: |theta, claims, asked, sent| {
            if asked < 2 {
                return sent;
            }
            let noise = Perturbation { kind: NoiseKind::Laplace, scale: claims.scale, bound: 1e3 };
            let mut key = [7; 32];
            key[..8].copy_from_slice(&claims.round.0.to_le_bytes());
            let mut again = vec![0.0; theta.len()];
            perturb(&noise, theta, StreamKey::new(Cipher::Aes256Ctr, key), &mut again).unwrap();
            again
        },
        ..Faulty::new(honest(&setup, 1, trial))
    });
    assert_caught(&checks, (Layer::Residuals, "repeat"));
}

#[test]
fn values_off_the_public_grid_are_caught() {
    let setup = setup();
    let checks = run(&setup, &QUICK, |trial| Faulty {
        sent: |_, claims, _, mut sent| {
            sent[5] += 1e-9 * claims.scale;
            sent
        },
        ..Faulty::new(honest(&setup, 1, trial))
    });
    assert_eq!(failed(&checks), [(Layer::Residuals, "grid")]);
}

/// Far too much noise is private, and claims hold; but the tests would see nothing, and must say so.
#[test]
fn a_test_that_can_see_nothing_is_dead() {
    let setup = setup();
    let mut loud = setup.clone();
    loud.mechanisms[0].noise.scale.initial *= 50.0;
    let checks = run(&setup, &RUNS, |trial| Faulty {
        claims: |claims| Claims { scale: claims.scale / 50.0, ..claims },
        ..Faulty::new(honest(&loud, 1, trial))
    });
    assert_caught(&checks, (Layer::Canaries, "power"));
    assert_caught(&checks, (Layer::Likelihood, "power"));
}
