//! The price of Laplace noise where the cost of every release is fixed in advance: its exact Rényi divergence.
//!
//! A coordinate that moves by a scales has, at order α, the Rényi divergence f(a)/(α − 1) with f(a) = ln(p e^((α−1)a) +
//! q e^(−αa)), p = α/(2α − 1) and q = (α − 1)/(2α − 1). f is concave in a². So of all ways to split a shift over
//! coordinates, and Σ a² over coordinates and releases, the even split has the largest divergence (ADR 0026).

mod divergence;
#[cfg(test)]
mod tests;

use super::conversion::least_epsilon;
use super::cost::{Cost, Total};
use divergence::cumulant;
use std::collections::BTreeMap;

/// Releases with Laplace noise whose costs are fixed in advance.
///
/// Releases of about the same zCDP are counted together. That loses next to nothing, and never in the wrong direction:
/// the even split over all coordinates of all of them bounds them.
#[derive(Clone, Debug)]
pub(super) struct LaplaceReleases {
    /// n.
    dimension: f64,
    /// By the leading bits of their zCDP.
    groups: BTreeMap<u64, Group>,
}

/// Some releases.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    count: u64,
    total: Total,
}

/// Bits of a cost's mantissa that are not part of its group: 4096 groups for a factor of two.
const GROUP_BITS: u32 = 40;

impl LaplaceReleases {
    pub(super) fn new(dimension: usize) -> LaplaceReleases {
        #[expect(clippy::cast_precision_loss, reason = "dimensions stay far below 2^53")]
        let dimension = dimension as f64;
        LaplaceReleases { dimension, groups: BTreeMap::new() }
    }

    /// Adds one release. One that costs nothing is left out.
    pub(super) fn add(&mut self, cost: Cost) {
        if !(cost.zcdp <= 0.0) {
            self.add_group(cost.zcdp.to_bits() >> GROUP_BITS, 1, cost);
        }
    }

    /// Adds releases of which only the number and the total are known.
    pub(super) fn add_total(&mut self, count: u64, total: Cost) {
        if !(total.zcdp <= 0.0) {
            self.add_group(0, count, total);
        }
    }

    fn add_group(&mut self, key: u64, count: u64, cost: Cost) {
        let group = self.groups.entry(key).or_default();
        group.count += count;
        group.total.add(cost);
    }

    /// The same releases of a record that was used this often, so that it moves each of them as many times as far.
    pub(super) fn of_repeated(mut self, uses: u64) -> LaplaceReleases {
        for group in self.groups.values_mut() {
            let mut total = Total::default();
            total.add(group.total.cost().of_repeated(uses));
            group.total = total;
        }
        self
    }

    /// A bound on the Rényi divergence of order α of all releases together, given α − 1.
    ///
    /// # Guarantee
    /// Never below the truth.
    fn divergence(&self, excess: f64) -> f64 {
        let of_group = |group: &Group| {
            #[expect(clippy::cast_precision_loss, reason = "rounds stay below 2^53")]
            let coordinates = group.count as f64 * self.dimension;
            // zCDP is Σ a²/2.
            let shift = (2.0 * group.total.cost().zcdp / coordinates).sqrt();
            coordinates * cumulant(shift, excess)
        };
        self.groups.values().map(of_group).sum::<f64>() / excess * ROUNDING
    }

    /// The smallest ε at δ that follows from the Rényi divergence, of which every order α > 1 gives one.
    ///
    /// # Guarantee
    /// All releases together are (ε, δ)-differentially private. An imperfect search for the best order is safe.
    ///
    /// # Source
    /// The conversion: Canonne, Kamath & Steinke (2020), Proposition 12. The divergence: ADR 0026. Paper map, row 73.
    pub(super) fn epsilon(&self, delta: f64) -> f64 {
        let zcdp = self.groups.values().map(|group| group.total.cost().zcdp).sum::<f64>();
        if zcdp <= 0.0 {
            return 0.0;
        }
        if !zcdp.is_finite() {
            return f64::INFINITY;
        }
        // The best order for zCDP, and far more: with few coordinates pure ε, the limit of all orders, may be near.
        let centre = 0.5 * (-delta.ln() / zcdp).ln();
        least_epsilon(delta, (centre - 6.0, centre + 40.0), |excess| self.divergence(excess))
    }
}

/// More than what rounding takes off a sum of divergences.
const ROUNDING: f64 = 1.0 + 1e-12;
