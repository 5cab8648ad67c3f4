//! The only type that may leave a learner, and what may be computed from it.

use crate::noise::Grid;
use crate::persist::{Fields, Persist};
use crate::{LearnerId, Round};
use std::fmt;

/// A paid-for, noisy copy of one learner's parameters: y_t = θ_t + ζ_t, rounded to a public grid.
///
/// Only [`Learner::release`](crate::Learner::release) makes one, after it has paid the accountant.
/// There is no conversion from a raw vector, so parameters cannot be sent by mistake.
#[derive(Clone, PartialEq)]
pub struct Release {
    learner: LearnerId,
    round: Round,
    grid: Grid,
    values: Box<[f64]>,
}

impl Release {
    pub(crate) fn new(learner: LearnerId, round: Round, grid: Grid, values: Box<[f64]>) -> Release {
        Release { learner, round, grid, values }
    }

    /// Who released it.
    #[must_use]
    pub fn learner(&self) -> LearnerId {
        self.learner
    }

    /// In which round.
    #[must_use]
    pub fn round(&self) -> Round {
        self.round
    }

    /// The grid that every value is a multiple of.
    #[must_use]
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The released values, exact multiples of the grid step.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

/// A release as a learner reads it: its own, one made in the same process, or one from the wire.
#[derive(Clone, Copy)]
pub struct ReleaseView<'a> {
    /// Who released it.
    pub learner: LearnerId,
    /// In which round.
    pub round: Round,
    /// The values.
    pub values: &'a [f64],
}

/// The releases of an edge in an earlier round that only the neighbour has used, for making up the
/// difference.
///
/// Both releases are public, so moving by their difference costs nothing.
#[derive(Clone, Copy)]
pub struct LatePull<'a> {
    /// What this learner released in that round.
    pub own: ReleaseView<'a>,
    /// What the neighbour released in the same round.
    pub theirs: ReleaseView<'a>,
}

impl<'a> From<&'a Release> for ReleaseView<'a> {
    fn from(release: &'a Release) -> ReleaseView<'a> {
        ReleaseView { learner: release.learner, round: release.round, values: &release.values }
    }
}

impl fmt::Debug for Release {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "Release(learner={}, round={}, dim={})",
            self.learner,
            self.round,
            self.values.len()
        )
    }
}

/// A model that may be published: a weighted average of releases over rounds and learners.
///
/// It is computed from releases alone, so publishing it costs nothing more. Round t has weight
/// (t+1)². The share of the first rounds then falls like 1/t³, and the noise of later rounds is
/// averaged.
#[derive(Clone, PartialEq)]
pub struct PublicModel {
    weight: f64,
    values: Box<[f64]>,
}

impl PublicModel {
    /// A model of zeros that has seen no release.
    #[must_use]
    pub fn new(dimension: usize) -> PublicModel {
        PublicModel { weight: 0.0, values: vec![0.0; dimension].into() }
    }

    /// Adds one release to the average.
    ///
    /// # Panics
    /// When the release has another dimension: a bug in the caller.
    pub fn include<'a>(&mut self, release: impl Into<ReleaseView<'a>>) {
        let release = release.into();
        assert_eq!(release.values.len(), self.values.len(), "releases of this model's dimension");
        #[expect(clippy::cast_precision_loss, reason = "rounds stay below 2^32")]
        let base = (release.round.0 + 1) as f64;
        let weight = base * base;
        self.weight += weight;
        let share = weight / self.weight;
        for (mean, &value) in self.values.iter_mut().zip(release.values.iter()) {
            *mean += share * (value - *mean);
        }
    }

    /// The parameters of the public model.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

impl Persist for PublicModel {
    fn visit(&mut self, fields: &mut dyn Fields) {
        fields.number(&mut self.weight);
        fields.numbers(&mut self.values);
    }
}

impl fmt::Debug for PublicModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PublicModel(dim={})", self.values.len())
    }
}
