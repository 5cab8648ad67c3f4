//! The audit of a shielded learner, which perturbs gradients: it passes an honest one, and catches faults.

use crate::audit::{assert_caught, failed, word};
use crate::preset;
use undertone::noise::NoiseKind;
use undertone::{LearnerId, ModelSpec, PrivateParameters, Release, ReleaseError};
use undertone_lab::audit::{
    Check, Claims, Effort, Facts, Layer, LearnerSubject, Subject, Trial, audit_subject,
};
use undertone_lab::{RunEntropy, Setup};
use undertone_models::{BoundedRecord, Model, Record, RecordError};

const ID: LearnerId = LearnerId(0);
const ROUNDS: u64 = 60;
/// Enough to see 2 % of scale.
const EFFORT: Effort = Effort {
    samples: 200_000,
    canaries: 60_000,
    runs: 4000,
    climb_steps: 5,
    account_rounds: 2000,
    work: 3e6,
    layer_work: 1e9,
};

fn setup(kind: NoiseKind, interval: u64, clip: Option<f64>) -> Setup {
    let loaded = preset("mushrooms", |raw| {
        raw.agreement.method = Some("shielded".into());
        raw.rounds = Some(ROUNDS);
        raw.agreement.records.warmup = Some(20);
        raw.agreement.schedule.interval = Some(interval);
        raw.agreement.model.clip = clip;
        raw.agreement.noise.kind = Some(word(kind).into());
    });
    loaded.checked.setup().unwrap()
}

fn honest(setup: &Setup, trial: &Trial) -> LearnerSubject<RunEntropy> {
    LearnerSubject::new(setup, ID, trial.entropy(Some(1)), trial)
}

fn run<S: Subject>(setup: &Setup, make: impl Fn(&Trial) -> S + Sync) -> Vec<Check> {
    audit_subject(&Facts::new(setup, ROUNDS, ID, Vec::new(), 1), &EFFORT, &make).unwrap()
}

/// The real learner with other claims, or with something else sent than what follows.
struct Faulty {
    inner: LearnerSubject<RunEntropy>,
    claims: fn(Claims) -> Claims,
    leak: f64,
    secret: Option<Vec<f64>>,
    sent: Vec<f64>,
}

impl Faulty {
    fn new(inner: LearnerSubject<RunEntropy>) -> Faulty {
        Faulty { inner, claims: |claims| claims, leak: 0.0, secret: None, sent: Vec::new() }
    }
}

impl Subject for Faulty {
    fn check(&self, record: Record) -> Result<BoundedRecord, RecordError> {
        self.inner.check(record)
    }

    fn observe(&mut self, batch: &[BoundedRecord]) {
        self.inner.observe(batch);
    }

    fn secret(&self) -> Option<PrivateParameters<'_>> {
        self.inner.secret()
    }

    fn release(&mut self) -> Result<Vec<f64>, ReleaseError> {
        if let Some(secret) = self.inner.secret() {
            self.secret = Some(secret.for_owner().to_vec());
        }
        let perturbed = self.inner.release()?;
        self.sent = self.inner.sent().to_vec();
        if let Some(secret) = &self.secret {
            self.sent.iter_mut().zip(secret).for_each(|(y, x)| *y += self.leak * x);
        }
        Ok(perturbed)
    }

    fn sent(&self) -> &[f64] {
        &self.sent
    }

    fn absorb(&mut self, heard: &[&Release]) {
        self.secret = None;
        self.inner.absorb(heard);
    }

    fn claims(&self) -> Claims {
        (self.claims)(self.inner.claims())
    }
}

#[test]
fn an_honest_shielded_learner_passes() {
    for (kind, interval, clip) in [
        (NoiseKind::Laplace, 1, None),
        (NoiseKind::Gaussian, 1, None),
        (NoiseKind::Laplace, 3, Some(0.25)),
        // Far more rounds than any replay has.
        (NoiseKind::Gaussian, 1_000_000, None),
    ] {
        let setup = setup(kind, interval, clip);
        let checks = run(&setup, |trial| honest(&setup, trial));
        assert_eq!(failed(&checks), [], "{kind:?} {interval}: {checks:#?}");
        assert!(checks.iter().any(|check| check.name == "public"));
    }
}

#[test]
fn noise_two_percent_too_small_is_caught() {
    for kind in [NoiseKind::Laplace, NoiseKind::Gaussian] {
        let setup = setup(kind, 1, None);
        let mut short = setup.clone();
        short.mechanisms[0].noise.scale.initial *= 0.98;
        let checks = run(&setup, |trial| Faulty {
            claims: |claims| Claims { scale: claims.scale / 0.98, ..claims },
            ..Faulty::new(honest(&short, trial))
        });
        assert_caught(&checks, (Layer::Residuals, "scale"));
    }
}

#[test]
fn gradients_that_are_not_clipped_are_caught() {
    let setup = setup(NoiseKind::Laplace, 1, Some(0.25));
    let mut loose = setup.clone();
    let spec = ModelSpec { clip: f64::INFINITY, ..*setup.model.spec() };
    loose.model = Model::new(spec, *setup.model.bounds()).unwrap().into();
    let checks = run(&setup, |trial| honest(&loose, trial));
    for name in ["distance", "zcdp", "pure"] {
        assert_caught(&checks, (Layer::Replay, name));
    }
}

#[test]
fn half_the_sensitivity_is_caught() {
    let setup = setup(NoiseKind::Laplace, 1, None);
    let checks = run(&setup, |trial| Faulty {
        claims: |claims| Claims { sensitivity: 0.5 * claims.sensitivity, ..claims },
        ..Faulty::new(honest(&setup, trial))
    });
    assert_caught(&checks, (Layer::Replay, "distance"));
}

/// Noise that is drawn and paid for, but is not all that the point sent depends on.
#[test]
fn a_point_that_depends_on_the_bare_gradient_is_caught() {
    let setup = setup(NoiseKind::Laplace, 1, None);
    let checks = run(&setup, |trial| Faulty { leak: 0.01, ..Faulty::new(honest(&setup, trial)) });
    assert_caught(&checks, (Layer::Residuals, "public"));
    assert_caught(&checks, (Layer::Replay, "distance"));
}
