//! Privacy loss as text for people: never less than the value.
//!
//! Every ε, μ and zCDP that people read is written here. Rounded to nearest, a budget of 1.00004 would read 1.0000, and
//! less than was spent.

/// What is shown where there is no finite bound.
pub const NO_BOUND: &str = "no bound";

/// Below this a value is written as a power of ten.
const SMALL: f64 = 1e-3;
/// From here on a value is written as a power of ten.
const LARGE: f64 = 1e6;

/// An ε, a μ or a zCDP for people: four digits after the point, rounded up.
///
/// Very small and very large values are powers of ten with four digits; infinity and NaN are [`NO_BOUND`].
///
/// # Guarantee
/// What is written, read again as an `f64`, is never less than the value.
///
/// ```
/// use undertone_core::privacy::format_epsilon;
///
/// assert_eq!(format_epsilon(1.000_04), "1.0001");
/// assert_eq!(format_epsilon(0.1), "0.1000");
/// assert_eq!(format_epsilon(f64::INFINITY), "no bound");
/// ```
#[must_use]
pub fn format_epsilon(value: f64) -> String {
    if value <= 0.0 || (SMALL..LARGE).contains(&value) {
        format_rounded_up(value, 4)
    } else {
        format_scientific_up(value, 4)
    }
}

/// The same for a value that may be missing: `missing` says what that means.
#[must_use]
pub fn format_epsilon_or(value: Option<f64>, missing: &str) -> String {
    value.map_or_else(|| missing.to_string(), format_epsilon)
}

/// A privacy loss with this many digits after the point, rounded up.
///
/// # Guarantee
/// As [`format_epsilon`].
#[must_use]
pub fn format_rounded_up(value: f64, decimals: usize) -> String {
    raised(value, format!("{value:.decimals$}"))
}

/// A privacy loss as a power of ten with this many digits after the point, rounded up.
///
/// # Guarantee
/// As [`format_epsilon`].
#[must_use]
pub fn format_scientific_up(value: f64, decimals: usize) -> String {
    raised(value, format!("{value:.decimals$e}"))
}

/// The text of a value that was rounded to nearest, with its last digit raised if that is below the value. A privacy loss
/// is not negative; other values are left as they are.
///
/// Done on the digits: a product with a power of ten is rounded itself.
fn raised(value: f64, nearest: String) -> String {
    if !value.is_finite() {
        return NO_BOUND.into();
    }
    if value <= 0.0 || nearest.parse::<f64>().is_ok_and(|read| read >= value) {
        return nearest;
    }
    match nearest.split_once('e') {
        Some((digits, power)) => scientific(next_up(digits), power.parse().unwrap_or(i32::MAX)),
        None => next_up(&nearest),
    }
}

/// A number below eleven times a power of ten, with one digit before the point.
fn scientific(digits: String, power: i32) -> String {
    match digits.strip_prefix("10") {
        // 9.9999 has become 10.0000.
        Some(zeros) => format!("1{zeros}e{}", power.saturating_add(1)),
        None => format!("{digits}e{power}"),
    }
}

/// The next larger number with as many digits after the point.
fn next_up(digits: &str) -> String {
    let mut carry = true;
    let mut reversed = String::with_capacity(digits.len() + 1);
    for digit in digits.chars().rev() {
        reversed.push(match digit {
            '9' if carry => '0',
            '0'..='8' if carry => {
                carry = false;
                char::from_digit(digit.to_digit(10).unwrap_or(0) + 1, 10).unwrap_or('9')
            }
            other => other,
        });
    }
    reversed.extend(carry.then_some('1'));
    reversed.chars().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> f64 {
        text.parse().unwrap_or(f64::INFINITY)
    }

    #[test]
    fn texts_are_short_and_values_that_have_few_digits_stay() {
        for (value, text) in [
            (0.0, "0.0000"),
            (0.1, "0.1000"),
            (7.0, "7.0000"),
            (8.0_f64.next_up(), "8.0001"),
            (8.0_f64.next_down(), "8.0000"),
            (9.999_91, "10.0000"),
            (1.000_04, "1.0001"),
            (412.88, "412.8800"),
            (1.234_51e-4, "1.2346e-4"),
            (9.999_91e-9, "1.0000e-8"),
            (9.999_94e38, "1.0000e39"),
            (5e-324, "4.9407e-324"),
            (f64::MAX, "1.7977e308"),
            (f64::INFINITY, NO_BOUND),
            (f64::NAN, NO_BOUND),
        ] {
            assert_eq!(format_epsilon(value), text, "{value:e}");
        }
        assert_eq!(format_rounded_up(241.3, 0), "242");
        assert_eq!(format_rounded_up(99.95, 1), "100.0");
        assert_eq!(format_rounded_up(2e-9, 2), "0.01");
        assert_eq!(format_epsilon_or(None, "none"), "none");
        assert_eq!(format_epsilon_or(Some(0.25), "none"), "0.2500");
    }

    /// Values of every size, and those next to numbers with few digits, where rounding goes wrong first.
    fn values() -> impl Strategy<Value = f64> {
        let any = any::<u64>().prop_map(|bits| f64::from_bits(bits >> 1));
        let usual = (-12.0_f64..12.0).prop_map(|power| 10f64.powf(power));
        let few = (0_u32..10_000_000, 0_i32..9, 0_u8..3).prop_map(|(digits, places, side)| {
            let value = f64::from(digits) / 10f64.powi(places);
            match side {
                0 => value,
                1 => value.next_up(),
                _ => value.next_down().max(0.0),
            }
        });
        prop_oneof![any, usual, few]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn what_is_printed_is_never_below_the_value(value in values(), decimals in 0_usize..10) {
            for text in [
                format_epsilon(value),
                format_rounded_up(value, decimals),
                format_scientific_up(value, decimals),
            ] {
                prop_assert!(value.is_nan() || read(&text) >= value, "{value:e}: {text}");
            }
        }

        #[test]
        fn what_is_printed_is_less_than_one_digit_too_much(value in 1e-3..1e6_f64) {
            prop_assert!(read(&format_epsilon(value)) < value + 1.000_001e-4);
        }
    }

    /// The control: rounded to nearest, or up by a product, values are printed below what they are.
    #[test]
    fn other_ways_of_printing_go_below_the_value() {
        let product = |value: f64| format!("{}", (value * 1e4).ceil() / 1e4);
        let nearest = |value: f64| format!("{value:.4}");
        let (mut by_product, mut by_nearest) = (0, 0);
        for digits in 0..100_000 {
            let value = (f64::from(digits) / 1e4).next_up();
            by_product += u32::from(read(&product(value)) < value);
            by_nearest += u32::from(read(&nearest(value)) < value);
            assert!(read(&format_epsilon(value)) >= value);
        }
        assert!(by_product > 0 && by_nearest > 90_000, "{by_product} {by_nearest}");
    }
}
