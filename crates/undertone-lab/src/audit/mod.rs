//! An audit of the accountant: five ways to break a learner's claims, on the real code path.
//!
//! 1. *Replay* (`replay`, `search`): twins are two learners whose histories differ in one record
//!    and that hear the same messages. In every round their secrets (θ, or the gradient of a
//!    shielded learner) must differ by at most the claimed Φ, and the summed exact loss of the pair
//!    must stay within the account. A search looks for the worst pair. This layer covers a whole
//!    run.
//! 2. *Account* (`account`): what is promised for a run or for ever must not be less than the
//!    running account, and a cap must hold.
//! 3. *Residuals* (`residuals`): the difference of the perturbed secret and the secret must have
//!    the claimed distribution, independently on every coordinate, and a round must have only one
//!    release.
//! 4. *Canaries* (`canaries`): secret bits are guessed from one release. The proven bound must not
//!    exceed the claim, and must come near it, or the test is dead.
//! 5. *Likelihood* (`likelihood`): the best distinguisher over several rounds.
//!
//! The auditor drives any [`Subject`]; the learner of a config is [`LearnerSubject`]. An audit can
//! find that a claim is broken. It cannot prove a claim; the proofs are in
//! `docs/adr/0004-accounting.md`. Time and memory are bounded for any config (`limits`); notes
//! state what was cut.

mod account;
mod audited_learner;
mod bounds;
mod canaries;
mod candidates;
mod collect;
mod correlations;
mod groups;
mod intervals;
mod learner_subject;
mod likelihood;
mod limits;
mod release_reconstruction;
mod replay;
mod report;
mod residuals;
mod scenario;
mod search;
mod subject;

pub use audited_learner::Facts;
pub use learner_subject::LearnerSubject;
pub use report::{AuditReport, Check, Layer, LearnerAudit, Verdict, passes};
pub use subject::{Claims, Subject, Trial};

use crate::stream::Streams;
use undertone::method::{Method, MethodDescription, Perturbs};
use undertone::{LearnerId, ReleaseError};
use undertone_models::BoundedRecord;
use undertone_models::Setup;

/// The version of the JSON that `audit` prints.
const SCHEMA_VERSION: u32 = 1;

/// Of each group of learners, the records of at most this many are used.
const OWN_MAX: usize = 4;

/// How much effort to spend.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Residuals tested.
    pub samples: u64,
    /// Bits planted.
    pub canaries: u64,
    /// Runs of the distinguisher on each side, half of them held out.
    pub runs: u64,
    /// Steps of hill climbing in each scenario.
    pub climb_steps: usize,
    /// Rounds over which a lifetime certificate is followed.
    pub account_rounds: u64,
    /// What one replay may cost, in units of about a nanosecond.
    pub work: f64,
    /// What each layer except the replays may cost.
    pub layer_work: f64,
}

impl Effort {
    /// The effort of the command. It detects noise that is 1 % too small, in half a minute for each
    /// distinct learner.
    pub const FULL: Effort = Effort {
        samples: 1_000_000,
        canaries: 1_000_000,
        runs: 40_000,
        climb_steps: 100,
        account_rounds: 1 << 21,
        work: 6e8,
        layer_work: 1.2e10,
    };
}

/// What to audit.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Makes the audit repeatable.
    pub seed: Option<u64>,
    /// One learner only.
    pub learner: Option<LearnerId>,
    /// How much effort to spend.
    pub effort: Effort,
}

/// Why the learners of a setup cannot be audited; `None` if they can.
///
/// Other methods, which are for comparison only, are not supported: their learners continue from
/// what they sent, including noise, which the twins of a replay do not share.
#[must_use]
pub fn unsupported(setup: &Setup) -> Option<String> {
    if setup.model.linear().is_none() {
        return Some("the audit knows linear models only, no neural networks".into());
    }
    if setup.agreement.model.declared_by_user().is_some() {
        let text = "the audit knows the losses that come with the program, not a user-defined loss";
        return Some(text.into());
    }
    let names = Method::names_where(is_supported).join(" and ");
    let supported = is_supported(&setup.agreement.method.describe());
    (!supported).then(|| format!("the audit knows the methods {names} only"))
}

fn is_supported(method: &MethodDescription) -> bool {
    method.theorems_apply || method.perturbs == Perturbs::Gradient
}

/// Audits every distinct learner of a setup, which must be [supported](unsupported), over `rounds`
/// rounds.
///
/// Before each learner, `progress` is called with the number done and the total. With the config's
/// own data the numbers depend on the records, so the report is for their owner only.
///
/// # Errors
/// When a release fails for another reason than the budget, for example without entropy.
pub fn audit(
    setup: &Setup,
    rounds: u64,
    data: Option<&Streams>,
    options: &Options,
    mut progress: impl FnMut(usize, usize),
) -> Result<AuditReport, ReleaseError> {
    let mut audits = Vec::new();
    let groups = groups::groups(setup, options.learner);
    for (done, learners) in groups.iter().enumerate() {
        progress(done, groups.len());
        let id = learners[0];
        let own = data.map_or(Vec::new(), |streams| own_records(setup, rounds, streams, learners));
        let facts = Facts::new(setup, rounds, id, own, options.seed.unwrap_or(0));
        let make =
            |trial: &Trial| LearnerSubject::new(setup, id, trial.entropy(options.seed), trial);
        let checks = audit_subject(&facts, &options.effort, &make)?;
        audits.push(LearnerAudit {
            learners: learners.iter().map(|id| id.0).collect(),
            records_of: facts.own.iter().map(|(id, _)| id.0).collect(),
            checks,
        });
    }
    Ok(AuditReport {
        schema_version: SCHEMA_VERSION,
        name: setup.agreement.name.clone(),
        seed: options.seed,
        own_data: data.is_some(),
        passed: !audits.is_empty() && audits.iter().all(|audit| passes(&audit.checks)),
        audits,
    })
}

/// Audits any subject.
///
/// # Errors
/// When a release fails for another reason than the budget.
pub fn audit_subject<S: Subject>(
    facts: &Facts,
    effort: &Effort,
    make: &(dyn Fn(&Trial) -> S + Sync),
) -> Result<Vec<Check>, ReleaseError> {
    let mut checks = replay::checks(facts, &search::search(facts, make, effort)?);
    checks.push(bounds::bounds(facts, make)?);
    checks.extend(account::audit(facts, make, effort)?);
    checks.extend(residuals::audit(facts, make, effort)?);
    checks.extend(canaries::audit(facts, make, effort)?);
    checks.extend(likelihood::audit(facts, make, effort)?);
    Ok(checks)
}

/// The first records of some learners, as many as the audit can use.
fn own_records(
    setup: &Setup,
    rounds: u64,
    streams: &Streams,
    learners: &[LearnerId],
) -> Vec<(LearnerId, Vec<BoundedRecord>)> {
    let planned = setup.agreement.records.taken_after(rounds);
    let one = |&id: &LearnerId| {
        let stream = &streams.learners[id.0 as usize];
        let width = scenario::average_entries(&stream.clone().next(64));
        (id, stream.clone().next(planned.min(limits::own_records(width))))
    };
    learners.iter().take(OWN_MAX).map(one).collect()
}
