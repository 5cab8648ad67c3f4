//! What a release of one round costs, as a function of its sensitivity.

use super::cost::{Cost, ROUNDING};

/// What a release of one round costs, for any sensitivity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Price {
    /// √n, or infinite if the noise has no pure ε.
    pub(super) root: f64,
    /// The charge for machine arithmetic, added to the sensitivity.
    pub(super) machine: f64,
    /// ρ_t.
    pub(super) scale: f64,
    /// Whether a release may contain rounding errors of earlier rounds. False if everything except
    /// the newest gradient is public, and so the same for both histories bit for bit.
    pub(super) carries: bool,
}

impl Price {
    /// The price of a release that depends on records only through earlier releases.
    pub(super) const FREE: Price =
        Price { root: 0.0, machine: 0.0, scale: f64::INFINITY, carries: true };

    pub(crate) fn cost(&self, sensitivity: f64) -> Cost {
        if !self.carries && sensitivity <= 0.0 {
            return Cost::default();
        }
        let ratio = (sensitivity + self.machine) / self.scale;
        let pure = if self.root.is_finite() { self.root * ratio } else { f64::INFINITY };
        Cost { pure: pure * ROUNDING, zcdp: 0.5 * ratio * ratio * ROUNDING }
    }

    /// The part of the cost that only this record pays: if rounding errors carry over, all records
    /// pay for them equally.
    pub(super) fn own_cost(&self, sensitivity: f64) -> Cost {
        let machine = if self.carries { 0.0 } else { self.machine };
        Price { machine, ..*self }.cost(sensitivity)
    }

    /// The same with at least this charge for machine arithmetic.
    pub(super) fn with_machine_least(self, machine: f64) -> Price {
        Price { machine: self.machine.max(machine), ..self }
    }

    /// The same with another charge for machine arithmetic, in units of the noise.
    pub(super) fn with_machine(self, ratio: f64) -> Price {
        Price { machine: ratio * self.scale, ..self }
    }
}
