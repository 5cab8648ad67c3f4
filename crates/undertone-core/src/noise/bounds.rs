//! Numbers with guaranteed bounds: fixed point in big integers, rounded outwards.
//!
//! Every operation rounds the lower bound down and the upper bound up, so a result contains the true
//! value by construction and no error analysis is needed. Used by the slow path.

use dashu_int::ops::{BitTest, SquareRoot};
use dashu_int::{IBig, UBig};

/// A number known to lie between two multiples of 2^−bits, ends included.
#[derive(Clone)]
pub(super) struct Bounds {
    pub(super) low: IBig,
    pub(super) high: IBig,
    pub(super) bits: usize,
}

impl Bounds {
    /// The integer `value`, exactly.
    pub(super) fn integer(value: i64, bits: usize) -> Bounds {
        let exact = IBig::from(value) << bits;
        Bounds { low: exact.clone(), high: exact, bits }
    }

    /// The quotient of two positive integers, or zero over a positive one.
    pub(super) fn quotient(numerator: &UBig, denominator: &UBig, bits: usize) -> Bounds {
        let low = IBig::from((numerator << bits) / denominator);
        let high = &low + IBig::ONE;
        Bounds { low, high, bits }
    }

    /// A finite f64. Exact unless its last place is below 2^−bits.
    pub(super) fn float(value: f64, bits: usize) -> Bounds {
        let (mantissa, exponent) = decode(value);
        let places = isize::try_from(bits).expect("bits are few") + exponent;
        if let Ok(up) = usize::try_from(places) {
            let exact = IBig::from(mantissa) << up;
            return Bounds { low: exact.clone(), high: exact, bits };
        }
        let mantissa = IBig::from(mantissa);
        let down = places.unsigned_abs();
        Bounds { low: &mantissa >> down, high: ceil_shift(mantissa, down), bits }
    }

    pub(super) fn plus(&self, other: &Bounds) -> Bounds {
        self.check(other);
        Bounds { low: &self.low + &other.low, high: &self.high + &other.high, bits: self.bits }
    }

    pub(super) fn minus(&self, other: &Bounds) -> Bounds {
        self.check(other);
        Bounds { low: &self.low - &other.high, high: &self.high - &other.low, bits: self.bits }
    }

    /// The product of two numbers that are not negative.
    pub(super) fn times(&self, other: &Bounds) -> Bounds {
        self.check(other);
        assert!(
            self.low >= IBig::ZERO && other.low >= IBig::ZERO,
            "only for numbers that are not negative"
        );
        Bounds {
            low: (&self.low * &other.low) >> self.bits,
            high: ceil_shift(&self.high * &other.high, self.bits),
            bits: self.bits,
        }
    }

    /// The product with an integer that is not negative.
    pub(super) fn times_integer(&self, factor: u64) -> Bounds {
        let factor = IBig::from(factor);
        Bounds { low: &self.low * &factor, high: &self.high * &factor, bits: self.bits }
    }

    /// The quotient of a number that is not negative by a positive integer.
    pub(super) fn over_integer(&self, divisor: u64) -> Bounds {
        assert!(self.low >= IBig::ZERO && divisor > 0, "only for numbers that are not negative");
        let divisor = IBig::from(divisor);
        Bounds {
            low: &self.low / &divisor,
            high: (&self.high + &divisor - IBig::ONE) / &divisor,
            bits: self.bits,
        }
    }

    /// The quotient of a number that is not negative by a positive f64.
    pub(super) fn over_float(&self, divisor: f64) -> Bounds {
        let (mantissa, exponent) = decode(divisor);
        assert!(self.low >= IBig::ZERO && mantissa > 0, "only for numbers that are not negative");
        let places = exponent.unsigned_abs();
        let (dividend_shift, divisor_shift) = if exponent < 0 { (places, 0) } else { (0, places) };
        let divisor = IBig::from(mantissa) << divisor_shift;
        Bounds {
            low: (&self.low << dividend_shift) / &divisor,
            high: ((&self.high << dividend_shift) + &divisor - IBig::ONE) / &divisor,
            bits: self.bits,
        }
    }

    /// The nearest integer, if both bounds round to it. Exactly half rounds up.
    pub(super) fn nearest_integer(&self) -> Option<i64> {
        let half = IBig::ONE << (self.bits - 1);
        let low = (&self.low + &half) >> self.bits;
        let high = (&self.high + &half) >> self.bits;
        let index = i64::try_from(low.clone());
        (low == high).then(|| index.expect("noise of 2^62 steps needs a uniform below 2^-(2^48)"))
    }

    fn check(&self, other: &Bounds) {
        assert_eq!(self.bits, other.bits, "both numbers must have the same precision");
    }
}

/// −ln(value / 2^uniform_bits) for a positive `value`.
///
/// With 2^b the power of two nearest to `value` it is (uniform_bits − b)·ln 2 − ln(value / 2^b), and
/// ln m = 2·artanh((m − 1)/(m + 1)), where |m − 1|/(m + 1) ≤ 1/5.
pub(super) fn negative_ln(value: &UBig, uniform_bits: usize, bits: usize) -> Bounds {
    let mut binade = value.bit_len() - 1;
    if (value.clone() * UBig::from(3_u8)) >= (UBig::ONE << (binade + 2)) {
        binade += 1;
    }
    let power = UBig::ONE << binade;
    let whole = ln_2(bits).times_integer((uniform_bits - binade) as u64);
    let (difference, is_greater) =
        if *value >= power { (value - &power, true) } else { (&power - value, false) };
    let fraction = Bounds::quotient(&difference, &(value + &power), bits);
    let square = fraction.times(&fraction);
    let ln = odd_series(fraction, |power| power.times(&square), Signs::Plus).times_integer(2);
    if is_greater { whole.minus(&ln) } else { whole.plus(&ln) }
}

/// ln 2 = 18·artanh(1/26) − 2·artanh(1/4801) + 8·artanh(1/8749), because
/// (27/25)⁹·(4800/4802)·(8750/8748)⁴ = 2 in whole numbers.
fn ln_2(bits: usize) -> Bounds {
    let artanh = |n| inverse_series(n, Signs::Plus, bits);
    let sum = artanh(26).times_integer(18).plus(&artanh(8749).times_integer(8));
    sum.minus(&artanh(4801).times_integer(2))
}

/// π = 16·arctan(1/5) − 4·arctan(1/239), by Machin.
fn pi(bits: usize) -> Bounds {
    let arctan = |n| inverse_series(n, Signs::Alternating, bits);
    arctan(5).times_integer(16).minus(&arctan(239).times_integer(4))
}

/// artanh(1/n) or arctan(1/n) for n ≥ 3.
fn inverse_series(n: u64, signs: Signs, bits: usize) -> Bounds {
    let first = Bounds::quotient(&UBig::ONE, &UBig::from(n), bits);
    odd_series(first, |power| power.over_integer(n * n), signs)
}

/// The signs of a series' terms.
#[derive(Clone, Copy, PartialEq)]
enum Signs {
    Plus,
    Alternating,
}

/// x + x³/3 + x⁵/5 + … = artanh x, or with alternating signs arctan x, for 0 ≤ x ≤ 1/3.
///
/// `times_square` multiplies a power of x by x². The sum ends when a power is at most 2^−bits. The terms left out sum
/// to less than twice that: each is at most a ninth of the one before.
fn odd_series(x: Bounds, times_square: impl Fn(&Bounds) -> Bounds, signs: Signs) -> Bounds {
    let mut sum = Bounds::integer(0, x.bits);
    let mut power = x;
    let mut odd = 1;
    while power.high > IBig::ONE {
        let term = power.over_integer(odd);
        let is_subtracted = signs == Signs::Alternating && odd % 4 == 3;
        sum = if is_subtracted { sum.minus(&term) } else { sum.plus(&term) };
        power = times_square(&power);
        odd += 2;
    }
    sum.low -= IBig::from(2);
    sum.high += IBig::from(2);
    sum
}

/// 2·Φ(−x), the probability that |X| > x, for x ≥ 0.
///
/// 1 − √(2/π)·Σ (−1)ⁿ·x^(2n+1)/(2ⁿ·n!·(2n+1)). The terms reach exp(x²/2) before they shrink, so
/// the result loses about 1.5·x² bits of precision; the bounds include that.
pub(super) fn gaussian_tail(x: &Bounds) -> Bounds {
    let bits = x.bits;
    let half_square = x.times(x).over_integer(2);
    let mut factor = x.clone();
    let mut sum = Bounds::integer(0, bits);
    let mut n = 0_u64;
    // From n ≥ x²/2 on the terms shrink, so that the remainder is below the first term left out.
    while factor.high > IBig::ONE || (IBig::from(n) << bits) < half_square.high {
        let term = factor.over_integer(2 * n + 1);
        sum = if n % 2 == 1 { sum.minus(&term) } else { sum.plus(&term) };
        n += 1;
        factor = factor.times(&half_square).over_integer(n);
    }
    sum.low = (sum.low - IBig::ONE).max(IBig::ZERO);
    sum.high += IBig::ONE;
    Bounds::integer(1, bits).minus(&sum.times(&root_of_two_over_pi(bits)))
}

/// √(2/π).
fn root_of_two_over_pi(bits: usize) -> Bounds {
    let pi = pi(bits);
    let unsigned = |x: IBig| UBig::try_from(x).expect("pi is positive");
    let two = UBig::ONE << (3 * bits + 1);
    let low = (&two / unsigned(pi.high)).sqrt();
    let high = (&two / unsigned(pi.low) + UBig::ONE).sqrt() + UBig::ONE;
    Bounds { low: low.into(), high: high.into(), bits }
}

/// Mantissa and exponent of a finite f64: value = mantissa·2^exponent.
fn decode(value: f64) -> (i64, isize) {
    assert!(value.is_finite(), "not a finite number");
    let bits = value.to_bits();
    let field = (bits >> 52 & 0x7ff) as isize;
    let fraction = (bits & ((1 << 52) - 1)) as i64;
    let (size, exponent) =
        if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
    (if value < 0.0 { -size } else { size }, exponent)
}

/// The least integer not below value / 2^places. (A shift of an `IBig` rounds down.)
fn ceil_shift(value: IBig, places: usize) -> IBig {
    -((-value) >> places)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BITS: usize = 320;

    /// Whether the decimal digits (of a number below 10) lie within the bounds, up to their last.
    fn contains(bounds: &Bounds, digits: &str) -> bool {
        let places = digits.len() - 2;
        let value: IBig = digits.replace('.', "").parse().unwrap();
        let ten = IBig::from(10).pow(places);
        let low = (&value - IBig::ONE) << BITS;
        let high = (&value + IBig::ONE) << BITS;
        &bounds.low * &ten <= high && &bounds.high * &ten >= low
    }

    fn width(bounds: &Bounds) -> usize {
        (&bounds.high - &bounds.low).bit_len()
    }

    #[test]
    fn shifts_of_negative_numbers_round_down() {
        assert_eq!(IBig::from(-3) >> 1, IBig::from(-2));
        assert_eq!(ceil_shift(IBig::from(-3), 1), IBig::from(-1));
        assert_eq!(ceil_shift(IBig::from(3), 1), IBig::from(2));
        assert_eq!(ceil_shift(IBig::from(4), 1), IBig::from(2));
    }

    #[test]
    fn constants_match_published_digits() {
        let ln_2 = ln_2(BITS);
        assert!(contains(
            &ln_2,
            "0.693147180559945309417232121458176568075500134360255254120680009"
        ));
        let pi = pi(BITS);
        assert!(contains(&pi, "3.141592653589793238462643383279502884197169399375105820974944592"));
        assert!(width(&ln_2) < 16 && width(&pi) < 16);
        assert!(!contains(
            &pi,
            "3.141592653589793238462643383279502884197169399375105820974944692"
        ));
    }

    #[test]
    fn logarithms_match_published_digits() {
        // −ln(10/16) = 4 ln 2 − ln 10, −ln(3/4), −ln(1/1024)
        let cases = [
            (10_u32, 4, "0.470003629245735553650937031148342064700899048812248040449392"),
            (3, 2, "0.287682072451780927439219005993827431503509710897761056506665"),
            (1, 10, "6.931471805599453094172321214581765680755001343602552541206800094"),
        ];
        for (value, uniform_bits, digits) in cases {
            let bounds = negative_ln(&UBig::from(value), uniform_bits, BITS);
            assert!(contains(&bounds, &digits[..50]), "-ln({value}/2^{uniform_bits})");
            assert!(width(&bounds) < 20);
        }
    }

    #[test]
    fn gaussian_tail_matches_published_digits() {
        let cases = [
            (0.0, "1.0000000000000000000000000000000"),
            (1.0, "0.3173105078629141028295349087359"),
            (2.0, "0.0455002638963584144005652725180"),
            (5.0, "0.0000005733031437583878233186967"),
        ];
        for (x, digits) in cases {
            let tail = gaussian_tail(&Bounds::float(x, BITS));
            assert!(contains(&tail, &digits[..27]), "tail beyond {x}");
            assert!(width(&tail) < 80);
        }
    }

    #[test]
    fn a_float_too_fine_for_the_precision_is_bracketed() {
        let tiny = Bounds::float(-1e-300, BITS);
        assert_eq!((tiny.low, tiny.high), (IBig::from(-1), IBig::ZERO));
        let exact = Bounds::float(0.75, BITS);
        assert_eq!(exact.low, IBig::from(3) << (BITS - 2));
        assert_eq!(exact.low, exact.high);
    }
}
