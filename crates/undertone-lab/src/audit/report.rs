//! The report of an audit: one row for each claim that was tested.

use serde::Serialize;

/// Which part of the audit a row comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// Twins on neighbouring histories.
    Replay,
    /// Promises about whole runs.
    Account,
    /// The distribution of release minus θ.
    Residuals,
    /// Independent secrets in one release.
    Canaries,
    /// A distinguisher over several rounds.
    Likelihood,
}

impl Layer {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Layer::Replay => "replay",
            Layer::Account => "account",
            Layer::Residuals => "residuals",
            Layer::Canaries => "canaries",
            Layer::Likelihood => "likelihood",
        }
    }
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The claim held.
    Holds,
    /// The claim is broken.
    Broken,
    /// The check could not have found a broken claim, which counts as a fault too.
    Dead,
    /// It does not apply here; the note says why.
    Skipped,
}

impl Verdict {
    /// `Holds` or `Broken`.
    #[must_use]
    pub fn of(holds: bool) -> Verdict {
        if holds { Verdict::Holds } else { Verdict::Broken }
    }

    /// Whether the verdict is not a fault. [`passes`] judges the whole audit.
    #[must_use]
    pub fn passes(self) -> bool {
        matches!(self, Verdict::Holds | Verdict::Skipped)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Broken => "BROKEN",
            Verdict::Dead => "DEAD",
            Verdict::Skipped => "skipped",
        }
    }
}

/// One claim, and the measured value. NaN and infinity are null in JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// Which part of the audit.
    pub layer: Layer,
    /// Which claim.
    pub name: &'static str,
    /// The claim.
    pub claimed: f64,
    /// What was found.
    pub measured: f64,
    /// How it ended.
    pub verdict: Verdict,
    /// What was measured, where, with which threshold.
    pub note: String,
}

/// All checks of the learners that share one mechanism.
#[derive(Clone, Debug, Serialize)]
pub struct LearnerAudit {
    /// The learners.
    pub learners: Vec<u32>,
    /// Those of them whose own records were used.
    pub records_of: Vec<u32>,
    /// One row for each claim.
    pub checks: Vec<Check>,
}

/// Whether an audit passes: no check failed, and no layer that the claims depend on was skipped.
///
/// The distinguisher may be skipped: it finds only gross faults, which the other layers find too.
#[must_use]
pub fn passes(checks: &[Check]) -> bool {
    let holds =
        |layer| checks.iter().any(|check| check.layer == layer && check.verdict == Verdict::Holds);
    checks.iter().all(|check| check.verdict.passes())
        && [Layer::Replay, Layer::Account, Layer::Residuals, Layer::Canaries].into_iter().all(holds)
}

/// The result of an audit.
#[derive(Clone, Debug, Serialize)]
pub struct AuditReport {
    /// The version of this format.
    pub schema_version: u32,
    /// The config's name.
    pub name: String,
    /// What the claims are about: the unit of privacy.
    pub unit: &'static str,
    /// The seed of a repeatable audit.
    pub seed: Option<u64>,
    /// Whether records of the config's data were used. If so, the numbers depend on them: keep the
    /// report private.
    pub own_data: bool,
    /// Whether every check passed.
    pub passed: bool,
    /// One entry for each distinct learner.
    pub audits: Vec<LearnerAudit>,
}
