//! What numbers of an agreement must satisfy.

/// What a number must satisfy. NaN and infinity never pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// Above 0 and at most 10¹².
    Positive,
    /// At least 0 and at most 10¹².
    NonNegative,
    /// Within ±10¹².
    Finite,
    /// Strictly between 0 and 1.
    Probability,
    /// At least 0 and below 1.
    Fraction,
    /// Above 0 and at most 1.
    Share,
    /// Above 0 and at most 0.9999: what a round leaves of a record's weight.
    Factor,
    /// From 0 to 2.
    Exponent,
    /// From −2 to 2: baselines may have noise that shrinks.
    SignedExponent,
}

/// Numbers beyond this serve no purpose and would overflow when multiplied.
const LARGEST: f64 = 1e12;

impl Range {
    /// Whether a number satisfies it.
    pub(super) fn holds(self, x: f64) -> bool {
        match self {
            Range::Positive => x > 0.0 && x <= LARGEST,
            Range::NonNegative => (0.0..=LARGEST).contains(&x),
            Range::Finite => x.abs() <= LARGEST,
            Range::Probability => x > 0.0 && x < 1.0,
            Range::Fraction => (0.0..1.0).contains(&x),
            Range::Share => x > 0.0 && x <= 1.0,
            Range::Factor => x > 0.0 && x <= 0.9999,
            Range::Exponent => (0.0..=2.0).contains(&x),
            Range::SignedExponent => (-2.0..=2.0).contains(&x),
        }
    }

    /// The same in words.
    pub(super) fn text(self) -> &'static str {
        match self {
            Range::Positive => "must be above 0 and at most 1e12",
            Range::NonNegative => "must be at least 0 and at most 1e12",
            Range::Finite => "must lie within ±1e12",
            Range::Probability => "must lie strictly between 0 and 1",
            Range::Fraction => "must be at least 0 and below 1",
            Range::Share => "must be above 0 and at most 1",
            Range::Factor => "must be above 0 and at most 0.9999",
            Range::Exponent => "must be at least 0 and at most 2",
            Range::SignedExponent => "must lie between -2 and 2",
        }
    }

    /// What is used after a fault was noted.
    pub(super) fn stand_in(self) -> f64 {
        match self {
            Range::Positive => 1.0,
            Range::NonNegative | Range::Finite | Range::Fraction => 0.0,
            Range::Probability
            | Range::Share
            | Range::Factor
            | Range::Exponent
            | Range::SignedExponent => 0.5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_range_lets_nan_or_infinity_pass_and_every_one_its_stand_in() {
        for range in [
            Range::Positive,
            Range::NonNegative,
            Range::Finite,
            Range::Probability,
            Range::Fraction,
            Range::Share,
            Range::Factor,
            Range::Exponent,
            Range::SignedExponent,
        ] {
            for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 2e12, -2e12] {
                assert!(!range.holds(bad), "{range:?}: {bad}");
            }
            assert!(range.holds(range.stand_in()), "{range:?}");
        }
    }
}
