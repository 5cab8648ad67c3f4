//! Formats numbers for people: with few digits, and never rounded across a bound.

/// How many digits of a number are shown, and which way the rest is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digits {
    /// An exponent as a person wrote it: 0.1 + 0.2 reads 0.3.
    Exact,
    /// Four digits.
    Nearest,
    /// Four digits, never more than the value: for upper bounds.
    Down,
    /// Four digits, never less than the value: for lower bounds.
    Up,
}

impl Digits {
    /// The number as text.
    #[must_use]
    pub fn of(self, value: f64) -> String {
        match self {
            Digits::Exact => trim(format!("{value:.10}")),
            Digits::Nearest => four(value, f64::round),
            Digits::Down => four(value, f64::floor),
            Digits::Up => four(value, f64::ceil),
        }
    }
}

fn four(value: f64, round: fn(f64) -> f64) -> String {
    if !(value.is_finite() && value.abs() > 0.0) {
        return value.to_string();
    }
    let place = 3.0 - value.abs().log10().floor();
    // A value that has four digits already must not lose one to the multiplication.
    let scaled = value * 10f64.powf(place);
    let nearest = scaled.round();
    let whole =
        if (scaled - nearest).abs() < 1e-9 * nearest.abs() { nearest } else { round(scaled) };
    let rounded = whole / 10f64.powf(place);
    if !rounded.is_finite() || !(1e-3..1e6).contains(&value.abs()) {
        return format!("{rounded:.3e}");
    }
    trim(format!("{rounded:.6}"))
}

fn trim(text: String) -> String {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::Digits::{Down, Exact, Nearest, Up};

    #[test]
    fn bounds_are_rounded_to_the_safe_side_and_round_numbers_stay() {
        assert_eq!(
            (Down.of(0.276_393), Up.of(0.276_393), Nearest.of(0.276_393)),
            ("0.2763".into(), "0.2764".into(), "0.2764".into())
        );
        for value in [0.3, 0.68, 1.0, 0.07, 20.0, 1e5, 12_340.0] {
            assert_eq!(Down.of(value), Up.of(value), "{value}");
            assert_eq!(Down.of(value).parse::<f64>().ok(), Some(value));
        }
        assert_eq!((Down.of(1.8109e-4), Up.of(1.8101e-4)), ("1.810e-4".into(), "1.811e-4".into()));
        assert_eq!(
            (Nearest.of(0.0), Nearest.of(f64::INFINITY), Exact.of(0.1 + 0.2)),
            ("0".into(), "inf".into(), "0.3".into())
        );
        assert_eq!((Nearest.of(1e-320).is_empty(), Down.of(1e300)), (false, "1.000e300".into()));
    }
}
