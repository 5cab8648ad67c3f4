//! An audit of the accountant: four ways to break what a learner claims, on the real code path.
//!
//! 1. *Replay* (`replay`, `search`): twins on two histories that differ in one record hear the same
//!    messages. In every round ‖θ − θ'‖₂ must stay within the claimed Φ, and the exact loss of the
//!    pair, added up, within the account. The pair is searched for. This layer carries the claim over
//!    a whole run.
//! 2. *Residuals* (`residuals`): what was sent minus θ has the claimed distribution, on every
//!    coordinate, independently, and a round has one answer.
//! 3. *Canaries* (`canaries`): secret bits are guessed from one release. What is proven must not
//!    pass the claim, and must come near it, or the test is dead.
//! 4. *Likelihood* (`likelihood`): the best distinguisher over several rounds.
//!
//! The auditor drives any [`Subject`]; the learner of a config is [`LearnerSubject`]. An audit can
//! find that a claim is broken. It cannot prove one: proofs are in `docs/adr/0004-accounting.md`.

mod canaries;
mod intervals;
mod likelihood;
mod replay;
mod report;
mod residuals;
mod search;
mod subject;
mod world;

pub use report::{AuditReport, Check, Layer, LearnerAudit, Verdict};
pub use subject::{Claims, Facts, LearnerSubject, Subject, Trial};

use crate::plan::Plan;
use crate::stream::Streams;
use undertone::{LearnerId, ReleaseError};
use undertone_models::Record;

/// The version of the JSON that `audit` prints.
const SCHEMA_VERSION: u32 = 1;

/// How hard to try.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Residuals looked at.
    pub samples: u64,
    /// Bits planted.
    pub canaries: u64,
    /// Runs of the distinguisher on each side, half of them held out.
    pub runs: u64,
    /// Steps of hill climbing in each world.
    pub climb_steps: usize,
    /// What one world's search may cost, in units of about a nanosecond.
    pub work: f64,
}

impl Effort {
    /// What the command does: sees noise 1 % too small, in half a minute for each distinct learner.
    pub const FULL: Effort = Effort {
        samples: 1_000_000,
        canaries: 1_000_000,
        runs: 40_000,
        climb_steps: 100,
        work: 6e8,
    };
}

/// What to audit.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Makes the audit repeatable.
    pub seed: Option<u64>,
    /// One learner only.
    pub learner: Option<LearnerId>,
    /// How hard to try.
    pub effort: Effort,
}

/// Audits every distinct learner of a plan.
///
/// With the config's own data the numbers depend on them, so the report is for their owner.
///
/// # Errors
/// When a release fails for another reason than the budget: no entropy, above all.
pub fn audit(
    plan: &Plan,
    data: Option<&Streams>,
    options: &Options,
) -> Result<AuditReport, ReleaseError> {
    let mut audits = Vec::new();
    for learners in distinct(plan, options.learner) {
        let id = learners[0];
        let own = data.map(|streams| own_records(plan, streams, id));
        let facts = Facts::new(plan, id, own, options.seed.unwrap_or(0));
        let make =
            |trial: &Trial| LearnerSubject::new(plan, id, trial.entropy(options.seed), trial);
        let checks = audit_subject(&facts, &options.effort, &make)?;
        audits.push(LearnerAudit { learners: learners.iter().map(|id| id.0).collect(), checks });
    }
    let passes = |audit: &LearnerAudit| audit.checks.iter().all(|check| check.verdict.passes());
    Ok(AuditReport {
        schema_version: SCHEMA_VERSION,
        name: plan.config.name.clone(),
        seed: options.seed,
        own_data: data.is_some(),
        passed: audits.iter().all(passes),
        audits,
    })
}

/// Audits anything that behaves like a learner.
///
/// # Errors
/// When a release fails for another reason than the budget.
pub fn audit_subject<S: Subject>(
    facts: &Facts,
    effort: &Effort,
    make: &(dyn Fn(&Trial) -> S + Sync),
) -> Result<Vec<Check>, ReleaseError> {
    let mut checks = replay::checks(facts, &search::search(facts, make, effort)?);
    checks.push(replay::bounds(facts, make)?);
    checks.extend(residuals::audit(facts, make, effort)?);
    checks.extend(canaries::audit(facts, make, effort)?);
    checks.extend(likelihood::audit(facts, make, effort)?);
    Ok(checks)
}

/// Learners by what their claims follow from; those alike share one audit.
fn distinct(plan: &Plan, only: Option<LearnerId>) -> Vec<Vec<LearnerId>> {
    let mut groups: Vec<Vec<LearnerId>> = Vec::new();
    let alike = |a: LearnerId, b: LearnerId| {
        let (left, right) = (a.0 as usize, b.0 as usize);
        let weights = |id| plan.config.graph.neighbours(id).iter().map(|&(_, weight)| weight);
        plan.mechanisms[left] == plan.mechanisms[right]
            && plan.config.caps[left] == plan.config.caps[right]
            && weights(a).map(f64::to_bits).eq(weights(b).map(f64::to_bits))
    };
    for id in plan.config.graph.ids().filter(|&id| only.is_none_or(|only| only == id)) {
        match groups.iter_mut().find(|group| alike(group[0], id)) {
            Some(group) => group.push(id),
            None => groups.push(vec![id]),
        }
    }
    groups
}

fn own_records(plan: &Plan, streams: &Streams, id: LearnerId) -> Vec<Record> {
    let data = &plan.config.data;
    let count = data.warmup.saturating_add(data.batch.saturating_mul(plan.config.rounds));
    streams.learners[id.0 as usize].clone().next(count)
}
