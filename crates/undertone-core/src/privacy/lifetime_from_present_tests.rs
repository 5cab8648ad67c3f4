//! The bound for ever from the present state of a learner, compared with runs that continue as planned.

use super::tests::{reference, reference_of};
use super::*;
use crate::method::{Bound, Method, Shielded};
use crate::noise::NoiseKind;
use crate::{Forgetting, PowerLaw, Round};

/// A learner after `rounds` rounds, in which `missed` says what share of the neighbours is heard and whether records come.
fn after(
    mechanism: &Mechanism,
    rounds: u64,
    missed: impl Fn(u64) -> (f64, bool),
) -> (Accountant, u64) {
    let mut account = Accountant::new(*mechanism, None);
    let mut records = mechanism.warmup;
    for t in 0..rounds {
        account.pay().unwrap();
        let (share, arrive) = missed(t);
        records += if arrive { mechanism.batch } else { 0 };
        let weight_heard = share * mechanism.weight;
        account.advance(&RoundTerms { round: Round(t), weight_heard, records });
    }
    (account, records)
}

/// What it has paid when it went on as planned.
fn went_on(account: &Accountant, mut records: u64, rounds: u64) -> Cost {
    let (mut account, mechanism) = (account.clone(), *account.mechanism());
    for _ in 0..rounds {
        account.pay().unwrap();
        let round = account.round();
        records += mechanism.batch;
        account.advance(&RoundTerms { records, ..mechanism.planned_terms(round) });
    }
    account.spent()
}

/// A bound that holds for what comes, is not below the planned one's breach, and is not loose.
fn check(mechanism: &Mechanism, rounds: u64, missed: impl Fn(u64) -> (f64, bool), ahead: u64) {
    let planned = lifetime(mechanism);
    let (account, records) = after(mechanism, rounds, missed);
    let bound = account.for_ever(&planned).unwrap().total;
    let later = went_on(&account, records, ahead);
    assert!(later.zcdp <= bound.zcdp, "{} passes {}", later.zcdp, bound.zcdp);
    assert!(later.pure <= bound.pure, "{} passes {}", later.pure, bound.pure);
    assert!(bound.zcdp < 1.5 * later.zcdp, "{} is far above {}", bound.zcdp, later.zcdp);
    // The control: the planned bound does not cover what happened.
    let planned = planned.unwrap().total.zcdp;
    assert!(later.zcdp > planned, "nothing was void: {} of {planned}", later.zcdp);
}

#[test]
fn a_void_lifetime_bound_gives_way_to_one_from_here_after_missing_neighbours() {
    let mechanism = reference(Bound::Tight);
    check(&mechanism, 300, |t| (if t % 3 == 0 { 1.0 } else { 0.5 }, true), 200_000);
}

#[test]
fn a_void_lifetime_bound_gives_way_to_one_from_here_after_empty_rounds() {
    let algorithm1 = reference(Bound::Tight);
    let mut shielded = reference_of(Method::Shielded(Shielded::default()));
    shielded.noise.kind = NoiseKind::Gaussian;
    for warmup in [0, 40] {
        for mechanism in [algorithm1, shielded] {
            let mechanism = Mechanism { warmup, ..mechanism };
            check(&mechanism, 400, |t| (1.0, t % 4 == 0), 200_000);
        }
    }
}

#[test]
fn a_void_lifetime_bound_gives_way_to_one_from_here_where_records_are_forgotten() {
    let forgetting = [
        Forgetting::Window { rounds: 20 },
        Forgetting::Decaying { factor: 0.9, rounds: None },
        Forgetting::Decaying { factor: 0.9, rounds: Some(30) },
    ];
    for forgetting in forgetting {
        let mut mechanism = reference(Bound::Tight);
        mechanism.radius = 10.0;
        mechanism.schedule.step = PowerLaw { initial: 0.5, exponent: 0.0 };
        mechanism.schedule.coupling = PowerLaw { initial: 0.2, exponent: 0.0 };
        mechanism.noise.scale.exponent = 0.0;
        mechanism.noise_max.exponent = 0.0;
        mechanism.forgetting = forgetting;
        // Fewer than half of the records, just before now: they weigh twice as much for a while.
        check(&mechanism, 200, |t| (0.5, t < 100 || t % 3 == 0), 4000);
        let shielded = Method::Shielded(Shielded::default());
        check(&Mechanism { method: shielded, ..mechanism }, 200, |t| (0.0, t % 3 == 0), 4000);
    }
}

#[test]
fn as_long_as_all_goes_as_planned_the_planned_bound_is_the_one() {
    let mechanism = reference(Bound::Tight);
    let planned = lifetime(&mechanism);
    let (account, _) = after(&mechanism, 100, |_| (1.0, true));
    assert_eq!(account.for_ever(&planned), planned);
    // A shielded learner does not care who is heard.
    let shielded = reference_of(Method::Shielded(Shielded::default()));
    let planned = lifetime(&shielded);
    let (account, _) = after(&shielded, 100, |_| (0.0, true));
    assert_eq!(account.for_ever(&planned), planned);
    // The control: one that skips rounds does.
    let mut skipped = account.clone();
    skipped.skip_to(Round(150));
    assert_ne!(skipped.for_ever(&planned), planned);
}

#[test]
fn where_nothing_is_proved_from_here_there_is_a_reason() {
    let mechanism = reference(Bound::Tight);
    let (account, _) = after(&mechanism, 100, |_| (0.5, true));
    let none = Err(NoCertificate::RecordsRepeat);
    assert_eq!(account.for_ever(&none), none, "a reason that was there stays");
}

#[test]
fn the_bound_from_here_is_the_same_after_a_restart() {
    let mechanism = reference(Bound::Tight);
    let planned = lifetime(&mechanism);
    let (mut account, _) = after(&mechanism, 50, |t| (0.5, t % 2 == 0));
    let before = account.for_ever(&planned);
    let bytes = crate::persist::save(&mut account);
    let mut again = Accountant::new(mechanism, None);
    crate::persist::load(&mut again, &bytes).unwrap();
    assert_eq!(again.for_ever(&planned), before);
}

#[test]
fn a_release_that_was_paid_for_is_not_counted_again_in_the_bound_from_here() {
    let algorithm1 = reference(Bound::Tight);
    let mut forgetting = algorithm1;
    forgetting.radius = 10.0;
    forgetting.schedule.step = PowerLaw { initial: 0.5, exponent: 0.0 };
    forgetting.schedule.coupling = PowerLaw { initial: 0.2, exponent: 0.0 };
    forgetting.noise.scale.exponent = 0.0;
    forgetting.noise_max.exponent = 0.0;
    forgetting.forgetting = Forgetting::Window { rounds: 8 };
    for mechanism in [algorithm1, forgetting] {
        let planned = lifetime(&mechanism);
        let (mut account, _) = after(&mechanism, 12, |t| (0.2, t % 2 == 0));
        let before = account.for_ever(&planned).unwrap().total.zcdp;
        let cost = account.pay().unwrap().zcdp;
        let after = account.for_ever(&planned).unwrap().total.zcdp;
        assert!((after / before - 1.0).abs() < 1e-3, "{before} {after}");
        assert!(cost > 4e-3 * before, "the control: counted twice, it would show: {cost} {before}");
    }
}
