//! What a published model says of the records behind it, against what they paid.

use super::tests::reference;
use super::*;
use crate::method::Bound;
use crate::noise::NoiseKind;
use crate::persist::{Damaged, load, save};
use crate::{LearnerId, Round};

fn account(learner: u32, noise: NoiseKind, pure: f64, zcdp: f64) -> PaidAccount {
    PaidAccount {
        learner: LearnerId(learner),
        starts_ago: 0,
        through: Round(10),
        noise,
        one_use: Cost { pure, zcdp },
        uses: 1,
        basis: PaidBasis::OwnAccount,
    }
}

fn gaussian(learner: u32, zcdp: f64) -> PaidAccount {
    account(learner, NoiseKind::Gaussian, f64::INFINITY, zcdp)
}

/// After so many rounds as planned.
fn spent(rounds: u64) -> Accountant {
    let mechanism = reference(Bound::Tight);
    let mut account = Accountant::new(mechanism, None);
    for t in 0..rounds {
        account.pay().unwrap();
        account.advance(&mechanism.planned_terms(Round(t)));
    }
    account
}

#[test]
fn a_model_never_states_less_than_any_learner_in_it_has_paid() {
    let own = gaussian(0, 0.001);
    let neighbour = gaussian(1, 1.7);
    for accounts in [vec![own, neighbour], vec![neighbour, own]] {
        let model = ModelAccounts::new(accounts);
        for delta in [1e-12, 1e-6, 0.1] {
            let paid = neighbour.one_use.epsilon(NoiseKind::Gaussian, delta);
            assert!((model.epsilon(delta) - paid).abs() <= 0.0, "{delta}");
            assert_eq!(model.worst(delta).map(|worst| worst.learner), Some(LearnerId(1)));
            assert!(own.epsilon(delta) < 0.1 * paid, "the control: the exporter's own is far less");
        }
    }
    assert!(ModelAccounts::default().worst(1e-6).is_none());
}

#[test]
fn an_epsilon_at_one_delta_is_not_stated_at_another() {
    let account = spent(200);
    let model = ModelAccounts::new(vec![account.paid_account(LearnerId(0), 1)]);
    for delta in [1e-12, 1e-9, 1e-6, 1e-3] {
        assert!((model.epsilon(delta) - account.epsilon(delta)).abs() <= 0.0, "{delta}");
    }
    // The control: an ε that is copied without its δ.
    assert!(model.epsilon(1e-3) < 0.8 * model.epsilon(1e-9));
}

#[test]
fn a_record_that_was_drawn_again_pays_for_every_draw_in_the_model_too() {
    let account = spent(200);
    let once = ModelAccounts::new(vec![account.paid_account(LearnerId(0), 1)]);
    let often = ModelAccounts::new(vec![account.paid_account(LearnerId(0), 7)]);
    let expected = account.spent().of_repeated(7).epsilon(NoiseKind::Laplace, 1e-6);
    assert!((often.epsilon(1e-6) - expected).abs() <= 0.0);
    assert!(often.epsilon(1e-6) > 6.9 * once.epsilon(1e-6));
    let never = account.paid_account(LearnerId(0), 0);
    assert_eq!(never.uses, 1, "a learner without records has paid what one use would");
}

#[test]
fn two_kinds_of_noise_are_each_priced_as_their_own() {
    // Pure ε bounds the Laplace account at every δ; the Gaussian one grows without limit as δ shrinks.
    let laplace = account(0, NoiseKind::Laplace, 3.0, 4.5);
    let other = gaussian(1, 0.3);
    let model = ModelAccounts::new(vec![laplace, other]);
    for (delta, worst) in [(1e-2, 0), (1e-12, 1)] {
        assert_eq!(model.worst(delta).map(|worst| worst.learner), Some(LearnerId(worst)));
        let largest = laplace.epsilon(delta).max(other.epsilon(delta));
        assert!((model.epsilon(delta) - largest).abs() <= 0.0);
    }
    // The control: the kind matters.
    let mistaken = PaidAccount { noise: NoiseKind::Gaussian, ..laplace };
    assert!(mistaken.epsilon(1e-12) > 2.0 * laplace.epsilon(1e-12));
}

#[test]
fn what_is_not_known_is_not_stated_as_a_number() {
    let unknown = PaidAccount {
        basis: PaidBasis::NotKnown,
        ..account(2, NoiseKind::Laplace, f64::INFINITY, f64::INFINITY)
    };
    let model = ModelAccounts::new(vec![gaussian(0, 0.5), unknown, gaussian(1, 0.7)]);
    assert!(model.epsilon(1e-6).is_infinite());
    assert_eq!(model.worst(1e-6).map(|worst| worst.learner), Some(LearnerId(2)));
}

/// A start moves the accounts of a model one start back. None of them is lost, and they are not added up.
#[test]
fn a_model_that_was_started_from_keeps_its_accounts() {
    let first = ModelAccounts::new(vec![gaussian(0, 2.0), gaussian(1, 1.0)]);
    let second = first.continued_by([gaussian(0, 0.1)]);
    let third = second.continued_by([gaussian(0, 0.2)]);
    let starts: Vec<u32> = third.iter().map(|account| account.starts_ago).collect();
    assert_eq!(starts, [0, 1, 2, 2]);
    for delta in [1e-9, 1e-3] {
        assert!((third.epsilon(delta) - first.epsilon(delta)).abs() <= 0.0);
    }
    assert!(third.continued_by([gaussian(0, 5.0)]).epsilon(1e-6) > third.epsilon(1e-6));
}

/// Numbers in [0, 1) from a linear congruence.
fn numbers() -> impl FnMut() -> f64 {
    let mut state = 1_u64;
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(state >> 33).unwrap()) / f64::from(1_u32 << 31)
    }
}

#[test]
fn accounts_that_are_not_listed_are_never_the_largest_at_any_delta() {
    let mut number = numbers();
    let mut all = Vec::new();
    for learner in 0..5000 {
        let zcdp = number() * number();
        let pure = (2.0 * zcdp).sqrt() * (1.0 + 5.0 * number());
        all.push(match learner % 2 {
            0 => account(learner, NoiseKind::Laplace, pure, zcdp),
            _ => gaussian(learner, zcdp),
        });
    }
    let listed = ModelAccounts::new(all.clone());
    let count = listed.iter().count();
    assert!(count < 100, "{count}");
    assert_eq!(listed.unlisted(), 5000 - count as u64);
    let mut missed = 0;
    for delta in [1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.5] {
        let largest = all.iter().map(|account| account.epsilon(delta)).fold(0.0, f64::max);
        assert!((listed.epsilon(delta) - largest).abs() <= 0.0, "{delta}");
        let first = all[..count].iter().map(|account| account.epsilon(delta)).fold(0.0, f64::max);
        missed += u32::from(first < largest);
    }
    assert!(missed > 3, "the control: any others of that number are not enough");
    assert_eq!(ModelAccounts::new(all[..1000].to_vec()).unlisted(), 0, "few are all listed");
}

#[test]
fn accounts_that_are_saved_are_loaded_again_and_damage_is_found() {
    let planned = PaidAccount { basis: PaidBasis::AsPlanned, uses: 9, ..gaussian(7, 0.25) };
    let mut model = ModelAccounts::new(vec![account(0, NoiseKind::Laplace, 3.0, 4.5), planned])
        .and_unlisted(12)
        .continued_by([gaussian(3, 0.125)]);
    let bytes = save(&mut model);
    let mut back = ModelAccounts::default();
    load(&mut back, &bytes).unwrap();
    assert_eq!(back, model);
    let last = bytes.len() - 8;
    for (place, damage) in [(last, 3_u64), (last - 8, 0), (last - 16, (-1.0_f64).to_bits())] {
        let mut damaged = bytes.clone();
        damaged[place..place + 8].copy_from_slice(&damage.to_le_bytes());
        assert_eq!(load(&mut ModelAccounts::default(), &damaged), Err(Damaged), "{place}");
    }
}
