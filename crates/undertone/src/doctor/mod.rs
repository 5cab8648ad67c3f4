//! Which assumptions and theorems of the paper a config satisfies, and what to change if not.
//!
//! They are about Algorithm 1. For the shielded method, the doctor lists the facts that its certificate rests on; for
//! any other method, whether there is a certificate.
//!
//! The conditions themselves are in [`agreement`](undertone_core::agreement), which refuses an
//! agreement that breaks some of them unless it has `unproven = true`. This module evaluates all of
//! them and adds advice.

mod advice;
mod rates;
mod shielded;

pub use advice::advice;
pub use rates::Rate;

use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Deref;
use undertone_core::PowerLaw;
use undertone_core::agreement::{
    Agreement, Condition, ConditionId, NoiseScale, Numbers, all_conditions,
};
use undertone_core::method::Method;
use undertone_core::privacy::{Lifetime, NoCertificate, format_epsilon, lifetimes};

#[cfg(test)]
mod tests;

/// The version of the JSON form of a [`Diagnosis`].
pub const SCHEMA_VERSION: u32 = 1;

/// Everything the paper's assumptions and theorems say about an agreement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// The version of this format.
    pub schema_version: u32,
    /// The config's name.
    pub name: String,
    /// The method's name.
    pub method: &'static str,
    /// How many rounds it runs; `None` where nothing says so, as in an agreement.
    pub rounds: Option<u64>,
    /// Whether every finding holds.
    pub holds: bool,
    /// Whether the config runs without `unproven = true`.
    pub proven: bool,
    /// The numbers that the findings compare.
    pub numbers: Numbers,
    /// Every condition, with what was found and what is needed.
    pub findings: Vec<Finding>,
    /// Whether `assumption1` to `assumption5` hold; `None` if that cannot be computed. Empty for
    /// methods other than Algorithm 1.
    pub assumptions: BTreeMap<&'static str, Option<bool>>,
    /// `theorem1` to `theorem5`; empty for methods other than Algorithm 1.
    pub theorems: BTreeMap<&'static str, Theorem>,
    /// Conditions that cannot be checked from a config.
    pub not_checked: Vec<&'static str>,
    /// What the user has declared about a loss of their own; null for built-in losses.
    pub declared_by_user: Option<String>,
}

/// A condition, and what to change if it does not hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The condition.
    #[serde(flatten)]
    pub condition: Condition,
    /// What to change; `None` if it holds.
    pub advice: Option<String>,
}

impl Deref for Finding {
    type Target = Condition;

    fn deref(&self) -> &Condition {
        &self.condition
    }
}

/// How an agreement will be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// How many rounds are planned, if that is known.
    pub rounds: Option<u64>,
    /// Whether records are drawn again when they run out.
    pub records_repeat: bool,
}

/// What one theorem has to say about an agreement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Theorem {
    /// Whether all its conditions hold; `None` if one cannot be computed and none is broken.
    pub holds: Option<bool>,
    /// What it promises.
    pub promise: &'static str,
    /// The ids of the findings that do not hold.
    pub missing: Vec<&'static str>,
    /// β, for Theorems 1 to 4.
    pub rate: Option<Rate>,
    /// t0 of Theorems 3 and 4, which say nothing about earlier rounds. Infinite (null in JSON) if
    /// it overflows; `None` if its formula is undefined.
    pub from_round: Option<f64>,
}

const ASSUMPTIONS: [&str; 5] =
    ["assumption1", "assumption2", "assumption3", "assumption4", "assumption5"];

const TRACKING: &str = "tracking error E‖θ − θ*‖² in O(t^-β)";
const REGRET: &str = "instantaneous regret E[F(θ) − F(θ*)] in O(t^-β)";
const PRIVACY: &str = "Theorem 1's tracking error and a finite pure ε for ever";

/// What each theorem requires in addition to Assumptions 1 to 4, as ids or beginnings of ids.
const THEOREM_1: [&str; 3] = ["theorem1.convexity", "theorem1.coupling", "theorem1.step"];
const THEOREM_2: [&str; 3] = ["theorem2.exponents", "theorem1.coupling", "theorem2.step"];
const THEOREM_3: [&str; 1] = ["theorem1.convexity"];
const THEOREM_4: [&str; 1] = ["theorem2.exponents"];
const THEOREM_5: [&str; 5] =
    ["theorem1.convexity", "theorem1.coupling", "theorem1.step", "assumption5", "theorem5.noise"];

/// Examines an agreement.
///
/// The bound on the memory's error comes from the crate that implements the memory. Neither records
/// nor files are read.
#[must_use]
pub fn examine(agreement: &Agreement, memory_error: PowerLaw, usage: Usage) -> Diagnosis {
    let of_paper = agreement.method.describe().theorems_apply;
    let mut findings = facts(agreement, usage);
    findings.push(certificate(agreement, memory_error, usage));
    let numbers = Numbers::of(agreement);
    let (assumptions, theorems) = match of_paper {
        true => (assumptions(&findings), theorems(&findings, &numbers)),
        false => (BTreeMap::new(), BTreeMap::new()),
    };
    Diagnosis {
        schema_version: SCHEMA_VERSION,
        name: agreement.name.clone(),
        method: agreement.method.describe().name,
        rounds: usage.rounds,
        declared_by_user: agreement.model.declared_by_user(),
        holds: findings.iter().all(|finding| finding.holds == Some(true)),
        proven: agreement.broken_conditions().is_empty(),
        numbers,
        assumptions,
        theorems,
        not_checked: not_checked(of_paper, usage),
        findings,
    }
}

/// What is asked of a method beside a certificate: conditions of the paper are asked of Algorithm 1 alone.
fn facts(agreement: &Agreement, usage: Usage) -> Vec<Finding> {
    match agreement.method {
        Method::Algorithm1(_) => {
            let with_advice =
                |condition| Finding { advice: advice(agreement, &condition), condition };
            all_conditions(agreement).into_iter().map(with_advice).collect()
        }
        Method::Shielded(_) => shielded::facts(agreement, usage),
        Method::Dsgd | Method::Dola | Method::Pdop(_) | Method::Local => Vec::new(),
    }
}

fn assumptions(findings: &[Finding]) -> BTreeMap<&'static str, Option<bool>> {
    ASSUMPTIONS.iter().map(|beginning| (*beginning, verdict(findings, &[*beginning]))).collect()
}

fn theorems(findings: &[Finding], numbers: &Numbers) -> BTreeMap<&'static str, Theorem> {
    let theorem = |needs: &[&str], promise, rate, from_round| {
        let all: Vec<&str> = ASSUMPTIONS[..4]
            .iter()
            .copied()
            .chain(["algorithm1"])
            .chain(needs.iter().copied())
            .collect();
        let missing = asked(findings, &all)
            .filter(|finding| finding.holds != Some(true))
            .map(|finding| finding.id.name())
            .collect();
        Theorem { holds: verdict(findings, &all), promise, missing, rate, from_round }
    };
    let strong = Some(rates::rate_strongly_convex(numbers));
    let convex = Some(rates::rate_convex(numbers));
    BTreeMap::from([
        ("theorem1", theorem(&THEOREM_1, TRACKING, strong, None)),
        ("theorem2", theorem(&THEOREM_2, REGRET, convex, None)),
        ("theorem3", theorem(&THEOREM_3, TRACKING, strong, rates::start_strongly_convex(numbers))),
        ("theorem4", theorem(&THEOREM_4, REGRET, convex, rates::start_convex(numbers))),
        ("theorem5", theorem(&THEOREM_5, PRIVACY, None, None)),
    ])
}

/// The findings whose ids begin with one of these.
fn asked<'a>(findings: &'a [Finding], ids: &[&str]) -> impl Iterator<Item = &'a Finding> {
    findings.iter().filter(move |finding| ids.iter().any(|id| finding.id.name().starts_with(id)))
}

/// False if one finding is broken, otherwise `None` if one is unknown, otherwise true.
fn verdict(findings: &[Finding], ids: &[&str]) -> Option<bool> {
    if asked(findings, ids).any(|finding| finding.holds == Some(false)) {
        return Some(false);
    }
    asked(findings, ids).all(|finding| finding.holds.is_some()).then_some(true)
}

fn not_checked(of_paper: bool, usage: Usage) -> Vec<&'static str> {
    let mut list = vec![match of_paper {
        true => {
            "Assumption 3: records are independent, and those of a learner come from one distribution"
        }
        false => {
            "convergence: the paper's theorems are about Algorithm 1, this method was only measured"
        }
    }];
    if usage.records_repeat {
        list.push("data.repeat draws records again once they run out; those are not fresh records");
    }
    list
}

/// Whether our own lifetime certificate exists, and what it says.
fn certificate(agreement: &Agreement, memory_error: PowerLaw, usage: Usage) -> Finding {
    let (holds, found, advice) = match worst_lifetime(agreement, memory_error, usage) {
        Ok(worst) => {
            let found = match agreement.noise_scale {
                NoiseScale::Given(_) => {
                    let epsilon = worst.total.epsilon(agreement.noise_kind, agreement.delta);
                    let epsilon = format_epsilon(epsilon);
                    format!("at most ε = {epsilon} at δ = {:e}", agreement.delta)
                }
                // Whether a certificate exists does not depend on the scale, only on the exponents.
                NoiseScale::Lifetime => "exists; the noise is calibrated to it".into(),
                NoiseScale::Rounds(_) => "exists; the noise is calibrated to the rounds".into(),
            };
            (true, found, None)
        }
        Err(reason) => (false, format!("none: {reason}"), Some(advice::certificate_advice(reason))),
    };
    let condition = Condition {
        id: ConditionId::LifetimeCertificate,
        name: "Lifetime certificate (ours)",
        path: "privacy",
        holds: Some(holds),
        statement: "all releases for ever cost a finite ε",
        found,
        needed: "a finite bound for every learner".into(),
    };
    Finding { condition, advice }
}

fn worst_lifetime(
    agreement: &Agreement,
    memory_error: PowerLaw,
    usage: Usage,
) -> Result<Lifetime, NoCertificate> {
    if usage.records_repeat {
        return Err(NoCertificate::RecordsRepeat);
    }
    let mechanisms = match &agreement.noise_scale {
        NoiseScale::Given(scales) => agreement.mechanisms(memory_error, scales),
        NoiseScale::Lifetime | NoiseScale::Rounds(_) => {
            agreement.mechanisms(memory_error, &vec![1.0; agreement.graph.learners()])
        }
    };
    let mut worst: Option<Lifetime> = None;
    for bound in lifetimes(&mechanisms) {
        let bound = bound?;
        if worst.is_none_or(|worst| bound.total.zcdp > worst.total.zcdp) {
            worst = Some(bound);
        }
    }
    worst.ok_or(NoCertificate::NoContraction)
}
