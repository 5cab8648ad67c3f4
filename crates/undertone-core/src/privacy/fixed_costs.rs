//! The costs of releases that are fixed in advance.

use super::cost::{Cost, Total};
use super::laplace::LaplaceReleases;
use super::mechanism::Mechanism;
use crate::noise::NoiseKind;

/// What releases cost whose costs are fixed before the first of them, as in a plan.
///
/// Their ε may be smaller than that of their total: the Rényi divergence of Laplace noise is less than its zCDP says, but to
/// use that a run must go as planned. What was spent by a run, and a cap, stay in zCDP or pure ε (ADR 0026).
#[derive(Clone, Debug)]
pub struct FixedCosts {
    total: Total,
    noise: NoiseKind,
    /// With Laplace noise only.
    laplace: Option<LaplaceReleases>,
}

impl FixedCosts {
    pub(super) fn new(mechanism: &Mechanism) -> FixedCosts {
        let noise = mechanism.noise.kind;
        let laplace = match noise {
            NoiseKind::Laplace => Some(LaplaceReleases::new(mechanism.dimension)),
            NoiseKind::Gaussian => None,
        };
        FixedCosts { total: Total::default(), noise, laplace }
    }

    /// Adds one release.
    pub(super) fn add(&mut self, cost: Cost) {
        self.total.add(cost);
        if let Some(laplace) = &mut self.laplace {
            laplace.add(cost);
        }
    }

    /// Adds at most this many releases, of which only the total is known.
    pub(super) fn add_total(&mut self, count: u64, total: Cost) {
        self.total.add(total);
        if let Some(laplace) = &mut self.laplace {
            laplace.add_total(count, total);
        }
    }

    /// All costs together.
    #[must_use]
    pub fn total(&self) -> Cost {
        self.total.cost()
    }

    /// What a record pays that is used this often, if this is what one use pays ([`Cost::of_repeated`]).
    #[must_use]
    pub fn of_repeated(self, uses: u64) -> FixedCosts {
        let mut total = Total::default();
        total.add(self.total().of_repeated(uses));
        let laplace = self.laplace.map(|releases| releases.of_repeated(uses));
        FixedCosts { total, laplace, ..self }
    }

    /// ε at δ: the smallest that is proved.
    ///
    /// # Guarantee
    /// All releases together are (ε, δ)-differentially private, if none costs more than was planned for it. Never above
    /// [`Cost::epsilon`] of the total.
    ///
    /// # Panics
    /// When δ is not inside (0, 1) or a cost is NaN: configs are checked before.
    #[must_use]
    pub fn epsilon(&self, delta: f64) -> f64 {
        let of_total = self.total().epsilon(self.noise, delta);
        match &self.laplace {
            Some(releases) => of_total.min(releases.epsilon(delta)),
            None => of_total,
        }
    }
}
