//! The layer `account`: checks the claims about whole runs against the running account: planned
//! cost, lifetime certificate and cap.
//!
//! Replays show that the account of a run is not below the true loss. These rows show that what is
//! promised in advance is not below the account.

use super::Effort;
use super::audited_learner::{Facts, account_rounds};
use super::limits::{Extent, round_cost, rounds_in_all};
use super::replay::{Make, Measured, ROUNDING};
use super::report::{Check, Layer, Verdict};
use super::scenario::{Background, Message, Scenario};
use super::subject::{Subject, Trial};
use undertone::noise::NoiseKind;
use undertone::privacy::{Accountant, Cap, Cost};
use undertone::{Forgetting, ReleaseError, Round};

/// Rounds in which a cap should be reached when nobody is heard and no record arrives.
const CAP_ROUNDS: u64 = 4096;
/// A cap that refuses only after this many rounds must have added up what was spent.
const CAP_ROUNDS_WANTED: u64 = 8;
/// The most records that are tried to delay a refusal.
const CAP_RECORDS_MAX: u64 = 4096;

/// Checks all claims about whole runs.
///
/// # Errors
/// When a release fails for another reason than the budget.
pub(super) fn audit<S: Subject>(
    facts: &Facts,
    make: Make<'_, S>,
    effort: &Effort,
) -> Result<Vec<Check>, ReleaseError> {
    let mut checks = promises(facts, effort);
    checks.push(cap(facts, make, effort)?);
    Ok(checks)
}

/// The running account with all neighbours heard, before the release of each requested round.
fn spent_by(facts: &Facts, rounds: &[u64]) -> Vec<Cost> {
    let mut account = Accountant::new(facts.mechanism, None);
    let mut spent = Vec::with_capacity(rounds.len());
    for &last in rounds {
        while account.round().0 < last {
            let terms = facts.mechanism.planned_terms(account.round());
            if account.pay().is_err() {
                break;
            }
            account.advance(&terms);
        }
        spent.push(account.spent());
    }
    spent
}

fn promises(facts: &Facts, effort: &Effort) -> Vec<Check> {
    let limit = account_rounds(&facts.mechanism, effort.account_rounds).min(Round::LIMIT.0);
    let planned_rounds = facts.planned_rounds;
    let Ok(lifetime) = facts.lifetime else {
        let spent = spent_by(facts, &[planned_rounds + 1]);
        let reason = facts.lifetime.err().map(|reason| reason.to_string()).unwrap_or_default();
        return vec![planned(facts, spent[0]), skipped("lifetime", reason)];
    };
    let summed = lifetime.summed_to.0;
    let mut stops = [planned_rounds + 1, summed, limit.max(planned_rounds + 1)];
    stops.sort_unstable();
    let spent = spent_by(facts, &stops);
    let at = |round: u64| {
        stops.iter().position(|&stop| stop == round).map_or(Cost::default(), |index| spent[index])
    };
    let last = stops[2];
    let followed = at(last);
    let note = format!("account after {last} rounds against the certificate for ever");
    let mut checks = vec![
        planned(facts, at(planned_rounds + 1)),
        row(facts, "lifetime", lifetime.total, followed, last, note),
    ];
    let kept = at(summed);
    // The certificate is the sum up to here plus the tail: it must cover both.
    let whole = kept.plus(lifetime.tail);
    let short = !(whole.zcdp <= lifetime.total.zcdp * ROUNDING);
    let tail = Cost { pure: followed.pure - kept.pure, zcdp: followed.zcdp - kept.zcdp };
    let note = format!("account of rounds {summed} to {last} against the tail bound");
    checks.push(if facts.mechanism.forgetting != Forgetting::Never {
        skipped("tail", "records are forgotten: the certificate follows each by itself".into())
    } else if short {
        let note = "the certificate is less than its own sum and tail".into();
        check("tail", lifetime.total.zcdp, whole.zcdp, Verdict::Broken, note)
    } else if last <= summed {
        skipped("tail", format!("the tail bound takes over in round {summed} only"))
    } else {
        row(facts, "tail", lifetime.tail, tail, last, note)
    });
    checks
}

fn planned(facts: &Facts, spent: Cost) -> Check {
    let rounds = facts.planned_rounds;
    let mut note = format!("account after the release of round {rounds} against the planned cost");
    if rounds < facts.rounds {
        note.push_str(&format!(", cut from {} rounds", facts.rounds));
    }
    row(facts, "planned", facts.planned, spent, rounds, note)
}

/// The worse of both currencies.
fn row(
    facts: &Facts,
    name: &'static str,
    claimed: Cost,
    spent: Cost,
    round: u64,
    note: String,
) -> Check {
    let mut worst = Measured { claimed: claimed.zcdp, found: spent.zcdp, round };
    let mut currency = "zCDP";
    if facts.mechanism.noise.kind == NoiseKind::Laplace && claimed.pure.is_finite() {
        let pure = Measured { claimed: claimed.pure, found: spent.pure, round };
        if !(pure.ratio() <= worst.ratio()) && !worst.ratio().is_nan() {
            (worst, currency) = (pure, "pure epsilon");
        }
    }
    let note = format!("{currency}: {note}, {:.4} of it", worst.ratio());
    check(name, worst.claimed, worst.found, Verdict::of(worst.ratio() <= ROUNDING), note)
}

/// Runs a learner until its cap refuses a release. No neighbour is heard and no record arrives
/// after round 0, which costs most. With few records even the first charge may be refused, so more
/// records are tried until several charges are accepted.
fn cap<S: Subject>(
    facts: &Facts,
    make: Make<'_, S>,
    effort: &Effort,
) -> Result<Check, ReleaseError> {
    let Some(cap) = facts.cap else { return Ok(skipped("cap", "the config has none".into())) };
    let one = round_cost(facts, 4.0, 0.0) * facts.interval() as f64;
    let rounds = CAP_ROUNDS.min(rounds_in_all(one, effort)).max(8) * facts.interval();
    let mut checked: Option<Check> = None;
    let mut records = 1;
    while records <= CAP_RECORDS_MAX {
        let (ended, check) = drive_to(cap, facts, make, records, rounds)?;
        let broken = check.verdict == Verdict::Broken;
        let refused = check.verdict == Verdict::Holds;
        if broken || refused || checked.is_none() {
            checked = Some(check);
        }
        if broken || !refused || ended >= CAP_ROUNDS_WANTED * facts.interval() {
            break;
        }
        records *= 4;
    }
    Ok(checked.unwrap_or_else(|| skipped("cap", "nothing was tried".into())))
}

/// Runs one capped learner on this many records. Returns the round in which it ended.
fn drive_to<S: Subject>(
    cap: Cap,
    facts: &Facts,
    make: Make<'_, S>,
    records: u64,
    rounds: u64,
) -> Result<(u64, Check), ReleaseError> {
    let of = |spent: Cost| match cap {
        Cap::Pure { epsilon } => (epsilon, spent.pure),
        Cap::Approximate { epsilon, delta } => {
            (epsilon, spent.epsilon(facts.mechanism.noise.kind, delta))
        }
    };
    let extent = Extent { rounds: 1, first: records, batch: 0 };
    let mut subject = make(&Trial::capped(0));
    let scenario = Scenario::new(facts, &subject, Background::Empty, Message::Silent, extent);
    // Without records, if they are refused, it only costs more.
    subject.observe(&scenario.records);
    for round in 0..rounds {
        let refused = match subject.release() {
            Ok(_) => false,
            Err(ReleaseError::Refused(_)) => true,
            Err(error) => return Err(error),
        };
        let (limit, spent) = of(subject.claims().spent);
        if !(spent <= limit * ROUNDING) {
            let note = format!("the release of round {round} passed the cap on epsilon");
            return Ok((round, check("cap", limit, spent, Verdict::Broken, note)));
        }
        if refused {
            let note = format!("epsilon spent when round {round} was refused");
            return Ok((round, check("cap", limit, spent, Verdict::Holds, note)));
        }
        subject.absorb(&[]);
    }
    let (limit, spent) = of(subject.claims().spent);
    let note = format!("{rounds} rounds with {records} records do not reach it");
    Ok((rounds, check("cap", limit, spent, Verdict::Skipped, note)))
}

fn skipped(name: &'static str, note: String) -> Check {
    check(name, f64::NAN, f64::NAN, Verdict::Skipped, note)
}

fn check(name: &'static str, claimed: f64, measured: f64, verdict: Verdict, note: String) -> Check {
    Check { layer: Layer::Account, name, claimed, measured, verdict, note }
}
