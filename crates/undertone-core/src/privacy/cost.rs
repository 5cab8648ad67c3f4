//! Privacy costs, and totals of them that are rounded up.

use crate::persist::{Fields, Persist};
use serde::{Deserialize, Serialize};

/// Covers the rounding of powers, square roots and feature norms (of up to 10⁶ entries) behind a
/// cost: 1 + 2⁻³².
pub(crate) const ROUNDING: f64 = 1.0 + 1.0 / (1u64 << 32) as f64;

/// A privacy cost, in both currencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Pure ε; infinite for Gaussian noise.
    pub pure: f64,
    /// ρ of zero-concentrated differential privacy.
    pub zcdp: f64,
}

impl Cost {
    /// The sum, rounded up.
    #[must_use]
    pub fn plus(self, other: Cost) -> Cost {
        let mut total = Total::default();
        total.add(self);
        total.add(other);
        total.cost()
    }

    /// What a record has paid that was used r times, if this is what one use pays: its sensitivities add up, so that
    /// pure ε is r times and zCDP r² times as large.
    #[must_use]
    pub fn of_repeated(self, uses: u64) -> Cost {
        if uses <= 1 {
            return self;
        }
        #[expect(clippy::cast_precision_loss, reason = "uses stay far below 2^53")]
        let uses = uses as f64;
        Cost { pure: uses * self.pure * ROUNDING, zcdp: uses * uses * self.zcdp * ROUNDING }
    }

    /// The larger of two in each currency.
    pub(crate) fn largest(self, other: Cost) -> Cost {
        Cost { pure: larger(self.pure, other.pure), zcdp: larger(self.zcdp, other.zcdp) }
    }
}

/// A running total of costs that is never below the exact sum.
///
/// Rounding every one of 2³² additions up would waste a millionth of the budget and could push the
/// account above its own certificate. Keeping the rounding error in a second number avoids both.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Total {
    pure: UpwardSum,
    zcdp: UpwardSum,
}

impl Total {
    pub(crate) fn add(&mut self, cost: Cost) {
        self.pure.add(cost.pure);
        self.zcdp.add(cost.zcdp);
    }

    pub(crate) fn cost(&self) -> Cost {
        Cost { pure: self.pure.value(), zcdp: self.zcdp.value() }
    }

    /// The total with one more cost.
    pub(crate) fn with(mut self, cost: Cost) -> Cost {
        self.add(cost);
        self.cost()
    }

    /// The larger of two in each currency.
    pub(crate) fn largest(self, other: Total) -> Total {
        let larger = |left: UpwardSum, right: UpwardSum| {
            if left.value() < right.value() || right.value().is_nan() { right } else { left }
        };
        Total { pure: larger(self.pure, other.pure), zcdp: larger(self.zcdp, other.zcdp) }
    }
}

impl Persist for Total {
    fn visit(&mut self, fields: &mut dyn Fields) {
        for sum in [&mut self.pure, &mut self.zcdp] {
            fields.number(&mut sum.high);
            fields.number(&mut sum.low);
        }
    }
}

/// The larger of two. Unlike `f64::max` it keeps a NaN, which every cap refuses.
pub(crate) fn larger(left: f64, right: f64) -> f64 {
    if left < right || right.is_nan() { right } else { left }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct UpwardSum {
    high: f64,
    low: f64,
}

impl UpwardSum {
    /// Adds a non-negative term. The rounding error of the sum is added to `low`, rounded up.
    fn add(&mut self, term: f64) {
        let sum = self.high + term;
        if !sum.is_finite() {
            *self = UpwardSum { high: f64::INFINITY, low: 0.0 };
            return;
        }
        // Knuth's two-sum: `error` is exactly what the addition lost.
        let shadow = sum - self.high;
        let error = (self.high - (sum - shadow)) + (term - shadow);
        self.high = sum;
        if error.abs() > 0.0 {
            self.low = (self.low + error).next_up();
        }
    }

    fn value(&self) -> f64 {
        if self.low.abs() > 0.0 { (self.high + self.low).next_up() } else { self.high }
    }
}
