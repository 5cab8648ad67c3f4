//! The names by which programs know the conditions.

use serde::{Serialize, Serializer};
use std::fmt;

/// Which condition it is. Programs read the names, which do not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionId {
    /// Assumption 1: Θ is convex and compact, with an interior.
    Domain,
    /// Assumption 1: every f_i is convex.
    Convexity,
    /// Assumption 1: gradients are bounded on Θ.
    Gradient,
    /// Assumption 2: all learners are connected.
    Connected,
    /// Assumption 2: every eigenvalue of W is above −1.
    Eigenvalue,
    /// Assumption 3: records' gradients deviate from their mean by a bounded amount.
    Deviation,
    /// Assumption 3: record losses are smooth.
    Smoothness,
    /// Assumption 4: the exponents of the noise.
    NoiseExponent,
    /// Assumption 4: the exponent of the coupling.
    CouplingExponent,
    /// Assumption 4: the exponent of the step.
    StepExponent,
    /// Assumption 5: two records' gradients differ by a bounded amount.
    Spread,
    /// Algorithm 1: the gradient is of the whole history.
    HistoryGradient,
    /// Theorems 1, 3 and 5: record losses are strongly convex.
    StrongConvexity,
    /// Theorems 1, 2 and 5: the size of the coupling.
    CouplingSize,
    /// Theorems 1 and 5: the size of the step.
    StepSizeStronglyConvex,
    /// Theorems 2 and 4: the exponents of step and coupling.
    ExponentsConvex,
    /// Theorem 2: the size of the step.
    StepSizeConvex,
    /// Theorem 5: the noise is Laplace's.
    LaplaceNoise,
    /// Shielded: no record's gradient is longer than a bound.
    ShieldedGradient,
    /// Shielded: two records' gradients differ by at most C.
    ShieldedSpread,
    /// Shielded: the noise is prescribed and does not shrink too fast.
    ShieldedNoise,
    /// Shielded: records keep arriving, or are forgotten.
    ShieldedHistory,
    /// Shielded: mixing is a weighted average.
    ShieldedWeights,
    /// Shielded: a gradient leaves within the planned rounds.
    ShieldedInterval,
    /// Ours: there is a lifetime certificate.
    LifetimeCertificate,
}

impl ConditionId {
    /// Its name: the assumption or theorem that requires it, and what it is about.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ConditionId::Domain => "assumption1.domain",
            ConditionId::Convexity => "assumption1.convexity",
            ConditionId::Gradient => "assumption1.gradient",
            ConditionId::Connected => "assumption2.connected",
            ConditionId::Eigenvalue => "assumption2.eigenvalue",
            ConditionId::Deviation => "assumption3.deviation",
            ConditionId::Smoothness => "assumption3.smoothness",
            ConditionId::NoiseExponent => "assumption4.noise",
            ConditionId::CouplingExponent => "assumption4.coupling",
            ConditionId::StepExponent => "assumption4.step",
            ConditionId::Spread => "assumption5.spread",
            ConditionId::HistoryGradient => "algorithm1.gradient",
            ConditionId::StrongConvexity => "theorem1.convexity",
            ConditionId::CouplingSize => "theorem1.coupling",
            ConditionId::StepSizeStronglyConvex => "theorem1.step",
            ConditionId::ExponentsConvex => "theorem2.exponents",
            ConditionId::StepSizeConvex => "theorem2.step",
            ConditionId::LaplaceNoise => "theorem5.noise",
            ConditionId::ShieldedGradient => "shielded.gradient",
            ConditionId::ShieldedSpread => "shielded.spread",
            ConditionId::ShieldedNoise => "shielded.noise",
            ConditionId::ShieldedHistory => "shielded.history",
            ConditionId::ShieldedWeights => "shielded.weights",
            ConditionId::ShieldedInterval => "shielded.interval",
            ConditionId::LifetimeCertificate => "certificate.lifetime",
        }
    }
}

impl fmt::Display for ConditionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl Serialize for ConditionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
