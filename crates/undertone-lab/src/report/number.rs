//! Formatting numbers and escaping text for HTML.

use undertone::privacy::{format_rounded_up, format_scientific_up};

/// The placeholder for a missing value.
pub(super) const MISSING: &str = "–";

/// Escapes text for HTML elements and quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// An integer with commas between thousands.
pub(super) fn count(value: u64) -> String {
    group(&value.to_string())
}

/// A value with three significant digits; as a power of ten if very large or small.
pub(super) fn number(value: f64) -> String {
    if value.is_nan() {
        return MISSING.into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞".into() } else { "−∞".into() };
    }
    let size = value.abs();
    if size < f64::MIN_POSITIVE {
        return "0".into();
    }
    if !(1e-3..1e6).contains(&size) {
        return scientific(value, 2);
    }
    decimal(value, if size >= 1000.0 { 0 } else { (2 - magnitude(size)).clamp(0, 5) })
}

/// ε with two decimals, or as a power of ten if very large or small; rounded up, so that the page never states less than
/// was spent.
pub(super) fn epsilon(value: f64) -> String {
    if !value.is_finite() || value <= 0.0 {
        return number(value);
    }
    if !(0.01..1e6).contains(&value) {
        return typeset(&format_scientific_up(value, 2));
    }
    let text = format_rounded_up(value, 2);
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    format!("{}{rest}", group(whole))
}

/// A share of one as a percentage.
pub(super) fn percent(share: f64) -> String {
    if share.is_finite() { format!("{}%", decimal(share * 100.0, 1)) } else { MISSING.into() }
}

/// A value with a fixed number of decimals, a true minus sign and commas between thousands.
pub(super) fn decimal(value: f64, decimals: i32) -> String {
    let digits = usize::try_from(decimals.clamp(0, 12)).unwrap_or(0);
    let text = format!("{:.*}", digits, value.abs());
    let zero = text.chars().all(|character| matches!(character, '0' | '.'));
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    format!("{}{}{rest}", if value < 0.0 && !zero { "−" } else { "" }, group(whole))
}

/// A value as a mantissa times a power of ten.
pub(super) fn scientific(value: f64, decimals: usize) -> String {
    typeset(&format!("{value:.decimals$e}"))
}

/// A mantissa and an exponent as Rust writes them, for a page.
fn typeset(text: &str) -> String {
    let Some((mantissa, exponent)) = text.split_once('e') else { return text.into() };
    let mantissa = if mantissa.contains('.') {
        mantissa.trim_end_matches('0').trim_end_matches('.')
    } else {
        mantissa
    };
    let power = format!("10{}", superscript(exponent));
    match (mantissa, exponent) {
        (_, "0") => mantissa.replace('-', "−"),
        ("1", _) => power,
        ("-1", _) => format!("−{power}"),
        _ => format!("{}·{power}", mantissa.replace('-', "−")),
    }
}

/// The power of ten at or below a positive, finite value.
pub(super) fn magnitude(size: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "the exponent of an f64 is within ±324")]
    let power = size.log10().floor() as i32;
    power
}

fn superscript(exponent: &str) -> String {
    let raised = |character| match character {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        '9' => '⁹',
        _ => '⁰',
    };
    exponent.chars().map(raised).collect()
}

fn group(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let cases = [(0.0, "0"), (47.752, "47.8"), (0.04177, "0.0418"), (1866.78, "1,867")];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!(number(1e-6), "10⁻⁶");
        assert_eq!(number(-2.5e38), "−2.5·10³⁸");
        assert_eq!(number(f64::INFINITY), "∞");
        assert_eq!(number(f64::NAN), MISSING);
        assert_eq!(number(5e-324), "0");
        assert_eq!(decimal(-0.001, 1), "0.0");
        assert_eq!(count(1_234_567), "1,234,567");
    }

    #[test]
    fn epsilon_is_never_stated_too_small() {
        assert_eq!(epsilon(6.9712), "6.98");
        assert_eq!(epsilon(7.999_999_999_999_07), "8.00");
        assert_eq!(epsilon(8.0_f64.next_up()), "8.01");
        assert_eq!(
            (epsilon(1.231e-4), epsilon(1.231e38)),
            ("1.24·10⁻⁴".into(), "1.24·10³⁸".into())
        );
        assert_eq!(
            (epsilon(999_999.999), epsilon(f64::INFINITY)),
            ("1,000,000.00".into(), "∞".into())
        );
        assert_eq!(epsilon(0.07), "0.07");
        assert_eq!(epsilon(3388.0764), "3,388.08");
        assert_eq!(epsilon(0.0), "0");
    }
}
