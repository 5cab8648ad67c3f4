//! The round as a caller sees it: paying, refusing, mixing, missing neighbours, repeating.

use crate::FixedEntropy;
use undertone_core::method::{Algorithm1, Method};
use undertone_core::noise::{Cipher, Entropy, NoiseError, NoiseKind, StreamKey};
use undertone_core::persist::{Fields, Persist, load, save};
use undertone_core::privacy::{Cap, Mechanism, NoiseLaw, Refusal, Unit, verify};
use undertone_core::{
    Domain, Forgetting, LatePull, Learner, LearnerId, LearnerSetup, LossConstants, Memory,
    PowerLaw, PublicModel, Release, ReleaseError, ReleaseView, Round, Schedule, Score,
};

fn fixed(label: u64) -> FixedEntropy {
    FixedEntropy { cipher: Cipher::Aes256Ctr, label }
}

/// The running mean of vectors in the unit ball: loss ½‖θ − x‖², so L = μ = 1 and C = 2.
struct Mean {
    sum: Vec<f64>,
    count: u64,
}

impl Memory for Mean {
    type Record = [f64; DIMENSION];

    fn observe(&mut self, _: &[f64], batch: &[[f64; DIMENSION]]) -> Score {
        for record in batch {
            self.count += 1;
            self.sum.iter_mut().zip(record).for_each(|(sum, x)| *sum += x);
        }
        Score { records: batch.len() as u64, ..Score::default() }
    }

    fn gradient(&mut self, _: Round, theta: &[f64], out: &mut [f64]) {
        for ((slot, x), sum) in out.iter_mut().zip(theta).zip(&self.sum) {
            *slot = if self.count == 0 { 0.0 } else { x - sum / self.count as f64 };
        }
    }

    fn records(&self) -> u64 {
        self.count
    }

    fn forgetting(&self) -> Forgetting {
        Forgetting::Never
    }

    fn error_bound(&self) -> PowerLaw {
        PowerLaw::ZERO
    }
}

impl Persist for Mean {
    fn visit(&mut self, fields: &mut dyn Fields) {
        fields.numbers(&mut self.sum);
        fields.count(&mut self.count);
    }
}

const DIMENSION: usize = 7;

fn mechanism(neighbours: usize) -> Mechanism {
    Mechanism {
        dimension: DIMENSION,
        radius: 100.0,
        unit: Unit::Record,
        constants: LossConstants {
            smoothness: 1.0,
            strong_convexity: 1.0,
            gradient_spread: 2.0,
            gradient_norm: 6.0,
        },
        schedule: Schedule {
            step: PowerLaw::decaying(0.5, 0.8),
            coupling: PowerLaw::decaying(1.0, 0.7),
        },
        weight: 0.25 * neighbours as f64,
        weight_min: 0.25,
        warmup: 0,
        batch: 1,
        memory_error: PowerLaw::ZERO,
        forgetting: Forgetting::Never,
        noise: NoiseLaw { kind: NoiseKind::Laplace, scale: PowerLaw::growing(3.0, 0.1) },
        noise_max: PowerLaw::growing(3.0, 0.1),
        method: Method::Algorithm1(Algorithm1::default()),
    }
}

fn ring(learners: u32, cap: Option<Cap>) -> Vec<Learner<Mean>> {
    (0..learners)
        .map(|id| {
            let neighbours = vec![
                (LearnerId((id + 1) % learners), 0.25),
                (LearnerId((id + learners - 1) % learners), 0.25),
            ];
            let setup = LearnerSetup {
                id: LearnerId(id),
                neighbours,
                mechanism: mechanism(2),
                cap,
                domain: Domain::Ball { radius: 100.0 },
                lasso: 0.0,
            };
            Learner::new(setup, Mean { sum: vec![0.0; DIMENSION], count: 0 })
        })
        .collect()
}

fn record(learner: u32, round: u64) -> [f64; DIMENSION] {
    std::array::from_fn(|j| ((u64::from(learner) * 31 + round * 7 + j as u64) as f64).sin() / 3.0)
}

fn release_all(learners: &mut [Learner<Mean>], entropy: &mut impl Entropy) -> Vec<Release> {
    learners
        .iter_mut()
        .map(|learner| {
            learner.observe(&[record(learner.id().0, learner.round().0)]);
            learner.release(entropy).unwrap()
        })
        .collect()
}

fn absorb_all(learners: &mut [Learner<Mean>], releases: &[Release]) {
    let count = learners.len();
    for (id, learner) in learners.iter_mut().enumerate() {
        learner.absorb(&[&releases[(id + 1) % count], &releases[(id + count - 1) % count]]);
    }
}

fn run(rounds: usize, key: u64) -> (Vec<Learner<Mean>>, PublicModel) {
    let mut learners = ring(5, None);
    let mut public = PublicModel::new(DIMENSION);
    for _ in 0..rounds {
        let releases = release_all(&mut learners, &mut fixed(key));
        releases.iter().for_each(|release| public.include(release));
        absorb_all(&mut learners, &releases);
    }
    (learners, public)
}

#[test]
fn the_same_entropy_gives_the_same_bits() {
    let (left, public_left) = run(30, 7);
    let (right, public_right) = run(30, 7);
    let (other, _) = run(30, 8);
    for (a, b) in left.iter().zip(&right) {
        assert_eq!(
            bits(a.private_parameters().for_owner()),
            bits(b.private_parameters().for_owner())
        );
    }
    assert_eq!(bits(public_left.values()), bits(public_right.values()));
    assert_ne!(
        bits(left[0].private_parameters().for_owner()),
        bits(other[0].private_parameters().for_owner())
    );
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn one_round_is_the_update_of_algorithm_1() {
    let mut learners = ring(5, None);
    for _ in 0..4 {
        let releases = release_all(&mut learners, &mut fixed(3));
        absorb_all(&mut learners, &releases);
    }
    let releases = release_all(&mut learners, &mut fixed(3));
    let before: Vec<Vec<f64>> =
        learners.iter().map(|learner| learner.private_parameters().for_owner().to_vec()).collect();
    absorb_all(&mut learners, &releases);
    let (step, coupling) = (0.5 * 5f64.powf(-0.8), 5f64.powf(-0.7));
    for id in 0..5usize {
        for (j, &own) in before[id].iter().enumerate() {
            let mean: f64 = (0..5).map(|t| record(id as u32, t)[j]).sum::<f64>() / 5.0;
            let pull = 0.25 * (releases[(id + 1) % 5].values()[j] - own)
                + 0.25 * (releases[(id + 4) % 5].values()[j] - own);
            let expected = own + coupling * pull - step * (own - mean);
            let found = learners[id].private_parameters().for_owner()[j];
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }
}

#[test]
fn without_noise_mixing_keeps_the_sum_and_with_it_the_noise_averages_out() {
    // With symmetric weights the noise is all that can move the average; the gradients are zero
    // because no records were observed.
    let mut learners = ring(5, None);
    let mut moved = [0.0; DIMENSION];
    let releases: Vec<Release> =
        learners.iter_mut().map(|learner| learner.release(&mut fixed(1)).unwrap()).collect();
    absorb_all(&mut learners, &releases);
    for learner in &learners {
        moved
            .iter_mut()
            .zip(learner.private_parameters().for_owner())
            .for_each(|(sum, x)| *sum += x);
    }
    for (j, found) in moved.into_iter().enumerate() {
        let noise: f64 = releases.iter().map(|release| 0.5 * release.values()[j]).sum();
        assert!((found - noise).abs() < 1e-9);
    }
}

#[test]
fn a_missing_neighbour_is_reported_and_costs_more() {
    let mut all = ring(5, None);
    let mut some = ring(5, None);
    for _ in 0..20 {
        let releases = release_all(&mut all, &mut fixed(9));
        absorb_all(&mut all, &releases);
        let releases = release_all(&mut some, &mut fixed(9));
        let report = some[0].absorb(&[&releases[1]]);
        assert_eq!((report.heard, report.missing), (1, 1));
        assert!((report.weight_heard - 0.25).abs() < 1e-15);
        for id in 1..5 {
            some[id].absorb(&[&releases[(id + 1) % 5], &releases[(id + 4) % 5]]);
        }
    }
    assert!(some[0].accountant().spent().zcdp > all[0].accountant().spent().zcdp);
    assert!(
        some[1].accountant().spent().zcdp.to_bits() == all[1].accountant().spent().zcdp.to_bits()
    );
}

#[test]
fn neighbours_who_send_huge_numbers_cannot_turn_rounding_into_a_step() {
    // Two learners whose parameters differ by 2e-9 hear +Y and −Y. Without a bound on what is heard,
    // the sum rounds to units of Y·2⁻⁵³ and the two end up visibly apart.
    let huge: f64 = 2f64.powi(53);
    let bound = mechanism(2).message_bound(Round(5));
    assert!(bound < 2000.0);
    let step = |own: f64, y: f64| own + 0.25 * (y - own) + 0.25 * (-y - own);
    let apart = |y: f64| (step(0.25, y) - step(0.25 + 2e-9, y)).abs();
    assert!(apart(bound) < 3e-9);
    assert!(apart(huge) > 0.1, "control: unbounded messages round visibly");
}

#[test]
fn a_spent_budget_refuses_and_releases_nothing() {
    let cap = Cap::Approximate { epsilon: 1.5, delta: 1e-6 };
    let mut learners = ring(5, Some(cap));
    let mut rounds = 0;
    let refusal = loop {
        let mut releases = Vec::new();
        let mut refusal = None;
        for learner in &mut learners {
            learner.observe(&[record(learner.id().0, learner.round().0)]);
            match learner.release(&mut fixed(5)) {
                Ok(release) => releases.push(release),
                Err(error) => refusal = Some(error),
            }
        }
        if let Some(refusal) = refusal {
            break refusal;
        }
        absorb_all(&mut learners, &releases);
        rounds += 1;
        assert!(rounds < 10_000, "the cap is reached");
    };
    assert!(matches!(refusal, ReleaseError::Refused(Refusal::BudgetExhausted { .. })));
    assert!(rounds > 1, "some rounds fit the cap");
    assert!(learners.iter().all(|learner| learner.accountant().epsilon(1e-6) <= 1.5));
}

/// An operating system without randomness.
struct NoEntropy;

impl Entropy for NoEntropy {
    fn key(&mut self, _: LearnerId, _: Round) -> Result<StreamKey, NoiseError> {
        Err(NoiseError::NoEntropy(getrandom::Error::UNSUPPORTED))
    }
}

#[test]
fn the_charge_precedes_the_noise_and_stays_when_the_noise_fails() {
    let mut learners = ring(5, None);
    let releases = release_all(&mut learners, &mut fixed(2));
    absorb_all(&mut learners, &releases);
    let before = learners[0].accountant().spent().zcdp;
    let error = learners[0].release(&mut NoEntropy).unwrap_err();
    assert!(matches!(error, ReleaseError::Noise(NoiseError::NoEntropy(_))));
    assert!(
        learners[0].accountant().spent().zcdp > before,
        "the budget is wasted, never overspent"
    );
}

#[test]
fn releases_lie_on_their_grid_and_show_no_parameters() {
    let mut learners = ring(5, None);
    let releases = release_all(&mut learners, &mut fixed(2));
    for release in &releases {
        let step = release.grid().step();
        assert!(
            release.values().iter().all(|value| (value / step).fract().abs() < f64::MIN_POSITIVE)
        );
    }
    let text = format!("{:?} {:?}", learners[0], releases[0]);
    assert!(text.contains("redacted") && !text.contains("0."), "{text}");
}

#[test]
#[should_panic(expected = "a round has one release")]
fn a_second_release_in_a_round_is_a_bug() {
    let mut learners = ring(5, None);
    let _ = learners[0].release(&mut fixed(1));
    let _ = learners[0].release(&mut fixed(2));
}

#[test]
fn learning_gets_closer_to_the_mean_of_all() {
    let (learners, _) = run(3000, 4);
    let distance = |theta: &[f64]| -> f64 {
        (0..DIMENSION)
            .map(|j| {
                let mean: f64 = (0..5u32)
                    .map(|id| (0..3000).map(|t| record(id, t)[j]).sum::<f64>() / 3000.0)
                    .sum::<f64>()
                    / 5.0;
                (theta[j] - mean).powi(2)
            })
            .sum::<f64>()
            .sqrt()
    };
    let last: f64 = learners
        .iter()
        .map(|learner| distance(learner.private_parameters().for_owner()))
        .sum::<f64>()
        / 5.0;
    let (early, _) = run(3, 4);
    let first: f64 =
        early.iter().map(|learner| distance(learner.private_parameters().for_owner())).sum::<f64>()
            / 5.0;
    assert!(last < 0.3 * first, "{first} {last}");
}

#[test]
fn a_learner_loaded_from_its_state_goes_on_with_the_same_bits() {
    for released in [false, true] {
        let (mut learners, _) = run(7, 3);
        let releases = released.then(|| release_all(&mut learners, &mut fixed(3)));
        let mut again = ring(5, None);
        for (learner, again) in learners.iter_mut().zip(&mut again) {
            load(again, &save(learner)).unwrap();
            assert_eq!(again.round(), learner.round());
        }
        for learners in [&mut learners, &mut again] {
            let drawn;
            let releases = match &releases {
                Some(releases) => releases,
                None => {
                    drawn = release_all(learners, &mut fixed(3));
                    &drawn
                }
            };
            absorb_all(learners, releases);
        }
        for (learner, again) in learners.iter_mut().zip(&mut again) {
            assert_eq!(save(learner), save(again), "released: {released}");
        }
    }
}

#[test]
fn rounds_computed_again_from_their_releases_give_the_same_bits_and_receipts() {
    let mut learners = ring(5, None);
    let mut again = ring(5, None);
    for t in 0..6 {
        let releases = release_all(&mut learners, &mut fixed(5));
        for (learner, release) in again.iter_mut().zip(&releases) {
            learner.observe(&[record(learner.id().0, t)]);
            learner.release_again(release.into()).unwrap();
        }
        absorb_all(&mut learners, &releases);
        absorb_all(&mut again, &releases);
        for (learner, again) in learners.iter_mut().zip(&mut again) {
            assert_eq!(learner.receipt(), again.receipt());
            assert_eq!(save(learner), save(again));
        }
    }
}

#[test]
fn rounds_sat_out_cost_nothing_and_the_ledger_agrees() {
    let mut learners = ring(5, None);
    let mut receipts = Vec::new();
    for _ in 0..4 {
        let releases = release_all(&mut learners, &mut fixed(1));
        receipts.push(*learners[0].receipt().unwrap());
        absorb_all(&mut learners, &releases);
    }
    let learner = &mut learners[0];
    let (spent, sensitivity) = (learner.accountant().spent(), learner.accountant().sensitivity());
    let before = bits(learner.private_parameters().for_owner());
    assert_eq!(learner.skip_to(Round(90)), Round(90));
    assert_eq!(bits(learner.private_parameters().for_owner()), before);
    assert_eq!(learner.accountant().spent(), spent);
    assert_eq!(learner.accountant().sensitivity().to_bits(), sensitivity.to_bits());
    learner.release(&mut fixed(2)).unwrap();
    receipts.push(*learner.receipt().unwrap());
    let account = verify(LearnerId(0), &mechanism(2), None, &receipts).unwrap();
    assert_eq!(account.spent(), learner.accountant().spent());
    assert!(learner.accountant().spent().zcdp > spent.zcdp);
    // The control: the same receipts with the round of the last one denied.
    receipts[4].round = Round(4);
    assert!(verify(LearnerId(0), &mechanism(2), None, &receipts).is_err());
}

/// Learner 0 heard learner 1 in round 0, who did not hear it, and makes up for it in round 1.
#[test]
fn a_late_pull_gives_back_what_the_other_end_took() {
    let facts = mechanism(1);
    let pair = || -> Vec<Learner<Mean>> {
        let learner = |id| {
            let setup = LearnerSetup {
                id: LearnerId(id),
                neighbours: vec![(LearnerId(1 - id), 0.25)],
                mechanism: facts,
                cap: None,
                domain: Domain::Ball { radius: 100.0 },
                lasso: 0.0,
            };
            let start: Vec<f64> = (0..DIMENSION).map(|j| f64::from(id) * 3.0 + j as f64).collect();
            Learner::new(setup, Mean { sum: vec![0.0; DIMENSION], count: 0 }).starting_at(&start)
        };
        vec![learner(0), learner(1)]
    };
    let run = |settled: bool| {
        let mut pair = pair();
        let first: Vec<Release> =
            pair.iter_mut().map(|learner| learner.release(&mut fixed(8)).unwrap()).collect();
        pair[0].absorb(&[&first[1]]);
        pair[1].absorb(&[]);
        let second: Vec<Release> =
            pair.iter_mut().map(|learner| learner.release(&mut fixed(8)).unwrap()).collect();
        pair[0].absorb(&[&second[1]]);
        let sensitivity = pair[1].accountant().sensitivity();
        let late = [LatePull { own: (&first[1]).into(), theirs: (&first[0]).into() }];
        pair[1]
            .absorb_received(&[ReleaseView::from(&second[0])], if settled { &late } else { &[] });
        (pair, first, sensitivity)
    };
    let (settled, releases, _) = run(true);
    let (plain, _, _) = run(false);
    assert_eq!(
        settled[1].accountant().sensitivity().to_bits(),
        plain[1].accountant().sensitivity().to_bits(),
        "what is public moves no account"
    );
    for j in 0..DIMENSION {
        let theta = |learners: &[Learner<Mean>]| learners[1].private_parameters().for_owner()[j];
        let moved = theta(&settled) - theta(&plain);
        let due = 0.25 * (releases[0].values()[j] - releases[1].values()[j]);
        assert!((moved - due).abs() < 1e-12, "{moved} {due}");
    }
}
