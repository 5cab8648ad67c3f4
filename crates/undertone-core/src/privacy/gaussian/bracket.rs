//! An f64 known to lie between two others: every operation rounds outwards.
//!
//! IEEE 754 rounds + − × ÷ and the square root to nearest, so the neighbours of a result on both sides enclose the
//! true value.

/// A real number between `low` and `high`, ends included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bracket {
    pub(super) low: f64,
    pub(super) high: f64,
}

/// How far the system's `exp` may be off, as a share of the result: 2⁻⁵⁰, four units in the last place.
/// Those of the common C libraries are right to one.
const EXP_ERROR: f64 = 1.0 / (1u64 << 50) as f64;

impl Bracket {
    /// The value itself.
    pub(super) fn exactly(value: f64) -> Bracket {
        Bracket { low: value, high: value }
    }

    fn outwards(low: f64, high: f64) -> Bracket {
        Bracket { low: low.next_down(), high: high.next_up() }
    }

    pub(super) fn plus(self, other: Bracket) -> Bracket {
        Bracket::outwards(self.low + other.low, self.high + other.high)
    }

    pub(super) fn minus(self, other: Bracket) -> Bracket {
        Bracket::outwards(self.low - other.high, self.high - other.low)
    }

    /// The product of two numbers that are not negative.
    pub(super) fn times(self, other: Bracket) -> Bracket {
        Bracket::outwards(self.low * other.low, self.high * other.high).not_negative()
    }

    /// The quotient of a number that is not negative by a positive one.
    pub(super) fn over(self, divisor: Bracket) -> Bracket {
        Bracket::outwards(self.low / divisor.high, self.high / divisor.low).not_negative()
    }

    /// The square of a number of either sign.
    pub(super) fn square(self) -> Bracket {
        let size = if self.low >= 0.0 {
            self
        } else if self.high <= 0.0 {
            Bracket { low: -self.high, high: -self.low }
        } else {
            Bracket { low: 0.0, high: self.high.max(-self.low) }
        };
        size.times(size)
    }

    /// e to the power of minus this, for a number that is not negative.
    pub(super) fn exp_of_minus(self) -> Bracket {
        // Results below the smallest normal number have fewer digits: the least one covers those.
        let low = (-self.high).exp() * (1.0 - EXP_ERROR) - f64::MIN_POSITIVE;
        let high = (-self.low).exp() * (1.0 + EXP_ERROR) + f64::MIN_POSITIVE;
        Bracket::outwards(low, high).not_negative()
    }

    /// The same, known not to be negative.
    pub(super) fn not_negative(self) -> Bracket {
        Bracket { low: self.low.max(0.0), high: self.high }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_enclose_the_exact_ones() {
        // One third has no end in binary, and its bracket is not a point.
        let third = Bracket::exactly(1.0).over(Bracket::exactly(3.0));
        assert!(third.low < third.high && third.high - third.low < 2e-16);
        let one = third.plus(third).plus(third);
        assert!(one.low < 1.0 && 1.0 < one.high);
        let mixed = Bracket { low: -2.0, high: 1.0 }.square();
        assert!(mixed.low.abs() < 1e-300 && mixed.high >= 4.0);
        let e = Bracket::exactly(1.0).exp_of_minus();
        assert!(e.low < 0.367_879_441_171_442_3 && 0.367_879_441_171_442_4 < e.high);
        assert!(Bracket::exactly(800.0).exp_of_minus().high > 0.0, "underflow is not zero");
    }
}
