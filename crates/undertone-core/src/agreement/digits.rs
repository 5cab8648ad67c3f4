//! Formats numbers for people: with few digits, and never rounded across a bound.

/// An exponent as a person would write it: 0.1 + 0.2 is shown as 0.3.
#[must_use]
pub fn exact(value: f64) -> String {
    trim(format!("{value:.10}"))
}

/// Four digits.
#[must_use]
pub fn short(value: f64) -> String {
    digits(value, f64::round)
}

/// Four digits, never more than the value: for upper bounds.
#[must_use]
pub fn down(value: f64) -> String {
    digits(value, f64::floor)
}

/// Four digits, never less than the value: for lower bounds.
#[must_use]
pub fn up(value: f64) -> String {
    digits(value, f64::ceil)
}

fn digits(value: f64, round: fn(f64) -> f64) -> String {
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
    use super::*;

    #[test]
    fn bounds_are_rounded_to_the_safe_side_and_round_numbers_stay() {
        assert_eq!(
            (down(0.276_393), up(0.276_393), short(0.276_393)),
            ("0.2763".into(), "0.2764".into(), "0.2764".into())
        );
        for value in [0.3, 0.68, 1.0, 0.07, 20.0, 1e5, 12_340.0] {
            assert_eq!(down(value), up(value), "{value}");
            assert_eq!(down(value).parse::<f64>().ok(), Some(value));
        }
        assert_eq!((down(1.8109e-4), up(1.8101e-4)), ("1.810e-4".into(), "1.811e-4".into()));
        assert_eq!(
            (short(0.0), short(f64::INFINITY), exact(0.1 + 0.2)),
            ("0".into(), "inf".into(), "0.3".into())
        );
        assert_eq!((short(1e-320).is_empty(), down(1e300)), (false, "1.000e300".into()));
    }
}
